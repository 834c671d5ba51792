// The position-wise feed-forward block: activation(x W1^T + b1) W2^T + b2, or with a gate
// (activation(x G^T + g) * (x W1^T + b1)) W2^T + b2.
#ifndef VKF_LAYER_FEED_FORWARD_H
#define VKF_LAYER_FEED_FORWARD_H

#include <vkformer/layer.h>

#include "op/gemm.h"

typedef struct vkf__feed_forward_block {
    uint32_t d_model, dim_feedforward;
    vkf_activation activation;
    vkf_dtype dtype;
    vkf__span gate, gate_bias; // optional, (dim_feedforward, d_model)
    vkf__span weight1, bias1, weight2, bias2;
    bool fused_gate; // the gate and weight1 are one operand, in this order, and so are their biases, if any
} vkf__feed_forward_block;

vkf__feed_forward_block vkf__feed_forward_block_of(uint32_t d_model, uint32_t dim_feedforward,
                                                   vkf_activation activation, vkf_dtype dtype,
                                                   const vkf_feed_forward_weights *weights);

// Whether the first product normalises its input, which x.norm asks for, decided at maximum sizes. Otherwise x must
// come without a norm.
bool vkf__feed_forward_normalises(const vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                                  uint32_t rows);

// x and out are (rows, d_model), and out is compact. With `accumulate` the result is added to out.
VKF_MUST_CHECK vkf_status vkf__emit_feed_forward(vkf__work *work, const vkf__feed_forward_block *block,
                                                 const vkf__rows *x, const vkf__span *out, bool accumulate,
                                                 uint32_t rows);

#endif
