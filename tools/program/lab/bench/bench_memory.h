// The device memory of benchmarks, over all heaps.
#ifndef VKF_PROGRAM_BENCH_MEMORY_H
#define VKF_PROGRAM_BENCH_MEMORY_H

#include <vkformer/vkformer.h>

// The bytes of all live buffers.
uint64_t vkf_bench_memory_now(vkf_context *context);

// The peak since vkf_context_reset_memory_peak(). Temporaries of an operator are already gone when it returns.
uint64_t vkf_bench_memory_peak(vkf_context *context);

#endif
