#include "bench_measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "json_output.h"
#include "progress.h"
#include "sample_stats.h"

typedef struct bench_times {
    double gpu_ms_min; // negative: unknown
    double gpu_ms_median;
    double wall_ms_min;
    double wall_ms_median;
} bench_times;

static vkf_status repeat(const vkf_bench_options *options, const vkf_bench_case *bench_case, double *gpu_ms,
                         double *wall_ms, bool *out_gpu_known)
{
    vkf_progress progress = vkf_progress_start("repetition");
    vkf_status status = VKF_OK;
    bool gpu_known = true;
    uint32_t total = options->warmup + options->repetitions;
    for (uint32_t i = 0; i < total && status == VKF_OK; i++) {
        double gpu_ns = -1.0;
        vkf_progress_show(&progress, i, total, bench_case->op);
        double start_ms = vkf_now_ms();
        status = bench_case->run(bench_case->user, &gpu_ns);
        double run_ms = vkf_now_ms() - start_ms;
        if (i < options->warmup)
            continue;
        wall_ms[i - options->warmup] = run_ms;
        gpu_ms[i - options->warmup] = gpu_ns * 1e-6;
        gpu_known = gpu_known && gpu_ns >= 0;
    }
    vkf_progress_end(&progress);
    *out_gpu_known = gpu_known;
    return status;
}

static bool print_json(const vkf_bench_options *options, const vkf_bench_case *bench_case,
                       const vkf_device_info *device, const char *variant, const bench_times *times, double seconds)
{
    char driver[600];
    snprintf(driver, sizeof driver, "%s%s%s", device->driver_name, device->driver_info[0] ? ", " : "",
             device->driver_info);
    json_t *result = json_object();
    vkf_json_put_string(result, "op", bench_case->op);
    json_object_set(result, "shape", bench_case->shape);
    vkf_json_put_string(result, "dtype", vkf_dtype_name(options->dtype));
    vkf_json_put_string(result, "device", device->name);
    vkf_json_put_string(result, "driver", driver);
    vkf_json_put_string(result, "variant", variant);
    vkf_json_put_real(result, "gpu_ms_min", times->gpu_ms_min);
    vkf_json_put_real(result, "gpu_ms_median", times->gpu_ms_median);
    vkf_json_put_real(result, "wall_ms_min", times->wall_ms_min);
    vkf_json_put_real(result, "wall_ms_median", times->wall_ms_median);
    vkf_json_put_real(result, "gflops", bench_case->flops / seconds * 1e-9);
    vkf_json_put_real(result, "gbytes_per_s", bench_case->bytes / seconds * 1e-9);
    return vkf_print_json(result);
}

static void print_shape(json_t *shape)
{
    const char *key;
    json_t *value;
    json_object_foreach(shape, key, value)
    {
        if (json_is_integer(value))
            printf(" %s=%" JSON_INTEGER_FORMAT, key, json_integer_value(value));
        else if (json_is_string(value))
            printf(" %s=%s", key, json_string_value(value));
        else if (json_is_true(value))
            printf(" %s", key);
    }
}

static void print_table(const vkf_bench_options *options, const vkf_bench_case *bench_case,
                        const vkf_device_info *device, const char *variant, const bench_times *times, double seconds)
{
    printf("%s", bench_case->op);
    print_shape(bench_case->shape);
    printf(" %s\n", vkf_dtype_name(options->dtype));
    printf("  device       %s (%s)\n", device->name, device->driver_name);
    printf("  kernels      %s\n", variant);
    if (times->gpu_ms_min >= 0)
        printf("  gpu          %.4f ms min, %.4f ms median\n", times->gpu_ms_min, times->gpu_ms_median);
    else
        printf("  gpu          unknown\n");
    printf("  wall         %.4f ms min, %.4f ms median of %u\n", times->wall_ms_min, times->wall_ms_median,
           options->repetitions);
    printf("  rate         %.4g GFLOP/s, %.4g GB/s\n", bench_case->flops / seconds * 1e-9,
           bench_case->bytes / seconds * 1e-9);
}

static bool report(const vkf_bench_options *options, vkf_context *context, const vkf_bench_case *bench_case,
                   const bench_times *times)
{
    vkf_device_info device;
    char variant[512] = "";
    vkf_context_device_info(context, &device);
    bench_case->variant(bench_case->user, variant, sizeof variant);
    double median_ms = times->gpu_ms_median > 0 ? times->gpu_ms_median : times->wall_ms_median;
    double seconds = median_ms > 0 ? median_ms * 1e-3 : 1e-9; // the clock has its grain
    if (options->json)
        return print_json(options, bench_case, &device, variant, times, seconds);
    print_table(options, bench_case, &device, variant, times, seconds);
    return true;
}

bool vkf_bench_measure(const vkf_bench_options *options, vkf_context *context, const vkf_bench_case *bench_case)
{
    double *gpu_ms = calloc(options->repetitions, sizeof *gpu_ms);
    double *wall_ms = calloc(options->repetitions, sizeof *wall_ms);
    bool gpu_known = false;
    bool done = false;
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (gpu_ms && wall_ms && bench_case->shape)
        status = repeat(options, bench_case, gpu_ms, wall_ms, &gpu_known);
    if (status == VKF_OK) {
        bench_times times = {
            .gpu_ms_min = gpu_known ? vkf_minimum(gpu_ms, options->repetitions) : -1.0,
            .gpu_ms_median = gpu_known ? vkf_median(gpu_ms, options->repetitions) : -1.0,
            .wall_ms_min = vkf_minimum(wall_ms, options->repetitions),
            .wall_ms_median = vkf_median(wall_ms, options->repetitions),
        };
        done = report(options, context, bench_case, &times);
    } else {
        vkf_print_error("the benchmark failed: %s", vkf_status_text(status));
    }
    free(gpu_ms);
    free(wall_ms);
    json_decref(bench_case->shape);
    return done;
}
