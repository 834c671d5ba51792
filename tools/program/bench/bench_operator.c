// Repeats an operator's call, and estimates the work of attention.
#include "bench/bench_operator.h"

static vkf_status run_operator(void *user, double *out_gpu_ns)
{
    const vkf_bench_operator *op = user;
    vkf_status status = op->call(op->context, op->desc);
    *out_gpu_ns = vkf_context_last_op_ns(op->context);
    return status;
}

static void name_kernel(void *user, char *out_text, size_t size_bytes)
{
    const vkf_bench_operator *op = user;
    const char *kernel = vkf_context_last_op_kernel(op->context);
    snprintf(out_text, size_bytes, "%s", kernel ? kernel : "unknown");
}

vkf_status vkf_bench_measure_operator(vkf_bench *bench, const vkf_bench_data *data, vkf_bench_case *bench_case,
                                      vkf_bench_operator *op)
{
    if (data->status != VKF_OK) {
        vkf_print_error("%s: the operands cannot be made: %s", bench_case->op, vkf_status_text(data->status));
        json_decref(bench_case->shape);
        return data->status;
    }
    op->context = bench->context;
    bench_case->run = run_operator;
    bench_case->variant = name_kernel;
    bench_case->user = op;
    return vkf_bench_measure(bench, bench_case);
}

double vkf_bench_bytes(double count, vkf_dtype dtype)
{
    return count * (double)vkf_dtype_size(dtype);
}

double vkf_bench_attention_pairs(uint32_t q_len, uint32_t kv_len, bool causal)
{
    double l = q_len, s = kv_len;
    if (!causal)
        return l * s;
    return l <= s ? l * (l + 1) / 2 : s * (s + 1) / 2 + (l - s) * s;
}
