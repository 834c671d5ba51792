// General matrix multiply on the flexible cooperative matrices of NV_cooperative_matrix2; semantics in shared/gemm.h.
// The driver lays out shared memory and pipelines the loads: a tile of a workgroup is one matrix.
//
// There are two forms. The fast one is with TENSOR_ADDRESSING: matrices have the scope of the workgroup and are loaded
// through tensor layouts, which give zeros beyond the matrix, or clamp nothing where all tiles lie inside. Without it
// each subgroup has a TILE_M x TILE_N tile of its own and fetches element by element; that form is for devices that
// have no more than flexible dimensions.
//
// With HALF_SUMS the products of a tile are summed in f16 and then added to the float32 sums: TILE_K products at most.
// With B_BLOCKS b is a weight in blocks (shared/blocks.h), whose elements become halves as they are loaded, and a is
// not transposed.
//
// Invariants (the registry checks them): TILE_M, TILE_N and TILE_K, and half of TILE_K with TENSOR_ADDRESSING, are
// multiples of the granularity that the device lists for the types, scope and local size, and not above its maximum; 32
// divides TILE_N where b lies in panels, and half of TILE_K where it is in blocks; without TENSOR_ADDRESSING the local
// size is one subgroup. The spec constants THREAD_M and THREAD_N are not used.
// Grid: x over tiles of n, y over tiles of m, z over the batch.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#if defined(B_BLOCKS) && defined(TENSOR_ADDRESSING)
#extension GL_EXT_buffer_reference : require
#endif
#pragma use_vulkan_memory_model

#include "include/storage.glsl"
#include "shared/gemm_coopmat.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#include "include/near_tile.glsl"

layout(constant_id = VKF_GEMM_SPEC_TILE_M) const uint TILE_M = 128;
layout(constant_id = VKF_GEMM_SPEC_TILE_N) const uint TILE_N = 128;
layout(constant_id = VKF_GEMM_SPEC_TILE_K) const uint TILE_K = 32;
layout(constant_id = VKF_GEMM_SPEC_TRANSPOSE_A) const uint TRANSPOSE_A = 0;
layout(constant_id = VKF_GEMM_SPEC_B_LAYOUT) const uint B_LAYOUT = 0;
layout(constant_id = VKF_GEMM_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_params p; };
layout(push_constant) uniform offsets_block { uint a_offset, b_offset, d_offset, bias_offset; };

READ(TYPE_A, VKF_GEMM_BINDING_A, a)
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)
#ifdef B_BLOCKS
#include "include/blocks.glsl"
layout(set = 0, binding = VKF_GEMM_BINDING_B, std430) readonly buffer b_buffer { uint b_data[]; };
BLOCKS_BIAS(VKF_GEMM_BINDING_BIAS, bias_offset)
#include "include/block_halves.glsl"
#else
READ(TYPE_B, VKF_GEMM_BINDING_B, b)
READ(TYPE_B, VKF_GEMM_BINDING_BIAS, bias)
#endif

// The depth of a step whose loads are clamped. A compiler unrolls those for seconds: NVIDIA's took 6.6 s for all loops
// of 128 x 256 tiles with a depth of 64, and 3.2 s with 32.
#ifdef TENSOR_ADDRESSING
#define SCOPE gl_ScopeWorkgroup
const uint CLAMPED_K = TILE_K / 2;
#else
#define SCOPE gl_ScopeSubgroup
const uint CLAMPED_K = TILE_K;
#endif
#define A_MATRIX(depth) coopmat<float16_t, SCOPE, TILE_M, depth, gl_MatrixUseA>
#define B_MATRIX(depth) coopmat<float16_t, SCOPE, depth, TILE_N, gl_MatrixUseB>
#define SUM_MATRIX coopmat<float, SCOPE, TILE_M, TILE_N, gl_MatrixUseAccumulator>

#ifdef HALF_SUMS
#define TILE_SUMS coopmat<float16_t, SCOPE, TILE_M, TILE_N, gl_MatrixUseAccumulator>
#define ADD_PRODUCT(sums, a, b) sums += SUM_MATRIX(coopMatMulAdd(a, b, TILE_SUMS(0.0)))
#else
#define ADD_PRODUCT(sums, a, b) sums = coopMatMulAdd(a, b, sums)
#endif

// Where the tiles of a workgroup lie. The elements of a begin a_skip after a_first, which is a multiple of 16 bytes, as
// tensor layouts want it.
struct tile_place {
    uint row; // of d
    uint col;
    uint a_first;
    uint a_skip;
    uint b_first; // as of a, but in words where b is in blocks
    uint b_skip;
    uint d_first;
};

