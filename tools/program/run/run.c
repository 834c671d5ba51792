// vkformer run: passes lines of text through a model. This file is its command line.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/model_path.h"
#include "command/session_context.h"
#include "dump/dump.h"
#include "output/standard_output.h"
#include "ranks/ranked.h"
#include "run/run_defaults.h"
#include "run/run_ranks.h"
#include "run/run_state.h"
#include "system/terminal.h"

#define MAX_BATCH 1024

static void print_help(const void *user)
{
    (void)user;
    fputs("usage: vkformer run [OPTIONS] MODEL [TEXT... | -]\n"
          "\n"
          "Runs the model in the directory MODEL on every TEXT, or on every line of the standard input, and prints\n"
          "what it says to each. MODEL is this project's own (config.json, model.safetensors, vocabulary.json), or\n"
          "one as transformers' save_pretrained() writes it (with tokenizer.json): a decoder continues the text, an\n"
          "encoder-decoder answers or translates it, an encoder with a head says what it is.\n"
          "A text that is too long for the model gives an empty line and exit 1.\n"
          "\n"
          "  --batch N               lines that run together, 1 to 1024 (default 8; 1 at a terminal)\n"
          "  --dtype TYPE            the model's precision on the device: f32, f16, or with its parameters\n"
          "                          alone in 16 bits f32/f16 or f32/bf16; auto (default): that of the file\n"
          "                          where the device is fast in 16 bits, else f32\n"
          "  --quantize q8|q4        keep the weights of linear layers in blocks of 32 with a scale\n"
          "  --adapter DIR           merge the LoRA adapter in DIR, as PEFT saves it, while loading\n"
          "  --json                  print {\"text\": ..., \"output\": ...} and more, a line for each text\n"
          "  --check-numbers         run dispatch by dispatch, and print on stderr the range of what each has written\n"
          "                          and the first number that is NaN or infinite: exit code 3\n"
          "  --dump DIR              run dispatch by dispatch, and write what each wrote into DIR, a file for each\n"
          "                          submission, under PyTorch's names; DIR is made, or empty\n"
          "  --timing                print times on stderr, and with --json those of a text's batch on stdout\n"
          "  --attention FILE        draw the weights of attention for the first text, as .html or .svg: heat maps of\n"
          "                          every layer and head, and the mean over heads. An encoder without a head is\n"
          "                          drawn and says nothing\n"
          "  --attention-of KINDS    of these alone: encoder, decoder (self attention), cross (default: all that the\n"
          "                          model has, in an .svg cross alone where it has that)\n"
          "  --attention-layers LIST, --attention-heads LIST\n"
          "                          of these alone, counted from 0: 0,3-5\n"
          "\n"
          "Of models from text to text:\n"
          "  --max-len N             longest output in tokens, begin and end included (default: the model's)\n"
          "\n"
          "Of encoders with a head (classification, answers, masked words):\n"
          "  --pair TEXT             the second text of each pair: the one that answers a question\n"
          "                          (for a query and documents, take vkformer rerank)\n"
          "\n",
          stdout);
    fputs("Of transformers' decoders and encoder-decoders, where what is not given is as the model's\n"
          "generation_config.json has it, and only then the default:\n"
          "  --max-new-tokens N      longest continuation in tokens (default 256, or what the context leaves)\n"
          "  --context N             tokens of a text and its continuation (default: the model's, at most 2048); of a\n"
          "                          decoder that classifies, of a text, which is cut there\n"
          "  --cache-type TYPE       how keys and values are kept: f16 in half the bytes (default: as --dtype says)\n"
          "  --stop STRING           end the continuation before this; repeatable\n"
          "  --temperature T         draw tokens with this temperature (default 0: the most probable ones)\n"
          "  --top-k N, --top-p P, --min-p P\n"
          "                          draw from the N most probable tokens, from those that together have the\n"
          "                          probability P, from those with P of the largest one\n"
          "  --repetition-penalty R  divide the logits of tokens that were there by this\n"
          "  --seed N                the same seed gives the same tokens on the same device (default 0)\n"
          "  --beams N               follow the N most probable sequences, 1 to 64 (default 1: no beam search)\n"
          "  --length-penalty P      of these, take the one of the largest log-probability over its length to the\n"
          "                          power of P (default 1)\n"
          "  --early-stopping WHEN   end when N sequences have ended (yes), when no other would be better if it\n"
          "                          ended now (no, the default), or when no other can be better (never)\n"
          "\n" VKF_COMMON_HELP,
          stdout);
}

