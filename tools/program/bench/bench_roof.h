// The least time that a device's roofs allow for some work.
#ifndef VKF_PROGRAM_BENCH_ROOF_H
#define VKF_PROGRAM_BENCH_ROOF_H

#include <vkformer/vkformer.h>

// What a work cannot do without: operations, every input read once and every output written once.
typedef struct vkf_bench_cost {
    double flops;
    double bytes_read;
    double bytes_written;
} vkf_bench_cost;

// Seconds: the larger of operations over their peak and bytes over bandwidth. Every byte written is paired with one
// read, and both go at the speed of copying; what is read beyond that, at the speed of reading. *out_bound: "compute"
// or "memory".
double vkf_bench_least_seconds(const vkf_roofs *roofs, const vkf_bench_cost *cost, const char **out_bound);

#endif
