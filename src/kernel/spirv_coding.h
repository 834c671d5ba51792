// How the words of a SPIR-V module are stored so that modules of one source compress well together. Ids are numbered in
// the order of their definitions, so one more instruction renumbers all that follow: an id that an instruction defines
// is stored by its distance from the one defined before it, and an id that was defined shortly before, or will be
// shortly after, by its distance from the newest. Every other word is stored as it is. Nothing has to be known of
// instructions but that the first word of each holds its length.
//
// Used by the library, which reads the words, and by shaders/embed_modules.c, which writes them.
#ifndef VKF_KERNEL_SPIRV_CODING_H
#define VKF_KERNEL_SPIRV_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VKF_SPIRV_MAGIC UINT32_C(0x07230203)
#define VKF_SPIRV_HEADER_WORDS 5

// Stored words from VKF_SPIRV_CODES on are distances: of a definition, then back, then ahead. No module may hold such a
// word itself, which is no text, and as a float -3.8e22.
#define VKF_SPIRV_CODES UINT32_C(0xe5000000)
#define VKF_SPIRV_STEPS 16
#define VKF_SPIRV_BACK 64
#define VKF_SPIRV_AHEAD 32
#define VKF_SPIRV_CODE_COUNT (VKF_SPIRV_STEPS + VKF_SPIRV_BACK + VKF_SPIRV_AHEAD)

static inline bool vkf__spirv_is_code(uint32_t word)
{
    return word - VKF_SPIRV_CODES < VKF_SPIRV_CODE_COUNT;
}

// Operand `operand` of an instruction as it is stored; the first two are where an instruction defines an id. `newest`,
// 0 at a module's first instruction, is the id that was defined last.
static inline uint32_t vkf__spirv_encode(uint32_t *newest, size_t operand, uint32_t word)
{
    const uint32_t ahead = word - *newest - 1, back = *newest - word;
    if (operand < 2 && ahead < VKF_SPIRV_STEPS) {
        *newest = word;
        return VKF_SPIRV_CODES + ahead;
    }
    if (back < VKF_SPIRV_BACK)
        return VKF_SPIRV_CODES + VKF_SPIRV_STEPS + back;
    if (ahead < VKF_SPIRV_AHEAD)
        return VKF_SPIRV_CODES + VKF_SPIRV_STEPS + VKF_SPIRV_BACK + ahead;
    return word;
}

// The word that vkf__spirv_encode() gave `stored` for.
static inline uint32_t vkf__spirv_decode(uint32_t *newest, uint32_t stored)
{
    uint32_t code = stored - VKF_SPIRV_CODES;
    if (!vkf__spirv_is_code(stored))
        return stored;
    if (code < VKF_SPIRV_STEPS)
        return *newest += 1 + code;
    code -= VKF_SPIRV_STEPS;
    return code < VKF_SPIRV_BACK ? *newest - code : *newest + 1 + (code - VKF_SPIRV_BACK);
}

#endif