static bool take_stop(const vkf_option *option, const char *text, void *user)
{
    run_options *options = user;
    (void)option;
    if (options->stop_count == VKF_MAX_STOPS || !*text) {
        vkf_print_error(*text ? "--stop: more than %d strings" : "--stop: the string is empty", VKF_MAX_STOPS);
        return false;
    }
    options->stops[options->stop_count++] = (vkf_text){text, strlen(text)};
    return true;
}

static bool take_seed(const vkf_option *option, const char *text, void *options)
{
    (void)option;
    char *end = NULL;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (errno == 0 && end != text && !*end && *text >= '0' && *text <= '9') {
        ((run_options *)options)->sampling.seed = seed;
        return true;
    }
    vkf_print_error("--seed: '%.200s' is no whole number from 0 to 18446744073709551615", text);
    return false;
}

static bool take_attention(const vkf_option *option, const char *value, void *options)
{
    (void)option;
    return vkf_parse_attention_path(value, &((run_options *)options)->attention);
}

static bool take_attention_kinds(const vkf_option *option, const char *value, void *options)
{
    (void)option;
    return vkf_parse_attention_kinds(value, &((run_options *)options)->attention.kinds);
}

static bool take_indices(const vkf_option *option, const char *value, void *options)
{
    const bool layers = strcmp(option->name, "attention-layers") == 0;
    vkf_attention_choice *choice = &((run_options *)options)->attention;
    return vkf_parse_index_set(layers ? "--attention-layers" : "--attention-heads", value,
                               layers ? &choice->layers : &choice->heads);
}

static bool take_check_numbers(const vkf_option *option, const char *value, void *user)
{
    run_options *options = user;
    (void)option;
    (void)value;
    options->common.numbers = &options->numbers;
    return true;
}

static bool take_texts(int argc, char **argv, run_options *options)
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
    if (optind == argc && vkf_is_terminal(VKF_STANDARD_INPUT)) {
        vkf_print_error("there is no text; give some, or - to type lines");
        return false;
    }
    if (!from_stdin) {
        options->texts = argv + optind;
        options->text_count = (uint32_t)(argc - optind);
    }
    return true;
}

static const vkf_option own[] = {
    VKF_OPTION_WITHIN(run_options, "batch", U32, batch, 1, MAX_BATCH),
    VKF_OPTION_WITHIN(run_options, "max-len", U32, max_len, 2, 1u << 20),
    VKF_OPTION(run_options, "dtype", PRECISION, precision),
    VKF_OPTION(run_options, "quantize", QUANTIZATION, quantization),
    VKF_OPTION(run_options, "adapter", PATH, adapter),
    VKF_OPTION_BESIDE(run_options, "timing", FLAG, timing, 0, 0, common.timestamps),
    {.name = "check-numbers", .take = take_check_numbers, .kind = VKF_OPTION_SWITCH},
    VKF_OPTION(run_options, "dump", PATH, dump_path),
    {.name = "attention", .take = take_attention},
    {.name = "attention-of", .take = take_attention_kinds},
    {.name = "attention-layers", .take = take_indices},
    {.name = "attention-heads", .take = take_indices},
    VKF_OPTION(run_options, "json", FLAG, json),
    VKF_OPTION(run_options, "pair", TEXT, pair),
    VKF_OPTION_WITHIN(run_options, "max-new-tokens", U32, max_new_tokens, 1, 1u << 20),
    VKF_OPTION_WITHIN(run_options, "context", U32, context, 2, 1u << 20),
    VKF_OPTION_BESIDE(run_options, "temperature", FLOAT, sampling.temperature, 0, 1e4f, given.temperature),
    VKF_OPTION_BESIDE(run_options, "top-k", U32, sampling.top_k, 0, 1u << 24, given.top_k),
    VKF_OPTION_BESIDE(run_options, "top-p", FLOAT, sampling.top_p, 0, 1, given.top_p),
    VKF_OPTION_BESIDE(run_options, "min-p", FLOAT, sampling.min_p, 0, 1, given.min_p),
    VKF_OPTION_BESIDE(run_options, "repetition-penalty", FLOAT, sampling.repetition_penalty, 0, 1e4f,
                      given.repetition_penalty),
    {.name = "seed", .take = take_seed},
    {.name = "stop", .take = take_stop},
    VKF_OPTION_OF(run_options, "cache-type", cache_dtype, "f32|f16", "neither f32 nor f16"),
    VKF_OPTION_WITHIN(run_options, "beams", U32, beams.num_beams, 1, VKF_MAX_BEAMS),
    VKF_OPTION_BESIDE(run_options, "length-penalty", FLOAT, beams.length_penalty, -100, 100, given.length_penalty),
    {.name = "early-stopping",
     .kind = VKF_OPTION_NAME,
     .offset = offsetof(run_options, beams.early_stopping),
     .given = offsetof(run_options, given.early_stopping),
     .names = "no|yes|never",
     .refusal = "neither yes, no nor never"},
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    run_options *options = user;
    if (options->timing && (options->common.numbers || options->dump_path)) {
        vkf_print_error("%s: nothing can be timed meanwhile; leave out --timing",
                        options->dump_path ? "--dump" : "--check-numbers");
        return false;
    }
    return vkf_attention_choice_complete(&options->attention) && take_texts(argc, argv, options);
}

