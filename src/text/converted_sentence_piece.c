// Converts spiece.model, sentencepiece.bpe.model and tokenizer.model: SentencePiece's models of T5, XLM-R, CamemBERT
// and Llama.
#include <string.h>

#include "io/file.h"
#include "text/code_point.h"
#include "text/conversion.h"
#include "text/spm_file.h"

#define BLANK_SYMBOL "\xe2\x96\x81"
#define MAX_MERGES ((size_t)1 << 22)
#define MAX_MERGE_BYTES VKF_TOKENIZER_MAX_BYTES // of all merges together

typedef struct pieces {
    const vkf__host *host;
    const char *path;
    vkf__file_bytes bytes;
    vkf__spm_file file;
} pieces;

static vkf_status no_memory(const vkf__host *host)
{
    return vkf__no_memory(host, "the conversion of a SentencePiece model", 1, sizeof(json_t *));
}

// --- reading

static vkf_status check_piece(const pieces *self, size_t index)
{
    const vkf__spm_text *text = &self->file.pieces[index].text;
    bool valid = memchr(text->bytes, 0, text->count) == NULL;
    for (size_t at = 0; at < text->count && valid;)
        at += vkf__utf8_check(text->bytes + at, text->count - at, &valid);
    return valid ? VKF_OK
                 : vkf__fail(self->host, VKF_ERROR_FORMAT, "%s: piece %zu is not valid UTF-8 or has a zero byte",
                             self->path, index);
}

static void close_pieces(pieces *self)
{
    vkf__spm_file_free(&self->file);
    vkf__file_bytes_free(self->host, &self->bytes);
}

static vkf_status open_pieces(const vkf__conversion *conversion, uint32_t model_type, pieces *out_self)
{
    vkf_status status = VKF_OK;
    pieces self = {.host = conversion->host, .path = conversion->path};
    VKF_TRY(vkf__file_read(self.host, self.path, VKF_TOKENIZER_MAX_BYTES, &self.bytes));
    VKF_TRY(vkf__spm_file_parse(self.host, self.path,
                                (vkf__spm_text){(const char *)self.bytes.data, self.bytes.size_bytes}, &self.file));
    VKF_TRY(vkf__spm_file_check_type(&self.file, self.path, model_type));
    for (size_t i = 0; i < self.file.count; i++)
        VKF_TRY(check_piece(&self, i));
    *out_self = self;
    return VKF_OK;
fail:
    close_pieces(&self);
    return status;
}

// Makes added tokens of the control pieces and the user-defined ones.
static vkf_status find_extras(vkf__conversion *conversion, const vkf__spm_file *file)
{
    json_t *extras = conversion->extras = json_array();
    for (size_t i = 0; i < file->count; i++) {
        const vkf__spm_piece *piece = &file->pieces[i];
        if (piece->type != VKF_SPM_CONTROL && piece->type != VKF_SPM_USER_DEFINED)
            continue;
        json_t *token = json_pack("{s:s%, s:b, s:b}", "content", piece->text.bytes, piece->text.count, "special",
                                  piece->type == VKF_SPM_CONTROL, "normalized", false);
        if (json_array_append_new(extras, token) != 0)
            return no_memory(conversion->host);
    }
    return extras ? VKF_OK : no_memory(conversion->host);
}

// Encodes the map of characters in base64.
static json_t *encode(const vkf__host *host, vkf__spm_text blob)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *bytes = (const unsigned char *)blob.bytes;
    size_t length = (blob.count + 2) / 3 * 4;
    char *text = vkf__alloc(host, length, 1);
    for (size_t i = 0, at = 0; i < blob.count && text; i += 3) {
        size_t left = blob.count - i;
        unsigned word = (unsigned)bytes[i] << 16;
        word |= left > 1 ? (unsigned)bytes[i + 1] << 8 : 0;
        word |= left > 2 ? bytes[i + 2] : 0;
        text[at++] = digits[word >> 18];
        text[at++] = digits[word >> 12 & 63];
        text[at++] = left > 1 ? digits[word >> 6 & 63] : '=';
        text[at++] = left > 2 ? digits[word & 63] : '=';
    }
    json_t *encoded = text ? json_stringn(text, length) : NULL;
    vkf__free(host, text);
    return encoded;
}

// --- Unigram

