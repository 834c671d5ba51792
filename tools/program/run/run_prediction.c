// vkformer run: passes texts batch by batch through an encoder with a head, and prints its predictions. A text to
// answer questions from may be longer than the model takes: it runs window by window.
#include "run/run_prediction.h"

#include <stdio.h>
#include <stdlib.h>

#include "output/json_output.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "run/run_encoder.h"

// ---- as text: the most probable result

static const char *string_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void print_text(const run_prediction *p, const json_t *object)
{
    const json_t *item;
    size_t i;
    if (p->config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION) {
        item = json_array_get(json_object_get(object, "labels"), 0);
        vkf_print("%s %.4f", string_in(item, "label"), json_real_value(json_object_get(item, "score")));
    }
    json_array_foreach(json_object_get(object, "tokens"), i, item)
        vkf_print("%s%s/%s", i > 0 ? " " : "", string_in(item, "word"), string_in(item, "entity"));
    json_array_foreach(json_object_get(object, "masks"), i, item)
        vkf_print("%s%s", i > 0 ? " " : "", string_in(json_array_get(item, 0), "token_str"));
    vkf_print("%s\n", string_in(json_object_get(object, "answer"), "answer"));
}

// Prints and releases the object. False: the reason has been printed.
static bool print_object(const run_prediction *p, json_t *object)
{
    if (p->options->json || !object)
        return vkf_print_json(object);
    print_text(p, object);
    json_decref(object);
    return true;
}

// NULL: memory is exhausted.
static json_t *describe(const run_prediction *p, uint32_t index)
{
    json_t *object = json_object();
    const vkf_text text = {p->lines[index].text, p->lines[index].size_bytes};
    const vkf_text pair = {p->pair.text, p->pair.size_bytes};
    json_object_set_new(object, "text", json_stringn(text.bytes, text.size_bytes));
    if (p->config.head == VKF_HEAD_QUESTION_ANSWERING) {
        json_object_set_new(object, "answer", vkf_describe_answer(&p->answers[index], &pair));
        return object;
    }
    if (vkf_describe_prediction(p, &p->predictions[index], &text, object))
        return object;
    json_decref(object);
    return NULL;
}

// ---- the model

static bool load(run_prediction *p)
{
    const run_options *options = p->options;
    if (vkf_open_context_aloud(&options->common, &p->context) != VKF_OK)
        return false;
    const vkf_embedder_desc desc = {
        .directory = options->model_directory,
        .precision = options->precision,
        .quantization = options->quantization,
        .adapter_directory = options->adapter,
        .max_batch = p->batch,
        .max_tokens = options->context, // for a decoder that classifies
        .head = true,
    };
    vkf_status status = vkf_embedder_load(p->context, &desc, &p->embedder);
    if (status != VKF_OK) {
        vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
        return false;
    }
    vkf_embedder_get_config(p->embedder, &p->config);
    vkf_embedder_get_special_tokens(p->embedder, &p->special);
    if (p->config.head != VKF_HEAD_QUESTION_ANSWERING || options->pair)
        return true;
    vkf_print_error("the model answers questions on a text; give it with --pair");
    return false;
}

static bool take_pair(run_prediction *p)
{
    char *const pair[1] = {(char *)p->options->pair};
    vkf_text_source source = {.texts = pair, .text_count = 1, .unit = "text"};
    return !p->options->pair ||
           (vkf_text_source_next(&source, &p->pair) == VKF_LINE_TAKEN && vkf_text_line_make_valid(&p->pair));
}

static bool prepare(run_prediction *p)
{
    p->batch = vkf_run_batch_size(p->options);
    p->source = vkf_run_source(p->options);
    p->lines = calloc(p->batch, sizeof *p->lines);
    p->answers = calloc(p->batch, sizeof *p->answers);
    p->texts = calloc(p->batch, sizeof *p->texts);
    p->pairs = calloc(p->batch, sizeof *p->pairs);
    p->windows = calloc(p->batch, sizeof *p->windows);
    p->predictions = calloc(p->batch, sizeof *p->predictions);
    p->slots = calloc(p->batch, sizeof *p->slots);
    p->window_count = calloc(p->batch, sizeof *p->window_count);
    if (p->lines && p->answers && p->texts && p->pairs && p->windows && p->predictions && p->slots && p->window_count)
        return take_pair(p) && load(p);
    vkf_print_error("memory is exhausted");
    return false;
}

// ---- batches

static void free_predictions(run_prediction *p)
{
    for (uint32_t i = 0; p->predictions && i < p->batch; i++)
        vkf_prediction_free(&p->predictions[i]);
}

