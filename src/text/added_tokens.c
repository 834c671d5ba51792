// Loads added tokens, and finds them in text.
#include "text/added_tokens.h"

#include <stdlib.h>
#include <string.h>

// --- reading

static vkf_status read_token(const vkf__json_section *section, vkf__added_token *token, const char **out_content)
{
    uint32_t id = 0;
    *token = (vkf__added_token){.is_normalized = true};
    VKF_RETURN_IF_ERROR(vkf__section_is_object(section));
    VKF_RETURN_IF_ERROR(vkf__json_string(section->host, section->where, section->object, "content", out_content));
    VKF_RETURN_IF_ERROR(vkf__json_u32(section->host, section->where, section->object, "id", 0, VKF_TOKEN_MAX_ID, &id));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "single_word", &token->single_word));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "lstrip", &token->lstrip));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "rstrip", &token->rstrip));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "special", &token->special));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "normalized", &token->is_normalized));
    token->id = (int32_t)id;
    return VKF_OK;
}

// Runs the content through the normaliser; NULL when it stays the same. All tokens share what a text has to spare.
static vkf_status normalize_content(const vkf__normalizer *normalizer, vkf__added_token *token, size_t *inout_spare,
                                    const vkf__host *host)
{
    vkf_status status = VKF_OK;
    vkf__aligned_text text;
    size_t bytes = strlen(token->content);
    vkf__aligned_text_init(host, &text);
    text.spare = *inout_spare;
    VKF_TRY(vkf__aligned_text_set(&text, token->content, bytes));
    VKF_TRY(vkf__normalize(normalizer, &text));
    *inout_spare -= vkf__text_spared(&text);
    if (text.now.count != bytes || memcmp(text.now.bytes, token->content, bytes) != 0) {
        VKF_ALLOC(host, token->normalized, text.now.count + 1);
        memcpy(token->normalized, text.now.bytes, text.now.count);
    }
fail:
    vkf__aligned_text_free(&text);
    return status;
}

static void free_token(const vkf__host *host, vkf__added_token *token)
{
    vkf__free(host, token->content);
    vkf__free(host, token->normalized);
}

// Later tokens win over earlier ones of the same id.
static void drop_id(vkf__added_tokens *added, int32_t id)
{
    for (size_t i = 0; i < added->count; i++) {
        if (added->tokens[i].id != id)
            continue;
        free_token(added->host, &added->tokens[i]);
        memmove(&added->tokens[i], &added->tokens[i + 1], (added->count - i - 1) * sizeof *added->tokens);
        added->count--;
        return;
    }
}

// A token's id is its id in the model, whatever the file says beside it. A token that the model does not have gets the
// next free id, which a file that belongs to this model gives it, too; any other id in the file causes a warning.
static vkf_status add_token(const vkf__json_section *section, const vkf__token_model *model, int32_t *next_id,
                            const vkf__normalizer *normalizer, vkf__added_tokens *added)
{
    vkf_status status = VKF_OK;
    vkf__added_token token = {0};
    const char *content = NULL;
    VKF_TRY(read_token(section, &token, &content));
    if (!*content)
        return VKF_OK;
    int32_t file_id = token.id;
    token.id = vkf__trie_find(&model->vocabulary.trie, content, strlen(content));
    for (size_t i = 0; i < added->count; i++) {
        if (strcmp(added->tokens[i].content, content) == 0)
            token.id = added->tokens[i].id;
    }
    if (token.id == VKF_TRIE_NONE)
        token.id = *next_id;
    *next_id = token.id >= *next_id ? token.id + 1 : *next_id;
    if (token.id != file_id)
        vkf__log(section->host, VKF_SEVERITY_WARNING, "%s: '%.100s' has id %ld in the file and %ld in the vocabulary",
                 section->where, content, (long)file_id, (long)token.id);
    drop_id(added, token.id);
    VKF_TRY(vkf__grow(section->host, (void **)&added->tokens, sizeof token, added->count, &added->capacity,
                      added->count + 1));
    vkf__added_token *kept = &added->tokens[added->count];
    *kept = token;
    VKF_STRDUP(section->host, kept->content, content);
    added->count++;
    if (kept->is_normalized)
        status = normalize_content(normalizer, kept, &added->spare, section->host);
fail:
    return status;
}

