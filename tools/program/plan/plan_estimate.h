// How long a dispatch would take on a described device: a roofline with a little of what keeps kernels below it. All
// that it takes for granted is here or in the chip's description, and the command prints it.
#ifndef VKF_PROGRAM_PLAN_ESTIMATE_H
#define VKF_PROGRAM_PLAN_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

// What Vulkan does not tell of a device, in bytes, operations, seconds. A multiply-add counts as two.
typedef struct vkf_chip_speed {
    double cores; // that take workgroups: SMs, compute units, Xe cores, shader cores
    double memory_bytes_per_s;
    double f32_flops, f16_flops; // outside matrix units
    double matrix_flops;         // f16 factors, f32 sums; 0: it has none
    double matrix_f16_flops;     // f16 factors, f16 sums; 0: as with f32 sums
    double dot_ops;              // of 8-bit integers
    double latency_s;            // of a load from memory
    double barrier_s;            // from the end of a dispatch to the start of one that waits for it
    double submit_s;             // once in a run: submission and fence
    double invocations_per_core, shared_bytes_per_core; // that may be resident
} vkf_chip_speed;

// Parts of a peak that kernels reach once the device is full. They are fitted to what a peer's kernels reach on real
// GPUs, see plan_calibrate.h, but for attention, which is a small part of what is published.
#define VKF_PLAN_MATRIX_SHARE 0.62 // of matrix units, with these sums
// The same at their fastest sums, where subgroups feed them through shared memory: whatever the sums are, they are fed
// no faster. Matrices of a whole workgroup are fed by the driver.
#define VKF_PLAN_SUBGROUP_SHARE 0.35
#define VKF_PLAN_SCALAR_SHARE 0.45    // of f32 or f16 arithmetic, by tiles in shared memory
#define VKF_PLAN_ATTENTION_SHARE 0.35 // of any of them, between two products and a softmax
#define VKF_PLAN_DOT_SHARE 0.45       // of integer dot products
#define VKF_PLAN_MEMORY_SHARE 0.83    // of the memory's bandwidth
// Products after which our kernels on matrices with sums in f16 add these to sums in f32: of a subgroup and of a
// workgroup.
#define VKF_PLAN_SUBGROUP_RUN 32
#define VKF_PLAN_WORKGROUP_RUN 64
#define VKF_PLAN_RUN_INSTRUCTIONS 2 // that this takes, per element
#define VKF_PLAN_MAX_GROUPS 32      // workgroups that are resident on a core at most
// A core is busy once this part of the invocations that fit it are there.
#define VKF_PLAN_BUSY_SHARE 0.125

typedef enum vkf_plan_math {
    VKF_PLAN_SCALAR = 0, // sums in f32
    VKF_PLAN_HALF,       // in f16
    VKF_PLAN_MATRIX,
    VKF_PLAN_DOT,
} vkf_plan_math;

typedef struct vkf_plan_load {
    vkf_plan_math math;
    bool attention;
    bool half_sums;       // of matrices: in f16
    double half_run;      // products after which these go to sums in f32; 0: at no cost
    bool workgroup_scope; // matrices of a whole workgroup
    double workgroups;
    double local_size, shared_bytes; // of a workgroup
    double step_bytes;               // that a workgroup asks memory for before it waits for them
    double flops, bytes;
    bool after_barrier;
} vkf_plan_load;

typedef enum vkf_plan_limit { VKF_PLAN_BY_MATH = 0, VKF_PLAN_BY_MEMORY, VKF_PLAN_BY_BARRIER } vkf_plan_limit;

typedef struct vkf_plan_cost {
    double groups_per_core; // that are resident at once
    double busy;            // part of the device's arithmetic that the workgroups keep busy
    double bytes_in_flight; // of all resident workgroups
    double bytes_per_s;     // that so many bytes in flight get from memory
    double math_s, memory_s, barrier_s, total_s;
    vkf_plan_limit limit; // the largest of the three
} vkf_plan_cost;

// Pure. Little's law gives the bandwidth: as many bytes per second as are in flight during one latency.
vkf_plan_cost vkf_plan_estimate(const vkf_chip_speed *speed, const vkf_plan_load *load);

// The least that the same work takes where nothing is lost: at the highest peak and the whole bandwidth.
double vkf_plan_roof_s(const vkf_chip_speed *speed, double flops, double bytes);

#endif
