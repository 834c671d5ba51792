// What can be said of a model directory without loading it, by the same steps.
#ifndef VKF_MODEL_INSPECTION_H
#define VKF_MODEL_INSPECTION_H

#include "model/sentence_settings.h"
#include "model/weight_resolution.h"

typedef struct vkf__inspection {
    vkf__checkpoint *checkpoint;
    uint64_t tensor_count[VKF_STORED_COUNT]; // by type
    uint64_t tensor_bytes[VKF_STORED_COUNT];
    uint64_t
        block_count[VKF_DTYPE_COUNT]; // of them, where it is supported, tensors in blocks: by their own type instead
    uint64_t block_bytes[VKF_DTYPE_COUNT];
    uint64_t parameter_count; // elements of floating-point tensors and of blocks
    // Of reading config.json and finding every tensor that it asks for, in its shape: VKF_OK, or why not; a message has
    // said more.
    vkf_status supported;
    // The rest where it is supported.
    vkf__model_source source;        // its checkpoint is the one above
    vkf__sentence_settings settings; // of an ENCODER
    vkf__weight_resolution found;    // what the model reads; its slots have no targets
    const char **unused;             // names of tensors that the model does not read, owned by the checkpoint
    size_t unused_count;
} vkf__inspection;

// Ownership: vkf__inspection_free() afterwards; on failure there is nothing to free. Statuses: as
// vkf__checkpoint_open(), and as vkf__transformer_directory(), without which nobody knows where the weights are.
VKF_MUST_CHECK vkf_status vkf__inspect_model(const vkf__host *host, const char *directory,
                                             vkf__inspection *out_inspection);
void vkf__inspection_free(const vkf__host *host, vkf__inspection *inspection);

#endif
