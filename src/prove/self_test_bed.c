// Lays out the operands of a case, runs it, and compares its output and what surrounds it.
#include "prove/self_test_bed.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/elements.h"
#include "base/half.h"
#include "base/size.h"

// Guards around every operand. Operands begin at multiples of this, too.
#define GUARD_BYTES 256u
#define SLOW_RETRIES 2u
// A slow case gets no more chances once a repetition takes more than this many times the budget.
#define HOPELESS 3
// How often a costly case is repeated at least, and the time after which it is not repeated any more.
#define COSTLY_REPETITIONS 3u
#define COSTLY_NS 1e9

vkf_status vkf__bed_init(vkf__bed *bed, uint64_t capacity_bytes)
{
    bed->image_bytes = vkf__align_u64(capacity_bytes, GUARD_BYTES);
    bed->random = UINT64_C(0x9e3779b97f4a7c15);
    VKF_ALLOC_OR_RETURN(&bed->context->host, bed->image, bed->image_bytes);
    VKF_RETURN_IF_ERROR(
        vkf__buffer_create(&bed->context->transfer, VKF_MEMORY_DEVICE, bed->image_bytes, "self-test", &bed->buffer));
    vkf__bed_clear(bed);
    return VKF_OK;
}

void vkf__bed_finish(vkf__bed *bed)
{
    vkf__buffer_destroy(&bed->buffer);
    vkf__free(&bed->context->host, bed->image);
    vkf__free(&bed->context->host, bed->wants.list);
    bed->image = NULL;
    bed->wants = (vkf__pipeline_wants){0};
}

void vkf__bed_clear(vkf__bed *bed)
{
    memset(bed->image, 0xff, GUARD_BYTES);
    bed->used_bytes = GUARD_BYTES;
}

float vkf__bed_random(vkf__bed *bed)
{
    bed->random = bed->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (float)((int)(bed->random >> 33) % 8) * (bed->random >> 62 & 1 ? 0.25f : -0.25f);
}

