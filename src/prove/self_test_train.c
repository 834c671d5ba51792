// Edge shapes of what training adds to the layers: rows and parts about the workgroup's size, and masked rows.
#include "prove/self_test_bed.h"

#include <stdio.h>

#include "op/clip.h"
#include "op/cross_entropy.h"
#include "op/optimiser.h"
#include "op/total.h"
#include "reference/reference.h"
#include "shared/total.h"

static vkf_status no_memory(const vkf__bed *bed)
{
    return vkf__fail(&bed->context->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
}

static vkf_status emit_cross_entropy(vkf__work *work, const void *args)
{
    return vkf__emit_cross_entropy(work, args);
}

enum { ROWS = 3, IGNORED = -100 };

typedef struct loss_arrays {
    float *logits, *gradient; // (ROWS, cols)
    float loss[ROWS];
} loss_arrays;

static vkf_status run_cross_entropy(vkf__bed *bed, loss_arrays *arrays, uint32_t cols, bool of_gradient)
{
    const int32_t labels[ROWS] = {(int32_t)cols - 1, IGNORED, 0};
    const size_t count = (size_t)ROWS * cols;
    vkf__bed_clear(bed);
    const vkf__cross_entropy_args args = {
        .label = "self-test",
        .logits = vkf__bed_floats(bed, VKF_DTYPE_F32, arrays->logits, count),
        .labels = vkf__bed_ints(bed, labels, ROWS),
        .loss = vkf__bed_floats(bed, VKF_DTYPE_F32, arrays->loss, ROWS),
        .gradient = vkf__bed_floats(bed, VKF_DTYPE_F32, arrays->gradient, count),
        .rows = ROWS,
        .cols = cols,
        .ignored = IGNORED,
        .smoothing = 0.125f,
        .factor = 0.5f,
    };
    vkf__ref_cross_entropy(&(vkf__ref_cross_entropy_desc){
        .rows = ROWS,
        .cols = cols,
        .logits = arrays->logits,
        .labels = labels,
        .ignored = IGNORED,
        .smoothing = args.smoothing,
        .factor = args.factor,
        .loss = arrays->loss,
        .gradient = arrays->gradient,
    });
    vkf__bed_case c = {
        .emit = emit_cross_entropy,
        .args = &args,
        .out = of_gradient ? args.gradient : args.loss,
        .expected = of_gradient ? arrays->gradient : arrays->loss,
        .tolerance = 1e-5,
    };
    (void)snprintf(c.shape, sizeof c.shape, "%s of (3, %u)", of_gradient ? "gradient" : "loss", cols);
    return vkf__bed_run(bed, &c);
}

static vkf_status check_cross_entropy(vkf__bed *bed, uint32_t cols, bool of_gradient)
{
    const size_t count = (size_t)ROWS * cols;
    loss_arrays arrays = {vkf__bed_random_values(bed, count), vkf__bed_random_values(bed, count), {0}};
    vkf_status status =
        arrays.logits && arrays.gradient ? run_cross_entropy(bed, &arrays, cols, of_gradient) : no_memory(bed);
    vkf__free(&bed->context->host, arrays.logits);
    vkf__free(&bed->context->host, arrays.gradient);
    return status;
}

vkf_status vkf__bed_cross_entropy(vkf__bed *bed)
{
    const uint32_t size = bed->variant->config->local_size;
    const uint32_t lengths[] = {1, 13, size - 1, size + 1, 9 * size + 7};
    for (size_t i = 0; i < 2 * sizeof lengths / sizeof lengths[0]; i++)
        VKF_RETURN_IF_ERROR(check_cross_entropy(bed, lengths[i / 2], i % 2 == 0));
    return VKF_OK;
}

static vkf_status emit_total(vkf__work *work, const void *args)
{
    return vkf__emit_total(work, args);
}

static vkf_status check_total(vkf__bed *bed, uint32_t count, bool squares)
{
    float out = 3.0f, *x = vkf__bed_random_values(bed, count);
    if (!x)
        return no_memory(bed);
    vkf__bed_clear(bed);
    const vkf__total_args args = {
        .label = "self-test",
        .x = vkf__bed_floats(bed, VKF_DTYPE_F32, x, count),
        .out = vkf__bed_floats(bed, VKF_DTYPE_F32, &out, 1),
        .count = count,
        .squares = squares,
        .accumulate = true,
        .factor = 0.5f,
    };
    out += 0.5f * (float)vkf__ref_total(count, x, squares);
    // Multiples of 1/16 up to 2^17: exact in float32.
    vkf__bed_case c = {.emit = emit_total, .args = &args, .out = args.out, .expected = &out};
    (void)snprintf(c.shape, sizeof c.shape, "%s%u elements", squares ? "squares of " : "", count);
    vkf_status status = vkf__bed_run(bed, &c);
    vkf__free(&bed->context->host, x);
    return status;
}

vkf_status vkf__bed_total(vkf__bed *bed)
{
    const uint32_t size = bed->variant->config->local_size;
    const uint32_t counts[] = {1, 13, size - 1, size + 1, 8 * size + 1, VKF_TOTAL_PART, VKF_TOTAL_PART + 1};
    for (size_t i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++)
        VKF_RETURN_IF_ERROR(check_total(bed, counts[i / 2], i % 2 == 0));
    return VKF_OK;
}

static vkf_status emit_clip(vkf__work *work, const void *args)
{
    return vkf__emit_clip(work, args);
}

static vkf_status check_clip(vkf__bed *bed, uint32_t count)
{
    float out[2] = {0}, *squares = vkf__bed_random_values(bed, count);
    if (!squares)
        return no_memory(bed);
    for (uint32_t i = 0; i < count; i++)
        squares[i] *= squares[i];
    vkf__bed_clear(bed);
    const vkf__clip_args args = {
        .label = "self-test",
        .squares = vkf__bed_floats(bed, VKF_DTYPE_F32, squares, count),
        .out = vkf__bed_floats(bed, VKF_DTYPE_F32, out, 2),
        .count = count,
        .max_norm = 0.25f,
        .loss_scale = 4.0f,
    };
    vkf__ref_clip(count, squares, args.max_norm, args.loss_scale, out);
    vkf__bed_case c = {.emit = emit_clip, .args = &args, .out = args.out, .expected = out, .tolerance = 1e-6};
    (void)snprintf(c.shape, sizeof c.shape, "%u tensors", count);
    vkf_status status = vkf__bed_run(bed, &c);
    vkf__free(&bed->context->host, squares);
    return status;
}

vkf_status vkf__bed_clip(vkf__bed *bed)
{
    const uint32_t size = bed->variant->config->local_size;
    const uint32_t counts[] = {1, 13, size - 1, size + 1, 3 * size + 7};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        VKF_RETURN_IF_ERROR(check_clip(bed, counts[i]));
    return VKF_OK;
}

// A number that no workgroup divides.
enum { ELEMENTS = 259 };

typedef struct step_values {
    float parameter[ELEMENTS], gradient[ELEMENTS], kept[2 * ELEMENTS];
} step_values;

// NULL when memory is exhausted.
static step_values *make_values(vkf__bed *bed)
{
    step_values *values = vkf__alloc(&bed->context->host, 1, sizeof *values);
    if (!values)
        return NULL;
    for (size_t i = 0; i < ELEMENTS; i++) {
        values->parameter[i] = vkf__bed_random(bed);
        values->gradient[i] = vkf__bed_random(bed);
        values->kept[2 * i] = vkf__bed_random(bed);
        values->kept[2 * i + 1] = values->kept[2 * i] * values->kept[2 * i];
    }
    vkf__bed_clear(bed);
    return values;
}

static vkf_status emit_adam(vkf__work *work, const void *args)
{
    return vkf__emit_adam(work, args);
}

static const float step_factor = 0.5f;

static vkf_status run_adam(vkf__bed *bed, step_values *values, bool decoupled, bool of_moments)
{
    const vkf__adam_args args = {
        .label = "self-test",
        .parameter = vkf__bed_floats(bed, VKF_DTYPE_F32, values->parameter, ELEMENTS),
        .gradient = vkf__bed_floats(bed, VKF_DTYPE_F32, values->gradient, ELEMENTS),
        .moments = vkf__bed_floats(bed, VKF_DTYPE_F32, values->kept, (size_t)2 * ELEMENTS),
        .factor = vkf__bed_floats(bed, VKF_DTYPE_F32, &step_factor, 1),
        .count = ELEMENTS,
        .step = 3,
        .rate = 0.125,
        .beta1 = 0.75,
        .beta2 = 0.5,
        .eps = 0.25,
        .weight_decay = 0.5,
        .decoupled = decoupled,
    };
    vkf__ref_adam(&(vkf__ref_adam_desc){
        .count = ELEMENTS,
        .parameter = values->parameter,
        .gradient = values->gradient,
        .moments = values->kept,
        .factor = step_factor,
        .step = args.step,
        .rate = args.rate,
        .beta1 = args.beta1,
        .beta2 = args.beta2,
        .eps = args.eps,
        .weight_decay = args.weight_decay,
        .decoupled = decoupled,
    });
    vkf__bed_case c = {
        .emit = emit_adam,
        .args = &args,
        .out = of_moments ? args.moments : args.parameter,
        .expected = of_moments ? values->kept : values->parameter,
        .tolerance = 2e-6,
    };
    (void)snprintf(c.shape, sizeof c.shape, "%s of 259, step 3%s", of_moments ? "moments" : "parameters",
                   decoupled ? ", decoupled" : "");
    return vkf__bed_run(bed, &c);
}

vkf_status vkf__bed_adam(vkf__bed *bed)
{
    vkf_status status = VKF_OK;
    for (int i = 0; i < 4 && status == VKF_OK; i++) {
        step_values *values = make_values(bed);
        status = values ? run_adam(bed, values, i / 2 == 1, i % 2 == 1) : no_memory(bed);
        vkf__free(&bed->context->host, values);
    }
    return status;
}

static vkf_status emit_sgd(vkf__work *work, const void *args)
{
    return vkf__emit_sgd(work, args);
}

static vkf_status run_sgd(vkf__bed *bed, step_values *values, bool momentum, bool of_buffer)
{
    vkf__sgd_args args = {
        .label = "self-test",
        .parameter = vkf__bed_floats(bed, VKF_DTYPE_F32, values->parameter, ELEMENTS),
        .gradient = vkf__bed_floats(bed, VKF_DTYPE_F32, values->gradient, ELEMENTS),
        .factor = vkf__bed_floats(bed, VKF_DTYPE_F32, &step_factor, 1),
        .count = ELEMENTS,
        .rate = 0.125f,
        .momentum = 0.75f,
        .weight_decay = 0.5f,
        .nesterov = true,
    };
    if (momentum)
        args.momentum_buffer = vkf__bed_floats(bed, VKF_DTYPE_F32, values->kept, ELEMENTS);
    vkf__ref_sgd(&(vkf__ref_sgd_desc){
        .count = ELEMENTS,
        .parameter = values->parameter,
        .gradient = values->gradient,
        .momentum_buffer = momentum ? values->kept : NULL,
        .factor = step_factor,
        .rate = args.rate,
        .momentum = args.momentum,
        .weight_decay = args.weight_decay,
        .nesterov = true,
    });
    vkf__bed_case c = {
        .emit = emit_sgd,
        .args = &args,
        .out = of_buffer ? args.momentum_buffer : args.parameter,
        .expected = of_buffer ? values->kept : values->parameter,
        .tolerance = 1e-6,
    };
    (void)snprintf(c.shape, sizeof c.shape, "%s of 259%s", of_buffer ? "momentum" : "parameters",
                   momentum ? ", Nesterov's" : "");
    return vkf__bed_run(bed, &c);
}

vkf_status vkf__bed_sgd(vkf__bed *bed)
{
    vkf_status status = VKF_OK;
    for (int i = 0; i < 3 && status == VKF_OK; i++) {
        step_values *values = make_values(bed);
        status = values ? run_sgd(bed, values, i > 0, i == 2) : no_memory(bed);
        vkf__free(&bed->context->host, values);
    }
    return status;
}
