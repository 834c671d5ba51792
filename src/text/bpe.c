// Byte-pair encoding: the code points of a word are symbols. Of all neighbours, the two whose merge was learned first
// become one symbol, until none merge. A heap gives the next merge, so that n symbols take O(n log n).
#include <string.h>

#include "text/code_point.h"
#include "text/merge_table.h"
#include "text/token_model.h"

#define NO_SYMBOL UINT32_MAX

typedef struct bpe {
    vkf__merge_table merges;
    int32_t unk_id;   // VKF_TRIE_NONE: unknown characters are left out, or ...
    bool unk_missing; // ... are an error: the file names a token for them that is missing
    bool fuse_unk;
    bool byte_fallback;
    bool ignore_merges; // a word that is itself a token becomes that token
    char *prefix;       // of every symbol of a word but the first; NULL for none
    char *suffix;       // of the last one
    int32_t bytes[256]; // the tokens of single bytes, or VKF_TRIE_NONE
    uint8_t *whole;     // (tokens / 8), a bit for each id: merging the token's characters gives the token
} bpe;

typedef struct symbol {
    int32_t id;
    uint32_t previous;
    uint32_t next;
    uint32_t bytes; // 0: merged into an earlier symbol
} symbol;

typedef struct candidate {
    uint32_t rank;
    uint32_t place; // of the left symbol
    int32_t merged;
} candidate;

#define SPELLED_BYTES 256 // of a character with its prefix and suffix

// --- reading

static vkf_status copy_affix(const vkf__json_section *section, const char *key, char **out_copy)
{
    const char *text = NULL;
    vkf_status status = vkf__section_string(section, key, &text);
    if (status != VKF_OK || !text || !*text)
        return status;
    if (strlen(text) > SPELLED_BYTES / 4)
        return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: key '%s' has %zu bytes, and at most %d can be read",
                         section->where, key, strlen(text), SPELLED_BYTES / 4);
    VKF_STRDUP(section->host, *out_copy, text);
fail:
    return status;
}

// Reads the two texts of a merge: ["a", "b"], or "a b" in older files. False when it is neither.
static bool read_pair(const json_t *row, const char *texts[2], size_t lengths[2])
{
    if (json_is_array(row) && json_array_size(row) == 2) {
        for (size_t i = 0; i < 2; i++) {
            const json_t *text = json_array_get(row, i);
            if (!json_is_string(text))
                return false;
            texts[i] = json_string_value(text);
            lengths[i] = json_string_length(text);
        }
        return true;
    }
    const char *both = json_string_value(row);
    const char *space = both ? strchr(both, ' ') : NULL;
    if (!space || strchr(space + 1, ' '))
        return false;
    texts[0] = both;
    lengths[0] = (size_t)(space - both);
    texts[1] = space + 1;
    lengths[1] = strlen(space + 1);
    return true;
}

static vkf_status add_merge(const vkf__json_section *list, size_t index, size_t rank,
                            const vkf__token_vocabulary *vocabulary, bpe *self)
{
    const char *texts[2];
    size_t lengths[2];
    if (!read_pair(json_array_get(list->object, index), texts, lengths))
        return vkf__fail(list->host, VKF_ERROR_FORMAT, "%s[%zu] must be two texts", list->where, index);
    const vkf__trie *trie = &vocabulary->trie;
    size_t prefix = self->prefix ? strlen(self->prefix) : 0;
    int32_t left = vkf__trie_find(trie, texts[0], lengths[0]);
    int32_t right = vkf__trie_find(trie, texts[1], lengths[1]);
    int32_t merged = VKF_TRIE_NONE;
    if (lengths[1] >= prefix) {
        uint32_t node = vkf__trie_walk(trie, VKF_TRIE_ROOT, texts[0], lengths[0]);
        node = vkf__trie_walk(trie, node, texts[1] + prefix, lengths[1] - prefix);
        merged = node == VKF_TRIE_DEAD ? VKF_TRIE_NONE : trie->value[node];
    }
    if (left == VKF_TRIE_NONE || right == VKF_TRIE_NONE || merged == VKF_TRIE_NONE)
        return vkf__fail(list->host, VKF_ERROR_FORMAT,
                         "%s[%zu] is of '%.*s' and '%.*s', and one of them or both "
                         "together are not in 'vocab'",
                         list->where, index, (int)(lengths[0] < 100 ? lengths[0] : 100), texts[0],
                         (int)(lengths[1] < 100 ? lengths[1] : 100), texts[1]);
    vkf__merge_table_add(&self->merges, (vkf__merge){left, right, (uint32_t)rank, merged});
    return VKF_OK;
}

