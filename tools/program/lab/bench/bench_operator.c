// Repeats an operator's call, and estimates the work of attention.
#include "lab/bench/bench_operator.h"

typedef struct operator_call {
    vkf_context *context;
    vkf_bench_call call;
    const void *desc;
} operator_call;

static vkf_status run_operator(void *user, double *out_gpu_ns)
{
    const operator_call *op = user;
    vkf_status status = op->call(op->context, op->desc);
    *out_gpu_ns = vkf_context_get_last_op_ns(op->context);
    return status;
}

static void name_kernel(void *user, char *out_text, size_t size_bytes)
{
    const operator_call *op = user;
    const char *kernel = vkf_context_get_last_op_kernel(op->context);
    snprintf(out_text, size_bytes, "%s", kernel ? kernel : "unknown");
}

vkf_status vkf_bench_measure_operator(vkf_bench *bench, vkf_bench_data *data, const vkf_bench_case *bench_case,
                                      vkf_bench_call call, const void *desc)
{
    operator_call op = {bench->context, call, desc};
    vkf_bench_case repeated = *bench_case;
    vkf_status status = data->status;
    repeated.run = run_operator;
    repeated.variant = name_kernel;
    repeated.user = &op;
    if (status == VKF_OK) {
        status = vkf_bench_measure(bench, &repeated);
    } else {
        vkf_print_error("%s: the operands cannot be made: %s", bench_case->op, vkf_status_text(status));
        json_decref(bench_case->shape);
    }
    vkf_bench_data_end(data);
    return status;
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
