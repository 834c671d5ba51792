// What the self-test on the device found out about variants, kept through the cache callbacks as text:
//
//   vkformer-verdicts 1
//   device 00010005 00000000 13 05803006 (UUIDs of device, driver and pipeline cache)
//   gemm_tile.f32_f32_f32/large 9ac1f08b33d7e214 passed
//   gemm_coopmat.f16_f16_f16/64x64 4b0c6e1d22a7f390 passed
//   gemm_coopmat.f16_f16_f16/64x64 4b0c6e1d22a7f390 slower
//   softmax.f32_f32/row16 77f0d2c1a9e4b853 started 4711 180943 (by which process: its number, and when that started)
#ifndef VKF_KERNEL_VERDICT_H
#define VKF_KERNEL_VERDICT_H

#include <stdatomic.h>

#include "kernel/registry.h"

typedef enum vkf__verdict {
    VKF_VERDICT_UNKNOWN = 0,
    VKF_VERDICT_PASSED,
    VKF_VERDICT_PROVEN, // passed as often as a winner of the tuner must
    // Bad ones: the variant is not used.
    VKF_VERDICT_WRONG,      // differs from the reference
    VKF_VERDICT_SLOW,       // took longer than its time budget
    VKF_VERDICT_UNCOMPILED, // the driver makes no pipeline of it
    // Stored before a self-test begins, and replaced when it ends. Whoever reads it when the process that began is gone
    // does not try the variant: a driver that brings down the process is asked once. While that process lives nothing
    // is known, and whoever needs the variant tests it, too.
    VKF_VERDICT_STARTED,
    VKF_VERDICT_COUNT
} vkf__verdict;

// Whether a variant that drivers are known to offer without gain is faster than the next one that does without what
// they offer.
typedef enum vkf__race {
    VKF_RACE_UNKNOWN = 0,
    VKF_RACE_FASTER,
    VKF_RACE_SLOWER, // not a default
    VKF_RACE_STORED, // the number of those that are kept
    // Nothing could be measured, so that the order of the kernels decides as if there had been no race. Known until the
    // context ends.
    VKF_RACE_UNMEASURED = VKF_RACE_STORED,
} vkf__race;

// One verdict and one race per config of every kernel in the registry's order. Every kernel has room for
// VKF_KERNEL_MAX_CONFIGS of them. The values are read and written from any thread.
typedef struct vkf__verdicts {
    _Atomic uint8_t *values;
    _Atomic uint8_t *races;
    // A variant that is being tested here (NULL: none): its verdict is written as STARTED, and a stored one is passed
    // over. Whoever parses and formats holds a lock.
    const vkf__kernel *tested_kernel;
    const vkf__config *tested_config;
} vkf__verdicts;

// Sets all verdicts to unknown. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__verdicts_init(const vkf__host *host, vkf__verdicts *verdicts);
void vkf__verdicts_free(const vkf__host *host, vkf__verdicts *verdicts);

vkf__verdict vkf__verdict_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config);
void vkf__verdict_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                      vkf__verdict verdict);

vkf__race vkf__race_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config);
void vkf__race_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config, vkf__race race);

// Why a variant with a bad verdict is not used: "quarantined: its self-test took too long". NULL for other verdicts.
const char *vkf__verdict_reason(vkf__verdict verdict);

// Takes in stored verdicts where none is known yet, or only that a test has started. A malformed table is ignored as a
// whole, with a warning that names the line. One of another device or driver is ignored with a debug message, and so is
// a single verdict about a variant that has changed. A test that a living process has started is passed over, here and
// in what is formatted afterwards: kept by another, the line could outlast the test.
void vkf__verdicts_parse(const vkf__host *host, const vkf__caps *caps, const char *text, size_t size_bytes,
                         vkf__verdicts *verdicts);
// *out_text is released with vkf__free(). Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__verdicts_format(const vkf__host *host, const vkf__caps *caps,
                                               const vkf__verdicts *verdicts, char **out_text);

static inline bool vkf__verdict_bad(vkf__verdict verdict)
{
    return verdict >= VKF_VERDICT_WRONG;
}

#endif
