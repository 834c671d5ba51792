// Marian's tokenizers cut a text into the pieces of source.spm. vocab.json gives the ids of these, and also of parts
// that source.spm does not know but that are pieces of the target language. target.spm turns pieces back into text.
#include "text/marian.h"

#include <stdio.h>
#include <string.h>

#include "io/file.h"
#include "io/path.h"
#include "text/spm_normalizer.h"
#include "text/unigram.h"

#define BLANK_SYMBOL "\xe2\x96\x81"
#define SPECIAL_COUNT 3

static const char *const specials[SPECIAL_COUNT] = {"</s>", "<unk>", "<pad>"};

typedef struct marian {
    const vkf__host *host;
    vkf__spm_normalizer normalizer;
    vkf__unigram unigram;
    vkf__trie pieces; // of source.spm
    int32_t *ids;     // (pieces), from vocab.json
    int32_t unk_id;
    vkf__trie codes;  // of languages, with ids from vocab.json
    vkf__trie target; // from target.spm: the type of each piece
    bool strips_first_blank;
    bool strips_all_blanks; // not only one blank before the first word, but all
    char *unk_surface;
} marian;

// --- from text to ids

// Cuts off the code of the target language, which comes before the text: ">>deu<< It rains."
static vkf_status cut_language(vkf__aligned_text *text, const vkf__piece *piece, const void *user)
{
    const marian *self = user;
    const char *bytes = text->now.bytes;
    uint32_t begin = piece->begin;
    uint32_t end = begin;
    if (piece->end - begin >= 4 && memcmp(bytes + begin, ">>", 2) == 0) {
        for (uint32_t at = begin + 2; at + 2 <= piece->end && end == begin; at++)
            end = bytes[at] == '<' && bytes[at + 1] == '<' ? at + 2 : end;
    }
    int32_t id = vkf__trie_find(&self->codes, bytes + begin, end - begin);
    vkf_status status = vkf__text_add_piece(text, begin, end, id == VKF_TRIE_NONE ? self->unk_id : id);
    return status == VKF_OK ? vkf__text_add_piece(text, end, piece->end, VKF_NO_TOKEN) : status;
}

static vkf_status normalize(vkf__aligned_text *text, const void *user)
{
    const marian *self = user;
    vkf_status status = vkf__text_cut(text, cut_language, self);
    return status == VKF_OK ? vkf__spm_normalize(text, &self->normalizer) : status;
}

static vkf_status tokenize(const void *user, const vkf__token_vocabulary *vocabulary, const char *text, size_t bytes,
                           vkf__token_scratch *scratch)
{
    const marian *self = user;
    size_t begin = scratch->count;
    vkf_status status = vkf__unigram_tokenize(&self->unigram, &self->pieces, text, bytes, scratch);
    for (size_t i = begin; i < scratch->count; i++) {
        vkf__model_token *token = &scratch->tokens[i];
        int32_t id = self->ids[token->id];
        if (token->id == self->unigram.unk_id) {
            id = vkf__trie_find(&vocabulary->trie, text + token->begin, token->end - token->begin);
            id = id == VKF_TRIE_NONE ? self->unk_id : id;
        }
        token->id = id;
    }
    return status;
}

// --- from ids to text: the tokens between special ones are a text of their own

typedef struct decoding {
    const marian *self;
    vkf__text_list *to;
    size_t begin;  // of this text
    bool stripped; // of its first blank
    char bytes[4]; // of a character that byte pieces spell
    size_t byte_count;
} decoding;

static vkf_status flush_bytes(decoding *work, bool all)
{
    vkf_status status = VKF_OK;
    while (work->byte_count > 0 && status == VKF_OK) {
        bool valid = false;
        size_t used = vkf__utf8_check(work->bytes, work->byte_count, &valid);
        if (!valid && !all && used == work->byte_count && work->byte_count < sizeof work->bytes)
            return VKF_OK; // more of the character may come
        used = valid ? used : 1;
        status = valid ? vkf__text_list_write(work->to, work->bytes, used)
                       : vkf__text_list_write(work->to, "\xef\xbf\xbd", 3);
        work->byte_count -= used;
        memmove(work->bytes, work->bytes + used, work->byte_count);
    }
    return status;
}

