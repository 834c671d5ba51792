// The cases that stand beside the operators, timed for every kernel.
#ifndef VKF_PROGRAM_BENCH_CASES_H
#define VKF_PROGRAM_BENCH_CASES_H

// vkformer bench cases: `argv` begins with its name.
int vkf_cmd_bench_cases(int argc, char **argv);

#endif
