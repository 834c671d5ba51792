// Emits multi-head attention, from the projections to the output projection.
#include "layer/attention_block.h"

#include <math.h>

#include "base/size.h"
#include "layer/key_cache.h"
#include "op/attention.h"
#include "op/copy.h"
#include "op/gemm.h"

static void place_behind(const vkf__span *first, vkf__span *second)
{
    second->buffer = first->buffer;
    second->offset_bytes = first->offset_bytes + first->size_bytes;
}

vkf__attention_spans vkf__attention_spans_of(const vkf_attention_weights *weights)
{
    vkf__attention_spans spans = {
        .q_weight = vkf__span_of(&weights->q_weight),
        .k_weight = vkf__span_of(&weights->k_weight),
        .v_weight = vkf__span_of(&weights->v_weight),
        .q_bias = vkf__span_of(&weights->q_bias),
        .k_bias = vkf__span_of(&weights->k_bias),
        .v_bias = vkf__span_of(&weights->v_bias),
        .bias_k = vkf__span_of(&weights->bias_k),
        .bias_v = vkf__span_of(&weights->bias_v),
        .out_weight = vkf__span_of(&weights->out_weight),
        .out_bias = vkf__span_of(&weights->out_bias),
        .slopes = vkf__span_of(&weights->slopes),
        .sinks = vkf__span_of(&weights->sinks),
        .rotary = vkf__span_of(&weights->rotary),
    };
    if (weights->in_proj) {
        place_behind(&spans.q_weight, &spans.k_weight);
        place_behind(&spans.k_weight, &spans.v_weight);
        place_behind(&spans.q_bias, &spans.k_bias);
        place_behind(&spans.k_bias, &spans.v_bias);
    }
    return spans;
}

bool vkf__spans_join(const vkf__span *q, const vkf__span *k, const vkf__span *v)
{
    return vkf__span_follows(q, k) && vkf__span_follows(k, v);
}

static vkf_status emit_head_mean(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                 const vkf__attention_sizes *sizes, const vkf__span *per_head)
{
    if (!vkf__present(&io->weights))
        return VKF_OK;
    const vkf__head_mean_args mean = {
        .label = "weights",
        .x = *per_head,
        .out = io->weights,
        .batch = sizes->batch,
        .heads = block->heads,
        .plane = sizes->query_len * (sizes->key_len + vkf__extra_keys(block)),
    };
    return vkf__emit_head_mean(work, &mean);
}

// Where the weights of each head go, if they or their mean are asked for; absent otherwise.
static vkf_status place_weights(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                const vkf__attention_sizes *sizes, vkf__span *out_weights)
{
    vkf__span weights = io->weights_per_head; // (B, H, L, S')
    if (!vkf__present(&weights) && vkf__present(&io->weights)) {
        const uint64_t factors[] = {(uint64_t)sizes->batch * sizes->query_len, block->heads,
                                    (uint64_t)sizes->key_len + vkf__extra_keys(block)};
        uint64_t count = UINT64_MAX;
        (void)vkf__product_u64(factors, 3, &count);
        VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, count, &weights));
    }
    *out_weights = weights;
    return VKF_OK;
}

static vkf__heads_span heads_of(const vkf__projected *projected, uint32_t head_width)
{
    return (vkf__heads_span){projected->span, projected->stride * projected->row, projected->row, head_width};
}

static float scale_of(const vkf__attention_block *block)
{
    return block->scale != 0.0f ? block->scale : 1.0f / sqrtf((float)block->head_dim);
}

static void set_bias(const vkf__attention_io *io, vkf__attention_args *args)
{
    args->masks.mask = io->bias;
    args->masks.kind = VKF_MASK_ADDITIVE;
    args->masks.batch = 0;
    args->masks.head = io->bias_head;
    args->masks.row = io->bias_row;
}

static vkf__masks masks_of(const vkf__attention_block *block, const vkf__attention_io *io,
                           const vkf__attention_sizes *sizes)
{
    const vkf_attention_mask *mask = &block->mask;
    uint32_t plane = sizes->query_len * sizes->key_len;
    uint32_t key_mask_row = io->key_mask_row > 0 ? io->key_mask_row : sizes->key_len;
    vkf__masks masks = {
        .mask = io->mask,
        .key_mask = io->key_mask,
        .slopes = block->params.slopes,
        .sinks = block->params.sinks,
        .kind = mask->kind,
        .key_kind = mask->key_kind,
        .cols = sizes->key_len,
        .batch = mask->per_head ? block->heads * plane : 0,
        .head = mask->per_head ? plane : 0,
        .row = sizes->key_len,
        .key_batch = mask->key_kind == VKF_MASK_LENGTHS ? 1 : key_mask_row,
        .soft_cap = mask->soft_cap,
        .scale = scale_of(block),
        .fully_masked = block->fully_masked,
    };
    const vkf__own_positions own =
        vkf__own_positions_of(mask->causal, sizes->query_past, sizes->query_len, sizes->key_len);
    vkf__place_window(&own, mask->causal != VKF_CAUSAL_NONE, mask->window, mask->window_right, &masks);
    return masks;
}

