// The one registry of kernels, with a file per family. A row says what a shader needs and takes. A new kernel is one
// shader, one shared header and one row. A test without a GPU compares the SPIR-V of every row with the row: bindings,
// push constant size, and specialisation constants by name and id.
#ifndef VKF_KERNEL_REGISTRY_H
#define VKF_KERNEL_REGISTRY_H

#include <vkformer/context.h>
#include <vkformer/tensor.h>

#include "kernel/op.h"
#include "vk/caps.h"

#define VKF_KERNEL_MAX_OPERANDS 11
#define VKF_KERNEL_MAX_SPEC 17
#define VKF_KERNEL_MAX_TYPES 3
#define VKF_KERNEL_MAX_CONFIGS 16

// How a shader accesses an operand.
typedef enum vkf__operand_kind {
    VKF_OPERAND_STORAGE = 0, // a storage buffer
    VKF_OPERAND_TEXEL,       // a uniform texel buffer of single elements
    VKF_OPERAND_TEXEL4,      // a uniform texel buffer of four elements
    VKF_OPERAND_ADDRESS,     // a buffer device address among the push constants, no binding
    VKF_OPERAND_VALUES,      // a uniform texel buffer of a few numbers in f32, such as one for each head
} vkf__operand_kind;

// What a kernel needs from the device beyond the minimum.
#define VKF_NEEDS_STORAGE_16BIT 1u // float16_t in storage buffers; rows without it unpack words
#define VKF_NEEDS_SUBGROUP 2u      // subgroup arithmetic in compute shaders
#define VKF_NEEDS_SHUFFLE 4u       // subgroup shuffles in compute shaders
#define VKF_NEEDS_MATRIX 8u        // cooperative matrices, the Vulkan memory model, 16-bit floats in arithmetic
// For cooperative matrices:
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

// What sets a kernel apart from others of its operator: where it stands in their ladder (kernel/ladder.h).
#define VKF_RUNGS(RUNG)                                                                           \
    RUNG(PLAIN, "plain")                            /* what needs nothing in particular */        \
    RUNG(TENSORS, "tensor matrices")                /* a workgroup's, through tensor layouts */   \
    RUNG(TENSORS_HALF, "tensor matrices, f16 sums") /* the same with sums of short runs in f16 */ \
    RUNG(MATRICES, "matrices")                                                                    \
    RUNG(MATRICES_HALF, "matrices, f16 sums")                                                     \
    RUNG(MATRIX_REDUCTIONS, "matrices with reductions")                                           \
    RUNG(MATRIX_ELEMENTS, "matrices by element")                                                  \
    RUNG(HALVES, "halves")             /* products and sums of short runs in f16 */               \
    RUNG(ROUNDED_ROWS, "rounded rows") /* integer dot products of rows it rounds */               \
    RUNG(INTEGER_DOTS, "integer dots") /* the same of bytes as they are */                        \
    RUNG(SUBGROUP, "subgroup")         /* a subgroup adds up a row */                             \
    RUNG(FEW_ROWS, "few rows")                                                                    \
    RUNG(BLOCKS, "blocks")                       /* weights in blocks straight from memory */     \
    RUNG(PARTS, "parts")                         /* several workgroups share a row */             \
    RUNG(DIRECT, "direct")                       /* storage buffers without shared memory */      \
    RUNG(ADDRESS, "addresses")                   /* the same by device addresses */               \
    RUNG(ADDRESS_COLUMNS, "addresses by column") /* with lanes along n */                         \
    RUNG(TEXEL, "texels")                        /* through texel buffers of four elements */     \
    RUNG(TEXEL_SINGLE, "single texels")                                                           \
    RUNG(TEXEL_SHUFFLE, "shared texels") /* fetched by a subgroup's lanes for each other */

#define VKF_RUNG_ENTRY(NAME, name) VKF_RUNG_##NAME,
typedef enum vkf__rung { VKF_RUNGS(VKF_RUNG_ENTRY) VKF_RUNG_COUNT } vkf__rung;

// What a problem may want of a kernel, or a kernel of a problem; why a kernel is not taken that does not offer the
// first, and why one that is not given the second. NULL where nobody wants it.
#define VKF_FORMS(FORM)                                                                                                \
    FORM(TRANSPOSED_A, "a-transposed", "does not read a transposed", NULL)                                             \
    FORM(SPLIT, "split", "leaves no parts of the sums", "leaves parts of the sums")                                    \
    FORM(JOINED, "joined", "leaves putting the parts together to another dispatch", "puts parts of the sums together") \
    FORM(GATED, "gated", "does not gate its output", NULL)                                                             \
    FORM(NORMED, "normed", "does not normalise its input", NULL)                                                       \
    FORM(FRESH, "fresh", "takes queries and keys that are rotated", NULL)                                              \
    FORM(BIASED, "biased", "gives no gradient of a bias", NULL)                                                        \
    FORM(QUADS, "quads", NULL, "needs rows that begin at multiples of four elements")                                  \
    FORM(VECTORS, "vectors", NULL, "needs keys and values of whole vectors of 16 bytes")

