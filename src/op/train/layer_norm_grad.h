// The gradient of layer and RMS normalisation with regard to its input, as torch.nn.LayerNorm and torch.nn.RMSNorm have
// it. norm_gradients.h gives those of the weight and of the bias as well.
#ifndef VKF_OP_LAYER_NORM_GRAD_H
#define VKF_OP_LAYER_NORM_GRAD_H

#include "op/cases.h"
#include "op/execution.h"
#include "op/operand.h"

typedef struct vkf__layer_norm_grad_args {
    const char *label;
    vkf__span x;        // (rows, dim) f32: what was normalised
    vkf__span weight;   // optional, (dim) f32
    vkf__span dout;     // (rows, dim) f32; a row of zeros gives a gradient of zeros, even where x is NaN
    vkf__span dx;       // (rows, dim) f32; may be dout or x
    vkf__span stats;    // optional, (rows, 2) f32: the mean, 0 with rms, and 1 / sqrt(variance + eps)
    uint32_t rows, dim; // rows 0 skips it in this run
    float eps;
    bool rms;        // the mean is taken as 0
    bool accumulate; // the gradient is added to dx; otherwise dx is not read
} vkf__layer_norm_grad_args;

// One dispatch, and one more for stats. Status TOO_LARGE for operands beyond the device's limits.
VKF_MUST_CHECK vkf_status vkf__emit_layer_norm_grad(vkf__work *work, const vkf__layer_norm_grad_args *args);

// For references of norms' gradients, which have x, dx, weight and dout at the same bindings --------------------------

typedef struct vkf__norm_row {
    uint64_t first; // element of x, dx and dout
    uint32_t dim;
    bool rms;
    double mean, inverse_deviation; // 0 as the mean with rms
} vkf__norm_row;

vkf__norm_row vkf__norm_row_at(const vkf__execution *e, uint64_t row, uint32_t dim, float eps, bool rms);
// Writes dx of the row, or adds to it.
void vkf__norm_row_gradient(const vkf__execution *e, const vkf__norm_row *row, bool accumulate);
// The normalised value.
double vkf__norm_row_value(const vkf__execution *e, const vkf__norm_row *row, uint64_t col);

// An eps for a case. One of 1 keeps the gradient of a row of one element, or of equal ones, as small as the others.
float vkf__case_norm_eps(vkf__cases *cases);

#endif
