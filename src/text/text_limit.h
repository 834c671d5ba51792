// How long a text may become under the rules of a tokenizer file, which may be hostile. The limit is in proportion to
// the given text, so that a few lines of rules cannot fill memory. Real files stay far below it.
#ifndef VKF_TEXT_TEXT_LIMIT_H
#define VKF_TEXT_TEXT_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#define VKF_TEXT_SPARE_BYTES ((size_t)64 << 10) // allowed for any text, however short
#define VKF_TEXT_GROWTH 64u                     // allowed for each byte of the text
#define VKF_TEXT_REWRITES 6u                    // all steps together may write this many texts of the greatest length

// The greatest length of a text. Places in it have 32 bits, and one code point may be written behind the last that
// counts.
static inline size_t vkf__text_limit(size_t bytes, size_t spare)
{
    const size_t most = UINT32_MAX - 64;
    return bytes > (most - spare) / VKF_TEXT_GROWTH ? most : spare + bytes * VKF_TEXT_GROWTH;
}

// How much all steps together may write.
static inline uint64_t vkf__text_work_limit(size_t bytes, size_t spare)
{
    return VKF_TEXT_REWRITES * (spare + (uint64_t)bytes * VKF_TEXT_GROWTH);
}

#endif
