// Emits the projections of queries, keys and values, as one product where it can.
#include "layer/projection.h"

#include <assert.h>

#include "layer/key_cache.h"
#include "op/copy.h"
#include "op/gemm_fused.h"

typedef struct projection {
    const char *label;
    vkf__span x; // (B, key_new, in), x_row apart
    uint32_t x_row, in;
    vkf__span weight;
    vkf__span bias;
    vkf__input_norm norm;
} projection;

uint32_t vkf__extra_keys(const vkf__attention_block *block)
{
    return (vkf__present(&block->params.bias_k) ? 1u : 0u) + (block->add_zero_attn ? 1u : 0u);
}

// Projects new rows to their place among the old ones. Rows that are equally far apart through the whole batch make one
// product. Otherwise there is one product per batch entry, all in one dispatch.
static vkf__gemm_args projection_product(const projection *args, const vkf__projected *to, uint32_t past,
                                         const vkf__attention_sizes *sizes)
{
    uint32_t rows = sizes->key_new;
    bool dense = rows == to->stride && past == 0;
    bool single = rows == 1;
    bool flat = dense || single;
    return (vkf__gemm_args){
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
        .lda = args->x_row,
        .ldb = args->in,
        .ldd = single && !dense ? to->stride * to->width : to->width,
        .a_outer = rows * args->x_row,
        .d_outer = to->stride * to->width,
        .d_first = (uint64_t)past * to->width,
        .transpose_b = true,
        .alpha = 1.0f,
        .norm = args->norm,
    };
}

