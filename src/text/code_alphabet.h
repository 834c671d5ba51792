// The code points that a number of sets do not tell apart get one letter: a byte.
#ifndef VKF_TEXT_CODE_ALPHABET_H
#define VKF_TEXT_CODE_ALPHABET_H

#include "text/code_set.h"

#define VKF_ALPHABET_BLOCK 256u

typedef struct vkf__code_alphabet {
    uint16_t *block_of; // for each 256 code points where their letters are
    uint8_t *letters;   // blocks, each there once
    size_t block_count, block_capacity;
    unsigned letter_count;
} vkf__code_alphabet;

// *out_small is false, and there is no alphabet, where it would have more than 256 letters.
VKF_MUST_CHECK vkf_status vkf__code_alphabet_make(const vkf__host *host, const vkf__code_set *sets, size_t count,
                                                  vkf__code_alphabet *out_alphabet, bool *out_small);
void vkf__code_alphabet_free(const vkf__host *host, vkf__code_alphabet *alphabet);

static inline uint8_t vkf__code_letter(const vkf__code_alphabet *alphabet, uint32_t code)
{
    return alphabet->letters[alphabet->block_of[code / VKF_ALPHABET_BLOCK] * (size_t)VKF_ALPHABET_BLOCK +
                             code % VKF_ALPHABET_BLOCK];
}

// Which letters the code points of one of those sets have.
void vkf__code_letters(const vkf__code_alphabet *alphabet, const vkf__code_set *set, bool out_members[256]);

#endif
