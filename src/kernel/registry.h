// The one registry of kernels, with a file per family. A row says what a shader needs and takes. A new kernel is one
// shader, one shared header and one row. A test without a GPU compares the SPIR-V of every row with the row: bindings,
// push constant size, and specialisation constants by name and id.
#ifndef VKF_KERNEL_REGISTRY_H
#define VKF_KERNEL_REGISTRY_H

#include <vkformer/context.h>
#include <vkformer/tensor.h>

#include "kernel/op.h"
#include "vk/caps.h"

#define VKF_KERNEL_MAX_OPERANDS 9
#define VKF_KERNEL_MAX_SPEC 16
#define VKF_KERNEL_MAX_TYPES 3
#define VKF_KERNEL_MAX_CONFIGS 16

// How a shader accesses an operand.
typedef enum vkf__operand_kind {
    VKF_OPERAND_STORAGE = 0, // a storage buffer
    VKF_OPERAND_TEXEL,       // a uniform texel buffer of single elements
    VKF_OPERAND_TEXEL4,      // a uniform texel buffer of four elements
    VKF_OPERAND_ADDRESS,     // a buffer device address among the push constants, no binding
} vkf__operand_kind;

// What a kernel needs from the device beyond the minimum.
#define VKF_NEEDS_STORAGE_16BIT 1u // float16_t in storage buffers; rows without it unpack words
#define VKF_NEEDS_SUBGROUP 2u      // subgroup arithmetic in compute shaders
#define VKF_NEEDS_SHUFFLE 4u       // subgroup shuffles in compute shaders
#define VKF_NEEDS_MATRIX 8u        // cooperative matrices, the Vulkan memory model, 16-bit floats in arithmetic
// Of cooperative matrices:
#define VKF_NEEDS_MATRIX_BF16 16u        // those of bfloat16
#define VKF_NEEDS_MATRIX_FLEXIBLE 32u    // any size
#define VKF_NEEDS_MATRIX_TENSOR 64u      // those of a workgroup, loaded through tensor layouts
#define VKF_NEEDS_MATRIX_CONVERSION 128u // from one use to another
#define VKF_NEEDS_INT64 256u             // 64-bit integers in shaders
#define VKF_NEEDS_INTEGER_DOT 512u       // integer dot products
#define VKF_NEEDS_FLOAT16 1024u          // 16-bit floats in arithmetic
#define VKF_NEEDS_MATRIX_DECODED 2048u   // cooperative matrices that are decoded as they are loaded, by address
#define VKF_NEEDS_MATRIX_ELEMENT 4096u   // of cooperative matrices: operations per element, by SPIR-V 1.6 of Vulkan 1.3
#define VKF_NEEDS_MATRIX_REDUCTION 8192u // the same: reductions of rows and columns

// The kind of matrix shape that a kernel multiplies with; see vkf__matrix_find().
typedef enum vkf__matrix_type {
    VKF_MATRIX_NONE = 0,
    VKF_MATRIX_F16,
    VKF_MATRIX_F16_SUMS, // of f16 that are summed in f16, too; the others are summed in f32
    VKF_MATRIX_BF16,
} vkf__matrix_type;

// The problem that a kernel is chosen for, at maximum sizes.
typedef struct vkf__problem {
    uint32_t m; // rows
    uint32_t n; // columns
    uint32_t k; // depth
    // For matrix products: how b is stored, VKF_GEMM_B_*.
    uint32_t b_layout;
    bool transpose_a;        // a is stored (k, m)
    bool split;              // partial sums are wanted (VKF_GEMM_SPEC_SPLIT, VKF_ATTENTION_SPEC_PARTIAL)
    vkf_precision precision; // what may be rounded
    // In every run, every row of every operand begins at a multiple of four elements.
    bool quads;
    bool vectors;     // of attention: keys and values lie so that attention_decode.comp may read them
    bool fresh;       // of attention: VKF_ATTENTION_DECODE_SPEC_FRESH is wanted
    bool biased;      // of attention's gradients: that of a bias is wanted
    bool joined;      // of attention with `split`: the kernel puts the parts together itself
    bool gated;       // of a product: VKF_GEMM_SPEC_GATE is wanted
    bool normed;      // VKF_GEMM_SPEC_NORM is
    uint32_t batch;   // products side by side; 0: 1
    uint32_t parts;   // of a split matrix product, side by side, too; 0: 1
    uint64_t largest; // elements of the largest operand that may be bound as a texel buffer
} vkf__problem;

