// The one registry of kernels, a file per family. A row says what a shader needs and takes; adding a kernel is one
// shader, one shared header, one row. A GPU-free test walks every row's SPIR-V and compares bindings, push size and
// specialisation constants, by name and id, with it.
#ifndef VKF_KERNEL_REGISTRY_H
#define VKF_KERNEL_REGISTRY_H

#include <vkformer/tensor.h>

#include "vk/caps.h"

#define VKF_KERNEL_MAX_OPERANDS 6
#define VKF_KERNEL_MAX_SPEC 16
#define VKF_KERNEL_MAX_TYPES 3
#define VKF_KERNEL_MAX_CONFIGS 16

typedef enum vkf__op {
    VKF_OP_GEMM = 0,
    VKF_OP_SOFTMAX,
    VKF_OP_LAYER_NORM,
    VKF_OP_LAYER_NORM_RESIDUAL,
    VKF_OP_PERMUTE,
    VKF_OP_EMBED,
    VKF_OP_ADDITIVE_SCORES,
    VKF_OP_ARGMAX,
    VKF_OP_SAMPLE,
    VKF_OP_TOP,
    VKF_OP_REORDER,
    VKF_OP_COPY,
    VKF_OP_HEAD_MEAN,
    VKF_OP_POOL,
    VKF_OP_ROTARY,
    VKF_OP_GATE,
    VKF_OP_PACK,
    VKF_OP_QUANTIZE_ROWS,
    VKF_OP_ATTENTION,
    VKF_OP_ATTENTION_REDUCE,
    VKF_OP_GEMM_REDUCE,
    VKF_OP_ROOF_COPY,
    VKF_OP_ROOF_READ,
    VKF_OP_ROOF_FMA,
    VKF_OP_COUNT
} vkf__op;

const char *vkf__op_name(vkf__op op);

// How a shader reaches an operand.
typedef enum vkf__operand_kind {
    VKF_OPERAND_STORAGE = 0, // a storage buffer
    VKF_OPERAND_TEXEL,       // a uniform texel buffer of single elements
    VKF_OPERAND_TEXEL4,      // a uniform texel buffer of four elements
    VKF_OPERAND_ADDRESS,     // a buffer device address among the push constants, no binding
} vkf__operand_kind;

// What a kernel needs of the device beyond the floor.
#define VKF_NEEDS_STORAGE_16BIT 1u // float16_t in storage buffers; rows without it unpack words
#define VKF_NEEDS_SUBGROUP 2u      // subgroup arithmetic in compute shaders
#define VKF_NEEDS_SHUFFLE 4u       // subgroup shuffles in compute shaders
#define VKF_NEEDS_MATRIX 8u        // cooperative matrices, the Vulkan memory model, 16-bit floats in arithmetic
// Of cooperative matrices:
#define VKF_NEEDS_MATRIX_BF16 16u        // those of bfloat16
#define VKF_NEEDS_MATRIX_FLEXIBLE 32u    // any size, operations per element, and SPIR-V 1.6 of Vulkan 1.3
#define VKF_NEEDS_MATRIX_TENSOR 64u      // those of a workgroup, loaded through tensor layouts
#define VKF_NEEDS_MATRIX_CONVERSION 128u // from one use to another
#define VKF_NEEDS_INT64 256u             // 64-bit integers in shaders
#define VKF_NEEDS_INTEGER_DOT 512u       // integer dot products
#define VKF_NEEDS_FLOAT16 1024u          // 16-bit floats in arithmetic

// Which of the shapes that a device lists a kernel multiplies with, see vkf__matrix_find().
typedef enum vkf__matrix_type {
    VKF_MATRIX_NONE = 0,
    VKF_MATRIX_F16,
    VKF_MATRIX_BF16,
} vkf__matrix_type;

// NULL: none, or the device lists none of that type.
const vkf__matrix_shape *vkf__matrix_shape_of(const vkf__caps *caps, vkf__matrix_type type);

// The problem that a kernel is chosen for, at maximum sizes.
typedef struct vkf__problem {
    uint32_t m; // rows
    uint32_t n; // columns
    uint32_t k; // depth
    // Matrix products: how b is stored, VKF_GEMM_B_*.
    uint32_t b_layout;
    bool transpose_a;    // a is stored (k, m)
    bool split;          // parts of the sums are asked for (VKF_GEMM_SPEC_SPLIT, VKF_ATTENTION_SPEC_PARTIAL)
    bool allow_f16_math; // factors in f32 may be rounded to the 16 bits of the other factor, see VKF_PRECISION_F16
    // Every row of every operand begins at a multiple of four elements, in every run.
    bool quads;
    uint64_t largest; // elements of the largest operand that a texel buffer may stand for
} vkf__problem;

// Tile parameters under the names of the shaders' constants. A matrix product's:
typedef struct vkf__gemm_tile {
    uint32_t m; // rows and columns of d that a workgroup makes
    uint32_t n;
    uint32_t k;        // depth of a step
    uint32_t thread_m; // rows and columns of an invocation; 0 where a matrix is the whole workgroup's
    uint32_t thread_n;
} vkf__gemm_tile;

// On cooperative matrices of a subgroup.
typedef struct vkf__gemm_coopmat_tile {
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t subgroup_m; // rows and columns of a subgroup
    uint32_t subgroup_n;
} vkf__gemm_coopmat_tile;

