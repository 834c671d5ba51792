// Parses the options of `vkformer profile`.
#include "lab/profile/profile_options.h"

#include <string.h>

#include "command/command.h"

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer profile [OPTIONS] MODEL\n"
        "       vkformer profile [OPTIONS] layer BxLxDxHxF[xS]\n"
        "       vkformer profile --diff BEFORE.json AFTER.json [--fail-above PERCENT]\n"
        "\n"
        "Runs the model in the directory MODEL on random tokens and says what each dispatch takes on the device, how\n"
        "much of the device's roofs it reaches, and what the host does meanwhile. An encoder encodes, other models\n"
        "read a prompt and go on from it. Of a layer with random weights: B sequences of L tokens, d_model D, H "
        "heads,\n"
        "a feed-forward part of width F; a decoder layer's cross attention sees S tokens (L).\n"
        "\n"
        "  --batch B            sequences, default 1\n"
        "  --length L           tokens of each source or prompt, default 32\n"
        "  --new-tokens N       that follow, default 16\n"
        "  --dtype TYPE         " VKF_MODEL_PRECISION_NAMES "; default auto,\n"
        "                       which for a layer is f32\n"
        "  --quantize TYPE      weights of linear layers in blocks: q8 or q4\n"
        "  --kind KIND          of a layer: encoder (default) or decoder\n"
        "  --activation A       of a layer: relu (default) or gelu\n"
        "  --repetitions R      runs that are measured, default 10\n"
        "  --warmup W           runs before them, at least, default 2\n"
        "  --settle SECONDS     warm up until the device's clock has settled, so long at most; default\n"
        "                       " VKF_SETTLE_HELP "\n"
        "  --by WHAT            rows of the table: op (default; over all layers), layer or dispatch\n"
        "  --no-roof            do not measure the roofs\n"
        "  --counters NAMES     count while dispatches run, too: names of the device's counters or their beginnings,\n"
        "                       divided by commas, or all; vkformer info --counters lists them\n"
        "  --overhead           measure runs without profiler and timestamps in turn with the others, too\n"
        "  -o, --output FORM    table (default), json, csv, trace (for ui.perfetto.dev) or html, on standard output\n"
        "  --json FILE, --csv FILE, --trace FILE, --html FILE\n"
        "                       write these beside\n",
        stdout);
    fputs(
        "\n"
        "  --check-numbers      measure nothing: run once, dispatch by dispatch, and print the range of what each has\n"
        "                       written, and the first number that is NaN or infinite, with exit code 3\n"
        "  --dump DIR           measure nothing: run a model once, dispatch by dispatch, and write what each wrote\n"
        "                       into DIR, a file for each submission, under PyTorch's names; DIR is made, or empty\n"
        "\n"
        "  --diff               compare two files of --json: the ratio of each place's GPU time, and whether it is\n"
        "                       beyond noise: more than 2 %, and more than the wider of both quartile ranges\n"
        "  --fail-above P       exit code 3 when the whole, or a place that takes at least 0.5 % of it, is slower by\n"
        "                       more than P percent, beyond noise; default 5\n"
        "\n" VKF_COMMON_HELP,
        stdout);
}

static bool take_layer(const vkf_profile_options *options, const char *shape, vkf_profile_settings *settings)
{
    if (options->sized || options->dump_path) {
        vkf_print_error("profile layer: --batch, --length, --new-tokens, --quantize and --dump are a model's");
        return false;
    }
    settings->directory = NULL;
    return vkf_profile_layer_parse(shape, settings);
}

