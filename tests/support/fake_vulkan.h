// A Vulkan loader for tests, between the library and the machine's own: it counts calls, keeps a list of the objects
// that are alive, lets a chosen call fail or wait, and can make a device look like a discrete one. One device at a
// time, and one thread but for those that the library makes pipelines with.
#ifndef VKF_TESTS_FAKE_VULKAN_H
#define VKF_TESTS_FAKE_VULKAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vk/device.h"

// For vkf_context_desc.get_instance_proc_addr.
vkf_void_function fake_vulkan_get_proc(void *instance, const char *name);

// Forgets counts, failure and misuse; objects that are alive stay listed.
void fake_vulkan_reset(void);

// The `call`-th call from now (counted from 1) that may return `result` by the specification returns it. What a failing
// call would have put out is undefined by the specification, and here it is garbage. VK_ERROR_DEVICE_LOST stays: every
// later call that may return it does.
void fake_vulkan_fail(VkResult result, uint32_t call);
// The same, counting calls of `function` alone.
void fake_vulkan_fail_function(VkResult result, const char *function, uint32_t call);
// The function that failed; NULL while none has.
const char *fake_vulkan_failed(void);

// Every call of `function` waits so long before anything else happens, as behind another program's work, until the next
// reset.
void fake_vulkan_delay(const char *function, uint64_t delay_ns);

// Calls since the last reset of functions whose names begin so: "vkCmd", "vkAllocateMemory".
uint64_t fake_vulkan_calls(const char *prefix);

// Objects alive; the name of one of them is written to *out_kind (may be NULL).
size_t fake_vulkan_live(const char **out_kind);

// What the library did wrong since the last reset, or NULL: destroyed what was not alive, mapped memory that is not
// host-visible, asked for a function that this loader does not know.
const char *fake_vulkan_misuse(void);

// Devices opened from now on have memory that the host cannot see, in a heap of its own, beside host-visible memory.
void fake_vulkan_discrete(bool discrete);

#endif
