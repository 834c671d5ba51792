// Shows control characters instead of sending them to a terminal.
#include "output/visible_text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "system/terminal.h"
#include "text/code_point.h"

#define PIECE_BYTES 4096
#define ESCAPE_BYTES 8 // "\u001b" and a zero
#define USUAL_BYTES 1024

// Text on its way to a stream. A message that fits is written at once, so that those of threads do not mix.
typedef struct piece {
    FILE *stream;
    bool failed;
    size_t size_bytes;
    char bytes[PIECE_BYTES];
} piece;

static void flush(piece *p)
{
    p->failed = fwrite(p->bytes, 1, p->size_bytes, p->stream) != p->size_bytes || p->failed;
    p->size_bytes = 0;
}

static void add(piece *p, const char *bytes, size_t size_bytes)
{
    if (p->size_bytes + size_bytes > PIECE_BYTES)
        flush(p);
    memcpy(p->bytes + p->size_bytes, bytes, size_bytes);
    p->size_bytes += size_bytes;
}

static void add_escaped(piece *p, const char *format, unsigned value)
{
    char escape[ESCAPE_BYTES];
    int length = snprintf(escape, sizeof escape, format, value);
    add(p, escape, (size_t)length);
}

static bool is_obeyed(uint32_t code_point, bool in_line)
{
    return (code_point < 0x20 && (in_line || (code_point != '\n' && code_point != '\t'))) ||
           (code_point >= 0x7f && code_point < 0xa0);
}

static bool write_visible(FILE *stream, const char *text, size_t size_bytes, bool in_line)
{
    piece p;
    p.stream = stream; // its bytes stay as they are
    p.failed = false;
    p.size_bytes = 0;
    for (size_t at = 0, bytes = 1; at < size_bytes; at += bytes) {
        bool valid = true;
        bytes = vkf__utf8_check(text + at, size_bytes - at, &valid);
        for (size_t i = 0; !valid && i < bytes; i++)
            add_escaped(&p, "\\x%02x", (unsigned char)text[at + i]);
        uint32_t code_point = valid ? vkf__utf8_read(text + at) : 0;
        if (valid && is_obeyed(code_point, in_line))
            add_escaped(&p, "\\u%04x", (unsigned)code_point);
        else if (valid)
            add(&p, text + at, bytes);
    }
    flush(&p);
    return !p.failed;
}

bool vkf_write_visible(FILE *stream, const char *text, size_t size_bytes)
{
    return write_visible(stream, text, size_bytes, false);
}

void vkf_print_name(const char *name, size_t size_bytes)
{
    (void)write_visible(stdout, name, size_bytes, true);
}

static void print_formatted(FILE *stream, const char *format, va_list args)
{
    char usual[USUAL_BYTES];
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(usual, sizeof usual, format, args);
    char *longer = length >= (int)sizeof usual ? malloc((size_t)length + 1) : NULL;
    if (longer)
        vsnprintf(longer, (size_t)length + 1, format, again);
    va_end(again);
    if (length > 0) // without memory, the beginning is shown
        (void)vkf_write_visible(stream, longer ? longer : usual, longer ? (size_t)length : strlen(usual));
    free(longer);
}

void vkf_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(stdout, format, args);
    va_end(args);
}

void vkf_print_on(FILE *stream, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_formatted(stream, format, args);
    va_end(args);
}

void vkf_print_text(const char *text, size_t size_bytes)
{
    if (vkf_is_terminal(VKF_STANDARD_OUTPUT))
        (void)vkf_write_visible(stdout, text, size_bytes);
    else
        (void)fwrite(text, 1, size_bytes, stdout);
}
