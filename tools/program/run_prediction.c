// vkformer run: texts and what the head of an encoder says of them. Classes and tokens are scored as the pipelines of
// transformers do; an answer is the best stretch of tokens, and not made to begin and end with words.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_output.h"
#include "run_state.h"

#define MAX_ANSWER_TOKENS 15
#define CANDIDATES 5

typedef struct prediction {
    const run_options *options;
    vkf_context *context;
    vkf_embedder *embedder;
    vkf_model_config config;
    vkf_text_source source;
    uint32_t batch;
    vkf_text_line *lines;        // (batch)
    vkf_text *texts, *pairs;     // (batch)
    vkf_prediction *predictions; // (batch)
} prediction;

// ---- scores

static void softmax(const float *logits, size_t count, double *out_scores)
{
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, (double)logits[i]);
    for (size_t i = 0; i < count; i++)
        sum += out_scores[i] = exp((double)logits[i] - largest);
    for (size_t i = 0; i < count; i++)
        out_scores[i] /= sum;
}

// As transformers' text-classification pipeline: nothing done to what a regression says, each label by itself where
// several may hold or there is one alone.
static void class_scores(const vkf_model_config *config, const float *logits, size_t count, double *out_scores)
{
    bool apart = config->head_multi_label || count == 1;
    if (!config->head_regression && !apart) {
        softmax(logits, count, out_scores);
        return;
    }
    for (size_t i = 0; i < count; i++)
        out_scores[i] = config->head_regression ? (double)logits[i] : 1.0 / (1.0 + exp(-(double)logits[i]));
}

static size_t best_of(const double *scores, size_t count)
{
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (scores[i] > scores[best])
            best = i;
    return best;
}

// ---- one text of each kind, as JSON

static json_t *labelled(const prediction *p, size_t index, double score)
{
    json_t *object = json_object();
    vkf_json_put_string(object, "label", vkf_embedder_label(p->embedder, (uint32_t)index));
    json_object_set_new(object, "score", json_real(score));
    return object;
}

static void describe_classes(const prediction *p, const vkf_prediction *of, double *scores, json_t *object)
{
    json_t *labels = json_array();
    class_scores(&p->config, of->logits, of->cols, scores);
    json_array_append_new(labels, labelled(p, best_of(scores, of->cols), scores[best_of(scores, of->cols)]));
    for (size_t i = 0; i < of->cols; i++)
        if (i != best_of(scores, of->cols))
            json_array_append_new(labels, labelled(p, i, scores[i]));
    json_object_set_new(object, "labels", labels);
}

static void put_span(json_t *object, const vkf_text *text, size_t begin, size_t end)
{
    json_object_set_new(object, "text", json_stringn(text->bytes + begin, end - begin));
    vkf_json_put_integer(object, "start", begin);
    vkf_json_put_integer(object, "end", end);
}

static void describe_tokens(const prediction *p, const vkf_prediction *of, const vkf_text *text, double *scores,
                            json_t *object)
{
    json_t *tokens = json_array();
    for (uint32_t t = 0; t < of->rows; t++) {
        if (of->tokens.special_tokens_mask[t] || of->tokens.sequences[t] != 0)
            continue;
        softmax(of->logits + (size_t)t * of->cols, of->cols, scores);
        size_t best = best_of(scores, of->cols);
        json_t *token = labelled(p, best, scores[best]);
        put_span(token, text, of->tokens.offsets[t].begin, of->tokens.offsets[t].end);
        json_array_append_new(tokens, token);
    }
    json_object_set_new(object, "tokens", tokens);
}

// The best stretch of the context, no longer than an answer is, by the product of its ends' probabilities among the
// context's tokens.
static void describe_answer(const vkf_prediction *of, const vkf_text *context, json_t *object)
{
    double sums[2] = {0}, best = -INFINITY;
    size_t from = SIZE_MAX, to = 0;
    for (uint32_t t = 0; t < of->rows; t++)
        for (int end = 0; end < 2 && of->tokens.sequences[t] == 1; end++)
            sums[end] += exp((double)of->logits[2 * t + (uint32_t)end]);
    for (uint32_t s = 0; s < of->rows; s++)
        for (uint32_t e = s; e < of->rows && e < s + MAX_ANSWER_TOKENS && of->tokens.sequences[s] == 1; e++) {
            double score = (double)of->logits[2 * s] + (double)of->logits[2 * e + 1];
            if (of->tokens.sequences[e] != 1 || !(score > best))
                continue;
            best = score;
            from = of->tokens.offsets[s].begin;
            to = of->tokens.offsets[e].end;
        }
    if (from == SIZE_MAX)
        return;
    json_t *answer = json_object();
    put_span(answer, context, from, to);
    json_object_set_new(answer, "score", json_real(exp(best) / sums[0] / sums[1]));
    json_object_set_new(object, "answer", answer);
}

static json_t *candidates(const prediction *p, double *scores, uint32_t count)
{
    json_t *list = json_array();
    for (int i = 0; i < CANDIDATES && (uint32_t)i < count; i++) {
        size_t best = best_of(scores, count);
        json_t *candidate = json_object();
        vkf_json_put_string(candidate, "token", vkf_embedder_token(p->embedder, (int32_t)best));
        json_object_set_new(candidate, "score", json_real(scores[best]));
        json_array_append_new(list, candidate);
        scores[best] = -1;
    }
    return list;
}

