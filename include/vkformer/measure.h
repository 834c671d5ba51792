// Measures the best that a device can reach: the roofs that the speed of a kernel is compared with.
#ifndef VKFORMER_MEASURE_H
#define VKFORMER_MEASURE_H

#include <vkformer/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vkf_roofs {
    double copy_bytes_per_s; // bytes read and bytes written together
    double read_bytes_per_s;
    double fma_flops_per_s; // f32, outside matrix units; a multiply-add counts as two
    bool gpu_timed;         // false: no timestamps, and times include what the host does for a submission
} vkf_roofs;

// Measures all three with large buffers of its own (two of up to 256 MiB) in about a second; each is the best of
// several runs. The context should have `timestamps`, and nothing else should run on the device. A GPU that was idle
// should have been kept busy for some seconds before, or else its clock is low.
// `progress` (may be NULL) is called before each run and returns false to cancel.
// Statuses: INVALID_ARGUMENT, CANCELLED, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, UNSUPPORTED, DEVICE_LOST, VULKAN,
// SHADER.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_measure_roofs(vkf_context *context, vkf_progress_fn progress, void *user,
                                                       vkf_roofs *out_roofs);

// Single runs, for callers who choose sizes and count repetitions themselves; vkf_context_get_last_op_ns() has the
// GPU's time. Tensors are f32; those of copy and read begin at a multiple of 16 bytes and hold a multiple of 4
// elements.
// Statuses: as vkf_measure_roofs(), and TOO_LARGE.

// out = x, of equal element counts.
VKF_API VKF_MUST_CHECK vkf_status vkf_measure_copy(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out);

// Reads x. The first 4 elements of out become 1 when a sum over some of x's elements is not 0, so nothing is written
// when x is zero everywhere.
VKF_API VKF_MUST_CHECK vkf_status vkf_measure_read(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out);

#define VKF_MEASURE_FMA_MIN_CHAINS 2
#define VKF_MEASURE_FMA_MAX_CHAINS 4
#define VKF_MEASURE_FMA_MAX_ROUNDS 16384

// For every element i of `out` one invocation does 8 * rounds multiply-adds on each of 4 * chains accumulators and
// writes their sum, which is exactly chains * (4 * (i % 8 + 8 * rounds) + 1.5) + 2 * chains * (chains - 1).
typedef struct vkf_measure_fma_desc {
    vkf_tensor out;
    uint32_t rounds; // 1 to VKF_MEASURE_FMA_MAX_ROUNDS
    uint32_t chains;
} vkf_measure_fma_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_measure_fma(vkf_context *context, const vkf_measure_fma_desc *desc);

// Floating-point operations of such a call.
VKF_INLINE double vkf_measure_fma_flops(const vkf_measure_fma_desc *desc);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/measure.h>

#endif
