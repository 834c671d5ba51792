// vkformer bench --watch: measures again at each save of a shader, and compares the edited kernels with the last good
// ones.
#ifndef VKF_PROGRAM_BENCH_WATCH_H
#define VKF_PROGRAM_BENCH_WATCH_H

#include "lab/bench/bench.h"

// Returns the exit code when a signal or the options end the watch.
int vkf_bench_watch(const vkf_bench_options *options, const vkf_bench_spec *spec);

#endif