// The columns that b is stored with; panels end with zeros.
uint stored_columns()
{
    const uint whole = (p.n + VKF_GEMM_PANEL - 1) / VKF_GEMM_PANEL * VKF_GEMM_PANEL;
    return B_LAYOUT == VKF_GEMM_B_NK || B_LAYOUT == VKF_GEMM_B_KN ? p.n : whole;
}

#ifdef TENSOR_ADDRESSING
// Loads do not convert. So a in float32 is loaded as an accumulator, the only use that devices list for it, and rounded
// afterwards.
#if SAME_TYPE(TYPE_A, f32)
#define A_STORED(depth) coopmat<float, SCOPE, TILE_M, depth, gl_MatrixUseAccumulator>
#else
#define A_STORED(depth) A_MATRIX(depth)
#endif

// A stored matrix of `lines` of `width` elements, of which the first begins after `skip`.
#define MATRIX_LAYOUT(clamp_mode, name, lines, width, skip, stride)                                    \
    tensorLayoutNV<2, clamp_mode> name = createTensorLayoutNV(2, clamp_mode);                          \
    name = setTensorLayoutDimensionNV(name, lines, (width) + (skip));                                  \
    name = setTensorLayoutStrideNV(name, stride, 1)

// Declares load_a_<loads>(), which loads through layouts that clamp in this mode.
#define LOAD_A(loads, depth, clamp_mode)                                                               \
    void load_a_##loads(out A_MATRIX(depth) matrix, tile_place place, uint k, uint lda)                \
    {                                                                                                  \
        A_STORED(depth) stored;                                                                        \
        if (TRANSPOSE_A != 0) {                                                                        \
            tensorViewNV<2, false, 1, 0> swapped = createTensorViewNV(2, false, 1, 0);                 \
            MATRIX_LAYOUT(clamp_mode, area, p.k, p.m, place.a_skip, lda);                              \
            area = sliceTensorLayoutNV(area, k, depth, place.row + place.a_skip, TILE_M);              \
            coopMatLoadTensorNV(stored, a_data, place.a_first, area, swapped);                         \
        } else {                                                                                       \
            MATRIX_LAYOUT(clamp_mode, area, p.m, p.k, place.a_skip, lda);                              \
            area = sliceTensorLayoutNV(area, place.row, TILE_M, k + place.a_skip, depth);              \
            coopMatLoadTensorNV(stored, a_data, place.a_first, area);                                  \
        }                                                                                              \
        matrix = A_MATRIX(depth)(stored);                                                              \
    }

#ifdef B_BLOCKS
// Tiles of b as the driver hands them to the functions that decode their elements.
layout(buffer_reference, std430, buffer_reference_align = VKF_BLOCKS_ALIGNMENT) readonly buffer q8_tile {
    uint words[VKF_BLOCKS_Q8_WORDS];
};
layout(buffer_reference, std430, buffer_reference_align = VKF_BLOCKS_ALIGNMENT) readonly buffer q4_tile {
    uint words[VKF_BLOCKS_Q4_WORDS];
};

float16_t decode_q8(const in q8_tile tile, const in uint unused[2], const in uint at[2])
{
    return block_half(tile.words[word_place(at[0], at[1])], tile.words[head_place(at[0])], at[0], at[1]);
}

float16_t decode_q4(const in q4_tile tile, const in uint unused[2], const in uint at[2])
{
    return block_half(tile.words[word_place(at[0], at[1])], tile.words[head_place(at[0])], at[0], at[1]);
}

// Declares load_b_<loads>() likewise. b is seen as (n, k); layouts count tiles of it.
#define LOAD_B(loads, depth, clamp_mode)                                                               \
    void load_b_##loads(out B_MATRIX(depth) matrix, tile_place place, uint k, uint ldb)                \
    {                                                                                                  \
        tensorViewNV<2, false, 1, 0> swapped = createTensorViewNV(2, false, 1, 0);                     \
        tensorLayoutNV<2, clamp_mode> area = createTensorLayoutNV(2, clamp_mode);                      \
        area = setTensorLayoutBlockSizeNV(area, VKF_GEMM_PANEL, VKF_BLOCKS_DEPTH);                     \
        area = setTensorLayoutDimensionNV(area, stored_columns(), p.k);                                \
        area = setTensorLayoutStrideNV(area, ldb / (VKF_GEMM_PANEL * VKF_BLOCKS_DEPTH), 1);            \
        area = sliceTensorLayoutNV(area, place.col, TILE_N, k, depth);                                 \
        if (BLOCKS_Q8)                                                                                 \
            coopMatLoadTensorNV(matrix, b_data, place.b_first, area, swapped, decode_q8);              \
        else                                                                                           \
            coopMatLoadTensorNV(matrix, b_data, place.b_first, area, swapped, decode_q4);              \
    }
