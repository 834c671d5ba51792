// Public entry points of kernels: lists which ones a device can run, reports what its driver compiles them to, and
// creates their pipelines before first use.
#include "base/sized.h"
#include "kernel/shader_pipeline.h"
#include "observe/kernel_report.h"
#include "prove/warm_up.h"

void vkf_context_visit_kernels(vkf_context *context, vkf_kernel_fn visit, void *user)
{
    if (!context || !visit)
        return;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const char *why = "it has no configuration";
        const vkf__config *config = vkf__kernel_supported_config(&context->device.plan.caps, vkf__kernel_at(i), &why);
        visit(user, vkf__kernel_at(i)->name, config != NULL, why);
    }
}

vkf_status vkf_context_create_pipelines(vkf_context *context, vkf_progress_fn progress, void *user)
{
    if (!context)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    return status != VKF_OK ? status : vkf__warm_up(context, progress, user);
}

vkf_status vkf_context_report_kernels(vkf_context *context, const char *name, vkf_kernel_compile which,
                                      vkf_kernel_report_fn visit, void *user)
{
    if (!context || !visit)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    return status != VKF_OK ? status : vkf__report_kernels(context, name ? name : "", which, visit, user);
}

bool vkf_context_takes_capability(const vkf_context *context, uint32_t capability)
{
    return context && vkf__device_takes_capability(&context->device, capability);
}

vkf_status vkf_context_report_shader_sized(vkf_context *context, const vkf_shader_desc *desc, size_t desc_bytes,
                                           vkf_kernel_report_fn visit, void *user)
{
    if (!context || !desc || !visit)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_context_report_shader");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_context_report_shader", vkf_shader_desc, desc, desc_bytes);
    if (!desc->name || !desc->words)
        return vkf__null_argument(__func__);
    if ((desc->binding_count > 0 && !desc->bindings) || (desc->spec_count > 0 && !desc->spec))
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: %u bindings and %u constants are said, but bindings or spec is NULL",
                         "vkf_context_report_shader", desc->binding_count, desc->spec_count);
    return vkf__report_shader(context, desc, visit, user);
}
