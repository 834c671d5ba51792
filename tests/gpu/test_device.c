// caps -> plan -> device on the driver that the machine has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "vk/device.h"

#include <vkformer/vulkan.h>

typedef struct gpu_fixture {
    vkf__host host;
    vkf__instance instance;
    VkPhysicalDevice physical;
    vkf__caps caps;
    char last_message[1024];
    char first_complaint[1024]; // the first message of the validation layers, or error
    int complaints;
    int allocations;  // alive
    int failing_from; // the allocation that fails, counted from 1; 0: none
    int allocated;
} gpu_fixture;

static void listen(void *user, vkf_severity severity, const char *text)
{
    gpu_fixture *gpu = user;
    (void)snprintf(gpu->last_message, sizeof gpu->last_message, "%s", text);
    if (severity < VKF_SEVERITY_ERROR)
        return;
    if (gpu->complaints++ == 0)
        (void)snprintf(gpu->first_complaint, sizeof gpu->first_complaint, "%s", text);
}

static void *counted_allocate(void *user, size_t size_bytes)
{
    gpu_fixture *gpu = user;
    if (++gpu->allocated == gpu->failing_from)
        return NULL;
    void *memory = malloc(size_bytes);
    if (memory)
        gpu->allocations++;
    return memory;
}

static void counted_release(void *user, void *memory)
{
    gpu_fixture *gpu = user;
    if (memory)
        gpu->allocations--;
    free(memory);
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && strcmp(value, "1") == 0;
}

static void skip_unless(const char *variable, const gpu_fixture *gpu, const char *what)
{
    if (is_set(variable))
        fail_msg("%s, but %s=1: %s", what, variable, gpu->last_message);
    printf("skipped: %s: %s\n", what, gpu->last_message);
    skip();
}

// Whether the validation layers listen.
typedef enum layers { WITHOUT_LAYERS, LAYERS_IF_THERE, WITH_LAYERS } layers;

static vkf_status open_instance(gpu_fixture *gpu, layers wanted)
{
    const vkf__instance_desc without = {0}, with = {.validation = true};
    vkf_status status = vkf__instance_init(&gpu->instance, &gpu->host, wanted == WITHOUT_LAYERS ? &without : &with);
    if (wanted != LAYERS_IF_THERE || status != VKF_ERROR_UNSUPPORTED || is_set("VKF_TEST_VALIDATION"))
        return status;
    gpu->complaints = 0;
    return vkf__instance_init(&gpu->instance, &gpu->host, &without);
}

// Instance, first device and its caps; skips the test where there is none.
static void open_gpu(gpu_fixture *gpu, layers wanted)
{
    const vkf_allocator allocator = {.allocate = counted_allocate, .release = counted_release, .user = gpu};
    uint32_t count = 1;
    memset(gpu, 0, sizeof *gpu);
    assert_int_equal(vkf__host_init(&gpu->host, &allocator, listen, gpu, VKF_SEVERITY_INFO), VKF_OK);
    vkf_status status = open_instance(gpu, wanted);
    if (status == VKF_ERROR_NO_VULKAN)
        skip_unless("VKF_TEST_REQUIRE_GPU", gpu, "no Vulkan");
    if (wanted != WITHOUT_LAYERS && status == VKF_ERROR_UNSUPPORTED)
        skip_unless("VKF_TEST_VALIDATION", gpu, "no validation layers");
    assert_int_equal(status, VKF_OK);
    VkResult result = gpu->instance.vkEnumeratePhysicalDevices(gpu->instance.handle, &count, &gpu->physical);
    if ((result != VK_SUCCESS && result != VK_INCOMPLETE) || count == 0) {
        vkf__instance_finish(&gpu->instance);
        skip_unless("VKF_TEST_REQUIRE_GPU", gpu, "no Vulkan device");
    }
    assert_int_equal(vkf__caps_read(&gpu->instance, gpu->physical, true, &gpu->caps), VKF_OK);
}

static void close_gpu(gpu_fixture *gpu)
{
    vkf__instance_finish(&gpu->instance);
    assert_null(gpu->instance.handle);
    if (gpu->complaints > 0)
        fail_msg("%d complaints, the first: %s", gpu->complaints, gpu->first_complaint);
    assert_int_equal(gpu->allocations, 0);
}

static const vkf__plan_wishes wishes = {.timestamps = true, .executable_info = true};

