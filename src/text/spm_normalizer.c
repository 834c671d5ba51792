// Normalises as SentencePiece does, for models that are read without a tokenizer.json.
#include "text/spm_normalizer.h"

#include <string.h>

#define BLANK_SYMBOL 0x2581u

vkf_status vkf__spm_normalizer_init(const vkf__spm_file *file, const char *path, vkf__spm_normalizer *out_normalizer)
{
    vkf_status status = VKF_OK;
    vkf__trie_entry *entries = NULL;
    size_t count = 0;
    *out_normalizer = (vkf__spm_normalizer){
        .host = file->host,
        .add_dummy_prefix = file->add_dummy_prefix,
        .whitespace_as_suffix = file->whitespace_as_suffix,
        .remove_extra_whitespaces = file->remove_extra_whitespaces,
        .escape_whitespaces = file->escape_whitespaces,
    };
    VKF_ALLOC(file->host, entries, file->count + 1);
    for (size_t i = 0; i < file->count; i++) {
        const vkf__spm_piece *piece = &file->pieces[i];
        if (piece->type == VKF_SPM_USER_DEFINED)
            entries[count++] = (vkf__trie_entry){piece->text.bytes, (uint32_t)piece->text.count, 0};
    }
    VKF_TRY(vkf__trie_build(file->host, entries, count, &out_normalizer->user_defined));
    if (file->charsmap.count > 0)
        status = vkf__charsmap_copy(file->host, path, file->charsmap.bytes, file->charsmap.count, &out_normalizer->map);
fail:
    vkf__free(file->host, entries);
    return status;
}

void vkf__spm_normalizer_free(vkf__spm_normalizer *normalizer)
{
    if (!normalizer->host)
        return;
    vkf__trie_free(&normalizer->user_defined);
    vkf__charsmap_destroy(&normalizer->map);
    *normalizer = (vkf__spm_normalizer){0};
}

// A part of the text, and what is written for it.
typedef struct normal_part {
    size_t length; // in the text, at least 1
    const char *bytes;
    size_t count;
} normal_part;

// The length of the longest user-defined piece that the text begins with; 0 for none.
static size_t find_user_defined(const vkf__trie *trie, const char *text, size_t bytes)
{
    size_t longest = 0;
    uint32_t node = VKF_TRIE_ROOT;
    for (size_t i = 0; i < bytes && trie->count > 1; i++) {
        node = vkf__trie_step(trie, node, (uint8_t)text[i]);
        if (node == VKF_TRIE_DEAD)
            break;
        if (trie->value[node] != VKF_TRIE_NONE)
            longest = i + 1;
    }
    return longest;
}

static normal_part read_part(const vkf__spm_normalizer *self, const char *text, size_t bytes)
{
    normal_part part = {find_user_defined(&self->user_defined, text, bytes), text, 0};
    part.count = part.length;
    if (part.length == 0 && self->map)
        part.bytes = vkf__charsmap_longest(self->map, text, bytes, &part.length, &part.count);
    if (part.length == 0) {
        part.length = part.count = vkf__utf8_bytes(text);
        part.bytes = text;
    }
    return part;
}

static void put_blank(vkf__aligned_text *text, const vkf__spm_normalizer *self, vkf__byte_span origin)
{
    vkf__text_put(text, self->escape_whitespaces ? BLANK_SYMBOL : ' ', origin);
}

static void put_part(vkf__aligned_text *text, const vkf__spm_normalizer *self, normal_part part, vkf__byte_span origin)
{
    for (size_t at = 0; at < part.count; at += vkf__utf8_bytes(part.bytes + at)) {
        if (part.bytes[at] == ' ')
            put_blank(text, self, origin);
        else
            vkf__text_put(text, vkf__utf8_read(part.bytes + at), origin);
    }
}

// Removes blanks at the end, including those that the text itself writes as symbols.
static void take_back_blanks(vkf__aligned_text *text, const vkf__spm_normalizer *self, size_t begin)
{
    const char *blank = self->escape_whitespaces ? "\xe2\x96\x81" : " ";
    size_t bytes = strlen(blank);
    while (text->next.count - begin >= bytes && memcmp(text->next.bytes + text->next.count - bytes, blank, bytes) == 0)
        vkf__text_take_back(text, bytes);
}

static vkf__byte_span origin_of(const vkf__aligned_text *text, uint32_t at, size_t length)
{
    const vkf__byte_span *origins = text->now.origins + at;
    return (vkf__byte_span){origins[0].begin, origins[length - 1].end};
}

// Blanks are only removed after the rules have been applied, because rules may write blanks themselves.
static void put_normalized(vkf__aligned_text *text, const void *user)
{
    const vkf__spm_normalizer *self = user;
    const char *bytes = text->now.bytes;
    bool removes = self->remove_extra_whitespaces;
    size_t begin = text->next.count;
    uint32_t at = text->begin;
    for (normal_part part; removes && at < text->end; at += (uint32_t)part.length) {
        part = read_part(self, bytes + at, text->end - at);
        if (part.count != 1 || *part.bytes != ' ')
            break;
    }
    if (at == text->end)
        return;
    if (self->add_dummy_prefix && !self->whitespace_as_suffix)
        put_blank(text, self, text->now.origins[at]);
    bool after_blank = removes;
    while (at < text->end && text->status == VKF_OK) {
        normal_part part = read_part(self, bytes + at, text->end - at);
        vkf__byte_span origin = origin_of(text, at, part.length);
        at += (uint32_t)part.length;
        for (; after_blank && part.count > 0 && *part.bytes == ' '; part.count--)
            part.bytes++;
        put_part(text, self, part, origin);
        if (part.count > 0)
            after_blank = removes && part.bytes[part.count - 1] == ' ';
    }
    if (removes)
        take_back_blanks(text, self, begin);
    if (self->add_dummy_prefix && self->whitespace_as_suffix)
        put_blank(text, self, text->now.origins[text->end - 1]);
}

vkf_status vkf__spm_normalize(vkf__aligned_text *text, const void *normalizer)
{
    return vkf__text_rewrite(text, put_normalized, normalizer);
}
