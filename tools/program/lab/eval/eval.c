// `vkformer eval`: runs oracle cases (a configuration, weights and inputs as files) and writes the outputs, for
// comparison with PyTorch's results; or the cases that stand beside the operators, for every kernel.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/make_directories.h"
#include "base/system_file.h"
#include "command/command.h"
#include "command/session_context.h"
#include "io/file.h"
#include "lab/eval/eval_kinds.h"
#include "lab/eval/eval_operators.h"
#include "output/progress.h"
#include "output/visible_text.h"

// ---- command line

typedef struct eval_options {
    vkf_common_options common;
    const char *cases_path;
    const char *results_path;
    const vkf_eval_kind *only; // NULL: every kind
    vkf_fully_masked fully_masked;
    bool unfused;
    vkf_model_precision precision;
    vkf_operator_cases operators; // .name NULL: the cases are files
} eval_options;

static void print_help(const void *user)
{
    (void)user;
    fputs("usage: vkformer eval CASES --out RESULTS [OPTIONS]\n"
          "       vkformer eval --cases OPERATOR [OPTIONS]\n"
          "\n"
          "Runs every CASES/case_*/{config.json,weights.safetensors,inputs.safetensors} and writes what comes out to\n"
          "RESULTS/case_*/out.safetensors. A case that fails is named with its reason, and the others go on.\n"
          "\n"
          "  --out RESULTS        the directory for results; made when it is not there\n"
          "  --fully-masked WHAT  what a row gives in which every key is masked: nan (default) or zero\n"
          "  --unfused            take the output of mha, seed2 and seed3, too, from the run that gives the\n"
          "                       attention weights, which no fused kernel does\n"
          "  --dtype TYPE         the precision on the device: f32 (default), f16, or with parameters\n"
          "                       alone in 16 bits f32/f16 or f32/bf16\n"
          "  --only KIND          leave out cases of other kinds; KIND is one of\n",
          stdout);
    for (size_t i = 0; i < vkf__eval_kind_count; i++)
        vkf_print("%s%s%s", i % 4 == 0 ? "                       " : " ", vkf__eval_kinds[i].name,
                  i % 4 == 3 ? "\n" : "");
    fputs("\n"
          "  --cases OPERATOR     run the library's own cases of an operator, of kernels whose names begin so, or of "
          "all,\n"
          "                       and compare every kernel that the device takes with the operator's reference; exit\n"
          "                       status 3 where one is wrong\n"
          "  --draws N            sets of flags that are drawn; each takes the edge shapes and drawn ones; default 4\n"
          "  --seed SEED          of what is drawn; default 1\n"
          "  -o, --output FORM    of --cases: table (default), json, jsonl, csv or md\n"
          "\n" VKF_COMMON_HELP,
          stdout);
}

static bool take_dtype(const vkf_option *option, const char *text, void *options)
{
    (void)option;
    return vkf_parse_precision("--dtype", text, &((eval_options *)options)->precision);
}

static bool take_only(const vkf_option *option, const char *text, void *user)
{
    eval_options *options = user;
    (void)option;
    options->only = vkf__eval_kind(text);
    if (!options->only)
        vkf_print_error("--only: there is no kind '%.200s'; vkformer eval --help lists them", text);
    return options->only != NULL;
}

static const vkf_option own[] = {
    VKF_OPTION(eval_options, "out", PATH, results_path),
    VKF_OPTION_OF(eval_options, "fully-masked", fully_masked, "zero|nan", "neither nan nor zero"),
    VKF_OPTION(eval_options, "unfused", FLAG, unfused),
    {.name = "dtype", .take = take_dtype},
    {.name = "only", .take = take_only},
    VKF_OPTION(eval_options, "cases", PATH, operators.name),
    VKF_OPTION_WITHIN(eval_options, "draws", U32, operators.draws, 0, 10000),
    VKF_OPTION_WITHIN(eval_options, "seed", U32, operators.seed, 0, UINT32_MAX),
    VKF_OPTION_ROWS(eval_options, operators.format),
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    eval_options *options = user;
    if (options->operators.name && argc == optind && !options->results_path)
        return vkf_operator_cases_exist(options->operators.name);
    if (options->operators.name) {
        vkf_print_error("--cases: takes neither a directory of cases nor --out");
        return false;
    }
    if (argc - optind != 1) {
        vkf_print_error("eval takes one directory of cases, not %d; see vkformer eval --help", argc - optind);
        return false;
    }
    options->cases_path = argv[optind];
    if (!options->results_path)
        vkf_print_error("--out RESULTS is missing: the directory for results");
    return options->results_path != NULL;
}

