#include "bench_options.h"

#include <assert.h>
#include <stdio.h>

#include "commands.h"

#define GO_ON (-1)

enum { OPT_DTYPE = VKF_OPT_OWN, OPT_REPETITIONS, OPT_WARMUP, OPT_JSON, OPT_PARAMETER };

static const struct option shared_options[] = {
    {"dtype", required_argument, NULL, OPT_DTYPE},
    {"repetitions", required_argument, NULL, OPT_REPETITIONS},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"json", no_argument, NULL, OPT_JSON},
    VKF_COMMON_LONG_OPTIONS,
};
#define SHARED_COUNT (sizeof shared_options / sizeof shared_options[0])

static bool take_parameter(const vkf_bench_parameter *parameter, const char *value)
{
    char option[32];
    if (parameter->flag) {
        *parameter->flag = true;
        return true;
    }
    if (parameter->text) {
        *parameter->text = value;
        return true;
    }
    snprintf(option, sizeof option, "--%s", parameter->name);
    return vkf_parse_u32(option, value, 1, parameter->max, parameter->number);
}

static bool take_shared(int opt, const char *value, vkf_bench_options *options)
{
    switch (opt) {
    case OPT_DTYPE:
        return vkf_parse_float_dtype("--dtype", value, &options->dtype);
    case OPT_REPETITIONS:
        return vkf_parse_u32("--repetitions", value, 1, 100000, &options->repetitions);
    case OPT_WARMUP:
        return vkf_parse_u32("--warmup", value, 0, 100000, &options->warmup);
    case OPT_JSON:
        options->json = true;
        return true;
    default:
        return vkf_parse_common(opt, value, &options->common);
    }
}

static bool all_given(const vkf_bench_parameter *parameters, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if ((parameters[i].number && *parameters[i].number == 0) || (parameters[i].text && !*parameters[i].text)) {
            vkf_print_error("--%s is missing", parameters[i].name);
            return false;
        }
    }
    return true;
}

int vkf_bench_parse(int argc, char **argv, const char *help, const vkf_bench_parameter *parameters, uint32_t count,
                    vkf_bench_options *out_options)
{
    struct option long_options[SHARED_COUNT + VKF_BENCH_MAX_PARAMETERS + 1] = {{0}};
    assert(count <= VKF_BENCH_MAX_PARAMETERS);
    for (uint32_t i = 0; i < count; i++)
        long_options[i] = (struct option){
            .name = parameters[i].name,
            .has_arg = parameters[i].flag ? no_argument : required_argument,
            .val = OPT_PARAMETER + (int)i,
        };
    for (uint32_t i = 0; i < SHARED_COUNT; i++)
        long_options[count + i] = shared_options[i];
    *out_options = (vkf_bench_options){.repetitions = 20, .warmup = 3};
    if (!vkf_common_init(&out_options->common))
        return VKF_EXIT_FAILED;
    out_options->common.timestamps = true;
    for (int opt; (opt = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        bool taken = opt >= OPT_PARAMETER ? take_parameter(&parameters[opt - OPT_PARAMETER], optarg)
                                          : take_shared(opt, optarg, out_options);
        if (!taken)
            return VKF_EXIT_USAGE;
    }
    if (out_options->common.help) {
        fputs(help, stdout);
        return VKF_EXIT_DONE;
    }
    if (optind < argc) {
        vkf_print_error("'%.200s': a benchmark takes no arguments beside its options", argv[optind]);
        return VKF_EXIT_USAGE;
    }
    return all_given(parameters, count) ? GO_ON : VKF_EXIT_USAGE;
}
