// What the self-test on the device found out about variants, kept through the cache callbacks as text:
//
//   vkformer-verdicts 2
//   library 0.1.0
//   device 00010005 00000000 13 05803006 (UUIDs of device, driver and pipeline cache)
//   gemm_tile.f32_f32_f32/large 9ac1f08b33d7e214 passed 1795798645 0 0
//   gemm_coopmat.f16_f16_f16/64x64 4b0c6e1d22a7f390 passed 1795798646 0 0
//   gemm_coopmat.f16_f16_f16/64x64 4b0c6e1d22a7f390 slower 1795798646 0 0
//   gemm_direct.f32_f32_f32/8x8 07be4c05d92b6cb8 slow 1795798647 1 125 # m 3, n 5, k 100000: 2500.0 ms, beyond ...
//   softmax.f32_f32/row16 77f0d2c1a9e4b853 started 1795798650 1 0 # process 4711 did not come back: ...
//
// Behind the verdict are its date in seconds since 1970, its strikes, how many hundredths of its time it took, and the
// reason. A single strike may be the fault of a busy device or of who ended the process: the variant is tested again at
// the next start. With two of them it is left out until driver or library are others, or nothing better is left.
#ifndef VKF_KERNEL_VERDICT_H
#define VKF_KERNEL_VERDICT_H

#include <stdatomic.h>

#include "kernel/registry.h"

#define VKF_VERDICT_STRIKES 2
#define VKF_VERDICT_REASON_BYTES 160

typedef enum vkf__verdict {
    VKF_VERDICT_UNKNOWN = 0,
    VKF_VERDICT_PASSED,
    VKF_VERDICT_PROVEN, // passed as often as a winner of the tuner must
    // Bad ones: the variant is not used.
    VKF_VERDICT_WRONG,      // differs from the reference
    VKF_VERDICT_SLOW,       // took longer than its time budget
    VKF_VERDICT_UNCOMPILED, // the driver makes no pipeline of it
    VKF_VERDICT_STARTED,    // its test never ended, so the driver may have brought down the process; see learned.h
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

typedef struct vkf__verdict_entry {
    _Atomic uint8_t verdict; // as it is kept; vkf__verdict_get() tells what follows from it
    _Atomic uint8_t race;
    _Atomic uint8_t strikes;
    atomic_bool here;         // found in this context, not read
    _Atomic uint32_t percent; // of its time that a SLOW variant took
    // Written and read by who holds a lock.
    int64_t date, race_date; // seconds since 1970
    char *reason;            // NULL: none
} vkf__verdict_entry;

// An entry per config of every kernel in the registry's order. Every kernel has room for VKF_KERNEL_MAX_CONFIGS of
// them. But for what the entry says, values are read and written from any thread.
typedef struct vkf__verdicts {
    const vkf__host *host;
    vkf__verdict_entry *entries;
} vkf__verdicts;

// What a test found.
typedef struct vkf__finding {
    vkf__verdict verdict;
    double times;       // of SLOW: how many times as long as it may it took; 0: nobody knows
    bool foretold;      // SLOW by what less took: known until the context ends, and no strike
    const char *reason; // NULL: none
} vkf__finding;

// Sets all verdicts to unknown. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__verdicts_init(const vkf__host *host, vkf__verdicts *verdicts);
void vkf__verdicts_free(vkf__verdicts *verdicts);
void vkf__verdicts_forget(vkf__verdicts *verdicts);

// UNKNOWN for a SLOW or STARTED variant that may be tested once more.
vkf__verdict vkf__verdict_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config);
// Whether a variant that is about to be used is to be tested first: nothing is known, or what others found slow or did
// not come back from is the best that is left.
bool vkf__verdict_is_due(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config);
// How slow a SLOW variant is beside others. One that others did not come back from is behind all of these.
double vkf__verdict_slowness(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config);
const vkf__verdict_entry *vkf__verdict_entry_of(const vkf__verdicts *verdicts, const vkf__kernel *kernel,
                                                const vkf__config *config);

void vkf__verdict_note(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                       const vkf__finding *finding);
void vkf__verdict_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                      vkf__verdict verdict);
// Notes that a test did not end, the `strikes`-th in turn. Nothing where more is known. *out_left_out: whether the
// variant is left out because of this one.
void vkf__verdict_strike(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config,
                         uint32_t strikes, const char *reason, bool *out_left_out);

vkf__race vkf__race_get(const vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config);
void vkf__race_set(vkf__verdicts *verdicts, const vkf__kernel *kernel, const vkf__config *config, vkf__race race);

// "passed", "slow"; "faster", "slower".
const char *vkf__verdict_name(vkf__verdict verdict);
const char *vkf__race_name(vkf__race race);
// Why a variant with a bad verdict is not used: "quarantined: its self-test took too long". NULL for other verdicts.
const char *vkf__verdict_reason(vkf__verdict verdict);

// Takes in stored verdicts where none was found here yet. A malformed table is ignored as a whole, with a warning that
// names the line. One of another device, driver or format is ignored with a debug message, and so is a single verdict
// about a variant that has changed, and without a message what another version of the library found slow or did not
// come back from.
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
