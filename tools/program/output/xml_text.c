// Decodes and escapes text for XML.
#include "output/xml_text.h"

#include <string.h>

#define REPLACEMENT 0xfffdu
#define ELLIPSIS 0x2026u
#define MIDDLE_DOT 0xb7u

static bool allowed_in_xml(uint32_t code_point)
{
    if (code_point < 0x20)
        return code_point == '\t' || code_point == '\n' || code_point == '\r';
    // 0x7f to 0x9f are allowed but discouraged, because a terminal's escape sequences may begin there.
    return (code_point < 0x7f || code_point > 0x9f) && (code_point < 0xd800 || code_point > 0xdfff) &&
           code_point != 0xfffe && code_point != 0xffff && code_point <= 0x10ffff;
}

uint32_t vkf_utf8_next(const char **text, const char *end)
{
    static const uint32_t smallest[] = {0, 0x80, 0x800, 0x10000}; // by number of continuation bytes
    const unsigned char *byte = (const unsigned char *)*text;
    unsigned char first = byte[0];
    size_t more = first < 0x80 ? 0 : first >= 0xf0 && first < 0xf8 ? 3 : first >= 0xe0 ? 2 : 1;
    uint32_t code_point = more == 0 ? first : first & (0x3fu >> more);
    *text += 1;
    if ((first >= 0x80 && first < 0xc0) || first >= 0xf8 || (size_t)(end - *text) < more)
        return REPLACEMENT;
    for (size_t i = 1; i <= more; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return REPLACEMENT;
        code_point = code_point << 6 | (byte[i] & 0x3fu);
    }
    if (code_point < smallest[more] || code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff))
        return REPLACEMENT;
    *text += more;
    return allowed_in_xml(code_point) ? code_point : REPLACEMENT;
}

size_t vkf_utf8_length(const char *text, size_t max)
{
    const char *end = text + strlen(text);
    size_t length = 0;
    while (text < end && length < max) {
        vkf_utf8_next(&text, end);
        length++;
    }
    return length;
}

static void write_code_point(FILE *out, uint32_t c)
{
    switch (c) {
    case '&':
        fputs("&amp;", out);
        return;
    case '<':
        fputs("&lt;", out);
        return;
    case '>':
        fputs("&gt;", out);
        return;
    case '"':
        fputs("&quot;", out);
        return;
    case '\'':
        fputs("&#39;", out);
        return;
    default:
        break;
    }
    if (c < 0x80) {
        putc((int)c, out);
        return;
    }
    if (c >= 0x10000) {
        putc((int)(0xf0 | c >> 18), out);
        putc((int)(0x80 | (c >> 12 & 0x3f)), out);
    } else if (c >= 0x800) {
        putc((int)(0xe0 | c >> 12), out);
    }
    putc((int)(c >= 0x800 ? 0x80 | (c >> 6 & 0x3f) : 0xc0 | c >> 6), out);
    putc((int)(0x80 | (c & 0x3f)), out);
}

void vkf_xml_write_text(FILE *out, const char *text, size_t max_length, bool show_spaces)
{
    const char *end = text + strlen(text);
    for (size_t length = 1; text < end && length <= max_length; length++) {
        uint32_t c = vkf_utf8_next(&text, end);
        if (length == max_length && text < end)
            c = ELLIPSIS;
        else if (c == ' ' && show_spaces)
            c = MIDDLE_DOT;
        write_code_point(out, c);
    }
}
