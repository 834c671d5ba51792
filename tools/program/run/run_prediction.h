// What the parts of `vkformer run` on an encoder with a head share: what transformers' pipelines make of its logits.
#ifndef VKF_PROGRAM_RUN_PREDICTION_H
#define VKF_PROGRAM_RUN_PREDICTION_H

#include <jansson.h>

#include "run/run_state.h"

// Of the pipeline for question answering.
#define VKF_ANSWER_MAX_LENGTH 384 // of a window, in tokens
#define VKF_ANSWER_MAX_STRIDE 128

typedef struct run_prediction {
    const run_options *options;
    vkf_context *context;
    vkf_embedder *embedder;
    vkf_model_config config;
    vkf_special_tokens special;
    vkf_text_source source;
    vkf_text_line pair; // its text is NULL: not given
    uint32_t batch;
    vkf_text_line *lines;           // (batch), valid UTF-8
    struct vkf_answers *answers;    // (batch), of a model that answers questions
    vkf_text *texts, *pairs;        // (batch), of the lines that run
    vkf_encode_options *windows;    // the same
    vkf_prediction *predictions;    // the same
    uint32_t *slots, *window_count; // (batch): which line each of them is; of each line
} run_prediction;

// A stretch of a text, and how probable it is that it answers the question.
typedef struct vkf_answer {
    double score;
    size_t begin, end; // in bytes
} vkf_answer;

typedef struct vkf_answers {
    vkf_answer *list;
    size_t count;
} vkf_answers;

// Probabilities: the softmax of `count` logits that stand `step` apart; those that `excluded` (NULL: none) has are nothing.
void vkf_probabilities(const float *logits, size_t count, size_t step, const bool *excluded, double *out_scores);

// Adds what a window of the text says. False: memory is exhausted.
bool vkf_answers_add(vkf_answers *answers, const vkf_prediction *of, int32_t cls_id, const vkf_text *text);
// The best answer, as the pipeline writes it; where there is none, an empty one.
json_t *vkf_describe_answer(const vkf_answers *answers, const vkf_text *text);
void vkf_answers_free(vkf_answers *answers);

// What the other heads say of a text: adds it to the object under the key "labels", "tokens" or "masks". False: memory is
// exhausted.
bool vkf_describe_prediction(const run_prediction *p, const vkf_prediction *of, const vkf_text *text, json_t *object);

// Begin and end of a stretch of a text, which is valid UTF-8, in characters, as Python counts: "start" and "end".
void vkf_put_span(json_t *object, const vkf_text *text, size_t begin, size_t end);

#endif
