// WordPiece takes the longest token that a word begins with, then the longest continuation, and so on; a word that
// cannot be covered is unknown as a whole. WordLevel's words are tokens or unknown.
#include <string.h>

#include "text/token_model.h"

typedef struct word_piece {
    int32_t unk_id;
    uint32_t max_code_points; // of a word
    uint32_t continuation;    // the trie's node behind the prefix of continuations
} word_piece;

static vkf_status load_common(const vkf__json_section *section, const char *default_unk,
                              vkf__token_vocabulary *vocabulary, word_piece **out_self)
{
    vkf_status status = VKF_OK;
    word_piece *self = NULL;
    vkf__json_section list;
    const char *unk = default_unk;
    VKF_TRY(vkf__section_get(section, "vocab", &list));
    VKF_TRY(vkf__vocabulary_load_object(&list, vocabulary));
    VKF_TRY(vkf__section_string(section, "unk_token", &unk));
    VKF_ALLOC(section->host, self, 1);
    *out_self = self;
    self->unk_id = vkf__trie_find(&vocabulary->trie, unk, strlen(unk));
    if (self->unk_id == VKF_TRIE_NONE)
        status = vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: key 'unk_token' is '%.100s', which is not in 'vocab'",
                           section->where, unk);
fail:
    return status;
}

static vkf_status load_word_piece(const vkf__json_section *section, vkf__token_vocabulary *vocabulary, void **out_self)
{
    vkf_status status = VKF_OK;
    word_piece *self = NULL;
    const char *prefix = "##";
    status = load_common(section, "[UNK]", vocabulary, &self);
    *out_self = self;
    if (status != VKF_OK)
        return status;
    self->max_code_points = 100;
    VKF_RETURN_IF_ERROR(vkf__section_u32(section, "max_input_chars_per_word", UINT32_MAX, &self->max_code_points));
    VKF_RETURN_IF_ERROR(vkf__section_string(section, "continuing_subword_prefix", &prefix));
    self->continuation = vkf__trie_walk(&vocabulary->trie, VKF_TRIE_ROOT, prefix, strlen(prefix));
    return status;
}

static bool has_more_code_points(const char *text, size_t bytes, uint32_t most)
{
    if (bytes <= most)
        return false;
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)text[i] & 0xc0u) != 0x80u;
    return count > most;
}

// The end of the longest token that begins at `at`, and its id; `at` itself when there is none.
static size_t longest(const vkf__trie *trie, uint32_t node, const char *text, size_t at, size_t bytes, int32_t *out_id)
{
    size_t end = at;
    for (size_t i = at; i < bytes; i++) {
        node = vkf__trie_step(trie, node, (uint8_t)text[i]);
        if (node == VKF_TRIE_DEAD)
            break;
        if (trie->value[node] != VKF_TRIE_NONE) {
            end = i + 1;
            *out_id = trie->value[node];
        }
    }
    return end;
}

static vkf_status tokenize_word_piece(const void *data, const vkf__token_vocabulary *vocabulary, const char *text,
                                      size_t bytes, vkf__token_scratch *scratch)
{
    const word_piece *self = data;
    size_t before = scratch->count;
    if (has_more_code_points(text, bytes, self->max_code_points))
        return vkf__add_token(scratch, self->unk_id, 0, bytes);
    for (size_t at = 0; at < bytes;) {
        int32_t id = 0;
        size_t end = longest(&vocabulary->trie, at > 0 ? self->continuation : VKF_TRIE_ROOT, text, at, bytes, &id);
        if (end == at) {
            scratch->count = before;
            return vkf__add_token(scratch, self->unk_id, 0, bytes);
        }
        vkf_status status = vkf__add_token(scratch, id, at, end);
        if (status != VKF_OK)
            return status;
        at = end;
    }
    return VKF_OK;
}

static vkf_status load_word_level(const vkf__json_section *section, vkf__token_vocabulary *vocabulary, void **out_self)
{
    word_piece *self = NULL;
    vkf_status status = load_common(section, "<unk>", vocabulary, &self);
    *out_self = self;
    return status;
}

static vkf_status tokenize_word_level(const void *data, const vkf__token_vocabulary *vocabulary, const char *text,
                                      size_t bytes, vkf__token_scratch *scratch)
{
    const word_piece *self = data;
    int32_t id = vkf__trie_find(&vocabulary->trie, text, bytes);
    return vkf__add_token(scratch, id == VKF_TRIE_NONE ? self->unk_id : id, 0, bytes);
}

static void free_self(const vkf__host *host, void *self)
{
    vkf__free(host, self);
}

const vkf__token_model_kind vkf__word_piece_kind = {
    .name = "WordPiece",
    .load = load_word_piece,
    .tokenize = tokenize_word_piece,
    .free = free_self,
};

const vkf__token_model_kind vkf__word_level_kind = {
    .name = "WordLevel",
    .load = load_word_level,
    .tokenize = tokenize_word_level,
    .free = free_self,
};
