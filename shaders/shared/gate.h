// Gated linear units (Shazeer 2020): out = activation(x[:, :dim]) * x[:, dim:], x being (rows, 2 * dim) and out
// (rows, dim). A workgroup takes VKF_PART_EACH columns of a row for each of its invocations, and the grid runs over the
// parts of a row first.
#ifndef VKF_SHARED_GATE_H
#define VKF_SHARED_GATE_H

#include "types.h"

#define VKF_GATE_BINDING_X 1
#define VKF_GATE_BINDING_OUT 2

#define VKF_GATE_SPEC_ACTIVATION 1 // a VKF_SHADER_ACTIVATION_*
#define VKF_GATE_SPEC_COUNT 2

struct vkf_gate_params {
    vkf_u32 rows;
    vkf_u32 dim;
    vkf_u32 out_row; // elements from one row of out to the next
};
VKF_SHARED_SIZE(vkf_gate_params, 3)

#endif