vkf__attention_args vkf__attention_args_of(const vkf__attention_block *block, const vkf__attention_io *io,
                                           const vkf__attention_sizes *sizes)
{
    return (vkf__attention_args){
        .label = "attention",
        .batch = sizes->batch,
        .heads = block->heads,
        .kv_heads = block->kv_heads,
        .q_len = sizes->query_len,
        .k_len = sizes->key_len + vkf__extra_keys(block),
        .head_dim = block->head_dim,
        .v_head_dim = block->v_head_dim,
        .masks = masks_of(block, io, sizes),
    };
}

static vkf__attention_args core_args(const vkf__attention_block *block, const vkf__attention_io *io,
                                     const vkf__attention_sizes *sizes, const vkf__projections *made,
                                     const vkf__rows *context)
{
    vkf__attention_args args = vkf__attention_args_of(block, io, sizes);
    args.q = heads_of(&made->q, block->head_dim);
    args.k = heads_of(&made->k, block->head_dim);
    args.v = heads_of(&made->v, block->v_head_dim);
    args.out = (vkf__heads_span){context->span, sizes->query_len * context->row, context->row, block->v_head_dim};
    return args;
}

// The same where attention rotates queries and keys and brings keys and values to the caches.
static vkf__attention_args fresh_args(const vkf__attention_block *block, const vkf__attention_io *io,
                                      const vkf__attention_sizes *sizes, const vkf__projections *made,
                                      const vkf__rows *context)
{
    vkf__projections kept = *made;
    const vkf__fresh_keys keys = vkf__fresh_keys_of(block, io, sizes, &kept);
    vkf__attention_args core = core_args(block, io, sizes, &kept, context);
    core.fresh = keys;
    return core;
}

static bool takes_fresh(const vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                        const vkf__attention_sizes *sizes, const vkf__projections *made, const vkf__rows *context)
{
    if (!vkf__leaves_fresh_keys(block, io, made) || vkf__present(&io->weights) || vkf__present(&io->weights_per_head))
        return false;
    const vkf__attention_args core = fresh_args(block, io, sizes, made, context);
    return vkf__attention_takes_fresh(work, &core);
}

// Attention over what the projections have made.
static vkf_status emit_core(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                            const vkf__attention_sizes *sizes, vkf__projections *made, const vkf__rows *context)
{
    vkf__attention_args core;
    uint64_t fresh = work->mode == VKF_WORK_PLAN && takes_fresh(work, block, io, sizes, made, context);
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, fresh, &fresh));
    if (!fresh)
        VKF_RETURN_IF_ERROR(vkf__emit_way_to_caches(work, block, io, sizes, made));
    core = fresh ? fresh_args(block, io, sizes, made, context) : core_args(block, io, sizes, made, context);
    if (vkf__present(&io->bias))
        set_bias(io, &core);
    VKF_RETURN_IF_ERROR(place_weights(work, block, io, sizes, &core.weights));
    VKF_RETURN_IF_ERROR(vkf__emit_attention(work, &core));
    return emit_head_mean(work, block, io, sizes, &core.weights);
}

vkf_status vkf__emit_attention_block(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                     const vkf__attention_sizes *sizes)
{
    vkf__projections made;
    uint32_t rows = sizes->batch * sizes->query_len, width = block->heads * block->v_head_dim;
    // (rows, heads * v_head_dim), `row` apart
    vkf__rows context = {.row = vkf__gemm_row(work->context, width, block->dtype)};
    VKF_RETURN_IF_ERROR(vkf__emit_projections(work, block, io, sizes, &made));
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, block->dtype, (uint64_t)rows * context.row, &context.span));
    VKF_RETURN_IF_ERROR(emit_core(work, block, io, sizes, &made, &context));
    const vkf__linear_args out = {
        .label = "out_proj",
        .x = context.span,
        .x_row = context.row,
        .weight = block->params.out_weight,
        .bias = block->params.out_bias,
        .d = io->out,
        .rows = rows,
        .in = width,
        .out = block->embed_dim,
        .beta = io->accumulate ? 1.0f : 0.0f,
    };
    return vkf__emit_linear(work, &out);
}
