// Which tensors a configuration asks for: PyTorch's names and shapes, and where each one goes.
#ifndef VKF_MODEL_WEIGHT_NAMES_H
#define VKF_MODEL_WEIGHT_NAMES_H

#include "model/weights.h"

#define VKF_WEIGHT_NAME_MAX 112

// What is multiplied as one where its parts lie side by side on the device.
typedef enum vkf__fusion {
    VKF_FUSION_NONE = 0,
    VKF_FUSION_QKV, // queries, keys, values
    VKF_FUSION_QKV_BIAS,
    VKF_FUSION_GATE, // the gate, the first matrix
    VKF_FUSION_GATE_BIAS,
    VKF_FUSION_COUNT
} vkf__fusion;

#define VKF_FUSION_ALL_PARTS UINT32_MAX

typedef struct vkf__weight_slot {
    char name[VKF_WEIGHT_NAME_MAX];
    uint32_t rank;
    uint32_t shape[2];
    bool linear; // a Linear's weight, which may be kept in panels
    bool f32;    // in f32 whatever the precision: what is added to activations once, by kernels that know no other type
    uint32_t cut; // views of equal rows that it is cut into once it is loaded; 0: none
    bool tied;    // an embedding that serves as a Linear's weight, too: it has a slot of its own for that
    vkf_tensor *target;
    vkf__layer_weights *layer; // that the target is of; NULL: it is of no layer
    vkf__fusion fusion;        // that it is a part of
    uint32_t fusion_part;      // which one, from 0; ALL_PARTS: it is cut into them once it is loaded
    // How the file holds it. Row r of part p of a fused tensor is its row
    // (r / part_rows * parts + p) * part_rows + r % part_rows.
    bool transposed; // (in, out)
    uint32_t parts;  // that share the tensor; 0: it is one of its own
    uint32_t part, part_rows;
    bool as_row;                       // a vector that the file holds as (1, n)
    const vkf__checkpoint *checkpoint; // the tensor's own; NULL: the model's
} vkf__weight_slot;

// Fills `slots` when it is not NULL; always returns their number. The layer arrays of `weights` exist already.
size_t vkf__weight_slots(const vkf_model_config *config, vkf__weights *weights, vkf__weight_slot *slots);

// After all slots were filled: q, k and v become views of PyTorch's in_proj_weight, tied tensors views of each other.
void vkf__weights_link(const vkf__model_source *source, vkf__weights *weights);

#endif
