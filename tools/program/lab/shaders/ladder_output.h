// vkformer shaders --why: the ladder of an operator's kernels for one problem, rung by rung, and why each is taken or
// is not.
#ifndef VKF_PROGRAM_LADDER_OUTPUT_H
#define VKF_PROGRAM_LADDER_OUTPUT_H

#include <vkformer/context.h>

#include "kernel/registry.h"
#include "output/rows.h"

typedef struct vkf_ladder_shape {
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    vkf__problem problem;
} vkf_ladder_shape;

// Reads OP.TYPES/MxNxK[,WORD]..., as in "gemm.f32_f16_f32/512x4096x4096,nk". False with a message.
bool vkf_parse_ladder_shape(const char *option, const char *text, vkf_ladder_shape *out_shape);

// Prints the ladder as the context's device has it. False after a message.
bool vkf_print_ladder(const vkf_context *context, const vkf_ladder_shape *shape, vkf_rows_format format);

#endif
