// Numbers to bytes and back by scales and zeros; shared/quantize_linear.h says what they are.
#ifndef VKF_OP_QUANTIZE_LINEAR_H
#define VKF_OP_QUANTIZE_LINEAR_H

#include "op/operand.h"

typedef struct vkf__quantize_linear_args {
    const char *label;
    vkf__span x;              // F32, to I8 or U8; I8, U8 or I32, to F32; or I8 or U8, to I32 without a scale
    vkf__span out;            // as many elements
    vkf__span scale;          // optional, (channels) F32
    vkf__span zero;           // optional, (channels) of the bytes' type, or of I32
    uint32_t count;           // 0 skips it in this run
    uint32_t channels, inner; // element i is of channel i / inner % channels
} vkf__quantize_linear_args;

VKF_MUST_CHECK vkf_status vkf__emit_quantize_linear(vkf__work *work, const vkf__quantize_linear_args *args);

#endif
