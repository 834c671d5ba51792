// adapter_config.json, as Hugging Face's PEFT writes it: what scales an adapter's products, and what is not supported.
#ifndef VKF_MODEL_ADAPTER_CONFIG_H
#define VKF_MODEL_ADAPTER_CONFIG_H

#include <jansson.h>

#include "base/host.h"

// Names of modules, or ends of them behind a dot. A module is found in a time that does not depend on how many there
// are.
typedef struct vkf__module_names {
    json_t *ends, *whole; // a name's place in the list
    const char **keys;    // by place, as the file has them; the texts belong to its JSON
} vkf__module_names;

typedef struct vkf__adapter_settings {
    char *path; // for messages
    json_t *root;
    vkf__module_names targets, ranks, alphas; // of target_modules, rank_pattern, alpha_pattern
    uint32_t rank;                            // of modules that rank_pattern does not name
    double alpha;                             // of modules that alpha_pattern does not name
    bool root_scale;                          // alpha is divided by the root of the rank (rsLoRA, Kalajdzievski 2023)
    bool ties;                                // what changes an embedding changes a projection that is tied to it, too
} vkf__adapter_settings;

// The caller calls vkf__adapter_settings_free() whether this succeeds or not; *out must be zeroed before. Statuses:
// FILE, FORMAT, UNSUPPORTED (another method than LoRA, or a key whose value would change results in a way that is not
// implemented, or a pattern that is a regular expression of more than a name; the message names it),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__adapter_settings_load(const vkf__host *host, const char *directory,
                                                     vkf__adapter_settings *out);
void vkf__adapter_settings_free(const vkf__host *host, vkf__adapter_settings *settings);

// The rank of a module's matrices, and what their product is multiplied by. Status FORMAT (target_modules lists
// others).
VKF_MUST_CHECK vkf_status vkf__adapter_scale_of(const vkf__host *host, const vkf__adapter_settings *settings,
                                                const char *module, uint32_t *out_rank, double *out_scale);

#endif
