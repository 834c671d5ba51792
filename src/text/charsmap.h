// SentencePiece's precompiled map of characters: a double-array trie, as Darts writes it, of the texts to replace, and
// their replacements.
#ifndef VKF_TEXT_CHARSMAP_H
#define VKF_TEXT_CHARSMAP_H

#include "text/aligned_text.h"

typedef struct vkf__charsmap vkf__charsmap;

// Reads the map from base64. `where` names file and key. Statuses: FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__charsmap_create(const vkf__host *host, const char *where, const char *base64,
                                               vkf__charsmap **out_map);
// Reads the map from plain bytes, which are copied.
VKF_MUST_CHECK vkf_status vkf__charsmap_copy(const vkf__host *host, const char *where, const void *blob, size_t bytes,
                                             vkf__charsmap **out_map);
void vkf__charsmap_destroy(vkf__charsmap **map);

// The replacement of the longest beginning of `text` that has one, as SentencePiece does it. *out_length is the length
// of that beginning, 0 for none.
const char *vkf__charsmap_longest(const vkf__charsmap *map, const char *text, size_t bytes, size_t *out_length,
                                  size_t *out_bytes);

// A vkf__rewrite_fn that applies a map, as `tokenizers` does it; `map` is a vkf__charsmap.
void vkf__put_mapped(vkf__aligned_text *text, const void *map);

#endif