static void describe_masks(const prediction *p, const vkf_prediction *of, double *scores, json_t *object)
{
    json_t *masks = json_array();
    for (uint32_t t = 0; t < of->rows; t++) {
        const char *token = vkf_embedder_token(p->embedder, of->tokens.ids[t]);
        if (!token || (strcmp(token, "[MASK]") != 0 && strcmp(token, "<mask>") != 0))
            continue;
        softmax(of->logits + (size_t)t * of->cols, of->cols, scores);
        json_array_append_new(masks, candidates(p, scores, of->cols));
    }
    json_object_set_new(object, "masks", masks);
}

// NULL: memory is exhausted.
static json_t *describe(const prediction *p, uint32_t index)
{
    const vkf_prediction *of = &p->predictions[index];
    json_t *object = json_object();
    double *scores = calloc(of->cols, sizeof *scores);
    vkf_json_put_string(object, "text", p->lines[index].text);
    if (scores && p->config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION)
        describe_classes(p, of, scores, object);
    if (scores && p->config.head == VKF_HEAD_TOKEN_CLASSIFICATION)
        describe_tokens(p, of, &p->texts[index], scores, object);
    if (scores && p->config.head == VKF_HEAD_QUESTION_ANSWERING)
        describe_answer(of, &p->pairs[index], object);
    if (scores && p->config.head == VKF_HEAD_MASKED_LM)
        describe_masks(p, of, scores, object);
    if (!scores) {
        json_decref(object);
        object = NULL;
    }
    free(scores);
    return object;
}

// ---- the same as text: what is most probable

static const char *string_in(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void print_text(const prediction *p, const json_t *object)
{
    const json_t *answer = json_object_get(object, "answer"), *item;
    size_t i;
    if (p->config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION) {
        item = json_array_get(json_object_get(object, "labels"), 0);
        printf("%s %.4f", string_in(item, "label"), json_real_value(json_object_get(item, "score")));
    }
    json_array_foreach(json_object_get(object, "tokens"), i, item)
        printf("%s%s/%s", i > 0 ? " " : "", string_in(item, "text"), string_in(item, "label"));
    json_array_foreach(json_object_get(object, "masks"), i, item)
        printf("%s%s", i > 0 ? " " : "", string_in(json_array_get(item, 0), "token"));
    if (answer)
        fputs(string_in(answer, "text"), stdout);
    putchar('\n');
}

static bool print_one(const prediction *p, uint32_t index)
{
    json_t *object = describe(p, index);
    if (p->options->json || !object)
        return vkf_print_json(object);
    print_text(p, object);
    json_decref(object);
    return true;
}

// ---- batches

static bool load(prediction *p)
{
    const run_options *options = p->options;
    if (vkf_open_context(&options->common, &p->context) != VKF_OK)
        return false;
    const vkf_embedder_desc desc = {
        .directory = options->model_directory,
        .precision = options->precision,
        .quantization = options->quantization,
        .max_batch = p->batch,
        .head = true,
    };
    vkf_status status = vkf_embedder_create(p->context, &desc, &p->embedder);
    if (status != VKF_OK) {
        vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
        return false;
    }
    vkf_embedder_get_config(p->embedder, &p->config);
    if (p->config.head != VKF_HEAD_QUESTION_ANSWERING || options->pair)
        return true;
    vkf_print_error("the model answers questions on a text; give it with --pair");
    return false;
}

static bool prepare(prediction *p)
{
    p->batch = vkf_run_batch_size(p->options);
    p->source = vkf_run_source(p->options);
    p->lines = calloc(p->batch, sizeof *p->lines);
    p->texts = calloc(p->batch, sizeof *p->texts);
    p->pairs = calloc(p->batch, sizeof *p->pairs);
    p->predictions = calloc(p->batch, sizeof *p->predictions);
    if (p->lines && p->texts && p->pairs && p->predictions)
        return load(p);
    vkf_print_error("memory is exhausted");
    return false;
}

static bool predict(prediction *p, uint32_t count)
{
    const vkf_embed_args args = {
        .texts = p->texts,
        .pairs = p->options->pair ? p->pairs : NULL,
        .count = count,
        .out_predictions = p->predictions,
    };
    vkf_status status = vkf_embedder_run(p->embedder, &args);
    if (status != VKF_OK)
        vkf_print_error("the texts cannot be run: %s", vkf_status_text(status));
    for (uint32_t i = 0; status == VKF_OK && i < count; i++)
        if (!print_one(p, i))
            return false;
    fflush(stdout);
    return status == VKF_OK;
}

static void clear(prediction *p)
{
    for (uint32_t i = 0; p->lines && i < p->batch; i++)
        vkf_text_line_clear(&p->lines[i]);
    for (uint32_t i = 0; p->predictions && i < p->batch; i++)
        vkf_prediction_free(&p->predictions[i]);
}

static bool predict_all(prediction *p)
{
    const char *pair = p->options->pair ? p->options->pair : "";
    vkf_text_result result = VKF_TEXT_TAKEN;
    while (result == VKF_TEXT_TAKEN) {
        uint32_t count = 0;
        while (count < p->batch && (result = vkf_text_source_next(&p->source, &p->lines[count])) == VKF_TEXT_TAKEN) {
            p->texts[count] = (vkf_text){p->lines[count].text, p->lines[count].size_bytes};
            p->pairs[count++] = (vkf_text){pair, strlen(pair)};
        }
        bool done = result != VKF_TEXT_FAILED && (count == 0 || predict(p, count));
        clear(p);
        if (!done)
            return false;
    }
    return true;
}

bool vkf_run_prediction(const run_options *options)
{
    prediction p = {.options = options};
    bool done = prepare(&p) && predict_all(&p);
    clear(&p);
    free(p.lines);
    free(p.texts);
    free(p.pairs);
    free(p.predictions);
    vkf_embedder_destroy(&p.embedder);
    vkf_context_destroy(&p.context);
    return done;
}
