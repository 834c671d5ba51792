// What contexts, their devices and their tuner are given, and who hears of kernels.
#include "valid_parts.h"

static void take_lock(void *user)
{
    (void)user;
}

// The device of another context, as if it were the caller's own.
static const vkf_external_device *external_device(void)
{
    static vkf_external_device external;
    const vkf_context *context = valid.other;
    external = (vkf_external_device){.instance = context->instance.handle,
                                     .physical_device = context->device.physical,
                                     .device = context->device.handle,
                                     .queue = context->device.queue,
                                     .queue_family_index = context->device.queue_family,
                                     .api_version = VK_API_VERSION_1_1,
                                     .lock_queue = take_lock,
                                     .unlock_queue = take_lock,
                                     .lock_user = &valid};
    return &external;
}

vkf_context_desc valid_vkf_context_desc(const char *function, const char *parameter)
{
    static const char *masks[1];
    (void)parameter;
    masks[0] = "shaderFloat16";
    return (vkf_context_desc){
        .device = {.kind = VKF_CHOOSE_NAME, .name = valid.info.name},
        .profile = valid.gpu->profile,
        .masks = masks,
        .mask_count = 1,
        .message = take_message,
        .message_user = &valid,
        .allocator = {allocate, release, &valid},
        .cache = vkf_blob_store_callbacks(&valid.blobs),
        .variant = "gemm_tile",
        .skip_self_test = true,
        .counters = "all",
        .get_instance_proc_addr = (vkf_get_instance_proc_addr)(vkf_void_function)valid.gpu->context->instance.get_proc,
        .external = is(function, "external") || is(function, "setup") ? external_device() : NULL,
    };
}

vkf_device_description_desc valid_vkf_device_description_desc(const char *function, const char *parameter)
{
    static const char text[] =
        "{\"capabilities\": {}, \"profiles\": {\"empty\": {\"api-version\": \"1.3.0\", \"capabilities\": []}}}";
    (void)function;
    (void)parameter;
    return (vkf_device_description_desc){
        .path = VKF_TEST_SOURCE_DIR "/tools/chips/described/m2.json",
        .text = text,
        .text_bytes = sizeof text - 1,
        .message = take_message,
        .message_user = &valid,
        .allocator = {allocate, release, &valid},
    };
}

vkf_wrapped_buffer_desc valid_vkf_wrapped_buffer_desc(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_wrapped_buffer_desc){
        .buffer = valid.in->handle, .size_bytes = 256, .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
}

// A part of the host's memory, for the context that has external memory.
vkf_imported_memory valid_vkf_imported_memory(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_imported_memory){.kind = VKF_MEMORY_HOST_POINTER,
                                 .fd = -1,
                                 .pointer = valid.pages,
                                 .buffer_bytes = 256,
                                 .memory_bytes = MEMORY_BYTES};
}

vkf_tune_problem valid_vkf_tune_problem(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_tune_problem){.m = 1, .n = 32, .k = 32};
}

vkf_tune_options valid_vkf_tune_options(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_tune_options){.time_cap_ns = 1000000, .progress = go_on, .progress_user = &valid};
}

vkf_shader_desc valid_vkf_shader_desc(const char *function, const char *parameter)
{
    enum { UNIFORM_BUFFER = 6, STORAGE_BUFFER = 7 };
    static const vkf_shader_binding bindings[] = {
        {0, 0, UNIFORM_BUFFER, 1}, {0, 1, STORAGE_BUFFER, 1}, {0, 2, STORAGE_BUFFER, 1}};
    static const vkf_shader_constant spec[] = {{0, 4, 64}};
    (void)function;
    (void)parameter;
    return (vkf_shader_desc){.name = "sweep",
                             .constants = "none",
                             .words = valid.words,
                             .word_count = valid.word_count,
                             .entry_point = "main",
                             .bindings = bindings,
                             .binding_count = 3,
                             .push_bytes = 128,
                             .spec = spec,
                             .spec_count = 1};
}

vkf_profiler valid_vkf_profiler(const char *function, const char *parameter)
{
    (void)function;
    (void)parameter;
    return (vkf_profiler){.user = &valid};
}

void valid_vkf_kernel_fn(void *user, const char *kernel, bool usable, const char *why)
{
    (void)user;
    (void)kernel;
    (void)usable;
    (void)why;
}

void valid_vkf_planned_dispatch_fn(void *user, const vkf_planned_dispatch *dispatch)
{
    (void)user;
    (void)dispatch;
}

bool valid_vkf_kernel_report_fn(void *user, const vkf_kernel_report *report)
{
    (void)user;
    return report->kernel != NULL;
}

bool valid_vkf_probe_fn(void *user, const vkf_probe_output *output)
{
    (void)user;
    return output->count > 0;
}

void valid_vkf_verdict_fn(void *user, const vkf_verdict *verdict)
{
    (void)user;
    (void)verdict;
}

void valid_vkf_choice_fn(void *user, const vkf_choice *choice)
{
    (void)user;
    (void)choice;
}