// A vocabulary that grows at its end.
typedef struct scored {
    json_t *list; // [text, score]
    json_t *ids;
    bool failed;
} scored;

static void add_scored(scored *to, const char *text, size_t bytes, double score)
{
    json_t *token = json_pack("[s%, f]", text, bytes, score);
    to->failed |= json_array_append(to->list, token) != 0 ||
                  json_object_set_new(to->ids, json_string_value(json_array_get(token, 0)),
                                      json_integer((json_int_t)json_array_size(to->list) - 1)) != 0;
    json_decref(token);
}

static void add_text(scored *to, const char *text, double score)
{
    add_scored(to, text ? text : "None", text ? strlen(text) : 4, score);
}

static void add_pieces(scored *to, const vkf__spm_file *file, size_t begin)
{
    for (size_t i = begin; i < file->count; i++)
        add_scored(to, file->pieces[i].text.bytes, file->pieces[i].text.count, (double)file->pieces[i].score);
}

static json_t *make_metaspace(const char *scheme, bool split)
{
    return json_pack("{s:s, s:s, s:s, s:b}", "type", "Metaspace", "replacement", BLANK_SYMBOL, "prepend_scheme", scheme,
                     "split", split);
}

// Makes what the three Unigram classes share. `unk_id` is a place in the vocabulary.
static vkf_status put_unigram(vkf__conversion *conversion, const vkf__spm_file *file, const scored *vocabulary,
                              size_t unk_id)
{
    vkf_status status = VKF_OK;
    bool prefix = true;
    json_t *model = json_pack("{s:s, s:I, s:O, s:b}", "type", "Unigram", "unk_id", (json_int_t)unk_id, "vocab",
                              vocabulary->list, "byte_fallback", false);
    if (vocabulary->failed || !model) {
        status = no_memory(conversion->host);
        goto fail;
    }
    VKF_TRY(vkf__conversion_add_model(conversion, model, vocabulary->ids));
    if (file->charsmap.count > 0)
        VKF_TRY(vkf__conversion_put(conversion, "normalizer",
                                    json_pack("{s:s, s:o}", "type", "Precompiled", "precompiled_charsmap",
                                              encode(conversion->host, file->charsmap))));
    if (!conversion->kind->always_prefixed)
        VKF_TRY(vkf__conversion_bool(conversion, "add_prefix_space", &prefix));
    const char *scheme = prefix ? "always" : "never";
    VKF_TRY(vkf__conversion_put(conversion, "pre_tokenizer",
                                json_pack("{s:s, s:[{s:s}, o]}", "type", "Sequence", "pretokenizers", "type",
                                          "WhitespaceSplit", make_metaspace(scheme, true))));
    status = vkf__conversion_put(conversion, "decoder", make_metaspace(scheme, true));
fail:
    json_decref(model);
    return status;
}

static scored new_scored(void)
{
    return (scored){.list = json_array(), .ids = json_object()};
}

static void free_scored(scored *vocabulary)
{
    json_decref(vocabulary->list);
    json_decref(vocabulary->ids);
}

static vkf_status read_extra_ids(const vkf__conversion *conversion, uint32_t *inout_count)
{
    const json_t *given = json_object_get(conversion->settings, "extra_ids");
    double value = json_number_value(given);
    if (!given)
        return VKF_OK;
    if (!json_is_number(given) || !(value >= 0 && value <= VKF_MAX_ADDED_TOKENS))
        return vkf__fail(conversion->host, VKF_ERROR_FORMAT,
                         "%s/tokenizer_config.json: key 'extra_ids' must be a number within 0 and %d",
                         conversion->directory, VKF_MAX_ADDED_TOKENS);
    *inout_count = (uint32_t)value;
    return VKF_OK;
}

// Adds T5's sentinels as special tokens, unless the model has such pieces of its own.
static vkf_status add_sentinels(const vkf__conversion *conversion, uint32_t count)
{
    for (size_t i = 0; i < json_array_size(conversion->extras); i++) {
        const char *text = json_string_value(json_object_get(json_array_get(conversion->extras, i), "content"));
        if (text && strstr(text, "<extra_id_"))
            return VKF_OK;
    }
    for (uint32_t i = 0; i < count; i++)
        if (json_array_append_new(conversion->extras, json_sprintf("<extra_id_%lu>", (unsigned long)i)) != 0)
            return no_memory(conversion->host);
    return VKF_OK;
}

