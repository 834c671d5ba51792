// vkformer tune: measures which kernels are fastest on this device, and keeps the results in the cache. It tunes for
// the weights of a model, for given shapes, or for those of common Transformers.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "command/command.h"
#include "command/model_path.h"
#include "command/precision.h"
#include "command/session_context.h"
#include "command/shape_list.h"
#include "output/json_output.h"
#include "output/progress.h"
#include "output/rows.h"
#include "system/run_apart.h"

typedef struct tune_options {
    vkf_common_options common;
    const char *model;   // NULL: none
    const char *shapes;  // NULL: none
    vkf_shape_list list; // from --shapes
    vkf_tune_problem types;
    float time_cap_s;
    bool json;
} tune_options;

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer tune [MODEL] [--shapes LIST] [--types A,B,C] [--time-cap SECONDS] [--json]\n"
        "\n"
        "Measures every kernel that can multiply x (M, K) by a weight (N, K), the weight in rows and in panels, or\n"
        "compute attention, and keeps the fastest in the cache, from where every later run takes it. A kernel must\n"
        "match a reference on edge shapes before it is measured, and 60 times over before it may win. Ctrl-C ends\n"
        "the search; what was found until then is kept.\n"
        "\n"
        "  MODEL               a model directory: its weights, with 128, 1, 8, 32 and 512 rows, and its attention\n"
        "  --shapes LIST       MxNxK,... or a file of such shapes; attention:HxLxD or attention:HxLxSxD is attention\n"
        "                      of H heads of width D, L queries and S keys\n"
        "                      without either: the weights and the attention of common Transformers\n"
        "  --types A,B,C       storage types of x, the weight and the result; of attention, of the queries, of keys\n"
        "                      and values, and of the result (default: f32,f32,f32)\n"
        "  --time-cap SECONDS  the whole search ends then (default: 20)\n"
        "  --json              one JSON object per shape\n"
        "\n" VKF_COMMON_HELP,
        stdout);
}

static bool take_types(const vkf_option *option, const char *text, void *options)
{
    (void)option;
    return vkf_parse_types("--types", text, &((tune_options *)options)->types);
}

static const vkf_option own[] = {
    VKF_OPTION(tune_options, "shapes", TEXT, shapes),
    {.name = "types", .take = take_types},
    VKF_OPTION_WITHIN(tune_options, "time-cap", FLOAT, time_cap_s, 0.001f, 1e6f),
    VKF_OPTION(tune_options, "json", FLAG, json),
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    tune_options *options = user;
    if (optind < argc)
        options->model = argv[optind++];
    if (optind < argc) {
        vkf_print_error("'%.200s': tune takes one model at most", argv[optind]);
        return false;
    }
    if (options->model && options->shapes) {
        vkf_print_error("--shapes: give either a model or shapes");
        return false;
    }
    return !options->shapes || vkf_shape_list_parse("--shapes", options->shapes, &options->types, &options->list);
}

// Many rows come first, because they decide the layout of a weight; then the row counts of decoding.
static const uint32_t row_counts[] = {128, 1, 8, 32, 512};

#define ROW_COUNTS (sizeof row_counts / sizeof row_counts[0])

static bool add_weights(const vkf_tune_problem *types, const uint32_t (*weights)[2], size_t count, size_t rows,
                        vkf_shape_list *list)
{
    for (size_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < count; i++) {
            vkf_tune_problem problem = *types;
            problem.m = row_counts[r];
            problem.n = weights[i][0];
            problem.k = weights[i][1];
            if (problem.n > 0 && problem.k > 0 && !vkf_shape_list_add(list, &problem))
                return false;
        }
    }
    return true;
}

// Adds whole sequences and steps of decoding. A few numbers of keys suffice: each stands for all numbers of which it is
// the next power of two.
static bool add_attention(const vkf_tune_problem *types, uint32_t heads, uint32_t width, vkf_shape_list *list)
{
    static const uint32_t lengths[][2] = {{128, 128}, {1, 128}, {512, 512}, {1, 512}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        vkf_tune_problem problem = {.kind = VKF_TUNE_ATTENTION, .heads = heads, .k = width};
        problem.m = lengths[i][0];
        problem.n = lengths[i][1];
        problem.x = problem.out = types->x;
        problem.weight = types->x;
        if (!vkf_shape_list_add(list, &problem))
            return false;
    }
    return true;
}

static bool add_common(const vkf_tune_problem *types, vkf_shape_list *list)
{
    static const uint32_t weights[][2] = {
        {768, 768}, {3072, 768}, {768, 3072}, {512, 512}, {2048, 512}, {512, 2048}, {1024, 1024}, {2304, 768},
    };
    return add_weights(types, weights, sizeof weights / sizeof weights[0], 3, list) &&
           add_attention(types, 8, 64, list);
}

// Adds every weight of a Linear in the model; q, k and v are one product where they read the same rows.
static bool add_model(const tune_options *options, vkf_context *context, vkf_shape_list *list)
{
    vkf_model_desc desc = {.directory = options->model};
    (void)vkf_precision_from_types(options->types.x, options->types.weight,
                                   &desc.precision); // on failure f32, because only sizes matter
    vkf_model *model = NULL;
    vkf_model_config config;
    vkf_status status = vkf_model_load(context, &desc, &model);
    if (status != VKF_OK) {
        vkf_print_error("%.200s cannot be loaded: %s", options->model, vkf_status_text(status));
        return false;
    }
    vkf_model_get_config(model, &config);
    vkf_model_destroy(&model);
    const uint32_t d = config.d_model, ff = config.dim_feedforward;
    const uint32_t weights[][2] = {
        {d, d}, {3 * d, d}, {2 * d, d}, {ff, d}, {d, ff}, {config.target_vocab, config.target_vocab > 0 ? d : 0},
    };
    return add_weights(&options->types, weights, sizeof weights / sizeof weights[0], ROW_COUNTS, list) &&
           add_attention(&options->types, config.num_heads, d / config.num_heads, list);
}