// Tile parameters under the names of the shaders' constants. Those of a matrix product:
typedef struct vkf__gemm_tile {
    uint32_t m; // rows and columns of d that a workgroup computes
    uint32_t n;
    uint32_t k;        // depth of a step
    uint32_t thread_m; // rows and columns of an invocation; 0 where a matrix belongs to the whole workgroup
    uint32_t thread_n;
} vkf__gemm_tile;

// Of a matrix product on cooperative matrices of a subgroup.
typedef struct vkf__gemm_coopmat_tile {
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t subgroup_m; // rows and columns of a subgroup
    uint32_t subgroup_n;
} vkf__gemm_coopmat_tile;

// Of fused attention without shared memory.
typedef struct vkf__attention_tile {
    uint32_t queries; // per invocation
    uint32_t keys;    // per step
    uint32_t lanes;   // invocations that share a row, each with a part of the keys
    uint32_t fence;   // head dims between compiler fences; 0: none
    uint32_t unused;
} vkf__attention_tile;

// Of fused attention through shared memory.
typedef struct vkf__attention_tiled_tile {
    uint32_t queries; // of the group of invocations that share rows
    uint32_t keys;
    uint32_t lanes; // invocations that share a row
    uint32_t depth; // head dims in shared memory
    uint32_t unused;
} vkf__attention_tiled_tile;

// Of fused attention for few queries.
typedef struct vkf__attention_decode_tile {
    uint32_t rows;  // of a workgroup, at most; the operator gives their number
    uint32_t keys;  // of a group of invocations, per step
    uint32_t lanes; // invocations that share a key
    uint32_t unused[2];
} vkf__attention_decode_tile;

// Of fused attention on cooperative matrices.
typedef struct vkf__attention_coopmat_tile {
    uint32_t rows; // queries of a subgroup
    uint32_t keys;
    uint32_t subgroups;
    uint32_t unused[2];
} vkf__attention_coopmat_tile;

// Of the gradients of attention.
typedef struct vkf__attention_grad_tile {
    uint32_t each;  // own rows of an invocation, queries or keys
    uint32_t step;  // rows of the other kind, per step
    uint32_t lanes; // invocations that share own rows
    uint32_t depth; // head dims in shared memory
    uint32_t unused;
} vkf__attention_grad_tile;

#define VKF_KERNEL_MAX_TILE 5

// One list of numbers, which each family reads through its own view: spec ids 1.. in their order, the rest 0. Every
// view fills the union, so that all numbers that are hashed are defined.
typedef union vkf__tile {
    uint32_t values[VKF_KERNEL_MAX_TILE];
    struct {
        uint32_t rows; // every tile begins with these: rows and columns of d, or queries and keys
        uint32_t columns;
    } side;
    vkf__gemm_tile gemm;
    vkf__gemm_coopmat_tile gemm_coopmat;
    vkf__attention_tile attention;
    vkf__attention_tiled_tile attention_tiled;
    vkf__attention_decode_tile attention_decode;
    vkf__attention_coopmat_tile attention_coopmat;
    vkf__attention_grad_tile attention_grad;
} vkf__tile;

// One choice of a kernel's tile parameters, and the problems that it is meant for.
typedef struct vkf__config {
    const char *name;
    uint32_t local_size;
    uint32_t subgroups; // not 0: the local size is this many whole subgroups instead
    vkf__tile tile;
    uint32_t max_m; // takes problems of up to this many rows (m); 0: any
    uint32_t max_k; // the same for k
    uint32_t min_m;
    uint32_t min_n;
    bool by_cores; // on a GPU, one of the tiles among which the number of cores decides
    // The devices that it is a default for, by their registers (vkf__traits); 0: no limit. Others may ask for it.
    uint32_t min_registers, max_registers;
} vkf__config;

