#include "bench_memory.h"

uint64_t vkf_bench_memory_now(vkf_context *context)
{
    vkf_memory_usage usage;
    uint64_t sum = 0;
    vkf_context_memory_usage(context, &usage);
    for (uint32_t i = 0; i < usage.heap_count; i++)
        sum += usage.used_bytes[i];
    return sum;
}

uint64_t vkf_bench_memory_peak(vkf_context *context)
{
    vkf_memory_usage usage;
    uint64_t sum = 0;
    vkf_context_memory_usage(context, &usage);
    for (uint32_t i = 0; i < usage.heap_count; i++)
        sum += usage.peak_bytes[i];
    return sum;
}
