// What the rows of all fused attention kernels have in common.
#ifndef VKF_KERNEL_REGISTRY_HEADS_H
#define VKF_KERNEL_REGISTRY_HEADS_H

#include "kernel/registry_row.h"
#include "shared/attention.h"

#define HEADS_OF(count)                                                                                               \
    .op = VKF_OP_ATTENTION, .operand_count = count, .operands[VKF_ATTENTION_BINDING_SLOPES - 1] = VKF_OPERAND_VALUES, \
    .operands[VKF_ATTENTION_BINDING_SINKS - 1] = VKF_OPERAND_VALUES, PARAMS(vkf_attention_params), .tile_count = 4
#define HEADS HEADS_OF(VKF_ATTENTION_BINDING_SINKS), .offers = VKF_FORM_SPLIT

// The names of the constants that follow those of the tile.
#define HEADS_FLAGS                                                                                   \
    CONSTANT(ATTENTION, HEAD_DIM), CONSTANT(ATTENTION, V_HEAD_DIM), CONSTANT(ATTENTION, MASK_KIND),   \
        CONSTANT(ATTENTION, KEY_MASK_KIND), CONSTANT(ATTENTION, CAUSAL), CONSTANT(ATTENTION, WINDOW), \
        CONSTANT(ATTENTION, FULLY_MASKED), CONSTANT(ATTENTION, PARTIAL), CONSTANT(ATTENTION, SCORE_FORM)

#endif
