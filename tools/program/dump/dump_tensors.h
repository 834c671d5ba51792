// The tensors of one submission, until they are written to a file.
#ifndef VKF_PROGRAM_DUMP_TENSORS_H
#define VKF_PROGRAM_DUMP_TENSORS_H

#include <vkformer/vkformer.h>

#include "base/host.h"

typedef struct vkf_dump_tensor {
    char own_name[VKF_MODULE_NAME_MAX]; // "vkformer:decoder.0.self_attn.q_rotary"
    vkf_module_piece piece;             // without a name: the tensor only has its own name
    uint32_t rank;
    uint32_t shape[4]; // of pieces (B, L, width), or (B, width)
    float *values;
    uint64_t count;
} vkf_dump_tensor;

typedef struct vkf_dump_tensors {
    vkf_dump_tensor *items;
    size_t count, capacity;
    uint32_t batch, memory_batch; // sequences of the submission, and of the encoder's
    // The outputs of one label follow each other where a product is cut into slices.
    char label[VKF_MODULE_NAME_MAX];
    uint32_t repeats, columns; // how many have come, and their columns
} vkf_dump_tensors;

// Adds a copy of the values. Statuses: OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_dump_tensors_add(const vkf__host *host, vkf_dump_tensors *tensors,
                                               const vkf_inspection *model, const vkf_probe_output *output);
// Removes the tensors, but keeps the encoder's batch.
void vkf_dump_tensors_clear(const vkf__host *host, vkf_dump_tensors *tensors);

// Joins the parts of each module, and writes the tensors to `path`. Statuses: as vkf__safetensors_write().
VKF_MUST_CHECK vkf_status vkf_dump_tensors_write(const vkf__host *host, const char *path, vkf_dump_tensors *tensors);

#endif
