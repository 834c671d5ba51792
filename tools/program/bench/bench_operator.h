// An operator called by itself as the subject of a benchmark.
#ifndef VKF_PROGRAM_BENCH_OPERATOR_H
#define VKF_PROGRAM_BENCH_OPERATOR_H

#include "bench/bench_data.h"
#include "bench/bench_measure.h"

typedef struct vkf_bench_operator {
    vkf_context *context;
    vkf_status (*call)(vkf_context *context, const void *desc);
    const void *desc;
} vkf_bench_operator;

// Measures calls of an operator on tensors of `data`, of which `data->status` says whether they could be made; fills in
// run, variant and user of the case, and takes its shape over. Failures have been printed.
vkf_status vkf_bench_measure_operator(vkf_bench *bench, const vkf_bench_data *data, vkf_bench_case *bench_case,
                                      vkf_bench_operator *op);

// How many pairs of a query and a key an attention has, of one head; causal: query i sees keys 0 to i.
double vkf_bench_attention_pairs(uint32_t q_len, uint32_t kv_len, bool causal);

// The bytes of `count` elements.
double vkf_bench_bytes(double count, vkf_dtype dtype);

#endif