static bool take_arguments(int argc, char **argv, void *user)
{
    vkf_profile_options *options = user;
    int count = argc - optind;
    bool layer = !options->diff && count > 0 && strcmp(argv[optind], "layer") == 0;
    if (count != (options->diff || layer ? 2 : 1)) {
        vkf_print_error(options->diff ? "profile --diff takes two files, not %d; see vkformer profile --help"
                        : layer       ? "profile layer takes one shape, not %d; see vkformer profile --help"
                                      : "profile takes a model directory, not %d; see vkformer profile --help",
                        layer ? count - 1 : count);
        return false;
    }
    options->common.timestamps = true;
    options->subject.directory = options->paths[0] = argv[optind];
    options->paths[1] = options->diff ? argv[optind + 1] : NULL;
    if (layer)
        return take_layer(options, argv[optind + 1], &options->subject);
    if (options->layered)
        vkf_print_error("--kind and --activation are a layer's: vkformer profile layer BxLxDxHxF");
    return !options->layered;
}

static const vkf_option own[] = {
    VKF_OPTION_BESIDE(vkf_profile_options, "batch", U32, subject.batch, 1, 1u << 16, sized),
    VKF_OPTION_BESIDE(vkf_profile_options, "length", U32, subject.length, 1, 1u << 20, sized),
    VKF_OPTION_BESIDE(vkf_profile_options, "new-tokens", U32, subject.new_tokens, 1, 1u << 20, sized),
    VKF_OPTION(vkf_profile_options, "dtype", PRECISION, subject.precision),
    VKF_OPTION_BESIDE(vkf_profile_options, "quantize", QUANTIZATION, subject.quantization, 0, 0, sized),
    VKF_OPTION_WITHIN(vkf_profile_options, "repetitions", U32, repetitions, 1, VKF_PROFILE_MAX_RUNS),
    VKF_OPTION_WITHIN(vkf_profile_options, "warmup", U32, warmup, 0, 1u << 20),
    VKF_OPTION_WITHIN(vkf_profile_options, "settle", FLOAT, settle_s, 0.0f, VKF_SETTLE_MAX_S),
    VKF_OPTION(vkf_profile_options, "no-roof", FLAG, no_roof),
    VKF_OPTION(vkf_profile_options, "overhead", FLAG, overhead),
    VKF_OPTION_OF(vkf_profile_options, "by", by, "op|layer|dispatch", "neither op, layer nor dispatch"),
    {.name = "output",
     .letter = 'o',
     .kind = VKF_OPTION_NAME,
     .offset = offsetof(vkf_profile_options, format),
     .names = "table|json|csv|trace|html",
     .refusal = "neither table, json, csv, trace nor html"},
    VKF_OPTION(vkf_profile_options, "json", TEXT, files[VKF_PROFILE_AS_JSON]),
    VKF_OPTION(vkf_profile_options, "csv", TEXT, files[VKF_PROFILE_AS_CSV]),
    VKF_OPTION(vkf_profile_options, "trace", TEXT, files[VKF_PROFILE_AS_TRACE]),
    VKF_OPTION(vkf_profile_options, "html", TEXT, files[VKF_PROFILE_AS_HTML]),
    VKF_OPTION(vkf_profile_options, "check-numbers", FLAG, check_numbers),
    VKF_OPTION(vkf_profile_options, "dump", PATH, dump_path),
    VKF_OPTION(vkf_profile_options, "diff", FLAG, diff),
    VKF_OPTION_WITHIN(vkf_profile_options, "fail-above", FLOAT, fail_above, 0.0f, 1e6f),
    VKF_OPTION_BESIDE(vkf_profile_options, "kind", TEXT, subject.layer_kind, 0, 0, layered),
    VKF_OPTION_BESIDE(vkf_profile_options, "activation", TEXT, subject.activation, 0, 0, layered),
    VKF_OPTION(vkf_profile_options, "counters", TEXT, common.counters),
    {0},
};

int vkf_profile_run_with_options(int argc, char **argv, int (*run)(void *options))
{
    const vkf_command command = {own, NULL, take_arguments, print_help, run};
    vkf_profile_options options = {
        .subject = {.precision = VKF_MODEL_PRECISION_AUTO,
                    .batch = 1,
                    .new_tokens = 16,
                    .layer_kind = "encoder",
                    .activation = "relu"},
        .repetitions = 10,
        .warmup = 2,
        .settle_s = VKF_SETTLE_DEFAULT,
        .fail_above = 5.0f,
    };
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
