// What a cross-encoder's directory says of queries and scores, as sentence-transformers' CrossEncoder follows it.
#ifndef VKF_PROGRAM_RERANK_SETTINGS_H
#define VKF_PROGRAM_RERANK_SETTINGS_H

#include <stdbool.h>

#include <vkformer/model.h>

typedef enum vkf_score_kind {
    VKF_SCORE_SIGMOID = 0, // what a model that says nothing gets
    VKF_SCORE_IDENTITY,
} vkf_score_kind;

typedef struct vkf_rerank_settings {
    vkf_score_kind score;
    char *prompt; // in front of the query; NULL: none
} vkf_rerank_settings;

// Reads the activation: activation_fn of config_sentence_transformers.json, or of sentence_transformers in config.json,
// or what config.json called sbert_ce_default_activation_function before; and the prompt that default_prompt_name
// names. False: the activation is another one, or a file cannot be read; the reason has been printed.
bool vkf_rerank_settings_load(const char *directory, const vkf_model *model, vkf_rerank_settings *out_settings);
void vkf_rerank_settings_free(vkf_rerank_settings *settings);

double vkf_score_of(vkf_score_kind kind, float logit);

#endif
