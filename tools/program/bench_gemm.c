// vkformer bench gemm: out (m, n) = a (m, k) b (k, n).
#include <stdio.h>

#include "bench.h"
#include "bench_data.h"
#include "bench_measure.h"
#include "commands.h"
#include "json_output.h"

typedef struct gemm_bench {
    vkf_context *context;
    vkf_gemm_desc desc;
} gemm_bench;

static const char help[] = "usage: vkformer bench gemm --m M --n N --k K [OPTIONS]\n"
                           "\n"
                           "Measures out (M, N) = a (M, K) b (K, N) as one call of vkf_gemm().\n"
                           "\n"
                           "  --m M, --n N, --k K\n"
                           "  --transpose-b      b is stored (N, K), as PyTorch keeps Linear weights\n" VKF_BENCH_HELP;

static vkf_status run_once(void *user, double *out_gpu_ns)
{
    gemm_bench *bench = user;
    vkf_status status = vkf_gemm(bench->context, &bench->desc);
    *out_gpu_ns = vkf_context_last_op_ns(bench->context);
    return status;
}

static void name_variant(void *user, char *out_text, size_t size_bytes)
{
    const gemm_bench *bench = user;
    const char *kernel = vkf_context_last_op_kernel(bench->context);
    snprintf(out_text, size_bytes, "%s", kernel ? kernel : "unknown");
}

static json_t *shape_of(const vkf_gemm_desc *desc, uint32_t m, uint32_t n, uint32_t k)
{
    json_t *shape = json_object();
    vkf_json_put_integer(shape, "m", m);
    vkf_json_put_integer(shape, "n", n);
    vkf_json_put_integer(shape, "k", k);
    json_object_set_new(shape, "transpose_b", json_boolean(desc->transpose_b));
    return shape;
}

static bool measure(const vkf_bench_options *options, vkf_context *context, uint32_t m, uint32_t n, uint32_t k,
                    bool transpose_b)
{
    vkf_bench_data data = vkf_bench_data_begin(context, options->dtype);
    gemm_bench bench = {
        .context = context,
        .desc =
            {
                .a = vkf_bench_random(&data, m, k, 1.0f),
                .b = transpose_b ? vkf_bench_linear(&data, n, k) : vkf_bench_random(&data, k, n, 1.0f),
                .out = vkf_bench_random(&data, m, n, 1.0f),
                .transpose_b = transpose_b,
                .alpha = 1.0f,
            },
    };
    bool done = false;
    if (data.status == VKF_OK) {
        vkf_bench_case bench_case = {
            .op = "gemm",
            .shape = shape_of(&bench.desc, m, n, k),
            .flops = 2.0 * m * n * k,
            .bytes = (double)data.bytes,
            .run = run_once,
            .variant = name_variant,
            .user = &bench,
        };
        done = vkf_bench_measure(options, context, &bench_case);
    } else {
        vkf_print_error("the matrices cannot be made: %s", vkf_status_text(data.status));
    }
    vkf_bench_data_end(&data);
    return done;
}

int vkf_bench_gemm(int argc, char **argv)
{
    uint32_t m = 0, n = 0, k = 0;
    bool transpose_b = false;
    const vkf_bench_parameter parameters[] = {
        {.name = "m", .number = &m, .max = 1u << 24},
        {.name = "n", .number = &n, .max = 1u << 24},
        {.name = "k", .number = &k, .max = 1u << 24},
        {.name = "transpose-b", .flag = &transpose_b},
    };
    vkf_bench_options options;
    vkf_context *context = NULL;
    int code = vkf_bench_parse(argc, argv, help, parameters, sizeof parameters / sizeof parameters[0], &options);
    if (code < 0) {
        code = VKF_EXIT_FAILED;
        if (vkf_open_context(&options.common, &context) == VKF_OK && measure(&options, context, m, n, k, transpose_b))
            code = VKF_EXIT_DONE;
        vkf_context_destroy(&context);
        code = vkf_common_exit_code(&options.common, code);
    }
    vkf_common_free(&options.common);
    return code;
}