float *vkf__bed_random_values(vkf__bed *bed, size_t count)
{
    float *values = vkf__alloc(&bed->context->host, count, sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        values[i] = vkf__bed_random(bed);
    return values;
}

static void store_floats(vkf_dtype dtype, const float *values, size_t count, uint8_t *out)
{
    if (dtype == VKF_DTYPE_F32) {
        memcpy(out, values, count * sizeof *values);
        return;
    }
    assert(dtype == VKF_DTYPE_F16 || dtype == VKF_DTYPE_BF16);
    for (size_t i = 0; i < count; i++) {
        uint16_t half = dtype == VKF_DTYPE_F16 ? vkf__half_from_float(values[i]) : vkf__bfloat_from_float(values[i]);
        memcpy(out + i * sizeof half, &half, sizeof half);
    }
}

static double load_value(vkf_dtype dtype, const uint8_t *at)
{
    union {
        float f32;
        int32_t i32;
        uint16_t half;
    } value;
    memcpy(&value, at, vkf_dtype_size(dtype));
    return dtype == VKF_DTYPE_F32    ? (double)value.f32
           : dtype == VKF_DTYPE_I32  ? (double)value.i32
           : dtype == VKF_DTYPE_BF16 ? (double)vkf__float_from_bfloat(value.half)
                                     : (double)vkf__float_from_half(value.half);
}

static uint8_t *place(vkf__bed *bed, vkf_dtype dtype, size_t count, vkf__span *out_span)
{
    uint64_t size = 0;
    (void)vkf__bytes_of(dtype, count, &size);
    uint64_t end = vkf__align_u64(bed->used_bytes + size, GUARD_BYTES) + GUARD_BYTES;
    assert(end <= bed->image_bytes);
    *out_span = (vkf__span){
        .buffer = bed->buffer,
        .offset_bytes = bed->used_bytes,
        .size_bytes = size,
        .dtype = dtype,
    };
    memset(bed->image + bed->used_bytes + size, 0xff, end - bed->used_bytes - size);
    bed->used_bytes = end;
    return bed->image + out_span->offset_bytes;
}

vkf__span vkf__bed_floats(vkf__bed *bed, vkf_dtype dtype, const float *values, size_t count)
{
    vkf__span span = {0};
    if (values)
        store_floats(dtype, values, count, place(bed, dtype, count, &span));
    return span;
}

vkf__span vkf__bed_panels(vkf__bed *bed, vkf_dtype dtype, const void *bytes, uint64_t elements)
{
    vkf__span span = {0};
    uint8_t *at = place(bed, dtype, elements, &span);
    if (bytes)
        memcpy(at, bytes, span.size_bytes);
    span.panels = true;
    return span;
}

vkf__span vkf__bed_ints(vkf__bed *bed, const int32_t *values, size_t count)
{
    vkf__span span;
    memcpy(place(bed, VKF_DTYPE_I32, count, &span), values, count * sizeof *values);
    return span;
}

double vkf__bed_exact(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_F16 ? 1e-3 : 1e-6;
}

double vkf__bed_close(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_F16 ? 2e-3 : 2e-5;
}

static void condemn(vkf__bed *bed, vkf__verdict verdict, const char *shape, const char *what)
{
    const vkf__variant *variant = bed->variant;
    bed->verdict = verdict;
    (void)snprintf(bed->reason, sizeof bed->reason, "%s: %s", shape, what);
    vkf__log(&bed->context->host, VKF_SEVERITY_WARNING,
             "self-test: %s/%s is %s on this device and will not be used%s: %s", variant->kernel->name,
             variant->config->name,
             verdict == VKF_VERDICT_SLOW         ? "too slow"
             : verdict == VKF_VERDICT_UNCOMPILED ? "not compiled"
                                                 : "wrong",
             verdict == VKF_VERDICT_SLOW ? " in this run" : "", bed->reason);
}

static double budget_of(const vkf__bed *bed, double patience)
{
    return (double)bed->context->self_test_budget_ns * (patience > 0 ? patience : 1);
}

void vkf__bed_too_slow(vkf__bed *bed, const char *shape, double ns, double patience)
{
    char what[96];
    const double budget = budget_of(bed, patience);
    (void)snprintf(what, sizeof what, "%.1f ms, beyond the budget of %.1f ms", ns * 1e-6, budget * 1e-6);
    bed->times = ns / budget;
    condemn(bed, VKF_VERDICT_SLOW, shape, what);
}

void vkf__bed_foretold_slow(vkf__bed *bed, const char *shape, double ns, double patience)
{
    bed->foretold = true;
    vkf__bed_too_slow(bed, shape, ns, patience);
}

// The range of bytes of `out` and of the guards around it.
typedef struct out_range {
    uint64_t begin, end;
} out_range;

static out_range range_of(const vkf__span *out)
{
    uint64_t end = vkf__align_u64(out->offset_bytes + out->size_bytes, GUARD_BYTES) + GUARD_BYTES;
    return (out_range){out->offset_bytes - GUARD_BYTES, end};
}

static bool is_close(double actual, double expected, double tolerance)
{
    double scale = fabs(expected) > 1 ? fabs(expected) : 1;
    return fabs(actual - expected) <= tolerance * scale || (isnan(actual) && isnan(expected));
}

static void compare(vkf__bed *bed, const vkf__bed_case *c, const uint8_t *got)
{
    char what[128];
    out_range range = range_of(&c->out);
    size_t size = vkf_dtype_size(c->out.dtype), count = c->out.size_bytes / size;
    for (size_t i = 0; i < count; i++) {
        double actual = load_value(c->out.dtype, got + GUARD_BYTES + i * size);
        double expected = c->out.dtype == VKF_DTYPE_I32 ? (double)((const int32_t *)c->expected)[i]
                                                        : (double)((const float *)c->expected)[i];
        if (!is_close(actual, expected, c->tolerance)) {
            (void)snprintf(what, sizeof what, "element %zu of %zu is %.9g, expected %.9g", i, count, actual, expected);
            condemn(bed, VKF_VERDICT_WRONG, c->shape, what);
            return;
        }
    }
    uint64_t after = GUARD_BYTES + c->out.size_bytes, total = range.end - range.begin;
    const uint8_t *image = bed->image + range.begin;
    if (memcmp(got, image, GUARD_BYTES) != 0 || memcmp(got + after, image + after, total - after) != 0)
        condemn(bed, VKF_VERDICT_WRONG, c->shape, "it writes beside its output");
}

// Runs a case once more, from the same state as the first time.
static vkf_status run_again(vkf__bed *bed, const vkf__bed_case *c, vkf__trial *trial, double *out_ns)
{
    out_range range = range_of(&c->out);
    VKF_RETURN_IF_ERROR(vkf_buffer_write(bed->buffer, range.begin, bed->image + range.begin, range.end - range.begin));
    return vkf__trial_run(trial, out_ns);
}

// Runs a case for the first time. A slow one gets more chances, because some drivers compile when a kernel first runs,
// and because the machine may have been busy.
static vkf_status run_first(vkf__bed *bed, const vkf__bed_case *c, vkf__trial *trial)
{
    double budget = budget_of(bed, c->patience), best = 0, ns = 0;
    VKF_RETURN_IF_ERROR(vkf_buffer_write(bed->buffer, 0, bed->image, bed->used_bytes));
    if (c->foretells)
        VKF_RETURN_IF_ERROR(vkf__trial_latency(trial, &bed->latency_ns));
    VKF_RETURN_IF_ERROR(vkf__trial_run(trial, &best));
    for (uint32_t i = 0; i < (c->costly ? 1 : SLOW_RETRIES) && best > budget; i++) {
        VKF_RETURN_IF_ERROR(run_again(bed, c, trial, &ns));
        best = ns < best ? ns : best;
        if (ns > HOPELESS * budget)
            break;
    }
    bed->best_ns = best;
    if (best > budget)
        vkf__bed_too_slow(bed, c->shape, best, c->patience);
    return VKF_OK;
}

static vkf_status run_all(vkf__bed *bed, const vkf__bed_case *c, vkf__trial *trial)
{
    vkf_status status = VKF_OK;
    uint8_t *got = NULL;
    double ns = 0, begin = vkf__now_ns();
    out_range range = range_of(&c->out);
    VKF_ALLOC(&bed->context->host, got, range.end - range.begin);
    VKF_TRY(run_first(bed, c, trial));
    for (uint32_t i = 0; i < bed->repetitions && bed->verdict == VKF_VERDICT_PASSED; i++) {
        bed->stopped = bed->keep_going && !bed->keep_going(bed->user);
        if (bed->stopped || (c->costly && i >= COSTLY_REPETITIONS && vkf__now_ns() - begin > COSTLY_NS))
            break;
        if (i > 0)
            VKF_TRY(run_again(bed, c, trial, &ns));
        VKF_TRY(vkf_buffer_read(bed->buffer, range.begin, got, range.end - range.begin));
        compare(bed, c, got);
    }
fail:
    vkf__free(&bed->context->host, got);
    return status;
}

static bool has_constants(const vkf__bed *bed, const vkf__dispatch_plan *plan)
{
    const size_t bytes = sizeof *bed->spec * bed->variant->kernel->spec_count;
    bool has = !bed->spec;
    for (uint32_t i = 0; i < plan->node_count && !has; i++)
        has = plan->nodes[i].variant.kernel == bed->variant->kernel &&
              plan->nodes[i].variant.config == bed->variant->config &&
              memcmp(plan->nodes[i].spec, bed->spec, bytes) == 0;
    return has;
}

// *out_wanted: whether the variant takes the case, with the constants that are to be tested.
static vkf_status look_at(vkf__bed *bed, const vkf__bed_case *c, bool *out_wanted)
{
    vkf__work work;
    vkf__work_init(&work, bed->context, "trial");
    work.trial = bed->variant;
    vkf_status status = vkf__work_plan(&work, c->emit, c->args);
    *out_wanted = status == VKF_OK && has_constants(bed, &work.plan);
    if (*out_wanted && bed->gathering) {
        bed->case_count++;
        status = vkf__plan_pipelines(&bed->context->host, &work.plan, &bed->wants);
    }
    vkf__work_finish(&work);
    return status == VKF_ERROR_UNSUPPORTED ? VKF_OK : status;
}

vkf_status vkf__bed_run(vkf__bed *bed, const vkf__bed_case *c)
{
    vkf_status status = VKF_OK;
    vkf__trial trial;
    bed->best_ns = 0;
    bed->stopped = bed->stopped || (bed->keep_going && !bed->keep_going(bed->user));
    if (bed->verdict != VKF_VERDICT_PASSED || bed->stopped)
        return VKF_OK;
    if (bed->gathering || bed->spec) {
        bool wanted = false;
        VKF_RETURN_IF_ERROR(look_at(bed, c, &wanted));
        if (!wanted || bed->gathering)
            return VKF_OK;
    }
    status = vkf__trial_init(&trial, bed->context, bed->variant, c->emit, c->args);
    if (status == VKF_ERROR_UNSUPPORTED || vkf__pipelines_refused(&bed->context->pipelines, status)) {
        // The driver has said why.
        condemn(bed, VKF_VERDICT_UNCOMPILED, c->shape, vkf_status_text(status));
        status = VKF_OK;
    }
    VKF_TRY(status);
    if (trial.taken) {
        bed->case_count++;
        VKF_TRY(run_all(bed, c, &trial));
    }
fail:
    vkf__trial_finish(&trial);
    return status;
}

vkf__bed_values *vkf__bed_make_values(vkf__bed *bed)
{
    vkf__bed_values *values = vkf__alloc(&bed->context->host, 1, sizeof *values);
    if (!values) {
        (void)vkf__fail(&bed->context->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
        return NULL;
    }
    for (size_t i = 0; i < VKF_BED_ELEMENTS; i++) {
        values->x[i] = vkf__bed_random(bed);
        values->y[i] = vkf__bed_random(bed);
        values->out[i] = vkf__bed_random(bed);
    }
    vkf__bed_clear(bed);
    return values;
}

vkf_status vkf__bed_run_values(vkf__bed *bed, vkf__bed_case *c, vkf__bed_values *values, const char *shape)
{
    c->expected = values->out;
    (void)snprintf(c->shape, sizeof c->shape, "%s", shape);
    const vkf_status status = vkf__bed_run(bed, c);
    vkf__free(&bed->context->host, values);
    return status;
}
