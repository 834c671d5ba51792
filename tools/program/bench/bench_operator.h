// A single operator as the subject of a benchmark.
#ifndef VKF_PROGRAM_BENCH_OPERATOR_H
#define VKF_PROGRAM_BENCH_OPERATOR_H

#include "bench/bench_data.h"
#include "bench/bench_measure.h"

typedef struct vkf_bench_operator {
    vkf_context *context;
    vkf_status (*call)(vkf_context *context, const void *desc);
    const void *desc;
} vkf_bench_operator;

// Measures calls of an operator on the tensors of `data`; data->status says whether these could be made. Fills in the
// case's run, variant and user, and takes ownership of its shape. Failures have been printed.
vkf_status vkf_bench_measure_operator(vkf_bench *bench, const vkf_bench_data *data, vkf_bench_case *bench_case,
                                      vkf_bench_operator *op);

// The pairs of a query and a key in one head of an attention; causal: query i sees keys 0 to i.
double vkf_bench_attention_pairs(uint32_t q_len, uint32_t kv_len, bool causal);

// The bytes of `count` elements.
double vkf_bench_bytes(double count, vkf_dtype dtype);

#endif
