// How long a text may become under the rules of a tokenizer file, whoever wrote that: in proportion to what was given,
// so that a few lines of rules cannot fill memory. Real files stay far below.
#ifndef VKF_TEXT_TEXT_LIMIT_H
#define VKF_TEXT_TEXT_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#define VKF_TEXT_SPARE_BYTES ((size_t)64 << 10) // however short the text is
#define VKF_TEXT_GROWTH 64u                     // times its bytes
#define VKF_TEXT_REWRITES 6u // of so many texts as long as that all steps may write the bytes together

// Places in a text have 32 bits, and one code point is written behind the last that counts.
static inline size_t vkf__text_limit(size_t bytes, size_t spare)
{
    const size_t most = UINT32_MAX - 64;
    return bytes > (most - spare) / VKF_TEXT_GROWTH ? most : spare + bytes * VKF_TEXT_GROWTH;
}

// What all steps together may write.
static inline uint64_t vkf__text_work_limit(size_t bytes, size_t spare)
{
    return VKF_TEXT_REWRITES * (spare + (uint64_t)bytes * VKF_TEXT_GROWTH);
}

#endif
