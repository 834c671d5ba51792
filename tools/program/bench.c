// vkformer bench: finds the benchmark.
#include "bench.h"

#include <stdio.h>
#include <string.h>

#include "bench_options.h"
#include "commands.h"

static const struct benchmark {
    const char *name;
    char full_name[32]; // becomes argv[0]
    int (*run)(int argc, char **argv);
    const char *summary;
} benchmarks[] = {
    {"gemm", "vkformer bench gemm", vkf_bench_gemm, "matrix product: --m M --n N --k K"},
    {"attention", "vkformer bench attention", vkf_bench_attention,
     "attention: --batch B --heads H --q-len L --kv-len S --head-dim D [--causal]"},
    {"layer", "vkformer bench layer", vkf_bench_layer,
     "a layer: --kind encoder|decoder --d-model D --heads H --ff F --len L --batch B"},
};

#define BENCHMARK_COUNT (sizeof benchmarks / sizeof benchmarks[0])

static void print_help(FILE *out)
{
    fputs("usage: vkformer bench BENCHMARK [OPTIONS]\n\n", out);
    for (size_t i = 0; i < BENCHMARK_COUNT; i++)
        fprintf(out, "  %-10s %s\n", benchmarks[i].name, benchmarks[i].summary);
    fputs("\nvkformer bench BENCHMARK --help describes a benchmark. All have\n\n" VKF_BENCH_HELP, out);
}

int vkf_cmd_bench(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return VKF_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0) {
        print_help(stdout);
        return VKF_EXIT_DONE;
    }
    for (size_t i = 0; i < BENCHMARK_COUNT; i++) {
        if (strcmp(argv[1], benchmarks[i].name) != 0)
            continue;
        char full_name[sizeof benchmarks[i].full_name];
        memcpy(full_name, benchmarks[i].full_name, sizeof full_name);
        argv[1] = full_name;
        return benchmarks[i].run(argc - 1, argv + 1);
    }
    vkf_print_error("there is no benchmark '%.100s'; vkformer bench --help lists them", argv[1]);
    return VKF_EXIT_USAGE;
}
