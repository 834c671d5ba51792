// Device memory of benchmarks, over all heaps.
#ifndef VKF_PROGRAM_BENCH_MEMORY_H
#define VKF_PROGRAM_BENCH_MEMORY_H

#include <vkformer/vkformer.h>

// In use by all live buffers.
uint64_t vkf_bench_memory_now(vkf_context *context);

// The most since vkf_context_reset_memory_peak(): temporaries of an operator are gone when it returns.
uint64_t vkf_bench_memory_peak(vkf_context *context);

#endif
