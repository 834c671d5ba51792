// vkformer rerank: sorts documents by what a cross-encoder says of each beside a query.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/model_path.h"
#include "command/precision.h"
#include "input/text_items.h"
#include "input/text_tokens.h"
#include "output/json_output.h"
#include "output/progress.h"
#include "output/rows.h"
#include "output/visible_text.h"
#include "rerank/rerank_settings.h"
#include "system/terminal.h"

#define MAX_BATCH 1024

typedef struct rerank_options {
    vkf_common_options common;
    const char *model_directory, *query;
    char *const *arguments; // documents, or paths with `files`; none: lines of the standard input
    uint32_t argument_count;
    bool files;
    uint32_t batch, max_tokens, top; // 0: not given
    vkf_model_precision precision;
    vkf_quantization quantization;
    const char *adapter; // NULL: none
    vkf_rows_format format;
} rerank_options;

// A document's place in the result.
typedef struct ranked {
    uint32_t index; // of the document
    float logit;
} ranked;

static void print_help(const void *user)
{
    (void)user;
    fputs("usage: vkformer rerank [OPTIONS] MODEL QUERY [DOCUMENT... | -]\n"
          "\n"
          "Prints the documents, best first, with the score that the cross-encoder in the directory MODEL gives to\n"
          "each beside QUERY: an encoder, or a decoder that classifies, with one label. Each DOCUMENT is a text;\n"
          "without one, each line of the standard input is. Query and document run together as a pair, the query\n"
          "first. Scores are those of CrossEncoder.rank() of sentence-transformers: the model's activation_fn is\n"
          "followed, which is a sigmoid where it has none.\n"
          "\n"
          "  --top N              print the best N alone\n"
          "  --files              each DOCUMENT is the path of a file, which is one document\n"
          "  -o, --output FORMAT  table (default): scores and documents; jsonl: {\"index\": ..., \"score\": ...,\n"
          "                       \"text\": ...} a line; json: an array of these; csv and md: the same in columns. "
          "index\n"
          "                       counts documents from 0; with --files there is \"file\" instead of \"text\"\n"
          "  --batch N            pairs that run together, 1 to 1024 (default: 8)\n"
          "  --max-len N          a longer pair is cut, of which a warning tells (default: where the model's\n"
          "                       tokenizer cuts)\n"
          "  --dtype TYPE         the model's precision on the device: f32, f16, or with its parameters\n"
          "                       alone in 16 bits f32/f16 or f32/bf16; auto (default): that of the file\n"
          "                       where the device is fast in 16 bits, else f32\n"
          "  --quantize q8|q4     keep the weights of linear layers in blocks of 32 with a scale\n"
          "  --adapter DIR        merge the LoRA adapter in DIR, as PEFT saves it, while loading\n"
          "\n" VKF_COMMON_HELP,
          stdout);
}

static bool take_arguments(int argc, char **argv, void *user)
{
    rerank_options *options = user;
    const int given = argc - optind;
    if (given < 2) {
        vkf_print_error("%s is missing; see vkformer rerank --help", given < 1 ? "the model's directory" : "the query");
        return false;
    }
    options->model_directory = argv[optind++];
    options->query = argv[optind++];
    const bool from_stdin = argc - optind == 1 && strcmp(argv[optind], "-") == 0;
    if (optind == argc && (options->files || vkf_is_terminal(VKF_STANDARD_INPUT))) {
        vkf_print_error(options->files ? "--files: there is no file"
                                       : "there is no document; give some, or - to type lines");
        return false;
    }
    if (!from_stdin) {
        options->arguments = argv + optind;
        options->argument_count = (uint32_t)(argc - optind);
    }
    return true;
}

static const vkf_option own[] = {
    VKF_OPTION_WITHIN(rerank_options, "batch", U32, batch, 1, MAX_BATCH),
    VKF_OPTION_WITHIN(rerank_options, "max-len", U32, max_tokens, 1, 1u << 20),
    VKF_OPTION(rerank_options, "dtype", PRECISION, precision),
    VKF_OPTION(rerank_options, "quantize", QUANTIZATION, quantization),
    VKF_OPTION(rerank_options, "adapter", PATH, adapter),
    VKF_OPTION(rerank_options, "files", FLAG, files),
    VKF_OPTION_WITHIN(rerank_options, "top", U32, top, 1, UINT32_MAX),
    VKF_OPTION_ROWS(rerank_options, format),
    {0},
};

// ---- output

static json_t *object_of(const vkf_text_item *document, const ranked *place, double score)
{
    json_t *object = json_object();
    vkf_json_put_integer(object, "index", place->index);
    json_object_set_new(object, "score", json_real(score));
    if (document->file)
        vkf_json_put_string(object, "file", document->file);
    else
        vkf_json_put_text(object, "text", document->text, document->size_bytes);
    return object;
}

static void print_row(const vkf_text_item *document, double score)
{
    printf("%9.6f  ", score);
    if (document->file)
        vkf_print_name(document->file, strlen(document->file));
    else
        vkf_print_text(document->text, document->size_bytes);
    putchar('\n');
}

enum { WITH_TEXTS = 1, WITH_FILES = 2 };

static const vkf_column columns[] = {
    {.title = "index", .key = "index", .number = "%.0f", .width = 1},
    {.title = "score", .key = "score", .number = "%.6f", .width = 1},
    {.title = "text", .key = "text", .when = WITH_TEXTS},
    {.title = "file", .key = "file", .when = WITH_FILES},
    {0},
};

