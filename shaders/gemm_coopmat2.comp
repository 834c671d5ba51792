// General matrix multiply on the flexible cooperative matrices of NV_cooperative_matrix2; semantics in shared/gemm.h.
// The driver lays out shared memory and pipelines the loads: a tile of a workgroup is one matrix.
//
// There are two forms. The fast one is with TENSOR_ADDRESSING: matrices have the scope of the workgroup and are loaded
// through tensor layouts, which give zeros beyond the matrix, or clamp nothing where all tiles lie inside. Without it
// each subgroup has a TILE_M x TILE_N tile of its own and fetches element by element; that form is for devices that
// have no more than flexible dimensions.
//
// Invariants (the registry checks them): TILE_M, TILE_N and TILE_K are multiples of the granularity that the device
// lists for the types, scope and local size, and not above its maximum; 32 divides TILE_N where b lies in panels;
// without TENSOR_ADDRESSING the local size is one subgroup. The spec constants THREAD_M and THREAD_N are not used.
// Grid: x over tiles of n, y over tiles of m, z over the batch.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
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
READ(TYPE_B, VKF_GEMM_BINDING_B, b)
READ_WRITE(TYPE_D, VKF_GEMM_BINDING_D, d)
READ(TYPE_B, VKF_GEMM_BINDING_BIAS, bias)

#ifdef TENSOR_ADDRESSING
#define SCOPE gl_ScopeWorkgroup
#else
#define SCOPE gl_ScopeSubgroup
#endif
#define A_MATRIX coopmat<float16_t, SCOPE, TILE_M, TILE_K, gl_MatrixUseA>
#define B_MATRIX coopmat<float16_t, SCOPE, TILE_K, TILE_N, gl_MatrixUseB>
#define SUM_MATRIX coopmat<float, SCOPE, TILE_M, TILE_N, gl_MatrixUseAccumulator>

#ifdef HALF_SUMS
#define TILE_SUMS coopmat<float16_t, SCOPE, TILE_M, TILE_N, gl_MatrixUseAccumulator>
#define ADD_PRODUCT(sums, a, b) sums += SUM_MATRIX(coopMatMulAdd(a, b, TILE_SUMS(0.0)))
#else
#define ADD_PRODUCT(sums, a, b) sums = coopMatMulAdd(a, b, sums)
#endif

// Where the tiles of a workgroup lie.
struct tile_place {
    uint row; // of d
    uint col;
    uint a_first;
    uint b_first;
    uint d_first;
};

#ifdef TENSOR_ADDRESSING
// Loads do not convert. So a in float32 is loaded as an accumulator, the only use that devices list for it, and rounded
// afterwards.
#if SAME_TYPE(TYPE_A, f32)
#define A_STORED coopmat<float, SCOPE, TILE_M, TILE_K, gl_MatrixUseAccumulator>
#else
#define A_STORED A_MATRIX
#endif

// A stored matrix of `lines` of `width` elements.
#define MATRIX_LAYOUT(clamp_mode, name, lines, width, stride)                                          \
    tensorLayoutNV<2, clamp_mode> name = createTensorLayoutNV(2, clamp_mode);                          \
    name = setTensorLayoutDimensionNV(name, lines, width);                                             \
    name = setTensorLayoutStrideNV(name, stride, 1)

// Declares load_a_<loads>() and load_b_<loads>(), which load through layouts that clamp in this mode. The panels of b,
// (panels, k, PANEL), are seen as (k, panels, PANEL).
#define LOADS(loads, clamp_mode)                                                                       \
    void load_a_##loads(out A_MATRIX matrix, tile_place place, uint k, uint lda)                       \
    {                                                                                                  \
        uint first = a_offset + place.a_first;                                                         \
        A_STORED stored;                                                                               \
        if (TRANSPOSE_A != 0) {                                                                        \
            tensorViewNV<2, false, 1, 0> swapped = createTensorViewNV(2, false, 1, 0);                 \
            MATRIX_LAYOUT(clamp_mode, area, p.k, p.m, lda);                                            \
            area = sliceTensorLayoutNV(area, k, TILE_K, place.row, TILE_M);                            \
            coopMatLoadTensorNV(stored, a_data, first, area, swapped);                                 \
        } else {                                                                                       \
            MATRIX_LAYOUT(clamp_mode, area, p.m, p.k, lda);                                            \
            area = sliceTensorLayoutNV(area, place.row, TILE_M, k, TILE_K);                            \
            coopMatLoadTensorNV(stored, a_data, first, area);                                          \
        }                                                                                              \
        matrix = A_MATRIX(stored);                                                                     \
    }                                                                                                  \
    void load_b_##loads(out B_MATRIX matrix, tile_place place, uint k, uint ldb)                       \
    {                                                                                                  \
        uint first = b_offset + place.b_first;                                                         \
        if (B_LAYOUT == VKF_GEMM_B_NK) {                                                               \
            tensorViewNV<2, false, 1, 0> swapped = createTensorViewNV(2, false, 1, 0);                 \
            MATRIX_LAYOUT(clamp_mode, area, p.n, p.k, ldb);                                            \
            area = sliceTensorLayoutNV(area, place.col, TILE_N, k, TILE_K);                            \
            coopMatLoadTensorNV(matrix, b_data, first, area, swapped);                                 \
        } else if (B_LAYOUT == VKF_GEMM_B_KN) {                                                        \
            MATRIX_LAYOUT(clamp_mode, area, p.k, p.n, ldb);                                            \
            area = sliceTensorLayoutNV(area, k, TILE_K, place.col, TILE_N);                            \
            coopMatLoadTensorNV(matrix, b_data, first, area);                                          \
        } else {                                                                                       \
            tensorViewNV<3, false, 1, 0, 2> by_depth = createTensorViewNV(3, false, 1, 0, 2);          \
            tensorLayoutNV<3, clamp_mode> area = createTensorLayoutNV(3, clamp_mode);                  \
            area = setTensorLayoutDimensionNV(area, stored_columns() / VKF_GEMM_PANEL, p.k,            \
                                              VKF_GEMM_PANEL);                                         \
            area = sliceTensorLayoutNV(area, place.col / VKF_GEMM_PANEL, TILE_N / VKF_GEMM_PANEL, k,   \
                                       TILE_K, 0, VKF_GEMM_PANEL);                                     \
            coopMatLoadTensorNV(matrix, b_data, first, area, by_depth);                                \
        }                                                                                              \
    }

