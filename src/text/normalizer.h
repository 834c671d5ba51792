// The normaliser of a tokenizer file: a list of steps that rewrite text.
#ifndef VKF_TEXT_NORMALIZER_H
#define VKF_TEXT_NORMALIZER_H

#include "text/aligned_text.h"
#include "text/json_section.h"

typedef struct vkf__normalizer_step vkf__normalizer_step;

typedef struct vkf__normalizer {
    const vkf__host *host;
    vkf__normalizer_step *steps;
    size_t count;
    size_t capacity;
} vkf__normalizer;

// Reads the file's section "normalizer". `out_normalizer` may be half-filled on failure: free it in either case.
// Statuses: FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__normalizer_load(const vkf__json_section *section, vkf__normalizer *out_normalizer);
void vkf__normalizer_free(vkf__normalizer *normalizer);

// Adds a step that files do not have. `user` must outlive the normaliser.
typedef vkf_status (*vkf__normalize_fn)(vkf__aligned_text *text, const void *user);
VKF_MUST_CHECK vkf_status vkf__normalizer_add(vkf__normalizer *normalizer, vkf__normalize_fn run, const void *user);

// Puts a step before all others that writes text in lower case, unless the file has such a step. Status
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__normalizer_lower_case(vkf__normalizer *normalizer);

// Rewrites every piece that is no token. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__normalize(const vkf__normalizer *normalizer, vkf__aligned_text *text);

#endif
