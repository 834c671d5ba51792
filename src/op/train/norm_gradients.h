// The gradients of layer and RMS normalisation with regard to the input, the weight and the bias, as torch.nn.LayerNorm
// and torch.nn.RMSNorm have them.
#ifndef VKF_OP_NORM_GRADIENTS_H
#define VKF_OP_NORM_GRADIENTS_H

#include "op/operand.h"

// A gradient of `dim` elements.
typedef struct vkf__norm_gradient {
    vkf__span out;
    bool accumulate; // added to out; otherwise out is not read
} vkf__norm_gradient;

typedef struct vkf__norm_gradients_args {
    const char *label;
    vkf__span x;                       // (rows, dim) f32: what was normalised
    vkf__span weight;                  // optional, (dim) f32
    vkf__span dout;                    // (rows, dim) f32; a row of zeros adds nothing, even where x is NaN
    vkf__span dx;                      // optional, (rows, dim) f32; neither x nor dout
    vkf__norm_gradient dweight, dbias; // optional
    uint32_t rows, dim;                // rows 0 skips it in this run, and the gradients stay as they are
    float eps;
    bool rms;        // the mean is taken as 0
    bool accumulate; // dx is added to; otherwise dx is not read
} vkf__norm_gradients_args;

// The dispatches, and the order of sums over rows, depend on the device and on sizes, of the run and of the plan.
// Status TOO_LARGE for operands beyond the device's limits.
VKF_MUST_CHECK vkf_status vkf__emit_norm_gradients(vkf__work *work, const vkf__norm_gradients_args *args);

#endif
