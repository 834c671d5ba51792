// What the pickles of torch.save() make: storages and tensors, as far as names and numbers go.
#ifndef VKF_IO_TORCH_OBJECTS_H
#define VKF_IO_TORCH_OBJECTS_H

#include "io/pickle.h"
#include "io/stored_tensor.h"

typedef struct vkf__torch_storage {
    const char *key; // in the pickle's text, not terminated; as vkf__torch_is_key() wants it
    uint32_t key_bytes, element_bytes;
    vkf__stored_type type; // VKF_STORED_COUNT: bytes, whose type the tensors say
    uint64_t count;        // of elements
    // Set by whoever finds the elements in the file.
    bool placed;
    uint64_t offset_bytes;
} vkf__torch_storage;

// Whether a storage may be called so: it is the name of a zip entry within a folder, and messages have it.
bool vkf__torch_is_key(const char *key, size_t size_bytes);

typedef struct vkf__torch_tensor {
    uint32_t storage;
    vkf__stored_type type;
    uint64_t first; // element of the storage
    uint32_t rank;
    uint64_t shape[VKF_STORED_MAX_RANK], count;
    bool contiguous; // row-major, without holes
} vkf__torch_tensor;

// What a VKF_PICKLE_OBJECT is, in its `first`; `count` is its index in one of the arrays below.
enum { VKF_TORCH_STORAGE = 1, VKF_TORCH_TENSOR };

typedef struct vkf__torch_objects {
    const vkf__host *host;
    const char *path;
    vkf__torch_storage *storages;
    size_t storage_count, storage_capacity;
    vkf__torch_tensor *tensors;
    size_t tensor_count, tensor_capacity;
} vkf__torch_objects;

// Knows the few functions and classes that dicts of tensors are made with, and refuses any other by its name.
// `objects`, whose host and path are set, outlives the pickle; vkf__torch_objects_free() releases its arrays.
vkf__pickle_world vkf__torch_world(vkf__torch_objects *objects);
void vkf__torch_objects_free(vkf__torch_objects *objects);

#endif
