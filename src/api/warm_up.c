// Pipelines made ahead of their first use: of the kernels that this device takes for common problems.
#include "kernel/context.h"
#include "op/gemm_dot.h"
#include "shared/gemm.h"

typedef struct warm_up {
    vkf_context *context;
    vkf_progress_fn progress; // NULL: count only
    void *user;
    bool counting;
    uint32_t done;
    uint32_t total;
} warm_up;

static const uint32_t rows[] = {1, 2, 4, 8, 16, 128};
static const uint32_t widths[] = {32, 256, 4096};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static vkf_status warm_one(warm_up *warm, const vkf__variant *variant, const uint32_t *flags)
{
    uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0};
    const vkf__pipeline *pipeline = NULL;
    if (warm->counting) {
        warm->total++;
        return VKF_OK;
    }
    if (warm->progress && !warm->progress(warm->user, warm->done, warm->total, variant->kernel->name))
        return VKF_ERROR_CANCELLED;
    warm->done++;
    vkf__variant_spec(&warm->context->device.plan.caps, variant, flags, spec);
    return vkf__pipelines_get(&warm->context->pipelines, variant->kernel, spec, NULL, &pipeline);
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

// Linear layers with and without bias, with the activations of a feed-forward block; no bias but for weights (n, k) or
// panels, as (k, n) is what attention multiplies by.
static vkf_status warm_product(warm_up *warm, const vkf__variant *variant, uint32_t layout)
{
    const uint32_t epilogues[][2] = {{VKF_SHADER_ACTIVATION_NONE, 0},
                                     {VKF_SHADER_ACTIVATION_NONE, 1},
                                     {VKF_SHADER_ACTIVATION_RELU, 1},
                                     {VKF_SHADER_ACTIVATION_GELU_ERF, 1}};
    vkf_status status = VKF_OK;
    // Beside blocks, the other parameters of a model are of its activations' type as a rule.
    const vkf_dtype *types = variant->kernel->types;
    const vkf__span bias = {.size_bytes = 1, .dtype = types[0] == VKF_DTYPE_I32 ? types[2] : types[0]};
    for (size_t i = 0; i < (layout == VKF_GEMM_B_KN ? 1 : COUNT(epilogues)); i++) {
        const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
            [VKF_GEMM_SPEC_B_LAYOUT] = vkf__gemm_layout_flag(types[1], layout),
            [VKF_GEMM_SPEC_ACTIVATION] = epilogues[i][0],
            [VKF_GEMM_SPEC_HAS_BIAS] = epilogues[i][1] != 0 ? vkf__gemm_bias_flag(types[1], &bias) : 0,
        };
        VKF_TRY(warm_one(warm, variant, flags));
    }
fail:
    return status;
}

static vkf_status warm_products(warm_up *warm, const vkf__kernel *kernel)
{
    vkf_status status = VKF_OK;
    for (uint32_t layout = VKF_GEMM_B_KN; layout <= VKF_GEMM_B_PANELS; layout++) {
        vkf__variant before = {0};
        for (size_t i = 0; i < COUNT(rows); i++) {
            vkf__problem problem = {.m = rows[i], .n = 512, .k = 512, .b_layout = layout, .largest = 512 * 512};
            vkf__variant variant = {0};
            problem.quads = layout == VKF_GEMM_B_PANELS;
            problem.allow_f16_math = vkf__context_allows_f16_math(warm->context);
            if (!chosen(warm, kernel, &problem, &variant) || variant.config == before.config)
                continue;
            before = variant;
            VKF_TRY(warm_product(warm, &variant, layout));
        }
    }
fail:
    return status;
}

static vkf_status warm_rows(warm_up *warm, const vkf__kernel *kernel)
{
    static const uint32_t no_flags[VKF_KERNEL_MAX_SPEC] = {0};
    vkf_status status = VKF_OK;
    vkf__variant before = {0};
    for (size_t i = 0; i < COUNT(widths); i++) {
        const vkf__problem problem = {.m = 128, .n = widths[i]};
        vkf__variant variant = {0};
        if (!chosen(warm, kernel, &problem, &variant) || variant.config == before.config)
            continue;
        before = variant;
        VKF_TRY(warm_one(warm, &variant, no_flags));
    }
fail:
    return status;
}

static vkf_status warm_kernel(warm_up *warm, const vkf__kernel *kernel)
{
    if (vkf__is_for_integer_dot(kernel) && !vkf__prefers_integer_dot(warm->context))
        return VKF_OK;
    switch (kernel->op) {
    case VKF_OP_GEMM:
        return warm_products(warm, kernel);
    case VKF_OP_ATTENTION: // the widths of heads are constants of its pipelines: they wait for a layer that has them
    case VKF_OP_ROTARY:    // and so do what these are made of
    case VKF_OP_GATE:
    case VKF_OP_SAMPLE:
    case VKF_OP_TOP: // these are for beams
    case VKF_OP_REORDER:
    case VKF_OP_ROOF_COPY: // for measurements alone
    case VKF_OP_ROOF_READ:
    case VKF_OP_ROOF_FMA:
        return VKF_OK;
    default:
        return warm_rows(warm, kernel);
    }
}

static vkf_status warm_all(warm_up *warm)
{
    vkf_status status = VKF_OK;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        VKF_TRY(warm_kernel(warm, vkf__kernel_at(i)));
fail:
    return status;
}

vkf_status vkf_context_create_pipelines(vkf_context *context, vkf_progress_fn progress, void *user)
{
    if (!context)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    warm_up warm = {.context = context, .progress = progress, .user = user, .counting = true};
    VKF_TRY(warm_all(&warm));
    warm.counting = false;
    VKF_TRY(warm_all(&warm));
fail:
    return status;
}