static vkf_status load_merges(const vkf__json_section *section, const vkf__token_vocabulary *vocabulary, bpe *self)
{
    vkf__json_section list;
    VKF_RETURN_IF_ERROR(vkf__section_get(section, "merges", &list));
    VKF_RETURN_IF_ERROR(vkf__section_is_array(&list));
    size_t count = json_array_size(list.object);
    VKF_RETURN_IF_ERROR(vkf__merge_table_create(section->host, count, &self->merges));
    size_t rank = 0;
    for (size_t i = 0; i < count; i++) {
        const char *line = json_string_value(json_array_get(list.object, i));
        if (line && strncmp(line, "#version", 8) == 0)
            continue;
        VKF_RETURN_IF_ERROR(add_merge(&list, i, rank++, vocabulary, self));
    }
    return VKF_OK;
}

static vkf_status load_options(const vkf__json_section *section, const vkf__token_vocabulary *vocabulary, bpe *self)
{
    const char *unk = NULL;
    float dropout = 0;
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "fuse_unk", &self->fuse_unk));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "byte_fallback", &self->byte_fallback));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "ignore_merges", &self->ignore_merges));
    VKF_RETURN_IF_ERROR(copy_affix(section, "continuing_subword_prefix", &self->prefix));
    VKF_RETURN_IF_ERROR(copy_affix(section, "end_of_word_suffix", &self->suffix));
    VKF_RETURN_IF_ERROR(vkf__section_string(section, "unk_token", &unk));
    if (json_is_number(json_object_get(section->object, "dropout")))
        VKF_RETURN_IF_ERROR(vkf__json_f32(section->host, section->where, section->object, "dropout", &dropout));
    if (dropout != 0)
        return vkf__fail(section->host, VKF_ERROR_UNSUPPORTED,
                         "%s: key 'dropout' is %g; only 0 or null is supported: "
                         "the same text must give the same tokens",
                         section->where, (double)dropout);
    self->unk_id = unk ? vkf__trie_find(&vocabulary->trie, unk, strlen(unk)) : VKF_TRIE_NONE;
    self->unk_missing = unk && self->unk_id == VKF_TRIE_NONE;
    for (unsigned byte = 0; byte < 256; byte++)
        self->bytes[byte] = vkf__vocabulary_byte(vocabulary, (unsigned char)byte);
    return VKF_OK;
}

// --- the symbols of a word

typedef struct word {
    symbol *symbols;
    size_t count;
    int32_t unk;
    uint32_t unk_bytes; // 0: no unknown symbol is held back
    bool unknown;       // the word had an unknown character
} word;

static void add_symbol(word *made, int32_t id, uint32_t bytes)
{
    uint32_t place = (uint32_t)made->count++;
    made->symbols[place] = (symbol){id, place > 0 ? place - 1 : NO_SYMBOL, NO_SYMBOL, bytes};
    if (place > 0)
        made->symbols[place - 1].next = place;
}

static void flush_unknown(word *made)
{
    if (made->unk_bytes > 0)
        add_symbol(made, made->unk, made->unk_bytes);
    made->unk_bytes = 0;
}

// The symbol's text, with prefix and suffix where they apply. At most SPELLED_BYTES.
static size_t spell(const bpe *self, const char *text, size_t bytes, bool first, bool last, char out[SPELLED_BYTES])
{
    size_t length = 0;
    if (!first && self->prefix) {
        length = strlen(self->prefix);
        memcpy(out, self->prefix, length);
    }
    memcpy(out + length, text, bytes);
    length += bytes;
    if (last && self->suffix) {
        memcpy(out + length, self->suffix, strlen(self->suffix));
        length += strlen(self->suffix);
    }
    return length;
}

static bool add_bytes(const bpe *self, const char *text, size_t bytes, word *made)
{
    for (size_t i = 0; i < bytes; i++) {
        if (self->bytes[(unsigned char)text[i]] == VKF_TRIE_NONE)
            return false;
    }
    for (size_t i = 0; i < bytes; i++)
        add_symbol(made, self->bytes[(unsigned char)text[i]], 1);
    return true;
}

