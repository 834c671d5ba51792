// vkformer bench cases: how long each kernel takes on the edge shapes and drawn shapes of its operator.
#include "command/command.h"
#include "kernel/context.h"
#include "lab/bench/bench.h"
#include "lab/cases/operator_cases.h"
#include "measure/sample_stats.h"
#include "output/json_output.h"
#include "output/visible_text.h"
#include "prove/trial.h"

#define MAX_REPETITIONS 1000u

typedef struct bench_cases_options {
    vkf_operator_cases operators;
    uint32_t repetitions, warmup;
    vkf_common_options common;
} bench_cases_options;

static const vkf_column columns[] = {
    {.title = "Kernel", .key = "kernel", .width = -28},
    {.title = "Config", .key = "config", .width = -12},
    {.title = "Case", .key = "case", .width = -40},
    {.title = "Median us", .key = "median_ns", .number = "%.1f", .scale = 1e-3, .width = 9},
    {.title = "IQR us", .key = "iqr_ns", .number = "%.1f", .scale = 1e-3, .width = 9},
    {0},
};

static void print_help(const void *options)
{
    (void)options;
    vkf_print("usage: vkformer bench cases OPERATOR [OPTIONS]\n"
              "\n"
              "Measures every kernel of an operator that the device takes, on the cases that stand beside the\n"
              "operator: the same as in `vkformer eval --cases`, which says whether results are right. OPERATOR is\n"
              "an operator, the beginning of a kernel's name, or all.\n"
              "\n"
              "  --draws N          cases with drawn sizes and flags, beside the edge shapes; default 0\n"
              "  --seed S           of the draws; default 1\n"
              "  --repetitions N    measured runs of each case; default 20\n"
              "  --warmup N         runs before them; default 3\n"
              "  -o, --output FORM  table (default), json, jsonl, csv or md\n"
              "\n" VKF_COMMON_HELP);
}

static const vkf_option own[] = {
    VKF_OPTION_WITHIN(bench_cases_options, "draws", U32, operators.draws, 0, 10000),
    VKF_OPTION_WITHIN(bench_cases_options, "seed", U32, operators.seed, 0, UINT32_MAX),
    VKF_OPTION_WITHIN(bench_cases_options, "repetitions", U32, repetitions, 1, MAX_REPETITIONS),
    VKF_OPTION_WITHIN(bench_cases_options, "warmup", U32, warmup, 0, 100000),
    VKF_OPTION_ROWS(bench_cases_options, operators.format),
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    bench_cases_options *options = user;
    if (argc - optind != 1) {
        vkf_print_error("bench cases takes one operator, not %d; vkformer bench cases --help", argc - optind);
        return false;
    }
    options->operators.name = argv[optind];
    return vkf_operator_cases_exist(options->operators.name);
}

typedef struct bench_cases {
    vkf_case_walk walk;
    const bench_cases_options *options;
} bench_cases;

static vkf_status add_row(bench_cases *bench, const vkf__variant *variant, const vkf__case *c, double *samples_ns)
{
    const vkf_summary summary = vkf_summarize(samples_ns, bench->options->repetitions);
    json_t *row = json_object();
    vkf_json_put_string(row, "kernel", variant->kernel->name);
    vkf_json_put_string(row, "config", variant->config->name);
    vkf_json_put_string(row, "case", c->shape);
    vkf_json_put_real(row, "median_ns", summary.median);
    vkf_json_put_real(row, "min_ns", summary.min);
    vkf_json_put_real(row, "iqr_ns", summary.iqr);
    return vkf_rows_add(&bench->walk.rows, row) ? VKF_OK : VKF_ERROR_FILE;
}

// Every run finds what the last one left: kernels that add to their output add again.
static vkf_status measure(bench_cases *bench, vkf__cases *cases, const vkf__case *c, vkf__trial *trial)
{
    double samples_ns[MAX_REPETITIONS];
    VKF_RETURN_IF_ERROR(vkf_buffer_write(cases->buffer, 0, cases->image, cases->used_bytes));
    for (uint32_t i = 0; i < bench->options->warmup; i++)
        VKF_RETURN_IF_ERROR(vkf__trial_run(trial, &samples_ns[0]));
    for (uint32_t i = 0; i < bench->options->repetitions; i++)
        VKF_RETURN_IF_ERROR(vkf__trial_run(trial, &samples_ns[i]));
    cases->taken++;
    return add_row(bench, cases->variant, c, samples_ns);
}

// See vkf__cases.run.
static vkf_status measure_case(vkf__cases *cases, const vkf__case *c)
{
    bench_cases *bench = cases->user;
    vkf_context *context = bench->walk.context;
    vkf__trial trial;
    vkf_status status = vkf__trial_init(&trial, context, cases->variant, vkf__case_emitter(cases, c), c->args);
    if (status == VKF_OK && trial.taken)
        status = measure(bench, cases, c, &trial);
    else if (status == VKF_ERROR_UNSUPPORTED || vkf__pipelines_refused(&context->pipelines, status))
        status = VKF_OK;
    vkf__trial_finish(&trial);
    return status;
}

static int run(void *user)
{
    bench_cases_options *options = user;
    bench_cases bench = {
        .walk = {.cases = &options->operators,
                 .rows = {.format = options->operators.format, .columns = columns, .fitted = true},
                 .run = measure_case,
                 .user = &bench},
        .options = options,
    };
    options->common.timestamps = true;
    const int code = vkf_open_context(&options->common, &bench.walk.context) == VKF_OK
                         ? vkf_operator_cases_run(&bench.walk)
                         : VKF_EXIT_FAILED;
    vkf_context_destroy(&bench.walk.context);
    return code;
}

static int command(int argc, char **argv)
{
    static const vkf_command cases = {own, NULL, take_arguments, print_help, run};
    bench_cases_options options = {.operators = {.seed = 1}, .repetitions = 20, .warmup = 3};
    return vkf_command_run(&cases, argc, argv, &options, &options.common);
}

const vkf_bench_spec vkf_bench_cases = {
    .name = "cases",
    .summary = "every kernel of an operator, on the operator's own cases: OPERATOR",
    .command = command,
};
