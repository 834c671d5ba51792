// Refines one letter for all code points by one set after the other.
#include "text/code_alphabet.h"

#include <stdlib.h>

#include "text/unicode_table.h"

#define BLOCKS (VKF_UNICODE_END / VKF_ALPHABET_BLOCK)
#define MAX_LETTERS 256

// Code points from `first` to where the next begins.
typedef struct stretch {
    uint32_t first;
    uint16_t letter;
} stretch;

static int compare(const void *a, const void *b)
{
    uint32_t left = ((const stretch *)a)->first;
    uint32_t right = ((const stretch *)b)->first;
    return (left > right) - (left < right);
}

// Every place at which some set begins or ends, sorted.
static vkf_status make_stretches(const vkf__host *host, const vkf__code_set *sets, size_t count,
                                 stretch **out_stretches, size_t *out_count)
{
    size_t total = 1;
    for (size_t i = 0; i < count; i++)
        total += 2 * sets[i].count;
    stretch *all = NULL;
    VKF_ALLOC_OR_RETURN(host, all, total);
    size_t length = 1;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < sets[i].count; j++) {
            all[length++].first = sets[i].ranges[j].first;
            all[length++].first = sets[i].ranges[j].end;
        }
    }
    qsort(all, length, sizeof *all, compare);
    size_t kept = 0;
    for (size_t i = 0; i < length; i++) {
        if (all[i].first < VKF_UNICODE_END && (kept == 0 || all[i].first != all[kept - 1].first))
            all[kept++] = all[i];
    }
    *out_stretches = all;
    *out_count = kept;
    return VKF_OK;
}

// Gives the members of a set new letters, and numbers the letters anew. Returns their number, above MAX_LETTERS when
// there are too many.
static unsigned refine(stretch *stretches, size_t count, const vkf__code_set *set)
{
    uint16_t inside[MAX_LETTERS];
    uint16_t outside[MAX_LETTERS];
    memset(inside, 0xff, sizeof inside);
    memset(outside, 0xff, sizeof outside);
    unsigned letters = 0;
    size_t range = 0;
    for (size_t i = 0; i < count && letters <= MAX_LETTERS; i++) {
        while (range < set->count && set->ranges[range].end <= stretches[i].first)
            range++;
        bool member = range < set->count && set->ranges[range].first <= stretches[i].first;
        uint16_t *letter = &(member ? inside : outside)[stretches[i].letter];
        if (*letter == UINT16_MAX)
            *letter = (uint16_t)letters++;
        stretches[i].letter = *letter;
    }
    return letters;
}

static vkf_status add_block(const vkf__host *host, vkf__code_alphabet *alphabet, const uint8_t *block, size_t place)
{
    size_t at = 0;
    while (at < alphabet->block_count &&
           memcmp(alphabet->letters + at * VKF_ALPHABET_BLOCK, block, VKF_ALPHABET_BLOCK) != 0)
        at++;
    if (at == alphabet->block_count) {
        VKF_RETURN_IF_ERROR(
            vkf__grow(host, (void **)&alphabet->letters, VKF_ALPHABET_BLOCK, at, &alphabet->block_capacity, at + 1));
        memcpy(alphabet->letters + at * VKF_ALPHABET_BLOCK, block, VKF_ALPHABET_BLOCK);
        alphabet->block_count++;
    }
    alphabet->block_of[place] = (uint16_t)at;
    return VKF_OK;
}

static vkf_status fill(const vkf__host *host, const stretch *stretches, size_t count, vkf__code_alphabet *alphabet)
{
    VKF_ALLOC_OR_RETURN(host, alphabet->block_of, BLOCKS);
    size_t at = 0;
    for (size_t place = 0; place < BLOCKS; place++) {
        uint8_t block[VKF_ALPHABET_BLOCK];
        uint32_t first = (uint32_t)place * VKF_ALPHABET_BLOCK;
        if (at + 1 == count || stretches[at + 1].first >= first + VKF_ALPHABET_BLOCK) {
            memset(block, stretches[at].letter, sizeof block);
        } else {
            for (uint32_t i = 0; i < VKF_ALPHABET_BLOCK; i++) {
                at += at + 1 < count && stretches[at + 1].first == first + i;
                block[i] = (uint8_t)stretches[at].letter;
            }
        }
        at += at + 1 < count && stretches[at + 1].first == first + VKF_ALPHABET_BLOCK;
        VKF_RETURN_IF_ERROR(add_block(host, alphabet, block, place));
    }
    return VKF_OK;
}

vkf_status vkf__code_alphabet_make(const vkf__host *host, const vkf__code_set *sets, size_t count,
                                   vkf__code_alphabet *out_alphabet, bool *out_small)
{
    vkf_status status = VKF_OK;
    vkf__code_alphabet alphabet = {.letter_count = 1};
    stretch *stretches = NULL;
    size_t stretch_count = 0;
    VKF_TRY(make_stretches(host, sets, count, &stretches, &stretch_count));
    for (size_t i = 0; i < count && alphabet.letter_count <= MAX_LETTERS; i++)
        alphabet.letter_count = refine(stretches, stretch_count, &sets[i]);
    *out_small = alphabet.letter_count <= MAX_LETTERS;
    if (*out_small)
        VKF_TRY(fill(host, stretches, stretch_count, &alphabet));
    *out_alphabet = alphabet;
    alphabet = (vkf__code_alphabet){0};
fail:
    vkf__free(host, stretches);
    vkf__code_alphabet_free(host, &alphabet);
    return status;
}

void vkf__code_alphabet_free(const vkf__host *host, vkf__code_alphabet *alphabet)
{
    vkf__free(host, alphabet->block_of);
    vkf__free(host, alphabet->letters);
    *alphabet = (vkf__code_alphabet){0};
}

void vkf__code_letters(const vkf__code_alphabet *alphabet, const vkf__code_set *set, bool out_members[256])
{
    memset(out_members, 0, MAX_LETTERS * sizeof *out_members);
    for (size_t i = 0; i < set->count; i++) {
        uint32_t end = set->ranges[i].end;
        size_t last = SIZE_MAX;
        for (uint32_t code = set->ranges[i].first; code < end;) {
            size_t block = alphabet->block_of[code / VKF_ALPHABET_BLOCK];
            bool whole = code % VKF_ALPHABET_BLOCK == 0 && end - code >= VKF_ALPHABET_BLOCK;
            if (whole && block == last) { // as with the block before, so most of what Unicode has
                code += VKF_ALPHABET_BLOCK;
                continue;
            }
            last = whole ? block : SIZE_MAX;
            for (uint32_t j = whole ? VKF_ALPHABET_BLOCK : 1; j > 0; j--)
                out_members[vkf__code_letter(alphabet, code++)] = true;
        }
    }
}