// Holds an unknown character back as long as further ones may join it.
static void add_unknown(const bpe *self, uint32_t bytes, word *made)
{
    made->unknown = true;
    if (self->unk_id == VKF_TRIE_NONE)
        return;
    if (!self->fuse_unk)
        flush_unknown(made);
    made->unk_bytes += bytes;
}

static void read_symbols(const bpe *self, const vkf__trie *trie, const char *text, size_t bytes, word *made)
{
    for (size_t at = 0; at < bytes;) {
        char spelled[SPELLED_BYTES];
        const char *symbol_text = text + at;
        size_t length = vkf__utf8_bytes(text + at);
        size_t symbol_bytes = length;
        if (self->prefix || self->suffix) {
            symbol_bytes = spell(self, text + at, length, at == 0, at + length == bytes, spelled);
            symbol_text = spelled;
        }
        int32_t id = vkf__trie_find(trie, symbol_text, symbol_bytes);
        if (id != VKF_TRIE_NONE) {
            flush_unknown(made);
            add_symbol(made, id, (uint32_t)length);
        } else if (!self->byte_fallback || !add_bytes(self, symbol_text, symbol_bytes, made)) {
            add_unknown(self, (uint32_t)length, made);
        }
        at += length;
    }
    flush_unknown(made);
}

// --- the heap of possible merges: lowest rank first, and among equal ranks the leftmost first

static bool comes_before(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->place < b->place;
}

