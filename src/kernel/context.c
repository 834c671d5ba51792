// Makes a context from its description, floor by floor, and takes it down again.
#include "kernel/context.h"

#include <string.h>

#include <vkformer/vulkan.h>

#include "base/sized.h"
#include "kernel/pipeline_cache.h"
#include "kernel/reference_dispatch.h"
#include "kernel/variant_name.h"
#include "vk/described.h"
#include "vk/driver_faults.h"

#define MAX_DEVICES 64

vkf_status vkf__context_host(const vkf_context_desc *desc, vkf__host *out_host)
{
    const vkf_device_choice *choice = &desc->device;
    VKF_RETURN_IF_ERROR(
        vkf__host_init(out_host, &desc->allocator, desc->message, desc->message_user, desc->min_severity));
    VKF_RETURN_IF_ERROR(
        vkf__check_reserved(out_host, "context", "vkf_device_choice", choice->reserved, sizeof choice->reserved));
    const vkf_external_device *external = desc->external;
    if (!external)
        return VKF_OK;
    if (choice->kind == VKF_CHOOSE_REFERENCE)
        return vkf__fail(out_host, VKF_ERROR_INVALID_ARGUMENT,
                         "context: the device of references is the library's own: choose it, or give external");
    return vkf__check_reserved(out_host, "context", "vkf_external_device", external->reserved,
                               sizeof external->reserved);
}

static vkf_status init_instance(vkf__instance *instance, const vkf__host *host, const vkf_context_desc *desc)
{
    vkf__instance_desc info = {
        .get_instance_proc_addr = desc->get_instance_proc_addr,
        .validation = desc->validation,
    };
    if (desc->external) {
        info.external = desc->external->instance;
        info.external_api_version = desc->external->api_version;
    }
    return vkf__instance_init(instance, host, &info);
}

// The physical devices with their caps, as the description's profile and masks leave them.
typedef struct device_list {
    VkPhysicalDevice handles[MAX_DEVICES];
    vkf__caps *caps; // one per handle
    uint32_t count;
} device_list;

static vkf_status list_devices(const vkf__instance *instance, const vkf_context_desc *desc, device_list *out_list)
{
    const vkf__host *host = instance->host;
    vkf_status status = VKF_OK;
    device_list list = {.count = MAX_DEVICES};
    if (desc->external) {
        list.handles[0] = desc->external->physical_device;
        list.count = 1;
    } else {
        VkResult result = instance->vkEnumeratePhysicalDevices(instance->handle, &list.count, list.handles);
        if (result != VK_INCOMPLETE)
            VKF_TRY(vkf__vulkan_status(host, result, "vkEnumeratePhysicalDevices"));
    }
    if (list.count == 0) {
        status = vkf__fail(host, VKF_ERROR_NO_DEVICE,
                           "no Vulkan device: install a driver for the GPU, or software Vulkan (mesa-vulkan-drivers)");
        goto fail;
    }
    VKF_ALLOC(host, list.caps, list.count);
    const bool matrices = vkf__caps_keeps_matrices(desc->profile, desc->masks, desc->mask_count);
    for (uint32_t i = 0; i < list.count; i++) {
        VKF_TRY(vkf__caps_read(instance, list.handles[i], matrices, &list.caps[i]));
        VKF_TRY(vkf__caps_limit(host, &list.caps[i], desc->profile, desc->masks, desc->mask_count));
        if (desc->limits)
            vkf__caps_limit_to(&list.caps[i], &desc->limits->caps);
    }
    *out_list = list;
    return VKF_OK;
fail:
    vkf__free(host, list.caps);
    return status;
}

static void tell_faults(const vkf__host *host, const vkf__caps *caps)
{
    for (uint32_t i = 0; i < vkf__driver_fault_count(); i++) {
        const vkf__driver_fault *fault = vkf__driver_fault_at(i);
        if (caps->faults >> i & 1)
            vkf__log(host, VKF_SEVERITY_INFO, "%s: %s is not used: %s", caps->name,
                     fault->feature ? fault->feature : fault->kernels, fault->why);
    }
}

