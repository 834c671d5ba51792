// vkformer plan: how a model would run on a GPU that is not there.
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "command/model_path.h"
#include "command/precision.h"
#include "plan/plan_calibrate.h"
#include "plan/plan_make.h"
#include "plan/plan_table.h"

typedef struct plan_options {
    vkf_common_options common;
    const char *directory;
    const char *chip;
    vkf_model_precision precision;
    vkf_quantization quantization;
    uint32_t batch, prompt, context, ranks;
    bool json, list, calibrate, peer;
} plan_options;

#define DEFAULT_PROMPT 256u
#define DEFAULT_CONTEXT 1024u

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer plan [OPTIONS] --chip CHIP MODEL\n"
        "       vkformer plan --list-chips\n"
        "       vkformer plan --calibrate\n"
        "\n"
        "Says how the model in the directory MODEL would run on a GPU that need not be there: the kernel that each\n"
        "dispatch takes, its workgroups beside the cores of the GPU, the bytes that it has in flight, the barriers\n"
        "between dispatches, the memory of each heap, and an estimate of the time for a prompt and for a token, with\n"
        "all that it assumes. It opens no device, and of MODEL it needs no more than config.json.\n"
        "\n"
        "  --chip CHIP        a chip of --list-chips, or FILE.json of the Vulkan Profiles schema; #NAME behind the\n"
        "                     file chooses one of its profiles; all: a line for each chip of --list-chips\n"
        "  --list-chips       list the chips that are known\n"
        "  --calibrate        estimates of another program's kernels beside its published speeds\n"
        "  --peer ggml        with all chips: estimates for that program's Vulkan backend beside ours\n"
        "  --dtype TYPE       " VKF_PRECISION_NAMES " (default f32); bf16 is f32/bf16\n"
        "  --quantize TYPE    q8 or q4: weights in blocks\n"
        "  --batch N          rows that run together (default 1)\n"
        "  --prompt N         tokens of the prompt, or of an encoder's text (default 256)\n"
        "  --context N        tokens before and with the one that is generated (default 1024)\n"
        "  --ranks N          also where the layers are cut between N processes of mpirun that have such a GPU each\n"
        "  --json             one JSON object\n"
        "\n"
        "Common options that a plan follows:\n"
        "  --caps PROFILE     --mask NAME[=VAL]  --variant NAME  --arithmetic KIND  --verbose\n"
        "                     (vkformer info --help describes these)\n" VKF_EVERY_HELP(""),
        stdout);
}

static bool take_dtype(const vkf_option *option, const char *value, void *options)
{
    vkf_model_precision *out_precision = &((plan_options *)options)->precision;
    (void)option;
    if (strcmp(value, "bf16") != 0)
        return vkf_parse_precision("--dtype", value, out_precision);
    *out_precision = VKF_MODEL_PRECISION_BF16_WEIGHTS;
    return true;
}

static bool take_peer(const vkf_option *option, const char *value, void *options)
{
    bool *out_peer = &((plan_options *)options)->peer;
    (void)option;
    *out_peer = strcmp(value, "ggml") == 0;
    if (!*out_peer)
        vkf_print_error("--peer '%s': the one peer is ggml", value);
    return *out_peer;
}

static const vkf_option own[] = {
    VKF_OPTION(plan_options, "chip", TEXT, chip),
    VKF_OPTION(plan_options, "list-chips", FLAG, list),
    VKF_OPTION(plan_options, "calibrate", FLAG, calibrate),
    {.name = "peer", .take = take_peer},
    {.name = "dtype", .take = take_dtype},
    VKF_OPTION(plan_options, "quantize", QUANTIZATION, quantization),
    VKF_OPTION_WITHIN(plan_options, "batch", U32, batch, 1, 1024),
    VKF_OPTION_WITHIN(plan_options, "prompt", U32, prompt, 1, 1u << 20),
    VKF_OPTION_WITHIN(plan_options, "context", U32, context, 2, 1u << 20),
    VKF_OPTION_WITHIN(plan_options, "ranks", U32, ranks, 1, VKF_PLAN_MAX_RANKS),
    VKF_OPTION(plan_options, "json", FLAG, json),
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    plan_options *options = user;
    const bool alone = options->list || options->calibrate;
    const int count = argc - optind;
    if (options->list && options->calibrate) {
        vkf_print_error("plan: --list-chips and --calibrate exclude each other");
        return false;
    }
    if (count != (alone ? 0 : 1)) {
        vkf_print_error("plan takes %s, not %d; see vkformer plan --help",
                        alone ? "no model with --list-chips or --calibrate" : "one model directory", count);
        return false;
    }
    if (!alone && !options->chip) {
        vkf_print_error("plan: --chip is missing: a chip of --list-chips, or a file");
        return false;
    }
    if (options->peer && (alone || strcmp(options->chip, "all") != 0)) {
        vkf_print_error("plan: --peer goes with --chip all");
        return false;
    }
    if (options->ranks > 0 && (alone || strcmp(options->chip, "all") == 0)) {
        vkf_print_error("plan: --ranks goes with one chip and a model");
        return false;
    }
    options->directory = argv[optind];
    return true;
}

static vkf_plan_request request_of(const plan_options *options)
{
    return (vkf_plan_request){
        .directory = options->directory,
        .precision = options->precision,
        .quantization = options->quantization,
        .batch = options->batch,
        .prompt = options->prompt,
        .context = options->context,
        .ranks = options->ranks,
        .peer = options->peer,
    };
}

static bool plan(const plan_options *options)
{
    vkf_plan_chip chip = {0};
    vkf_plan_report report = {0};
    vkf_plan_request request = request_of(options);
    bool planned = vkf_plan_chip_open(options->chip, &chip);
    request.chip = &chip;
    planned = planned && vkf_plan_make(&options->common, &request, &report);
    if (planned && options->json)
        planned = vkf_plan_print_json(&report);
    else if (planned)
        vkf_plan_print_text(&report);
    vkf_plan_report_free(&report);
    vkf_plan_chip_free(&chip);
    return planned;
}

static bool plan_model(plan_options *options)
{
    if (!vkf_find_model(&options->directory))
        return false;
    const vkf_plan_request request = request_of(options);
    return strcmp(options->chip, "all") == 0 ? vkf_plan_print_table(&options->common, &request, options->json)
                                             : plan(options);
}

static int run(void *user)
{
    plan_options *options = user;
    bool done = options->list        ? vkf_plan_list_chips(options->json)
                : options->calibrate ? vkf_calibration_print(options->json)
                                     : plan_model(options);
    return done ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static const vkf_command command = {own, "caps|mask|variant|arithmetic|verbose", take_arguments, print_help, run};

int vkf_cmd_plan(int argc, char **argv)
{
    plan_options options = {.batch = 1, .prompt = DEFAULT_PROMPT, .context = DEFAULT_CONTEXT};
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