vkf_status vkf__convert_t5(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    pieces from = {.host = conversion->host};
    scored vocabulary = new_scored();
    uint32_t extra_ids = 100;
    VKF_TRY(read_extra_ids(conversion, &extra_ids));
    VKF_TRY(open_pieces(conversion, VKF_SPM_UNIGRAM, &from));
    add_pieces(&vocabulary, &from.file, 0);
    for (uint32_t i = extra_ids; i > 0; i--) {
        char text[40];
        snprintf(text, sizeof text, "<extra_id_%lu>", (unsigned long)i - 1);
        add_text(&vocabulary, text, 0);
    }
    VKF_TRY(find_extras(conversion, &from.file));
    VKF_TRY(add_sentinels(conversion, extra_ids));
    VKF_TRY(put_unigram(conversion, &from.file, &vocabulary, 2));
    status = vkf__conversion_template(conversion, "0A0S", "0A0S0B0S", VKF_NAMED_EOS, VKF_NAMED_EOS);
fail:
    free_scored(&vocabulary);
    close_pieces(&from);
    return status;
}

// fairseq's four tokens come first, in place of SentencePiece's three.
vkf_status vkf__convert_xlm_roberta(vkf__conversion *conversion)
{
    static const vkf__named_token first[] = {VKF_NAMED_BOS, VKF_NAMED_PAD, VKF_NAMED_EOS, VKF_NAMED_UNK};
    vkf_status status = VKF_OK;
    pieces from = {.host = conversion->host};
    scored vocabulary = new_scored();
    VKF_TRY(open_pieces(conversion, VKF_SPM_UNIGRAM, &from));
    for (size_t i = 0; i < 4; i++)
        add_text(&vocabulary, vkf__conversion_token(conversion, first[i]), 0);
    add_pieces(&vocabulary, &from.file, 3);
    add_text(&vocabulary, vkf__conversion_token(conversion, VKF_NAMED_MASK), 0);
    VKF_TRY(find_extras(conversion, &from.file));
    VKF_TRY(put_unigram(conversion, &from.file, &vocabulary, 3));
    status = vkf__conversion_template(conversion, "0C0A0S", "0C0A0S0S0B0S", VKF_NAMED_BOS, VKF_NAMED_EOS);
fail:
    free_scored(&vocabulary);
    close_pieces(&from);
    return status;
}

vkf_status vkf__convert_camembert(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    pieces from = {.host = conversion->host};
    scored vocabulary = new_scored();
    const char *unknown = vkf__conversion_token(conversion, VKF_NAMED_UNK);
    VKF_TRY(open_pieces(conversion, VKF_SPM_UNIGRAM, &from));
    add_text(&vocabulary, "<s>NOTUSED", 0);
    add_text(&vocabulary, vkf__conversion_token(conversion, VKF_NAMED_PAD), 0);
    add_text(&vocabulary, "</s>NOTUSED", 0);
    add_text(&vocabulary, unknown, 0);
    add_text(&vocabulary, "<unk>NOTUSED", -100);
    add_pieces(&vocabulary, &from.file, 1);
    add_text(&vocabulary, vkf__conversion_token(conversion, VKF_NAMED_MASK), 0);
    VKF_TRY(find_extras(conversion, &from.file));
    VKF_TRY(put_unigram(conversion, &from.file, &vocabulary, 3));
    status = vkf__conversion_template(conversion, "0C0A0S", "0C0A0S0S0B0S", VKF_NAMED_BOS, VKF_NAMED_EOS);
fail:
    free_scored(&vocabulary);
    close_pieces(&from);
    return status;
}

// --- BPE

static vkf_status add_ids(const pieces *from, json_t *ids, vkf__trie_entry *entries)
{
    for (size_t i = 0; i < from->file.count; i++) {
        const vkf__spm_text *text = &from->file.pieces[i].text;
        json_t *key = json_stringn(text->bytes, text->count);
        const json_t *before = json_object_get(ids, json_string_value(key));
        int failed = !key || (!before && json_object_set_new(ids, json_string_value(key), json_integer((json_int_t)i)));
        json_decref(key);
        if (before)
            return vkf__fail(from->host, VKF_ERROR_FORMAT, "%s: pieces %ld and %zu are both '%.*s'", from->path,
                             (long)json_integer_value(before), i, (int)(text->count < 100 ? text->count : 100),
                             text->bytes);
        if (failed)
            return no_memory(from->host);
        entries[i] = (vkf__trie_entry){text->bytes, (uint32_t)text->count, (int32_t)i};
    }
    return VKF_OK;
}

