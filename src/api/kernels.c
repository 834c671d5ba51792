// The registry as a user sees it: which kernels a device may use, and their pipelines made ahead of time.
#include <stdio.h>

#include "kernel/context.h"

// The first usable config, which is the one that most problems get; NULL when the kernel cannot run here.
static const vkf__config *usable_config(const vkf_context *context, const vkf__kernel *kernel, const char **out_why)
{
    for (uint32_t i = 0; i < kernel->config_count; i++) {
        if (vkf__kernel_usable(&context->device.plan.caps, kernel, &kernel->configs[i], out_why))
            return &kernel->configs[i];
    }
    return NULL;
}

void vkf_context_kernels(vkf_context *context, vkf_kernel_fn visit, void *user)
{
    if (!context || !visit)
        return;
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        const char *why = "it has no configuration";
        const vkf__config *config = usable_config(context, &vkf__kernels[i], &why);
        visit(user, vkf__kernels[i].name, config != NULL, why);
    }
}

typedef struct warm_up {
    vkf_context *context;
    vkf_progress_fn progress; // NULL: count only
    void *user;
    uint32_t done;
    uint32_t total;
} warm_up;

static vkf_status warm_one(warm_up *warm, const vkf__kernel *kernel, const vkf__config *config, const uint32_t *flags)
{
    static const uint32_t no_flags[VKF_KERNEL_MAX_SPEC] = {0};
    uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0};
    const vkf__pipeline *pipeline = NULL;
    if (warm->progress && !warm->progress(warm->user, warm->done, warm->total, kernel->name))
        return VKF_ERROR_CANCELLED;
    warm->done++;
    vkf__config_spec(kernel, config, flags ? flags : no_flags, spec);
    return vkf__pipelines_get(&warm->context->pipelines, kernel, spec, &pipeline);
}

static uint32_t flag_sets(const vkf__kernel *kernel)
{
    return kernel->common_flags_count > 0 ? kernel->common_flags_count : 1;
}

static vkf_status warm_config(warm_up *warm, const vkf__kernel *kernel, const vkf__config *config)
{
    vkf_status status = VKF_OK;
    for (uint32_t i = 0; i < flag_sets(kernel); i++)
        VKF_TRY(warm_one(warm, kernel, config, kernel->common_flags_count > 0 ? kernel->common_flags[i] : NULL));
fail:
    return status;
}

vkf_status vkf_context_create_pipelines(vkf_context *context, vkf_progress_fn progress, void *user)
{
    vkf_status status = VKF_OK;
    if (!context)
        return VKF_ERROR_INVALID_ARGUMENT;
    warm_up warm = {.context = context, .progress = progress, .user = user};
    const vkf__caps *caps = &context->device.plan.caps;
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        for (uint32_t c = 0; c < vkf__kernels[i].config_count; c++) {
            if (vkf__kernel_usable(caps, &vkf__kernels[i], &vkf__kernels[i].configs[c], NULL))
                warm.total += flag_sets(&vkf__kernels[i]);
        }
    }
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        for (uint32_t c = 0; c < vkf__kernels[i].config_count; c++) {
            if (vkf__kernel_usable(caps, &vkf__kernels[i], &vkf__kernels[i].configs[c], NULL))
                VKF_TRY(warm_config(&warm, &vkf__kernels[i], &vkf__kernels[i].configs[c]));
        }
    }
fail:
    return status;
}
