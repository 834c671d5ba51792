#include "observe/account.h"

#include "base/elements.h"
#include "shared/additive_scores.h"
#include "shared/argmax.h"
#include "shared/attention.h"
#include "shared/copy.h"
#include "shared/embed.h"
#include "shared/gate.h"
#include "shared/gemm.h"
#include "shared/gemm_reduce.h"
#include "shared/head_mean.h"
#include "shared/layer_norm.h"
#include "shared/pack.h"
#include "shared/permute.h"
#include "shared/pool.h"
#include "shared/quantize_rows.h"
#include "shared/reorder.h"
#include "shared/rotary.h"
#include "shared/sample.h"
#include "shared/softmax.h"
#include "shared/top.h"

static double bytes(double elements, vkf_dtype dtype)
{
    return elements * (double)vkf_dtype_block_bytes(dtype) / (double)vkf_dtype_block_elements(dtype);
}

// Every element is read as `from`, worked on and written as `to`.
static vkf__account elementwise(double elements, double flops_each, vkf_dtype from, vkf_dtype to)
{
    return (vkf__account){elements * flops_each, bytes(elements, from), bytes(elements, to)};
}

// A factor's rows; those that were rounded to bytes for integer dot products are blocks of words.
static double factor_bytes(double elements, vkf_dtype dtype)
{
    double words = elements / VKF_QUANTIZE_ROWS_DEPTH * VKF_QUANTIZE_ROWS_WORDS;
    return dtype == VKF_DTYPE_I32 ? 4 * words : bytes(elements, dtype);
}

static vkf__account gemm_account(const vkf__kernel *kernel, const struct vkf_gemm_params *p)
{
    double outputs = (double)p->batch * p->m * p->n, d = bytes(outputs, kernel->types[2]);
    double matrices = p->b_outer == 0 && p->b_inner == 0 ? 1 : p->batch;
    bool empty = outputs == 0;
    return (vkf__account){
        .flops = 2 * outputs * p->k,
        .bytes_read = empty ? 0
                            : factor_bytes((double)p->batch * p->m * p->k, kernel->types[0]) +
                                  bytes(matrices * p->n * p->k, kernel->types[1]) + (p->beta != 0.0f ? d : 0),
        .bytes_written = p->splits > 1 ? bytes(outputs * p->splits, VKF_DTYPE_F32) : d,
    };
}

// Keys that the queries of one head see, summed over the queries.
static double visible_keys(const struct vkf_attention_params *p)
{
    double keys = 0;
    for (uint32_t query = 0; query < p->q_len; query++) {
        int64_t end = (int64_t)query + p->causal_offset + 1;
        end = end < 0 ? 0 : end > p->k_len ? p->k_len : end;
        int64_t begin = p->window > 0 ? (int64_t)query + p->causal_offset + 1 - p->window : 0;
        begin = begin < 0 ? 0 : begin > end ? end : begin;
        keys += (double)(end - begin);
    }
    return keys;
}

// Two products, and of each score scale, maximum, difference, exp() and sum.
static vkf__account attention_account(const vkf__dispatched *dispatched)
{
    const vkf__kernel *kernel = dispatched->kernel;
    const struct vkf_attention_params *p = dispatched->params;
    double width = dispatched->spec[VKF_ATTENTION_SPEC_HEAD_DIM];
    double v_width = dispatched->spec[VKF_ATTENTION_SPEC_V_HEAD_DIM];
    double queries = (double)p->batch * p->heads * p->q_len;
    double keys = p->q_len > 0 ? (double)p->batch * p->kv_heads * p->k_len : 0;
    double parts = p->splits > 1 ? p->splits * (v_width + 2) : v_width;
    return (vkf__account){
        .flops = (double)p->batch * p->heads * visible_keys(p) * (2 * (width + v_width) + 5),
        .bytes_read = bytes(queries * width, kernel->types[0]) + bytes(keys * (width + v_width), kernel->types[1]),
        .bytes_written = bytes(queries * parts, kernel->types[2]),
    };
}

static vkf__account attention_reduce_account(const vkf__kernel *kernel, const struct vkf_attention_reduce_params *p)
{
    double elements = (double)p->rows * p->v_head_dim, parts = (double)p->rows * p->splits * (p->v_head_dim + 2.0);
    return (vkf__account){2 * parts, bytes(parts, VKF_DTYPE_F32), bytes(elements, kernel->types[0])};
}

