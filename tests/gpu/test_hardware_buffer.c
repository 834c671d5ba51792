// Android hardware buffers, which no driver here has: entries of the tables of functions are exchanged for a driver
// that notes what it is asked, and hands out memory of the device instead.
#include <string.h>

#include "compare.h"
#include "fixture.h"
#include "kernel/context.h"

#include <vulkan/vulkan_android.h>

enum { BYTES = 8192, MEMORY_BYTES = 12288, COUNT = 64 };

// A Vulkan function has no argument for a test's own data, so the state is one for the process.
static struct {
    vkf__instance instance; // the true tables
    struct VolkDeviceTable vk;
    bool device_address;
    VkExternalMemoryFeatureFlags features;
    VkResult properties_result;
    uint32_t types;
    VkExternalMemoryHandleTypeFlags asked_for, made_for; // kinds of handles
    const struct AHardwareBuffer *examined, *imported;
    VkDeviceSize allocated_bytes;
    uint32_t allocated_type;
    VkBuffer made, dedicated;
    uint32_t maps;
} driver;

static const void *find(const void *chain, VkStructureType type)
{
    const VkBaseInStructure *link = chain;
    while (link && link->sType != type)
        link = link->pNext;
    return link;
}

static VKAPI_ATTR void VKAPI_CALL external_properties(VkPhysicalDevice device,
                                                      const VkPhysicalDeviceExternalBufferInfo *info,
                                                      VkExternalBufferProperties *properties)
{
    (void)device;
    driver.asked_for = info->handleType;
    properties->externalMemoryProperties.externalMemoryFeatures = driver.features;
}

