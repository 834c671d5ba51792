// What the pickles of torch.save() make: storages and tensors, as far as their names and numbers go.
#ifndef VKF_IO_TORCH_OBJECTS_H
#define VKF_IO_TORCH_OBJECTS_H

#include "io/pickle.h"
#include "io/stored_tensor.h"

typedef struct vkf__torch_storage {
    const char *key; // in the pickle's text, not terminated; passes vkf__torch_is_key()
    uint32_t key_bytes, element_bytes;
    vkf__stored_type type; // VKF_STORED_COUNT: plain bytes; the tensors say the type
    uint64_t count;        // of elements
    // Set by the code that finds the elements in the file.
    bool placed;
    uint64_t offset_bytes;
} vkf__torch_storage;

// Whether a storage may have this key, which becomes the name of a zip entry within a folder and appears in messages.
bool vkf__torch_is_key(const char *key, size_t size_bytes);

typedef struct vkf__torch_tensor {
    uint32_t storage;
    vkf__stored_type type;
    uint64_t first; // element of the storage, the first of the tensor
    uint32_t rank;
    uint64_t shape[VKF_STORED_MAX_RANK], count;
    bool contiguous; // row-major, without holes
} vkf__torch_tensor;

// The `first` of a VKF_PICKLE_OBJECT says what it is; its `count` is the index in one of the arrays below.
enum { VKF_TORCH_STORAGE = 1, VKF_TORCH_TENSOR };

typedef struct vkf__torch_objects {
    const vkf__host *host;
    const char *path;
    vkf__torch_storage *storages;
    size_t storage_count, storage_capacity;
    vkf__torch_tensor *tensors;
    size_t tensor_count, tensor_capacity;
} vkf__torch_objects;

// Knows the few functions and classes that make dicts of tensors, and refuses any other by its name. The host and path
// of `objects` are set, and it must outlive the pickle; vkf__torch_objects_free() releases its arrays.
vkf__pickle_world vkf__torch_world(vkf__torch_objects *objects);
void vkf__torch_objects_free(vkf__torch_objects *objects);

#endif
