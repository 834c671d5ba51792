// The specialisation constants with which variants have passed the self-test on the device. A verdict is about a
// variant, of which every set of constants makes another pipeline. They are kept through the cache callbacks as text:
//
//   vkformer-passed 1
//   device 00010005 00000000 13 05803006 (UUIDs of device, driver and pipeline cache)
//   gemm_tile.f32_f32_f32/small 9ac1f08b33d7e214 4b0c6e1d22a7f390 (hashes of the variant and of the constants)
#ifndef VKF_KERNEL_PASSED_H
#define VKF_KERNEL_PASSED_H

#include "kernel/select.h"

typedef struct vkf__passed_entry {
    vkf__variant variant;
    uint64_t constants; // a hash
} vkf__passed_entry;

// No entry comes twice. Begin with zeros.
typedef struct vkf__passed {
    vkf__passed_entry *entries;
    size_t count, capacity;
} vkf__passed;

uint64_t vkf__passed_hash(const vkf__kernel *kernel, const uint32_t *spec);
bool vkf__passed_has(const vkf__passed *passed, const vkf__passed_entry *entry);
// Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__passed_add(const vkf__host *host, vkf__passed *passed, const vkf__passed_entry *entry);
void vkf__passed_free(const vkf__host *host, vkf__passed *passed);

// Adds what is stored. A malformed table is ignored as a whole, with a warning that names the line; one of another
// device or driver, and an entry of a variant that has changed, without. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__passed_parse(const vkf__host *host, const vkf__caps *caps, const char *text,
                                            size_t size_bytes, vkf__passed *passed);
// *out_text is released with vkf__free(). Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__passed_format(const vkf__host *host, const vkf__caps *caps, const vkf__passed *passed,
                                             char **out_text);

#endif
