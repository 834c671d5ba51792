// What the driver's compiler made of the kernels: registers, spills, occupancy.
//
// Every driver has statistics of its own under names of its own. They are given as they are, and beside that as numbers
// that mean the same for all of them, as far as that goes: for Mesa's RADV (AMD), Turnip (Qualcomm), NVK (NVIDIA) and
// Honeykrisp (Apple), see src/kernel/statistics.c. Other drivers, lavapipe among them, leave these unknown.
#ifndef VKFORMER_KERNELS_H
#define VKFORMER_KERNELS_H

#include <vkformer/context.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VKF_STATISTIC_NAME_SIZE 64

// As the driver names it; a longer name is cut. Integers beyond 2^53, which only hashes are, are rounded.
typedef struct vkf_statistic {
    char name[VKF_STATISTIC_NAME_SIZE];
    double value;
} vkf_statistic;

#define VKF_STATISTIC_UNKNOWN (-1)

// The same for every driver; VKF_STATISTIC_UNKNOWN where it does not tell.
typedef struct vkf_kernel_statistics {
    int64_t registers;     // of 32 bits, per invocation
    int64_t spills;        // values, or instructions, that go to memory for want of registers
    int64_t inner_spills;  // scalar or uniform values that go to registers of another kind: no harm to speak of
    int64_t scratch_bytes; // of memory per invocation, spills included
    int64_t shared_bytes;  // per workgroup; where the driver does not tell, what the kernel asks for
    int64_t instructions;
    int64_t code_bytes;
    int64_t waves; // subgroups that a unit of the device can hold at the same time; its size is the device's own
} vkf_kernel_statistics;

// A kernel with one choice of its tile parameters and with typical other constants. Pointers are valid during the call.
typedef struct vkf_kernel_report {
    const char *kernel;    // "gemm_tile.f32_f32_f32"
    const char *config;    // "large"
    const char *constants; // what else it was compiled for: "head_dim 64"; "" where there is nothing to choose
    // Typical problems for which it is taken unmeasured, separated by ", "; those with " (f16)" only under
    // VKF_PRECISION_F16. "" for none.
    const char *default_for;
    bool usable;       // on this device
    const char *why;   // usable or not
    bool compiled;     // a pipeline was made
    vkf_status status; // of making it; VKF_OK where that was not asked for
    bool has_statistics;
    vkf_kernel_statistics statistics;
    const vkf_statistic *raw;
    uint32_t raw_count;
} vkf_kernel_report;

// Returns false to end the visit, which gives VKF_ERROR_CANCELLED.
typedef bool (*vkf_kernel_report_fn)(void *user, const vkf_kernel_report *report);

// Visits every variant whose "kernel/config" begins with `name` (NULL: all), in the registry's order; an attention
// kernel once for each of the usual sizes of a head. With `compile` the pipelines of those that the device may use are
// made, and their statistics read in a context with `pipeline_statistics`. One that fails to compile is reported as
// such, and the visit goes on.
// Statuses: INVALID_ARGUMENT, CANCELLED, OUT_OF_HOST_MEMORY, DEVICE_LOST.
VKF_API VKF_MUST_CHECK vkf_status vkf_context_report_kernels(vkf_context *context, const char *name, bool compile,
                                                             vkf_kernel_report_fn visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