// Reads "<0x0A>".
static bool read_byte(const char *text, size_t bytes, char *out_byte)
{
    static const char digits[] = "0123456789ABCDEF";
    if (bytes != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>')
        return false;
    const char *high = memchr(digits, text[3], 16);
    const char *low = memchr(digits, text[4], 16);
    if (high && low)
        *out_byte = (char)(unsigned char)((high - digits) * 16 + (low - digits));
    return high && low;
}

static vkf_status write_with_blanks(vkf__text_list *to, const char *text, size_t bytes)
{
    vkf_status status = VKF_OK;
    for (size_t at = 0; at < bytes && status == VKF_OK;) {
        bool blank = bytes - at >= 3 && memcmp(text + at, BLANK_SYMBOL, 3) == 0;
        status = vkf__text_list_write(to, blank ? " " : text + at, 1);
        at += blank ? 3 : 1;
    }
    return status;
}

static vkf_status decode_piece(decoding *work, const char *text, size_t bytes)
{
    vkf_status status = VKF_OK;
    int32_t type = vkf__trie_find(&work->self->target, text, bytes); // or VKF_TRIE_NONE
    if (type == VKF_SPM_BYTE && read_byte(text, bytes, &work->bytes[work->byte_count])) {
        work->byte_count++;
        return flush_bytes(work, false);
    }
    VKF_RETURN_IF_ERROR(flush_bytes(work, true));
    if (type == VKF_SPM_CONTROL)
        return VKF_OK;
    if (type == VKF_SPM_UNKNOWN)
        return vkf__text_list_write(work->to, work->self->unk_surface, strlen(work->self->unk_surface));
    // The normaliser added the blank before the first word, so it goes. A piece that target.spm does not have keeps its
    // blank.
    bool first = work->to->count == work->begin && type != VKF_TRIE_NONE;
    if (first && !work->stripped && work->self->strips_first_blank && bytes >= 3 &&
        memcmp(text, BLANK_SYMBOL, 3) == 0) {
        work->stripped = !work->self->strips_all_blanks;
        text += 3;
        bytes -= 3;
    }
    status = write_with_blanks(work->to, text, bytes);
    return status;
}

static bool is_special(const char *text, size_t bytes)
{
    for (size_t i = 0; i < SPECIAL_COUNT; i++)
        if (strlen(specials[i]) == bytes && memcmp(specials[i], text, bytes) == 0)
            return true;
    return false;
}

// As Python defines it.
static bool is_blank(uint32_t code_point)
{
    return vkf__is_whitespace(code_point) || (code_point >= 0x1c && code_point <= 0x1f);
}

// Removes the blanks at both ends.
static void strip(vkf__text_list *list)
{
    size_t begin = 0;
    size_t end = list->count;
    while (begin < end && is_blank(vkf__utf8_read(list->bytes + begin)))
        begin += vkf__utf8_bytes(list->bytes + begin);
    while (end > begin) {
        size_t last = vkf__utf8_before(list->bytes, begin, end);
        if (!is_blank(vkf__utf8_read(list->bytes + last)))
            break;
        end = last;
    }
    if (end > begin)
        memmove(list->bytes, list->bytes + begin, end - begin);
    list->count = end - begin;
}

static vkf_status decode(const void *user, const vkf__text_list *from, vkf__text_list *to)
{
    vkf_status status = VKF_OK;
    decoding work = {.self = user, .to = to};
    for (size_t i = 0, begin = 0; i < from->text_count; begin = from->ends[i++]) {
        const char *text = from->bytes + begin;
        size_t bytes = from->ends[i] - begin;
        if (!is_special(text, bytes)) {
            VKF_RETURN_IF_ERROR(decode_piece(&work, text, bytes));
            continue;
        }
        VKF_RETURN_IF_ERROR(flush_bytes(&work, true));
        VKF_RETURN_IF_ERROR(vkf__text_list_write(to, text, bytes));
        VKF_RETURN_IF_ERROR(vkf__text_list_write(to, " ", 1));
        work.begin = to->count;
        work.stripped = false;
    }
    VKF_RETURN_IF_ERROR(flush_bytes(&work, true));
    strip(to);
    status = vkf__text_list_end(to);
    return status;
}

// --- reading

// Makes a trie of the pieces to look for in text, with their numbers, or of all pieces, with their types.
static vkf_status build_trie(const vkf__spm_file *file, bool in_text, vkf__trie *out_trie)
{
    vkf_status status = VKF_OK;
    vkf__trie_entry *entries = NULL;
    size_t count = 0;
    VKF_ALLOC(file->host, entries, file->count + 1);
    for (size_t i = 0; i < file->count; i++) {
        const vkf__spm_piece *piece = &file->pieces[i];
        if (!in_text || piece->type == VKF_SPM_NORMAL || piece->type == VKF_SPM_USER_DEFINED)
            entries[count++] = (vkf__trie_entry){piece->text.bytes, (uint32_t)piece->text.count,
                                                 in_text ? (int32_t)i : (int32_t)piece->type};
    }
    status = vkf__trie_build(file->host, entries, count, out_trie);
fail:
    vkf__free(file->host, entries);
    return status;
}

// User-defined pieces are always taken: they score above any other, and higher the longer they are.
static vkf_status load_scores(const vkf__spm_file *file, vkf__unigram *unigram)
{
    float worst = 0;
    float best = 0;
    bool any = false;
    VKF_ALLOC_OR_RETURN(file->host, unigram->scores, file->count);
    for (size_t i = 0; i < file->count; i++) {
        float score = file->pieces[i].score;
        if (file->pieces[i].type != VKF_SPM_NORMAL)
            continue;
        worst = !any || score < worst ? score : worst;
        best = !any || score > best ? score : best;
        any = true;
    }
    for (size_t i = 0; i < file->count; i++) {
        const vkf__spm_piece *piece = &file->pieces[i];
        bool given = piece->type == VKF_SPM_USER_DEFINED;
        unigram->scores[i] = given ? (double)((float)piece->text.count * best) - 0.1 : (double)piece->score;
    }
    unigram->unk_score = (float)(worst - VKF_UNIGRAM_UNKNOWN_PENALTY);
    unigram->unk_id = file->unk_id;
    unigram->single = true;
    return VKF_OK;
}

static vkf_status load_bytes(const vkf__spm_file *file, const char *path, vkf__unigram *unigram)
{
    size_t found = 0;
    unigram->byte_fallback = file->byte_fallback;
    for (size_t byte = 0; byte < 256; byte++)
        unigram->bytes[byte] = VKF_TRIE_NONE;
    for (size_t i = 0; i < file->count; i++) {
        const vkf__spm_piece *piece = &file->pieces[i];
        char byte = 0;
        if (piece->type != VKF_SPM_BYTE || !read_byte(piece->text.bytes, piece->text.count, &byte))
            continue;
        found += unigram->bytes[(unsigned char)byte] == VKF_TRIE_NONE;
        unigram->bytes[(unsigned char)byte] = (int32_t)i;
    }
    if (file->byte_fallback && found < 256)
        return vkf__fail(file->host, VKF_ERROR_FORMAT, "%s has byte_fallback, and only %zu of 256 byte pieces", path,
                         found);
    return VKF_OK;
}

static vkf_status load_ids(const vkf__spm_file *file, const vkf__trie *vocabulary, marian *self)
{
    VKF_ALLOC_OR_RETURN(file->host, self->ids, file->count);
    for (size_t i = 0; i < file->count; i++) {
        int32_t id = vkf__trie_find(vocabulary, file->pieces[i].text.bytes, file->pieces[i].text.count);
        self->ids[i] = id == VKF_TRIE_NONE ? self->unk_id : id;
    }
    return VKF_OK;
}

static vkf_status load_codes(const vkf__token_vocabulary *vocabulary, marian *self)
{
    vkf_status status = VKF_OK;
    vkf__trie_entry *entries = NULL;
    size_t count = 0;
    VKF_ALLOC(self->host, entries, vocabulary->count + 1);
    for (size_t i = 0; i < vocabulary->count; i++) {
        const vkf__token_text *token = &vocabulary->tokens[i];
        if (strncmp(token->text, ">>", 2) == 0)
            entries[count++] = (vkf__trie_entry){token->text, token->bytes, token->id};
    }
    status = vkf__trie_build(self->host, entries, count, &self->codes);
fail:
    vkf__free(self->host, entries);
    return status;
}

static void free_marian(const vkf__host *host, void *data)
{
    marian *self = data;
    vkf__spm_normalizer_free(&self->normalizer);
    vkf__free(host, self->unigram.scores);
    vkf__trie_free(&self->pieces);
    vkf__free(host, self->ids);
    vkf__trie_free(&self->codes);
    vkf__trie_free(&self->target);
    vkf__free(host, self->unk_surface);
    vkf__free(host, self);
}

static const vkf__token_model_kind marian_kind = {
    .name = "Marian",
    .surface = true,
    .tokenize = tokenize,
    .free = free_marian,
};

static vkf_status load_source(const vkf__marian_files *files, const vkf__token_vocabulary *vocabulary, marian *self)
{
    vkf_status status = VKF_OK;
    vkf__spm_file source = {0};
    VKF_TRY(vkf__spm_file_parse(self->host, files->paths[0], files->bytes[0], &source));
    VKF_TRY(vkf__spm_file_check_type(&source, files->paths[0], VKF_SPM_UNIGRAM));
    VKF_TRY(vkf__spm_normalizer_init(&source, files->paths[0], &self->normalizer));
    VKF_TRY(build_trie(&source, true, &self->pieces));
    VKF_TRY(load_scores(&source, &self->unigram));
    VKF_TRY(load_bytes(&source, files->paths[0], &self->unigram));
    VKF_TRY(load_ids(&source, &vocabulary->trie, self));
fail:
    vkf__spm_file_free(&source);
    return status;
}

static vkf_status load_target(const vkf__marian_files *files, marian *self)
{
    vkf_status status = VKF_OK;
    vkf__spm_file target = {0};
    VKF_TRY(vkf__spm_file_parse(self->host, files->paths[1], files->bytes[1], &target));
    VKF_TRY(vkf__spm_file_check_type(&target, files->paths[1], VKF_SPM_UNIGRAM));
    self->strips_first_blank = target.add_dummy_prefix || target.remove_extra_whitespaces;
    self->strips_all_blanks = target.remove_extra_whitespaces;
    VKF_ALLOC(self->host, self->unk_surface, target.unk_surface.count + 1);
    memcpy(self->unk_surface, target.unk_surface.bytes, target.unk_surface.count);
    VKF_TRY(build_trie(&target, false, &self->target));
fail:
    vkf__spm_file_free(&target);
    return status;
}

// The tokenizer.json that would say the same, except for the model, whose vocabulary goes in. The ids to fill in are
// those of </s>, <unk>, <pad>, </s> and <pad>.
static const char frame[] =
    "{\"added_tokens\":[{\"id\":%lu,\"content\":\"</s>\",\"special\":true,\"normalized\":false},"
    "{\"id\":%lu,\"content\":\"<unk>\",\"special\":true,\"normalized\":false},"
    "{\"id\":%lu,\"content\":\"<pad>\",\"special\":true,\"normalized\":false}],"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},"
    "{\"SpecialToken\":{\"id\":\"</s>\",\"type_id\":0}}],\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},"
    "{\"Sequence\":{\"id\":\"B\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"</s>\",\"type_id\":0}}],"
    "\"special_tokens\":{\"</s>\":{\"id\":\"</s>\",\"ids\":[%lu],\"tokens\":[\"</s>\"]}}},"
    "\"padding\":{\"strategy\":\"BatchLongest\",\"direction\":\"Right\",\"pad_id\":%lu,\"pad_type_id\":0},"
    "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"<unk>\"}}";