typedef struct vkf__kernel {
    const char *name;   // the shader and its element types: "gemm_tile.f32_f16_f32"
    const char *module; // where rows share a module: the shader and the module's types; NULL: same as name
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES]; // of the operands that selection considers, in the shader's order
    uint32_t type_count;
    uint32_t needs;                            // VKF_NEEDS_*
    uint32_t operand_count;                    // bindings 1.., each with an offset among the push constants
    uint8_t operands[VKF_KERNEL_MAX_OPERANDS]; // vkf__operand_kind
    uint32_t b_layouts;           // matrix products: a bit 1 << VKF_GEMM_B_* for every layout of b that it reads
    bool splits;                  // can leave partial sums
    bool gates;                   // matrix products: has VKF_GEMM_SPEC_GATE
    bool norms;                   // takes rows that are to be normalised first
    bool rounds_rows;             // has VKF_GEMM_SPEC_KEPT_BLOCKS: rounds rows of a for integer dot products
    bool fixes_rows;              // matrix products: has VKF_GEMM_SPEC_B_ROW
    bool shares_rows;             // attention: tile.attention.lanes invocations share a row, each with part of the keys
    bool shares_keys;             // attention: tile.attention_decode.lanes invocations share a key, read in vectors
    bool gives_bias;              // attention's gradients: has VKF_ATTENTION_GRAD_BIAS
    bool takes_fresh;             // attention: has VKF_ATTENTION_DECODE_SPEC_FRESH
    bool joins;                   // attention: its last workgroup puts the parts of rows together
    bool transposes_a;            // also reads a stored as (k, m)
    bool quads;                   // only takes problems whose rows begin at multiples of four elements
    uint32_t params_bytes;        // of the uniform parameter struct, binding 0
    const char *const *constants; // the shader's names of its specialisation constants by id; NULL where it lacks one
    uint32_t spec_count;          // ids 0..
    uint32_t tile_count;          // spec ids 1..tile_count come from the config
    vkf__matrix_type matrix;      // not NONE: the last three spec ids are m, n and k of the device's shape of that type
    void (*matrix_tile)(const vkf__config *config, uint32_t out_mnk[3]); // which the shape divides
    bool rounds;                // rounds f32 factors to 16 bits, only where the problem allows it
    bool half_sums;             // sums up to VKF_GEMM_HALF_RUN products in f16, only where the problem allows it
    bool by_parts;              // sampling: a workgroup takes a part of a row, and a dispatch runs one phase
    bool walks_columns;         // matrix products: workgroups go on to other columns, so fewer of them serve any n
    const vkf__config *configs; // best first; the last has no limits
    uint32_t config_count;
    uint32_t (*shared_bytes)(const vkf__config *config); // NULL: none
    // The same where it depends on the device's matrices and the problem. For a NULL problem it is the least possible.
    uint32_t (*shared_bytes_here)(const vkf__caps *caps, const struct vkf__kernel *kernel, const vkf__config *config,
                                  const vkf__problem *problem);
    // Why the device's matrices or registers do not suit a valid config, as static text; for a NULL problem, why they
    // suit no problem. NULL: they do. Both functions are called only for devices that have what the kernel needs.
    const char *(*unfit)(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem);
    bool (*valid)(const vkf__config *config);             // checks invariants of tile parameters; NULL: none
    uint32_t (*subgroup_size)(const vkf__config *config); // the only one that the kernel works with; NULL: any
    // The rank of the kernel on a device with these traits, used where nothing was measured. The lowest rank is taken,
    // and of equals the earlier row. It looks at traits, never at names. NULL: VKF_RANK_LAST.
    uint32_t (*rank)(const vkf__caps *caps, const vkf__problem *problem);
} vkf__kernel;

#define VKF_RANK_LAST 100u

static inline const char *vkf__kernel_module(const vkf__kernel *kernel)
{
    return kernel->module ? kernel->module : kernel->name;
}

// The shape of the device's matrices with which a kernel multiplies by a config: the largest that divides its tile.
// NULL for a kernel without, or when the device lists none.
const vkf__matrix_shape *vkf__matrix_shape_of(const vkf__caps *caps, const vkf__kernel *kernel,
                                              const vkf__config *config);

// Whether the device lists any shape of the kernel's type.
bool vkf__lists_matrices(const vkf__caps *caps, const vkf__kernel *kernel);

uint32_t vkf__kernel_count(void);
const vkf__kernel *vkf__kernel_at(uint32_t index); // index < vkf__kernel_count()
uint32_t vkf__kernel_index(const vkf__kernel *kernel);

// Walks through all rows in their order, faster than by index. A walk begins with zeros and ends with NULL.
typedef struct vkf__kernel_walk {
    uint32_t family, row;
} vkf__kernel_walk;

const vkf__kernel *vkf__kernel_next(vkf__kernel_walk *walk);

#endif
