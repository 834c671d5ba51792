// The steps of decoders, each a row of a table. They do what the steps of the same name do in `tokenizers`.
#include "text/decoder.h"

#include <string.h>

#include "text/byte_level.h"
#include "text/pattern_section.h"
#include "text/text_limit.h"

struct vkf__decoder_step {
    const struct decoder_kind *kind;
    char *text;         // WordPiece: prefix, BPEDecoder: suffix, Replace: content, CTC: the padding
    char *delimiter;    // CTC
    bool cleanup;       // WordPiece, CTC
    bool keep_first;    // Metaspace: keep the blank before the first token, too
    uint32_t character; // Metaspace, Strip
    uint32_t start;     // Strip: at most this many from each end
    uint32_t stop;
    vkf__pattern *pattern; // Replace
};

// A step reads one list of texts and writes another.
typedef struct decoding {
    const vkf__decoder_step *step;
    const vkf__text_list *from;
    vkf__text_list *to;
} decoding;

typedef struct decoder_kind {
    const char *name;
    vkf_status (*load)(const vkf__json_section *section, vkf__decoder_step *step); // NULL: nothing to read
    vkf_status (*run)(decoding *work);
} decoder_kind;

// --- lists of texts

void vkf__text_list_free(vkf__text_list *list)
{
    vkf__free(list->host, list->bytes);
    vkf__free(list->host, list->ends);
    *list = (vkf__text_list){0};
}

vkf_status vkf__text_list_write(vkf__text_list *list, const char *bytes, size_t size_bytes)
{
    if (size_bytes == 0)
        return VKF_OK;
    if (list->limit > 0 && size_bytes > list->limit - list->count)
        return vkf__fail(list->host, VKF_ERROR_TOO_LARGE,
                         "the tokenizer's decoder makes the tokens' texts longer than %zu bytes", list->limit);
    vkf_status status =
        vkf__grow(list->host, (void **)&list->bytes, 1, list->count, &list->capacity, list->count + size_bytes);
    if (status != VKF_OK)
        return status;
    memcpy(list->bytes + list->count, bytes, size_bytes);
    list->count += size_bytes;
    return VKF_OK;
}

vkf_status vkf__text_list_end(vkf__text_list *list)
{
    vkf_status status = vkf__grow(list->host, (void **)&list->ends, sizeof *list->ends, list->text_count,
                                  &list->text_capacity, list->text_count + 1);
    if (status == VKF_OK)
        list->ends[list->text_count++] = list->count;
    return status;
}

typedef struct view {
    const char *bytes;
    size_t count;
} view;

static view text_at(const vkf__text_list *list, size_t index)
{
    size_t begin = index > 0 ? list->ends[index - 1] : 0;
    return list->bytes ? (view){list->bytes + begin, list->ends[index] - begin} : (view){"", 0};
}

static vkf_status write_text(vkf__text_list *list, view text)
{
    vkf_status status = vkf__text_list_write(list, text.bytes, text.count);
    return status == VKF_OK ? vkf__text_list_end(list) : status;
}

static const char *find_text(view text, const char *wanted, size_t wanted_bytes)
{
    if (wanted_bytes == 0)
        return NULL;
    for (size_t at = 0; wanted_bytes <= text.count && at <= text.count - wanted_bytes; at++) {
        const char *hit = memchr(text.bytes + at, wanted[0], text.count - wanted_bytes - at + 1);
        if (!hit)
            return NULL;
        if (memcmp(hit, wanted, wanted_bytes) == 0)
            return hit;
        at = (size_t)(hit - text.bytes);
    }
    return NULL;
}

// Writes the text with every `wanted` replaced, but does not end it.
static vkf_status write_replaced(vkf__text_list *list, view text, const char *wanted, const char *replacement)
{
    size_t bytes = strlen(wanted);
    for (const char *hit; (hit = find_text(text, wanted, bytes)) != NULL;) {
        size_t before = (size_t)(hit - text.bytes);
        VKF_RETURN_IF_ERROR(vkf__text_list_write(list, text.bytes, before));
        VKF_RETURN_IF_ERROR(vkf__text_list_write(list, replacement, strlen(replacement)));
        text = (view){hit + bytes, text.count - before - bytes};
    }
    return vkf__text_list_write(list, text.bytes, text.count);
}

