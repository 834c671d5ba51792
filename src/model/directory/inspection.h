// What can be said about a model directory without loading it. It is read by the steps of loading.
#ifndef VKF_MODEL_INSPECTION_H
#define VKF_MODEL_INSPECTION_H

#include "model/load/model_place.h"
#include "model/load/weight_resolution.h"
#include "model/sentence/sentence_settings.h"

typedef struct vkf__inspection {
    vkf__model_place place;
    vkf__checkpoint *checkpoint; // NULL: there are no weights, and what follows is what config.json asks for
    uint64_t tensor_count[VKF_STORED_COUNT]; // by type
    uint64_t tensor_bytes[VKF_STORED_COUNT];
    uint64_t block_count[VKF_DTYPE_COUNT]; // tensors in blocks of a supported model, which are not counted above
    uint64_t block_bytes[VKF_DTYPE_COUNT];
    uint64_t parameter_count; // elements of floating-point tensors and of blocks; without weights, of a supported model
    // VKF_OK where config.json could be read and every tensor that it asks for was found in its shape, if there are
    // weights. Otherwise the reason; a message was logged.
    vkf_status supported;
    // The rest is filled where the model is supported.
    char *model_type;                // of config.json; NULL: the project's own form
    vkf__model_source source;        // its checkpoint is the one above
    vkf_head asked_head;             // that config.json asks for
    bool embeds;                     // by its modules.json
    vkf__sentence_settings settings; // of an ENCODER
    vkf__weight_resolution found;    // what the model reads
    const char **unused;             // names of tensors that the model does not read, owned by the checkpoint
    size_t unused_count;
} vkf__inspection;

// adapter_directory may be NULL. The inspection must not move afterwards: see vkf__weights_list(). Ownership:
// vkf__inspection_free() afterwards; on failure there is nothing to free. Statuses: those of vkf__checkpoint_open() and
// of vkf__model_place_find(), which finds the weights. Others go to `supported`.
VKF_MUST_CHECK vkf_status vkf__inspect_model(const vkf__host *host, const char *directory,
                                             const char *adapter_directory, vkf__inspection *out_inspection);
void vkf__inspection_free(const vkf__host *host, vkf__inspection *inspection);

#endif
