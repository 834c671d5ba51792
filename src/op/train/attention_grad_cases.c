// The cases of attention for training, with dropout, and of its gradients: one query and key, primes, heads that share
// keys, keys that end early. The way back takes what the way forward has left.
//
// The width of a head is a constant of the kernels. All edge shapes have the same width, so that few pipelines are
// compiled: that with which the variant is about to be used.
#include "op/train/attention_grad_cases.h"

#include <stdio.h>
#include <string.h>

#include "op/masked_score.h"
#include "op/train/attention_grad.h"
#include "shared/attention_grad.h"

typedef struct shape {
    uint32_t batch, heads, kv_heads, q_len, k_len, width, v_width;
    bool heads_inside; // rows of (heads, width); else each head has rows of its own
} shape;

typedef struct both_ways {
    vkf__attention_train_args train;
    vkf__attention_grad_args grad;
} both_ways;

static vkf_status emit_both_ways(vkf__work *work, const void *args)
{
    const both_ways *both = args;
    VKF_RETURN_IF_ERROR(vkf__emit_attention_train(work, &both->train));
    return vkf__emit_attention_grad(work, &both->grad);
}

static vkf__heads_span heads_of(vkf__cases *c, const shape *s, uint32_t length, uint32_t heads, uint32_t width)
{
    const uint32_t gap = vkf__case_pick(c, 0, 3), row = (s->heads_inside ? heads * width : width) + gap;
    const uint32_t head = s->heads_inside ? width : length * row, rows = (s->heads_inside ? 1 : heads) * length;
    return (vkf__heads_span){
        .span = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)s->batch * rows * row),
        .batch_stride = rows * row,
        .row_stride = row,
        .head_stride = head,
    };
}

static void set_masks(vkf__cases *c, const shape *s, vkf__attention_args *args)
{
    // The rule for rows that see no key is no constant.
    static const vkf__mask_constants ids = {VKF_ATTENTION_GRAD_SPEC_MASK_KIND,  VKF_ATTENTION_GRAD_SPEC_KEY_MASK_KIND,
                                            VKF_ATTENTION_GRAD_SPEC_CAUSAL,     VKF_ATTENTION_GRAD_SPEC_WINDOW,
                                            VKF_ATTENTION_GRAD_SPEC_SCORE_FORM, VKF_ATTENTION_GRAD_SPEC_COUNT};
    vkf__masks *masks = &args->masks;
    vkf__case_draw_masks(c, &ids, (const uint32_t[4]){s->batch, s->heads, s->q_len, s->k_len}, false,
                         (int32_t)s->k_len - (int32_t)s->q_len, masks);
    masks->scale = 0.25f;
    // Passes over keys skip queries by these, so that drawn ones hide what lies on either side of a block, and at edge
    // shapes the last query in whose window a key lies is not the last of all.
    if (c->draw)
        masks->causal_offset = (int32_t)vkf__case_pick(c, 0, s->q_len + s->k_len) - (int32_t)s->q_len -
                               (masks->causal == VKF_SHADER_CAUSAL_LENGTHS ? (int32_t)s->k_len : 0);
    else
        masks->causal_offset += masks->window > 0 ? 16 : 0;
    if (c->draw && masks->window > 0)
        masks->window = 1 + vkf__case_pick(c, 0, 8);
}

static vkf__attention_args forward_of(vkf__cases *c, const shape *s)
{
    vkf__attention_args args = {
        .label = "attention",
        .q = heads_of(c, s, s->q_len, s->heads, s->width),
        .k = heads_of(c, s, s->k_len, s->kv_heads, s->width),
        .v = heads_of(c, s, s->k_len, s->kv_heads, s->v_width),
        .out = heads_of(c, s, s->q_len, s->heads, s->v_width),
        .batch = s->batch,
        .heads = s->heads,
        .kv_heads = s->kv_heads,
        .q_len = s->q_len,
        .k_len = s->k_len,
        .head_dim = s->width,
        .v_head_dim = s->v_width,
    };
    set_masks(c, s, &args);
    return args;
}