static VKAPI_ATTR VkResult VKAPI_CALL hardware_buffer_properties(VkDevice device, const struct AHardwareBuffer *buffer,
                                                                 VkAndroidHardwareBufferPropertiesANDROID *properties)
{
    (void)device;
    driver.examined = buffer;
    properties->allocationSize = MEMORY_BYTES;
    properties->memoryTypeBits = driver.types;
    return driver.properties_result;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL instance_function(VkInstance instance, const char *name)
{
    if (strcmp(name, "vkGetPhysicalDeviceExternalBufferProperties") == 0)
        return (PFN_vkVoidFunction)external_properties;
    return driver.instance.get_proc(instance, name);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL device_function(VkDevice device, const char *name)
{
    if (strcmp(name, "vkGetAndroidHardwareBufferPropertiesANDROID") == 0)
        return (PFN_vkVoidFunction)hardware_buffer_properties;
    return driver.instance.vkGetDeviceProcAddr(device, name);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *callbacks, VkBuffer *out)
{
    const VkExternalMemoryBufferCreateInfo *external =
        find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO);
    VkBufferCreateInfo plain = *info;
    driver.made_for = external ? external->handleTypes : driver.made_for; // the transfer's own buffers have none
    plain.pNext = NULL;
    VkResult result = driver.vk.vkCreateBuffer(device, &plain, callbacks, out);
    driver.made = external ? *out : driver.made;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *callbacks, VkDeviceMemory *out)
{
    const VkImportAndroidHardwareBufferInfoANDROID *import =
        find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID);
    const VkMemoryDedicatedAllocateInfo *dedicated =
        find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo plain = *info;
    if (import) {
        driver.imported = import->buffer;
        driver.dedicated = dedicated ? dedicated->buffer : VK_NULL_HANDLE;
        driver.allocated_bytes = info->allocationSize;
        driver.allocated_type = info->memoryTypeIndex;
    }
    plain.pNext = driver.device_address ? &flags : NULL;
    return driver.vk.vkAllocateMemory(device, &plain, callbacks, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                          VkDeviceSize bytes, VkMemoryMapFlags flags, void **out)
{
    driver.maps++;
    return driver.vk.vkMapMemory(device, memory, offset, bytes, flags, out);
}

// The fixture, with a driver in it that has hardware buffers.
static vkf_test_gpu *gpu_with_driver(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf__device *device = &gpu->context->device;
    vkf_buffer *buffer = NULL;
    assert_int_equal(vkf_buffer_create(gpu->context, BYTES, "to have all that transfers need", &buffer), VKF_OK);
    assert_int_equal(vkf__buffer_clear(buffer), VKF_OK);
    vkf_buffer_destroy(&buffer);
    memset(&driver, 0, sizeof driver);
    driver.instance = gpu->context->instance;
    driver.vk = device->vk;
    driver.device_address = device->plan.enabled.buffer_device_address;
    driver.features = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    driver.types = UINT32_C(1) << device->plan.memory_type[VKF_MEMORY_DEVICE];
    device->plan.enabled.external_hardware_buffer = true;
    gpu->context->instance.get_proc = instance_function;
    gpu->context->instance.vkGetDeviceProcAddr = device_function;
    device->vk.vkCreateBuffer = create_buffer;
    device->vk.vkAllocateMemory = allocate;
    device->vk.vkMapMemory = map;
    return gpu;
}

static int give_driver_back(void **state)
{
    vkf_test_gpu *gpu = *state;
    if (!gpu->context || !driver.instance.handle)
        return 0;
    gpu->context->device.plan.enabled.external_hardware_buffer = false;
    gpu->context->instance.get_proc = driver.instance.get_proc;
    gpu->context->instance.vkGetDeviceProcAddr = driver.instance.vkGetDeviceProcAddr;
    gpu->context->device.vk = driver.vk;
    return 0;
}

static vkf_imported_memory import_of(void *hardware_buffer)
{
    return (vkf_imported_memory){
        .kind = VKF_MEMORY_ANDROID_HARDWARE_BUFFER, .fd = -1, .pointer = hardware_buffer, .buffer_bytes = BYTES};
}

// The chain is as Vulkan wants it, and what has been imported is a buffer like others.
static void test_hardware_buffer_is_imported(void **state)
{
    vkf_test_gpu *gpu = gpu_with_driver(state);
    int hardware_buffer;
    const vkf_imported_memory from = import_of(&hardware_buffer);
    vkf_buffer *buffer = NULL;
    float values[COUNT] = {0}, read[COUNT];
    assert_int_equal(vkf_buffer_import(gpu->context, &from, &buffer), VKF_OK);
    assert_int_equal(driver.asked_for, VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID);
    assert_int_equal(driver.made_for, VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID);
    assert_ptr_equal(driver.examined, &hardware_buffer);
    assert_ptr_equal(driver.imported, &hardware_buffer);
    assert_int_equal(driver.allocated_bytes, MEMORY_BYTES);
    assert_true(driver.types >> driver.allocated_type & 1);
    assert_true(driver.dedicated == driver.made && driver.made != VK_NULL_HANDLE);
    assert_int_equal(driver.maps, 0);
    assert_null(buffer->allocation.mapped);
    assert_int_equal(vkf_buffer_get_size(buffer), BYTES);
    assert_int_equal(vkf_buffer_write(buffer, 4096, values, sizeof values), VKF_OK);
    const vkf_tensor row = {
        .buffer = buffer, .offset_bytes = 4096, .dtype = VKF_DTYPE_F32, .rank = 2, .shape = {1, COUNT}};
    const vkf_softmax_desc softmax = {.x = row, .out = row};
    assert_int_equal(vkf_softmax(gpu->context, &softmax), VKF_OK);
    assert_int_equal(vkf_buffer_read(buffer, 4096, read, sizeof read), VKF_OK);
    for (int i = 0; i < COUNT; i++)
        values[i] = 1.0f / COUNT;
    assert_close(read, values, COUNT, 1e-6, 1e-6, vkf_test_label(gpu, "in a hardware buffer"));
    vkf_buffer_destroy(&buffer);
}

static void assert_refused(vkf_test_gpu *gpu, const vkf_imported_memory *from, vkf_status status, const char *said)
{
    vkf_buffer *buffer = NULL;
    assert_int_equal(vkf_buffer_import(gpu->context, from, &buffer), status);
    assert_null(buffer);
    if (!strstr(gpu->last_error, said))
        fail_msg("\"%s\" does not say \"%s\"", gpu->last_error, said);
    assert_null(driver.imported);
}

static void test_hardware_buffer_unusable_is_refused(void **state)
{
    vkf_test_gpu *gpu = gpu_with_driver(state);
    int hardware_buffer;
    vkf_imported_memory from = import_of(NULL);
    assert_refused(gpu, &from, VKF_ERROR_INVALID_ARGUMENT, "pointer is NULL");
    from = import_of(&hardware_buffer);
    from.buffer_bytes = MEMORY_BYTES + 4096;
    assert_refused(gpu, &from, VKF_ERROR_INVALID_ARGUMENT, "the memory has 12288");
    from = import_of(&hardware_buffer);
    driver.types = 0;
    assert_refused(gpu, &from, VKF_ERROR_UNSUPPORTED, "no type of memory");
    driver.properties_result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
    assert_refused(gpu, &from, VKF_ERROR_VULKAN, "not of the kind");
    driver.features = VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
    assert_refused(gpu, &from, VKF_ERROR_UNSUPPORTED, "does not offer an Android hardware buffer");
}

static void test_hardware_buffer_is_not_exported(void **state)
{
    vkf_test_gpu *gpu = gpu_with_driver(state);
    vkf_buffer *buffer = NULL;
    driver.features = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
    assert_int_equal(
        vkf_buffer_create_exportable(gpu->context, VKF_MEMORY_ANDROID_HARDWARE_BUFFER, BYTES, NULL, &buffer),
        VKF_ERROR_INVALID_ARGUMENT);
    assert_null(buffer);
}

// As everywhere but on Android.
static void test_hardware_buffer_without_extension_is_unsupported(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    int hardware_buffer;
    const vkf_imported_memory from = import_of(&hardware_buffer);
    memset(&driver, 0, sizeof driver);
    if (gpu->context->device.plan.enabled.external_hardware_buffer)
        skip();
    assert_refused(gpu, &from, VKF_ERROR_UNSUPPORTED, "VK_ANDROID_external_memory_android_hardware_buffer");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_hardware_buffer_is_imported, give_driver_back),
        cmocka_unit_test_teardown(test_hardware_buffer_unusable_is_refused, give_driver_back),
        cmocka_unit_test_teardown(test_hardware_buffer_is_not_exported, give_driver_back),
        cmocka_unit_test(test_hardware_buffer_without_extension_is_unsupported),
    };
    return cmocka_run_group_tests_name("hardware_buffer", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
