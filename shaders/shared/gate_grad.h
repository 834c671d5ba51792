// The backward pass of gated linear units (shared/gate.h). With a = x[:, :dim] and b = x[:, dim:]:
//
//   dx[:, :dim] = dout * b * activation'(a)        dx[:, dim:] = dout * activation(a)
//
// A workgroup takes VKF_PART_EACH columns of a row of dout for each of its invocations, and the grid runs over the
// parts of a row first. One invocation reads and writes both elements of a column, so dx may be x.
#ifndef VKF_SHARED_GATE_GRAD_H
#define VKF_SHARED_GATE_GRAD_H

#include "types.h"

#define VKF_GATE_GRAD_BINDING_X 1
#define VKF_GATE_GRAD_BINDING_DOUT 2
#define VKF_GATE_GRAD_BINDING_DX 3

#define VKF_GATE_GRAD_SPEC_ACTIVATION 1 // a VKF_SHADER_ACTIVATION_*
#define VKF_GATE_GRAD_SPEC_COUNT 2

struct vkf_gate_grad_params {
    vkf_u32 rows;
    vkf_u32 dim;
    vkf_u32 dout_row; // elements from one row of dout to the next
};
VKF_SHARED_SIZE(vkf_gate_grad_params, 3)

#endif
