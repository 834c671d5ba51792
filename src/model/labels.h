// The classes of a classifier, as config.json has them.
#ifndef VKF_MODEL_LABELS_H
#define VKF_MODEL_LABELS_H

#include <jansson.h>

#include "base/host.h"

// As transformers counts them: the names of id2label, or num_labels where there are none, or else two.
uint32_t vkf__label_count(const json_t *root);

// The names of classes, from the directory's config.json. Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__labels_load(const vkf__host *host, const char *directory, char ***out_labels,
                                           uint32_t *out_count);
void vkf__labels_free(const vkf__host *host, char **labels, uint32_t count);

#endif
