// What the parts of `vkformer run` on an encoder with a head share: what transformers' pipelines make of its logits.
#ifndef VKF_PROGRAM_RUN_PREDICTION_H
#define VKF_PROGRAM_RUN_PREDICTION_H

#include <jansson.h>

#include "run/run_state.h"

// The pipeline for question answering has these values.
#define VKF_ANSWER_MAX_LENGTH 384 // of a window, in tokens
#define VKF_ANSWER_MAX_STRIDE 128

typedef struct run_prediction {
    const run_options *options;
    vkf_context *context;
    vkf_embedder *embedder;
    vkf_model_config config;
    vkf_special_tokens special;
    vkf_text_source source;
    vkf_text_line pair; // its text is NULL when not given
    uint32_t batch;
    vkf_text_line *lines;           // (batch), valid UTF-8
    struct vkf_answers *answers;    // (batch), for a model that answers questions
    vkf_text *texts, *pairs;        // (batch), of the lines that run
    vkf_encode_options *windows;    // for each of them
    vkf_prediction *predictions;    // for each of them
    uint32_t *slots, *window_count; // (batch): the line of each of them; windows of each line
} run_prediction;

// A span of a text, and how probable it is that it answers the question.
typedef struct vkf_answer {
    double score;
    size_t begin, end; // in bytes
} vkf_answer;

typedef struct vkf_answers {
    vkf_answer *list;
    size_t count;
} vkf_answers;

// Computes the softmax of `count` logits that are `step` apart. Those marked in `excluded` (may be NULL) get
// probability 0.
void vkf_probabilities(const float *logits, size_t count, size_t step, const bool *excluded, double *out_scores);

// Adds the candidates of a window of the text. False: memory is exhausted.
bool vkf_answers_add(vkf_answers *answers, const vkf_prediction *of, int32_t cls_id, const vkf_text *text);
// The best answer as the pipeline writes it; an empty one where there is none.
json_t *vkf_describe_answer(const vkf_answers *answers, const vkf_text *text);
void vkf_answers_free(vkf_answers *answers);

// Describes the results of the other heads, and adds them to the object under the key "labels", "tokens" or "masks".
// False: memory is exhausted.
bool vkf_describe_prediction(const run_prediction *p, const vkf_prediction *of, const vkf_text *text, json_t *object);

// Puts "start" and "end" of a span of a text, which is valid UTF-8, counted in characters as Python does.
void vkf_put_span(json_t *object, const vkf_text *text, size_t begin, size_t end);

#endif
