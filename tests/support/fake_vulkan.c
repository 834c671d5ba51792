// Stands between the library and a driver: counts calls, lists live objects, lets calls fail.
#include "fake_vulkan.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/shared_library.h"
#include "fake_vulkan_functions.h"
#include "vk/new_declarations.h"

#ifndef VK_KHR_calibrated_timestamps // the newer names of the same functions
typedef PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsKHR;
typedef PFN_vkGetCalibratedTimestampsEXT PFN_vkGetCalibratedTimestampsKHR;
#endif

#define MAX_OBJECTS 8192
#define GARBAGE 0xdb

typedef enum function_index {
#define INDEX_OF(name, ...) INDEX_##name,
    RESULT_FUNCTIONS(INDEX_OF) CREATE_FUNCTIONS(INDEX_OF) DESTROY_FUNCTIONS(INDEX_OF) VOID_FUNCTIONS(INDEX_OF)
        OTHER_FUNCTIONS(INDEX_OF) FUNCTION_COUNT
#undef INDEX_OF
} function_index;

typedef struct object {
    uint64_t handle;
    const char *kind;
} object;

// A Vulkan function has no argument for a test's own data, so the state is one for the process.
static struct {
    PFN_vkGetInstanceProcAddr get_instance_proc;
    struct {
#define MEMBER(name, ...) PFN_##name name;
        RESULT_FUNCTIONS(MEMBER)
        CREATE_FUNCTIONS(MEMBER) DESTROY_FUNCTIONS(MEMBER) VOID_FUNCTIONS(MEMBER) OTHER_FUNCTIONS(MEMBER)
#undef MEMBER
    } real;
    uint64_t calls[FUNCTION_COUNT];
    object objects[MAX_OBJECTS];
    size_t object_count;
    uint64_t hidden_memory[64]; // of the discrete device's own heap
    VkResult fail_result;
    uint32_t fail_call; // 0: none
    const char *fail_function;
    const char *failed;
    const char *delay_function; // NULL: none
    uint64_t delay_ns;
    bool discrete;
    char misuse[256];
} fake;

static const char *const names[FUNCTION_COUNT] = {
#define NAME(name, ...) #name,
    RESULT_FUNCTIONS(NAME) CREATE_FUNCTIONS(NAME) DESTROY_FUNCTIONS(NAME) VOID_FUNCTIONS(NAME) OTHER_FUNCTIONS(NAME)
#undef NAME
};

#define HANDLE(handle) ((uint64_t)(uintptr_t)(handle))

static void note_misuse(const char *what, const char *name)
{
    if (fake.misuse[0] == '\0')
        (void)snprintf(fake.misuse, sizeof fake.misuse, "%s: %s", name, what);
}

static unsigned result_bit(VkResult result)
{
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return H;
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return D;
    case VK_ERROR_DEVICE_LOST:
        return L;
    case VK_ERROR_INITIALIZATION_FAILED:
        return I;
    default:
        return 0;
    }
}

// Pipelines are made by several threads.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static VkResult entered(function_index function, unsigned results)
{
    fake.calls[function]++;
    if (!(result_bit(fake.fail_result) & results))
        return VK_SUCCESS;
    if (fake.failed && fake.fail_result == VK_ERROR_DEVICE_LOST)
        return fake.fail_result;
    if (fake.fail_call == 0 || (fake.fail_function && strcmp(fake.fail_function, names[function]) != 0) ||
        --fake.fail_call > 0)
        return VK_SUCCESS;
    fake.failed = names[function];
    return fake.fail_result;
}

// Counts a call, and says what it is to return: VK_SUCCESS, or the failure whose turn it is.
static VkResult enter(function_index function, unsigned results)
{
    if (fake.delay_function && strcmp(fake.delay_function, names[function]) == 0)
        vkf__pause_ns(fake.delay_ns);
    pthread_mutex_lock(&lock);
    VkResult result = entered(function, results);
    pthread_mutex_unlock(&lock);
    return result;
}