// A table shows documents as they are, which objects of JSON need not have.
static bool print_ranking(const rerank_options *options, const vkf_text_items *documents, vkf_score_kind kind,
                          const ranked *ranking)
{
    const uint32_t count = options->top > 0 && options->top < documents->count ? options->top : documents->count;
    vkf_rows rows = {
        .format = options->format, .columns = columns, .with = options->files ? WITH_FILES : WITH_TEXTS, .digits = 9};
    bool printed = true;
    for (uint32_t i = 0; printed && i < count; i++) {
        const vkf_text_item *document = &documents->list[ranking[i].index];
        const double score = vkf_score_of(kind, ranking[i].logit);
        if (options->format == VKF_ROWS_TABLE)
            print_row(document, score);
        else
            printed = vkf_rows_add(&rows, object_of(document, &ranking[i], score));
    }
    return vkf_rows_end(&rows) && printed;
}

// ---- the run

// Equal ones stay in their order.
static int compare(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit > y->logit ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static bool check_head(const rerank_options *options, const vkf_embedder *embedder)
{
    vkf_model_config config;
    vkf_embedder_get_config(embedder, &config);
    if (config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION && config.head_outputs == 1)
        return true;
    if (config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION)
        vkf_print_error("'%s' has %u labels, and a cross-encoder that ranks has one; vkformer run --pair gives the "
                        "probability of each",
                        options->model_directory, config.head_outputs);
    else
        vkf_print_error("'%s' does not classify texts; a cross-encoder that ranks does, with one label",
                        options->model_directory);
    return false;
}

static bool score(const rerank_options *options, vkf_embedder *embedder, const vkf_text_items *documents,
                  const char *prompt, ranked *out_ranking)
{
    const uint32_t count = documents->count;
    vkf_progress progress = vkf_progress_start("scoring");
    vkf_text *texts = calloc(count, sizeof *texts), *pairs = calloc(count, sizeof *pairs);
    vkf_prediction *predictions = calloc(count, sizeof *predictions);
    uint32_t *token_counts = calloc(count, sizeof *token_counts);
    bool done = texts && pairs && predictions && token_counts;
    for (uint32_t i = 0; done && i < count; i++) {
        texts[i] = (vkf_text){options->query, strlen(options->query)};
        pairs[i] = (vkf_text){documents->list[i].text, documents->list[i].size_bytes};
    }
    const vkf_embed_args args = {.texts = texts,
                                 .pairs = pairs,
                                 .count = count,
                                 .prompt = prompt,
                                 .out_predictions = predictions,
                                 .out_token_counts = token_counts,
                                 .progress = vkf_progress_show,
                                 .progress_user = &progress};
    vkf_status status = done ? vkf_embedder_run(embedder, &args) : VKF_ERROR_OUT_OF_HOST_MEMORY;
    vkf_progress_end(&progress);
    if (status != VKF_OK)
        vkf_print_error("the documents cannot be scored: %s", vkf_status_text(status));
    done = status == VKF_OK && vkf_warn_of_cut_texts(embedder, &args, "divide long documents, and rank their parts");
    for (uint32_t i = 0; status == VKF_OK && i < count; i++) {
        out_ranking[i] = (ranked){i, predictions[i].logits[0]};
        vkf_prediction_free(&predictions[i]);
    }
    free(texts);
    free(pairs);
    free(predictions);
    free(token_counts);
    return done;
}

static bool rank(const rerank_options *options, vkf_embedder *embedder, const vkf_text_items *documents)
{
    vkf_rerank_settings settings = {0};
    ranked *ranking = calloc(documents->count, sizeof *ranking);
    if (!ranking) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    bool done = check_head(options, embedder) &&
                vkf_rerank_settings_load(options->model_directory, vkf_embedder_get_model(embedder), &settings) &&
                score(options, embedder, documents, settings.prompt, ranking);
    if (done) {
        qsort(ranking, documents->count, sizeof *ranking, compare);
        done = print_ranking(options, documents, settings.score, ranking);
    }
    vkf_rerank_settings_free(&settings);
    free(ranking);
    return done;
}

static bool load_and_rank(const rerank_options *options, const vkf_text_items *documents)
{
    vkf_context *context = NULL;
    vkf_embedder *embedder = NULL;
    const vkf_embedder_desc desc = {
        .directory = options->model_directory,
        .precision = options->precision,
        .quantization = options->quantization,
        .adapter_directory = options->adapter,
        .max_batch = options->batch > 0 || documents->count >= 8 ? options->batch : documents->count,
        .max_tokens = options->max_tokens,
        .head = true,
    };
    vkf_status status = vkf_open_context_aloud(&options->common, &context);
    if (status == VKF_OK) {
        status = vkf_embedder_load(context, &desc, &embedder);
        if (status != VKF_OK)
            vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
    }
    bool done = status == VKF_OK && rank(options, embedder, documents);
    vkf_embedder_destroy(&embedder);
    vkf_context_destroy(&context);
    return done;
}

static int run(void *user)
{
    rerank_options *options = user;
    vkf_text_items documents = {0};
    bool done = vkf_find_model(&options->model_directory) &&
                vkf_text_items_collect(&documents, options->arguments, options->argument_count, options->files);
    if (done && documents.count == 0) {
        vkf_print_error("there is no document to rank");
        done = false;
    }
    done = done && load_and_rank(options, &documents);
    vkf_text_items_free(&documents);
    return done ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_rerank(int argc, char **argv)
{
    rerank_options options = {.precision = VKF_MODEL_PRECISION_AUTO};
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}