static void make_plan(const gpu_fixture *gpu, vkf_caps_profile profile, vkf__device_plan *out_plan)
{
    vkf__caps caps = gpu->caps;
    assert_int_equal(vkf__caps_limit(&gpu->host, &caps, profile, NULL, 0), VKF_OK);
    assert_int_equal(vkf__device_plan_make(&gpu->host, &caps, &wishes, out_plan), VKF_OK);
}

static void open_device(gpu_fixture *gpu, vkf_caps_profile profile, vkf__device *device)
{
    vkf__device_plan plan;
    make_plan(gpu, profile, &plan);
    assert_int_equal(vkf__device_init(device, &gpu->instance, gpu->physical, &plan), VKF_OK);
}

// Buffer, memory of the plan's class and a command buffer: enough work to see that a device works.
typedef struct small_job {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
} small_job;

static void begin_job(vkf__device *device, VkDeviceSize size, small_job *job)
{
    VkMemoryRequirements needs;
    const VkBufferCreateInfo buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                       .size = size,
                                       .usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    const VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                          .queueFamilyIndex = device->queue_family};
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    assert_int_equal(device->vk.vkCreateBuffer(device->handle, &buffer, NULL, &job->buffer), VK_SUCCESS);
    vkf__device_name(device, VK_OBJECT_TYPE_BUFFER, (uint64_t)job->buffer, "test buffer");
    device->vk.vkGetBufferMemoryRequirements(device->handle, job->buffer, &needs);
    const VkMemoryAllocateInfo memory = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                         .allocationSize = needs.size,
                                         .memoryTypeIndex = device->plan.memory_type[VKF_MEMORY_CONTROL]};
    assert_true(needs.memoryTypeBits & (1U << memory.memoryTypeIndex));
    assert_int_equal(device->vk.vkAllocateMemory(device->handle, &memory, NULL, &job->memory), VK_SUCCESS);
    assert_int_equal(device->vk.vkBindBufferMemory(device->handle, job->buffer, job->memory, 0), VK_SUCCESS);
    assert_int_equal(device->vk.vkCreateCommandPool(device->handle, &pool, NULL, &job->pool), VK_SUCCESS);
    const VkCommandBufferAllocateInfo commands = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                                  .commandPool = job->pool,
                                                  .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                                  .commandBufferCount = 1};
    assert_int_equal(device->vk.vkAllocateCommandBuffers(device->handle, &commands, &job->commands), VK_SUCCESS);
    assert_int_equal(device->vk.vkBeginCommandBuffer(job->commands, &begin), VK_SUCCESS);
}

static void finish_job(vkf__device *device, small_job *job)
{
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &job->commands};
    assert_int_equal(device->vk.vkEndCommandBuffer(job->commands), VK_SUCCESS);
    vkf__device_lock_queue(device);
    assert_int_equal(device->vk.vkQueueSubmit(device->queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    assert_int_equal(device->vk.vkQueueWaitIdle(device->queue), VK_SUCCESS);
    vkf__device_unlock_queue(device);
    device->vk.vkDestroyCommandPool(device->handle, job->pool, NULL);
    device->vk.vkDestroyBuffer(device->handle, job->buffer, NULL);
    device->vk.vkFreeMemory(device->handle, job->memory, NULL);
}

// Fills a buffer on the device and looks at it from the host.
static void assert_device_works(vkf__device *device)
{
    small_job job = {0};
    void *mapped = NULL;
    begin_job(device, 64, &job);
    assert_int_equal(device->vk.vkMapMemory(device->handle, job.memory, 0, VK_WHOLE_SIZE, 0, &mapped), VK_SUCCESS);
    memset(mapped, 0, 64);
    device->vk.vkCmdFillBuffer(job.commands, job.buffer, 0, 64, 0x76543210);
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                     .dstAccessMask = VK_ACCESS_HOST_READ_BIT};
    device->vk.vkCmdPipelineBarrier(job.commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                                    &barrier, 0, NULL, 0, NULL);
    const VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1, .pCommandBuffers = &job.commands};
    assert_int_equal(device->vk.vkEndCommandBuffer(job.commands), VK_SUCCESS);
    vkf__device_lock_queue(device);
    assert_int_equal(device->vk.vkQueueSubmit(device->queue, 1, &submit, VK_NULL_HANDLE), VK_SUCCESS);
    assert_int_equal(device->vk.vkQueueWaitIdle(device->queue), VK_SUCCESS);
    vkf__device_unlock_queue(device);
    for (size_t i = 0; i < 16; i++) {
        uint32_t value = 0;
        memcpy(&value, (const char *)mapped + 4 * i, sizeof value);
        assert_int_equal(value, 0x76543210);
    }
    device->vk.vkDestroyCommandPool(device->handle, job.pool, NULL);
    device->vk.vkDestroyBuffer(device->handle, job.buffer, NULL);
    device->vk.vkFreeMemory(device->handle, job.memory, NULL);
}

