// Tokens that are found in the text before the model sees it: special ones, and those that were added to a vocabulary.
#ifndef VKF_TEXT_ADDED_TOKENS_H
#define VKF_TEXT_ADDED_TOKENS_H

#include "text/normalizer.h"
#include "text/token_model.h"

#define VKF_MAX_ADDED_TOKENS 32768 // each is compared with all before it

typedef struct vkf__added_token {
    int32_t id;
    char *content;    // as the file has it
    char *normalized; // what is looked for, and what decoding gives; NULL: the content itself
    bool single_word;
    bool lstrip;
    bool rstrip;
    bool is_normalized; // it is looked for in the normalised text
    bool special;
} vkf__added_token;

typedef struct vkf__added_tokens {
    const vkf__host *host;
    vkf__added_token *tokens; // sorted by id
    size_t count;
    size_t capacity;
    size_t spare;         // of vkf__text_limit(), for the contents of all tokens together
    vkf__trie raw;        // of the tokens looked for in the text as it is; values are places in `tokens`
    vkf__trie normalized; // of the others
    vkf__trie contents;   // of all tokens
    vkf__trie specials;   // the contents of special tokens, each with the value 0
} vkf__added_tokens;

// Loads the file's section "added_tokens", a list. The object may be half-filled on failure: free it in either case.
// Statuses: FORMAT, OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__added_tokens_load(const vkf__json_section *section, const vkf__token_model *model,
                                                 const vkf__normalizer *normalizer, vkf__added_tokens *out_added);
void vkf__added_tokens_free(vkf__added_tokens *added);

// NULL when no added token has that id.
const vkf__added_token *vkf__added_token_by_id(const vkf__added_tokens *added, int32_t id);
// The id of an added token, or VKF_TRIE_NONE.
int32_t vkf__added_token_id(const vkf__added_tokens *added, const char *content, size_t bytes);
// What decoding writes for the token.
const char *vkf__added_token_text(const vkf__added_token *token);
bool vkf__is_special_text(const vkf__added_tokens *added, const char *text, size_t bytes);

// Cuts out the tokens that are looked for in the text as it is, normalises what is between them, and cuts out the other
// tokens. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__extract_added_tokens(const vkf__added_tokens *added, const vkf__normalizer *normalizer,
                                                    vkf__aligned_text *text);

#endif