// ---- directories

static char *join(const char *directory, const char *name)
{
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", directory, name);
    else
        vkf_print_error("memory is exhausted");
    return path;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct case_names {
    char **list;
    size_t count, capacity;
} case_names;

static bool add_name(case_names *names, const char *name)
{
    if (names->count == names->capacity) {
        const size_t capacity = names->capacity > 0 ? 2 * names->capacity : 64;
        char **list = realloc(names->list, capacity * sizeof *list);
        if (!list)
            return false;
        names->list = list;
        names->capacity = capacity;
    }
    return (names->list[names->count++] = strdup(name)) != NULL;
}

static void free_names(case_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->list[i]);
    free(names->list);
}

// All that is called case_*, sorted.
static bool find_cases(const char *path, case_names *out_names)
{
    vkf__listing *listing = vkf__listing_open(path);
    bool added = true;
    if (!listing) {
        vkf_print_error("%s: cannot list the directory: %s", path, strerror(errno));
        return false;
    }
    for (const char *name = vkf__listing_next(listing); name && added; name = vkf__listing_next(listing))
        if (strncmp(name, "case_", 5) == 0)
            added = add_name(out_names, name);
    vkf__listing_close(listing);
    if (!added)
        vkf_print_error("memory is exhausted");
    else if (out_names->count > 0)
        qsort(out_names->list, out_names->count, sizeof *out_names->list, by_name);
    return added;
}

static bool is_directory(const char *path)
{
    vkf__file_info info;
    return vkf__path_info(path, &info) && info.kind == VKF_FILE_DIRECTORY;
}

static bool make_results(const char *path)
{
    int error = vkf__make_directories(path, 0777);
    if (error != 0)
        vkf_print_error("%s: cannot make the directory: %s", path, strerror(error));
    return error == 0;
}

// ---- cases

typedef struct eval_run {
    const eval_options *options;
    vkf_eval_settings settings;
    vkf_progress progress;
    uint32_t case_count, failed_count;
} eval_run;

// The reason of a failure is the last error that the library, or reading the case, reported.
static void report_failure(eval_run *run, const char *name, const char *kind, vkf_status status)
{
    const char *reason = vkf_message_log_last_error(run->options->common.messages);
    vkf_progress_end(&run->progress);
    vkf_print_error("%s%s%s%s: %s", name, kind ? " [" : "", kind ? kind : "", kind ? "]" : "",
                    *reason ? reason : vkf_status_text(status));
    run->failed_count++;
}

static vkf_status save_case(const vkf_eval_case *c, const char *result_directory)
{
    const vkf__host *host = c->settings.host;
    const int error = vkf__directory_make(result_directory, 0777);
    if (error != 0 && error != EEXIST)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot make the directory: %s", result_directory, strerror(error));
    char *path = join(result_directory, "out.safetensors");
    if (!path)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    vkf_status status = vkf__eval_case_save(c, path);
    free(path);
    return status;
}

// The result of an earlier run stays until a new one replaces it. After a failure there is no new one, so the earlier
// one is renamed, in order not to pass for this run's.
static void set_earlier_result_aside(const char *name, const char *result_directory)
{
    char *path = join(result_directory, "out.safetensors");
    char *aside = join(result_directory, "out.safetensors.earlier");
    if (path && aside && vkf__path_rename(path, aside) == 0)
        vkf_print_error("%s: the result of an earlier run is now %s", name, aside);
    else if (path && vkf__file_exists(path))
        vkf_print_error("%s: %s is the result of an earlier run", name, path);
    free(path);
    free(aside);
}