static void test_caps_read_is_plausible(void **state)
{
    static const uint8_t zero[VKF_UUID_SIZE];
    gpu_fixture gpu;
    (void)state;
    open_gpu(&gpu, WITHOUT_LAYERS);
    assert_true(gpu.caps.api_version >= VK_API_VERSION_1_1);
    assert_true(gpu.caps.api_version < VK_MAKE_API_VERSION(0, 1, 4, 0));
    assert_int_not_equal(strlen(gpu.caps.name), 0);
    assert_memory_not_equal(gpu.caps.driver_uuid, zero, VKF_UUID_SIZE);
    assert_int_not_equal(gpu.caps.queue_family_index, UINT32_MAX);
    assert_in_range(gpu.caps.subgroup_size, 1, 128);
    assert_true(gpu.caps.max_workgroup_invocations >= 128);
    assert_true(gpu.caps.max_memory_allocation_bytes >= UINT64_C(1) << 30);
    assert_int_not_equal(gpu.caps.memory.memoryTypeCount, 0);
    assert_int_equal(gpu.caps.storage_buffer_alignment & (gpu.caps.storage_buffer_alignment - 1), 0);
    printf("%s (%s %s)\n", gpu.caps.name, gpu.caps.driver_name, gpu.caps.driver_info);
    close_gpu(&gpu);
}

static void run_every_profile(layers wanted)
{
    for (int profile = 0; profile < VKF_CAPS_PROFILE_COUNT; profile++) {
        gpu_fixture gpu;
        vkf__device device;
        open_gpu(&gpu, wanted);
        open_device(&gpu, (vkf_caps_profile)profile, &device);
        assert_true(device.owned);
        assert_non_null(device.queue);
        assert_false(device.lost);
        assert_device_works(&device);
        vkf__device_finish(&device);
        assert_null(device.handle);
        vkf__device_finish(&device);
        close_gpu(&gpu);
    }
}

static void test_device_init_every_profile(void **state)
{
    (void)state;
    run_every_profile(WITHOUT_LAYERS);
}

static void test_device_init_every_profile_validated(void **state)
{
    (void)state;
    run_every_profile(WITH_LAYERS);
}

// Plants a mistake and expects to hear of it: silence of the other tests means something.
static void test_validation_is_heard(void **state)
{
    const VkBufferCreateInfo nothing = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    gpu_fixture gpu;
    vkf__device device;
    VkBuffer buffer = VK_NULL_HANDLE;
    (void)state;
    open_gpu(&gpu, WITH_LAYERS);
    open_device(&gpu, VKF_CAPS_PROFILE_FULL, &device);
    assert_int_equal(gpu.complaints, 0);
    if (device.vk.vkCreateBuffer(device.handle, &nothing, NULL, &buffer) == VK_SUCCESS)
        device.vk.vkDestroyBuffer(device.handle, buffer, NULL);
    assert_true(gpu.complaints > 0);
    assert_non_null(strstr(gpu.first_complaint, "VUID-VkBufferCreateInfo-size-00912"));
    gpu.complaints = 0;
    vkf__device_finish(&device);
    close_gpu(&gpu);
}

static void test_synchronisation_validation_is_heard(void **state)
{
    gpu_fixture gpu;
    vkf__device device;
    small_job job = {0};
    (void)state;
    open_gpu(&gpu, WITH_LAYERS);
    open_device(&gpu, VKF_CAPS_PROFILE_FULL, &device);
    begin_job(&device, 64, &job);
    device.vk.vkCmdFillBuffer(job.commands, job.buffer, 0, 64, 1);
    device.vk.vkCmdFillBuffer(job.commands, job.buffer, 0, 64, 2); // no barrier between the two
    finish_job(&device, &job);
    assert_true(gpu.complaints > 0);
    assert_non_null(strstr(gpu.first_complaint, "SYNC-HAZARD-WRITE-AFTER-WRITE"));
    assert_non_null(strstr(gpu.first_complaint, "test buffer"));
    gpu.complaints = 0;
    vkf__device_finish(&device);
    close_gpu(&gpu);
}