static bool run_seq2seq(const run_options *options, const vkf_model_config *config)
{
    run_state state;
    if (options->ranks.size > 1)
        return vkf_run_ranks_lines(options, config);
    bool done = vkf_run_prepare(options, &state) && vkf_run_lines(&state) && !state.refused;
    vkf_run_release(&state);
    return done;
}

// Refuses options that only other kinds of models have, because they would have no effect.
static bool options_fit(const run_options *options, run_way way, const vkf_model_config *config)
{
    const vkf_sampling *sampling = &options->sampling;
    bool context = options->context > 0 && !(way == RUN_PREDICTION && config->causal);
    bool generation = options->max_new_tokens > 0 || context || options->stop_count > 0 || options->given.temperature ||
                      options->given.top_k || options->given.top_p || options->given.min_p ||
                      options->given.repetition_penalty || sampling->seed > 0 || options->beams.num_beams > 0 ||
                      options->given.length_penalty || options->given.early_stopping ||
                      options->cache_dtype != VKF_DTYPE_F32;
    const char *refused = options->max_len > 0 && way != RUN_SEQ2SEQ                     ? "--max-len is"
                          : generation && way != RUN_GENERATION                          ? "the options of decoders are"
                          : options->pair && way != RUN_PREDICTION && way != RUN_ENCODER ? "--pair is"
                                                                                         : NULL;
    if (refused)
        vkf_print_error("'%s' is another kind of model: %s not for it; see vkformer run --help",
                        options->model_directory, refused);
    return !refused;
}

static bool run_as(const run_options *options, run_way way, const vkf_model_config *config)
{
    switch (way) {
    case RUN_GENERATION:
        return vkf_run_generation(options, config);
    case RUN_PREDICTION:
        return vkf_run_prediction(options);
    case RUN_ENCODER:
        return vkf_run_encoder(options);
    case RUN_SEQ2SEQ:
        break;
    }
    return run_seq2seq(options, config);
}

// Returns the exit code.
static int run_model(run_options *options)
{
    run_way way;
    vkf_model_config config;
    if (!vkf_run_way(options, &way, &config) || !options_fit(options, way, &config) ||
        (options->ranks.size > 1 && !vkf_run_ranks_fit(options, way)))
        return VKF_EXIT_FAILED;
    if (way == RUN_GENERATION && !vkf_run_take_defaults(&config, options))
        return VKF_EXIT_USAGE;
    if (options->attention.path && !vkf_attention_choice_fits(&options->attention, &config))
        return VKF_EXIT_USAGE;
    return run_as(options, way, &config) ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int run_dumped(run_options *options)
{
    vkf_common_options *common = &options->common;
    if (options->dump_path && !vkf_dump_begin(options->dump_path, options->model_directory, vkf_message_log_receive,
                                              common->messages, &common->dump))
        return VKF_EXIT_FAILED;
    int code = run_model(options);
    return vkf_dump_end(&common->dump, code == VKF_EXIT_DONE) ? code : VKF_EXIT_FAILED;
}

// Prints what --check-numbers has found, and turns the run's exit code into the command's.
static int report_numbers(const run_options *options, int code)
{
    if (!options->common.numbers || options->numbers.outputs == 0)
        return code;
    (void)vkf_flush_stdout();
    vkf_number_check_print(stderr, &options->numbers);
    return code != VKF_EXIT_USAGE && options->numbers.found ? VKF_EXIT_BEYOND : code;
}

static int run_found(void *user)
{
    run_options *options = user;
    return vkf_find_adapted(&options->model_directory, &options->adapter) ? report_numbers(options, run_dumped(options))
                                                                          : VKF_EXIT_FAILED;
}

static int run(void *user)
{
    run_options *options = user;
    return vkf_run_ranked(&options->ranks, run_found, options);
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_run(int argc, char **argv)
{
    run_options options = {.precision = VKF_MODEL_PRECISION_AUTO, .beams = {.length_penalty = 1.0f}};
    int code = vkf_command_run(&command, argc, argv, &options, &options.common);
    vkf_number_check_free(&options.numbers);
    return code;
}
