// Edge shapes of attention for training, with dropout, and of its gradients: one query and key, primes, heads that
// share keys, keys that end early.
//
// The width of a head is a constant of the kernels. All shapes have the same width, so that few pipelines are compiled:
// that with which the variant is about to be used.
#include "prove/self_test_bed.h"

#include <stdio.h>

#include "op/attention_grad.h"
#include "reference/reference.h"
#include "shared/attention_grad.h"

enum { HEADS = 4, KV_HEADS = 2 };

typedef struct shape {
    uint32_t batch, q_len, k_len;
    uint32_t width, v_width;
} shape;

typedef struct arrays {
    float *q, *k, *v, *dout;   // (batch, length, heads, width)
    float *out, *dq, *dk, *dv; // before, and then as expected
    float *dbias;              // (HEADS, q_len, k_len), likewise
    float *row_stats;          // (2, batch, KV_HEADS, q_len, HEADS / KV_HEADS)
    double *grads;             // (dq, dk, dv, dbias, then scratch)
    int32_t lengths[2];
} arrays;

static size_t count_of(const shape *s, uint32_t length, uint32_t heads, uint32_t width)
{
    return (size_t)s->batch * length * heads * width;
}

static size_t bias_count(const shape *s)
{
    return (size_t)HEADS * s->q_len * s->k_len;
}

static vkf__heads_span heads_span(vkf__bed *bed, const float *values, const shape *s, uint32_t length, uint32_t heads,
                                  uint32_t width)
{
    return (vkf__heads_span){
        .span = vkf__bed_floats(bed, VKF_DTYPE_F32, values, count_of(s, length, heads, width)),
        .batch_stride = length * heads * width,
        .row_stride = heads * width,
        .head_stride = width,
    };
}

static vkf__ref_layout layout_of(uint32_t length, uint32_t heads, uint32_t width)
{
    const size_t row = (size_t)heads * width;
    return (vkf__ref_layout){.row = row, .outer = length * row, .inner = width};
}

static vkf__ref_sdpa_desc forward_of(const shape *s, const arrays *x, const vkf__attention_args *args)
{
    return (vkf__ref_sdpa_desc){
        .softmax = {.batch = s->batch,
                    .heads = HEADS,
                    .q_len = s->q_len,
                    .k_len = s->k_len,
                    .mask_cols = s->k_len,
                    .scale = args->scale,
                    .key_mask_kind = args->key_mask_kind,
                    .key_mask = x->lengths,
                    .causal = args->causal,
                    .causal_offset = args->causal_offset},
        .kv_heads = KV_HEADS,
        .head_dim = s->width,
        .v_head_dim = s->v_width,
        .query = x->q,
        .key = x->k,
        .value = x->v,
        .out = x->out,
        .q_layout = layout_of(s->q_len, HEADS, s->width),
        .k_layout = layout_of(s->k_len, KV_HEADS, s->width),
        .v_layout = layout_of(s->k_len, KV_HEADS, s->v_width),
        .out_layout = layout_of(s->q_len, HEADS, s->v_width),
    };
}

// Adds to what is there where the gradient accumulates.
static void take(float *out, const double *grads, size_t count, bool accumulate)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (float)(grads[i] + (accumulate ? (double)out[i] : 0));
}

// Leaves the expected output in x->out, and gradients in x->dq, x->dk and x->dv.
static void expect(const shape *s, const arrays *x, const vkf__attention_grad_args *args)
{
    const size_t q = count_of(s, s->q_len, HEADS, s->width), k = count_of(s, s->k_len, KV_HEADS, s->width),
                 v = count_of(s, s->k_len, KV_HEADS, s->v_width), bias = bias_count(s);
    const vkf__ref_sdpa_grad_desc desc = {
        .forward = forward_of(s, x, &args->forward),
        .dropout = {args->dropout.p, args->dropout.seed, args->dropout.stream, args->dropout.step},
        .dout = x->dout,
        .dq = x->grads,
        .dk = x->grads + q,
        .dv = x->grads + q + k,
        .dbias = x->grads + q + k + v,
        .scratch = x->grads + q + k + v + bias,
    };
    vkf__ref_sdpa_train(&desc, x->row_stats);
    vkf__ref_sdpa_grad(&desc);
    take(x->dq, desc.dq, q, args->accumulate_q);
    take(x->dk, desc.dk, k, args->accumulate_k);
    take(x->dv, desc.dv, v, args->accumulate_v);
    take(x->dbias, desc.dbias, bias, false);
}

static bool gives_bias(const vkf__bed *bed)
{
    return bed->variant->kernel->gives_bias;
}

