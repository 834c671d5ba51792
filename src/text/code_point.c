// UTF-8 and the properties of code points, from utf8proc's tables and those of Unicode 16.
#include "text/code_point.h"

#include <utf8proc.h>

#include "text/unicode_age.h"
#include "text/unicode_table.h"

size_t vkf__utf8_write(uint32_t code_point, char out_text[VKF_UTF8_MAX_BYTES])
{
    unsigned char *out = (unsigned char *)out_text;
    if (code_point < 0x80) {
        out[0] = (unsigned char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (unsigned char)(0xc0 | code_point >> 6);
        out[1] = (unsigned char)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (unsigned char)(0xe0 | code_point >> 12);
        out[1] = (unsigned char)(0x80 | (code_point >> 6 & 0x3f));
        out[2] = (unsigned char)(0x80 | (code_point & 0x3f));
        return 3;
    }
    out[0] = (unsigned char)(0xf0 | code_point >> 18);
    out[1] = (unsigned char)(0x80 | (code_point >> 12 & 0x3f));
    out[2] = (unsigned char)(0x80 | (code_point >> 6 & 0x3f));
    out[3] = (unsigned char)(0x80 | (code_point & 0x3f));
    return 4;
}

// Table 3-7 of the Unicode standard: the range of the second byte depends on the first.
size_t vkf__utf8_check(const char *text, size_t text_bytes, bool *out_valid)
{
    const unsigned char *bytes = (const unsigned char *)text;
    unsigned first = bytes[0];
    *out_valid = first < 0x80;
    if (first < 0xc2 || first > 0xf4)
        return 1;
    size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    size_t at = 1;
    while (at < length && at < text_bytes && bytes[at] >= low && bytes[at] <= high) {
        low = 0x80;
        high = 0xbf;
        at++;
    }
    *out_valid = at == length;
    return at;
}

static utf8proc_category_t category(uint32_t code_point)
{
    return utf8proc_category((utf8proc_int32_t)code_point);
}

bool vkf__is_whitespace(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point == ' ' || (code_point >= '\t' && code_point <= '\r');
    return code_point == 0x85 || code_point == 0xa0 || code_point == 0x1680 ||
           (code_point >= 0x2000 && code_point <= 0x200a) || code_point == 0x2028 || code_point == 0x2029 ||
           code_point == 0x202f || code_point == 0x205f || code_point == 0x3000;
}

bool vkf__is_control(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point < ' ' || code_point == 0x7f;
    utf8proc_category_t kind = category(code_point);
    return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CO ||
           (kind == UTF8PROC_CATEGORY_CF && !vkf__is_newer(VKF_AGE_CONTROL, code_point));
}

bool vkf__is_punctuation(uint32_t code_point)
{
    if (code_point < 0x80)
        return (code_point > ' ' && code_point < '0') || (code_point > '9' && code_point < 'A') ||
               (code_point > 'Z' && code_point < 'a') || (code_point > 'z' && code_point < 0x7f);
    if (code_point == 0x166d || code_point == 0x111c9) // punctuation until Unicode 12 and 11
        return true;
    utf8proc_category_t kind = category(code_point);
    return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO &&
           !vkf__is_newer(VKF_AGE_PUNCTUATION, code_point);
}

// Numbers are those of Unicode 17 in `tokenizers`, which takes them from Rust's library.
bool vkf__is_number(uint32_t code_point)
{
    if (code_point < 0x80)
        return code_point >= '0' && code_point <= '9';
    return (VKF_NUMBERS >> (vkf__unicode_kind(code_point) & 31) & 1) ||
           (code_point >= 0x11de0 && code_point <= 0x11de9) || (code_point >= 0x16ff4 && code_point <= 0x16ff6);
}

bool vkf__is_mark(uint32_t code_point)
{
    if (code_point < 0x300)
        return false;
    if (code_point == 0x1cf2 || code_point == 0x1cf3) // letters since Unicode 12
        return true;
    utf8proc_category_t kind = category(code_point);
    return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME && !vkf__is_newer(VKF_AGE_MARK, code_point);
}

bool vkf__is_nonspacing(uint32_t code_point)
{
    if (code_point == 0x1734) // Mc since Unicode 14
        return true;
    return code_point >= 0x300 && category(code_point) == UTF8PROC_CATEGORY_MN &&
           !vkf__is_newer(VKF_AGE_NONSPACING, code_point);
}

bool vkf__is_word(uint32_t code_point)
{
    static const uint32_t categories = VKF_MARKS | VKF_CATEGORY_BIT(VKF_ND) | VKF_CATEGORY_BIT(VKF_PC);
    if (code_point < 0x80)
        return (code_point >= '0' && code_point <= '9') || ((code_point | 0x20) >= 'a' && (code_point | 0x20) <= 'z') ||
               code_point == '_';
    uint64_t kind = vkf__unicode_kind(code_point);
    return (categories >> (kind & 31) & 1) || (kind >> (13 + VKF_FLAG_ALPHABETIC) & 1) || code_point == 0x200c ||
           code_point == 0x200d;
}

bool vkf__is_ideograph(uint32_t code_point)
{
    static const uint32_t blocks[][2] = {
        {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},   {0x20000, 0x2a6df},
        {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf}, {0x2f800, 0x2fa1f},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks && code_point >= blocks[i][0]; i++) {
        if (code_point <= blocks[i][1])
            return true;
    }
    return false;
}

size_t vkf__lower_case(uint32_t code_point, uint32_t out_code_points[2])
{
    if (code_point < 0x80) {
        out_code_points[0] = code_point >= 'A' && code_point <= 'Z' ? code_point + ('a' - 'A') : code_point;
        return 1;
    }
    if (code_point == 0x130) { // the only code point to which SpecialCasing.txt gives two without a condition
        out_code_points[0] = 'i';
        out_code_points[1] = 0x307;
        return 2;
    }
    out_code_points[0] = (uint32_t)utf8proc_tolower((utf8proc_int32_t)code_point);
    return 1;
}
