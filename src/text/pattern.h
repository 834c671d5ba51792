// Regular expressions as tokenizer files write them (Oniguruma's Ruby dialect), through PCRE2; and plain strings.
#ifndef VKF_TEXT_PATTERN_H
#define VKF_TEXT_PATTERN_H

#include "base/host.h"

// Of host memory that one search may take beside its text; PCRE2 asks for more with every group of an expression.
#define VKF_PATTERN_MAX_BYTES (UINT32_C(64) << 20)

typedef struct vkf__pattern vkf__pattern;

// `where` names file and key in messages. Statuses: FORMAT (the expression is wrong; with its place), UNSUPPORTED (what
// PCRE2 reads differently), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pattern_create(const vkf__host *host, const char *where, const char *expression,
                                              vkf__pattern **out_pattern);
VKF_MUST_CHECK vkf_status vkf__pattern_create_literal(const vkf__host *host, const char *text,
                                                      vkf__pattern **out_pattern);
void vkf__pattern_destroy(vkf__pattern **pattern);

// One search through a text: what changes while it goes on.
typedef struct vkf__pattern_search {
    const vkf__pattern *pattern;
    const char *text;
    size_t text_bytes;
    size_t at;
    size_t last_end; // of the last match, or SIZE_MAX
    void *data;      // PCRE2's
    bool gave_up_compiled;
} vkf__pattern_search;

// `text` is valid UTF-8. vkf__pattern_search_end() afterwards, on failure too; a search can be begun again on another
// text before that.
VKF_MUST_CHECK vkf_status vkf__pattern_search_begin(const vkf__pattern *pattern, vkf__pattern_search *out_search);
void vkf__pattern_search_text(vkf__pattern_search *search, const char *text, size_t text_bytes);
void vkf__pattern_search_end(vkf__pattern_search *search);

// The next match. *out_found is false when there is none. A match of nothing is not taken where the last one ended.
// Statuses: TOO_LARGE (the expression takes more steps than PCRE2 allows, or more memory), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pattern_next(vkf__pattern_search *search, bool *out_found, size_t *out_begin,
                                            size_t *out_end);

#endif
