// Edge shapes of the gradients of operators on rows, and of sums over rows.
#include "prove/self_test_bed.h"

#include <stdio.h>

#include "op/column_sum.h"
#include "op/layer_norm_grad.h"
#include "op/norm_gradients.h"
#include "op/softmax_grad.h"
#include "reference/reference.h"
#include "shared/norm_gradients.h"

#define LENGTHS 5
#define MOST VKF_NORM_GRADIENTS_MOST_EACH
enum { ROWS = 3 };

// About the workgroup's size, one, and primes.
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

typedef struct grad_arrays {
    float *x, *dout, *dx; // (rows, cols), or (cols) of a sum's dx
    float *vector;        // (cols)
    float *stats;         // (rows, 2)
    float *sums;          // (2, cols)
} grad_arrays;

static void free_arrays(vkf__bed *bed, grad_arrays *arrays)
{
    const vkf__host *host = &bed->context->host;
    vkf__free(host, arrays->x);
    vkf__free(host, arrays->dout);
    vkf__free(host, arrays->dx);
    vkf__free(host, arrays->vector);
    vkf__free(host, arrays->stats);
    vkf__free(host, arrays->sums);
}

// Whether all could be had; they are to be freed either way.
static bool make_arrays(vkf__bed *bed, uint32_t rows, uint32_t cols, grad_arrays *out_arrays)
{
    const size_t count = (size_t)rows * cols;
    *out_arrays = (grad_arrays){
        .x = vkf__bed_random_values(bed, count),
        .dout = vkf__bed_random_values(bed, count),
        .dx = vkf__bed_random_values(bed, count),
        .vector = vkf__bed_random_values(bed, cols),
        .stats = vkf__bed_random_values(bed, (size_t)2 * rows),
        .sums = vkf__bed_random_values(bed, (size_t)2 * cols),
    };
    if (!out_arrays->x || !out_arrays->dout || !out_arrays->dx || !out_arrays->vector || !out_arrays->stats ||
        !out_arrays->sums)
        return false;
    vkf__bed_clear(bed);
    return true;
}

static vkf_status emit_layer_norm_grad(vkf__work *work, const void *args)
{
    return vkf__emit_layer_norm_grad(work, args);
}

// An eps of 1 keeps the gradient of a row of one element, or of equal ones, as small as the others.
static vkf_status run_layer_norm_grad(vkf__bed *bed, const grad_arrays *arrays, uint32_t dim, bool rms)
{
    const vkf__kernel *kernel = bed->variant->kernel;
    const bool stats = kernel->op == VKF_OP_NORM_STATS;
    const vkf_dtype type = kernel->types[0];
    const size_t count = (size_t)ROWS * dim;
    vkf__layer_norm_grad_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, arrays->x, count),
        .weight = vkf__bed_floats(bed, type, arrays->vector, dim),
        .dout = vkf__bed_floats(bed, type, arrays->dout, count),
        .dx = vkf__bed_floats(bed, type, arrays->dx, count),
        .rows = ROWS,
        .dim = dim,
        .eps = 1,
        .rms = rms,
        .accumulate = true,
    };
    if (stats)
        args.stats = vkf__bed_floats(bed, VKF_DTYPE_F32, arrays->stats, (size_t)2 * ROWS);
    const vkf__ref_layer_norm_grad_desc ref = {
        ROWS, dim, arrays->x, arrays->vector, arrays->dout, arrays->dx, arrays->stats, args.eps, rms, true,
    };
    vkf__ref_layer_norm_grad(&ref);
    vkf__bed_case c = {
        .emit = emit_layer_norm_grad,
        .args = &args,
        .out = stats ? args.stats : args.dx,
        .expected = stats ? arrays->stats : arrays->dx,
        .tolerance = vkf__bed_close(type),
    };
    (void)snprintf(c.shape, sizeof c.shape, "%s(%u, %u)", rms ? "RMS of " : "", (uint32_t)ROWS, dim);
    return vkf__bed_run(bed, &c);
}