static vkf__attention_grad_args args_of(vkf__bed *bed, const shape *s, const arrays *x)
{
    const bool masked =
        vkf__bed_constant(bed, VKF_ATTENTION_GRAD_SPEC_KEY_MASK_KIND, VKF_MASK_LENGTHS) != VKF_MASK_NONE;
    const bool drops = vkf__bed_constant(bed, VKF_ATTENTION_GRAD_SPEC_DROPOUT, 1) > 0;
    const vkf__span none = {0};
    return (vkf__attention_grad_args){
        .label = "self-test",
        .forward = {.q = heads_span(bed, x->q, s, s->q_len, HEADS, s->width),
                    .k = heads_span(bed, x->k, s, s->k_len, KV_HEADS, s->width),
                    .v = heads_span(bed, x->v, s, s->k_len, KV_HEADS, s->v_width),
                    .out = heads_span(bed, x->out, s, s->q_len, HEADS, s->v_width),
                    .key_mask = masked ? vkf__bed_ints(bed, x->lengths, 2) : none,
                    .key_mask_kind = masked ? VKF_MASK_LENGTHS : VKF_MASK_NONE,
                    .batch = s->batch,
                    .heads = HEADS,
                    .kv_heads = KV_HEADS,
                    .q_len = s->q_len,
                    .k_len = s->k_len,
                    .head_dim = s->width,
                    .v_head_dim = s->v_width,
                    .mask_cols = s->k_len,
                    .key_mask_batch = 1,
                    .causal = vkf__bed_constant(bed, VKF_ATTENTION_GRAD_SPEC_CAUSAL, 1),
                    .causal_offset = (int32_t)s->k_len - (int32_t)s->q_len,
                    .scale = 0.25f},
        .dropout = {.p = drops ? 0.25f : 0, .seed = UINT64_C(0x123456789), .stream = 1, .step = 2},
        .row_stats = vkf__bed_floats(bed, VKF_DTYPE_F32, x->row_stats, count_of(s, s->q_len, HEADS, 2)),
        .dout = heads_span(bed, x->dout, s, s->q_len, HEADS, s->v_width),
        .dq = heads_span(bed, x->dq, s, s->q_len, HEADS, s->width),
        .dk = heads_span(bed, x->dk, s, s->k_len, KV_HEADS, s->width),
        .dv = heads_span(bed, x->dv, s, s->k_len, KV_HEADS, s->v_width),
        .dbias = {vkf__bed_floats(bed, VKF_DTYPE_F32, gives_bias(bed) ? x->dbias : NULL, bias_count(s)), 0, s->k_len,
                  s->q_len * s->k_len},
        .accumulate_v = true,
    };
}

// On the way back as on the way forward.
static vkf_status emit(vkf__work *work, const void *args)
{
    const vkf__attention_grad_args *grad = args;
    vkf__attention_train_args train = {grad->forward, grad->dropout, grad->row_stats};
    train.forward.label = "self-test";
    VKF_RETURN_IF_ERROR(vkf__emit_attention_train(work, &train));
    return vkf__emit_attention_grad(work, args);
}

static vkf_status run(vkf__bed *bed, const shape *s, const arrays *x)
{
    vkf__bed_clear(bed);
    const vkf__attention_grad_args args = args_of(bed, s, x);
    if (!bed->gathering)
        expect(s, x, &args);
    const struct {
        const char *name;
        const vkf__heads_span *out;
        const float *expected;
    } results[] = {{"output", &args.forward.out, x->out},
                   {"query", &args.dq, x->dq},
                   {"key", &args.dk, x->dk},
                   {"value", &args.dv, x->dv},
                   {"bias", &args.dbias, x->dbias}};
    const size_t count = sizeof results / sizeof results[0] - (gives_bias(bed) ? 0 : 1);
    for (size_t i = 0; i < count; i++) {
        vkf__bed_case c = {
            .emit = emit,
            .args = &args,
            .out = results[i].out->span,
            .expected = results[i].expected,
            .tolerance = vkf__bed_close(VKF_DTYPE_F32),
        };
        (void)snprintf(c.shape, sizeof c.shape, "%s, batch %u, heads 4 and 2, queries %u, keys %u, widths %u and %u",
                       results[i].name, s->batch, s->q_len, s->k_len, s->width, s->v_width);
        VKF_RETURN_IF_ERROR(vkf__bed_run(bed, &c));
    }
    return VKF_OK;
}

static vkf_status check(vkf__bed *bed, const shape *s)
{
    const vkf__host *host = &bed->context->host;
    const size_t q = count_of(s, s->q_len, HEADS, s->width), k = count_of(s, s->k_len, KV_HEADS, s->width),
                 v = count_of(s, s->k_len, KV_HEADS, s->v_width), out = count_of(s, s->q_len, HEADS, s->v_width),
                 bias = bias_count(s);
    arrays x = {
        .q = vkf__bed_random_values(bed, q),
        .k = vkf__bed_random_values(bed, k),
        .v = vkf__bed_random_values(bed, v),
        .out = vkf__bed_random_values(bed, out),
        .dout = vkf__bed_random_values(bed, out),
        .dq = vkf__bed_random_values(bed, q),
        .dk = vkf__bed_random_values(bed, k),
        .dv = vkf__bed_random_values(bed, v),
        .dbias = vkf__bed_random_values(bed, bias),
        .row_stats = vkf__bed_random_values(bed, count_of(s, s->q_len, HEADS, 2)),
        .grads = vkf__alloc(host, q + k + v + bias + 2 * (size_t)s->k_len, sizeof *x.grads),
        .lengths = {(int32_t)s->k_len, (int32_t)(s->k_len / 2)},
    };
    vkf_status status =
        x.q && x.k && x.v && x.out && x.dout && x.dq && x.dk && x.dv && x.dbias && x.row_stats && x.grads
            ? run(bed, s, &x)
            : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
    void *const all[] = {x.q, x.k, x.v, x.out, x.dout, x.dq, x.dk, x.dv, x.dbias, x.row_stats, x.grads};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        vkf__free(host, all[i]);
    return status;
}

vkf_status vkf__bed_attention_grad(vkf__bed *bed)
{
    const uint32_t width = vkf__bed_constant(bed, VKF_ATTENTION_GRAD_SPEC_HEAD_DIM, 20);
    const uint32_t v_width = vkf__bed_constant(bed, VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM, 12);
    const shape shapes[] = {{1, 1, 1, width, v_width},
                            {2, 7, 13, width, v_width},
                            {2, 67, 65, width, v_width},
                            {2, 16, 32, width, v_width}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(check(bed, &shapes[i]));
    return VKF_OK;
}
