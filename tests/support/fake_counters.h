// A Vulkan loader for tests that adds VK_KHR_performance_query to the machine's own driver: four counters, of which one
// does not count single commands and one takes a second pass. What they count is made up.
#ifndef VKF_TESTS_FAKE_COUNTERS_H
#define VKF_TESTS_FAKE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "vk/device.h"

// What the counters that one pass takes tell of query `query`.
#define FAKE_CYCLES(query) (1000.0 + (query))
#define FAKE_BUSY 0.25

// For vkf_context_desc.get_instance_proc_addr.
vkf_void_function fake_counters_get_proc(void *instance, const char *name);

// Whether the profiling lock can be had from now on; at first it can.
void fake_counters_lockable(bool lockable);

// How often the lock is held now.
int fake_counters_locks(void);

// What the library did wrong, or NULL: used queries without the lock, or twice without resetting them between, read
// them as if they were numbers of 64 bits.
const char *fake_counters_misuse(void);

#endif
