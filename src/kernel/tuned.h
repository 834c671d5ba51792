// What was measured on a device. It overrides the registry's order and is kept through the cache callbacks as text:
//
//   vkformer-tuned 2
//   device 00010005 00000000 13 05803006 (UUIDs of device, driver and pipeline cache)
//   gemm f32,f32,f32 m<=8 n=768 k=512 b=panels 9ac1f08b33d7e214 gemm_tile.f32_f32_f32/thin 81.25 # next ... 97.5
//   attention f32,f32,f32 m<=128 n=512 k=64 b=rows 5c0e11f29a7d3b86 attention_tiled.f32_f32_f32/d64 412.00
//
// There is one line per entry: operator, operand types, problem class, layout of b, the hash of what the variant was
// made from, the variant, its median time in microseconds, and a note.
#ifndef VKF_KERNEL_TUNED_H
#define VKF_KERNEL_TUNED_H

#include "kernel/registry.h"

// Problems fall into classes of m (rows, or for attention queries). n and k must match exactly, but see vkf__tuned_n().
// This is the upper bound of the class that m belongs to: 1, 8, 32, 128, or UINT32_MAX.
uint32_t vkf__tuned_m_class(uint32_t m);

// The n under which a problem is kept. For attention, whose n is the number of keys, it is the next power of two.
uint32_t vkf__tuned_n(vkf__op op, uint32_t n);

#define VKF_TUNED_NOTE_BYTES 112

typedef struct vkf__tuned_entry {
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    uint32_t type_count;
    uint32_t m_class;
    uint32_t n;
    uint32_t k;
    bool panels;     // b is in panels; false for operators without b
    uint32_t kernel; // indices into the registry
    uint32_t config;
    double median_us;
    char note[VKF_TUNED_NOTE_BYTES]; // names the runner-up, for people
} vkf__tuned_entry;

typedef struct vkf__tuned {
    vkf__tuned_entry *entries;
    size_t count;
    size_t capacity;
} vkf__tuned;

// Parses a whole table. A malformed table is ignored as a whole, with a warning that names the line. One of another
// device or driver is ignored with a debug message, and so is a single entry whose variant has changed. The status is
// then VKF_OK, and *out_tuned holds what is left. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__tuned_parse(const vkf__host *host, const vkf__caps *caps, const char *text,
                                           size_t size_bytes, vkf__tuned *out_tuned);
// *out_text is released with vkf__free(). Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__tuned_format(const vkf__host *host, const vkf__caps *caps, const vkf__tuned *tuned,
                                            char **out_text);
// Adds an entry, or replaces the one for the same problem and layout. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__tuned_put(const vkf__host *host, vkf__tuned *tuned, const vkf__tuned_entry *entry);
void vkf__tuned_free(const vkf__host *host, vkf__tuned *tuned);

// The entry for a problem and its layout of b, or NULL.
const vkf__tuned_entry *vkf__tuned_find(const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types,
                                        const vkf__problem *problem);
// Whether b was measured to be faster in the entry's layout than in the other; true when the other was not measured.
bool vkf__tuned_best_layout(const vkf__tuned *tuned, const vkf__tuned_entry *entry);
// Whether any class of m was measured for this n and k.
bool vkf__tuned_knows_weight(const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types, uint32_t n, uint32_t k);

#endif
