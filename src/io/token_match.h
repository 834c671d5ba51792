// The longest match among sorted strings, and the length of code points: private to the token table.
#ifndef VKF_IO_TOKEN_MATCH_H
#define VKF_IO_TOKEN_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Strings sorted by their bytes: sorted[i] is the id of the i-th string, and texts[id] is the string.
typedef struct vkf__sorted_tokens {
    const char *const *texts;
    const int32_t *sorted;
    size_t count;
} vkf__sorted_tokens;

// The length in bytes of the longest token that `text` begins with, and its id; 0 when there is none.
size_t vkf__match_token(const vkf__sorted_tokens *tokens, const char *text, size_t text_bytes, bool lowercase,
                        int32_t *out_id);

// The length in bytes of the UTF-8 code point that `text` begins with; 1 for an invalid byte, which begins none.
// text_bytes > 0.
size_t vkf__code_point_bytes(const char *text, size_t text_bytes);

#endif
