// Compares operations and bytes with the roofs of a device.
#include "lab/bench/bench_roof.h"

double vkf_bench_least_seconds(const vkf_roofs *roofs, const vkf_bench_cost *cost, const char **out_bound)
{
    double read_alone = cost->bytes_read > cost->bytes_written ? cost->bytes_read - cost->bytes_written : 0;
    double copied = cost->bytes_read + cost->bytes_written - read_alone;
    double memory = copied / roofs->copy_bytes_per_s + read_alone / roofs->read_bytes_per_s;
    double compute = cost->flops / roofs->fma_flops_per_s;
    *out_bound = compute > memory ? "compute" : "memory";
    return compute > memory ? compute : memory;
}