static vkf__account gemm_reduce_account(const vkf__kernel *kernel, const struct vkf_gemm_reduce_params *p)
{
    double d = bytes(p->count, kernel->types[1]), parts = (double)p->count * p->splits;
    return (vkf__account){parts, bytes(parts, VKF_DTYPE_F32) + (p->beta != 0.0f ? d : 0), d};
}

// Mean, centred, squared and summed, normalised, weighted; a residual is read beside.
static vkf__account norm_account(const vkf__kernel *kernel, const struct vkf_layer_norm_params *p)
{
    double elements = (double)p->rows * p->dim;
    vkf__account account = elementwise(elements, 8, kernel->types[0], kernel->types[0]);
    account.bytes_read += p->rows > 0 ? bytes(2.0 * p->dim, kernel->types[1]) : 0;
    if (kernel->op == VKF_OP_LAYER_NORM_RESIDUAL)
        account.bytes_read += bytes(elements, kernel->types[0]);
    return account;
}

static vkf__account embed_account(const vkf__kernel *kernel, const struct vkf_embed_params *p)
{
    double tokens = (double)p->batch * p->len;
    vkf__account account = elementwise(tokens * p->dim, 2, kernel->types[0], kernel->types[1]);
    account.bytes_read += 4 * tokens;
    return account;
}

static vkf__account additive_account(const vkf__kernel *kernel, const struct vkf_additive_params *p)
{
    double q = p->k_len > 0 ? (double)p->count / p->k_len : 0, k = p->q_len > 0 ? (double)p->count / p->q_len : 0;
    return (vkf__account){4.0 * p->count * p->dim, bytes((q + k) * p->dim, kernel->types[0]), 4.0 * p->count};
}

static vkf__account quantize_account(const vkf__kernel *kernel, const struct vkf_quantize_rows_params *p)
{
    double blocks = (double)p->count * VKF_QUANTIZE_ROWS_RUN / VKF_QUANTIZE_ROWS_DEPTH;
    double elements = blocks * VKF_QUANTIZE_ROWS_DEPTH;
    return (vkf__account){4 * elements, bytes(elements, kernel->types[0]), 4 * blocks * VKF_QUANTIZE_ROWS_WORDS};
}

static vkf__account reorder_account(const struct vkf_reorder_params *p)
{
    double moved = 4.0 * p->count * p->moves;
    return (vkf__account){0, moved, moved};
}

static vkf__account copy_account(const vkf__kernel *kernel, const struct vkf_copy_params *p)
{
    vkf__account account = elementwise(p->count, 1, kernel->types[0], kernel->types[1]);
    if (p->beta != 0.0f)
        account.bytes_read += account.bytes_written;
    return account;
}

static vkf__account pool_account(const vkf__kernel *kernel, const struct vkf_pool_params *p)
{
    double outputs = (double)p->batch * p->dim;
    return (vkf__account){2 * outputs * p->len, bytes(outputs * p->len, kernel->types[0]), 4 * outputs};
}

static vkf__account head_mean_account(const struct vkf_head_mean_params *p)
{
    return (vkf__account){(double)p->count * p->heads, 4.0 * p->count * p->heads, 4.0 * p->count};
}

// Rows of scores from which tokens are chosen.
static vkf__account choice_account(const vkf__kernel *kernel, uint32_t rows, uint32_t cols, double chosen)
{
    return (vkf__account){(double)rows * cols, bytes((double)rows * cols, kernel->types[0]), rows * chosen};
}

