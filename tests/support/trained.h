// A model with its trainer and a batch of random ids, for tests of trainers.
#ifndef VKF_TESTS_TRAINED_H
#define VKF_TESTS_TRAINED_H

#include "model_files.h"
#include "training/trainer.h"

#define VKF_TEST_BATCH 4
#define VKF_TEST_SOURCE 7
#define VKF_TEST_TARGET 5

typedef struct vkf_test_trained {
    vkf_test_gpu *gpu;
    vkf_model *model;
    vkf_trainer *trainer;
    int32_t source[VKF_TEST_BATCH * VKF_TEST_SOURCE], types[VKF_TEST_BATCH * VKF_TEST_SOURCE];
    int32_t target[VKF_TEST_BATCH * VKF_TEST_TARGET], labels[VKF_TEST_BATCH * VKF_TEST_SOURCE];
    uint32_t lengths[VKF_TEST_BATCH];
    vkf_train_batch batch;
} vkf_test_trained;

// A model whose weights are to be trained. Fails the test on error.
vkf_model *vkf_test_load_trainable(vkf_test_gpu *gpu, const char *directory);
// Fills the gradients of all ranges, or the moments, with value, value + 1 and so on, padding too.
void vkf_test_fill_ranges(const vkf__parameters *parameters, bool moments, float value);
bool vkf_test_all_zero(const vkf__span *span);

// The batch has the sizes above, and the trainer room for longer ones. A rate of 0 is 1e-3. Fails the test on error.
void vkf_test_trained_open(vkf_test_trained *trained, vkf_test_gpu *gpu, const char *directory,
                           const vkf_trainer_desc *desc);
void vkf_test_trained_close(vkf_test_trained *trained);
double vkf_test_trained_loss(vkf_test_trained *trained);
// Steps over the batch; the result of the last.
vkf_train_result vkf_test_trained_step(vkf_test_trained *trained, int steps);
// All parameters, one behind the other, and how many floats these are; free() releases them.
float *vkf_test_trained_read(vkf_test_trained *trained, size_t *out_count);
// All that a trainer is at.
typedef struct vkf_test_everything {
    vkf__train_state state;
    float *values; // parameters, then moments
    size_t count;
} vkf_test_everything;
vkf_test_everything vkf_test_trained_everything(vkf_test_trained *trained);
// Fails the test unless both are the same bits; `what` says after what. Releases both.
void vkf_test_expect_same(vkf_test_everything *a, vkf_test_everything *b, const char *what);

// Fails the test unless all parameters of both are the same bits.
void vkf_test_trained_assert_same(vkf_test_trained *a, vkf_test_trained *b);

#endif