#define VKF_FORM_INDEX(NAME, name, not_offered, not_given) VKF_FORM_INDEX_##NAME,
enum { VKF_FORMS(VKF_FORM_INDEX) VKF_FORM_COUNT };
#define VKF_FORM_BIT(NAME, name, not_offered, not_given) VKF_FORM_##NAME = 1u << VKF_FORM_INDEX_##NAME,
// The problem's operand a is stored (k, m); partial sums are wanted (VKF_GEMM_SPEC_SPLIT, VKF_ATTENTION_SPEC_PARTIAL),
// or attention puts its parts together itself; a product has VKF_GEMM_SPEC_GATE or takes rows that are to be normalised
// first; attention has VKF_ATTENTION_DECODE_SPEC_FRESH; its gradients VKF_ATTENTION_GRAD_BIAS; in every run, every row
// of every operand begins at a multiple of four elements; keys and values lie so that attention_decode.comp reads them.
typedef enum vkf__form { VKF_FORMS(VKF_FORM_BIT) } vkf__form;

// The problem that a kernel is chosen for, at maximum sizes.
typedef struct vkf__problem {
    uint32_t m; // rows
    uint32_t n; // columns
    uint32_t k; // depth
    // For matrix products: how b is stored, VKF_GEMM_B_*.
    uint32_t b_layout;
    uint32_t wants;          // a bit VKF_FORM_* for each that the kernel has to offer
    uint32_t offers;         // and for each that a kernel may want besides
    vkf_precision precision; // what may be rounded
    uint32_t batch;          // products side by side; 0: 1
    uint32_t parts;          // of a split matrix product, side by side, too; 0: 1
    uint64_t largest;        // elements of the largest operand that may be bound as a texel buffer
} vkf__problem;

// Tile parameters under the names of the shaders' constants. Those of a matrix product:
typedef struct vkf__gemm_tile {
    uint32_t m; // rows and columns of d that a workgroup computes
    uint32_t n;
    uint32_t k;        // depth of a step
    uint32_t thread_m; // rows and columns of an invocation; 0 where a matrix belongs to the whole workgroup
    uint32_t thread_n;
} vkf__gemm_tile;

// For a matrix product on cooperative matrices of a subgroup.
typedef struct vkf__gemm_coopmat_tile {
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t subgroup_m; // rows and columns of a subgroup
    uint32_t subgroup_n;
} vkf__gemm_coopmat_tile;

// For fused attention without shared memory.
typedef struct vkf__attention_tile {
    uint32_t queries; // per invocation
    uint32_t keys;    // per step
    uint32_t lanes;   // invocations that share a row, each with a part of the keys
    uint32_t fence;   // head dims between compiler fences; 0: none
    uint32_t unused;
} vkf__attention_tile;

// For fused attention through shared memory.
typedef struct vkf__attention_tiled_tile {
    uint32_t queries; // of the group of invocations that share rows
    uint32_t keys;
    uint32_t lanes; // invocations that share a row
    uint32_t depth; // head dims in shared memory
    uint32_t unused;
} vkf__attention_tiled_tile;

// For fused attention of few queries.
typedef struct vkf__attention_decode_tile {
    uint32_t rows;  // of a workgroup, at most; the operator gives their number
    uint32_t keys;  // of a group of invocations, per step
    uint32_t lanes; // invocations that share a key
    uint32_t unused[2];
} vkf__attention_decode_tile;

// For fused attention on cooperative matrices.
typedef struct vkf__attention_coopmat_tile {
    uint32_t rows; // queries of a subgroup
    uint32_t keys;
    uint32_t subgroups;
    uint32_t unused[2];
} vkf__attention_coopmat_tile;

// For the gradients of attention.
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
    uint32_t offers;              // VKF_FORM_*, of which a problem may want any
    uint32_t wants;               // those that a problem must have
    bool rounds_rows;             // has VKF_GEMM_SPEC_KEPT_BLOCKS: rounds rows of a for integer dot products
    bool fixes_rows;              // matrix products: has VKF_GEMM_SPEC_B_ROW
    bool shares_rows;             // attention: tile.attention.lanes invocations share a row, each with part of the keys
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
    vkf__rung rung; // where it stands in its operator's ladder (kernel/ladder.h); of equals the earlier row is taken
} vkf__kernel;

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

// The number of workgroups that a matrix product's tiles give, of all parts where it is split.
uint64_t vkf__config_workgroups(const vkf__config *config, const vkf__problem *problem);

uint32_t vkf__kernel_count(void);
const vkf__kernel *vkf__kernel_at(uint32_t index); // index < vkf__kernel_count()
uint32_t vkf__kernel_index(const vkf__kernel *kernel);
// Whether it has this operator and its operands these types.
bool vkf__kernel_is_for(const vkf__kernel *kernel, vkf__op op, const vkf_dtype *types);

// Walks through all rows in their order, faster than by index. A walk begins with zeros and ends with NULL.
typedef struct vkf__kernel_walk {
    uint32_t family, row;
} vkf__kernel_walk;

const vkf__kernel *vkf__kernel_next(vkf__kernel_walk *walk);

#endif
