// LoRA (Hu et al. 2021): beside weights W (out, in) of layers, which need not train, the products of two small
// matrices that do: y = x W^T + alpha / rank * dropout(x) A^T B^T.
#ifndef VKF_TRAINING_LORA_H
#define VKF_TRAINING_LORA_H

#include <vkformer/train.h>

#include "model/family/weight_names.h"
#include "training/parameters.h"
#include "training/records.h"

#define VKF_LORA_NAME_MAX (VKF_WEIGHT_NAME_MAX + 16) // of a module
#define VKF_LORA_TENSOR_MAX (VKF_LORA_NAME_MAX + 48)

// A weight that a file has, and the parameters of its adapter. What the file has fused, as queries, keys and values,
// are several projections here, which share A; each has a B of its own.
typedef struct vkf__lora_module {
    char a_name[VKF_LORA_TENSOR_MAX], b_name[VKF_LORA_TENSOR_MAX]; // as PEFT has them
    char name[VKF_LORA_NAME_MAX];                                  // of the module, as transformers has it
    size_t trainable;                                              // the first of the model's
    uint32_t parts, in, out;
    size_t item; // A among the parameters; the B of each part lie behind it
} vkf__lora_module;

typedef struct vkf__lora {
    const vkf_model *model;
    const vkf__parameters *parameters;
    vkf__lora_module *modules;
    size_t count;
    uint32_t rank;
    float alpha;
    bool frozen;                // nobody asks for gradients
    vkf__dropout_state dropout; // of the first module; the others' streams follow
} vkf__lora;

// Chooses the modules, and adds their matrices to the parameters, which have to live as long. The caller calls
// vkf__lora_free() whether this succeeds or not. `shape`: as vkf__parameters_shape(). Statuses: INVALID_ARGUMENT (no
// module has a target's name), UNSUPPORTED (a target is in no layer), TOO_LARGE, and those of vkf__parameters_create().
VKF_MUST_CHECK vkf_status vkf__lora_init(const vkf_trainer_desc *desc, vkf__parameters *parameters, bool shape,
                                         vkf__lora *out_lora);
void vkf__lora_free(vkf__lora *lora);
// Draws A as torch.nn.Linear does, uniformly up to in^-1/2. B stays 0.
VKF_MUST_CHECK vkf_status vkf__lora_draw(const vkf__lora *lora, uint64_t seed);

// Adds to the result of a linear layer with this weight what its adapter gives, if it has one.
VKF_MUST_CHECK vkf_status vkf__record_lora(vkf__tape *tape, const vkf__span *weight, vkf__value x, vkf__value *inout_y);

// lora_save.c: into a directory that is there, in PEFT's format, with all other parameters that train. Statuses: those
// of vkf_trainer_save_adapter().
VKF_MUST_CHECK vkf_status vkf__lora_save(const vkf__lora *lora, const char *directory);
// Reads it back; with `check` everything is read and checked, and nothing changes. Statuses: FORMAT (a tensor is
// missing, has another shape or is not finite), FILE, OUT_OF_HOST_MEMORY, and those of a transfer.
VKF_MUST_CHECK vkf_status vkf__lora_load(const vkf__lora *lora, const char *directory, bool check);

// For a module's part: the weight, and the row of the file's B that `row` of this part's is.
vkf_tensor vkf__lora_weight(const vkf__lora *lora, const vkf__lora_module *module, uint32_t part);
uint64_t vkf__lora_row(const vkf__lora *lora, const vkf__lora_module *module, uint32_t part, uint32_t row);

#endif
