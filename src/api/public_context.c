// Public entry points of contexts, and of the devices on which they can be created.
#include "api/check.h"
#include "kernel/pipeline_cache.h"
#include "prove/cores.h"
#include "prove/prove.h"
#include "prove/self_test.h"
#include "prove/tune.h"
#include "reference/reference_device.h"

// A driver takes a submission that runs for seconds for a hang: two on Windows, less on some phones. With so much work
// for each core it takes a tenth of a second where a core makes 40 GFLOP/s, which the slowest do.
#define SUBMISSION_FLOPS_OF_A_CORE 4e9

vkf_status vkf__take_context_desc(const char *function, const vkf_context_desc *desc, size_t desc_bytes,
                                  vkf_context_desc *out_full)
{
    *out_full = (vkf_context_desc){0};
    if (!desc || vkf__read_sized(out_full, sizeof *out_full, desc, desc_bytes)) {
        if (out_full->device.kind == VKF_CHOOSE_REFERENCE)
            out_full->get_instance_proc_addr = vkf__reference_get_proc;
        return VKF_OK;
    }
    const vkf__host host = {
        .message = out_full->message,
        .message_user = out_full->message_user,
        .min_severity = out_full->min_severity,
    };
    return vkf__refuse_sized(&host, function, sizeof *out_full, desc, desc_bytes);
}

vkf_status vkf_context_create_sized(const vkf_context_desc *desc, size_t desc_bytes, vkf_context **out_context)
{
    if (!out_context)
        return vkf__null_argument(__func__);
    vkf_context_desc full, *wanted = &full;
    vkf_context *context = NULL;
    VKF_RETURN_IF_ERROR(vkf__take_context_desc("vkf_context_create", desc, desc_bytes, &full));
    vkf_status status = vkf__context_create(wanted, &context);
    if (status != VKF_OK)
        return status;
    const bool processor = context->device.plan.caps.traits.processor;
    context->self_test_budget_ns = processor ? VKF_SELF_TEST_BUDGET_PROCESSOR_NS : VKF_SELF_TEST_BUDGET_NS;
    context->submission_flops = processor ? 0 : SUBMISSION_FLOPS_OF_A_CORE * context->device.plan.caps.traits.cores;
    context->first_use_left_ns = VKF_TUNE_TIME_CAP_NS;
    // What runs nothing, or references alone, is trusted.
    const bool trusted = wanted->described || context->device.record_reference;
    context->self_tests = !wanted->skip_self_test;
    context->tunes_on_first_use = wanted->tune_on_first_use && !trusted;
    context->prove = trusted ? NULL : vkf__prove;
    if (context->self_tests && !trusted)
        status = vkf__learn_cores(context);
    if (status != VKF_OK)
        vkf__context_destroy(context);
    else
        *out_context = context;
    return status;
}

void vkf_context_destroy(vkf_context **context)
{
    if (!context || !*context)
        return;
    if (!vkf__context_is_inherited(*context))
        vkf__context_drop_owner(*context);
    *context = NULL;
}

vkf_status vkf_context_save_cache(vkf_context *context)
{
    if (!context)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    status = vkf__learned_save(&context->learned);
    vkf_status pipelines = vkf__pipeline_cache_save(&context->device, &context->cache, context->pipelines.cache);
    return status != VKF_OK ? status : pipelines;
}

vkf_status vkf_context_visit_verdicts(vkf_context *context, vkf_verdict_fn visit, void *user)
{
    if (!context || !visit)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, __func__));
    vkf__learned_visit(&context->learned, visit, user);
    return VKF_OK;
}

vkf_status vkf_context_forget_verdicts(vkf_context *context)
{
    if (!context)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, __func__));
    vkf__learned_forget(&context->learned);
    return VKF_OK;
}

vkf_status vkf_enumerate_devices_sized(const vkf_context_desc *desc, size_t desc_bytes, uint32_t *inout_count,
                                       vkf_device_info *out_infos, size_t info_bytes)
{
    if (!inout_count)
        return vkf__null_argument(__func__);
    vkf_context_desc full;
    VKF_RETURN_IF_ERROR(vkf__take_context_desc("vkf_enumerate_devices", desc, desc_bytes, &full));
    return vkf__enumerate_devices(&full, inout_count, out_infos, info_bytes);
}

void vkf_context_get_device_info_sized(const vkf_context *context, vkf_device_info *out_info, size_t info_bytes)
{
    if (!context || !out_info)
        return;
    vkf_device_info info;
    vkf__caps_info(&context->device.plan.caps, context->device_index, &info);
    (void)vkf__give_sized(out_info, info_bytes, &info, sizeof info);
}

bool vkf_last_limit_sized(vkf_limit *out_limit, size_t limit_bytes)
{
    const vkf__limit last = vkf__last_limit();
    if (!out_limit || !last.what)
        return false;
    const vkf_limit limit = {.what = last.what, .asked = last.asked, .allowed = last.allowed};
    return vkf__give_sized(out_limit, limit_bytes, &limit, sizeof limit);
}

void vkf_context_get_memory_usage_sized(vkf_context *context, vkf_memory_usage *out_usage, size_t usage_bytes)
{
    if (!context || !out_usage || vkf__context_is_inherited(context))
        return;
    vkf_memory_usage usage;
    vkf__memory_usage_get(&context->memory, &usage);
    (void)vkf__give_sized(out_usage, usage_bytes, &usage, sizeof usage);
}

void vkf_context_reset_memory_peak(vkf_context *context)
{
    if (context && !vkf__context_is_inherited(context))
        vkf__memory_reset_peak(&context->memory);
}

double vkf_context_get_last_op_ns(const vkf_context *context)
{
    return context ? atomic_load(&context->last_op_ns) : -1;
}

const char *vkf_context_get_last_op_kernel(const vkf_context *context)
{
    return context ? atomic_load(&context->last_op_kernel) : NULL;
}
