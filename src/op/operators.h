// The table of operators, which maps each vkf__op to its row.
#ifndef VKF_OP_OPERATORS_H
#define VKF_OP_OPERATORS_H

#include "op/op_info.h"

// X(op, row). A row is defined beside its emitter.
#define VKF_OPERATORS(X)                                       \
    X(VKF_OP_GEMM, vkf__op_gemm)                               \
    X(VKF_OP_SOFTMAX, vkf__op_softmax)                         \
    X(VKF_OP_LAYER_NORM, vkf__op_layer_norm)                   \
    X(VKF_OP_LAYER_NORM_RESIDUAL, vkf__op_layer_norm_residual) \
    X(VKF_OP_PERMUTE, vkf__op_permute)                         \
    X(VKF_OP_EMBED, vkf__op_embed)                             \
    X(VKF_OP_ADDITIVE_SCORES, vkf__op_additive_scores)         \
    X(VKF_OP_ARGMAX, vkf__op_argmax)                           \
    X(VKF_OP_SAMPLE, vkf__op_sample)                           \
    X(VKF_OP_TOP, vkf__op_top)                                 \
    X(VKF_OP_REORDER, vkf__op_reorder)                         \
    X(VKF_OP_COPY, vkf__op_copy)                               \
    X(VKF_OP_HEAD_MEAN, vkf__op_head_mean)                     \
    X(VKF_OP_POOL, vkf__op_pool)                               \
    X(VKF_OP_ROTARY, vkf__op_rotary)                           \
    X(VKF_OP_GATE, vkf__op_gate)                               \
    X(VKF_OP_PACK, vkf__op_pack)                               \
    X(VKF_OP_QUANTIZE_ROWS, vkf__op_quantize_rows)             \
    X(VKF_OP_ATTENTION, vkf__op_attention)                     \
    X(VKF_OP_ATTENTION_REDUCE, vkf__op_attention_reduce)       \
    X(VKF_OP_GEMM_REDUCE, vkf__op_gemm_reduce)                 \
    X(VKF_OP_ROOF_COPY, vkf__op_roof_copy)                     \
    X(VKF_OP_ROOF_READ, vkf__op_roof_read)                     \
    X(VKF_OP_ROOF_FMA, vkf__op_roof_fma)

#define VKF_DECLARE_OPERATOR(op, row) extern const vkf__op_info row;
VKF_OPERATORS(VKF_DECLARE_OPERATOR)
#undef VKF_DECLARE_OPERATOR

const vkf__op_info *vkf__operator(vkf__op op);

// What a dispatch read, wrote and computed. All zeros for kernels that measure roofs.
vkf__account vkf__account_of(const vkf__dispatched *dispatched);

// Where a dispatch wrote its output. False where that is not a tensor of floating-point numbers but tokens, parts of
// sums, or rows that were rounded or moved.
bool vkf__output_of(const vkf__dispatched *dispatched, vkf__extent *out_extent);

#endif
