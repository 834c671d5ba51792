// Numbers to bytes and back, with a scale and a zero for each channel (ONNX's QuantizeLinear and DequantizeLinear):
//
//   bytes from f32: round(x / scale) + zero, ties to even, within the type's range; a NaN gives the zero
//   f32 from bytes or i32: (x - zero) * scale
//   i32 from bytes: x - zero
//
// Element i is of channel i / inner % channels. An absent scale is 1, an absent zero 0; a zero has the type of the
// bytes or of the i32. Bytes begin anywhere in words; for bytes that are written there is an invocation per word, else
// per element.
#ifndef VKF_SHARED_QUANTIZE_LINEAR_H
#define VKF_SHARED_QUANTIZE_LINEAR_H

#include "types.h"

#define VKF_QUANTIZE_LINEAR_BINDING_X 1
#define VKF_QUANTIZE_LINEAR_BINDING_OUT 2
#define VKF_QUANTIZE_LINEAR_BINDING_SCALE 3 // f32
#define VKF_QUANTIZE_LINEAR_BINDING_ZERO 4

#define VKF_QUANTIZE_LINEAR_SPEC_X 1 // a type; the same below
#define VKF_QUANTIZE_LINEAR_SPEC_OUT 2
#define VKF_QUANTIZE_LINEAR_SPEC_ZERO 3
#define VKF_QUANTIZE_LINEAR_SPEC_HAS_SCALE 4
#define VKF_QUANTIZE_LINEAR_SPEC_COUNT 5

#define VKF_QUANTIZE_LINEAR_NONE 0
#define VKF_QUANTIZE_LINEAR_F32 1
#define VKF_QUANTIZE_LINEAR_I32 2
#define VKF_QUANTIZE_LINEAR_I8 3
#define VKF_QUANTIZE_LINEAR_U8 4

struct vkf_quantize_linear_params {
    vkf_u32 count;
    vkf_u32 channels;
    vkf_u32 inner;
};
VKF_SHARED_SIZE(vkf_quantize_linear_params, 3)

#endif