static int compare_ids(const void *a, const void *b)
{
    const vkf__added_token *x = a;
    const vkf__added_token *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool is_raw(const vkf__added_token *token)
{
    return !token->is_normalized;
}

static bool is_normalized(const vkf__added_token *token)
{
    return token->is_normalized;
}

static bool is_special(const vkf__added_token *token)
{
    return token->special;
}

static bool is_any(const vkf__added_token *token)
{
    (void)token;
    return true;
}

static vkf_status build_trie(vkf__added_tokens *added, bool (*wanted)(const vkf__added_token *token), bool as_searched,
                             vkf__trie *out_trie)
{
    vkf_status status = VKF_OK;
    vkf__trie_entry *entries = NULL;
    size_t count = 0;
    VKF_ALLOC(added->host, entries, added->count + 1);
    for (size_t i = 0; i < added->count; i++) {
        const vkf__added_token *token = &added->tokens[i];
        const char *text = as_searched ? vkf__added_token_text(token) : token->content;
        if (wanted(token) && *text)
            entries[count++] = (vkf__trie_entry){text, (uint32_t)strlen(text), (int32_t)i};
    }
    status = vkf__trie_build(added->host, entries, count, out_trie);
fail:
    vkf__free(added->host, entries);
    return status;
}

vkf_status vkf__added_tokens_load(const vkf__json_section *section, const vkf__token_model *model,
                                  const vkf__normalizer *normalizer, vkf__added_tokens *out_added)
{
    *out_added = (vkf__added_tokens){.host = section->host, .spare = VKF_TEXT_SPARE_BYTES};
    VKF_RETURN_IF_ERROR(vkf__section_is_array(section));
    if (json_array_size(section->object) > VKF_MAX_ADDED_TOKENS)
        return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s has %zu tokens, and at most %d can be added",
                         section->where, json_array_size(section->object), VKF_MAX_ADDED_TOKENS);
    int32_t next_id = (int32_t)model->vocabulary.count;
    for (size_t i = 0; i < json_array_size(section->object); i++) {
        vkf__json_section element;
        vkf__section_element(section, i, &element);
        VKF_RETURN_IF_ERROR(add_token(&element, model, &next_id, normalizer, out_added));
    }
    if (out_added->count > 0)
        qsort(out_added->tokens, out_added->count, sizeof *out_added->tokens, compare_ids);
    VKF_RETURN_IF_ERROR(build_trie(out_added, is_raw, true, &out_added->raw));
    VKF_RETURN_IF_ERROR(build_trie(out_added, is_normalized, true, &out_added->normalized));
    VKF_RETURN_IF_ERROR(build_trie(out_added, is_any, false, &out_added->contents));
    return build_trie(out_added, is_special, false, &out_added->specials);
}

void vkf__added_tokens_free(vkf__added_tokens *added)
{
    for (size_t i = 0; i < added->count; i++)
        free_token(added->host, &added->tokens[i]);
    vkf__free(added->host, added->tokens);
    vkf__trie_free(&added->raw);
    vkf__trie_free(&added->normalized);
    vkf__trie_free(&added->contents);
    vkf__trie_free(&added->specials);
    *added = (vkf__added_tokens){0};
}

const vkf__added_token *vkf__added_token_by_id(const vkf__added_tokens *added, int32_t id)
{
    vkf__added_token key = {.id = id};
    if (added->count == 0)
        return NULL;
    return bsearch(&key, added->tokens, added->count, sizeof key, compare_ids);
}

static int32_t find(const vkf__trie *trie, const char *text, size_t bytes)
{
    return trie->count > 0 ? vkf__trie_find(trie, text, bytes) : VKF_TRIE_NONE;
}

int32_t vkf__added_token_id(const vkf__added_tokens *added, const char *content, size_t bytes)
{
    int32_t place = find(&added->contents, content, bytes);
    return place == VKF_TRIE_NONE ? VKF_TRIE_NONE : added->tokens[place].id;
}

const char *vkf__added_token_text(const vkf__added_token *token)
{
    return token->normalized ? token->normalized : token->content;
}