// Of b; panels end with zeros.
uint stored_columns()
{
    const uint whole = (p.n + VKF_GEMM_PANEL - 1) / VKF_GEMM_PANEL * VKF_GEMM_PANEL;
    return B_LAYOUT == VKF_GEMM_B_PANELS ? whole : p.n;
}

// Whether all tiles that a workgroup loads lie inside, so that nothing has to be clamped.
bool lies_inside(tile_place place)
{
    return place.row + TILE_M <= p.m && place.col + TILE_N <= stored_columns() && p.k % TILE_K == 0;
}

LOADS(inside, gl_CooperativeMatrixClampModeUndefinedNV)
LOADS(clamped, gl_CooperativeMatrixClampModeConstantNV)

#else

float16_t a_element(const in uint row, const in uint col, const in float16_t unused, const in uint first,
                    const in uint row_first, const in uint k_first)
{
    uint m = min(row_first + row, p.m - 1);
    uint k = min(k_first + col, p.k - 1);
    float value = a_load(first + (TRANSPOSE_A != 0 ? k * p.lda + m : m * p.lda + k));
    return float16_t(row_first + row < p.m && k_first + col < p.k ? value : 0.0);
}

float16_t b_element(const in uint row, const in uint col, const in float16_t unused, const in uint first,
                    const in uint k_first, const in uint col_first)
{
    uint k = min(k_first + row, p.k - 1);
    uint n = min(col_first + col, p.n - 1);
    uint at = B_LAYOUT == VKF_GEMM_B_NK   ? n * p.ldb + k
              : B_LAYOUT == VKF_GEMM_B_KN ? k * p.ldb + n
                                          : (n / VKF_GEMM_PANEL * p.k + k) * VKF_GEMM_PANEL + n % VKF_GEMM_PANEL;
    float value = b_load(first + at);
    return float16_t(col_first + col < p.n && k_first + row < p.k ? value : 0.0);
}

void load_a_clamped(out A_MATRIX matrix, tile_place place, uint k, uint lda)
{
    matrix = A_MATRIX(0.0);
    coopMatPerElementNV(matrix, matrix, a_element, place.a_first, place.row, k);
}

void load_b_clamped(out B_MATRIX matrix, tile_place place, uint k, uint ldb)
{
    matrix = B_MATRIX(0.0);
    coopMatPerElementNV(matrix, matrix, b_element, place.b_first, k, place.col);
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

// Declares multiply_<loads>().
#define MULTIPLY(loads)                                                                                \
    void multiply_##loads(inout SUM_MATRIX sums, tile_place place, uint lda, uint ldb)                 \
    {                                                                                                  \
        uint k_end = p.alpha != 0.0 ? p.k : 0; /* alpha 0 gives 0, whatever a and b hold */            \
        for (uint k = 0; k < k_end; k += TILE_K) {                                                     \
            A_MATRIX a_matrix;                                                                         \
            B_MATRIX b_matrix;                                                                         \
            load_a_##loads(a_matrix, place, k, lda);                                                   \
            load_b_##loads(b_matrix, place, k, ldb);                                                   \
            ADD_PRODUCT(sums, a_matrix, b_matrix);                                                     \
        }                                                                                              \
    }

MULTIPLY(clamped)
#ifdef TENSOR_ADDRESSING
MULTIPLY(inside)
#endif

// A compiler that sees that rows begin at multiples of 16 bytes loads 16 bytes at once.
void multiply_aligned(inout SUM_MATRIX sums, tile_place place, uint a_first, uint b_first)
{
    tile_place aligned = place;
    aligned.a_first = (a_first & ~7u) - a_offset;
    aligned.b_first = (b_first & ~7u) - b_offset;
#ifdef TENSOR_ADDRESSING
    if (lies_inside(place)) {
        multiply_inside(sums, aligned, p.lda & ~7u, p.ldb & ~7u);
        return;
    }
#endif
    multiply_clamped(sums, aligned, p.lda & ~7u, p.ldb & ~7u);
}

void multiply_entry(uint entry, uvec2 tile)
{
    uint outer = entry / p.batch_inner;
    uint inner = entry % p.batch_inner;
    tile_place place;
    place.row = tile.y * TILE_M;
    place.col = tile.x * TILE_N;
    place.a_first = p.a_first + outer * p.a_outer + inner * p.a_inner;
    place.b_first = outer * p.b_outer + inner * p.b_inner;
    place.d_first = p.d_first + outer * p.d_outer + inner * p.d_inner;

    SUM_MATRIX sums = SUM_MATRIX(0.0);
    uint a_first = a_offset + place.a_first;
    uint b_first = b_offset + place.b_first;
    if (((a_first | b_first | p.lda | p.ldb) & 7u) == 0u)
        multiply_aligned(sums, place, a_first, b_first);
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
