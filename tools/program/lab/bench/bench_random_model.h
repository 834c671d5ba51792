// A model of any size with random weights, for benchmarks without a trained one.
#ifndef VKF_PROGRAM_BENCH_RANDOM_MODEL_H
#define VKF_PROGRAM_BENCH_RANDOM_MODEL_H

#include "lab/bench/bench_options.h"

// The configuration that the settings describe: from token ids to token ids, norms first.
vkf_model_config vkf_bench_random_config(const vkf_bench_settings *settings);

// Writes weights into a file in a temporary directory, loads it, and removes both. The model never generates bos, eos
// or pad, so that rows reach their full length. Failures have been printed.
vkf_status vkf_bench_random_model(vkf_context *context, const vkf_bench_options *options, vkf_model_precision precision,
                                  bool trainable, vkf_model **out_model);

#endif
