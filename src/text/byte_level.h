// The alphabet of byte-level models, GPT-2's: each byte is one printable code point. Bytes of printable Latin-1 stand
// for themselves; the other 68 bytes are the code points from U+0100 on, in their order.
#ifndef VKF_TEXT_BYTE_LEVEL_H
#define VKF_TEXT_BYTE_LEVEL_H

#include "text/aligned_text.h"

#define VKF_BYTE_LEVEL_SPACE 0x120u // what the byte 0x20 becomes

uint32_t vkf__byte_level_code_point(unsigned char byte);
// False when the code point stands for no byte.
bool vkf__byte_level_byte(uint32_t code_point, unsigned char *out_byte);

// A vkf__rewrite_fn that writes every byte as its code point; `user` is ignored.
void vkf__put_byte_level(vkf__aligned_text *text, const void *user);

#endif
