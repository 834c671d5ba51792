// vkformer run: lines of text through a model. This file is its command line.
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attention_picture.h"
#include "commands.h"
#include "run_state.h"

#define MAX_BATCH 1024

enum { OPT_BATCH = VKF_OPT_OWN, OPT_MAX_LEN, OPT_DTYPE, OPT_TIMING, OPT_ATTENTION };

static void print_help(void)
{
    fputs("usage: vkformer run [OPTIONS] MODEL [TEXT... | -]\n"
          "\n"
          "Runs the model in the directory MODEL (config.json, model.safetensors, vocabulary.json) on every TEXT,\n"
          "or on every line of the standard input, and prints one line for each. An empty line gives an empty\n"
          "line, and so does, with exit 1, a text that is too long for the model.\n"
          "\n"
          "  --batch N          lines that run together, 1 to 1024 (default 8; 1 at a terminal)\n"
          "  --max-len N        longest output in tokens, begin and end included (default: the model's)\n"
          "  --dtype TYPE       the model's precision on the device: f32 (default), f16, or with\n"
          "                     its parameters alone in 16 bits f32/f16 or f32/bf16\n"
          "  --timing           print a table of times on stderr\n"
          "  --attention FILE   draw the cross attention's weights for the first text, as .svg or .html\n"
          "\n" VKF_COMMON_HELP,
          stdout);
}

static bool parse_own(int opt, run_options *options)
{
    switch (opt) {
    case OPT_BATCH:
        return vkf_parse_u32("--batch", optarg, 1, MAX_BATCH, &options->batch);
    case OPT_MAX_LEN:
        return vkf_parse_u32("--max-len", optarg, 2, 1u << 20, &options->max_len);
    case OPT_DTYPE:
        return vkf_parse_precision("--dtype", optarg, &options->precision);
    case OPT_TIMING:
        options->timing = true;
        options->common.timestamps = true;
        return true;
    case OPT_ATTENTION:
        options->attention_path = optarg;
        if (vkf_attention_picture_path_valid(optarg))
            return true;
        vkf_print_error("--attention: '%.200s' ends neither in .svg nor in .html", optarg);
        return false;
    default:
        return vkf_parse_common(opt, optarg, &options->common);
    }
}

static bool parse_arguments(int argc, char **argv, run_options *options)
{
    if (optind == argc) {
        vkf_print_error("the model's directory is missing; see vkformer run --help");
        return false;
    }
    options->model_directory = argv[optind++];
    bool from_stdin = optind == argc;
    for (int i = optind; i < argc; i++)
        from_stdin = from_stdin || strcmp(argv[i], "-") == 0;
    if (from_stdin && argc - optind > 1) {
        vkf_print_error("'-' reads the standard input; no other text can be given beside it");
        return false;
    }
    if (optind == argc && isatty(STDIN_FILENO)) {
        vkf_print_error("there is no text; give some, or - to type lines");
        return false;
    }
    if (!from_stdin) {
        options->texts = argv + optind;
        options->text_count = (uint32_t)(argc - optind);
    }
    return true;
}

static bool parse(int argc, char **argv, run_options *options)
{
    static const struct option long_options[] = {
        {"batch", required_argument, NULL, OPT_BATCH},
        {"max-len", required_argument, NULL, OPT_MAX_LEN},
        {"dtype", required_argument, NULL, OPT_DTYPE},
        {"timing", no_argument, NULL, OPT_TIMING},
        {"attention", required_argument, NULL, OPT_ATTENTION},
        VKF_COMMON_LONG_OPTIONS,
        {0},
    };
    for (int opt; (opt = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
        if (!parse_own(opt, options))
            return false;
    return options->common.help || parse_arguments(argc, argv, options);
}

int vkf_cmd_run(int argc, char **argv)
{
    run_options options = {0};
    int code = VKF_EXIT_FAILED;
    if (vkf_common_init(&options.common)) {
        if (!parse(argc, argv, &options)) {
            code = VKF_EXIT_USAGE;
        } else if (options.common.help) {
            print_help();
            code = VKF_EXIT_DONE;
        } else {
            run_state state;
            if (vkf_run_prepare(&options, &state) && vkf_run_lines(&state) && !state.refused)
                code = VKF_EXIT_DONE;
            vkf_run_release(&state);
            code = vkf_common_exit_code(&options.common, code);
        }
    }
    vkf_common_free(&options.common);
    return code;
}