// --- reading

static vkf_status load_text(const vkf__json_section *section, const char *key, const char *fallback, char **out_text)
{
    const char *text = fallback;
    vkf_status status = vkf__section_string(section, key, &text);
    if (status != VKF_OK)
        return status;
    if (!text)
        return vkf__fail(section->host, VKF_ERROR_FORMAT, "%s: key '%s' is missing", section->where, key);
    VKF_STRDUP(section->host, *out_text, text);
fail:
    return status;
}

// --- WordPiece, CTC

// English tokenisers separate these; cleaning up joins them again.
static const char *const cleanups[][2] = {
    {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
    {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
};

// Cleans up the last text of the list, which begins at `begin` and has not ended yet.
static vkf_status clean_up(vkf__text_list *list, size_t begin)
{
    vkf_status status = VKF_OK;
    vkf__text_list cleaned = {.host = list->host};
    for (size_t i = 0; i < sizeof cleanups / sizeof *cleanups && list->count > begin; i++) {
        view text = {list->bytes + begin, list->count - begin};
        if (!find_text(text, cleanups[i][0], strlen(cleanups[i][0])))
            continue;
        cleaned.count = 0;
        VKF_TRY(write_replaced(&cleaned, text, cleanups[i][0], cleanups[i][1]));
        list->count = begin;
        VKF_TRY(vkf__text_list_write(list, cleaned.bytes, cleaned.count));
    }
fail:
    vkf__text_list_free(&cleaned);
    return status;
}

static vkf_status load_word_piece(const vkf__json_section *section, vkf__decoder_step *step)
{
    step->cleanup = true;
    vkf_status status = vkf__section_bool(section, "cleanup", &step->cleanup);
    return status == VKF_OK ? load_text(section, "prefix", "##", &step->text) : status;
}

static vkf_status run_word_piece(decoding *work)
{
    size_t prefix = strlen(work->step->text);
    for (size_t i = 0; i < work->from->text_count; i++) {
        view text = text_at(work->from, i);
        size_t begin = work->to->count;
        bool continues = text.count >= prefix && memcmp(text.bytes, work->step->text, prefix) == 0;
        if (i > 0 && continues)
            text = (view){text.bytes + prefix, text.count - prefix};
        else if (i > 0)
            VKF_RETURN_IF_ERROR(vkf__text_list_write(work->to, " ", 1));
        VKF_RETURN_IF_ERROR(vkf__text_list_write(work->to, text.bytes, text.count));
        if (work->step->cleanup)
            VKF_RETURN_IF_ERROR(clean_up(work->to, begin));
        VKF_RETURN_IF_ERROR(vkf__text_list_end(work->to));
    }
    return VKF_OK;
}

static vkf_status load_ctc(const vkf__json_section *section, vkf__decoder_step *step)
{
    step->cleanup = true;
    vkf_status status = vkf__section_bool(section, "cleanup", &step->cleanup);
    if (status == VKF_OK)
        status = load_text(section, "pad_token", "<pad>", &step->text);
    return status == VKF_OK ? load_text(section, "word_delimiter_token", "|", &step->delimiter) : status;
}

static vkf_status run_ctc(decoding *work)
{
    vkf_status status = VKF_OK;
    vkf__text_list delimited = {.host = work->to->host};
    for (size_t i = 0; i < work->from->text_count; i++) {
        view text = text_at(work->from, i);
        view last = i > 0 ? text_at(work->from, i - 1) : (view){"", 0};
        if (i > 0 && text.count == last.count && memcmp(text.bytes, last.bytes, text.count) == 0)
            continue;
        size_t begin = work->to->count;
        VKF_TRY(write_replaced(work->to, text, work->step->text, ""));
        if (work->step->cleanup) {
            VKF_TRY(clean_up(work->to, begin));
            delimited.count = 0;
            view cleaned =
                work->to->count > begin ? (view){work->to->bytes + begin, work->to->count - begin} : (view){"", 0};
            VKF_TRY(write_replaced(&delimited, cleaned, work->step->delimiter, " "));
            work->to->count = begin;
            VKF_TRY(vkf__text_list_write(work->to, delimited.bytes, delimited.count));
        }
        if (work->to->count > begin)
            VKF_TRY(vkf__text_list_end(work->to));
    }
fail:
    vkf__text_list_free(&delimited);
    return status;
}

// --- ByteLevel

// Adds the bytes that a token stands for. If one of its characters stands for no byte, the token's own text is added.
static vkf_status write_bytes(vkf__text_list *list, view text)
{
    size_t begin = list->count;
    for (size_t at = 0; at < text.count; at += vkf__utf8_bytes(text.bytes + at)) {
        unsigned char byte = 0;
        if (!vkf__byte_level_byte(vkf__utf8_read(text.bytes + at), &byte)) {
            list->count = begin;
            return vkf__text_list_write(list, text.bytes, text.count);
        }
        vkf_status status = vkf__text_list_write(list, (const char *)&byte, 1);
        if (status != VKF_OK)
            return status;
    }
    return VKF_OK;
}

static vkf_status run_byte_level(decoding *work)
{
    vkf_status status = VKF_OK;
    vkf__text_list all = {.host = work->to->host};
    for (size_t i = 0; i < work->from->text_count; i++)
        VKF_TRY(write_bytes(&all, text_at(work->from, i)));
    for (size_t at = 0; at < all.count;) {
        bool valid = false;
        size_t length = vkf__utf8_check(all.bytes + at, all.count - at, &valid);
        VKF_TRY(valid ? vkf__text_list_write(work->to, all.bytes + at, length)
                      : vkf__text_list_write(work->to, "\xef\xbf\xbd", 3));
        at += length;
    }
    status = vkf__text_list_end(work->to);
fail:
    vkf__text_list_free(&all);
    return status;
}

// --- ByteFallback

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reads "<0x0A>" as Rust does, for which "+A" is a number, too. False for any other text.
static bool read_byte(view text, unsigned char *out_byte)
{
    if (text.count != 6 || memcmp(text.bytes, "<0x", 3) != 0 || text.bytes[5] != '>')
        return false;
    int high = text.bytes[3] == '+' ? 0 : hex_digit(text.bytes[3]);
    int low = hex_digit(text.bytes[4]);
    if (high < 0 || low < 0)
        return false;
    *out_byte = (unsigned char)(high << 4 | low);
    return true;
}

// Writes a run of bytes: as text if they are valid UTF-8, otherwise each as U+FFFD.
static vkf_status write_run(vkf__text_list *list, const char *bytes, size_t count)
{
    vkf_status status = VKF_OK;
    bool valid = true;
    for (size_t at = 0; at < count && valid;)
        at += vkf__utf8_check(bytes + at, count - at, &valid);
    if (valid)
        return count > 0 ? write_text(list, (view){bytes, count}) : VKF_OK;
    for (size_t i = 0; i < count && status == VKF_OK; i++)
        status = write_text(list, (view){"\xef\xbf\xbd", 3});
    return status;
}

static vkf_status run_byte_fallback(decoding *work)
{
    vkf_status status = VKF_OK;
    vkf__text_list run = {.host = work->to->host};
    for (size_t i = 0; i < work->from->text_count; i++) {
        view text = text_at(work->from, i);
        unsigned char byte = 0;
        if (read_byte(text, &byte)) {
            VKF_TRY(vkf__text_list_write(&run, (const char *)&byte, 1));
            continue;
        }
        VKF_TRY(write_run(work->to, run.bytes, run.count));
        run.count = 0;
        VKF_TRY(write_text(work->to, text));
    }
    status = write_run(work->to, run.bytes, run.count);
fail:
    vkf__text_list_free(&run);
    return status;
}

// --- Metaspace, Strip

static vkf_status load_metaspace(const vkf__json_section *section, vkf__decoder_step *step)
{
    const char *scheme = NULL;
    bool add_prefix_space = true;
    VKF_RETURN_IF_ERROR(vkf__section_code_point(section, "replacement", &step->character));
    VKF_RETURN_IF_ERROR(vkf__section_bool(section, "add_prefix_space", &add_prefix_space));
    VKF_RETURN_IF_ERROR(vkf__section_string(section, "prepend_scheme", &scheme));
    step->keep_first = !add_prefix_space || (scheme && strcmp(scheme, "never") == 0);
    return VKF_OK;
}

static vkf_status run_metaspace(decoding *work)
{
    for (size_t i = 0; i < work->from->text_count; i++) {
        view text = text_at(work->from, i);
        size_t length = 0;
        for (size_t at = 0; at < text.count; at += length) {
            length = vkf__utf8_bytes(text.bytes + at);
            if (vkf__utf8_read(text.bytes + at) != work->step->character)
                VKF_RETURN_IF_ERROR(vkf__text_list_write(work->to, text.bytes + at, length));
            else if (i > 0 || work->step->keep_first)
                VKF_RETURN_IF_ERROR(vkf__text_list_write(work->to, " ", 1));
        }
        VKF_RETURN_IF_ERROR(vkf__text_list_end(work->to));
    }
    return VKF_OK;
}

static vkf_status load_strip(const vkf__json_section *section, vkf__decoder_step *step)
{
    VKF_RETURN_IF_ERROR(vkf__section_code_point(section, "content", &step->character));
    VKF_RETURN_IF_ERROR(
        vkf__json_u32(section->host, section->where, section->object, "start", 0, UINT32_MAX, &step->start));
    return vkf__json_u32(section->host, section->where, section->object, "stop", 0, UINT32_MAX, &step->stop);
}

static vkf_status run_strip(decoding *work)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < work->from->text_count && status == VKF_OK; i++) {
        view text = text_at(work->from, i);
        size_t begin = 0;
        size_t end = text.count;
        for (uint32_t n = 0; n < work->step->start && begin < text.count; n++) {
            if (vkf__utf8_read(text.bytes + begin) != work->step->character)
                break;
            begin += vkf__utf8_bytes(text.bytes + begin);
        }
        for (uint32_t n = 0; n < work->step->stop && end > begin; n++) {
            size_t last = vkf__utf8_before(text.bytes, begin, end);
            if (vkf__utf8_read(text.bytes + last) != work->step->character)
                break;
            end = last;
        }
        status = write_text(work->to, (view){text.bytes + begin, end - begin});
    }
    return status;
}

