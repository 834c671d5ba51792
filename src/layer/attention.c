#include "layer/attention.h"

#include <math.h>

#include "base/size.h"
#include "op/copy.h"
#include "op/gemm.h"
#include "op/softmax.h"

vkf__attention_spans vkf__attention_spans_of(const vkf_attention_weights *weights)
{
    return (vkf__attention_spans){
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
    };
}

// Projected keys (or values): rows of `width` elements, batch entries `stride` rows apart.
typedef struct projected {
    vkf__span span;
    uint32_t width;
    uint32_t stride;
} projected;

typedef struct projection {
    const char *label;
    vkf__span x; // (B, key_new, in)
    uint32_t in;
    vkf__span weight;
    vkf__span bias;
} projection;

static uint32_t extra_keys(const vkf__attention_block *block)
{
    return (vkf__present(&block->params.bias_k) ? 1u : 0u) + (block->add_zero_attn ? 1u : 0u);
}

// Projects the new rows to where they belong among the old ones. Rows that follow each other evenly through the whole
// batch are one product; otherwise there is one product per batch entry, in one dispatch.
static vkf_status emit_projection(vkf__work *work, const projection *args, const projected *to,
                                  const vkf__attention_sizes *sizes)
{
    uint32_t rows = sizes->key_new;
    bool dense = rows == to->stride && sizes->key_past == 0;
    bool single = rows == 1;
    bool flat = dense || single;
    const vkf__gemm_args gemm = {
        .label = args->label,
        .a = args->x,
        .b = args->weight,
        .d = to->span,
        .bias = args->bias,
        .m = flat ? sizes->batch * rows : rows,
        .n = to->width,
        .k = args->in,
        .batch = rows == 0 ? 0
                 : flat    ? 1
                           : sizes->batch,
        .lda = args->in,
        .ldb = args->in,
        .ldd = single && !dense ? to->stride * to->width : to->width,
        .a_outer = rows * args->in,
        .d_outer = to->stride * to->width,
        .d_first = (uint64_t)sizes->key_past * to->width,
        .transpose_b = true,
        .alpha = 1.0f,
    };
    return vkf__emit_gemm(work, &gemm);
}

// Writes one row (bias_k, or zeros when `row` is absent) at `position` of every batch entry.
static vkf_status emit_extra_row(vkf__work *work, const char *label, const vkf__span *row, const projected *to,
                                 uint32_t batch, uint32_t position)
{
    bool zero = !vkf__present(row);
    const vkf__copy_args copy = {
        .label = label,
        .x = zero ? to->span : *row,
        .out = to->span,
        .outer = batch,
        .rows = 1,
        .cols = to->width,
        .out_first = position * to->width,
        .out_outer = to->stride * to->width,
        .alpha = zero ? 0.0f : 1.0f,
    };
    return vkf__emit_copy(work, &copy);
}

static vkf_status emit_extras(vkf__work *work, const vkf__attention_block *block, const projected *k,
                              const projected *v, const vkf__attention_sizes *sizes)
{
    vkf_status status = VKF_OK;
    uint32_t position = sizes->key_len;
    if (vkf__present(&block->params.bias_k)) {
        VKF_TRY(emit_extra_row(work, "bias_k", &block->params.bias_k, k, sizes->batch, position));
        VKF_TRY(emit_extra_row(work, "bias_v", &block->params.bias_v, v, sizes->batch, position));
        position++;
    }
    if (block->add_zero_attn) {
        VKF_TRY(emit_extra_row(work, "zero_k", &(vkf__span){0}, k, sizes->batch, position));
        VKF_TRY(emit_extra_row(work, "zero_v", &(vkf__span){0}, v, sizes->batch, position));
    }
fail:
    return status;
}

// k and v of this run: in the cache, or in temporaries with room for the extra rows.
static vkf_status place_keys(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                             const vkf__attention_sizes *sizes, projected *out_k, projected *out_v)
{
    vkf_status status = VKF_OK;
    projected k = {.width = block->heads * block->head_dim};
    projected v = {.width = block->heads * block->v_head_dim};
    if (vkf__present(&io->cache_k)) {
        k.span = io->cache_k;
        v.span = io->cache_v;
        k.stride = v.stride = io->cache_len;
    } else {
        k.stride = v.stride = sizes->key_len + extra_keys(block);
        uint64_t rows = (uint64_t)sizes->batch * k.stride;
        VKF_TRY(vkf__work_temp(work, block->dtype, rows * k.width, &k.span));
        VKF_TRY(vkf__work_temp(work, block->dtype, rows * v.width, &v.span));
    }
    *out_k = k;
    *out_v = v;
fail:
    return status;
}

static vkf_status emit_scores(vkf__work *work, const vkf__attention_block *block, const vkf__attention_sizes *sizes,
                              const vkf__span *q, const projected *k, const vkf__span *scores)
{
    uint32_t columns = sizes->key_len + extra_keys(block);
    const vkf__gemm_args gemm = {
        .label = "scores",
        .a = *q,
        .b = k->span,
        .d = *scores,
        .m = sizes->query_len,
        .n = columns,
        .k = block->head_dim,
        .batch = sizes->batch * block->heads,
        .batch_inner = block->heads,
        .lda = k->width,
        .ldb = k->width,
        .ldd = columns,
        .a_outer = sizes->query_len * k->width,
        .a_inner = block->head_dim,
        .b_outer = k->stride * k->width,
        .b_inner = block->head_dim,
        .d_outer = block->heads * sizes->query_len * columns,
        .d_inner = sizes->query_len * columns,
        .transpose_b = true,
        .alpha = 1.0f,
    };
    return vkf__emit_gemm(work, &gemm);
}