static vkf_status parse_frame(const vkf__host *host, const char *path, json_t *vocabulary,
                              vkf__tokenizer *out_tokenizer)
{
    vkf_status status = VKF_OK;
    char text[sizeof frame + 100];
    uint32_t ids[SPECIAL_COUNT];
    json_t *root = NULL;
    for (size_t i = 0; i < SPECIAL_COUNT; i++)
        VKF_TRY(vkf__json_u32(host, path, vocabulary, specials[i], 0, VKF_TOKEN_MAX_ID, &ids[i]));
    int bytes = snprintf(text, sizeof text, frame, (unsigned long)ids[0], (unsigned long)ids[1], (unsigned long)ids[2],
                         (unsigned long)ids[0], (unsigned long)ids[2]);
    VKF_TRY(vkf__json_parse(host, path, text, (size_t)bytes, &root));
    if (json_object_set(json_object_get(root, "model"), "vocab", vocabulary) != 0)
        status = vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory", path);
    else
        status = vkf__tokenizer_from_json(host, path, root, out_tokenizer);
fail:
    json_decref(root);
    return status;
}

static vkf_status put_model(vkf__tokenizer *tokenizer, marian *self)
{
    vkf_status status = VKF_OK;
    vkf__token_model *model = &tokenizer->model;
    model->kind->free(tokenizer->host, model->self);
    model->kind = &marian_kind;
    model->self = self;
    tokenizer->decoder.run = decode;
    tokenizer->decoder.user = self;
    status = vkf__normalizer_add(&tokenizer->normalizer, normalize, self);
    return status;
}

