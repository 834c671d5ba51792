// What operators refuse: a correct descriptor with one thing wrong at a time. A refusal has a status and a message, and
// leaves the output as it was.
#ifndef VKF_TESTS_REFUSALS_H
#define VKF_TESTS_REFUSALS_H

#include "support/op_fixture.h"

// Ways to make a tensor wrong that hold for every operand.
typedef struct vkf_test_flaw {
    const char *name;
    void (*plant)(vkf_tensor *tensor);
    bool keeps_count; // of elements
} vkf_test_flaw;
#define VKF_TEST_FLAWS 14
extern const vkf_test_flaw vkf_test_flaws[VKF_TEST_FLAWS];

// An operator with a correct descriptor and the places of its tensors.
typedef struct vkf_test_operator {
    const char *name;
    vkf_status (*call)(vkf_context *context, const void *desc);
    void *desc;
    vkf_tensor *tensors[8]; // in the descriptor
    const char *tensor_names[8];
    vkf_test_operand *out;
} vkf_test_operator;

// First the correct descriptor, which shows that what follows is refused for its flaw alone; then every tensor with
// every flaw, and every input where the output lies.
void vkf_test_refuse_flaws(vkf_test_ops *ops, const vkf_test_operator *op);
// The descriptor as it is.
void vkf_test_refuse(vkf_test_ops *ops, const vkf_test_operator *op, const char *what);
// The descriptor, of `size` bytes, with one wrong field at a time.
void vkf_test_refuse_plants(vkf_test_ops *ops, const vkf_test_operator *op, const void *correct, size_t size,
                            const vkf_test_plant *plants, size_t count);

#endif
