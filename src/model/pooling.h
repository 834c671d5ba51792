// What sentence-transformers put beside a model: how the hidden states become an embedding.
#ifndef VKF_MODEL_POOLING_H
#define VKF_MODEL_POOLING_H

#include <vkformer/model.h>

#include "base/host.h"

// Reads directory/modules.json, the Pooling module's config.json and sentence_bert_config.json, as far as they are there,
// into the configuration's pooling, normalise and truncate_len. Without them: the mean, not normalised, no truncation
// before max_source_len. Statuses: FILE, FORMAT (names file and key), UNSUPPORTED (another kind of module, several ways
// of pooling at once), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pooling_load(const vkf__host *host, const char *directory, vkf_model_config *config);

#endif