static void fill_row(const vkf__cases *c, const vkf__heads_span *x, uint32_t b, uint32_t heads, uint32_t row,
                     uint32_t width)
{
    float *values = vkf__case_bytes(c, &x->span);
    for (uint32_t h = 0; h < heads; h++)
        memset(values + (uint64_t)b * x->batch_stride + (uint64_t)row * x->row_stride + (uint64_t)h * x->head_stride,
               0xff, width * sizeof *values);
}

// By lengths or bools: what an additive mask leaves of a number that is none is none.
static bool is_hidden(const vkf__cases *c, const vkf__attention_args *forward, uint32_t b, uint32_t key)
{
    const uint8_t *bools = vkf__case_bytes(c, &forward->masks.key_mask);
    switch (forward->masks.key_kind) {
    case VKF_MASK_LENGTHS:
        return (int32_t)key >= ((const int32_t *)vkf__case_bytes(c, &forward->masks.key_mask))[b];
    case VKF_MASK_BOOL_EXCLUDE:
        return bools[b * forward->masks.key_batch + key] != 0;
    case VKF_MASK_BOOL_ATTEND:
        return bools[b * forward->masks.key_batch + key] == 0;
    default:
        return false;
    }
}

// Hidden keys and their values are no numbers, and neither is what a query has that sees no key.
static void spoil_hidden(const vkf__cases *c, const shape *s, const both_ways *args)
{
    const vkf__attention_args *forward = &args->grad.forward;
    for (uint32_t b = 0; b < s->batch; b++) {
        uint32_t hidden = 0;
        for (uint32_t key = 0; key < forward->masks.cols; key++) {
            if (!is_hidden(c, forward, b, key))
                continue;
            fill_row(c, &forward->k, b, s->kv_heads, key, s->width);
            fill_row(c, &forward->v, b, s->kv_heads, key, s->v_width);
            hidden++;
        }
        for (uint32_t l = 0; hidden == s->k_len && l < s->q_len; l++) {
            fill_row(c, &forward->q, b, s->heads, l, s->width);
            fill_row(c, &args->grad.dout, b, s->heads, l, s->v_width);
        }
    }
}

static vkf__attention_dropout dropout_of(vkf__cases *c)
{
    static const float probabilities[] = {0.25f, 0.875f, 1, 0};
    const uint32_t drawn = vkf__case_pick(c, 0, 6);
    const float p = probabilities[drawn < 4 ? drawn : drawn % 2 * 3];
    return (vkf__attention_dropout){
        .p = vkf__case_constant(c, VKF_ATTENTION_GRAD_SPEC_DROPOUT, p > 0) ? (p > 0 ? p : 0.25f) : 0,
        .seed = (uint64_t)vkf__case_pick(c, 1, UINT32_MAX) << 32 | vkf__case_pick(c, 0x23456789, UINT32_MAX),
        .stream = vkf__case_pick(c, 1, UINT32_MAX),
        .step = vkf__case_pick(c, 2, UINT32_MAX),
    };
}

// Some of the gradients that are wanted may be added to others. A bias has rows of queries with all heads, or heads
// with all queries. With constants that are given all gradients are wanted, as edge shapes do: each is a pipeline.
static void set_gradients(vkf__cases *c, const shape *s, vkf__attention_grad_args *grad)
{
    const bool biased = (c->variant->kernel->offers & VKF_FORM_BIASED) && (c->spec || vkf__case_pick(c, 1, 4) > 0);
    const uint32_t cols = grad->forward.masks.cols + vkf__case_pick(c, 0, 2),
                   left_out = c->spec ? 3 : vkf__case_pick(c, 3, 6);
    const bool queries_first = vkf__case_flip(c, false);
    const vkf__heads_span none = {0};
    grad->dq = left_out == 0 ? none : heads_of(c, s, s->q_len, s->heads, s->width);
    grad->dk = left_out == 1 ? none : heads_of(c, s, s->k_len, s->kv_heads, s->width);
    grad->dv = left_out == 2 ? none : heads_of(c, s, s->k_len, s->kv_heads, s->v_width);
    if (biased)
        grad->dbias = (vkf__heads_span){
            .span = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)s->heads * s->q_len * cols),
            .row_stride = queries_first ? s->heads * cols : cols,
            .head_stride = queries_first ? cols : s->q_len * cols,
        };
    if (vkf__present(&grad->forward.masks.sinks))
        grad->dsinks = vkf__case_floats(c, VKF_DTYPE_F32, s->heads);
    grad->accumulate_sinks = vkf__case_flip(c, false);
    grad->accumulate_q = vkf__case_flip(c, false);
    grad->accumulate_k = vkf__case_flip(c, false);
    grad->accumulate_v = vkf__case_flip(c, true);
    grad->accumulate_bias = vkf__case_flip(c, false);
}

