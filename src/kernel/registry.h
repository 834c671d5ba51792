// The one registry of kernels. A row says what a shader needs and takes; adding a kernel is one shader, one shared header,
// one row. A GPU-free test walks every row's SPIR-V and compares bindings, push size and specialisation ids with it.
#ifndef VKF_KERNEL_REGISTRY_H
#define VKF_KERNEL_REGISTRY_H

#include <vkformer/tensor.h>

#include "base/host.h"

#define VKF_KERNEL_MAX_STORAGE 5
#define VKF_KERNEL_MAX_SPEC 12
#define VKF_KERNEL_MAX_TYPES 3
#define VKF_KERNEL_MAX_FLAGS 5

typedef enum vkf__op {
    VKF_OP_GEMM = 0,
    VKF_OP_SOFTMAX,
    VKF_OP_LAYER_NORM,
    VKF_OP_LAYER_NORM_RESIDUAL,
    VKF_OP_PERMUTE,
    VKF_OP_EMBED,
    VKF_OP_ADDITIVE_SCORES,
    VKF_OP_ARGMAX,
    VKF_OP_COPY,
    VKF_OP_HEAD_MEAN,
    VKF_OP_COUNT
} vkf__op;

const char *vkf__op_name(vkf__op op);

// One choice of a kernel's tile parameters, and the problems it is meant for.
typedef struct vkf__config {
    const char *name;
    uint32_t local_size;
    uint32_t tile[5]; // spec ids 1.. of a tiled kernel; 0 = unused
    uint32_t max_m;   // takes problems with m (rows) up to this; 0: any
    uint32_t min_m;
    uint32_t min_n;
} vkf__config;

typedef struct vkf__kernel {
    const char *name; // of the shader and its element types: "gemm_tile.f32_f16_f32"
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES]; // of the operands that selection looks at, in the shader's order
    uint32_t type_count;
    bool needs_storage_16bit;   // float16_t in storage buffers; rows without it unpack words
    uint32_t storage_count;     // storage buffers, bindings 1..
    uint32_t params_bytes;      // uniform parameter struct, binding 0
    uint32_t spec_count;        // specialisation constants, ids 0..
    uint32_t tile_count;        // spec ids 1..tile_count come from the config
    const vkf__config *configs; // best first; the last takes any problem
    uint32_t config_count;
    uint32_t (*shared_bytes)(const vkf__config *config); // NULL: none
    bool (*valid)(const vkf__config *config);            // invariants between tile parameters; NULL: none
    // Flag constants (spec ids after the tile) that layers commonly ask for, to create pipelines ahead of their first use.
    const uint32_t (*common_flags)[VKF_KERNEL_MAX_FLAGS];
    uint32_t common_flags_count; // 0: all flags zero alone
} vkf__kernel;

extern const vkf__kernel vkf__kernels[];
extern const uint32_t vkf__kernel_count;

#endif
