// Public entry points of contexts, and of the devices on which they can be created.
#include "kernel/context.h"
#include "kernel/pipeline_cache.h"
#include "prove/cores.h"
#include "prove/prove.h"
#include "prove/self_test.h"
#include "prove/tune.h"

static const vkf_context_desc defaults = {0};

// A driver takes a submission that runs for seconds for a hang: two on Windows, less on some phones. With so much work
// for each core it takes a tenth of a second where a core makes 40 GFLOP/s, which the slowest do.
#define SUBMISSION_FLOPS_OF_A_CORE 4e9

vkf_status vkf_context_create(const vkf_context_desc *desc, vkf_context **out_context)
{
    if (!out_context)
        return VKF_ERROR_INVALID_ARGUMENT;
    const vkf_context_desc *wanted = desc ? desc : &defaults;
    vkf_context *context = NULL;
    vkf_status status = vkf__context_create(wanted, &context);
    if (status != VKF_OK)
        return status;
    const bool processor = context->device.plan.caps.traits.processor;
    context->self_test_budget_ns = processor ? VKF_SELF_TEST_BUDGET_PROCESSOR_NS : VKF_SELF_TEST_BUDGET_NS;
    context->submission_flops = processor ? 0 : SUBMISSION_FLOPS_OF_A_CORE * context->device.plan.caps.traits.cores;
    context->first_use_left_ns = VKF_TUNE_TIME_CAP_NS;
    context->self_tests = !wanted->skip_self_test;
    context->tunes_on_first_use = wanted->tune_on_first_use && !wanted->described;
    context->prove = wanted->described ? NULL : vkf__prove; // a described device is trusted
    if (context->self_tests && !wanted->described)
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
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    status = vkf__learned_save(&context->learned);
    vkf_status pipelines = vkf__pipeline_cache_save(&context->device, &context->cache, context->pipelines.cache);
    return status != VKF_OK ? status : pipelines;
}

vkf_status vkf_enumerate_devices(const vkf_context_desc *desc, uint32_t *inout_count, vkf_device_info *out_infos)
{
    if (!inout_count)
        return VKF_ERROR_INVALID_ARGUMENT;
    return vkf__enumerate_devices(desc ? desc : &defaults, inout_count, out_infos);
}

void vkf_context_device_info(const vkf_context *context, vkf_device_info *out_info)
{
    if (!context || !out_info)
        return;
    vkf__caps_info(&context->device.plan.caps, context->device_index, out_info);
}

bool vkf_context_last_limit(const vkf_context *context, vkf_limit *out_limit)
{
    const vkf__limit last = vkf__last_limit();
    if (!context || !out_limit || last.host != &context->host)
        return false;
    *out_limit = (vkf_limit){.what = last.what, .asked = last.asked, .allowed = last.allowed};
    return true;
}

void vkf_context_memory_usage(vkf_context *context, vkf_memory_usage *out_usage)
{
    if (!context || !out_usage || vkf__context_is_inherited(context))
        return;
    vkf__memory_usage_get(&context->memory, out_usage);
}

void vkf_context_reset_memory_peak(vkf_context *context)
{
    if (context && !vkf__context_is_inherited(context))
        vkf__memory_reset_peak(&context->memory);
}

double vkf_context_last_op_ns(const vkf_context *context)
{
    return context ? atomic_load(&context->last_op_ns) : -1;
}

const char *vkf_context_last_op_kernel(const vkf_context *context)
{
    return context ? atomic_load(&context->last_op_kernel) : NULL;
}