// Writes one row (bias_k, or zeros when `row` is absent) at `position` of every batch entry.
static vkf_status emit_extra_row(vkf__work *work, const char *label, const vkf__span *row, const vkf__projected *to,
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

static vkf_status emit_extras(vkf__work *work, const vkf__attention_block *block, const vkf__projected *k,
                              const vkf__projected *v, const vkf__attention_sizes *sizes)
{
    uint32_t position = sizes->key_len;
    if (vkf__present(&block->params.bias_k)) {
        VKF_RETURN_IF_ERROR(emit_extra_row(work, "bias_k", &block->params.bias_k, k, sizes->batch, position));
        VKF_RETURN_IF_ERROR(emit_extra_row(work, "bias_v", &block->params.bias_v, v, sizes->batch, position));
        position++;
    }
    if (block->add_zero_attn) {
        VKF_RETURN_IF_ERROR(emit_extra_row(work, "zero_k", &(vkf__span){0}, k, sizes->batch, position));
        VKF_RETURN_IF_ERROR(emit_extra_row(work, "zero_v", &(vkf__span){0}, v, sizes->batch, position));
    }
    return VKF_OK;
}

// Where k and v of this run are projected to: the cache, or temporaries with room for the extra rows, which have no
// span yet. Keys that are normalised or rotated come to the cache by that step, and keys and values of another type by
// a copy.
static void lay_out_keys(const vkf__attention_block *block, const vkf__attention_io *io,
                         const vkf__attention_sizes *sizes, vkf__projected *out_k, vkf__projected *out_v)
{
    bool cached = vkf__present(&io->cache_k), turned = vkf__turns_heads(block), copied = vkf__converts_keys(block, io);
    uint32_t rows = cached ? sizes->key_new : sizes->key_len + vkf__extra_keys(block);
    uint32_t k_width = block->kv_heads * block->head_dim, v_width = block->kv_heads * block->v_head_dim;
    const vkf__span temporary = {.dtype = block->dtype};
    *out_k = (vkf__projected){.span = temporary, .width = k_width, .row = k_width, .stride = rows};
    *out_v = (vkf__projected){.span = temporary, .width = v_width, .row = v_width, .stride = rows};
    if (cached && !turned && !copied) {
        out_k->span = io->cache_k;
        out_k->stride = io->cache_len;
    }
    if (cached && !copied) {
        out_v->span = io->cache_v;
        out_v->stride = io->cache_len;
    }
}

static vkf_status place(vkf__work *work, const vkf__attention_sizes *sizes, vkf__projected *to)
{
    if (vkf__present(&to->span))
        return VKF_OK;
    return vkf__work_temp(work, to->span.dtype, (uint64_t)sizes->batch * to->stride * to->width, &to->span);
}

// The product that makes q into `q`.
static vkf__linear_args query_product(const vkf__attention_block *block, const vkf__attention_io *io,
                                      const vkf__attention_sizes *sizes, const vkf__span *q)
{
    return (vkf__linear_args){
        .label = "q_proj",
        .x = io->query,
        .x_row = io->query_row,
        .weight = block->params.q_weight,
        .bias = block->params.q_bias,
        .d = *q,
        .rows = sizes->batch * sizes->query_len,
        .in = block->embed_dim,
        .out = block->heads * block->head_dim,
        .norm = io->norm,
    };
}

// The products that make k and v.
static void key_products(const vkf__attention_block *block, const vkf__attention_io *io,
                         const vkf__attention_sizes *sizes, const vkf__projected *k, const vkf__projected *v,
                         vkf__gemm_args *out_key, vkf__gemm_args *out_value)
{
    const vkf__attention_spans *params = &block->params;
    const vkf__input_norm norm = io->one_input ? io->norm : (vkf__input_norm){.eps = 0.0f};
    uint32_t key_row = io->key_row > 0 ? io->key_row : block->kdim;
    uint32_t value_row = io->key_row > 0 ? io->key_row : block->vdim;
    const projection key = {"k_proj", io->key, key_row, block->kdim, params->k_weight, params->k_bias, norm};
    const projection value = {"v_proj", io->value, value_row, block->vdim, params->v_weight, params->v_bias, norm};
    bool copied = vkf__converts_keys(block, io);
    *out_key = projection_product(&key, k, copied || vkf__turns_heads(block) ? 0 : sizes->key_past, sizes);
    *out_value = projection_product(&value, v, copied ? 0 : sizes->key_past, sizes);
}

static vkf_status emit_query(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                             const vkf__attention_sizes *sizes, vkf__projected *out_q)
{
    uint32_t width = block->heads * block->head_dim;
    vkf__projected q = {.span = {.dtype = block->dtype}, .width = width, .row = width, .stride = sizes->query_len};
    VKF_RETURN_IF_ERROR(place(work, sizes, &q));
    const vkf__linear_args linear = query_product(block, io, sizes, &q.span);
    VKF_RETURN_IF_ERROR(vkf__emit_linear(work, &linear));
    *out_q = q;
    return VKF_OK;
}

static vkf_status emit_keys(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                            const vkf__attention_sizes *sizes, vkf__projected *out_k, vkf__projected *out_v)
{
    vkf__gemm_args key, value;
    lay_out_keys(block, io, sizes, out_k, out_v);
    VKF_RETURN_IF_ERROR(place(work, sizes, out_k));
    VKF_RETURN_IF_ERROR(place(work, sizes, out_v));
    key_products(block, io, sizes, out_k, out_v, &key, &value);
    VKF_RETURN_IF_ERROR(vkf__emit_gemm(work, &key));
    VKF_RETURN_IF_ERROR(vkf__emit_gemm(work, &value));
    return emit_extras(work, block, out_k, out_v, sizes);
}

// Whether one product, which reads the input once, makes q, k and v: in self attention over fused parameters, as
// PyTorch's in_proj_weight holds them.
static bool is_single_product(const vkf__attention_block *block, const vkf__attention_io *io,
                              const vkf__attention_sizes *sizes)
{
    bool self = io->one_input && block->kdim == block->embed_dim && block->vdim == block->embed_dim;
    // Keys and values that go to the cache unchanged are projected straight into it, each by a product of its own.
    bool stays = !vkf__present(&io->cache_k) || vkf__turns_heads(block) || vkf__converts_keys(block, io);
    return block->fused_qkv && self && stays && vkf__extra_keys(block) == 0 && sizes->key_new == sizes->query_len;
}

static vkf__projected columns_of(const vkf__span *qkv, uint32_t first, uint32_t width, uint32_t row, uint32_t stride)
{
    uint64_t elements = qkv->size_bytes / vkf_dtype_size(qkv->dtype);
    return (vkf__projected){
        .span = vkf__span_part(qkv, first, elements > first ? elements - first : 0),
        .width = width,
        .row = row,
        .stride = stride,
    };
}

// The product that makes q, k and v into `qkv`: (rows, columns of q, k and v).
static vkf__linear_args single_product(const vkf__attention_block *block, const vkf__attention_io *io,
                                       const vkf__attention_sizes *sizes, const vkf__span *qkv)
{
    const vkf__attention_spans *p = &block->params;
    assert(vkf__spans_join(&p->q_weight, &p->k_weight, &p->v_weight));
    assert(!vkf__present(&p->q_bias) || vkf__spans_join(&p->q_bias, &p->k_bias, &p->v_bias));
    return (vkf__linear_args){
        .label = "qkv_proj",
        .x = io->query,
        .x_row = io->query_row,
        .weight = vkf__span_joined(&p->q_weight, &p->v_weight),
        .bias = vkf__span_joined(&p->q_bias, &p->v_bias),
        .d = *qkv,
        .rows = sizes->batch * sizes->query_len,
        .in = block->embed_dim,
        .out = block->heads * block->head_dim + block->kv_heads * (block->head_dim + block->v_head_dim),
        .norm = io->norm,
    };
}

bool vkf__projections_normalise(const vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                const vkf__attention_sizes *sizes)
{
    const vkf__span made = {.dtype = block->dtype};
    const bool single = is_single_product(block, io, sizes);
    const vkf__linear_args linear =
        single ? single_product(block, io, sizes, &made) : query_product(block, io, sizes, &made);
    vkf__projected k, v;
    vkf__gemm_args key, value;
    if (single || !io->one_input)
        return vkf__linear_fuses(work, &linear);
    lay_out_keys(block, io, sizes, &k, &v);
    key_products(block, io, sizes, &k, &v, &key, &value);
    return vkf__linear_fuses(work, &linear) && vkf__gemm_fuses(work, &key) && vkf__gemm_fuses(work, &value);
}

static vkf_status emit_single_product(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                      const vkf__attention_sizes *sizes, vkf__projections *out)
{
    uint32_t q_width = block->heads * block->head_dim;
    uint32_t k_width = block->kv_heads * block->head_dim, v_width = block->kv_heads * block->v_head_dim;
    uint32_t row = q_width + k_width + v_width, rows = sizes->batch * sizes->query_len;
    vkf__span qkv;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, block->dtype, (uint64_t)rows * row, &qkv));
    const vkf__linear_args linear = single_product(block, io, sizes, &qkv);
    VKF_RETURN_IF_ERROR(vkf__emit_linear(work, &linear));
    *out = (vkf__projections){
        .q = columns_of(&qkv, 0, q_width, row, sizes->query_len),
        .k = columns_of(&qkv, q_width, k_width, row, sizes->query_len),
        .v = columns_of(&qkv, q_width + k_width, v_width, row, sizes->query_len),
        .single = true,
    };
    return VKF_OK;
}

vkf_status vkf__emit_projections(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                 const vkf__attention_sizes *sizes, vkf__projections *out_projections)
{
    uint64_t single = 0;
    vkf__projections made = {0};
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, is_single_product(block, io, sizes), &single));
    if (single) {
        VKF_RETURN_IF_ERROR(emit_single_product(work, block, io, sizes, &made));
    } else {
        VKF_RETURN_IF_ERROR(emit_query(work, block, io, sizes, &made.q));
        VKF_RETURN_IF_ERROR(emit_keys(work, block, io, sizes, &made.k, &made.v));
    }
    *out_projections = made;
    return VKF_OK;
}
