// The registry as a user sees it: which kernels a device may use.
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
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const char *why = "it has no configuration";
        const vkf__config *config = usable_config(context, vkf__kernel_at(i), &why);
        visit(user, vkf__kernel_at(i)->name, config != NULL, why);
    }
}
