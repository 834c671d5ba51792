// Walks through all kernels and typical problems twice: first to count the pipelines, then to make them.
#include "prove/warm_up.h"

#include <assert.h>

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
} warm_up;

static vkf_status warm_one(warm_up *warm, const vkf__variant *variant, const uint32_t *flags)
{
    uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0};
    bool refused = false;
    if (warm->counting) {
        warm->total++;
        return VKF_OK;
    }
    if (warm->progress && !warm->progress(warm->user, warm->done, warm->total, variant->kernel->name))
        return VKF_ERROR_CANCELLED;
    warm->done++;
    vkf__variant_spec(&warm->context->device.plan.caps, variant, flags, spec);
    return vkf__context_compile(warm->context, variant, spec, &refused);
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
        problem.allow_f16_math = vkf__context_allows_f16_math(warm->context);
        problem.b_layout = b_layout;
        problem.quads = b_layout == VKF_GEMM_B_PANELS;
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
    warm_up warm = {.context = context, .progress = progress, .user = user, .counting = true};
    VKF_RETURN_IF_ERROR(warm_all(&warm));
    warm.counting = false;
    return warm_all(&warm);
}
