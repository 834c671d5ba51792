// The vkf_embedder object: texts to tokens to batches to embeddings.
#ifndef VKF_MODEL_EMBEDDER_H
#define VKF_MODEL_EMBEDDER_H

#include <vkformer/embed.h>

#include "model/session.h"
#include "model/text_model.h"
#include "model/tokenizer_config.h"

struct vkf_embedder {
    vkf_context *context;
    vkf__text_model text;
    vkf__tokenizer_config tokens;
    vkf_session *session;
    uint32_t max_batch, max_tokens;
    int32_t *ids, *types; // (max_batch, max_tokens)
    int32_t *lengths;     // (max_batch)
    float *embeddings;    // (max_batch, d_model)
    bool head;
    float *logits; // (max_batch, max_tokens or 1, head_outputs), with a head
    char **labels; // (label_count)
    uint32_t label_count;
};

// The names of classes, from the directory's config.json. Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__labels_load(const vkf__host *host, const char *directory, char ***out_labels,
                                           uint32_t *out_count);
void vkf__labels_free(const vkf__host *host, char **labels, uint32_t count);

VKF_MUST_CHECK vkf_status vkf__embedder_run(vkf_embedder *embedder, const vkf_embed_args *args);

#endif
