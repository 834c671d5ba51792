// Edge shapes of the operators that work on rows: lengths around the workgroup's size, one, and primes.
#include "prove/self_test_bed.h"

#include <stdio.h>

#include "op/argmax.h"
#include "op/layer_norm.h"
#include "op/pool.h"
#include "op/softmax.h"
#include "reference/reference.h"
#include "shared/layer_norm.h"
#include "shared/pool.h"

#define LENGTHS 5

static void row_lengths(const vkf__bed *bed, uint32_t out_lengths[LENGTHS])
{
    uint32_t size = bed->variant->config->local_size;
    const uint32_t lengths[LENGTHS] = {1, 13, size - 1, size + 1, 3 * size + 7};
    for (size_t i = 0; i < LENGTHS; i++)
        out_lengths[i] = lengths[i] > 0 ? lengths[i] : 1;
}

static vkf_status no_memory(const vkf__bed *bed)
{
    return vkf__fail(&bed->context->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
}

static vkf_status emit_softmax(vkf__work *work, const void *args)
{
    return vkf__emit_softmax(work, args);
}

enum { BATCH = 2, HEADS = 2, QUERIES = 3 };

// x and out are (BATCH, HEADS, QUERIES, k_len), `count` values.
static vkf_status run_softmax(vkf__bed *bed, const float *x, float *out, size_t count, uint32_t k_len)
{
    const vkf_dtype *types = bed->variant->kernel->types;
    const int32_t lengths[BATCH] = {(int32_t)k_len, (int32_t)(k_len / 2)};
    vkf__softmax_args args = {
        .label = "self-test",
        .key_mask_kind = VKF_MASK_LENGTHS,
        .batch = BATCH,
        .heads = HEADS,
        .q_len = QUERIES,
        .k_len = k_len,
        .mask_cols = k_len,
        .key_mask_batch = 1,
        .causal = true,
        .causal_offset = (int32_t)k_len - QUERIES + 1,
        .scale = 0.5f,
    };
    vkf__bed_clear(bed);
    args.x = vkf__bed_floats(bed, types[0], x, count);
    args.out = vkf__bed_floats(bed, types[1], out, count);
    args.key_mask = vkf__bed_ints(bed, lengths, BATCH);
    const vkf__ref_softmax_desc ref = {
        .batch = BATCH,
        .heads = HEADS,
        .q_len = QUERIES,
        .k_len = k_len,
        .mask_cols = k_len,
        .x = x,
        .out = out,
        .scale = args.scale,
        .key_mask_kind = args.key_mask_kind,
        .key_mask = lengths,
        .causal = true,
        .causal_offset = args.causal_offset,
    };
    vkf__ref_softmax(&ref);
    vkf__bed_case c = {
        .emit = emit_softmax,
        .args = &args,
        .out = args.out,
        .expected = out,
        .tolerance = vkf__bed_close(types[1]),
    };
    (void)snprintf(c.shape, sizeof c.shape, "(2, 2, 3, %u), causal, lengths %d and %d", k_len, lengths[0], lengths[1]);
    return vkf__bed_run(bed, &c);
}

static vkf_status check_softmax(vkf__bed *bed, uint32_t k_len)
{
    const size_t count = (size_t)BATCH * HEADS * QUERIES * k_len;
    float *x = vkf__bed_random_values(bed, count), *out = vkf__bed_random_values(bed, count);
    vkf_status status = x && out ? run_softmax(bed, x, out, count, k_len) : no_memory(bed);
    vkf__free(&bed->context->host, x);
    vkf__free(&bed->context->host, out);
    return status;
}

vkf_status vkf__bed_softmax(vkf__bed *bed)
{
    uint32_t lengths[LENGTHS];
    row_lengths(bed, lengths);
    for (size_t i = 0; i < LENGTHS; i++)
        VKF_RETURN_IF_ERROR(check_softmax(bed, lengths[i]));
    return VKF_OK;
}

static vkf_status emit_layer_norm(vkf__work *work, const void *args)
{
    return vkf__emit_layer_norm(work, args);
}

typedef struct norm_arrays {
    float *x, *out, *residual; // (rows, dim)
    float *weight, *bias;      // (dim)
} norm_arrays;

static vkf_residual_order order_of(const vkf__bed *bed)
{
    if (bed->variant->kernel->op != VKF_OP_LAYER_NORM_RESIDUAL)
        return VKF_RESIDUAL_NONE;
    return vkf__bed_constant(bed, VKF_LAYER_NORM_SPEC_RESIDUAL_AFTER, 0) ? VKF_RESIDUAL_AFTER : VKF_RESIDUAL_BEFORE;
}

static vkf_status run_layer_norm(vkf__bed *bed, const norm_arrays *given, uint32_t rows, uint32_t dim, bool rms)
{
    const vkf__kernel *kernel = bed->variant->kernel;
    const vkf_residual_order order = order_of(bed);
    const bool residual = order != VKF_RESIDUAL_NONE;
    norm_arrays used = *given, *arrays = &used;
    if (!vkf__bed_constant(bed, VKF_LAYER_NORM_SPEC_HAS_WEIGHT, 1))
        used.weight = NULL;
    if (!vkf__bed_constant(bed, VKF_LAYER_NORM_SPEC_HAS_BIAS, 1))
        used.bias = NULL;
    size_t count = (size_t)rows * dim;
    vkf__layer_norm_args args = {
        .label = "self-test",
        .residual_order = order,
        .rows = rows,
        .dim = dim,
        .eps = 1e-5f,
        .rms = rms,
    };
    vkf__bed_clear(bed);
    args.x = vkf__bed_floats(bed, kernel->types[0], arrays->x, count);
    args.out = vkf__bed_floats(bed, kernel->types[0], arrays->out, count);
    args.weight = vkf__bed_floats(bed, kernel->types[1], arrays->weight, dim);
    args.bias = vkf__bed_floats(bed, kernel->types[1], arrays->bias, dim);
    if (residual)
        args.residual = vkf__bed_floats(bed, kernel->types[0], arrays->residual, count);
    const vkf__ref_layer_norm_desc ref = {
        .rows = rows,
        .dim = dim,
        .x = arrays->x,
        .weight = arrays->weight,
        .bias = arrays->bias,
        .residual = arrays->residual,
        .out = arrays->out,
        .eps = args.eps,
        .residual_order = args.residual_order,
        .rms = rms,
    };
    vkf__ref_layer_norm(&ref);
    vkf__bed_case c = {
        .emit = emit_layer_norm,
        .args = &args,
        .out = args.out,
        .expected = arrays->out,
        .tolerance = vkf__bed_close(kernel->types[0]),
    };
    (void)snprintf(c.shape, sizeof c.shape, "%s(%u, %u)%s", rms ? "RMS of " : "", rows, dim,
                   residual ? " with a residual" : "");
    return vkf__bed_run(bed, &c);
}

static vkf_status check_layer_norm(vkf__bed *bed, uint32_t rows, uint32_t dim, bool rms)
{
    const vkf__host *host = &bed->context->host;
    size_t count = (size_t)rows * dim;
    norm_arrays arrays = {
        .x = vkf__bed_random_values(bed, count),
        .out = vkf__bed_random_values(bed, count),
        .residual = vkf__bed_random_values(bed, count),
        .weight = vkf__bed_random_values(bed, dim),
        .bias = vkf__bed_random_values(bed, dim),
    };
    bool complete = arrays.x && arrays.out && arrays.residual && arrays.weight && arrays.bias;
    vkf_status status = complete ? run_layer_norm(bed, &arrays, rows, dim, rms) : no_memory(bed);
    vkf__free(host, arrays.x);
    vkf__free(host, arrays.out);
    vkf__free(host, arrays.residual);
    vkf__free(host, arrays.weight);
    vkf__free(host, arrays.bias);
    return status;
}

vkf_status vkf__bed_layer_norm(vkf__bed *bed)
{
    uint32_t lengths[LENGTHS];
    row_lengths(bed, lengths);
    for (size_t i = 0; i < 2 * LENGTHS; i++)
        VKF_RETURN_IF_ERROR(check_layer_norm(bed, 3, lengths[i % LENGTHS], i >= LENGTHS));
    return VKF_OK;
}

static vkf_status emit_argmax(vkf__work *work, const void *args)
{
    return vkf__emit_argmax(work, args);
}

static vkf_status check_argmax(vkf__bed *bed, uint32_t cols)
{
    enum { ROWS = 3 };
    int32_t out[ROWS] = {-1, -1, -1};
    float *x = vkf__bed_random_values(bed, (size_t)ROWS * cols);
    if (!x)
        return no_memory(bed);
    // In one row the largest comes last. In another all are equal, and the first is wanted.
    x[cols - 1] = 9.0f;
    for (uint32_t c = 0; c < cols; c++)
        x[(size_t)2 * cols + c] = -1.25f;
    vkf__bed_clear(bed);
    const vkf__argmax_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, bed->variant->kernel->types[0], x, (size_t)ROWS * cols),
        .out = vkf__bed_ints(bed, out, ROWS),
        .rows = ROWS,
        .cols = cols,
        .out_stride = 1,
    };
    vkf__ref_argmax(ROWS, cols, x, out);
    vkf__bed_case c = {.emit = emit_argmax, .args = &args, .out = args.out, .expected = out};
    (void)snprintf(c.shape, sizeof c.shape, "(3, %u)", cols);
    vkf_status status = vkf__bed_run(bed, &c);
    vkf__free(&bed->context->host, x);
    return status;
}

