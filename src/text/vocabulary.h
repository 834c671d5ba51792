// The tokens of a model or a file: their texts by id, and their ids by text.
#ifndef VKF_TEXT_VOCABULARY_H
#define VKF_TEXT_VOCABULARY_H

#include "text/json_section.h"
#include "text/trie.h"

#define VKF_TOKEN_MAX_ID (INT32_MAX - 1)

typedef struct vkf__token_text {
    const char *text; // with a terminating zero
    uint32_t bytes;
    int32_t id;
} vkf__token_text;

typedef struct vkf__token_vocabulary {
    const vkf__host *host;
    char *arena;             // of all texts
    vkf__token_text *tokens; // sorted by id
    size_t count;
    vkf__trie trie;
} vkf__token_vocabulary;

// Loads a section that maps texts to ids. The vocabulary may be half-filled on failure: free it in either case.
// Statuses: FORMAT, OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__vocabulary_load_object(const vkf__json_section *section,
                                                      vkf__token_vocabulary *out_vocabulary);
// Loads a section that is a list of [text, number]; ids count from 0.
VKF_MUST_CHECK vkf_status vkf__vocabulary_load_list(const vkf__json_section *section,
                                                    vkf__token_vocabulary *out_vocabulary);
void vkf__vocabulary_free(vkf__token_vocabulary *vocabulary);

// NULL when no token has that id.
const vkf__token_text *vkf__vocabulary_token(const vkf__token_vocabulary *vocabulary, int32_t id);

// The id of the token that stands for one byte, such as "<0x0A>"; VKF_TRIE_NONE for none.
int32_t vkf__vocabulary_byte(const vkf__token_vocabulary *vocabulary, unsigned char byte);

#endif
