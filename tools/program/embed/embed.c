// vkformer embed: turns texts into vectors. This file has its command line and the run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/model_path.h"
#include "command/precision.h"
#include "embed/embed_state.h"
#include "input/text_tokens.h"
#include "output/progress.h"
#include "system/terminal.h"

#define MAX_BATCH 1024
#define DEFAULT_TOP 5

static void print_help(const void *user)
{
    (void)user;
    fputs("usage: vkformer embed MODEL [TEXT... | -] [OPTIONS]\n"
          "\n"
          "Prints the embedding of every TEXT, or of every line of the standard input, by the sentence encoder in\n"
          "the directory MODEL: config.json, the weights, tokenizer.json and, where sentence-transformers put it\n"
          "there, modules.json, as save_pretrained() writes them.\n"
          "\n"
          "  -o, --output FORMAT  jsonl (default): {\"text\": ..., \"tokens\": ..., \"embedding\": [...]} a line;\n"
          "                       json: an array of these; npy: a NumPy array of float32\n"
          "  --out FILE           write there instead of to the standard output\n"
          "  --files              each TEXT is the path of a file, which is embedded as a whole\n"
          "  --chunk N[,OVERLAP]  an embedding for each part of a text, of N tokens at most, special ones and the\n"
          "                       prompt's counted; parts end between words, and each begins with up to OVERLAP\n"
          "                       tokens of the one before (default: 0). begin and end say where in the text, in\n"
          "                       bytes\n"
          "  --prompt-name NAME   put the model's prompt of that name in front of every text (default: the model's\n"
          "                       default_prompt_name; vkformer inspect prints the prompts)\n"
          "  --prompt TEXT        put TEXT there instead; an empty one for nothing\n"
          "  --truncate-dim N     keep the first N elements of each embedding (default: the model's truncate_dim)\n"
          "  --compare            print the similarities between all texts instead: cosines, or what the model's\n"
          "                       similarity_fn_name says\n"
          "  --search INDEX       print the entries of INDEX that are nearest to each text instead, with their\n"
          "                       similarities; INDEX is a file that this command wrote as jsonl\n"
          "  --top N              so many of them (default: 5)\n"
          "  --batch N            texts that run together, 1 to 1024 (default: 8)\n"
          "  --max-len N          a longer text is cut, of which a warning tells (default: as sentence-transformers\n"
          "                       cuts)\n"
          "  --dtype TYPE         the model's precision on the device: f32, f16, or with its parameters\n"
          "                       alone in 16 bits f32/f16 or f32/bf16; auto (default): that of the file\n"
          "                       where the device is fast in 16 bits, else f32\n"
          "  --quantize q8|q4     keep the weights of linear layers in blocks of 32 with a scale\n"
          "  --adapter DIR        merge the LoRA adapter in DIR, as PEFT saves it, while loading\n"
          "\n" VKF_COMMON_HELP,
          stdout);
}

static bool take_chunk(const vkf_option *option, const char *text, void *user)
{
    vkf_embed_options *options = user;
    (void)option;
    char tokens[16];
    const char *comma = strchr(text, ',');
    snprintf(tokens, sizeof tokens, "%.*s", comma ? (int)(comma - text) : (int)strlen(text), text);
    return vkf_parse_u32("--chunk", tokens, 1, 1u << 20, &options->chunk) &&
           (!comma || vkf_parse_u32("--chunk N,OVERLAP", comma + 1, 0, options->chunk - 1, &options->overlap));
}

static bool check_outputs(const vkf_embed_options *options)
{
    if (options->prompt && options->prompt_name) {
        vkf_print_error("--prompt and --prompt-name exclude each other");
        return false;
    }
    if (options->compare && options->index_path) {
        vkf_print_error("--compare and --search exclude each other");
        return false;
    }
    if (options->out_path && (options->compare || options->index_path)) {
        vkf_print_error("--out takes embeddings; --compare and --search print to the standard output");
        return false;
    }
    return true;
}

static bool take_arguments(int argc, char **argv, void *user)
{
    vkf_embed_options *options = user;
    if (optind == argc) {
        vkf_print_error("the model's directory is missing; see vkformer embed --help");
        return false;
    }
    options->model_directory = argv[optind++];
    bool from_stdin = argc - optind == 1 && strcmp(argv[optind], "-") == 0;
    if (optind == argc && (options->files || vkf_is_terminal(VKF_STANDARD_INPUT))) {
        vkf_print_error(options->files ? "--files: there is no file"
                                       : "there is no text; give some, or - to type lines");
        return false;
    }
    if (!from_stdin) {
        options->arguments = argv + optind;
        options->argument_count = (uint32_t)(argc - optind);
    }
    return check_outputs(options);
}

