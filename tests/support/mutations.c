// Runs a kernel with one wrong argument at a time.
#include "mutations.h"

#include <stdlib.h>
#include <string.h>

#define ATOL 5e-5
#define RTOL 1e-4

#define MAX_ARGS_BYTES 1024

static size_t mismatches_with(const vkf_test_experiment *e, const void *args)
{
    vkf_test_operand *out = e->out;
    float *actual = vkf_test_floats(out->count);
    for (size_t i = 0; i < out->count; i++) {
        if (out->ids)
            out->ids[i] = (int32_t)VKF_TEST_UNTOUCHED;
        else
            out->values[i] = VKF_TEST_UNTOUCHED;
    }
    vkf_test_upload(e->ops, out);
    vkf_test_assert_ok(e->ops, vkf__run_once(e->ops->gpu.context, e->kernel, e->emit, args), e->kernel);
    vkf_test_download(e->ops, out);
    for (size_t i = 0; i < out->count; i++)
        actual[i] = out->ids ? (float)out->ids[i] : out->values[i];
    size_t mismatches = vkf_test_mismatches(actual, e->expected, out->count, ATOL, RTOL);
    free(actual);
    return mismatches;
}

void vkf_test_experiment_run(const vkf_test_experiment *e, const vkf_test_plant *mutations, size_t count)
{
    _Alignas(16) unsigned char args[MAX_ARGS_BYTES];
    size_t mismatches = mismatches_with(e, e->args);
    if (mismatches > 0)
        fail_msg("%s is wrong without any mutation: %zu mismatches", e->kernel, mismatches);
    assert_true(e->args_bytes <= sizeof args);
    for (size_t i = 0; i < count; i++) {
        memcpy(args, e->args, e->args_bytes);
        vkf_test_plant_into(&mutations[i], args);
        if (mismatches_with(e, args) == 0)
            fail_msg("%s with a wrong %s was not noticed", e->kernel, mutations[i].field);
    }
    free(e->expected);
    vkf_test_ops_reset(e->ops);
}

float *vkf_test_expectation(const vkf_test_operand *out)
{
    float *expected = vkf_test_floats(out->count);
    for (size_t i = 0; i < out->count; i++)
        expected[i] = VKF_TEST_UNTOUCHED;
    return expected;
}
