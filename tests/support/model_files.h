// Model files for tests: random weights under PyTorch's names, written as safetensors, and config.json to go with them.
#ifndef VKF_TESTS_MODEL_FILES_H
#define VKF_TESTS_MODEL_FILES_H

#include <vkformer/model.h>

#include "counting_allocator.h"
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
// The file keeps its name.
void vkf_test_copy_file(vkf_test_directory *to, const char *from_directory, const char *name);
// Writes model.safetensors, and copies config.json.
void vkf_test_write_model(vkf_test_directory *to, const char *from_directory, const vkf__stored_tensor *tensors,
                          size_t count);

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

// Each fails the test with the library's message on error.
vkf_model *vkf_test_load(vkf_test_gpu *gpu, const vkf_model_desc *desc);
vkf_session *vkf_test_make_session(vkf_test_gpu *gpu, vkf_model *model, const vkf_session_desc *desc);
vkf_generator *vkf_test_make_generator(vkf_test_gpu *gpu, const vkf_generator_desc *desc);
vkf_embedder *vkf_test_make_embedder(vkf_test_gpu *gpu, const vkf_embedder_desc *desc);
// A session of a model that nothing else holds.
vkf_session *vkf_test_load_session(vkf_test_gpu *gpu, const vkf_model_desc *model, const vkf_session_desc *desc);

// Fails the test unless a call gave the status that was expected, and the newest message has the text in it.
void vkf_test_expect(const vkf_test_gpu *gpu, vkf_status status, vkf_status expected, const char *text);
// Fails the test with the library's message unless the status is OK.
void vkf_test_must(const vkf_test_gpu *gpu, vkf_status status);

vkf_memory_usage vkf_test_usage(const vkf_test_gpu *gpu);
// Fails the test unless the context now has as much more of each heap than before as was planned.
void vkf_test_assert_took(const vkf_test_gpu *gpu, const vkf_memory_usage *before, const vkf_memory_plan *plan);

// A random model, loaded, and a session of it. The weights may be changed and loaded again.
typedef struct vkf_test_rig {
    vkf_test_gpu *gpu;
    vkf_test_directory directory;
    vkf_test_weights weights;
    vkf_dtype dtype;
    vkf_session_desc desc;
    vkf_model *model;
    vkf_session *session; // NULL while desc.max_batch is 0
} vkf_test_rig;
void vkf_test_rig_make(vkf_test_gpu *gpu, const vkf_model_config *config, vkf_dtype dtype, const vkf_session_desc *desc,
                       vkf_test_rig *out_rig);
void vkf_test_rig_reload(vkf_test_rig *rig);
void vkf_test_rig_free(vkf_test_rig *rig);

// A context whose host memory is counted, and fails on request. Set-up makes *state of so many bytes, which begin with
// this; tear-down fails where memory is left.
typedef struct vkf_test_counted {
    vkf_test_gpu gpu; // first: the state of a test is a vkf_test_gpu
    counting_allocator memory;
} vkf_test_counted;
int vkf_test_counted_open(void **state, size_t size_bytes);
int vkf_test_counted_setup(void **state);
int vkf_test_counted_teardown(void **state);

#endif