// Adds a merge for every way of cutting a piece into two pieces. Merges into earlier pieces come first.
static vkf_status add_merges(const pieces *from, const vkf__trie *trie, json_t *merges)
{
    size_t bytes = 0;
    for (size_t i = 0; i < from->file.count; i++) {
        const vkf__spm_text *text = &from->file.pieces[i].text;
        uint32_t node = VKF_TRIE_ROOT;
        for (size_t at = 0; at + 1 < text->count; at++) {
            node = vkf__trie_step(trie, node, (uint8_t)text->bytes[at]);
            if (node == VKF_TRIE_DEAD)
                break;
            if (trie->value[node] == VKF_TRIE_NONE ||
                vkf__trie_find(trie, text->bytes + at + 1, text->count - at - 1) == VKF_TRIE_NONE)
                continue;
            bytes += text->count;
            if (json_array_size(merges) >= MAX_MERGES || bytes > MAX_MERGE_BYTES)
                return vkf__fail(from->host, VKF_ERROR_FORMAT, "%s: its pieces make more than %zu merges, or long ones",
                                 from->path, MAX_MERGES);
            if (json_array_append_new(merges, json_pack("[s%, s%]", text->bytes, at + 1, text->bytes + at + 1,
                                                        text->count - at - 1)) != 0)
                return no_memory(from->host);
        }
    }
    return VKF_OK;
}

static vkf_status put_llama_model(vkf__conversion *conversion, const pieces *from)
{
    vkf_status status = VKF_OK;
    vkf__trie trie = {0};
    vkf__trie_entry *entries = NULL;
    json_t *model = NULL;
    json_t *ids = json_object();
    json_t *merges = json_array();
    VKF_ALLOC(conversion->host, entries, from->file.count + 1);
    VKF_TRY(add_ids(from, ids, entries));
    VKF_TRY(vkf__trie_build(conversion->host, entries, from->file.count, &trie));
    VKF_TRY(add_merges(from, &trie, merges));
    model = json_pack("{s:s, s:b, s:b, s:O, s:O}", "type", "BPE", "fuse_unk", true, "byte_fallback", true, "vocab", ids,
                      "merges", merges);
    VKF_TRY(find_extras(conversion, &from->file));
    status = vkf__conversion_add_model(conversion, model, ids);
fail:
    vkf__trie_free(&trie);
    vkf__free(conversion->host, entries);
    json_decref(model);
    json_decref(ids);
    json_decref(merges);
    return status;
}

vkf_status vkf__convert_llama(vkf__conversion *conversion)
{
    vkf_status status = VKF_OK;
    pieces from = {.host = conversion->host};
    bool legacy = false, prefix = true;
    VKF_TRY(vkf__conversion_bool(conversion, "legacy", &legacy));
    VKF_TRY(vkf__conversion_bool(conversion, "add_prefix_space", &prefix));
    VKF_TRY(open_pieces(conversion, VKF_SPM_BPE, &from));
    VKF_TRY(put_llama_model(conversion, &from));
    VKF_TRY(vkf__conversion_put(conversion, "pre_tokenizer",
                                make_metaspace(prefix ? legacy ? "always" : "first" : "never", false)));
    VKF_TRY(vkf__conversion_put(
        conversion, "decoder",
        json_pack("{s:s, s:[{s:s, s:{s:s}, s:s}, {s:s}, {s:s}, o*]}", "type", "Sequence", "decoders", "type", "Replace",
                  "pattern", "String", BLANK_SYMBOL, "content", " ", "type", "ByteFallback", "type", "Fuse",
                  prefix ? json_pack("{s:s, s:s, s:i, s:i}", "type", "Strip", "content", " ", "start", 1, "stop", 0)
                         : NULL)));
    status = vkf__conversion_ends(conversion);
fail:
    close_pieces(&from);
    return status;
}
