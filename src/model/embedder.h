// The vkf_embedder object: texts to tokens to batches to embeddings.
#ifndef VKF_MODEL_EMBEDDER_H
#define VKF_MODEL_EMBEDDER_H

#include <vkformer/embed.h>

#include "model/labels.h"
#include "model/sentence_settings.h"
#include "model/session.h"
#include "model/text_model.h"
#include "model/tokenizer_config.h"

struct vkf_embedder {
    vkf_context *context;
    vkf__text_model text;
    vkf__tokenizer_config tokens;
    vkf__sentence_settings settings;
    vkf_session *session;
    uint32_t max_batch, max_tokens;
    int32_t *ids, *types; // (max_batch, max_tokens)
    int32_t *lengths;     // (max_batch)
    float *embeddings;    // (max_batch, embedding_dim)
    uint32_t dim;         // elements of an embedding that are given
    bool head;
    float *logits; // (max_batch, max_tokens or 1, head_outputs), with a head
    char **labels; // (label_count)
    uint32_t label_count;
};

// What texts get where a run names no prompt; NULL: nothing.
const vkf_embed_prompt *vkf__embedder_default_prompt(const vkf_embedder *embedder);

VKF_MUST_CHECK vkf_status vkf__embedder_run(vkf_embedder *embedder, const vkf_embed_args *args);

#endif
