// Pooling of sequences, against the reference: every way of pooling, every row length, half storage both ways.
#include <stdlib.h>

#include "op/pool.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define BATCH 3

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_pool(work, args);
}

// Lengths are the whole, about half, and `shortest`, which may lie outside of 0 .. len.
static void check(vkf_test_ops *ops, vkf_dtype dtype, uint32_t len, uint32_t dim, int32_t shortest, vkf_pooling pooling,
                  bool normalise)
{
    const int32_t lengths[BATCH] = {(int32_t)len, (int32_t)(len + 1) / 2, shortest};
    vkf_test_operand *x = vkf_test_normal(ops, dtype, 0.25f, 1, SHAPE(BATCH, len, dim));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(BATCH, dim));
    float *expected = vkf_test_floats(out->count);
    const vkf__pool_args args = {
        .label = "pool",
        .x = SPAN(x),
        .lengths = SPAN(vkf_test_ids(ops, lengths, SHAPE(BATCH))),
        .out = SPAN(out),
        .batch = BATCH,
        .len = len,
        .dim = dim,
        .pooling = pooling,
        .normalise = normalise,
    };
    vkf__ref_pool(&(vkf__ref_pool_desc){BATCH, len, dim, x->values, lengths, pooling, normalise, expected});
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", emit, &args), "pool");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 1e-6, 1e-5,
                 vkf_test_label(&ops->gpu, "pooling %d%s of %s (%d, %u, %u), shortest %d", (int)pooling,
                                normalise ? ", normalised" : "", vkf_dtype_name(dtype), BATCH, len, dim, shortest));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_every_pooling(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++)
        for (int normalise = 0; normalise < 2; normalise++)
            for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++)
                check(ops, (vkf_dtype)dtype, 13, 37, 1, (vkf_pooling)pooling, normalise != 0);
}

static void test_lengths_and_dimensions(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t lens[] = {1, 2, 7, 8, 9, 127, 1000}, dims[] = {1, 15, 16, 17, 63, 64, 65, 384, 1024, 1025};
    for (size_t i = 0; i < COUNT_OF(lens); i++)
        check(ops, VKF_DTYPE_F32, lens[i], 48, 1, VKF_POOLING_MEAN, true);
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        check(ops, VKF_DTYPE_F32, 11, dims[i], 1, VKF_POOLING_MEAN, true);
}

// What is beyond the sequence counts as its end, and a sequence of nothing gives zeros, normalised or not.
static void test_lengths_outside_the_sequence(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t shortest[] = {0, -3, 14, INT32_MAX, INT32_MIN};
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++)
        for (size_t i = 0; i < COUNT_OF(shortest); i++)
            check(ops, VKF_DTYPE_F32, 13, 21, shortest[i], (vkf_pooling)pooling, true);
}

#define TESTS                                                                    \
    VKF_OPS_TEST(test_every_pooling), VKF_OPS_TEST(test_lengths_and_dimensions), \
        VKF_OPS_TEST(test_lengths_outside_the_sequence)

int main(void)
{
    const struct CMUnitTest tests[] = {TESTS}, packed[] = {VKF_OPS_TEST(test_every_pooling)};
    int failed = cmocka_run_group_tests_name("pool", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("pool, packed halves", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
