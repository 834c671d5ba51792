// Walks through all kernels and typical problems twice: first to count the pipelines, then to make them.
#include "prove/warm_up.h"

#include <assert.h>

#include "base/parallel.h"
#include "op/gemm_dot.h"
#include "op/operators.h"
#include "shared/gemm.h"

typedef struct warm_up {
    vkf_context *context;
    vkf_progress_fn progress; // may be NULL
    void *user;
    bool counting; // pipelines are not made yet
    uint32_t done;
    uint32_t total;
    // Pipelines that were counted as done and are made together, as many as there are threads.
    vkf__variant variants[VKF_PARALLEL_THREADS];
    vkf__pipeline_want wants[VKF_PARALLEL_THREADS];
    uint32_t batch_count, batch_size;
} warm_up;

// Makes the pipelines of the batch. If the driver refuses one of them, each is asked for by itself.
static vkf_status make_batch(warm_up *warm)
{
    vkf__pipelines *pipelines = &warm->context->pipelines;
    const uint32_t count = warm->batch_count;
    bool refused = false;
    warm->batch_count = 0;
    vkf_status status = vkf__pipelines_make(pipelines, warm->wants, count, NULL);
    if (!vkf__pipelines_refused(pipelines, status))
        return status;
    for (uint32_t i = 0; i < count; i++)
        VKF_RETURN_IF_ERROR(vkf__context_compile(warm->context, &warm->variants[i], warm->wants[i].spec, &refused));
    return VKF_OK;
}

static vkf_status warm_one(warm_up *warm, const vkf__variant *variant, const uint32_t *flags)
{
    if (warm->counting) {
        warm->total++;
        return VKF_OK;
    }
    if (warm->progress && !warm->progress(warm->user, warm->done, warm->total, variant->kernel->name)) {
        VKF_RETURN_IF_ERROR(make_batch(warm));
        return VKF_ERROR_CANCELLED;
    }
    warm->done++;
    warm->variants[warm->batch_count] = *variant;
    vkf__pipeline_want *want = &warm->wants[warm->batch_count++];
    *want = (vkf__pipeline_want){.kernel = variant->kernel};
    vkf__variant_spec(&warm->context->device.plan.caps, variant, flags, want->spec);
    return warm->batch_count == warm->batch_size ? make_batch(warm) : VKF_OK;
}

// Whether `kernel` is what this device takes for a problem.
static bool chosen(const warm_up *warm, const vkf__kernel *kernel, const vkf__problem *problem,
                   vkf__variant *out_variant)
{
    const vkf__selector selector = vkf__context_selector(warm->context);
    vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {0};
    for (uint32_t i = 0; i < kernel->type_count; i++)
        types[i] = kernel->types[i];
    return vkf__select(&selector, kernel->op, types, problem, out_variant, NULL) && out_variant->kernel == kernel;
}

// Makes every pipeline that the operator's row names for a problem.
static vkf_status warm_variant(warm_up *warm, const vkf__variant *variant, const vkf__problem *problem)
{
    const vkf__op_info *info = vkf__operator(variant->kernel->op);
    for (uint32_t i = 0; i == 0 || info->ahead_flags; i++) {
        uint32_t flags[VKF_KERNEL_MAX_SPEC] = {0};
        if (info->ahead_flags && !info->ahead_flags(variant->kernel, problem, i, flags))
            break;
        VKF_RETURN_IF_ERROR(warm_one(warm, variant, flags));
    }
    return VKF_OK;
}

// Makes pipelines for the problems for which this device takes `kernel`, for each of its configs once. Linear problems
// are stated with b in this layout.
static vkf_status warm_layout(warm_up *warm, const vkf__kernel *kernel, uint32_t b_layout)
{
    const vkf__op_info *info = vkf__operator(kernel->op);
    uint64_t seen = 0; // a bit per config
    assert(kernel->config_count <= 64);
    for (uint32_t i = 0; i < info->problem_count; i++) {
        const vkf__typical_problem *typical = &info->problems[i];
        vkf__problem problem = typical->problem;
        vkf__variant variant = {0};
        if (!typical->ahead || (!typical->linear && problem.b_layout != b_layout) ||
            !vkf__allows_for_integer_dot(warm->context, kernel, &problem))
            continue;
        problem.precision = warm->context->precision;
        problem.b_layout = b_layout;
        problem.offers = b_layout == VKF_GEMM_B_PANELS ? VKF_FORM_QUADS : 0;
        // The weight has just this size. Where texel buffers are short, larger ones get other kernels.
        problem.largest = (uint64_t)problem.n * problem.k;
        if (!chosen(warm, kernel, &problem, &variant))
            continue;
        const uint64_t bit = UINT64_C(1) << (variant.config - kernel->configs);
        if (!(seen & bit))
            VKF_RETURN_IF_ERROR(warm_variant(warm, &variant, &problem));
        seen |= bit;
    }
    return VKF_OK;
}

static vkf_status warm_kernel(warm_up *warm, const vkf__kernel *kernel)
{
    for (uint32_t layout = VKF_GEMM_B_KN; layout <= VKF_GEMM_B_PANELS; layout++)
        VKF_RETURN_IF_ERROR(warm_layout(warm, kernel, layout));
    return VKF_OK;
}

static vkf_status warm_all(warm_up *warm)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        VKF_RETURN_IF_ERROR(warm_kernel(warm, vkf__kernel_at(i)));
    return VKF_OK;
}

vkf_status vkf__warm_up(vkf_context *context, vkf_progress_fn progress, void *user)
{
    warm_up warm = {
        .context = context,
        .progress = progress,
        .user = user,
        .counting = true,
        .batch_size = vkf__parallel_threads(),
    };
    VKF_RETURN_IF_ERROR(warm_all(&warm));
    warm.counting = false;
    VKF_RETURN_IF_ERROR(warm_all(&warm));
    return make_batch(&warm);
}
