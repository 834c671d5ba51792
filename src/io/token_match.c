// Finds the longest token that a text begins with, by bisection.
#include "io/token_match.h"

static unsigned char folded(char c, bool lowercase)
{
    if (lowercase && c >= 'A' && c <= 'Z')
        return (unsigned char)(c - 'A' + 'a');
    return (unsigned char)c;
}

// The first place within [begin, end) whose token has a byte of at least `value` at `depth`. All of these tokens agree
// in the bytes before it, so that they are sorted by this one.
static size_t lower_bound(const vkf__sorted_tokens *tokens, size_t begin, size_t end, size_t depth, unsigned value)
{
    while (begin < end) {
        size_t middle = begin + (end - begin) / 2;
        if ((unsigned char)tokens->texts[tokens->sorted[middle]][depth] < value)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

// Narrows the range of tokens that agree with the text, byte by byte. The shortest token of a range comes first,
// because its terminating zero sorts below every byte of text.
size_t vkf__match_token(const vkf__sorted_tokens *tokens, const char *text, size_t text_bytes, bool lowercase,
                        int32_t *out_id)
{
    size_t longest = 0;
    size_t begin = 0;
    size_t end = tokens->count;
    for (size_t depth = 0; depth < text_bytes; depth++) {
        unsigned value = folded(text[depth], lowercase);
        if (value == 0)
            break; // a zero byte in the text must not match a token's terminating one
        begin = lower_bound(tokens, begin, end, depth, value);
        end = lower_bound(tokens, begin, end, depth, value + 1);
        if (begin == end)
            break;
        if (tokens->texts[tokens->sorted[begin]][depth + 1] == '\0') {
            longest = depth + 1;
            *out_id = tokens->sorted[begin];
        }
    }
    return longest;
}

// Table 3-7 of the Unicode standard, "Well-Formed UTF-8 Byte Sequences": the range of the second byte depends on the
// first, which keeps out overlong forms, surrogates and anything beyond U+10FFFF.
size_t vkf__code_point_bytes(const char *text, size_t text_bytes)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned first = bytes[0];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length < 2 || length > text_bytes)
        return 1;
    unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (bytes[1] < low || bytes[1] > high)
        return 1;
    for (size_t i = 2; i < length; i++) {
        if ((bytes[i] & 0xc0u) != 0x80u)
            return 1;
    }
    return length;
}
