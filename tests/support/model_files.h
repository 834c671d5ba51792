// Model files for tests: random weights under PyTorch's names, written as safetensors, and config.json to go with them.
#ifndef VKF_TESTS_MODEL_FILES_H
#define VKF_TESTS_MODEL_FILES_H

#include <vkformer/model.h>

#include "fixture.h"
#include "io/safetensors.h"

// A directory of the test's own below the system's temporary one. Paths are valid until the next call.
typedef struct vkf_test_directory {
    char path[96];
    char joined[256];
} vkf_test_directory;
void vkf_test_directory_make(vkf_test_directory *directory);   // fails the test when there is none
void vkf_test_directory_remove(vkf_test_directory *directory); // with the files in it
const char *vkf_test_path(vkf_test_directory *directory, const char *name);
void vkf_test_write_file(const char *path, const void *data, size_t size_bytes);
// The whole file; the caller frees it. *out_size may be NULL; a zero follows the content.
char *vkf_test_read_file(const char *path, size_t *out_size);

typedef struct vkf_test_weight {
    char name[96];
    uint32_t rank;
    uint64_t shape[2];
    size_t count;
    float *values;
} vkf_test_weight;

// Every parameter of the PyTorch module that a configuration describes.
typedef struct vkf_test_weights {
    vkf_model_config config;
    vkf_test_weight *tensors;
    size_t count, capacity;
} vkf_test_weights;

// The sizes of a small token model; what a test cares about is changed afterwards.
vkf_model_config vkf_test_small_seq2seq(void);

// Normally distributed, so scaled that activations stay near 1 through the layers.
void vkf_test_weights_make(vkf_test_random *random, const vkf_model_config *config, vkf_test_weights *out_weights);
void vkf_test_weights_free(vkf_test_weights *weights);
// The tensor of that (formatted) name; fails the test when there is none.
vkf_test_weight *vkf_test_weight_of(const vkf_test_weights *weights, const char *format, ...) VKF_PRINTF(2, 3);

// Rounds all values to what `type` (F32, F16 or BF16) can hold.
void vkf_test_weights_round(vkf_test_weights *weights, vkf__stored_type type);
void vkf_test_weights_write(const vkf_test_weights *weights, vkf__stored_type type, const char *path);
void vkf_test_config_write(const vkf_model_config *config, const char *path);

// The precision with activations and parameters in one type, F32 or F16.
vkf_model_precision vkf_test_precision(vkf_dtype dtype);

// Writes the weights into `directory` and loads them. Fails the test on error.
vkf_model *vkf_test_model_load(vkf_test_gpu *gpu, vkf_test_directory *directory, const vkf_test_weights *weights,
                               vkf_dtype dtype);

// A random model, loaded, and a session of it. The weights may be changed and loaded again.
typedef struct vkf_test_rig {
    vkf_test_gpu *gpu;
    vkf_test_directory directory;
    vkf_test_weights weights;
    vkf_dtype dtype;
    vkf_session_desc desc;
    vkf_model *model;
    vkf_session *session;
} vkf_test_rig;
void vkf_test_rig_make(vkf_test_gpu *gpu, const vkf_model_config *config, vkf_dtype dtype, const vkf_session_desc *desc,
                       vkf_test_rig *out_rig);
void vkf_test_rig_reload(vkf_test_rig *rig);
void vkf_test_rig_free(vkf_test_rig *rig);

// Host memory that is counted, and fails on request.
typedef struct vkf_test_heap {
    size_t live;    // blocks not released yet
    size_t calls;   // since the test last set it to 0
    size_t failing; // the call that fails, counted from 1; 0: none
} vkf_test_heap;
vkf_allocator vkf_test_heap_allocator(vkf_test_heap *heap);

#endif
