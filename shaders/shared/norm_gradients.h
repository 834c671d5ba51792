// The gradients of layer and RMS normalisation with regard to the input, the weight and the bias, in one pass over rows
// that a subgroup holds in registers. dx is as in layer_norm_grad.h. A subgroup takes a group of rows one after the
// other, and leaves in a row of `sums` those over its rows: of dout * n in the columns of the weight, and behind them
// of dout in those of the bias. column_sum.h adds up the groups. Terms whose dout is 0 are 0, whatever x has.
#ifndef VKF_SHARED_NORM_GRADIENTS_H
#define VKF_SHARED_NORM_GRADIENTS_H

#include "types.h"

#define VKF_NORM_GRADIENTS_BINDING_X 1
#define VKF_NORM_GRADIENTS_BINDING_DX 2
#define VKF_NORM_GRADIENTS_BINDING_WEIGHT 3
#define VKF_NORM_GRADIENTS_BINDING_DOUT 4
#define VKF_NORM_GRADIENTS_BINDING_SUMS 5 // (groups, dim), with HAS_BIAS (groups, 2 * dim)

#define VKF_NORM_GRADIENTS_SPEC_RMS 1
#define VKF_NORM_GRADIENTS_SPEC_HAS_BIAS 2
#define VKF_NORM_GRADIENTS_SPEC_EACH 3 // columns of an invocation; those of the smallest subgroup hold a row
#define VKF_NORM_GRADIENTS_SPEC_COUNT 4

#define VKF_NORM_GRADIENTS_MOST_EACH 16

struct vkf_norm_gradients_params {
    vkf_u32 rows;
    vkf_u32 group_rows;
    vkf_u32 dim;
    vkf_f32 eps;
    vkf_u32 accumulate; // 0: dx is not read
};
VKF_SHARED_SIZE(vkf_norm_gradients_params, 5)

#endif