static const vkf_option own[] = {
    VKF_OPTION_WITHIN(vkf_embed_options, "batch", U32, batch, 1, MAX_BATCH),
    VKF_OPTION_WITHIN(vkf_embed_options, "max-len", U32, max_tokens, 1, 1u << 20),
    VKF_OPTION(vkf_embed_options, "dtype", PRECISION, precision),
    VKF_OPTION(vkf_embed_options, "quantize", QUANTIZATION, quantization),
    VKF_OPTION(vkf_embed_options, "adapter", PATH, adapter),
    VKF_OPTION(vkf_embed_options, "files", FLAG, files),
    {.name = "chunk", .take = take_chunk},
    {.name = "output",
     .letter = 'o',
     .kind = VKF_OPTION_NAME,
     .offset = offsetof(vkf_embed_options, format),
     .names = "jsonl|json|npy",
     .refusal = "none of jsonl, json and npy"},
    VKF_OPTION(vkf_embed_options, "out", TEXT, out_path),
    VKF_OPTION(vkf_embed_options, "compare", FLAG, compare),
    VKF_OPTION(vkf_embed_options, "search", TEXT, index_path),
    VKF_OPTION_WITHIN(vkf_embed_options, "top", U32, top, 1, 1u << 20),
    VKF_OPTION(vkf_embed_options, "prompt", TEXT, prompt),
    VKF_OPTION(vkf_embed_options, "prompt-name", TEXT, prompt_name),
    VKF_OPTION_WITHIN(vkf_embed_options, "truncate-dim", U32, truncate_dim, 1, 1u << 20),
    {0},
};

static bool run_embedder(vkf_embedder *embedder, vkf_embed_state *state, const vkf_text *texts, uint32_t *token_counts)
{
    vkf_progress progress = vkf_progress_start("embedding");
    const vkf_embed_args args = {
        .texts = texts,
        .count = state->count,
        .prompt = state->options->prompt,
        .prompt_name = state->options->prompt_name,
        .out_embeddings = state->embeddings,
        .out_token_counts = token_counts,
        .progress = vkf_progress_show,
        .progress_user = &progress,
    };
    vkf_status status = vkf_embedder_run(embedder, &args);
    vkf_progress_end(&progress);
    for (uint32_t i = 0; status == VKF_OK && i < state->count; i++)
        state->parts[i].token_count = token_counts[i];
    if (status != VKF_OK)
        vkf_print_error("the texts cannot be embedded: %s", vkf_status_text(status));
    return status == VKF_OK &&
           vkf_warn_of_cut_texts(embedder, &args, "--chunk N embeds long ones in parts of N tokens");
}

static bool embed_all(vkf_embedder *embedder, vkf_embed_state *state)
{
    vkf_model_config config;
    vkf_embedder_get_config(embedder, &config);
    state->dim = config.embedding_dim;
    state->similarity = vkf_embedder_get_similarity(embedder);
    vkf_text *texts = calloc(state->count, sizeof *texts);
    uint32_t *token_counts = calloc(state->count, sizeof *token_counts);
    state->embeddings = calloc((size_t)state->count * state->dim, sizeof *state->embeddings);
    bool done = texts && token_counts && state->embeddings;
    for (uint32_t i = 0; done && i < state->count; i++)
        texts[i] = vkf_embed_text_of(state, i);
    if (done)
        done = run_embedder(embedder, state, texts, token_counts);
    else
        vkf_print_error("memory for %u embeddings is exhausted", state->count);
    free(texts);
    free(token_counts);
    return done;
}

static bool show(const vkf_embed_state *state)
{
    if (state->options->compare)
        return vkf_embed_print_similarities(state);
    return state->options->index_path ? vkf_embed_search(state) : vkf_embed_write(state);
}

static bool collect(vkf_embed_state *state)
{
    const vkf_embed_options *options = state->options;
    bool collected = vkf_text_items_collect(&state->texts, options->arguments, options->argument_count, options->files);
    if (collected && state->texts.count == 0)
        vkf_print_error("there is no text to embed");
    return collected && state->texts.count > 0;
}

static bool embed(const vkf_embed_options *options)
{
    vkf_embed_state state = {.options = options};
    vkf_context *context = NULL;
    vkf_embedder *embedder = NULL;
    bool done = collect(&state) && vkf_open_context_aloud(&options->common, &context) == VKF_OK;
    if (done) {
        const vkf_embedder_desc desc = {
            .directory = options->model_directory,
            .precision = options->precision,
            .quantization = options->quantization,
            .adapter_directory = options->adapter,
            .max_batch =
                options->batch > 0 || options->chunk > 0 || state.texts.count >= 8 ? options->batch : state.texts.count,
            .max_tokens = options->max_tokens,
            .truncate_dim = options->truncate_dim,
        };
        vkf_status status = vkf_embedder_load(context, &desc, &embedder);
        if (status != VKF_OK)
            vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
        done = status == VKF_OK && vkf_embed_divide(&state, embedder) && embed_all(embedder, &state) && show(&state);
    }
    vkf_embedder_destroy(&embedder);
    vkf_context_destroy(&context);
    vkf_text_items_free(&state.texts);
    free(state.parts);
    free(state.embeddings);
    return done;
}

static int run(void *user)
{
    vkf_embed_options *options = user;
    return vkf_find_adapted(&options->model_directory, &options->adapter) && embed(options) ? VKF_EXIT_DONE
                                                                                            : VKF_EXIT_FAILED;
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_embed(int argc, char **argv)
{
    vkf_embed_options options = {.precision = VKF_MODEL_PRECISION_AUTO, .top = DEFAULT_TOP};
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
