// What the rows of all matrix products have in common.
#ifndef VKF_KERNEL_REGISTRY_PRODUCTS_H
#define VKF_KERNEL_REGISTRY_PRODUCTS_H

#include "kernel/registry_row.h"
#include "shared/gemm.h"

// A workgroup's tile, and in it an invocation's share.
#define GEMM_TILE(m_, n_, k_) .tile.gemm.m = m_, .tile.gemm.n = n_, .tile.gemm.k = k_
#define EACH(m_, n_) .tile.gemm.thread_m = m_, .tile.gemm.thread_n = n_

// What most products of many rows take, and the same with half of the sums to an invocation.
#define LARGE_TILE .min_m = 48, .min_n = 48, .by_cores = true, .min_registers = 96
#define LARGE_TILE_FEW_REGISTERS .min_m = 48, .min_n = 48, .by_cores = true, .max_registers = 64

// Layouts of b; see vkf__kernel.b_layouts.
#define B_KN (1u << VKF_GEMM_B_KN)
#define B_NK (1u << VKF_GEMM_B_NK)
#define B_PANELS (1u << VKF_GEMM_B_PANELS)

#define PRODUCT .op = VKF_OP_GEMM, .operand_count = 4, PARAMS(vkf_gemm_params), .tile_count = 5

#define FEW_ROWS PRODUCT, CONSTANTS(vkf__gemm_few_rows_constants), .walks_columns = true

#define PRODUCT_TILE                                                                                              \
    LOCAL_SIZE, CONSTANT(GEMM, TILE_M), CONSTANT(GEMM, TILE_N), CONSTANT(GEMM, TILE_K), CONSTANT(GEMM, THREAD_M), \
        CONSTANT(GEMM, THREAD_N)

// The types of a, b and d of products with weights in blocks.
#define EVERY_BLOCK_TYPE(ROW)                                                                        \
    ROW(f32, q8, f32), ROW(f16, q8, f32), ROW(f16, q8, f16), ROW(f16p, q8, f16p), ROW(f32, q4, f32), \
        ROW(f16, q4, f32), ROW(f16, q4, f16), ROW(f16p, q4, f16p)

// The names of the constants that follow those of the tile.
#define PRODUCT_FLAGS                                                                                            \
    CONSTANT(GEMM, TRANSPOSE_A), CONSTANT(GEMM, B_LAYOUT), CONSTANT(GEMM, ACTIVATION), CONSTANT(GEMM, HAS_BIAS), \
        CONSTANT(GEMM, ADD_AFTER)

#define FEW_ROWS_CONSTANTS PRODUCT_TILE, PRODUCT_FLAGS, NULL, CONSTANT(GEMM, GATE), CONSTANT(GEMM, NORM)

extern const char *const vkf__gemm_constants[VKF_GEMM_SPEC_COUNT];             // without SPLIT
extern const char *const vkf__gemm_split_constants[VKF_GEMM_SPLIT_SPEC_COUNT]; // with it
extern const char *const vkf__gemm_few_rows_constants[VKF_GEMM_FEW_ROWS_SPEC_COUNT];

// Sums of a workgroup besides its outputs: at most one per row where it normalises them, as RMSNorm needs it.
static inline uint32_t vkf__norm_sums(const vkf__config *config, const vkf__problem *problem)
{
    return problem && (problem->wants & VKF_FORM_NORMED) ? config->tile.gemm.m : 0;
}

#endif