bool vkf__is_special_text(const vkf__added_tokens *added, const char *text, size_t bytes)
{
    return find(&added->specials, text, bytes) != VKF_TRIE_NONE;
}

// --- finding

typedef struct search {
    const vkf__added_tokens *added;
    const vkf__trie *trie;
} search;

// Finds the first place from `at` on where a token begins. The longest token there wins. False when there is none.
static bool find_next(const search *wanted, const char *bytes, uint32_t at, uint32_t end, vkf__byte_span *out_match,
                      const vkf__added_token **out_token)
{
    const vkf__trie *trie = wanted->trie;
    for (; at < end; at++) {
        uint32_t node = trie->root[(unsigned char)bytes[at]];
        if (!node)
            continue;
        uint32_t match_end = 0;
        for (uint32_t i = at + 1;; i++) {
            if (trie->value[node] != VKF_TRIE_NONE) {
                match_end = i;
                *out_token = &wanted->added->tokens[trie->value[node]];
            }
            if (i >= end)
                break;
            node = vkf__trie_step(trie, node, (uint8_t)bytes[i]);
            if (node == VKF_TRIE_DEAD)
                break;
        }
        if (match_end > 0) {
            *out_match = (vkf__byte_span){at, match_end};
            return true;
        }
    }
    return false;
}

static bool stands_alone(const char *bytes, const vkf__piece *piece, vkf__byte_span match)
{
    if (match.begin > piece->begin &&
        vkf__is_word(vkf__utf8_read(bytes + vkf__utf8_before(bytes, piece->begin, match.begin))))
        return false;
    return match.end == piece->end || !vkf__is_word(vkf__utf8_read(bytes + match.end));
}

// Extends the match by the whitespace that the token swallows, but not by what an earlier token has taken.
static vkf__byte_span widen(const char *bytes, const vkf__piece *piece, vkf__byte_span match, uint32_t done,
                            const vkf__added_token *token)
{
    while (token->lstrip && match.begin > done) {
        uint32_t before = (uint32_t)vkf__utf8_before(bytes, piece->begin, match.begin);
        if (!vkf__is_whitespace(vkf__utf8_read(bytes + before)))
            break;
        match.begin = before;
    }
    if (token->lstrip && match.begin < done)
        match.begin = done < match.end ? done : match.end;
    while (token->rstrip && match.end < piece->end && vkf__is_whitespace(vkf__utf8_read(bytes + match.end)))
        match.end += (uint32_t)vkf__utf8_bytes(bytes + match.end);
    return match;
}

static vkf_status cut_at_tokens(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    const search *wanted = user;
    const char *bytes = text->now.bytes;
    vkf_status status = VKF_OK;
    const vkf__added_token *token = NULL;
    vkf__byte_span match = {0, 0};
    uint32_t done = piece->begin;
    for (uint32_t at = piece->begin; status == VKF_OK && find_next(wanted, bytes, at, piece->end, &match, &token);
         at = match.end) {
        if (token->single_word && !stands_alone(bytes, piece, match))
            continue;
        vkf__byte_span wide = widen(bytes, piece, match, done, token);
        if (done < wide.begin)
            status = vkf__text_add_piece(text, done, wide.begin, VKF_NO_TOKEN);
        if (status == VKF_OK)
            status = vkf__text_add_piece(text, wide.begin, wide.end, token->id);
        done = wide.end;
    }
    if (status == VKF_OK)
        status = vkf__text_add_piece(text, done, piece->end, VKF_NO_TOKEN);
    return status;
}

static vkf_status cut_out(const vkf__added_tokens *added, const vkf__trie *trie, vkf__aligned_text *text)
{
    search wanted = {added, trie};
    return trie->count > 1 ? vkf__text_cut(text, cut_at_tokens, &wanted) : VKF_OK;
}

vkf_status vkf__extract_added_tokens(const vkf__added_tokens *added, const vkf__normalizer *normalizer,
                                     vkf__aligned_text *text)
{
    vkf_status status = cut_out(added, &added->raw, text);
    if (status == VKF_OK)
        status = vkf__normalize(normalizer, text);
    return status == VKF_OK ? cut_out(added, &added->normalized, text) : status;
}