static void count_lock(void *user)
{
    ((int *)user)[0]++;
}

static void count_unlock(void *user)
{
    ((int *)user)[1]++;
}

static vkf_external_device external_from(const vkf__device *device, int locks[2])
{
    return (vkf_external_device){
        .instance = device->instance->handle,
        .physical_device = device->physical,
        .device = device->handle,
        .queue = device->queue,
        .queue_family_index = device->queue_family,
        .api_version = VK_API_VERSION_1_1,
        .lock_queue = count_lock,
        .unlock_queue = count_unlock,
        .lock_user = locks,
    };
}

static void test_device_init_external(void **state)
{
    gpu_fixture gpu;
    vkf__device owner;
    vkf__device guest;
    vkf__device_plan plan;
    int locks[2] = {0, 0};
    (void)state;
    open_gpu(&gpu, LAYERS_IF_THERE);
    open_device(&gpu, VKF_CAPS_PROFILE_FULL, &owner);
    {
        const vkf_external_device external = external_from(&owner, locks); // need not outlive the call
        assert_int_equal(vkf__device_plan_make_external(&gpu.host, &gpu.caps, &wishes, &external, &plan), VKF_OK);
        assert_int_equal(vkf__device_init_external(&guest, &gpu.instance, &plan, &external), VKF_OK);
    }
    assert_false(guest.owned);
    assert_false(guest.plan.enabled.storage_16bit);
    assert_false(guest.plan.enabled.pipeline_executable_info);
    assert_int_equal(guest.plan.extension_count, 0);
    assert_int_equal(guest.plan.caps.api_version, VK_API_VERSION_1_1);
    assert_device_works(&guest);
    assert_int_equal(locks[0], 1);
    vkf__device_finish(&guest);
    assert_int_equal(locks[0], 2);
    assert_int_equal(locks[1], 2);
    assert_device_works(&owner);
    vkf__device_finish(&owner);
    close_gpu(&gpu);
}

// Refused, zeroed, and the caller's device is as before.
static void assert_external_refused(gpu_fixture *gpu, const vkf_external_device *external, const char *said)
{
    vkf__device_plan plan;
    vkf__device guest;
    memset(&guest, 0x5a, sizeof guest);
    assert_int_equal(vkf__device_plan_make_external(&gpu->host, &gpu->caps, &wishes, external, &plan), VKF_OK);
    assert_int_equal(vkf__device_init_external(&guest, &gpu->instance, &plan, external), VKF_ERROR_INVALID_ARGUMENT);
    assert_null(guest.host);
    assert_null(guest.handle);
    assert_null(guest.external);
    if (!strstr(gpu->last_message, said))
        fail_msg("\"%s\" does not say \"%s\"", gpu->last_message, said);
    gpu->complaints = 0;
}

static void test_device_init_external_refused(void **state)
{
    gpu_fixture gpu;
    vkf__device owner;
    int locks[2] = {0, 0};
    (void)state;
    open_gpu(&gpu, WITHOUT_LAYERS);
    open_device(&gpu, VKF_CAPS_PROFILE_FULL, &owner);
    vkf_external_device external = external_from(&owner, locks);
    external.device = VK_NULL_HANDLE;
    assert_external_refused(&gpu, &external, "device is NULL");
    external = external_from(&owner, locks);
    external.physical_device = VK_NULL_HANDLE;
    assert_external_refused(&gpu, &external, "physical_device");
    external = external_from(&owner, locks);
    external.unlock_queue = NULL;
    assert_external_refused(&gpu, &external, "both lock_queue and unlock_queue");
    assert_device_works(&owner);
    vkf__device_finish(&owner);
    close_gpu(&gpu);
}

