// Writes UTF-8 that may be invalid as XML 1.0 text.
#ifndef VKF_PROGRAM_XML_TEXT_H
#define VKF_PROGRAM_XML_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Decodes one code point strictly and advances *text. A byte that begins no valid sequence gives U+FFFD, and so does a
// character that XML 1.0 does not allow (control characters, surrogates, U+FFFE, U+FFFF). `end` is one past the last
// byte.
uint32_t vkf_utf8_next(const char **text, const char *end);

// The number of code points that vkf_utf8_next() finds in a string, counted up to `max`.
size_t vkf_utf8_length(const char *text, size_t max);

// Writes at most max_length code points with &, <, >, " and ' escaped, so that they may be in an element or in a quoted
// attribute. A longer text ends in an ellipsis, which is the max_length-th. With show_spaces, a space is written as a
// middle dot.
void vkf_xml_write_text(FILE *out, const char *text, size_t max_length, bool show_spaces);

#endif