static vkf__plan_wishes wishes_of(const vkf_context_desc *desc)
{
    return (vkf__plan_wishes){
        .timestamps = desc->timestamps,
        .executable_info = desc->pipeline_statistics || desc->pipeline_representations,
        .counters = desc->counters != NULL,
        .external_memory = desc->external_memory,
        .queue_priority = desc->queue_priority,
        .addresses = desc->variant && vkf__variants_named(desc->variant).by_address,
    };
}

static vkf_status choose_device(const vkf__host *host, const device_list *list, const vkf_device_choice *choice,
                                uint32_t *out_index)
{
    uint32_t kernels[MAX_DEVICES];
    for (uint32_t i = 0; i < list->count; i++) {
        vkf__caps caps = list->caps[i];
        caps.traits = vkf__traits_of(&caps);
        kernels[i] = vkf__kernels_supported(&caps);
    }
    return vkf__caps_choose(host, list->caps, kernels, list->count, choice, out_index);
}

static vkf_status init_device(vkf_context *context, const vkf_context_desc *desc)
{
    vkf_status status = VKF_OK;
    device_list list = {0};
    vkf__device_plan plan;
    const vkf__plan_wishes wishes = wishes_of(desc);
    uint32_t index = 0;
    VKF_TRY(list_devices(&context->instance, desc, &list));
    if (desc->external) {
        VKF_TRY(vkf__device_plan_make_external(&context->host, &list.caps[0], &wishes, desc->external, &plan));
        VKF_TRY(vkf__device_init_external(&context->device, &context->instance, &plan, desc->external));
    } else {
        VKF_TRY(choose_device(&context->host, &list, &desc->device, &index));
        VKF_TRY(vkf__device_plan_make(&context->host, &list.caps[index], &wishes, &plan));
        VKF_TRY(vkf__device_init(&context->device, &context->instance, list.handles[index], &plan));
        if (desc->device.kind == VKF_CHOOSE_REFERENCE)
            context->device.record_reference =
                context->instance.vkGetDeviceProcAddr(context->device.handle, VKF_RECORD_REFERENCE);
    }
    context->device_index = index;
    tell_faults(&context->host, &plan.caps);
fail:
    vkf__free(&context->host, list.caps);
    return status;
}

static vkf_status init_locks(vkf_context *context)
{
    if (pthread_mutex_init(&context->test_lock, NULL) != 0)
        goto fail;
    if (pthread_mutex_init(&context->tune_lock, NULL) != 0) {
        pthread_mutex_destroy(&context->test_lock);
        goto fail;
    }
    context->locks_ready = true;
    return VKF_OK;
fail:
    return vkf__fail(&context->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "context: the system has no mutex left");
}

static vkf_status check_names(const vkf__host *host, const vkf_context_desc *desc)
{
    char near[512];
    if (desc->shader_dir && !*desc->shader_dir)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "shader_dir is \"\": give the folder's path, \".\" for the current one");
    if (!desc->variant || vkf__variants_named(desc->variant).any)
        return VKF_OK;
    vkf__variant_near(desc->variant, near, sizeof near);
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                     "variant: no kernel's name begins with \"%.200s\"; near it are %s", desc->variant, near);
}

// All that is made on a device.
static vkf_status init_found(vkf_context *context, const vkf_context_desc *desc)
{
    VkPipelineCache cache = VK_NULL_HANDLE;
    VKF_RETURN_IF_ERROR(init_instance(&context->instance, &context->host, desc));
    VKF_RETURN_IF_ERROR(init_device(context, desc));
    if (desc->counters)
        VKF_RETURN_IF_ERROR(vkf__counters_init(&context->counters, &context->device, desc->counters));
    VKF_RETURN_IF_ERROR(vkf__memory_init(&context->memory, &context->device));
    context->memory.limit_bytes = desc->device_memory_limit_bytes;
    VKF_RETURN_IF_ERROR(vkf__transfer_init(&context->transfer, &context->memory));
    VKF_RETURN_IF_ERROR(vkf__pipeline_cache_create(&context->device, &context->cache, &cache));
    VKF_RETURN_IF_ERROR(vkf__pipelines_init(&context->pipelines, &context->device, cache, desc->shader_dir));
    context->pipelines.capture_representations = desc->pipeline_representations;
    context->pipelines.progress = desc->progress;
    context->pipelines.progress_user = desc->progress_user;
    VKF_RETURN_IF_ERROR(init_locks(context));
    return vkf__learned_init(&context->learned, &context->device, &context->cache, desc->shader_dir == NULL);
}

