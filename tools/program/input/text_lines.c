// Takes lines from arguments or a file, and turns them into token ids.
#include "input/text_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "output/xml_text.h"
#include "text/code_point.h"

#define SHOWN_WORD_BYTES 120

static vkf_line_result read_line(vkf_text_source *source, vkf_text_line *line)
{
    vkf_line_reader reader = {
        .stream = source->file,
        .name = "the standard input",
        .max_bytes = VKF_LINE_MAX_BYTES,
        .number = source->lines_taken,
    };
    vkf_line_result result = vkf_line_next(&reader);
    if (result == VKF_LINE_TAKEN) {
        line->size_bytes = reader.size_bytes;
        line->text = vkf_line_take(&reader);
    }
    vkf_line_reader_free(&reader);
    return result;
}

vkf_line_result vkf_text_source_next(vkf_text_source *source, vkf_text_line *out_line)
{
    vkf_text_line line = {0};
    if (!source->texts) {
        vkf_line_result result = read_line(source, &line);
        if (result != VKF_LINE_TAKEN)
            return result;
    } else {
        if (source->lines_taken == source->text_count)
            return VKF_LINE_END;
        line.text = strdup(source->texts[source->lines_taken]);
        if (!line.text) {
            vkf_print_error("memory is exhausted");
            return VKF_LINE_FAILED;
        }
        line.size_bytes = strlen(line.text);
    }
    line.number = ++source->lines_taken;
    *out_line = line;
    return VKF_LINE_TAKEN;
}

void vkf_text_line_clear(vkf_text_line *line)
{
    free(line->text);
    free(line->ids);
    *line = (vkf_text_line){0};
}

bool vkf_text_line_make_valid(vkf_text_line *line)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t bytes = 0, to = 0, repairs = 0;
    bool valid = true;
    for (size_t at = 0; at < line->size_bytes; at += bytes, repairs += !valid)
        bytes = vkf__utf8_check(line->text + at, line->size_bytes - at, &valid);
    if (repairs == 0)
        return true;
    char *text = malloc(line->size_bytes + repairs * (sizeof replacement - 1) + 1);
    if (!text) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    for (size_t at = 0; at < line->size_bytes; at += bytes) {
        bytes = vkf__utf8_check(line->text + at, line->size_bytes - at, &valid);
        size_t written = valid ? bytes : sizeof replacement - 1;
        memcpy(text + to, valid ? line->text + at : replacement, written);
        to += written;
    }
    text[to] = '\0';
    free(line->text);
    line->text = text;
    line->size_bytes = to;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Finds the word around an offset, or the single character there when that is a blank.
static void word_around(const vkf_text_line *line, size_t at, size_t *out_start, size_t *out_end)
{
    size_t start = at, end = at + 1;
    if (!is_blank(line->text[at])) {
        while (start > 0 && !is_blank(line->text[start - 1]))
            start--;
        while (end < line->size_bytes && !is_blank(line->text[end]))
            end++;
    }
    *out_start = start;
    *out_end = end;
}

static void warn_of_word(const vkf_text_source *source, const vkf_text_line *line, size_t start, size_t end,
                         uint64_t character)
{
    const char *word = line->text + start, *stop = line->text + end, *shown = word;
    for (const char *c = word; c < stop && c - word <= SHOWN_WORD_BYTES; vkf_utf8_next(&c, stop))
        shown = c;
    shown = stop - word <= SHOWN_WORD_BYTES ? stop : shown;
    vkf_print_warning("%s %" PRIu64 ", character %" PRIu64 ": '%.*s' is not in the vocabulary and is read as <unk>",
                      source->unit, line->number, character, (int)(shown - word), word);
}

// Walks through the text along its ids: an unknown token stands for one code point, any other for the bytes of its
// string.
static void warn_of_unknown_words(const vkf_text_source *source, const vkf_vocabulary *vocabulary, int32_t unk_id,
                                  const vkf_text_line *line)
{
    const char *end = line->text + line->size_bytes;
    const char *at = line->text;
    size_t warned_end = 0;
    uint64_t character = 1;
    for (uint32_t i = 0; i < line->id_count && at < end; i++) {
        size_t offset = (size_t)(at - line->text);
        if (line->ids[i] == unk_id) {
            if (offset >= warned_end) {
                size_t start = 0;
                word_around(line, offset, &start, &warned_end);
                warn_of_word(source, line, start, warned_end, character);
            }
            vkf_utf8_next(&at, end);
            character++;
            continue;
        }
        const char *token = vkf_vocabulary_source_token(vocabulary, line->ids[i]);
        size_t length = token ? strlen(token) : 0;
        if (length > (size_t)(end - at))
            return;
        character += token ? vkf_utf8_length(token, SIZE_MAX) : 0;
        at += length;
    }
}

static void refuse_long_line(const vkf_text_source *source, vkf_text_line *line, uint64_t tokens, uint32_t max_tokens)
{
    vkf_print_error("%s %" PRIu64 " has %" PRIu64 " tokens, the model takes at most %u: an empty line is printed",
                    source->unit, line->number, tokens, max_tokens);
    line->state = VKF_TEXT_REFUSED;
}

bool vkf_text_line_encode(const vkf_text_source *source, const vkf_vocabulary *vocabulary, int32_t unk_id,
                          uint32_t max_tokens, vkf_text_line *line)
{
    line->state = VKF_TEXT_EMPTY;
    if (line->size_bytes == 0)
        return true;
    if (line->size_bytes > VKF_LINE_MAX_BYTES) {
        vkf_print_error("%s %" PRIu64 " is %zu bytes long, too much for any model: an empty line is printed",
                        source->unit, line->number, line->size_bytes);
        line->state = VKF_TEXT_REFUSED;
        return true;
    }
    uint32_t count = 0;
    vkf_status status = vkf_vocabulary_encode(vocabulary, line->text, line->size_bytes, &count, NULL);
    if (status == VKF_OK && count == 0)
        return true;
    if (status == VKF_OK && count > max_tokens) {
        refuse_long_line(source, line, count, max_tokens);
        return true;
    }
    if (status == VKF_OK) {
        line->ids = calloc(count, sizeof *line->ids);
        status = line->ids ? vkf_vocabulary_encode(vocabulary, line->text, line->size_bytes, &count, line->ids)
                           : VKF_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (status != VKF_OK) {
        vkf_print_error("%s %" PRIu64 " cannot be turned into tokens: %s", source->unit, line->number,
                        vkf_status_text(status));
        return false;
    }
    line->id_count = count;
    line->state = VKF_TEXT_READY;
    warn_of_unknown_words(source, vocabulary, unk_id, line);
    return true;
}

char *vkf_text_decode(const vkf_vocabulary *vocabulary, const int32_t *ids, uint32_t count)
{
    size_t size_bytes = 0;
    char *text = NULL;
    vkf_status status = vkf_vocabulary_decode(vocabulary, ids, count, &size_bytes, NULL);
    if (status == VKF_OK) {
        size_bytes++;
        text = malloc(size_bytes);
        status = text ? vkf_vocabulary_decode(vocabulary, ids, count, &size_bytes, text) : VKF_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (status != VKF_OK) {
        vkf_print_error("the output cannot be turned into text: %s", vkf_status_text(status));
        free(text);
        return NULL;
    }
    return text;
}