vkf_status vkf__bed_layer_norm_grad(vkf__bed *bed)
{
    uint32_t lengths[LENGTHS];
    row_lengths(bed, lengths);
    for (size_t i = 0; i < 2 * LENGTHS; i++) {
        const uint32_t dim = lengths[i % LENGTHS];
        grad_arrays arrays;
        const bool made = make_arrays(bed, ROWS, dim, &arrays);
        vkf_status status = made ? run_layer_norm_grad(bed, &arrays, dim, i >= LENGTHS) : no_memory(bed);
        free_arrays(bed, &arrays);
        VKF_RETURN_IF_ERROR(status);
    }
    return VKF_OK;
}

static vkf_status emit_norm_gradients(vkf__work *work, const void *args)
{
    return vkf__emit_norm_gradients(work, args);
}

static void expect_norm_gradients(const grad_arrays *arrays, uint32_t rows, uint32_t dim, bool rms, float eps)
{
    const vkf__ref_layer_norm_grad_desc input = {
        rows, dim, arrays->x, arrays->vector, arrays->dout, arrays->dx, arrays->stats, eps, rms, true,
    };
    vkf__ref_layer_norm_grad(&input);
    vkf__ref_column_sum(&(vkf__ref_column_sum_desc){
        rows,
        dim,
        arrays->dout,
        arrays->x,
        arrays->stats,
        arrays->sums,
        true,
    });
    vkf__ref_column_sum(&(vkf__ref_column_sum_desc){
        rows,
        dim,
        arrays->dout,
        NULL,
        NULL,
        arrays->sums + dim,
        true,
    });
}

static vkf_status run_norm_gradients(vkf__bed *bed, const grad_arrays *arrays, uint32_t rows, uint32_t dim, int kind)
{
    const vkf_dtype type = bed->variant->kernel->types[0];
    const size_t count = (size_t)rows * dim;
    const bool rms = kind % 2 == 1;
    const vkf__span sums = vkf__bed_floats(bed, VKF_DTYPE_F32, arrays->sums, (size_t)2 * dim);
    const vkf__norm_gradients_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, arrays->x, count),
        .weight = vkf__bed_floats(bed, type, arrays->vector, dim),
        .dout = vkf__bed_floats(bed, type, arrays->dout, count),
        .dx = vkf__bed_floats(bed, type, arrays->dx, count),
        .dweight = {vkf__span_part(&sums, 0, dim), true},
        .dbias = {vkf__span_part(&sums, dim, dim), true},
        .rows = rows,
        .dim = dim,
        .eps = 1,
        .rms = rms,
        .accumulate = true,
    };
    expect_norm_gradients(arrays, rows, dim, rms, args.eps);
    vkf__bed_case c = {
        .emit = emit_norm_gradients,
        .args = &args,
        .out = kind < 2 ? args.dx : sums,
        .expected = kind < 2 ? arrays->dx : arrays->sums,
        .tolerance = vkf__bed_close(type),
    };
    (void)snprintf(c.shape, sizeof c.shape, "%s(%u, %u)%s", rms ? "RMS of " : "", rows, dim,
                   kind < 2 ? "" : ", weight and bias");
    return vkf__bed_run(bed, &c);
}

// Rows that are as long as a subgroup's invocations hold on every device and on those with the most registers, and
// shorter ones; groups of one row and of several.
vkf_status vkf__bed_norm_gradients(vkf__bed *bed)
{
    const uint32_t size = bed->context->device.plan.caps.least_subgroup_size;
    const uint32_t shapes[][2] = {{1, 1}, {3, 13}, {ROWS, size + 1}, {70, 4 * size}, {70, MOST * size}};
    const int kinds = 4; // with the mean or RMS, the gradient of the input or those of the weight and the bias
    for (int i = 0; i < kinds * (int)(sizeof shapes / sizeof shapes[0]); i++) {
        const uint32_t *shape = shapes[i / kinds];
        grad_arrays arrays;
        const bool made = make_arrays(bed, shape[0], shape[1], &arrays);
        vkf_status status = made ? run_norm_gradients(bed, &arrays, shape[0], shape[1], i % kinds) : no_memory(bed);
        free_arrays(bed, &arrays);
        VKF_RETURN_IF_ERROR(status);
    }
    return VKF_OK;
}