static void add_object(uint64_t handle, const char *kind)
{
    pthread_mutex_lock(&lock);
    if (fake.object_count == MAX_OBJECTS)
        note_misuse("more objects than this loader can list", kind);
    else
        fake.objects[fake.object_count++] = (object){handle, kind};
    pthread_mutex_unlock(&lock);
}

// False when there is no such object: then nothing is to be destroyed.
static bool remove_object(uint64_t handle, const char *kind, const char *function)
{
    if (handle == 0)
        return false;
    for (size_t i = fake.object_count; i-- > 0;) {
        if (fake.objects[i].handle == handle && strcmp(fake.objects[i].kind, kind) == 0) {
            fake.objects[i] = fake.objects[--fake.object_count];
            return true;
        }
    }
    note_misuse("destroys what is not alive", function);
    return false;
}

#define WRAP_RESULT(name, results, first, parameters, arguments)    \
    static VKAPI_ATTR VkResult VKAPI_CALL wrapped_##name parameters \
    {                                                               \
        VkResult injected = enter(INDEX_##name, results);           \
        if (injected != VK_SUCCESS && !(first))                     \
            return injected;                                        \
        VkResult result = fake.real.name arguments;                 \
        return injected != VK_SUCCESS ? injected : result;          \
    }
RESULT_FUNCTIONS(WRAP_RESULT)

#define WRAP_CREATE(name, results, parent_type, info_type, handle_type)                                               \
    static VKAPI_ATTR VkResult VKAPI_CALL wrapped_##name(parent_type parent, const info_type *info,                   \
                                                         const VkAllocationCallbacks *callbacks, handle_type *handle) \
    {                                                                                                                 \
        VkResult result = enter(INDEX_##name, results);                                                               \
        if (result != VK_SUCCESS) {                                                                                   \
            memset(handle, GARBAGE, sizeof *handle);                                                                  \
            return result;                                                                                            \
        }                                                                                                             \
        result = fake.real.name(parent, info, callbacks, handle);                                                     \
        if (result == VK_SUCCESS)                                                                                     \
            add_object(HANDLE(*handle), #handle_type);                                                                \
        return result;                                                                                                \
    }
CREATE_FUNCTIONS(WRAP_CREATE)

#define WRAP_DESTROY(name, parent_type, handle_type)                                         \
    static VKAPI_ATTR void VKAPI_CALL wrapped_##name(parent_type parent, handle_type handle, \
                                                     const VkAllocationCallbacks *callbacks) \
    {                                                                                        \
        (void)enter(INDEX_##name, 0);                                                        \
        if (remove_object(HANDLE(handle), #handle_type, #name))                              \
            fake.real.name(parent, handle, callbacks);                                       \
    }
DESTROY_FUNCTIONS(WRAP_DESTROY)

#define WRAP_VOID(name, parameters, arguments)                  \
    static VKAPI_ATTR void VKAPI_CALL wrapped_##name parameters \
    {                                                           \
        (void)enter(INDEX_##name, 0);                           \
        fake.real.name arguments;                               \
    }
VOID_FUNCTIONS(WRAP_VOID)

static VKAPI_ATTR VkResult VKAPI_CALL wrapped_vkCreateInstance(const VkInstanceCreateInfo *info,
                                                               const VkAllocationCallbacks *callbacks,
                                                               VkInstance *handle)
{
    VkResult result = enter(INDEX_vkCreateInstance, H | D | I);
    if (result != VK_SUCCESS) {
        memset(handle, GARBAGE, sizeof *handle);
        return result;
    }
    result = fake.real.vkCreateInstance(info, callbacks, handle);
    if (result == VK_SUCCESS)
        add_object(HANDLE(*handle), "VkInstance");
    return result;
}

static VKAPI_ATTR void VKAPI_CALL wrapped_vkDestroyInstance(VkInstance instance, const VkAllocationCallbacks *callbacks)
{
    (void)enter(INDEX_vkDestroyInstance, 0);
    if (remove_object(HANDLE(instance), "VkInstance", __func__))
        fake.real.vkDestroyInstance(instance, callbacks);
}

static VKAPI_ATTR void VKAPI_CALL wrapped_vkDestroyDevice(VkDevice device, const VkAllocationCallbacks *callbacks)
{
    (void)enter(INDEX_vkDestroyDevice, 0);
    if (remove_object(HANDLE(device), "VkDevice", __func__))
        fake.real.vkDestroyDevice(device, callbacks);
}

// A pipeline that could not be made is null by the specification, other than what calls above put out.
static VKAPI_ATTR VkResult VKAPI_CALL wrapped_vkCreateComputePipelines(VkDevice device, VkPipelineCache cache,
                                                                       uint32_t count,
                                                                       const VkComputePipelineCreateInfo *infos,
                                                                       const VkAllocationCallbacks *callbacks,
                                                                       VkPipeline *handles)
{
    VkResult result = enter(INDEX_vkCreateComputePipelines, H | D);
    if (result != VK_SUCCESS) {
        for (uint32_t i = 0; i < count; i++)
            handles[i] = VK_NULL_HANDLE;
        return result;
    }
    result = fake.real.vkCreateComputePipelines(device, cache, count, infos, callbacks, handles);
    for (uint32_t i = 0; i < count; i++) {
        if (handles[i] != VK_NULL_HANDLE)
            add_object(HANDLE(handles[i]), "VkPipeline");
    }
    return result;
}

// The discrete device: memory type 0 lies in a heap that the host cannot see, type 1 is the host's. Both are served
// from the first host-visible type of the device behind.

static uint32_t real_type;

static VKAPI_ATTR VkResult VKAPI_CALL wrapped_vkAllocateMemory(VkDevice device, const VkMemoryAllocateInfo *info,
                                                               const VkAllocationCallbacks *callbacks,
                                                               VkDeviceMemory *handle)
{
    VkMemoryAllocateInfo copy = *info;
    VkResult result = enter(INDEX_vkAllocateMemory, H | D);
    if (result != VK_SUCCESS) {
        memset(handle, GARBAGE, sizeof *handle);
        return result;
    }
    if (fake.discrete)
        copy.memoryTypeIndex = real_type;
    result = fake.real.vkAllocateMemory(device, &copy, callbacks, handle);
    if (result != VK_SUCCESS)
        return result;
    add_object(HANDLE(*handle), "VkDeviceMemory");
    for (size_t i = 0; fake.discrete && i < 64; i++) {
        if (fake.hidden_memory[i] == HANDLE(*handle))
            fake.hidden_memory[i] = 0;
    }
    for (size_t i = 0; fake.discrete && info->memoryTypeIndex == 0 && i < 64; i++) {
        if (fake.hidden_memory[i] == 0) {
            fake.hidden_memory[i] = HANDLE(*handle);
            break;
        }
    }
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL wrapped_vkMapMemory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                                          VkDeviceSize size, VkMemoryMapFlags flags, void **data)
{
    VkResult result = enter(INDEX_vkMapMemory, H | D);
    if (result != VK_SUCCESS)
        return result;
    for (size_t i = 0; fake.discrete && i < 64; i++) {
        if (fake.hidden_memory[i] == HANDLE(memory)) {
            note_misuse("maps memory that the host cannot see", "vkMapMemory");
            return VK_ERROR_MEMORY_MAP_FAILED;
        }
    }
    return fake.real.vkMapMemory(device, memory, offset, size, flags, data);
}

// What a failure is told of has ended: a lost device runs nothing any more.
static VKAPI_ATTR VkResult VKAPI_CALL wrapped_vkGetFenceStatus(VkDevice device, VkFence fence)
{
    VkResult result = enter(INDEX_vkGetFenceStatus, H | D | L);
    if (result == VK_SUCCESS)
        return fake.real.vkGetFenceStatus(device, fence);
    (void)fake.real.vkWaitForFences(device, 1, &fence, VK_TRUE, UINT64_MAX);
    return result;
}

static VKAPI_ATTR void VKAPI_CALL wrapped_vkGetPhysicalDeviceProperties(VkPhysicalDevice device,
                                                                        VkPhysicalDeviceProperties *properties)
{
    (void)enter(INDEX_vkGetPhysicalDeviceProperties, 0);
    fake.real.vkGetPhysicalDeviceProperties(device, properties);
    if (fake.discrete)
        properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

static VKAPI_ATTR void VKAPI_CALL wrapped_vkGetPhysicalDeviceProperties2(VkPhysicalDevice device,
                                                                         VkPhysicalDeviceProperties2 *properties)
{
    (void)enter(INDEX_vkGetPhysicalDeviceProperties2, 0);
    fake.real.vkGetPhysicalDeviceProperties2(device, properties);
    if (fake.discrete)
        properties->properties.deviceType = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
}

static VKAPI_ATTR void VKAPI_CALL wrapped_vkGetPhysicalDeviceMemoryProperties2(VkPhysicalDevice device,
                                                                               VkPhysicalDeviceMemoryProperties2 *out)
{
    const VkMemoryPropertyFlags host = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    (void)enter(INDEX_vkGetPhysicalDeviceMemoryProperties2, 0);
    fake.real.vkGetPhysicalDeviceMemoryProperties2(device, out);
    if (!fake.discrete)
        return;
    VkPhysicalDeviceMemoryProperties *p = &out->memoryProperties;
    for (real_type = 0; (p->memoryTypes[real_type].propertyFlags & host) != host;)
        real_type++;
    VkDeviceSize size = p->memoryHeaps[p->memoryTypes[real_type].heapIndex].size;
    p->memoryHeapCount = p->memoryTypeCount = 2;
    p->memoryHeaps[0] = (VkMemoryHeap){size, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
    p->memoryHeaps[1] = (VkMemoryHeap){size, 0};
    p->memoryTypes[0] = (VkMemoryType){VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0};
    p->memoryTypes[1] = (VkMemoryType){host, 1};
}

static VKAPI_ATTR void VKAPI_CALL wrapped_vkGetBufferMemoryRequirements(VkDevice device, VkBuffer buffer,
                                                                        VkMemoryRequirements *out)
{
    (void)enter(INDEX_vkGetBufferMemoryRequirements, 0);
    fake.real.vkGetBufferMemoryRequirements(device, buffer, out);
    if (fake.discrete)
        out->memoryTypeBits = 3;
}

static VKAPI_ATTR VkDeviceAddress VKAPI_CALL wrapped_vkGetBufferDeviceAddress(VkDevice device,
                                                                              const VkBufferDeviceAddressInfo *info)
{
    (void)enter(INDEX_vkGetBufferDeviceAddress, 0);
    return fake.real.vkGetBufferDeviceAddress(device, info);
}

static VKAPI_ATTR VkDeviceAddress VKAPI_CALL wrapped_vkGetBufferDeviceAddressKHR(VkDevice device,
                                                                                 const VkBufferDeviceAddressInfo *info)
{
    (void)enter(INDEX_vkGetBufferDeviceAddressKHR, 0);
    return fake.real.vkGetBufferDeviceAddressKHR(device, info);
}

static VKAPI_ATTR void VKAPI_CALL wrapped_vkGetBufferMemoryRequirements2(VkDevice device,
                                                                         const VkBufferMemoryRequirementsInfo2 *info,
                                                                         VkMemoryRequirements2 *out)
{
    (void)enter(INDEX_vkGetBufferMemoryRequirements2, 0);
    fake.real.vkGetBufferMemoryRequirements2(device, info, out);
    if (fake.discrete)
        out->memoryRequirements.memoryTypeBits = 3;
}

// Names are for debuggers, and the library rightly ignores whether they were taken.
static VKAPI_ATTR VkResult VKAPI_CALL wrapped_vkSetDebugUtilsObjectNameEXT(VkDevice device,
                                                                           const VkDebugUtilsObjectNameInfoEXT *info)
{
    (void)enter(INDEX_vkSetDebugUtilsObjectNameEXT, 0);
    return fake.real.vkSetDebugUtilsObjectNameEXT(device, info);
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL wrapped_vkGetDeviceProcAddr(VkDevice device, const char *name);

// Keeps the real function and hands out the wrapper; NULL when the machine's loader has none.
static PFN_vkVoidFunction wrap(const char *name, PFN_vkVoidFunction real)
{
    if (!real)
        return NULL;
#define FIND(function, ...)                            \
    if (strcmp(name, #function) == 0) {                \
        fake.real.function = (PFN_##function)real;     \
        return (PFN_vkVoidFunction)wrapped_##function; \
    }
    RESULT_FUNCTIONS(FIND)
    CREATE_FUNCTIONS(FIND)
    DESTROY_FUNCTIONS(FIND)
    VOID_FUNCTIONS(FIND)
    OTHER_FUNCTIONS(FIND)
#undef FIND
    // Statistics of pipelines: nothing of the library itself depends on them.
    if (!strstr(name, "PipelineExecutable"))
        note_misuse("a function that the tests' loader does not know", name);
    return real;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL wrapped_vkGetDeviceProcAddr(VkDevice device, const char *name)
{
    return wrap(name, fake.real.vkGetDeviceProcAddr(device, name));
}

static PFN_vkGetInstanceProcAddr open_loader(void)
{
    const char *why;
#ifdef _WIN32
    void *library = vkf__library_open("vulkan-1.dll", &why);
#else
    void *library = vkf__library_open("libvulkan.so.1", &why);
#endif
    return library ? (PFN_vkGetInstanceProcAddr)vkf__library_find(library, "vkGetInstanceProcAddr") : NULL;
}

vkf_void_function fake_vulkan_get_proc(void *instance, const char *name)
{
    if (!fake.get_instance_proc)
        fake.get_instance_proc = open_loader();
    if (!fake.get_instance_proc)
        return NULL;
    return (vkf_void_function)wrap(name, fake.get_instance_proc(instance, name));
}

void fake_vulkan_reset(void)
{
    memset(fake.calls, 0, sizeof fake.calls);
    fake.fail_result = VK_SUCCESS;
    fake.fail_call = 0;
    fake.fail_function = NULL;
    fake.failed = NULL;
    fake.delay_function = NULL;
    fake.misuse[0] = '\0';
}

void fake_vulkan_delay(const char *function, uint64_t delay_ns)
{
    fake.delay_function = function;
    fake.delay_ns = delay_ns;
}

void fake_vulkan_fail(VkResult result, uint32_t call)
{
    fake_vulkan_fail_function(result, NULL, call);
}

void fake_vulkan_fail_function(VkResult result, const char *function, uint32_t call)
{
    fake.fail_result = result;
    fake.fail_call = call;
    fake.fail_function = function;
    fake.failed = NULL;
}

const char *fake_vulkan_failed(void)
{
    return fake.failed;
}

uint64_t fake_vulkan_calls(const char *prefix)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < FUNCTION_COUNT; i++) {
        if (strncmp(names[i], prefix, strlen(prefix)) == 0)
            calls += fake.calls[i];
    }
    return calls;
}

size_t fake_vulkan_live(const char **out_kind)
{
    if (out_kind)
        *out_kind = fake.object_count > 0 ? fake.objects[fake.object_count - 1].kind : "nothing";
    return fake.object_count;
}

const char *fake_vulkan_misuse(void)
{
    return fake.misuse[0] != '\0' ? fake.misuse : NULL;
}

void fake_vulkan_discrete(bool discrete)
{
    fake.discrete = discrete;
    memset(fake.hidden_memory, 0, sizeof fake.hidden_memory);
}
