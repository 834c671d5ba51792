// Regular expressions as tokenizer files write them (Oniguruma's own dialect), through PCRE2; and plain strings.
#ifndef VKF_TEXT_PATTERN_H
#define VKF_TEXT_PATTERN_H

#include "base/host.h"

// How much host memory one search may take beside its text. PCRE2 asks for more with every group of an expression.
#define VKF_PATTERN_MAX_BYTES (UINT32_C(64) << 20)

typedef struct vkf__pattern vkf__pattern;

// `where` names file and key in messages. Statuses: FORMAT (the expression is wrong, and where), UNSUPPORTED (which
// part of it is not read: text/expression.h), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pattern_create(const vkf__host *host, const char *where, const char *expression,
                                              vkf__pattern **out_pattern);
VKF_MUST_CHECK vkf_status vkf__pattern_create_literal(const vkf__host *host, const char *text,
                                                      vkf__pattern **out_pattern);
void vkf__pattern_destroy(vkf__pattern **pattern);

// The state of one search through a text.
typedef struct vkf__pattern_search {
    const vkf__pattern *pattern;
    const char *text;
    size_t text_bytes;
    size_t at;       // of the text's bytes, or of the letters that an expression sees
    size_t last_end; // of the last match, or SIZE_MAX
    void *subject;   // of an expression
} vkf__pattern_search;

// `text` is valid UTF-8. Call vkf__pattern_search_end() afterwards, on failure too. Before that, the search can begin
// again on another text.
VKF_MUST_CHECK vkf_status vkf__pattern_search_begin(const vkf__pattern *pattern, vkf__pattern_search *out_search);
void vkf__pattern_search_text(vkf__pattern_search *search, const char *text, size_t text_bytes);
void vkf__pattern_search_end(vkf__pattern_search *search);

// Finds the next match; *out_found is false when there is none. An empty match is skipped where the last match ended.
// Statuses: TOO_LARGE (the expression takes more steps than PCRE2 allows, or more memory), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pattern_next(vkf__pattern_search *search, bool *out_found, size_t *out_begin,
                                            size_t *out_end);

#endif