#else
// Declares load_b_<loads>() likewise. The panels of b, (panels, k, PANEL), are seen as (k, panels, PANEL).
#define LOAD_B(loads, depth, clamp_mode)                                                               \
    void load_b_##loads(out B_MATRIX(depth) matrix, tile_place place, uint k, uint ldb)                \
    {                                                                                                  \
        if (B_LAYOUT == VKF_GEMM_B_NK) {                                                               \
            tensorViewNV<2, false, 1, 0> swapped = createTensorViewNV(2, false, 1, 0);                 \
            MATRIX_LAYOUT(clamp_mode, area, p.n, p.k, place.b_skip, ldb);                              \
            area = sliceTensorLayoutNV(area, place.col, TILE_N, k + place.b_skip, depth);              \
            coopMatLoadTensorNV(matrix, b_data, place.b_first, area, swapped);                         \
        } else if (B_LAYOUT == VKF_GEMM_B_KN) {                                                        \
            MATRIX_LAYOUT(clamp_mode, area, p.k, p.n, place.b_skip, ldb);                              \
            area = sliceTensorLayoutNV(area, k, depth, place.col + place.b_skip, TILE_N);              \
            coopMatLoadTensorNV(matrix, b_data, place.b_first, area);                                  \
        } else {                                                                                       \
            tensorViewNV<3, false, 1, 0, 2> by_depth = createTensorViewNV(3, false, 1, 0, 2);          \
            tensorLayoutNV<3, clamp_mode> area = createTensorLayoutNV(3, clamp_mode);                  \
            area = setTensorLayoutDimensionNV(area, stored_columns() / VKF_GEMM_PANEL, p.k,            \
                                              VKF_GEMM_PANEL + place.b_skip);                          \
            area = setTensorLayoutStrideNV(area, p.k * VKF_GEMM_PANEL, VKF_GEMM_PANEL, 1);             \
            area = sliceTensorLayoutNV(area, place.col / VKF_GEMM_PANEL, TILE_N / VKF_GEMM_PANEL, k,   \
                                       depth, place.b_skip, VKF_GEMM_PANEL);                           \
            coopMatLoadTensorNV(matrix, b_data, place.b_first, area, by_depth);                        \
        }                                                                                              \
    }
#endif

// Whether all tiles that a workgroup loads lie inside, so that nothing has to be clamped.
bool lies_inside(tile_place place)
{
    return place.row + TILE_M <= p.m && place.col + TILE_N <= stored_columns() && p.k % TILE_K == 0;
}

LOAD_A(inside, TILE_K, gl_CooperativeMatrixClampModeUndefinedNV)
LOAD_A(clamped, CLAMPED_K, gl_CooperativeMatrixClampModeConstantNV)
LOAD_B(inside, TILE_K, gl_CooperativeMatrixClampModeUndefinedNV)
LOAD_B(clamped, CLAMPED_K, gl_CooperativeMatrixClampModeConstantNV)

#else

float16_t a_element(const in uint row, const in uint col, const in float16_t unused, const in uint first,
                    const in uint row_first, const in uint k_first)
{
    uint m = min(row_first + row, p.m - 1);
    uint k = min(k_first + col, p.k - 1);
    float value = float(a_data[first + (TRANSPOSE_A != 0 ? k * p.lda + m : m * p.lda + k)]);
    return float16_t(row_first + row < p.m && k_first + col < p.k ? value : 0.0);
}

#ifdef B_BLOCKS
float16_t b_value(uint first, uint n, uint k)
{
    uint column = n % VKF_GEMM_PANEL, in_block = k % VKF_BLOCKS_DEPTH;
    uint tile = first + blocks_tile(n, k, p.ldb);
    return block_half(b_data[tile + word_place(column, in_block)], b_data[tile + head_place(column)], column, in_block);
}
#else
float16_t b_value(uint first, uint n, uint k)
{
    uint at = B_LAYOUT == VKF_GEMM_B_NK   ? n * p.ldb + k
              : B_LAYOUT == VKF_GEMM_B_KN ? k * p.ldb + n
                                          : (n / VKF_GEMM_PANEL * p.k + k) * VKF_GEMM_PANEL + n % VKF_GEMM_PANEL;
    return b_data[first + at];
}
#endif

