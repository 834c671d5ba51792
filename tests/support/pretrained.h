// Models as Hugging Face's transformers saves them, with what transformers computes: tests/pretrained, or the directory
// VKF_TEST_PRETRAINED, which tools/pretrained/make-models has made with another seed.
#ifndef VKF_TESTS_PRETRAINED_H
#define VKF_TESTS_PRETRAINED_H

#include <vkformer/model.h>

#include "fixture.h"
#include "io/safetensors.h"
#include "model_files.h"

// Where the model of a family is; valid until the next call.
const char *vkf_test_pretrained(const char *family);
// Its tensors are in memory.
vkf__tensor_file *vkf_test_open_safetensors(const char *directory, const char *name);
// Tensor "NUMBER.NAME"; fails the test when there is none.
const vkf__stored_tensor *vkf_test_case_tensor(const vkf__tensor_file *file, unsigned number, const char *name);
// All tensors of a file, with room for `more`; the caller frees them.
vkf__stored_tensor *vkf_test_copy_tensors(const vkf__tensor_file *file, size_t more);
vkf_model *vkf_test_load_pretrained(vkf_test_gpu *gpu, const char *directory, vkf_model_precision precision);
vkf_model *vkf_test_load_family(vkf_test_gpu *gpu, const char *family); // in f32

// A family's model, what transformers computed with it, and a session of it where a test makes one.
typedef struct vkf_test_saved {
    vkf__tensor_file *cases;
    vkf_model *model;
    vkf_session *session; // NULL until then
} vkf_test_saved;
vkf_test_saved vkf_test_saved_open(vkf_test_gpu *gpu, const char *family, vkf_model_precision precision);
// Fails the test where the session recorded a command buffer more than once.
void vkf_test_saved_close(vkf_test_saved *saved);

// Fails the test unless the plans of the family's model and of a session are what each then takes of every heap, and
// that of a session needs no model.
void vkf_test_plans_are_allocated(vkf_test_gpu *gpu, const char *family, const vkf_session_desc *desc);

// Whether what depends on the model more than on the device is tested in full: under the full profile on lavapipe,
// without sanitizers. Elsewhere the first family's tensors and the two whole types of numbers stand for all.
bool vkf_test_in_full(vkf_test_gpu *gpu);
bool vkf_test_has_turn(vkf_test_gpu *gpu, vkf_model_precision precision);

// For each tensor of the families' models, but those that `without_effect` names (NULL: none): loads the model with
// that tensor changed, and fails the test unless `differs` says that something else comes out than the cases have.
typedef bool (*vkf_test_differs_fn)(vkf_test_gpu *gpu, vkf_model *model, const vkf__tensor_file *cases);
void vkf_test_every_tensor_counts(vkf_test_gpu *gpu, const char *const *families, size_t count,
                                  bool (*without_effect)(const char *name), vkf_test_differs_fn differs);

// Makes a directory with a copy of the family's model: without the tensors whose names end with `suffix`, and with `to`
// in the place of `from` in its configuration.
void vkf_test_copy_without(const char *family, const char *suffix, const char *from, const char *to,
                           vkf_test_directory *out_directory);

// How else than greedily tools/pretrained/generation.py lets transformers generate, and the name that what comes of it
// has in the cases.
typedef struct vkf_test_generation {
    const char *name;
    vkf_beam_search beams;
    float repetition_penalty;
} vkf_test_generation;
#define VKF_TEST_GENERATIONS 5
extern const vkf_test_generation vkf_test_generations[VKF_TEST_GENERATIONS];
// The tokens of a case, or NULL where it has none.
const int32_t *vkf_test_generated(const vkf__tensor_file *file, unsigned number, const vkf_test_generation *how);

// The largest magnitude among values, and at least 1.
double vkf_test_scale(const float *values, size_t count);

// What a precision is held to: atol and rtol as vkformer/model.h states them.
typedef struct vkf_test_bound {
    vkf_model_precision precision;
    double atol, rtol;
} vkf_test_bound;
extern const vkf_test_bound vkf_test_bounds[VKF_MODEL_PRECISION_COUNT];

#endif