// The same without a device: what asks for one is refused there. Nothing is learned about it.
static vkf_status init_described(vkf_context *context, const vkf_context_desc *desc)
{
    const vkf__plan_wishes wishes = wishes_of(desc);
    vkf__caps caps = desc->described->caps;
    vkf__device_plan plan;
    VKF_RETURN_IF_ERROR(vkf__caps_limit(&context->host, &caps, desc->profile, desc->masks, desc->mask_count));
    if (desc->limits)
        vkf__caps_limit_to(&caps, &desc->limits->caps);
    VKF_RETURN_IF_ERROR(vkf__device_plan_make(&context->host, &caps, &wishes, &plan));
    VKF_RETURN_IF_ERROR(vkf__device_init_described(&context->device, &context->host, &plan));
    tell_faults(&context->host, &plan.caps);
    VKF_RETURN_IF_ERROR(vkf__memory_init(&context->memory, &context->device));
    VKF_RETURN_IF_ERROR(vkf__transfer_init(&context->transfer, &context->memory));
    VKF_RETURN_IF_ERROR(vkf__pipelines_init(&context->pipelines, &context->device, VK_NULL_HANDLE, NULL));
    VKF_RETURN_IF_ERROR(init_locks(context));
    return vkf__learned_init(&context->learned, &context->device, &context->cache, false);
}

static vkf_status init_cache(vkf_context *context, const vkf_context_desc *desc)
{
    context->cache = desc->cache;
    if (!desc->cache_directory || desc->described)
        return VKF_OK;
    if (desc->cache.load || desc->cache.save)
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "context: cache has callbacks and cache_directory is '%s': give one of the two",
                         desc->cache_directory);
    context->cache = (vkf_cache_callbacks){vkf__file_cache_load, vkf__file_cache_save, &context->files};
    return vkf__file_cache_init(&context->host, desc->cache_directory, &context->files);
}

static vkf_status init(vkf_context *context, const vkf_context_desc *desc)
{
    vkf_status status = VKF_OK;
    VKF_TRY(init_cache(context, desc));
    context->last_op_ns = -1;
    context->precision = desc->precision;
    if ((unsigned)desc->precision >= VKF_PRECISION_COUNT) {
        status = vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT, "precision %d does not exist: take one below %d",
                           (int)desc->precision, (int)VKF_PRECISION_COUNT);
        goto fail;
    }
    if ((unsigned)desc->queue_priority >= VKF_QUEUE_PRIORITY_COUNT) {
        status =
            vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT, "queue_priority %d does not exist: take one below %d",
                      (int)desc->queue_priority, (int)VKF_QUEUE_PRIORITY_COUNT);
        goto fail;
    }
    VKF_TRY(check_names(&context->host, desc));
    VKF_TRY(desc->described ? init_described(context, desc) : init_found(context, desc));
    if (desc->variant) {
        context->forced_variant = vkf__strdup(&context->host, desc->variant);
        if (!context->forced_variant)
            status = vkf__fail(&context->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "context: no host memory");
    }
fail:
    return status;
}

vkf_status vkf__context_create(const vkf_context_desc *desc, vkf_context **out_context)
{
    vkf_status status = VKF_OK;
    vkf_context *context = NULL;
    vkf__host host;
    VKF_TRY(vkf__context_host(desc, &host));
    if (desc->external)
        VKF_TRY(vkf__external_device_check(&host, desc->external));
    VKF_ALLOC(&host, context, 1);
    context->host = host;
    context->references = 1;
    VKF_TRY(init(context, desc));
    *out_context = context;
    return VKF_OK;
fail:
    if (context)
        vkf__context_destroy(context);
    return status;
}

