// Whether a test's comparison notices anything: a kernel runs once as it should and must agree with the reference, then
// with one wrong argument at a time, and must not.
#ifndef VKF_TEST_MUTATIONS_H
#define VKF_TEST_MUTATIONS_H

#include "op/run_once.h"
#include "op_fixture.h"

typedef struct vkf_test_experiment {
    vkf_test_ops *ops;
    const char *kernel;
    vkf__emit_fn emit;
    const void *args;
    size_t args_bytes;
    vkf_test_operand *out;
    float *expected; // freed by vkf_test_experiment_run()
} vkf_test_experiment;

void vkf_test_experiment_run(const vkf_test_experiment *e, const vkf_test_plant *mutations, size_t count);

// Room for the reference's values, with what the output holds before; the caller frees it.
float *vkf_test_expectation(const vkf_test_operand *out);

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

// In a function with `ops`; `mutations` is an array.
#define RUN(kernel_name, emitter, arguments, output, reference, mutations)                                     \
    vkf_test_experiment_run(                                                                                   \
        &(vkf_test_experiment){ops, kernel_name, emitter, &(arguments), sizeof(arguments), output, reference}, \
        mutations, COUNT_OF(mutations))

#endif
