// Runs a recording, and tells its two ways apart by the times of its dispatches.
#include "lab/bench/bench_both_ways.h"

#include <stdio.h>

vkf_status vkf_bench_both_ways_run(void *user, double *out_gpu_ns)
{
    vkf_bench_both_ways *ways = user;
    VKF_RETURN_IF_ERROR(vkf_bench_recording_run(&ways->recording, out_gpu_ns));
    for (uint32_t i = 0; *out_gpu_ns >= 0 && i < ways->first_back; i++) {
        double ns = 0;
        VKF_RETURN_IF_ERROR(vkf__work_time(&ways->recording.work, i, &ns));
        ways->forward_ns += ns;
    }
    ways->both_ns += *out_gpu_ns;
    return VKF_OK;
}

void vkf_bench_both_ways_ratio(void *user, char *out_text, size_t size_bytes)
{
    const vkf_bench_both_ways *ways = user;
    if (ways->forward_ns > 0)
        snprintf(out_text, size_bytes, "the way back takes %.2f times the way forward",
                 (ways->both_ns - ways->forward_ns) / ways->forward_ns);
}

json_t *vkf_bench_both_ways_details(void *user)
{
    const vkf_bench_both_ways *ways = user;
    json_t *list = json_array();
    vkf_bench_work_details(&ways->recording.work, ways->recording.best_ns, list);
    return list;
}
