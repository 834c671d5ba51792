// What the self-test on the device found out about variants, kept through the cache callbacks as text:
//
//   vkformer-verdicts 1
//   device 00010005 00000000 13 05803006 (UUIDs of device, driver and pipeline cache)
//   gemm_tile.f32_f32_f32/large 9ac1f08b33d7e214 passed
#ifndef VKF_KERNEL_VERDICT_H
#define VKF_KERNEL_VERDICT_H

#include <stdatomic.h>

#include "kernel/registry.h"

typedef enum vkf__verdict {
    VKF_VERDICT_UNKNOWN = 0,
    VKF_VERDICT_PASSED,
    VKF_VERDICT_PROVEN, // passed as often as a winner of the tuner must
    VKF_VERDICT_WRONG,  // differs from the reference
    VKF_VERDICT_SLOW,   // took longer than its time budget
    VKF_VERDICT_COUNT
} vkf__verdict;

// One value per config of every kernel in the registry's order. Every kernel has room for VKF_KERNEL_MAX_CONFIGS of
// them. The values are read and written from any thread.
typedef struct vkf__verdicts {
    _Atomic uint8_t *values;
} vkf__verdicts;

// Sets all verdicts to unknown. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__verdicts_init(const vkf__host *host, vkf__verdicts *verdicts);
void vkf__verdicts_free(const vkf__host *host, vkf__verdicts *verdicts);

vkf__verdict vkf__verdict_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config);
void vkf__verdict_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                      vkf__verdict verdict);

// Takes in stored verdicts where none is known yet. A malformed table is ignored as a whole, with a warning that names
// the line. One of another device or driver is ignored with a debug message, and so is a single verdict about a variant
// that has changed.
void vkf__verdicts_parse(const vkf__host *host, const vkf__caps *caps, const char *text, size_t size_bytes,
                         vkf__verdicts *verdicts);
// *out_text is released with vkf__free(). Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__verdicts_format(const vkf__host *host, const vkf__caps *caps,
                                               const vkf__verdicts *verdicts, char **out_text);

static inline bool vkf__verdict_bad(vkf__verdict verdict)
{
    return verdict == VKF_VERDICT_WRONG || verdict == VKF_VERDICT_SLOW;
}

#endif