vkf__account vkf__account_of(const vkf__dispatched *dispatched)
{
    const vkf__kernel *kernel = dispatched->kernel;
    const void *params = dispatched->params;
    const vkf_dtype x = kernel->types[0], out = kernel->types[1];
    const struct vkf_softmax_params *softmax = params;
    const struct vkf_rotary_params *rotary = params;
    const struct vkf_argmax_params *argmax = params;
    const struct vkf_sample_params *sample = params;
    const struct vkf_gate_params *gate = params;
    const struct vkf_top_params *top = params;
    vkf__account gated;
    switch (kernel->op) {
    case VKF_OP_GEMM:
        return gemm_account(kernel, params);
    case VKF_OP_ATTENTION:
        return attention_account(dispatched);
    case VKF_OP_ATTENTION_REDUCE:
        return attention_reduce_account(kernel, params);
    case VKF_OP_GEMM_REDUCE:
        return gemm_reduce_account(kernel, params);
    case VKF_OP_SOFTMAX:
        return elementwise((double)softmax->rows * softmax->k_len, 5, x, out);
    case VKF_OP_LAYER_NORM:
    case VKF_OP_LAYER_NORM_RESIDUAL:
        return norm_account(kernel, params);
    case VKF_OP_ROTARY:
        return elementwise((double)rotary->rows * rotary->head_dim, 3, x, out);
    case VKF_OP_GATE:
        gated = elementwise((double)gate->rows * gate->dim, 4, x, x);
        gated.bytes_read *= 2;
        return gated;
    case VKF_OP_PERMUTE:
        return elementwise(((const struct vkf_permute_params *)params)->count, 0, x, x);
    case VKF_OP_PACK:
        return elementwise(((const struct vkf_pack_params *)params)->count, 0, x, x);
    case VKF_OP_EMBED:
        return embed_account(kernel, params);
    case VKF_OP_ADDITIVE_SCORES:
        return additive_account(kernel, params);
    case VKF_OP_COPY:
        return copy_account(kernel, params);
    case VKF_OP_HEAD_MEAN:
        return head_mean_account(params);
    case VKF_OP_POOL:
        return pool_account(kernel, params);
    case VKF_OP_QUANTIZE_ROWS:
        return quantize_account(kernel, params);
    case VKF_OP_REORDER:
        return reorder_account(params);
    case VKF_OP_ARGMAX:
        return choice_account(kernel, argmax->rows, argmax->cols, 4);
    case VKF_OP_SAMPLE:
        return choice_account(kernel, sample->rows, sample->cols, 4);
    case VKF_OP_TOP:
        return choice_account(kernel, top->rows, top->cols, 8.0 * top->k);
    case VKF_OP_ROOF_COPY:
    case VKF_OP_ROOF_READ:
    case VKF_OP_ROOF_FMA:
    case VKF_OP_COUNT:
        break;
    }
    return (vkf__account){0};
}

// ---- where outputs lie

static vkf__extent rows_of(uint32_t operand, vkf_dtype dtype, uint32_t rows, uint32_t cols, uint64_t row)
{
    return (vkf__extent){operand, dtype, 0, {1, 1, rows, cols}, {0, 0, row, 1}};
}

static vkf__extent gemm_extent(const vkf__kernel *kernel, const struct vkf_gemm_params *p)
{
    return (vkf__extent){
        .operand = VKF_GEMM_BINDING_D - 1,
        .dtype = kernel->types[2],
        .first = p->d_first,
        .counts = {p->batch / p->batch_inner, p->batch_inner, p->m, p->n},
        .strides = {p->d_outer, p->d_inner, p->ldd, 1},
    };
}

static vkf__extent gemm_reduce_extent(const vkf__kernel *kernel, const struct vkf_gemm_reduce_params *p)
{
    uint32_t plane = p->m * p->n;
    return (vkf__extent){
        .operand = VKF_GEMM_REDUCE_BINDING_D - 1,
        .dtype = kernel->types[1],
        .first = p->d_first,
        .counts = {plane > 0 ? p->count / plane / p->batch_inner : 0, p->batch_inner, p->m, p->n},
        .strides = {p->d_outer, p->d_inner, p->ldd, 1},
    };
}

static vkf__extent attention_extent(const vkf__dispatched *dispatched)
{
    const struct vkf_attention_params *p = dispatched->params;
    return (vkf__extent){
        .operand = VKF_ATTENTION_BINDING_OUT - 1,
        .dtype = dispatched->kernel->types[2],
        .counts = {p->batch, p->q_len, p->heads, dispatched->spec[VKF_ATTENTION_SPEC_V_HEAD_DIM]},
        .strides = {p->out_batch, p->out_row, p->out_head, 1},
    };
}

static vkf__extent attention_reduce_extent(const vkf__kernel *kernel, const struct vkf_attention_reduce_params *p)
{
    uint32_t plane = p->heads * p->q_len;
    return (vkf__extent){
        .operand = VKF_ATTENTION_REDUCE_BINDING_OUT - 1,
        .dtype = kernel->types[0],
        .counts = {plane > 0 ? p->rows / plane : 0, p->q_len, p->heads, p->v_head_dim},
        .strides = {p->out_batch, p->out_row, p->out_head, 1},
    };
}

static vkf__extent copy_extent(const vkf__kernel *kernel, const struct vkf_copy_params *p)
{
    uint32_t plane = p->rows * p->cols;
    return (vkf__extent){
        .operand = VKF_COPY_BINDING_OUT - 1,
        .dtype = kernel->types[1],
        .first = p->out_first,
        .counts = {1, plane > 0 ? p->count / plane : 0, p->rows, p->cols},
        .strides = {0, p->out_outer, p->out_row, 1},
    };
}

