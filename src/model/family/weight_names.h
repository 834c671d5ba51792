// Which tensors a configuration asks for: the names and shapes of each one in a file, and where it goes. Slots of
// families are made in family.c, those with PyTorch's names here.
#ifndef VKF_MODEL_WEIGHT_NAMES_H
#define VKF_MODEL_WEIGHT_NAMES_H

#include "model/family/model_weights.h"

#define VKF_WEIGHT_NAME_MAX 112

// Tensors that are multiplied as one operand where their parts are adjacent on the device.
typedef enum vkf__fusion {
    VKF_FUSION_NONE = 0,
    VKF_FUSION_QKV, // queries, keys, values
    VKF_FUSION_QKV_BIAS,
    VKF_FUSION_GATE, // the gate, the first matrix of the feed-forward
    VKF_FUSION_GATE_BIAS,
    VKF_FUSION_COUNT
} vkf__fusion;

#define VKF_FUSION_ALL_PARTS UINT32_MAX

typedef struct vkf__weight_slot {
    char name[VKF_WEIGHT_NAME_MAX];
    uint32_t rank;
    uint32_t shape[2];
    bool linear;  // a Linear's weight, which may be kept in panels
    bool f32;     // kept in f32 whatever the precision: its kernels know no other type, or it is small
    uint32_t cut; // the number of views of equal rows that it is cut into once it is loaded; 0: it is not cut
    bool tied;    // the second slot of an embedding that is a Linear's weight as well
    vkf_tensor *target;
    vkf__layer_weights *layer; // the layer of the target; NULL: it belongs to none
    vkf__fusion fusion;        // the fusion that it is a part of
    uint32_t fusion_part;      // which part, from 0; ALL_PARTS: it is cut into the parts once it is loaded
    // How the file holds it. In a fused tensor, row r of part p is row
    // (r / part_rows * parts + p) * part_rows + r % part_rows.
    bool transposed; // (in, out)
    uint32_t parts;  // the number of slots that share the tensor; 0: it is not shared
    uint32_t part, part_rows;
    bool as_row;                       // a vector that the file holds as (1, n)
    const vkf__checkpoint *checkpoint; // the tensor's own; NULL: the model's
} vkf__weight_slot;

// A tensor of a trainable model: where it is, and how the file has it. Of a tensor that slots share there are as many
// as these, one behind the other.
typedef struct vkf__trainable {
    vkf__weight_slot slot; // its name is the one that the file has; without target, layer and checkpoint
    vkf_tensor tensor;     // whole
    uint32_t buffer;       // of vkf__weights.buffers, also where these are only planned
    uint32_t module;       // the embedding module whose file it is in, counted from 1; 0: the model's own
} vkf__trainable;

// Fills `slots` when it is not NULL; always returns their number. The layer arrays of `weights` exist already. `config`
// has the layers of `part`.
size_t vkf__weight_slots(const vkf_model_config *config, const vkf__layer_part *part, vkf__weights *weights,
                         vkf__weight_slot *slots);

// To be called when all slots are filled. Makes q, k and v views of PyTorch's in_proj_weight, and tied tensors views of
// each other.
void vkf__weights_link(const vkf__model_source *source, vkf__weights *weights);

#endif
