// A program with a Vulkan device of its own, as fixture: it opens the loader, creates instance, device and queue, and
// makes a context on them.
#ifndef VKF_TESTS_VULKAN_PROGRAM_H
#define VKF_TESTS_VULKAN_PROGRAM_H

#include "fixture.h"
#include "sample_layers.h"
#include "vk/device.h"

#include <vkformer/vulkan.h>

// X(name): what the program itself calls.
#define INSTANCE_FUNCTIONS(X)                   \
    X(vkDestroyInstance)                        \
    X(vkEnumeratePhysicalDevices)               \
    X(vkGetPhysicalDeviceQueueFamilyProperties) \
    X(vkGetPhysicalDeviceMemoryProperties2)     \
    X(vkCreateDevice)                           \
    X(vkGetDeviceProcAddr)                      \
    X(vkDestroyDebugUtilsMessengerEXT)          \
    X(vkCreateDebugUtilsMessengerEXT)

// How the program makes its device and the library's context.
typedef struct program_wishes {
    uint32_t api_version; // 0: 1.1
    bool setup;           // the device has what vkf_device_setup asks for
    bool halved;          // and lacks every second feature and extension of the library's table
    bool aggregates;      // the program chains structures of versions of Vulkan, and a feature of its own
    bool timestamps;
    const char *variant;
} program_wishes;

typedef struct program {
    vkf_test_gpu gpu; // first: the fixture of the library's context
    void *library;
    PFN_vkGetInstanceProcAddr get_proc;
#define MEMBER(name) PFN_##name name;
    INSTANCE_FUNCTIONS(MEMBER)
#undef MEMBER
    struct VolkDeviceTable vk;
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    uint32_t memory_type; // host-visible and coherent
    VkCommandPool pool;
    VkFence fence;
    // A dispatch of the program's own: out = alpha * x with the kernel "copy.f32_f32".
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool descriptors;
    int locked; // balance of lock_queue and unlock_queue
    int locks;
    int messages;
    char first_message[512];
    sample_weights weights;
    program_wishes wishes;
    vkf_context_desc desc; // of the context, with:
    vkf_external_device external;
    vkf_device_setup *setup; // NULL: the device was made without
    vkf__features features;  // of a device that is halved, chained
    VkPhysicalDeviceVulkan11Features features11;
    VkPhysicalDeviceVulkan12Features features12;
    VkPhysicalDeviceVulkan13Features features13;
    VkPhysicalDeviceFeatures2 core; // in front of these
} program;

// A buffer of the program's own, mapped.
typedef struct own_buffer {
    VkBuffer handle;
    VkDeviceMemory memory;
    float *mapped;
} own_buffer;

// *state becomes a program. Where there is no Vulkan its context is NULL, or the fixture says that it has to be there.
int program_open(void **state, const program_wishes *wishes);
// The library destroys none of the program's objects: they are all still good when its context is gone. Fails if
// validation layers said anything, or if locks of the queue are left.
int program_close(void **state);
// The program of a test body; skips the test without a device.
program *program_of(void **state);

own_buffer program_buffer(program *p, VkDeviceSize bytes, VkBufferUsageFlags usage);
void program_destroy_buffer(program *p, own_buffer *buffer);

VkCommandBuffer program_begin(program *p);
void program_submit(program *p, VkCommandBuffer commands); // and waits
VkSemaphore program_semaphore(program *p, bool timeline);
// The value of a timeline.
void program_signal(program *p, VkSemaphore semaphore, uint64_t value);
bool program_reaches(program *p, VkSemaphore semaphore, uint64_t value, uint64_t timeout_ns);
// Submits behind one binary semaphore and signals another; either may be null.
void program_submit_after(program *p, VkCommandBuffer commands, VkSemaphore wait, VkSemaphore done);
void program_barrier(program *p, VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags from_access,
                     VkPipelineStageFlags to, VkAccessFlags to_access);

#endif