static vkf_status run_shape(vkf__cases *c, const shape *s)
{
    both_ways args = {.grad = {.label = "gradients", .forward = forward_of(c, s), .dropout = dropout_of(c)}};
    const vkf__span stats = vkf__case_floats(c, VKF_DTYPE_F32, 2 * (uint64_t)s->batch * s->heads * s->q_len);
    args.grad.dout = heads_of(c, s, s->q_len, s->heads, s->v_width);
    set_gradients(c, s, &args.grad);
    args.train = (vkf__attention_train_args){args.grad.forward, args.grad.dropout, stats};
    if (c->spec || vkf__case_pick(c, 1, 3) > 0)
        args.grad.row_stats = stats; // else the way back finds its own
    if (c->draw)
        spoil_hidden(c, s, &args);
    vkf__case one = {
        .emit = emit_both_ways,
        .args = &args,
        // Sums over up to 140 keys, or over the queries of three heads, are rounded relative to their largest terms.
        // All may be 0: a row that sees one key has no gradient, but what products of 80 numbers are rounded by.
        .tolerance = vkf__case_close(VKF_DTYPE_F32),
        .by_largest = c->draw,
        .least = 1,
    };
    (void)snprintf(one.shape, sizeof one.shape,
                   "%u: heads %u, %u; queries %u, keys %u, widths %u, %u; masks %d, %d; form %u", s->batch, s->heads,
                   s->kv_heads, s->q_len, s->k_len, s->width, s->v_width, (int)args.grad.forward.masks.kind,
                   (int)args.grad.forward.masks.key_kind, vkf__score_form(&args.grad.forward.masks));
    return vkf__case_run_as(c, &one);
}

// Few widths, because every one is a pipeline of its own.
static vkf_status draw(vkf__cases *c)
{
    static const uint32_t widths[][2] = {{8, 12}, {20, 12}, {8, 12}, {1, 3}, {64, 64}, {20, 80}};
    const uint32_t kv_heads = 1 + vkf__case_pick(c, 0, 2), *width = widths[vkf__case_pick(c, 0, 6)];
    const shape s = {
        .batch = 1 + vkf__case_pick(c, 0, 3),
        .heads = kv_heads * (1 + vkf__case_pick(c, 0, 3)),
        .kv_heads = kv_heads,
        .q_len = vkf__case_size(c, 0, 70),
        .k_len = vkf__case_size(c, 0, 140),
        .width = vkf__case_constant(c, VKF_ATTENTION_GRAD_SPEC_HEAD_DIM, width[0]),
        .v_width = vkf__case_constant(c, VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM, width[1]),
        .heads_inside = vkf__case_flip(c, true),
    };
    return run_shape(c, &s);
}

vkf_status vkf__attention_grad_cases(vkf__cases *c)
{
    const uint32_t width = vkf__case_constant(c, VKF_ATTENTION_GRAD_SPEC_HEAD_DIM, 20);
    const uint32_t v_width = vkf__case_constant(c, VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM, 12);
    const uint32_t sizes[][3] = {{1, 1, 1}, {2, 7, 13}, {2, 67, 65}, {2, 16, 32}};
    if (c->draw)
        return draw(c);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        VKF_RETURN_IF_ERROR(run_shape(c, &(shape){sizes[i][0], 4, 2, sizes[i][1], sizes[i][2], width, v_width, true}));
    return VKF_OK;
}
