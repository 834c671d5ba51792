// Measured preferences that override the registry's order: a small text table kept through the cache callbacks.
//
//   vkformer-tuned 1
//   gemm f32,f32,f32 m<=8 n=768 k=768 gemm_tile.f32_f32_f32/thin
//
// One line per entry: operator, operand types, problem class, kernel/config. Lines starting with '#' are comments.
#ifndef VKF_KERNEL_TUNED_H
#define VKF_KERNEL_TUNED_H

#include "kernel/registry.h"

// Problem sizes fall into classes of m (rows); n and k count exactly.
typedef struct vkf__problem {
    uint32_t m;
    uint32_t n;
    uint32_t k;
} vkf__problem;

// Upper bound of the class that m belongs to: 1, 8, 32, 128, or UINT32_MAX.
uint32_t vkf__tuned_m_class(uint32_t m);

typedef struct vkf__tuned_entry {
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    uint32_t type_count;
    uint32_t m_class;
    uint32_t n;
    uint32_t k;
    uint32_t kernel; // indices into the registry
    uint32_t config;
} vkf__tuned_entry;

typedef struct vkf__tuned {
    vkf__tuned_entry *entries;
    size_t count;
    size_t capacity;
} vkf__tuned;

// Parses a whole table. A malformed table is ignored as a whole with a warning that names the line: *out_tuned is empty
// then and the status VKF_OK. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__tuned_parse(const vkf__host *host, const char *text, size_t size_bytes,
                                           vkf__tuned *out_tuned);
void vkf__tuned_free(const vkf__host *host, vkf__tuned *tuned);

// The entry for a problem, or NULL.
const vkf__tuned_entry *vkf__tuned_find(const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types,
                                        const vkf__problem *problem);

#endif
