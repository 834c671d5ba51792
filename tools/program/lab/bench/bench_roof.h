// The least time that a device's roofs allow for some work.
#ifndef VKF_PROGRAM_BENCH_ROOF_H
#define VKF_PROGRAM_BENCH_ROOF_H

#include <vkformer/vkformer.h>

// What work cannot do without: its operations, one read of every input and one write of every output.
typedef struct vkf_bench_cost {
    double flops;
    double bytes_read;
    double bytes_written;
} vkf_bench_cost;

// The least seconds: the larger of operations over their peak and bytes over bandwidth. Every byte written is paired
// with a byte read, and both take the bandwidth of copying; further bytes read take the bandwidth of reading.
// *out_bound is "compute" or "memory".
double vkf_bench_least_seconds(const vkf_roofs *roofs, const vkf_bench_cost *cost, const char **out_bound);

#endif
