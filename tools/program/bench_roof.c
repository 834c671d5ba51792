#include "bench_roof.h"

#include "options.h"
#include "progress.h"

double vkf_bench_least_seconds(const vkf_roofs *roofs, const vkf_bench_cost *cost, const char **out_bound)
{
    double read_alone = cost->bytes_read > cost->bytes_written ? cost->bytes_read - cost->bytes_written : 0;
    double copied = cost->bytes_read + cost->bytes_written - read_alone;
    double memory = copied / roofs->copy_bytes_per_s + read_alone / roofs->read_bytes_per_s;
    double compute = cost->flops / roofs->fma_flops_per_s;
    *out_bound = compute > memory ? "compute" : "memory";
    return compute > memory ? compute : memory;
}

vkf_status vkf_bench_measure_roofs(vkf_context *context, vkf_roofs *out_roofs)
{
    vkf_progress progress = vkf_progress_start("measuring the roofs");
    vkf_status status = vkf_measure_roofs(context, vkf_progress_show, &progress, out_roofs);
    vkf_progress_end(&progress);
    if (status != VKF_OK)
        vkf_print_error("the device's roofs cannot be measured: %s; --no-roof does without them",
                        vkf_status_text(status));
    return status;
}
