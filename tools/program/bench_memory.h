// The most device memory that is in use while something runs: temporaries of an operator are gone when it returns.
#ifndef VKF_PROGRAM_BENCH_MEMORY_H
#define VKF_PROGRAM_BENCH_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>

#include <vkformer/vkformer.h>

typedef struct vkf_bench_memory {
    vkf_context *context;
    pthread_t thread;
    bool watching;
    atomic_bool stop;
    uint64_t peak_bytes;
} vkf_bench_memory;

// In use by all live buffers.
uint64_t vkf_bench_memory_now(vkf_context *context);

// Looks at it again and again from a thread of its own; what lives shorter than a millisecond may be missed. Nothing is
// started when the system has no thread left. The struct stays where it is until the end.
void vkf_bench_memory_watch(vkf_bench_memory *memory, vkf_context *context);
// The most that was seen, this moment included.
uint64_t vkf_bench_memory_end(vkf_bench_memory *memory);

#endif
