// Layer or RMS normalisation, with an optional residual before or after.
#ifndef VKF_OP_LAYER_NORM_H
#define VKF_OP_LAYER_NORM_H

#include "op/operand.h"

// PyTorch's defaults, for f32.
#define VKF_LAYER_NORM_EPS 1e-5f
#define VKF_RMS_NORM_EPS 0x1p-23f

typedef struct vkf__layer_norm_args {
    const char *label;
    vkf__span x;        // (rows, dim)
    vkf__span out;      // may be x
    uint32_t out_row;   // elements from one row of out to the next; 0: dim. Only without a residual
    vkf__span weight;   // optional, (dim)
    vkf__span bias;     // optional, (dim)
    vkf__span residual; // (rows, dim), with residual_order
    vkf_residual_order residual_order;
    uint32_t rows, dim;
    float eps;
    bool rms; // the mean is taken as 0
} vkf__layer_norm_args;

// Whether the residual is added in the same pass.
bool vkf__layer_norm_adds(const vkf_context *context);

// Where a shader stage binds fewer than five storage buffers, the residual takes passes of its own. It must not be
// `out`.
VKF_MUST_CHECK vkf_status vkf__emit_layer_norm(vkf__work *work, const vkf__layer_norm_args *args);

#endif
