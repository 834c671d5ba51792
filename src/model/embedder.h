// The vkf_embedder object: texts to tokens to batches to embeddings.
#ifndef VKF_MODEL_EMBEDDER_H
#define VKF_MODEL_EMBEDDER_H

#include <vkformer/embed.h>

#include "model/session.h"
#include "model/text_model.h"

struct vkf_embedder {
    vkf_context *context;
    vkf__text_model text;
    vkf_session *session;
    uint32_t max_batch, max_tokens;
    int32_t *ids, *types; // (max_batch, max_tokens)
    int32_t *lengths;     // (max_batch)
    float *embeddings;    // (max_batch, d_model)
};

VKF_MUST_CHECK vkf_status vkf__embedder_run(vkf_embedder *embedder, const vkf_embed_args *args);

#endif
