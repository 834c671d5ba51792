// Describes the results of encoder heads as transformers' pipelines do: "text-classification" with all labels,
// "token-classification" and "fill-mask".
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output/json_output.h"
#include "run/run_prediction.h"

#define MASK_CANDIDATES 5
#define NO_ENTITY "O"

// ---- scores

void vkf_probabilities(const float *logits, size_t count, size_t step, const bool *excluded, double *out_scores)
{
    double largest = -INFINITY, sum = 0;
    for (size_t i = 0; i < count; i++)
        if (!excluded || !excluded[i])
            largest = fmax(largest, (double)logits[i * step]);
    for (size_t i = 0; i < count; i++)
        sum += out_scores[i] = excluded && excluded[i] ? 0 : exp((double)logits[i * step] - largest);
    for (size_t i = 0; i < count && sum > 0; i++)
        out_scores[i] /= sum;
}

// The logits of a regression are the scores. Labels are independent where several may apply or there is only one.
static void class_scores(const vkf_model_config *config, const float *logits, size_t count, double *out_scores)
{
    bool apart = config->head_multi_label || count == 1;
    if (!config->head_regression && !apart) {
        vkf_probabilities(logits, count, 1, NULL, out_scores);
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

// ---- classes

static json_t *describe_classes(const run_prediction *p, const vkf_prediction *of, double *scores)
{
    json_t *labels = json_array();
    class_scores(&p->config, of->logits, of->cols, scores);
    for (uint32_t i = 0; i < of->cols; i++) {
        size_t best = best_of(scores, of->cols);
        json_t *label = json_object();
        vkf_json_put_string(label, "label", vkf_embedder_get_label(p->embedder, (uint32_t)best));
        json_object_set_new(label, "score", json_real(scores[best]));
        json_array_append_new(labels, label);
        scores[best] = -INFINITY;
    }
    return labels;
}

// ---- tokens

static size_t count_characters(const char *text, size_t begin, size_t end)
{
    size_t count = 0;
    for (size_t at = begin; at < end; at++)
        count += ((unsigned char)text[at] & 0xc0u) != 0x80u;
    return count;
}

void vkf_put_span(json_t *object, const vkf_text *text, size_t begin, size_t end)
{
    size_t start = count_characters(text->bytes, 0, begin);
    vkf_json_put_integer(object, "start", start);
    vkf_json_put_integer(object, "end", start + count_characters(text->bytes, begin, end));
}

// A token that the vocabulary does not know is shown as its text.
static json_t *word_of(const run_prediction *p, const vkf_encoding *tokens, uint32_t index, const vkf_text *text)
{
    const vkf_text_range *range = &tokens->offsets[index];
    const char *token = vkf_tokenizer_id_to_token(vkf_embedder_get_tokenizer(p->embedder), tokens->ids[index]);
    if (tokens->ids[index] == p->special.unk_id || !token)
        return json_stringn(text->bytes + range->begin, range->end - range->begin);
    return json_string(token);
}

static json_t *describe_tokens(const run_prediction *p, const vkf_prediction *of, const vkf_text *text, double *scores)
{
    json_t *tokens = json_array();
    for (uint32_t t = 0; t < of->rows; t++) {
        if (of->tokens.special_tokens_mask[t] || of->tokens.sequences[t] != 0)
            continue;
        vkf_probabilities(of->logits + (size_t)t * of->cols, of->cols, 1, NULL, scores);
        size_t best = best_of(scores, of->cols);
        const char *label = vkf_embedder_get_label(p->embedder, (uint32_t)best);
        if (label && strcmp(label, NO_ENTITY) == 0)
            continue;
        json_t *token = json_object();
        vkf_json_put_string(token, "entity", label);
        json_object_set_new(token, "score", json_real(scores[best]));
        vkf_json_put_integer(token, "index", t);
        json_object_set_new(token, "word", word_of(p, &of->tokens, t, text));
        vkf_put_span(token, text, of->tokens.offsets[t].begin, of->tokens.offsets[t].end);
        json_array_append_new(tokens, token);
    }
    return tokens;
}

// ---- masks

// JSON's null when memory is exhausted.
static json_t *decoded(const run_prediction *p, const int32_t *ids, uint32_t count, bool skip_special)
{
    const vkf_tokenizer *tokenizer = vkf_embedder_get_tokenizer(p->embedder);
    size_t bytes = 0;
    char *text = NULL;
    vkf_status status = vkf_tokenizer_decode(tokenizer, ids, count, skip_special, &bytes, NULL);
    if (status == VKF_OK && (text = malloc(++bytes)) != NULL)
        status = vkf_tokenizer_decode(tokenizer, ids, count, skip_special, &bytes, text);
    json_t *string = status == VKF_OK && text ? json_stringn(text, bytes) : NULL;
    free(text);
    return string ? string : json_null();
}

// The whole text with one mask filled. If there are other masks, they are left in the text, and so are special tokens.
static json_t *filled(const run_prediction *p, const vkf_encoding *tokens, uint32_t mask, int32_t id, bool only_mask)
{
    int32_t *ids = malloc((tokens->count + (size_t)1) * sizeof *ids);
    uint32_t count = 0;
    for (uint32_t t = 0; ids && t < tokens->count; t++) {
        ids[count] = t == mask ? id : tokens->ids[t];
        count += ids[count] != p->special.pad_id;
    }
    json_t *text = ids ? decoded(p, ids, count, only_mask) : json_null();
    free(ids);
    return text;
}

static json_t *candidates(const run_prediction *p, const vkf_prediction *of, uint32_t mask, bool only_mask,
                          double *scores)
{
    json_t *list = json_array();
    vkf_probabilities(of->logits + (size_t)mask * of->cols, of->cols, 1, NULL, scores);
    for (uint32_t i = 0; i < MASK_CANDIDATES && i < of->cols; i++) {
        int32_t best = (int32_t)best_of(scores, of->cols);
        json_t *candidate = json_object();
        json_object_set_new(candidate, "score", json_real(scores[best]));
        vkf_json_put_integer(candidate, "token", (uint64_t)best);
        json_object_set_new(candidate, "token_str", decoded(p, &best, 1, false));
        json_object_set_new(candidate, "sequence", filled(p, &of->tokens, mask, best, only_mask));
        json_array_append_new(list, candidate);
        scores[best] = -1;
    }
    return list;
}

static json_t *describe_masks(const run_prediction *p, const vkf_prediction *of, double *scores)
{
    json_t *masks = json_array();
    uint32_t count = 0;
    for (uint32_t t = 0; t < of->rows; t++)
        count += of->tokens.ids[t] == p->special.mask_id;
    for (uint32_t t = 0; t < of->rows; t++)
        if (of->tokens.ids[t] == p->special.mask_id)
            json_array_append_new(masks, candidates(p, of, t, count == 1, scores));
    return masks;
}

bool vkf_describe_prediction(const run_prediction *p, const vkf_prediction *of, const vkf_text *text, json_t *object)
{
    double *scores = calloc(of->cols, sizeof *scores);
    if (!scores)
        return false;
    if (p->config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION)
        json_object_set_new(object, "labels", describe_classes(p, of, scores));
    if (p->config.head == VKF_HEAD_TOKEN_CLASSIFICATION)
        json_object_set_new(object, "tokens", describe_tokens(p, of, text, scores));
    if (p->config.head == VKF_HEAD_MASKED_LM)
        json_object_set_new(object, "masks", describe_masks(p, of, scores));
    free(scores);
    return true;
}