static vkf_status load_parts(const vkf__marian_files *files, vkf__tokenizer *tokenizer)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = tokenizer->host;
    marian *self = NULL;
    VKF_ALLOC(host, self, 1);
    self->host = host;
    self->unk_id = vkf__tokenizer_token_to_id(tokenizer, "<unk>");
    VKF_TRY(load_codes(&tokenizer->model.vocabulary, self));
    VKF_TRY(load_source(files, &tokenizer->model.vocabulary, self));
    VKF_TRY(load_target(files, self));
    return put_model(tokenizer, self);
fail:
    if (self)
        free_marian(host, self);
    return status;
}

vkf_status vkf__marian_parse(const vkf__host *host, const vkf__marian_files *files, vkf__tokenizer *out_tokenizer)
{
    vkf_status status = VKF_OK;
    vkf__tokenizer tokenizer = {.host = host};
    json_t *vocabulary = NULL;
    VKF_TRY(vkf__json_parse(host, files->paths[2], files->bytes[2].bytes, files->bytes[2].count, &vocabulary));
    VKF_TRY(parse_frame(host, files->paths[2], vocabulary, &tokenizer));
    VKF_TRY(load_parts(files, &tokenizer));
    *out_tokenizer = tokenizer;
fail:
    if (status != VKF_OK)
        vkf__tokenizer_free(&tokenizer);
    json_decref(vocabulary);
    return status;
}