static void sift_down(candidate *heap, size_t count, size_t at)
{
    candidate moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count)
            break;
        if (child + 1 < count && comes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!comes_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static void push(candidate *heap, size_t *count, candidate added)
{
    size_t at = (*count)++;
    while (at > 0 && comes_before(&added, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = added;
}

static void push_merge(const bpe *self, const symbol *symbols, uint32_t left, candidate *heap, size_t *count)
{
    const vkf__merge *merge = vkf__merge_table_find(&self->merges, symbols[left].id, symbols[symbols[left].next].id);
    if (merge)
        push(heap, count, (candidate){merge->rank, left, merge->merged});
}

// Carries out one merge if it is still possible, and adds the merges that it makes possible. Candidates whose symbols
// have merged otherwise stay in the heap, so each is checked again here.
static void merge_one(const bpe *self, symbol *symbols, candidate top, candidate *heap, size_t *count)
{
    symbol *left = &symbols[top.place];
    if (left->bytes == 0 || left->next == NO_SYMBOL)
        return;
    symbol *right = &symbols[left->next];
    const vkf__merge *merge = vkf__merge_table_find(&self->merges, left->id, right->id);
    if (!merge || merge->merged != top.merged)
        return;
    left->id = top.merged;
    left->bytes += right->bytes;
    left->next = right->next;
    right->bytes = 0;
    if (left->next != NO_SYMBOL)
        symbols[left->next].previous = top.place;
    if (left->previous != NO_SYMBOL)
        push_merge(self, symbols, left->previous, heap, count);
    if (left->next != NO_SYMBOL)
        push_merge(self, symbols, top.place, heap, count);
}

// `heap` has room for three candidates per symbol: one to begin with, and two for every merge, each of which leaves one
// symbol less.
static void merge_all(const bpe *self, word *made, candidate *heap)
{
    size_t count = 0;
    for (uint32_t place = 0; place + 1 < made->count; place++)
        push_merge(self, made->symbols, place, heap, &count);
    while (count > 0) {
        candidate top = heap[0];
        heap[0] = heap[--count];
        if (count > 0)
            sift_down(heap, count, 0);
        merge_one(self, made->symbols, top, heap, &count);
    }
}

static vkf_status merge_word(const bpe *self, const vkf__trie *trie, const char *text, size_t bytes,
                             vkf__token_scratch *scratch)
{
    // A character becomes one symbol, or one for each of its bytes and those of its prefix and suffix.
    size_t most = bytes;
    if (self->byte_fallback)
        most += (self->suffix ? strlen(self->suffix) : 0) + (self->prefix ? bytes * strlen(self->prefix) : 0);
    if (most > scratch->limit)
        return vkf__fail(scratch->host, VKF_ERROR_TOO_LARGE,
                         "a word of %zu bytes may become %zu tokens of bytes; at most %zu are made", bytes, most,
                         scratch->limit);
    vkf_status status = vkf__grow(scratch->host, &scratch->work, sizeof(symbol), 0, &scratch->work_capacity, most);
    if (status == VKF_OK)
        status = vkf__grow(scratch->host, &scratch->queue, sizeof(candidate), 0, &scratch->queue_capacity, 3 * most);
    if (status != VKF_OK)
        return status;
    word made = {.symbols = scratch->work, .unk = self->unk_id};
    read_symbols(self, trie, text, bytes, &made);
    if (made.unknown && self->unk_missing)
        return vkf__fail(scratch->host, VKF_ERROR_FORMAT,
                         "the text has a character that no token stands for, and the tokenizer's unknown token is not "
                         "in its vocabulary");
    merge_all(self, &made, scratch->queue);
    size_t at = 0;
    for (size_t i = 0; i < made.count && status == VKF_OK; i++) {
        const symbol *kept = &made.symbols[i];
        if (kept->bytes == 0)
            continue;
        status = vkf__add_token(scratch, kept->id, at, at + kept->bytes);
        at += kept->bytes;
    }
    return status;
}

// --- words that are tokens, as most words are

static bool is_whole(const bpe *self, int32_t id)
{
    return self->whole && (self->whole[(size_t)id / 8] >> (id % 8) & 1);
}

// Marks the tokens that result from merging their own characters. Words that are such tokens need no merging.
static vkf_status mark_whole_tokens(const vkf__host *host, const vkf__token_vocabulary *vocabulary, bpe *self)
{
    vkf_status status = VKF_OK;
    vkf__token_scratch scratch = {.host = host, .limit = SIZE_MAX}; // without affixes, at most one symbol per byte
    size_t count = vocabulary->count;
    // Not for ids with gaps, nor where symbols are not plain characters: then all words are merged.
    if (self->prefix || self->suffix || count == 0 || (size_t)vocabulary->tokens[count - 1].id >= count)
        return VKF_OK;
    VKF_ALLOC(host, self->whole, count / 8 + 1);
    for (size_t i = 0; i < count; i++) {
        const vkf__token_text *token = &vocabulary->tokens[i];
        scratch.count = 0;
        if (token->bytes == 0)
            continue;
        VKF_TRY(merge_word(self, &vocabulary->trie, token->text, token->bytes, &scratch));
        if (scratch.count == 1 && scratch.tokens[0].id == token->id && scratch.tokens[0].end == token->bytes)
            self->whole[(size_t)token->id / 8] |= (uint8_t)(1u << token->id % 8);
    }
fail:
    vkf__token_scratch_free(&scratch);
    return status;
}

static vkf_status load(const vkf__json_section *section, vkf__token_vocabulary *vocabulary, void **out_self)
{
    vkf__json_section list;
    bpe *self = NULL;
    VKF_RETURN_IF_ERROR(vkf__section_get(section, "vocab", &list));
    VKF_RETURN_IF_ERROR(vkf__vocabulary_load_object(&list, vocabulary));
    VKF_ALLOC_OR_RETURN(section->host, self, 1);
    *out_self = self;
    VKF_RETURN_IF_ERROR(load_options(section, vocabulary, self));
    VKF_RETURN_IF_ERROR(load_merges(section, vocabulary, self));
    bool unk_missing = self->unk_missing;
    self->unk_missing = false; // an unknown character within a token is no error yet
    VKF_RETURN_IF_ERROR(mark_whole_tokens(section->host, vocabulary, self));
    self->unk_missing = unk_missing;
    return VKF_OK;
}

static vkf_status tokenize(const void *data, const vkf__token_vocabulary *vocabulary, const char *text, size_t bytes,
                           vkf__token_scratch *scratch)
{
    const bpe *self = data;
    if (self->ignore_merges || self->whole) {
        int32_t id = vkf__trie_find(&vocabulary->trie, text, bytes);
        if (id != VKF_TRIE_NONE && (self->ignore_merges || is_whole(self, id)))
            return vkf__add_token(scratch, id, 0, bytes);
    }
    return merge_word(self, &vocabulary->trie, text, bytes, scratch);
}

static void free_self(const vkf__host *host, void *data)
{
    bpe *self = data;
    vkf__merge_table_free(&self->merges);
    vkf__free(host, self->prefix);
    vkf__free(host, self->suffix);
    vkf__free(host, self->whole);
    vkf__free(host, self);
}

const vkf__token_model_kind vkf__bpe_kind = {
    .name = "BPE",
    .load = load,
    .tokenize = tokenize,
    .free = free_self,
};
