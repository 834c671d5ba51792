// Pooling of what is not finite, and of long sequences.
#include <math.h>

#include "op/operators.h"
#include "op/pool.h"
#include "op/run_once.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

// A NaN anywhere in a sequence, an infinity, and a length that float32 cannot hold, of which all over it would be 0.
static void test_what_is_not_finite_stays_so(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { LEN = 11, DIM = 70 };
    const int32_t lengths[] = {LEN, LEN, LEN};
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++) {
        bool one = pooling == VKF_POOLING_FIRST || pooling == VKF_POOLING_LAST;
        vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, LEN, DIM));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, DIM));
        uint32_t at = !one ? 4 : pooling == VKF_POOLING_FIRST ? 0 : LEN - 1;
        x->values[at * DIM + 65] = NAN;
        x->values[(LEN + at) * DIM + 3] = INFINITY;
        for (size_t i = 2 * (size_t)LEN * DIM; i < x->count; i++)
            x->values[i] = 1e25f;
        vkf_test_upload(ops, x);
        const vkf__pool_args args = {
            .label = "pool",
            .x = SPAN(x),
            .lengths = SPAN(vkf_test_ids(ops, lengths, SHAPE(3))),
            .out = SPAN(out),
            .batch = 3,
            .len = LEN,
            .dim = DIM,
            .pooling = (vkf_pooling)pooling,
            .normalise = true,
        };
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", vkf__operator(VKF_OP_POOL)->emit, &args),
                           "pool");
        vkf_test_download(ops, out);
        for (size_t i = 0; i < out->count; i++)
            if (!isnan(out->values[i]))
                fail_msg("pooling %d: row %zu, column %zu is %g", pooling, i / DIM, i % DIM, (double)out->values[i]);
        vkf_test_ops_reset(ops);
    }
}

// A position weighs as much as its place, however long the sequence: those of 0 .. n - 1 weigh 1 .. n.
static void test_weighted_mean_of_a_long_sequence(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { LEN = 8192, DIM = 5 };
    const int32_t length = 4097;
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(1, LEN, DIM));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1, DIM));
    float expected[DIM];
    for (size_t i = 0; i < x->count; i++)
        x->values[i] = (float)(i / DIM);
    for (size_t i = 0; i < DIM; i++)
        expected[i] = 2.0f * (float)(length - 1) / 3.0f;
    vkf_test_upload(ops, x);
    const vkf__pool_args args = {
        .label = "pool",
        .x = SPAN(x),
        .lengths = SPAN(vkf_test_ids(ops, &length, SHAPE(1))),
        .out = SPAN(out),
        .batch = 1,
        .len = LEN,
        .dim = DIM,
        .pooling = VKF_POOLING_WEIGHTED_MEAN,
    };
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", vkf__operator(VKF_OP_POOL)->emit, &args), "pool");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, DIM, 1e-6, 1e-5, vkf_test_label(&ops->gpu, "a weighted mean of 4097"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_what_is_not_finite_stays_so),
        VKF_OPS_TEST(test_weighted_mean_of_a_long_sequence),
    };
    return cmocka_run_group_tests_name("pool", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
