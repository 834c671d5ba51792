// Normalises as SentencePiece itself does: it applies the longest rule at every place, merges blanks and writes them as
// U+2581.
#ifndef VKF_TEXT_SPM_NORMALIZER_H
#define VKF_TEXT_SPM_NORMALIZER_H

#include "text/charsmap.h"
#include "text/spm_file.h"
#include "text/trie.h"

typedef struct vkf__spm_normalizer {
    const vkf__host *host;
    vkf__charsmap *map;     // NULL: characters stay as they are
    vkf__trie user_defined; // pieces that no rule changes
    bool add_dummy_prefix;
    bool whitespace_as_suffix;
    bool remove_extra_whitespaces;
    bool escape_whitespaces;
} vkf__spm_normalizer;

// `path` is put before messages. The object may be half-filled on failure: free it in either case. Statuses: FORMAT,
// OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__spm_normalizer_init(const vkf__spm_file *file, const char *path,
                                                   vkf__spm_normalizer *out_normalizer);
void vkf__spm_normalizer_free(vkf__spm_normalizer *normalizer);

// A vkf__normalize_fn; `normalizer` is a vkf__spm_normalizer. It treats every piece as a text of its own.
VKF_MUST_CHECK vkf_status vkf__spm_normalize(vkf__aligned_text *text, const void *normalizer);

#endif