// --- Replace, BPEDecoder, Fuse

static vkf_status load_replace(const vkf__json_section *section, vkf__decoder_step *step)
{
    vkf_status status = load_text(section, "content", NULL, &step->text);
    return status == VKF_OK ? vkf__section_pattern(section, &step->pattern) : status;
}

static vkf_status replace_matches(const vkf__decoder_step *step, vkf__pattern_search *search, view text,
                                  vkf__text_list *to)
{
    vkf_status status = VKF_OK;
    size_t done = 0;
    vkf__pattern_search_text(search, text.bytes, text.count);
    while (text.count > 0) {
        bool found = false;
        size_t begin = 0;
        size_t end = 0;
        VKF_RETURN_IF_ERROR(vkf__pattern_next(search, &found, &begin, &end));
        if (!found)
            break;
        VKF_RETURN_IF_ERROR(vkf__text_list_write(to, text.bytes + done, begin - done));
        VKF_RETURN_IF_ERROR(vkf__text_list_write(to, step->text, strlen(step->text)));
        done = end;
    }
    VKF_RETURN_IF_ERROR(vkf__text_list_write(to, text.bytes + done, text.count - done));
    status = vkf__text_list_end(to);
    return status;
}

static vkf_status run_replace(decoding *work)
{
    vkf__pattern_search search;
    vkf_status status = vkf__pattern_search_begin(work->step->pattern, &search);
    for (size_t i = 0; i < work->from->text_count && status == VKF_OK; i++)
        status = replace_matches(work->step, &search, text_at(work->from, i), work->to);
    vkf__pattern_search_end(&search);
    return status;
}