// Refuses a vocabulary for each language: vocab.json would then be the source's alone.
static vkf_status check_config(const vkf__host *host, const char *directory)
{
    vkf_status status = VKF_OK;
    json_t *config = NULL;
    char *path = NULL;
    VKF_TRY(vkf__path_join(host, directory, "tokenizer_config.json", &path));
    if (vkf__file_is_there(host, path))
        VKF_TRY(vkf__json_load(host, path, &config));
    if (json_is_true(json_object_get(config, "separate_vocabs")))
        status = vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                           "%s: key 'separate_vocabs' is true; one vocabulary for both languages is supported", path);
fail:
    json_decref(config);
    vkf__free(host, path);
    return status;
}

vkf_status vkf__marian_load(const vkf__host *host, const char *directory, vkf__tokenizer *out_tokenizer)
{
    static const char *const names[3] = {"source.spm", "target.spm", "vocab.json"};
    vkf_status status = VKF_OK;
    char *paths[3] = {NULL, NULL, NULL};
    vkf__file_bytes contents[3] = {{.data = NULL}, {.data = NULL}, {.data = NULL}};
    vkf__marian_files files;
    VKF_TRY(check_config(host, directory));
    for (size_t i = 0; i < 3; i++) {
        VKF_TRY(vkf__path_join(host, directory, names[i], &paths[i]));
        VKF_TRY(vkf__file_read(host, paths[i], VKF_TOKENIZER_MAX_BYTES, &contents[i]));
        files.paths[i] = paths[i];
        files.bytes[i] = (vkf__spm_text){(const char *)contents[i].data, contents[i].size_bytes};
    }
    status = vkf__marian_parse(host, &files, out_tokenizer);
fail:
    for (size_t i = 0; i < 3; i++) {
        vkf__file_bytes_free(host, &contents[i]);
        vkf__free(host, paths[i]);
    }
    return status;
}
