// The vkf_embedder object: turns texts into tokens, runs them in batches, and gives back embeddings.
#ifndef VKF_MODEL_EMBEDDER_H
#define VKF_MODEL_EMBEDDER_H

#include <vkformer/embed.h>

#include "model/family/labels.h"
#include "model/sentence/sentence_settings.h"
#include "model/session/session.h"
#include "model/text/text_model.h"
#include "model/text/tokenizer_config.h"

// Why a model makes no embeddings, for messages.

struct vkf_embedder {
    vkf_context *context;
    vkf__text_model text;
    vkf__tokenizer_config tokens;
    vkf__sentence_settings settings;
    vkf_session *session;
    uint32_t max_batch, max_tokens;
    int32_t *ids, *types; // (max_batch, max_tokens)
    uint32_t *lengths;    // (max_batch)
    float *embeddings;    // (max_batch, embedding_dim)
    uint32_t dim;         // elements of an embedding that the caller gets
    bool head;
    float *logits; // (max_batch, max_tokens or 1, head_outputs), with a head
    char **labels; // (label_count)
    uint32_t label_count;
};

// The prompt that texts get where a run names none; NULL where they get none.
const vkf_embed_prompt *vkf__embedder_default_prompt(const vkf_embedder *embedder);

VKF_MUST_CHECK vkf_status vkf__embedder_run(vkf_embedder *embedder, const vkf_embed_args *args);

#endif