static vkf_status load_bpe(const vkf__json_section *section, vkf__decoder_step *step)
{
    return load_text(section, "suffix", "</w>", &step->text);
}

static vkf_status run_bpe(decoding *work)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < work->from->text_count && status == VKF_OK; i++) {
        bool last = i + 1 == work->from->text_count;
        status = write_replaced(work->to, text_at(work->from, i), work->step->text, last ? "" : " ");
        if (status == VKF_OK)
            status = vkf__text_list_end(work->to);
    }
    return status;
}

static vkf_status run_fuse(decoding *work)
{
    return write_text(work->to, (view){work->from->bytes, work->from->count});
}

static const decoder_kind kinds[] = {
    {"BPEDecoder", load_bpe, run_bpe},
    {"ByteFallback", NULL, run_byte_fallback},
    {"ByteLevel", NULL, run_byte_level},
    {"CTC", load_ctc, run_ctc},
    {"Fuse", NULL, run_fuse},
    {"Metaspace", load_metaspace, run_metaspace},
    {"Replace", load_replace, run_replace},
    {"Strip", load_strip, run_strip},
    {"WordPiece", load_word_piece, run_word_piece},
    {"Sequence", NULL, NULL}, // taken apart beforehand
};

static vkf_status load_step(const vkf__json_section *section, void *user)
{
    vkf__decoder *decoder = user;
    vkf_status status = VKF_OK;
    size_t kind = 0;
    VKF_RETURN_IF_ERROR(vkf__section_type(section, kinds, sizeof *kinds, sizeof kinds / sizeof *kinds, &kind));
    VKF_RETURN_IF_ERROR(vkf__grow(section->host, (void **)&decoder->steps, sizeof *decoder->steps, decoder->count,
                                  &decoder->capacity, decoder->count + 1));
    vkf__decoder_step *step = &decoder->steps[decoder->count++];
    *step = (vkf__decoder_step){.kind = &kinds[kind]};
    if (step->kind->load)
        status = step->kind->load(section, step);
    return status;
}