static void test_instance_init_on_the_callers_instance(void **state)
{
    gpu_fixture gpu;
    vkf__instance guest;
    vkf__caps caps;
    (void)state;
    open_gpu(&gpu, WITHOUT_LAYERS);
    const vkf__instance_desc desc = {.external = gpu.instance.handle, .external_api_version = gpu.instance.api_version};
    assert_int_equal(vkf__instance_init(&guest, &gpu.host, &desc), VKF_OK);
    assert_int_equal(vkf__caps_read(&guest, gpu.physical, true, &caps), VKF_OK);
    assert_string_equal(caps.name, gpu.caps.name);
    vkf__instance_finish(&guest);
    assert_int_equal(vkf__caps_read(&gpu.instance, gpu.physical, true, &caps), VKF_OK);
    close_gpu(&gpu);
}

static void test_device_status_remembers_lost(void **state)
{
    gpu_fixture gpu;
    vkf__device device;
    (void)state;
    open_gpu(&gpu, WITHOUT_LAYERS);
    open_device(&gpu, VKF_CAPS_PROFILE_FULL, &device);
    assert_int_equal(vkf__device_status(&device, VK_SUCCESS, "here"), VKF_OK);
    assert_int_equal(vkf__device_status(&device, VK_ERROR_OUT_OF_DEVICE_MEMORY, "here"),
                     VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_false(device.lost);
    assert_int_equal(vkf__device_status(&device, VK_ERROR_DEVICE_LOST, "here"), VKF_ERROR_DEVICE_LOST);
    assert_true(device.lost);
    assert_int_equal(vkf__device_status(&device, VK_SUCCESS, "here"), VKF_OK);
    assert_true(device.lost);
    gpu.complaints = 0;
    vkf__device_finish(&device);
    close_gpu(&gpu);
}

// A driver that lacks a function: the device that it did create is destroyed again.
static PFN_vkGetDeviceProcAddr real_device_proc;

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL proc_without_dispatch(VkDevice device, const char *name)
{
    return strcmp(name, "vkCmdDispatch") == 0 ? NULL : real_device_proc(device, name);
}

static void test_device_init_missing_function(void **state)
{
    gpu_fixture gpu;
    vkf__device_plan plan;
    vkf__device device;
    (void)state;
    open_gpu(&gpu, LAYERS_IF_THERE);
    make_plan(&gpu, VKF_CAPS_PROFILE_FULL, &plan);
    real_device_proc = gpu.instance.vkGetDeviceProcAddr;
    gpu.instance.vkGetDeviceProcAddr = proc_without_dispatch;
    assert_int_equal(vkf__device_init(&device, &gpu.instance, gpu.physical, &plan), VKF_ERROR_VULKAN);
    assert_non_null(strstr(gpu.first_complaint, "vkCmdDispatch"));
    assert_null(device.host);
    gpu.complaints = 0;
    close_gpu(&gpu); // the layers complain of a device that outlives its instance
}

// A feature that the driver does not have after all.
static void test_device_init_feature_refused(void **state)
{
    gpu_fixture gpu;
    vkf__device_plan plan;
    vkf__device device;
    (void)state;
    open_gpu(&gpu, WITHOUT_LAYERS);
    make_plan(&gpu, VKF_CAPS_PROFILE_FULL, &plan);
    plan.extensions[plan.extension_count++] = "VK_EXT_there_is_no_such_thing";
    assert_int_equal(vkf__device_init(&device, &gpu.instance, gpu.physical, &plan), VKF_ERROR_UNSUPPORTED);
    assert_null(device.host);
    gpu.complaints = 0;
    close_gpu(&gpu);
}

// What devices were asked for, and what the first of them is answered.
static struct {
    VkResult answer;
    int calls;
    uint32_t priority[2]; // 0: none
} asked;

static VKAPI_ATTR VkResult VKAPI_CALL answer_create(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkDevice *device)
{
    const VkDeviceQueueGlobalPriorityCreateInfoKHR *priority = info->pQueueCreateInfos->pNext;
    (void)physical;
    (void)allocator;
    (void)device;
    assert_true(asked.calls < 2);
    asked.priority[asked.calls++] = priority ? (uint32_t)priority->globalPriority : 0;
    return asked.calls == 1 ? asked.answer : VK_ERROR_OUT_OF_HOST_MEMORY;
}

// A priority that is not permitted is not insisted on.
static void test_device_init_priority(void **state)
{
    static const VkResult answers[] = {VK_ERROR_NOT_PERMITTED_EXT, VK_ERROR_OUT_OF_DEVICE_MEMORY};
    const vkf__plan_wishes urgent = {.queue_priority = VKF_QUEUE_PRIORITY_HIGH};
    gpu_fixture gpu;
    vkf__device_plan plan;
    vkf__device device;
    (void)state;
    open_gpu(&gpu, WITHOUT_LAYERS);
    gpu.caps.global_priority = true;
    gpu.instance.vkCreateDevice = answer_create;
    assert_int_equal(vkf__device_plan_make(&gpu.host, &gpu.caps, &urgent, &plan), VKF_OK);
    assert_int_equal(plan.queue_priority, VKF_QUEUE_PRIORITY_HIGH);
    for (int i = 0; i < 2; i++) {
        memset(&asked, 0, sizeof asked);
        asked.answer = answers[i];
        assert_int_not_equal(vkf__device_init(&device, &gpu.instance, gpu.physical, &plan), VKF_OK);
        assert_int_equal(asked.calls, i == 0 ? 2 : 1);
        assert_int_equal(asked.priority[0], VK_QUEUE_GLOBAL_PRIORITY_HIGH_KHR);
        assert_int_equal(asked.priority[1], 0);
    }
    gpu.caps.global_priority = false;
    assert_int_equal(vkf__device_plan_make(&gpu.host, &gpu.caps, &urgent, &plan), VKF_OK);
    assert_non_null(strstr(gpu.last_message, "no priorities of queues"));
    assert_int_equal(plan.queue_priority, VKF_QUEUE_PRIORITY_DEFAULT);
    gpu.complaints = 0;
    close_gpu(&gpu);
}

// With each priority there is a context that computes, whatever the driver and the system permit.
static void test_context_with_each_priority(void **state)
{
    (void)state;
    for (vkf_queue_priority priority = 0; priority <= VKF_QUEUE_PRIORITY_COUNT; priority++) {
        const vkf_context_desc desc = {.queue_priority = priority, .skip_self_test = true};
        const bool there = priority < VKF_QUEUE_PRIORITY_COUNT;
        vkf_context *context = NULL;
        assert_int_equal(vkf_context_create(&desc, &context), there ? VKF_OK : VKF_ERROR_INVALID_ARGUMENT);
        assert_int_equal(context != NULL, there);
        vkf_context_destroy(&context);
    }
}

// Each host allocation on the way fails once.
static void test_host_memory_runs_out(void **state)
{
    gpu_fixture gpu;
    vkf__instance instance;
    vkf__caps caps;
    const vkf__instance_desc desc = {0};
    int failures = 0;
    (void)state;
    open_gpu(&gpu, WITHOUT_LAYERS);
    int alive = gpu.allocations;
    for (gpu.failing_from = 1;; gpu.failing_from++) {
        gpu.allocated = 0;
        vkf_status status = vkf__instance_init(&instance, &gpu.host, &desc);
        if (status == VKF_OK)
            status = vkf__caps_read(&instance, gpu.physical, true, &caps);
        vkf__instance_finish(&instance);
        assert_int_equal(gpu.allocations, alive);
        if (status == VKF_OK)
            break;
        assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
        failures++;
    }
    assert_true(failures >= 3);
    gpu.failing_from = 0;
    gpu.complaints = 0;
    close_gpu(&gpu);
}

// A leak checker tells by its module that a leak is the validation layers' own, as long as the module is loaded.
static int keep_layers_loaded(void **state)
{
    (void)state;
    (void)dlopen("libVkLayer_khronos_validation.so", RTLD_LAZY | RTLD_NODELETE);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caps_read_is_plausible),
        cmocka_unit_test(test_device_init_every_profile),
        cmocka_unit_test(test_device_init_every_profile_validated),
        cmocka_unit_test(test_validation_is_heard),
        cmocka_unit_test(test_synchronisation_validation_is_heard),
        cmocka_unit_test(test_device_init_external),
        cmocka_unit_test(test_device_init_external_refused),
        cmocka_unit_test(test_instance_init_on_the_callers_instance),
        cmocka_unit_test(test_device_status_remembers_lost),
        cmocka_unit_test(test_device_init_missing_function),
        cmocka_unit_test(test_device_init_feature_refused),
        cmocka_unit_test(test_device_init_priority),
        cmocka_unit_test(test_context_with_each_priority),
        cmocka_unit_test(test_host_memory_runs_out),
    };
    return cmocka_run_group_tests_name("device", tests, keep_layers_loaded, NULL);
}