static vkf__extent rotary_extent(const vkf__kernel *kernel, const struct vkf_rotary_params *p)
{
    uint32_t plane = p->len * p->heads;
    return (vkf__extent){
        .operand = VKF_ROTARY_BINDING_OUT - 1,
        .dtype = kernel->types[1],
        .first = p->out_first,
        .counts = {plane > 0 ? p->rows / plane : 0, p->len, p->heads, p->head_dim},
        .strides = {p->out_batch, p->out_row, p->head_dim, 1},
    };
}

static vkf__extent embed_extent(const vkf__kernel *kernel, const struct vkf_embed_params *p)
{
    return (vkf__extent){
        .operand = VKF_EMBED_BINDING_OUT - 1,
        .dtype = kernel->types[1],
        .counts = {1, p->batch, p->len, p->dim},
        .strides = {0, (uint64_t)p->len * p->dim, p->dim, 1},
    };
}

static vkf__extent flat_extent(uint32_t operand, vkf_dtype dtype, uint32_t count)
{
    return rows_of(operand, dtype, 1, count, count);
}

bool vkf__output_of(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const vkf__kernel *kernel = dispatched->kernel;
    const void *params = dispatched->params;
    const vkf_dtype x = kernel->types[0], out = kernel->types[1];
    const struct vkf_gemm_params *gemm = params;
    const struct vkf_attention_params *attention = params;
    const struct vkf_softmax_params *softmax = params;
    const struct vkf_layer_norm_params *norm = params;
    const struct vkf_gate_params *gate = params;
    const struct vkf_pool_params *pool = params;
    switch (kernel->op) {
    case VKF_OP_GEMM:
        *out_extent = gemm_extent(kernel, params);
        return gemm->splits <= 1;
    case VKF_OP_GEMM_REDUCE:
        *out_extent = gemm_reduce_extent(kernel, params);
        return true;
    case VKF_OP_ATTENTION:
        *out_extent = attention_extent(dispatched);
        return attention->splits <= 1;
    case VKF_OP_ATTENTION_REDUCE:
        *out_extent = attention_reduce_extent(kernel, params);
        return true;
    case VKF_OP_SOFTMAX:
        *out_extent = rows_of(VKF_SOFTMAX_BINDING_OUT - 1, out, softmax->rows, softmax->k_len, softmax->k_len);
        return true;
    case VKF_OP_LAYER_NORM:
    case VKF_OP_LAYER_NORM_RESIDUAL:
        *out_extent = rows_of(VKF_LAYER_NORM_BINDING_OUT - 1, x, norm->rows, norm->dim, norm->out_row);
        return true;
    case VKF_OP_ROTARY:
        *out_extent = rotary_extent(kernel, params);
        return true;
    case VKF_OP_GATE:
        *out_extent = rows_of(VKF_GATE_BINDING_OUT - 1, x, gate->rows, gate->dim, gate->out_row);
        return true;
    case VKF_OP_EMBED:
        *out_extent = embed_extent(kernel, params);
        return true;
    case VKF_OP_COPY:
        *out_extent = copy_extent(kernel, params);
        return true;
    case VKF_OP_POOL:
        *out_extent = rows_of(VKF_POOL_BINDING_OUT - 1, VKF_DTYPE_F32, pool->batch, pool->dim, pool->out_stride);
        return true;
    case VKF_OP_PERMUTE:
        *out_extent = flat_extent(VKF_PERMUTE_BINDING_OUT - 1, x, ((const struct vkf_permute_params *)params)->count);
        return true;
    case VKF_OP_ADDITIVE_SCORES:
        *out_extent = flat_extent(VKF_ADDITIVE_BINDING_OUT - 1, VKF_DTYPE_F32,
                                  ((const struct vkf_additive_params *)params)->count);
        return true;
    case VKF_OP_HEAD_MEAN:
        *out_extent = flat_extent(VKF_HEAD_MEAN_BINDING_OUT - 1, VKF_DTYPE_F32,
                                  ((const struct vkf_head_mean_params *)params)->count);
        return true;
    case VKF_OP_PACK:
    case VKF_OP_QUANTIZE_ROWS:
    case VKF_OP_REORDER:
    case VKF_OP_ARGMAX:
    case VKF_OP_SAMPLE:
    case VKF_OP_TOP:
    case VKF_OP_ROOF_COPY:
    case VKF_OP_ROOF_READ:
    case VKF_OP_ROOF_FMA:
    case VKF_OP_COUNT:
        break;
    }
    return false;
}