static vkf_status run_opened_case(vkf_eval_case *c, const char *result_directory)
{
    const vkf_eval_kind *kind = vkf__eval_kind(c->kind);
    if (!kind)
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "%s: there is no kind \"%s\"", c->config_path, c->kind);
    vkf_status status = kind->run(c);
    return status == VKF_OK ? save_case(c, result_directory) : status;
}

static void run_case(eval_run *run, const char *name, const char *case_directory, const char *result_directory)
{
    vkf_eval_case c;
    const vkf_eval_kind *only = run->options->only;
    vkf_message_log_set_quiet(run->options->common.messages, true);
    vkf_status status = vkf__eval_case_open(&run->settings, case_directory, &c);
    bool opened = status == VKF_OK;
    if (!opened || !only || vkf__eval_kind(c.kind) == only) {
        run->case_count++;
        if (opened)
            status = run_opened_case(&c, result_directory);
        if (status != VKF_OK) {
            report_failure(run, name, opened ? c.kind : NULL, status);
            set_earlier_result_aside(name, result_directory);
        }
    }
    if (opened)
        vkf__eval_case_close(&c);
    vkf_message_log_set_quiet(run->options->common.messages, false);
}

static void run_named(eval_run *run, const char *name)
{
    char *case_directory = join(run->options->cases_path, name);
    char *result_directory = join(run->options->results_path, name);
    if (!case_directory || !result_directory)
        run->failed_count++;
    else if (is_directory(case_directory))
        run_case(run, name, case_directory, result_directory);
    free(result_directory);
    free(case_directory);
}

static bool run_cases(eval_run *run)
{
    const char *cases_path = run->options->cases_path;
    case_names names = {0};
    if (!find_cases(cases_path, &names)) {
        free_names(&names);
        return false;
    }
    run->progress = vkf_progress_start("evaluating");
    for (size_t i = 0; i < names.count; i++) {
        vkf_progress_show(&run->progress, (uint32_t)i, (uint32_t)names.count, names.list[i]);
        run_named(run, names.list[i]);
    }
    vkf_progress_end(&run->progress);
    free_names(&names);
    if (run->case_count == 0 && run->failed_count == 0) {
        vkf_print_error("%s: there is no directory case_*%s%s in it", cases_path, run->options->only ? " of kind " : "",
                        run->options->only ? run->options->only->name : "");
        return false;
    }
    fprintf(stderr, "%u cases, %u failed\n", run->case_count, run->failed_count);
    return run->failed_count == 0;
}

static int run_operators(const eval_options *options)
{
    vkf_context *context = NULL;
    const int code = vkf_open_context(&options->common, &context) == VKF_OK
                         ? vkf_eval_operators(context, &options->operators)
                         : VKF_EXIT_FAILED;
    vkf_context_destroy(&context);
    return code;
}

static int run_files(const eval_options *options)
{
    vkf__host host;
    vkf_context *context = NULL;
    int code = VKF_EXIT_FAILED;
    if (vkf__host_init(&host, NULL, vkf_message_log_receive, options->common.messages, VKF_SEVERITY_WARNING) != VKF_OK)
        return VKF_EXIT_FAILED;
    if (make_results(options->results_path) && vkf_open_context(&options->common, &context) == VKF_OK) {
        eval_run run = {
            .options = options,
            .settings = {.context = context,
                         .host = &host,
                         .fully_masked = options->fully_masked,
                         .unfused = options->unfused,
                         .precision = options->precision,
                         .types = vkf_types_of_precision(options->precision)},
        };
        code = run_cases(&run) ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
    }
    vkf_context_destroy(&context);
    return code;
}

static int run(void *user)
{
    const eval_options *options = user;
    return options->operators.name ? run_operators(options) : run_files(options);
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_eval(int argc, char **argv)
{
    eval_options options = {.fully_masked = VKF_FULLY_MASKED_NAN, .operators = {.draws = 4, .seed = 1}};
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
