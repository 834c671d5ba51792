// Maps bytes to the code points of byte-level models, and back.
#include "text/byte_level.h"

#define FIRST_SHIFTED 0x100u

static bool is_shifted(unsigned byte)
{
    return byte <= 0x20 || (byte >= 0x7f && byte <= 0xa0) || byte == 0xad;
}

uint32_t vkf__byte_level_code_point(unsigned char byte)
{
    if (!is_shifted(byte))
        return byte;
    return FIRST_SHIFTED + (byte <= 0x20 ? byte : byte <= 0xa0 ? byte - 0x7fu + 0x21u : 67u);
}

bool vkf__byte_level_byte(uint32_t code_point, unsigned char *out_byte)
{
    unsigned byte = code_point;
    if (code_point >= FIRST_SHIFTED) {
        unsigned index = code_point - FIRST_SHIFTED;
        if (index > 67)
            return false;
        byte = index <= 0x20 ? index : index < 67 ? index - 0x21u + 0x7fu : 0xadu;
    } else if (is_shifted(byte)) {
        return false;
    }
    *out_byte = (unsigned char)byte;
    return true;
}

void vkf__put_byte_level(vkf__aligned_text *text, const void *user)
{
    (void)user;
    for (uint32_t at = text->begin; at < text->end;) {
        uint32_t from = at;
        while (at < text->end && (unsigned char)text->now.bytes[at] > ' ' && (unsigned char)text->now.bytes[at] < 0x7f)
            at++;
        vkf__text_copy(text, from, at);
        if (at < text->end) {
            vkf__text_put(text, vkf__byte_level_code_point((unsigned char)text->now.bytes[at]), text->now.origins[at]);
            at++;
        }
    }
}