vkf_status vkf__bed_argmax(vkf__bed *bed)
{
    uint32_t lengths[LENGTHS];
    row_lengths(bed, lengths);
    for (size_t i = 0; i < LENGTHS; i++)
        VKF_RETURN_IF_ERROR(check_argmax(bed, lengths[i]));
    return VKF_OK;
}

static vkf_status emit_pool(vkf__work *work, const void *args)
{
    return vkf__emit_pool(work, args);
}

enum { SEQUENCES = 3, LEN = 11 };

// x (SEQUENCES, LEN, dim), out (SEQUENCES, dim)
static vkf_status run_pool(vkf__bed *bed, const float *x, float *out, uint32_t dim)
{
    static const int32_t lengths[SEQUENCES] = {LEN, 9, 1};
    const vkf_pooling pooling = (vkf_pooling)vkf__bed_constant(bed, VKF_POOL_SPEC_MODE, VKF_POOLING_MEAN);
    const bool normalise = vkf__bed_constant(bed, VKF_POOL_SPEC_NORMALISE, 1) > 0;
    vkf__bed_clear(bed);
    const vkf__pool_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, bed->variant->kernel->types[0], x, (size_t)SEQUENCES * LEN * dim),
        .lengths = vkf__bed_ints(bed, lengths, SEQUENCES),
        .out = vkf__bed_floats(bed, VKF_DTYPE_F32, out, (size_t)SEQUENCES * dim),
        .batch = SEQUENCES,
        .len = LEN,
        .dim = dim,
        .pooling = pooling,
        .normalise = normalise,
    };
    const vkf__ref_pool_desc ref = {SEQUENCES, LEN, dim, x, lengths, pooling, normalise, out, 0};
    vkf__ref_pool(&ref);
    vkf__bed_case c = {.emit = emit_pool, .args = &args, .out = args.out, .expected = out, .tolerance = 1e-5};
    (void)snprintf(c.shape, sizeof c.shape, "(3, 11, %u)", dim);
    return vkf__bed_run(bed, &c);
}

static vkf_status check_pool(vkf__bed *bed, uint32_t dim)
{
    float *x = vkf__bed_random_values(bed, (size_t)SEQUENCES * LEN * dim);
    float *out = vkf__bed_random_values(bed, (size_t)SEQUENCES * dim);
    vkf_status status = x && out ? run_pool(bed, x, out, dim) : no_memory(bed);
    vkf__free(&bed->context->host, x);
    vkf__free(&bed->context->host, out);
    return status;
}

vkf_status vkf__bed_pool(vkf__bed *bed)
{
    uint32_t dims[LENGTHS];
    row_lengths(bed, dims);
    for (size_t i = 0; i < LENGTHS; i++)
        VKF_RETURN_IF_ERROR(check_pool(bed, dims[i]));
    return VKF_OK;
}