void vkf__context_destroy(vkf_context *context)
{
    // vkf__pipeline_cache_save() reports its own failure, which is no reason to keep the context.
    vkf_status saved = VKF_OK;
    if (context->pipelines.device)
        saved = vkf__pipeline_cache_save(&context->device, &context->cache, context->pipelines.cache);
    if (context->pipelines.device && vkf__learned_save(&context->learned) != VKF_OK)
        vkf__log(&context->host, VKF_SEVERITY_WARNING, "context: what was learned about the device could not be saved");
    (void)saved;
    vkf__learned_finish(&context->learned);
    if (context->locks_ready) {
        pthread_mutex_destroy(&context->test_lock);
        pthread_mutex_destroy(&context->tune_lock);
    }
    vkf__pipelines_finish(&context->pipelines);
    vkf__transfer_finish(&context->transfer);
    vkf__memory_finish(&context->memory);
    if (context->counters.list)
        vkf__counters_finish(&context->counters, &context->device);
    vkf__device_finish(&context->device);
    vkf__instance_finish(&context->instance);
    vkf__free(&context->host, context->forced_variant);
    vkf__file_cache_finish(&context->files);
    vkf__host host = context->host;
    vkf__free(&host, context);
}

vkf__selector vkf__context_selector(const vkf_context *context)
{
    return (vkf__selector){
        .caps = &context->device.plan.caps,
        .tuned = vkf__learned_tuned(&context->learned),
        .verdicts = &context->learned.verdicts,
        .cores = context->learned.cores,
        .forced = context->forced_variant,
    };
}

vkf_status vkf__context_compile(vkf_context *context, const vkf__variant *variant, const uint32_t *spec,
                                bool *out_refused)
{
    const vkf__pipeline *pipeline = NULL;
    vkf_status status = vkf__pipelines_get(&context->pipelines, variant->kernel, spec, NULL, &pipeline);
    *out_refused = vkf__pipelines_refused(&context->pipelines, status);
    if (!*out_refused)
        return status;
    vkf__context_uncompiled(context, variant);
    return VKF_OK;
}

void vkf__context_uncompiled(vkf_context *context, const vkf__variant *variant)
{
    vkf__log(&context->host, VKF_SEVERITY_WARNING, "%s/%s will not be used: the driver does not compile it",
             variant->kernel->name, variant->config->name);
    vkf__learned_verdict(&context->learned, variant->kernel, variant->config, VKF_VERDICT_UNCOMPILED);
}

vkf_status vkf__context_plan_device(const vkf_context_desc *desc, const vkf__host *host, vkf__device *out_device)
{
    vkf_status status = VKF_OK;
    vkf__instance instance = {0};
    vkf__device_plan plan;
    device_list list = {0};
    const vkf__plan_wishes wishes = wishes_of(desc);
    VKF_RETURN_IF_ERROR(vkf__external_physical_check(host, desc->external));
    VKF_TRY(init_instance(&instance, host, desc));
    VKF_TRY(list_devices(&instance, desc, &list));
    VKF_TRY(vkf__device_plan_make(host, &list.caps[0], &wishes, &plan));
    VKF_TRY(vkf__device_init_described(out_device, host, &plan));
fail:
    vkf__free(host, list.caps);
    vkf__instance_finish(&instance);
    return status;
}

vkf_status vkf__enumerate_devices(const vkf_context_desc *desc, uint32_t *inout_count, vkf_device_info *out_infos,
                                  size_t info_bytes)
{
    vkf_status status = VKF_OK;
    vkf__host host;
    vkf__instance instance = {0};
    device_list list = {0};
    VKF_RETURN_IF_ERROR(vkf__context_host(desc, &host));
    VKF_RETURN_IF_ERROR(vkf__check_sized(&host, "vkf_enumerate_devices", info_bytes));
    if (desc->external)
        VKF_RETURN_IF_ERROR(vkf__external_device_check(&host, desc->external));
    VKF_RETURN_IF_ERROR(init_instance(&instance, &host, desc));
    status = list_devices(&instance, desc, &list);
    if (status == VKF_OK) {
        for (uint32_t i = 0; out_infos && i < list.count && i < *inout_count; i++) {
            vkf_device_info info;
            vkf__caps_info(&list.caps[i], i, &info);
            (void)vkf__give_sized(vkf__sized_at(out_infos, i, info_bytes), info_bytes, &info, sizeof info);
        }
        *inout_count = list.count;
    }
    vkf__free(&host, list.caps);
    vkf__instance_finish(&instance);
    return status;
}
