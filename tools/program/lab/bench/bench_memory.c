// Sums device memory over all heaps.
#include "lab/bench/bench_memory.h"

static uint64_t sum_of(const uint64_t *bytes, uint32_t heap_count)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < heap_count; i++)
        sum += bytes[i];
    return sum;
}

uint64_t vkf_bench_memory_now(vkf_context *context)
{
    vkf_memory_usage usage;
    vkf_context_get_memory_usage(context, &usage);
    return sum_of(usage.used_bytes, usage.heap_count);
}

uint64_t vkf_bench_memory_peak(vkf_context *context)
{
    vkf_memory_usage usage;
    vkf_context_get_memory_usage(context, &usage);
    return sum_of(usage.peak_bytes, usage.heap_count);
}
