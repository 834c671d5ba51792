// What the files valid_*.c share.
#ifndef VKF_TESTS_VALID_PARTS_H
#define VKF_TESTS_VALID_PARTS_H

#include <stdlib.h>
#include <string.h>

#include "valid.h"

enum { BATCH = 1, LEN = 4, DIM = 16, HEADS = 2, HIDDEN = 32, MEMORY_BYTES = 1 << 16, MEMORIES = 8 };

static const vkf_layer_sizes layer_sizes = {BATCH, LEN, LEN};

static inline bool is(const char *function, const char *part)
{
    return strstr(function, part) != NULL;
}

static inline vkf_tensor view(vkf_buffer *buffer, vkf_dtype dtype, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    vkf_tensor tensor = {.buffer = buffer, .dtype = dtype, .rank = 1u + (b > 0) + (c > 0) + (d > 0)};
    memcpy(tensor.shape, (uint32_t[]){a, b, c, d}, sizeof tensor.shape);
    return tensor;
}

static inline vkf_tensor in(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return view(valid.in, VKF_DTYPE_F32, a, b, c, d);
}

static inline vkf_tensor out(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return view(valid.out, VKF_DTYPE_F32, a, b, c, d);
}

static inline void take_message(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    (void)severity;
    (void)text;
}

static inline void *allocate(void *user, size_t size_bytes)
{
    (void)user;
    return malloc(size_bytes);
}

static inline void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

static inline bool go_on(void *user, uint32_t done, uint32_t total, const char *what)
{
    (void)user;
    (void)done;
    (void)total;
    (void)what;
    return true;
}

#endif
