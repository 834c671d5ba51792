// Host memory for tests of whole contexts: counts what is alive, and fails the allocation that a test chooses.
#ifndef VKF_TESTS_COUNTING_ALLOCATOR_H
#define VKF_TESTS_COUNTING_ALLOCATOR_H

#include <stdlib.h>

#include <vkformer/status.h>

typedef struct counting_allocator {
    size_t calls;
    size_t fail_call; // counted from 1; 0: none
    size_t live;
    bool failed;
} counting_allocator;

static inline void *counting_allocate(void *user, size_t size_bytes)
{
    counting_allocator *allocator = user;
    if (++allocator->calls == allocator->fail_call) {
        allocator->failed = true;
        return NULL;
    }
    void *memory = malloc(size_bytes);
    allocator->live += memory != NULL;
    return memory;
}

static inline void counting_release(void *user, void *memory)
{
    counting_allocator *allocator = user;
    allocator->live -= memory != NULL;
    free(memory);
}

// Begins to count anew; `fail_call` as in the struct. What is alive stays counted.
static inline void counting_restart(counting_allocator *allocator, size_t fail_call)
{
    allocator->calls = 0;
    allocator->fail_call = fail_call;
    allocator->failed = false;
}

static inline vkf_allocator counting_callbacks(counting_allocator *allocator)
{
    return (vkf_allocator){counting_allocate, counting_release, allocator};
}

#endif