// Fused attention without shared memory.
typedef struct vkf__attention_tile {
    uint32_t queries; // of an invocation
    uint32_t keys;    // of a step
    uint32_t lanes;   // invocations that share a row, each with a part of the keys
    uint32_t fence;   // head dims between compiler fences; 0: none
    uint32_t unused;
} vkf__attention_tile;

// Through shared memory.
typedef struct vkf__attention_tiled_tile {
    uint32_t queries; // of the group that an invocation belongs to
    uint32_t keys;
    uint32_t lanes; // invocations that share a row
    uint32_t depth; // head dims in shared memory
    uint32_t unused;
} vkf__attention_tiled_tile;

// On cooperative matrices.
typedef struct vkf__attention_coopmat_tile {
    uint32_t rows; // queries of a subgroup
    uint32_t keys;
    uint32_t subgroups;
    uint32_t unused[2];
} vkf__attention_coopmat_tile;

#define VKF_KERNEL_MAX_TILE 5

// One list of numbers, which every kernel's file knows by a view of its own: spec ids 1.. in their order, the rest 0.
// Such a view fills the union, so that none of the numbers that are hashed is left to chance.
typedef union vkf__tile {
    uint32_t values[VKF_KERNEL_MAX_TILE];
    struct {
        uint32_t rows; // what every tile begins with: rows and columns of d, or queries and keys
        uint32_t columns;
    } side;
    vkf__gemm_tile gemm;
    vkf__gemm_coopmat_tile gemm_coopmat;
    vkf__attention_tile attention;
    vkf__attention_tiled_tile attention_tiled;
    vkf__attention_coopmat_tile attention_coopmat;
} vkf__tile;

// One choice of a kernel's tile parameters, and the problems it is meant for.
typedef struct vkf__config {
    const char *name;
    uint32_t local_size;
    uint32_t subgroups; // not 0: the local size is that many whole subgroups instead
    vkf__tile tile;
    uint32_t max_m; // takes problems with m (rows) up to this; 0: any
    uint32_t max_k; // the same for k
    uint32_t min_m;
    uint32_t min_n;
} vkf__config;

typedef struct vkf__kernel {
    const char *name;   // of the shader and its element types: "gemm_tile.f32_f16_f32"
    const char *module; // the shader's and its own types, where rows share a module; NULL: the name
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES]; // of the operands that selection looks at, in the shader's order
    uint32_t type_count;
    uint32_t needs;                            // VKF_NEEDS_*
    uint32_t operand_count;                    // bindings 1.., an offset among the push constants each
    uint8_t operands[VKF_KERNEL_MAX_OPERANDS]; // vkf__operand_kind
    uint32_t b_layouts;           // matrix products: a bit 1 << VKF_GEMM_B_* for every layout of b that it reads
    bool splits;                  // leaves parts of the sums where asked to
    bool shares_rows;             // attention: tile.attention.lanes share a row, each with a part of the keys
    bool transposes_a;            // reads a (k, m), too
    bool quads;                   // takes only problems whose rows begin at multiples of four elements
    uint32_t params_bytes;        // uniform parameter struct, binding 0
    const char *const *constants; // the shader's names of the specialisation constants by id; NULL: it has none of it
    uint32_t spec_count;          // ids 0..
    uint32_t tile_count;          // spec ids 1..tile_count come from the config
    vkf__matrix_type matrix;      // not NONE: the last three spec ids are m, n and k of the device's shape of that type
    bool rounds;                  // multiplies f32 factors in 16 bits: only where the problem allows it
    const vkf__config *configs;   // best first; the last has no limits of its own
    uint32_t config_count;
    uint32_t (*shared_bytes)(const vkf__config *config); // NULL: none
    // The same where it hangs on the device's matrices and the problem; the least that it may be for a NULL problem.
    uint32_t (*shared_bytes_here)(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem);
    // Why the device's matrices or registers do not suit a valid config (for a NULL problem: whatever the problem),
    // static; NULL: they do. Both are asked on devices alone that have what the kernel needs.
    const char *(*unfit)(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem);
    bool (*valid)(const vkf__config *config);             // invariants between tile parameters; NULL: none
    uint32_t (*subgroup_size)(const vkf__config *config); // the one that it is written for; NULL: any
    // How far down the list a device with these traits looks for it without measurements: the lowest is taken, of
    // equals the earlier row. Traits, never names. NULL: VKF_RANK_LAST.
    uint32_t (*rank)(const vkf__caps *caps, const vkf__problem *problem);
} vkf__kernel;

#define VKF_RANK_LAST 100u

static inline const char *vkf__kernel_module(const vkf__kernel *kernel)
{
    return kernel->module ? kernel->module : kernel->name;
}

uint32_t vkf__kernel_count(void);
const vkf__kernel *vkf__kernel_at(uint32_t index); // index < vkf__kernel_count()
uint32_t vkf__kernel_index(const vkf__kernel *kernel);

// All rows in their order, for who walks through them often: begins with zeros, and ends with NULL.
typedef struct vkf__kernel_walk {
    uint32_t family, row;
} vkf__kernel_walk;

const vkf__kernel *vkf__kernel_next(vkf__kernel_walk *walk);

#endif