static vkf_status emit_weights(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                               const vkf__attention_sizes *sizes, const vkf__span *scores)
{
    const vkf_attention_mask *mask = &block->mask;
    uint32_t plane = sizes->query_len * sizes->key_len;
    int64_t offset = sizes->key_past;
    if (mask->causal == VKF_CAUSAL_BOTTOM_RIGHT)
        offset = (int64_t)sizes->key_len - sizes->query_len;
    const vkf__softmax_args softmax = {
        .label = "softmax",
        .x = *scores,
        .out = *scores,
        .mask = io->mask,
        .key_mask = io->key_mask,
        .mask_kind = mask->kind,
        .key_mask_kind = mask->key_kind,
        .batch = sizes->batch,
        .heads = block->heads,
        .q_len = sizes->query_len,
        .k_len = sizes->key_len + extra_keys(block),
        .mask_cols = sizes->key_len,
        .mask_batch = mask->per_head ? block->heads * plane : 0,
        .mask_head = mask->per_head ? plane : 0,
        .mask_row = sizes->key_len,
        .key_mask_batch = mask->key_kind == VKF_MASK_LENGTHS ? 1 : sizes->key_len,
        .causal = mask->causal != VKF_CAUSAL_NONE,
        .causal_offset = (int32_t)offset,
        .window = mask->window,
        .scale = 1.0f / sqrtf((float)block->head_dim),
        .fully_masked = block->fully_masked,
    };
    return vkf__emit_softmax(work, &softmax);
}

static vkf_status emit_context(vkf__work *work, const vkf__attention_block *block, const vkf__attention_sizes *sizes,
                               const vkf__span *weights, const projected *v, const vkf__span *context)
{
    uint32_t columns = sizes->key_len + extra_keys(block);
    const vkf__gemm_args gemm = {
        .label = "context",
        .a = *weights,
        .b = v->span,
        .d = *context,
        .m = sizes->query_len,
        .n = block->v_head_dim,
        .k = columns,
        .batch = sizes->batch * block->heads,
        .batch_inner = block->heads,
        .lda = columns,
        .ldb = v->width,
        .ldd = v->width,
        .a_outer = block->heads * sizes->query_len * columns,
        .a_inner = sizes->query_len * columns,
        .b_outer = v->stride * v->width,
        .b_inner = block->v_head_dim,
        .d_outer = sizes->query_len * v->width,
        .d_inner = block->v_head_dim,
        .alpha = 1.0f,
    };
    return vkf__emit_gemm(work, &gemm);
}

static vkf_status emit_query(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                             const vkf__attention_sizes *sizes, vkf__span *out_q)
{
    vkf_status status = VKF_OK;
    uint32_t width = block->heads * block->head_dim;
    uint32_t rows = sizes->batch * sizes->query_len;
    VKF_TRY(vkf__work_temp(work, block->dtype, (uint64_t)rows * width, out_q));
    const vkf__linear_args linear = {
        .label = "q_proj",
        .x = io->query,
        .weight = block->params.q_weight,
        .bias = block->params.q_bias,
        .d = *out_q,
        .rows = rows,
        .in = block->embed_dim,
        .out = width,
    };
    VKF_TRY(vkf__emit_linear(work, &linear));
fail:
    return status;
}

static vkf_status emit_keys(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                            const vkf__attention_sizes *sizes, projected *out_k, projected *out_v)
{
    vkf_status status = VKF_OK;
    const vkf__attention_spans *params = &block->params;
    const projection key = {"k_proj", io->key, block->kdim, params->k_weight, params->k_bias};
    const projection value = {"v_proj", io->value, block->vdim, params->v_weight, params->v_bias};
    VKF_TRY(place_keys(work, block, io, sizes, out_k, out_v));
    VKF_TRY(emit_projection(work, &key, out_k, sizes));
    VKF_TRY(emit_projection(work, &value, out_v, sizes));
    VKF_TRY(emit_extras(work, block, out_k, out_v, sizes));
fail:
    return status;
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
        .plane = sizes->query_len * (sizes->key_len + extra_keys(block)),
    };
    return vkf__emit_head_mean(work, &mean);
}

vkf_status vkf__emit_attention(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                               const vkf__attention_sizes *sizes)
{
    vkf_status status = VKF_OK;
    vkf__span q, context;
    vkf__span scores = io->weights_per_head; // (B, H, L, S')
    projected k, v;
    uint32_t rows = sizes->batch * sizes->query_len;
    VKF_TRY(emit_query(work, block, io, sizes, &q));
    VKF_TRY(emit_keys(work, block, io, sizes, &k, &v));
    if (!vkf__present(&scores)) {
        const uint64_t factors[] = {rows, block->heads, (uint64_t)sizes->key_len + extra_keys(block)};
        uint64_t count = UINT64_MAX;
        (void)vkf__product_u64(factors, 3, &count);
        VKF_TRY(vkf__work_temp(work, VKF_DTYPE_F32, count, &scores));
    }
    VKF_TRY(emit_scores(work, block, sizes, &q, &k, &scores));
    VKF_TRY(emit_weights(work, block, io, sizes, &scores));
    VKF_TRY(emit_head_mean(work, block, io, sizes, &scores));
    VKF_TRY(vkf__work_temp(work, block->dtype, (uint64_t)rows * block->heads * block->v_head_dim, &context));
    VKF_TRY(emit_context(work, block, sizes, &scores, &v, &context));
    const vkf__linear_args out = {
        .label = "out_proj",
        .x = context,
        .weight = block->params.out_weight,
        .bias = block->params.out_bias,
        .d = io->out,
        .rows = rows,
        .in = block->heads * block->v_head_dim,
        .out = block->embed_dim,
        .beta = io->accumulate ? 1.0f : 0.0f,
    };
    VKF_TRY(vkf__emit_linear(work, &out));
fail:
    return status;
}