vkf_status vkf__decoder_load(const vkf__json_section *section, vkf__decoder *out_decoder)
{
    *out_decoder = (vkf__decoder){.host = section->host, .given = true};
    return vkf__section_each(section, "decoders", load_step, out_decoder);
}

void vkf__decoder_free(vkf__decoder *decoder)
{
    for (size_t i = 0; i < decoder->count; i++) {
        vkf__free(decoder->host, decoder->steps[i].text);
        vkf__free(decoder->host, decoder->steps[i].delimiter);
        vkf__pattern_destroy(&decoder->steps[i].pattern);
    }
    vkf__free(decoder->host, decoder->steps);
    *decoder = (vkf__decoder){0};
}

static vkf_status join_with_blanks(decoding *work)
{
    vkf_status status = VKF_OK;
    for (size_t i = 0; i < work->from->text_count && status == VKF_OK; i++) {
        if (i > 0)
            status = vkf__text_list_write(work->to, " ", 1);
        if (status == VKF_OK)
            status = write_text(work->to, text_at(work->from, i));
    }
    return status;
}

vkf_status vkf__decode(const vkf__decoder *decoder, vkf__text_list *list)
{
    vkf_status status = VKF_OK;
    uint64_t all_written = 0, most = vkf__text_work_limit(list->count, VKF_TEXT_SPARE_BYTES);
    list->limit = vkf__text_limit(list->count, VKF_TEXT_SPARE_BYTES);
    vkf__text_list written = {.host = list->host, .limit = list->limit};
    size_t count = decoder->given && !decoder->run ? decoder->count : 1;
    for (size_t i = 0; i < count && status == VKF_OK; i++) {
        decoding work = {decoder->count > 0 ? &decoder->steps[i] : NULL, list, &written};
        written.count = 0;
        written.text_count = 0;
        if (decoder->run)
            status = decoder->run(decoder->user, list, &written);
        else
            status = work.step ? work.step->kind->run(&work) : join_with_blanks(&work);
        all_written += written.count;
        if (status == VKF_OK && all_written > most)
            status =
                vkf__fail(list->host, VKF_ERROR_TOO_LARGE,
                          "the tokenizer's decoder writes more than %llu bytes on its way", (unsigned long long)most);
        if (status == VKF_OK) {
            vkf__text_list swapped = *list;
            *list = written;
            written = swapped;
        }
    }
    vkf__text_list_free(&written);
    return status;
}