static bool make_list(const tune_options *options, vkf_context *context, vkf_shape_list *list)
{
    if (options->shapes)
        return true;
    return options->model ? add_model(options, context, list) : add_common(&options->types, list);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static bool show_progress(void *user, uint32_t done, uint32_t total, const char *what)
{
    (void)vkf_progress_show(user, done, total, what);
    return !interrupted;
}

static const char *layout_name(vkf_layout layout)
{
    return layout == VKF_LAYOUT_PANELS ? "panels" : "rows";
}

static json_t *result_json(const vkf_tune_result *r)
{
    json_t *line = json_object();
    vkf_json_put_string(line, "op", r->problem.kind == VKF_TUNE_ATTENTION ? "attention" : "linear");
    if (r->problem.kind == VKF_TUNE_ATTENTION)
        vkf_json_put_integer(line, "heads", r->problem.heads);
    vkf_json_put_integer(line, "m", r->problem.m);
    vkf_json_put_integer(line, "n", r->problem.n);
    vkf_json_put_integer(line, "k", r->problem.k);
    vkf_json_put_string(line, "x", vkf_dtype_name(r->problem.x));
    vkf_json_put_string(line, "weight", vkf_dtype_name(r->problem.weight));
    vkf_json_put_string(line, "out", vkf_dtype_name(r->problem.out));
    json_object_set_new(line, "tuned", json_boolean(r->tuned));
    vkf_json_put_integer(line, "measured", r->measured);
    vkf_json_put_integer(line, "refused", r->refused);
    if (r->tuned) {
        vkf_json_put_string(line, "layout", layout_name(r->layout));
        vkf_json_put_string(line, "variant", r->variant);
        vkf_json_put_real(line, "us", r->ns * 1e-3);
        vkf_json_put_string(line, "next", r->next);
        vkf_json_put_real(line, "next_us", r->next_ns * 1e-3);
        vkf_json_put_string(line, "default", r->default_variant);
        vkf_json_put_real(line, "default_us", r->default_ns * 1e-3);
    }
    return line;
}

static const vkf_column columns[] = {
    {.title = "shape", .key = "shape", .width = -22},
    {.title = "winner", .key = "variant", .width = -42},
    {.title = "weight", .key = "layout", .width = -6},
    {.title = "us", .key = "us", .number = "%.1f", .width = 10},
    {.title = "default", .key = "default", .width = -42, .gap = 2},
    {.title = "us", .key = "default_us", .number = "%.1f", .width = 10},
    {.title = "ratio", .key = "ratio", .number = "%.2f", .width = 6},
    {0},
};

static bool print_results(const vkf_tune_result *results, uint32_t count, bool json)
{
    vkf_rows rows = {.format = json ? VKF_ROWS_JSONL : VKF_ROWS_TABLE, .columns = columns};
    uint32_t tuned = 0;
    bool printed = true;
    vkf_rows_head(&rows);
    for (uint32_t i = 0; printed && i < count; i++) {
        const vkf_tune_result *r = &results[i];
        char shape[64];
        tuned += r->tuned;
        if (!json && !r->tuned)
            continue;
        json_t *row = result_json(r);
        if (!json) {
            vkf_shape_text(&r->problem, shape);
            vkf_json_put_string(row, "shape", shape);
            vkf_json_put_real(row, "ratio", r->ns > 0 ? r->default_ns / r->ns : 0);
        }
        printed = vkf_rows_add(&rows, row);
    }
    if (!json)
        printf("%u of %u shapes measured\n", tuned, count);
    return printed;
}

static int measure(const tune_options *options, vkf_context *context, const vkf_shape_list *list)
{
    vkf_progress progress = vkf_progress_start("tuning");
    const vkf_tune_options tune = {
        .time_cap_ns = (uint64_t)((double)options->time_cap_s * 1e9),
        .progress = show_progress,
        .progress_user = &progress,
    };
    vkf_tune_result *results = calloc(list->count, sizeof *results);
    if (!results) {
        vkf_print_error("memory is exhausted");
        return VKF_EXIT_FAILED;
    }
    vkf_catch_interrupts(interrupt);
    vkf_status status = vkf_tune(context, list->items, list->count, &tune, results);
    vkf_release_interrupts();
    vkf_progress_end(&progress);
    const bool shown = print_results(results, list->count, options->json);
    free(results);
    if (status == VKF_ERROR_CANCELLED)
        vkf_print_warning("the search was cancelled; what was found is kept");
    else if (status != VKF_OK)
        vkf_print_error("the search failed: %s", vkf_status_text(status));
    return shown && status == VKF_OK ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int run(void *user)
{
    tune_options *options = user;
    vkf_context *context = NULL;
    int code = VKF_EXIT_FAILED;
    if (options->model && !vkf_find_model(&options->model))
        return VKF_EXIT_FAILED;
    options->common.timestamps = true;
    if (vkf_open_context(&options->common, &context) == VKF_OK && make_list(options, context, &options->list))
        code = options->list.count > 0 ? measure(options, context, &options->list) : VKF_EXIT_DONE;
    vkf_context_destroy(&context);
    return code;
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_tune(int argc, char **argv)
{
    tune_options options = {.time_cap_s = 20.0f};
    int code = vkf_command_run(&command, argc, argv, &options, &options.common);
    vkf_shape_list_free(&options.list);
    return code;
}
