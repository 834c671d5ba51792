// The benchmarks. Arguments and return values are those of the subcommands, see commands.h.
#ifndef VKF_PROGRAM_BENCH_H
#define VKF_PROGRAM_BENCH_H

int vkf_bench_gemm(int argc, char **argv);
int vkf_bench_attention(int argc, char **argv);
int vkf_bench_layer(int argc, char **argv);

#endif
