// A single operator as the subject of a benchmark.
#ifndef VKF_PROGRAM_BENCH_OPERATOR_H
#define VKF_PROGRAM_BENCH_OPERATOR_H

#include "lab/bench/bench_data.h"
#include "lab/bench/bench_measure.h"

typedef vkf_status (*vkf_bench_call)(vkf_context *context, const void *desc);

// Measures calls of an operator on the tensors of `data`, which it releases; data->status says whether these could be
// made. The case needs no run, variant and user; its shape is released. Failures have been printed.
vkf_status vkf_bench_measure_operator(vkf_bench *bench, vkf_bench_data *data, const vkf_bench_case *bench_case,
                                      vkf_bench_call call, const void *desc);

// The pairs of a query and a key in one head of an attention; causal: query i sees keys 0 to i.
double vkf_bench_attention_pairs(uint32_t q_len, uint32_t kv_len, bool causal);

// The bytes of `count` elements.
double vkf_bench_bytes(double count, vkf_dtype dtype);

#endif