float16_t b_element(const in uint row, const in uint col, const in float16_t unused, const in uint first,
                    const in uint k_first, const in uint col_first)
{
    float16_t value = b_value(first, min(col_first + col, p.n - 1), min(k_first + row, p.k - 1));
    return col_first + col < p.n && k_first + row < p.k ? value : float16_t(0.0);
}

void load_a_clamped(out A_MATRIX(CLAMPED_K) matrix, tile_place place, uint k, uint lda)
{
    matrix = A_MATRIX(CLAMPED_K)(0.0);
    coopMatPerElementNV(matrix, matrix, a_element, place.a_first + place.a_skip, place.row, k);
}

void load_b_clamped(out B_MATRIX(CLAMPED_K) matrix, tile_place place, uint k, uint ldb)
{
    matrix = B_MATRIX(CLAMPED_K)(0.0);
    coopMatPerElementNV(matrix, matrix, b_element, place.b_first + place.b_skip, k, place.col);
}
#endif

#include "include/product_store.glsl"

// Called for every element of a tile; those beyond d are left alone.
float store_sum(const in uint row, const in uint col, const in float sum, const in uint first,
                const in uint row_first, const in uint col_first)
{
    uint m = row_first + row;
    uint n = col_first + col;
    if (m < p.m && n < p.n)
        store_element(first + m * p.ldd + n, n, sum);
    return sum;
}

// Declares multiply_<loads>(), which goes by steps of that depth.
#define MULTIPLY(loads, depth)                                                                         \
    void multiply_##loads(inout SUM_MATRIX sums, tile_place place, uint lda, uint ldb)                 \
    {                                                                                                  \
        uint k_end = p.alpha != 0.0 ? p.k : 0; /* alpha 0 gives 0, whatever a and b hold */            \
        for (uint k = 0; k < k_end; k += depth) {                                                      \
            A_MATRIX(depth) a_matrix;                                                                  \
            B_MATRIX(depth) b_matrix;                                                                  \
            load_a_##loads(a_matrix, place, k, lda);                                                   \
            load_b_##loads(b_matrix, place, k, ldb);                                                   \
            ADD_PRODUCT(sums, a_matrix, b_matrix);                                                     \
        }                                                                                              \
    }

MULTIPLY(clamped, CLAMPED_K)
#ifdef TENSOR_ADDRESSING
MULTIPLY(inside, TILE_K)
#endif

// A compiler that sees that rows begin at multiples of 16 bytes loads 16 bytes at once.
void multiply_aligned(inout SUM_MATRIX sums, tile_place place)
{
    place.a_skip = 0;
    place.b_skip = 0;
#ifdef TENSOR_ADDRESSING
    if (lies_inside(place)) {
        multiply_inside(sums, place, p.lda & ~7u, p.ldb & ~7u);
        return;
    }
#endif
    multiply_clamped(sums, place, p.lda & ~7u, p.ldb & ~7u);
}

void multiply_entry(uint entry, uvec2 tile)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    tile_place place;
    place.row = tile.y * TILE_M;
    place.col = tile.x * TILE_N;
    uint a_first = a_offset + p.a_first + outer * p.a_outer + inner * p.a_inner;
    place.a_first = a_first & ~7u;
    place.a_skip = a_first & 7u;
#ifdef B_BLOCKS
    place.b_first = b_offset;
    place.b_skip = 0;
#else
    uint b_first = b_offset + outer * p.b_outer + inner * p.b_inner;
    place.b_first = b_first & ~7u;
    place.b_skip = b_first & 7u;
#endif
    place.d_first = p.d_first + outer * p.d_outer + inner * p.d_inner;

    SUM_MATRIX sums = SUM_MATRIX(0.0);
    if ((place.a_skip | place.b_skip | (p.lda & 7u) | (p.ldb & 7u)) == 0u)
        multiply_aligned(sums, place);
    else
        multiply_clamped(sums, place, p.lda, p.ldb);
    coopMatPerElementNV(sums, sums, store_sum, place.d_first, place.row, place.col);
}

void main()
{
    uvec2 tile = near_tile();
    for (uint entry = gl_WorkGroupID.z; entry < p.batch; entry += gl_NumWorkGroups.z)
        multiply_entry(entry, tile);
}
