// Which tensor of its files each of a model's weights is read from. This needs names and shapes only, and no device.
#ifndef VKF_MODEL_WEIGHT_RESOLUTION_H
#define VKF_MODEL_WEIGHT_RESOLUTION_H

#include "model/family/weight_names.h"

typedef struct vkf__merged_weight vkf__merged_weight;

typedef struct vkf__weight_resolution {
    vkf__weights weights; // only the arrays of layers, which the slots point into
    vkf__weight_slot *slots;
    const vkf__stored_tensor **stored; // per slot
    size_t count;
    vkf_dtype blocks;           // the kind of blocks that the file has, one at most; F32: it has none
    vkf__merged_weight *merged; // what an adapter makes of tensors; `stored` has these instead
    size_t merged_count;
} vkf__weight_resolution;

// Corrects the configuration of config.json by what the file has: tables that are not tied after all, a bias of zeros
// that was left out, and a head without any tensor in the file, about which it warns.
void vkf__source_settle(const vkf__host *host, vkf__model_source *source);

// The checkpoint that a slot's tensor is in.
const vkf__checkpoint *vkf__slot_checkpoint(const vkf__model_source *source, const vkf__weight_slot *slot);

// The shape of a slot's tensor in the file: of all parts where it is fused there, transposed where it is transposed
// there.
typedef struct vkf__shape_in_file {
    uint32_t rank, size[2];
} vkf__shape_in_file;
vkf__shape_in_file vkf__slot_in_file(const vkf__weight_slot *slot);

// Whether a stored tensor is what a slot asks for. Status FORMAT (it has another shape or type).
VKF_MUST_CHECK vkf_status vkf__slot_check(const vkf__host *host, const vkf__checkpoint *checkpoint,
                                          const vkf__weight_slot *slot, const vkf__stored_tensor *stored);

// Lists the slots without looking for their tensors. *out must be zeroed before, and must not move afterwards because
// the slots point into it. The caller calls vkf__weight_resolution_free() whether this succeeds or not. Statuses:
// OUT_OF_HOST_MEMORY, UNSUPPORTED (see vkf__fusions_check()).
VKF_MUST_CHECK vkf_status vkf__weights_list(const vkf__host *host, const vkf__model_source *source,
                                            vkf__weight_resolution *out);

// The same, but also finds each slot's tensor under its present name or an older one, and checks its shape and type. A
// source without a checkpoint only has its slots listed: each is taken to be as the configuration asks for. With an
// adapter, slots get its tensors, and weights with its products added. Statuses: FORMAT (missing tensor, wrong shape or
// type, an adapter of another model), UNSUPPORTED (two kinds of blocks, a classifier's tensor in the file of a
// class that has no classifier, an adapter of a tied table), FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__weights_resolve(const vkf__host *host, const vkf__model_source *source,
                                               vkf__weight_resolution *out);
void vkf__weight_resolution_free(const vkf__host *host, vkf__weight_resolution *resolution);

#endif