// Question answering truncates only the text that holds the answer, as transformers' pipeline does.
static vkf_encode_options window_of(const run_prediction *p, uint32_t window)
{
    uint32_t length = p->config.truncate_len < VKF_ANSWER_MAX_LENGTH ? p->config.truncate_len : VKF_ANSWER_MAX_LENGTH;
    if (p->config.head != VKF_HEAD_QUESTION_ANSWERING)
        return (vkf_encode_options){0};
    return (vkf_encode_options){
        .truncation = VKF_TRUNCATION_ONLY_SECOND,
        .max_length = length,
        .window = window,
        .stride = length / 2 < VKF_ANSWER_MAX_STRIDE ? length / 2 : VKF_ANSWER_MAX_STRIDE,
    };
}

// Runs one window of every line that has that many windows; *out_count lines do.
static bool run_window(run_prediction *p, uint32_t count, uint32_t window, uint32_t *out_count)
{
    uint32_t rows = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (window >= p->window_count[i])
            continue;
        p->texts[rows] = (vkf_text){p->lines[i].text, p->lines[i].size_bytes};
        p->pairs[rows] = (vkf_text){p->pair.text, p->pair.size_bytes};
        p->windows[rows] = window_of(p, window);
        p->slots[rows++] = i;
    }
    *out_count = rows;
    if (rows == 0)
        return true;
    const vkf_embed_args args = {
        .texts = p->texts,
        .pairs = p->pair.text ? p->pairs : NULL,
        .options = p->windows,
        .count = rows,
        .out_predictions = p->predictions,
    };
    vkf_status status = vkf_embedder_run(p->embedder, &args);
    if (status != VKF_OK)
        vkf_print_error("the texts cannot be run: %s", vkf_status_text(status));
    return status == VKF_OK;
}

static bool collect_answers(run_prediction *p, uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++) {
        p->window_count[p->slots[row]] = p->predictions[row].tokens.windows;
        if (vkf_answers_add(&p->answers[p->slots[row]], &p->predictions[row], p->special.cls_id, &p->pairs[row]))
            continue;
        vkf_print_error("memory is exhausted");
        return false;
    }
    return true;
}

static bool draw_first(const run_prediction *p)
{
    vkf_encode_options cut = window_of(p, 0);
    if (cut.max_length == 0)
        cut = (vkf_encode_options){.truncation = VKF_TRUNCATION_LONGEST_FIRST, .max_length = p->config.truncate_len};
    return !p->options->attention.path || p->lines[0].number != 1 ||
           vkf_run_draw_encoder(p->options, p->embedder, &p->lines[0], &p->pair, &cut);
}

static bool predict(run_prediction *p, uint32_t count)
{
    bool answers = p->config.head == VKF_HEAD_QUESTION_ANSWERING;
    for (uint32_t i = 0; i < count; i++)
        p->window_count[i] = 1;
    uint32_t rows = count;
    for (uint32_t window = 0; rows > 0 && (answers || window == 0); window++) {
        free_predictions(p);
        if (!run_window(p, count, window, &rows) || (answers && !collect_answers(p, rows)))
            return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!print_object(p, describe(p, i)))
            return false;
    (void)vkf_flush_stdout();
    return draw_first(p);
}

static void clear(run_prediction *p)
{
    for (uint32_t i = 0; p->lines && i < p->batch; i++)
        vkf_text_line_clear(&p->lines[i]);
    for (uint32_t i = 0; p->answers && i < p->batch; i++)
        vkf_answers_free(&p->answers[i]);
    free_predictions(p);
}

static bool predict_all(run_prediction *p)
{
    vkf_line_result result = VKF_LINE_TAKEN;
    while (result == VKF_LINE_TAKEN) {
        uint32_t count = 0;
        bool done = true;
        while (done && count < p->batch &&
               (result = vkf_text_source_next(&p->source, &p->lines[count])) == VKF_LINE_TAKEN)
            done = vkf_text_line_make_valid(&p->lines[count++]);
        done = done && result != VKF_LINE_FAILED && (count == 0 || predict(p, count));
        clear(p);
        if (!done)
            return false;
    }
    return true;
}

bool vkf_run_prediction(const run_options *options)
{
    run_prediction p = {.options = options};
    bool done = prepare(&p) && predict_all(&p);
    clear(&p);
    vkf_text_line_clear(&p.pair);
    free(p.lines);
    free(p.answers);
    free(p.texts);
    free(p.pairs);
    free(p.windows);
    free(p.predictions);
    free(p.slots);
    free(p.window_count);
    vkf_embedder_destroy(&p.embedder);
    vkf_context_destroy(&p.context);
    return done;
}
