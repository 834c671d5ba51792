// UTF-8, one code point at a time, and what Unicode says about a code point.
#ifndef VKF_TEXT_CODE_POINT_H
#define VKF_TEXT_CODE_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VKF_UTF8_MAX_BYTES 4
#define VKF_REPLACEMENT_CHARACTER 0xfffdu

// The length in bytes of the next code point of a text that is valid UTF-8.
static inline size_t vkf__utf8_bytes(const char *text)
{
    unsigned char first = (unsigned char)*text;
    return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

// The next code point of a text that is valid UTF-8.
static inline uint32_t vkf__utf8_read(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] < 0x80)
        return bytes[0];
    if (bytes[0] < 0xe0)
        return (bytes[0] & 0x1fu) << 6 | (bytes[1] & 0x3fu);
    if (bytes[0] < 0xf0)
        return (bytes[0] & 0x0fu) << 12 | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
    return (bytes[0] & 0x07u) << 18 | (bytes[1] & 0x3fu) << 12 | (bytes[2] & 0x3fu) << 6 | (bytes[3] & 0x3fu);
}

// Where the code point that ends at `at` begins, in valid UTF-8; `at` is above `begin`.
static inline size_t vkf__utf8_before(const char *text, size_t begin, size_t at)
{
    do
        at--;
    while (at > begin && ((unsigned char)text[at] & 0xc0u) == 0x80u);
    return at;
}

// Writes a code point, which is no surrogate and at most U+10FFFF, and returns its length in bytes.
size_t vkf__utf8_write(uint32_t code_point, char out_text[VKF_UTF8_MAX_BYTES]);

// The length in bytes of the first code point of a text that need not be valid, and whether it is valid. If not, the
// length is that of the longest part that could begin a code point ("maximal subpart", Unicode 15, section 3.9), at
// least 1. text_bytes > 0.
size_t vkf__utf8_check(const char *text, size_t text_bytes, bool *out_valid);

typedef bool (*vkf__code_point_test)(uint32_t code_point);

bool vkf__is_whitespace(uint32_t code_point);  // the property White_Space
bool vkf__is_control(uint32_t code_point);     // Cc, Cf and Co
bool vkf__is_punctuation(uint32_t code_point); // P*, and the other printable ASCII that is neither letter nor digit
bool vkf__is_number(uint32_t code_point);      // Nd, Nl and No
bool vkf__is_mark(uint32_t code_point);        // Mn, Mc and Me
bool vkf__is_nonspacing(uint32_t code_point);  // Mn
bool vkf__is_word(uint32_t code_point);        // \w of Unicode's TR 18: Alphabetic, M*, Nd, Pc and the joiners
bool vkf__is_ideograph(uint32_t code_point);   // the blocks that BERT takes for Chinese

// Writes the lower case, which is two code points for one of the letters, and returns their number.
size_t vkf__lower_case(uint32_t code_point, uint32_t out_code_points[2]);

#endif
