// A regular expression in the dialect of the library `tokenizers` (Oniguruma's own syntax, Unicode 16), translated for
// PCRE2.
//
// PCRE2 does not see the text. All code points that the expression never tells apart are one letter of a small
// alphabet, and the subject is a byte for each code point, its letter. So PCRE2 needs no tables of Unicode, no UTF-8
// and no case, which it would have in a dialect and a version of its own.
#ifndef VKF_TEXT_EXPRESSION_H
#define VKF_TEXT_EXPRESSION_H

#include "text/code_alphabet.h"

typedef struct vkf__expression {
    char *text; // PCRE2's
    size_t bytes;
    // Where the expression compares what it matched (\1), or has more than 256 letters, the subject is the text itself,
    // and classes are ranges of code points.
    bool plain;
    vkf__code_alphabet alphabet;
} vkf__expression;

// `where` names file and key in messages. Statuses: FORMAT (the expression is wrong, and where), UNSUPPORTED (which
// part is not read), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__expression_translate(const vkf__host *host, const char *where, const char *text,
                                                    vkf__expression *out_expression);
void vkf__expression_free(const vkf__host *host, vkf__expression *expression);

#endif
