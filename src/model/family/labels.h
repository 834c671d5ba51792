// The classes of a classifier, as config.json has them.
#ifndef VKF_MODEL_LABELS_H
#define VKF_MODEL_LABELS_H

#include <jansson.h>

#include "base/host.h"

// The number of classes as transformers counts them: the names of id2label, or num_labels without names, or else two.
uint32_t vkf__label_count(const json_t *root);

// Loads the names of the classes from the directory's config.json. Ownership: vkf__labels_free().
// Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__labels_load(const vkf__host *host, const char *directory, char ***out_labels,
                                           uint32_t *out_count);
void vkf__labels_free(const vkf__host *host, char **labels, uint32_t count);

#endif