static vkf_status emit_softmax_grad(vkf__work *work, const void *args)
{
    return vkf__emit_softmax_grad(work, args);
}

static vkf_status run_softmax_grad(vkf__bed *bed, const grad_arrays *arrays, uint32_t cols)
{
    const vkf_dtype type = bed->variant->kernel->types[0];
    const size_t count = (size_t)ROWS * cols;
    const vkf__softmax_grad_args args = {
        .label = "self-test",
        .y = vkf__bed_floats(bed, type, arrays->x, count),
        .dout = vkf__bed_floats(bed, type, arrays->dout, count),
        .dx = vkf__bed_floats(bed, type, arrays->dx, count),
        .rows = ROWS,
        .cols = cols,
        .scale = 0.5f,
    };
    vkf__ref_softmax_grad(ROWS, cols, args.scale, arrays->x, arrays->dout, arrays->dx);
    vkf__bed_case c = {
        .emit = emit_softmax_grad,
        .args = &args,
        .out = args.dx,
        .expected = arrays->dx,
        .tolerance = vkf__bed_close(type),
    };
    (void)snprintf(c.shape, sizeof c.shape, "(%u, %u)", (uint32_t)ROWS, cols);
    return vkf__bed_run(bed, &c);
}

vkf_status vkf__bed_softmax_grad(vkf__bed *bed)
{
    uint32_t lengths[LENGTHS];
    row_lengths(bed, lengths);
    for (size_t i = 0; i < LENGTHS; i++) {
        grad_arrays arrays;
        const bool made = make_arrays(bed, ROWS, lengths[i], &arrays);
        vkf_status status = made ? run_softmax_grad(bed, &arrays, lengths[i]) : no_memory(bed);
        free_arrays(bed, &arrays);
        VKF_RETURN_IF_ERROR(status);
    }
    return VKF_OK;
}

static vkf_status emit_column_sum(vkf__work *work, const void *args)
{
    return vkf__emit_column_sum(work, args);
}

static vkf_status run_column_sum(vkf__bed *bed, const grad_arrays *arrays, uint32_t rows, uint32_t cols, bool norm)
{
    const vkf_dtype type = bed->variant->kernel->types[0];
    const size_t count = (size_t)rows * cols;
    vkf__column_sum_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, type, arrays->dout, count),
        .out = vkf__bed_floats(bed, VKF_DTYPE_F32, arrays->vector, cols),
        .rows = rows,
        .cols = cols,
        .accumulate = true,
    };
    if (norm) {
        args.normed = vkf__bed_floats(bed, type, arrays->x, count);
        args.stats = vkf__bed_floats(bed, VKF_DTYPE_F32, arrays->stats, (size_t)2 * rows);
    }
    const vkf__ref_column_sum_desc ref = {
        rows, cols, arrays->dout, arrays->x, norm ? arrays->stats : NULL, arrays->vector, true,
    };
    vkf__ref_column_sum(&ref);
    vkf__bed_case c = {
        .emit = emit_column_sum,
        .args = &args,
        .out = args.out,
        .expected = arrays->vector,
        .tolerance = 1e-5,
    };
    (void)snprintf(c.shape, sizeof c.shape, "(%u, %u)%s", rows, cols, norm ? " with a norm" : "");
    return vkf__bed_run(bed, &c);
}

// Few rows and many, which are summed by groups; columns about those of a workgroup.
vkf_status vkf__bed_column_sum(vkf__bed *bed)
{
    const uint32_t width = 4 * bed->variant->config->local_size;
    const uint32_t shapes[][2] = {{1, 1}, {7, width + 1}, {32, 13}, {33, width - 1}, {131, 37}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++) {
        const uint32_t *shape = shapes[i / 2];
        grad_arrays arrays;
        const bool made = make_arrays(bed, shape[0], shape[1], &arrays);
        vkf_status status = made ? run_column_sum(bed, &arrays, shape[0], shape[1], i % 2) : no_memory(bed);
        free_arrays(bed, &arrays);
        VKF_RETURN_IF_ERROR(status);
    }
    return VKF_OK;
}
