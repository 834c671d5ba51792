// Reads lines and whole streams with bounded memory.
#include "input/line_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/system_file.h"
#include "command/options.h"

#define FIRST_BYTES 256
#define PIECE_BYTES 65536

// Makes room for that many bytes and a terminating zero.
static bool make_room(char **text, size_t *capacity, size_t size_bytes)
{
    if (size_bytes < *capacity)
        return true;
    size_t larger = *capacity > 0 ? *capacity : FIRST_BYTES;
    while (larger <= size_bytes)
        larger *= 2;
    char *grown = realloc(*text, larger);
    if (!grown)
        return false;
    *text = grown;
    *capacity = larger;
    return true;
}

static vkf_line_result fail_line(const vkf_line_reader *reader, const char *reason)
{
    vkf_print_error("%s, line %" PRIu64 ": %s", reader->name, reader->number, reason);
    return VKF_LINE_FAILED;
}

static vkf_line_result refuse_line(vkf_line_reader *reader, bool long_line)
{
    char reason[80] = "a byte of zero stands in it; it is no text";
    if (long_line)
        snprintf(reason, sizeof reason, "it is longer than %zu bytes", reader->max_bytes);
    reader->malformed = true;
    return fail_line(reader, reason);
}

static vkf_line_result end_of(const vkf_line_reader *reader)
{
    if (!ferror(reader->stream))
        return VKF_LINE_END;
    vkf_print_error("%s cannot be read: %s", reader->name, strerror(errno));
    return VKF_LINE_FAILED;
}

vkf_line_result vkf_line_next(vkf_line_reader *reader)
{
    size_t size = 0;
    int c = EOF, end = reader->by_zeros ? '\0' : '\n';
    reader->number++;
    while ((c = vkf__stream_next(reader->stream)) != EOF && c != end) {
        // One byte more is allowed, because a carriage return may belong to the end of the line.
        if (size > reader->max_bytes || (c == '\0' && reader->text_only))
            return refuse_line(reader, size > reader->max_bytes);
        if (!make_room(&reader->text, &reader->capacity, size + 1))
            return fail_line(reader, "memory is exhausted");
        reader->text[size++] = (char)c;
    }
    if (c == EOF && (size == 0 || ferror(reader->stream)))
        return end_of(reader);
    if (!make_room(&reader->text, &reader->capacity, size))
        return fail_line(reader, "memory is exhausted");
    if (!reader->by_zeros && size > 0 && reader->text[size - 1] == '\r')
        size--;
    if (size > reader->max_bytes)
        return refuse_line(reader, true);
    reader->text[size] = '\0';
    reader->size_bytes = size;
    return VKF_LINE_TAKEN;
}

char *vkf_line_take(vkf_line_reader *reader)
{
    char *text = reader->text;
    reader->text = NULL;
    reader->capacity = 0;
    return text;
}

void vkf_line_reader_free(vkf_line_reader *reader)
{
    free(vkf_line_take(reader));
}

bool vkf_read_stream(FILE *stream, const char *name, size_t max_bytes, char **out_text, size_t *out_size_bytes)
{
    char *text = NULL;
    size_t size = 0, capacity = 0, got = 0;
    do {
        if (!make_room(&text, &capacity, size + PIECE_BYTES)) {
            vkf_print_error("%s: memory is exhausted", name);
            goto fail;
        }
        got = fread(text + size, 1, PIECE_BYTES, stream);
        size += got;
        if (size > max_bytes) {
            vkf_print_error("%s: longer than the %zu bytes that are allowed", name, max_bytes);
            goto fail;
        }
    } while (got == PIECE_BYTES);
    if (ferror(stream)) {
        vkf_print_error("%s: cannot be read: %s", name, strerror(errno));
        goto fail;
    }
    text[size] = '\0';
    *out_text = text;
    *out_size_bytes = size;
    return true;
fail:
    free(text);
    return false;
}
