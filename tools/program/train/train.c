// vkformer train: trains a model on lines of examples. This file is its command line.
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "io/file.h"
#include "io/path.h"
#include "output/file_output.h"
#include "ranks/ranked.h"
#include "train/train_run.h"
#include "train/train_values.h"

static void print_help(const void *user)
{
    (void)user;
    fputs("usage: vkformer train [OPTIONS] [CONFIG.json]\n"
          "\n"
          "Trains a model: one that is there (--model), or a new one of the sizes that are given: from source to\n"
          "target (--tokenizer DIR with a vocabulary.json), or of a family (--model-type, --tokenizer DIR with a\n"
          "tokenizer.json). CONFIG.json has the settings, whose names docs/training.md lists; options go before it.\n"
          "Data are lines: SOURCE <tab> TARGET for an encoder-decoder and for an encoder whose embeddings are to be\n"
          "near, a text for a decoder and for an encoder that fills in masked words, PROMPT <tab> COMPLETION for a\n"
          "decoder that is to answer, TEXT <tab> LABEL for a classifier of texts, WORD WORD <tab> LABEL LABEL for one\n"
          "of words; or the same as JSON in files named .jsonl. An encoder without a head gets one for the classes\n"
          "that the data name. The first lines that are printed say what is learned. The directory --out gets\n"
          "checkpoints step-N, the best one as best, log.jsonl and train.html; it has nothing of these names, unless\n"
          "a run is gone on with. Interrupted, the run ends with a checkpoint.\n"
          "\n"
          "  --resume                  go on from the last checkpoint of --out, if there is one, with the settings\n"
          "                            in its train.json where no other are given\n"
          "  --check-gradients         compare the first batch's gradients with differences of its loss, and train\n"
          "                            nothing: exit 1 if one is off\n",
          stdout);
    vkf_train_config_print_help(stdout);
    fputs("\n" VKF_COMMON_HELP, stdout);
}

static bool take_key(const vkf_option *option, const char *value, void *options)
{
    return vkf_train_config_flag(&((vkf_train_options *)options)->config, (vkf_train_key)option->offset, value) ==
           VKF_OK;
}

static const vkf_option own[] = {
    VKF_OPTION(vkf_train_options, "resume", FLAG, resume),
    VKF_OPTION(vkf_train_options, "check-gradients", FLAG, check_gradients),
    VKF_TRAIN_KEYS(VKF_TRAIN_OPTION){0},
};

// A check of gradients makes no steps, so that nothing has to say when they end.
static bool complete_check(vkf_train_options *options)
{
    if (!options->check_gradients)
        return true;
    const bool ends = options->config.steps > 0 || options->config.epochs > 0;
    return ends || vkf_train_config_flag(&options->config, VKF_TRAIN_STEPS, "1") == VKF_OK;
}

// A run that is gone on with has its settings in its directory.
static bool take_earlier(vkf_train_options *options)
{
    char *path = NULL;
    if (!options->resume || !options->config.output)
        return true;
    if (vkf__path_join(&options->host, options->config.output, VKF_TRAIN_SETTINGS, &path) != VKF_OK)
        return false;
    const bool taken = !vkf__file_exists(path) || vkf_train_config_continue(&options->config, path) == VKF_OK;
    vkf__free(&options->host, path);
    return taken;
}

static bool take_arguments(int argc, char **argv, void *user)
{
    vkf_train_options *options = user;
    if (argc - optind > 1) {
        vkf_print_error("train takes one CONFIG.json, not %d arguments; see vkformer train --help", argc - optind);
        return false;
    }
    return (argc == optind || vkf_train_config_load(&options->config, argv[optind]) == VKF_OK) &&
           take_earlier(options) && complete_check(options) && vkf_train_config_check(&options->config) == VKF_OK;
}

// What rank 0 warns of would be said by all ranks.
static void print_errors(void *user, vkf_severity severity, const char *message)
{
    if (severity == VKF_SEVERITY_ERROR)
        vkf_print_message(user, severity, message);
}

static int train(void *user)
{
    vkf_train_options *options = user;
    vkf_train_run run;
    int code = VKF_EXIT_FAILED;
    if (options->check_gradients && options->ranks.size > 1) {
        vkf_print_error("--check-gradients: run it without mpirun");
        return code;
    }
    if (options->ranks.rank > 0)
        options->host.message = print_errors;
    options->common.device = vkf_ranked_device(&options->ranks, &options->common);
    if (vkf_train_open(options, &run))
        code = options->check_gradients ? vkf_train_check_gradients(&run) : vkf_train_loop(&run);
    vkf_train_close(&run);
    return code;
}

static int run(void *user)
{
    vkf_train_options *options = user;
    return vkf_run_ranked(&options->ranks, train, options);
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_train(int argc, char **argv)
{
    vkf_train_options options = {.host = vkf_printing_host()};
    vkf_train_config_init(&options.host, &options.config);
    const int code = vkf_command_run(&command, argc, argv, &options, &options.common);
    vkf_train_config_free(&options.config);
    return code;
}
