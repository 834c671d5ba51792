// Pooling of sequences, against the reference: every way of pooling, every row length, half storage both ways.
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    vkf__ref_pool(&(vkf__ref_pool_desc){BATCH, len, dim, x->values, lengths, pooling, normalise, expected, 0});
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
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", emit, &args), "pool");
        vkf_test_download(ops, out);
        for (size_t i = 0; i < out->count; i++)
            if (!isnan(out->values[i]))
                fail_msg("pooling %d: row %zu, column %zu is %g", pooling, i / DIM, i % DIM, (double)out->values[i]);
        vkf_test_ops_reset(ops);
    }
}

// Two poolings write into the same rows, from a position that may lie behind a sequence's end.
static void check_side_by_side(vkf_test_ops *ops, const vkf_pooling poolings[2], uint32_t first)
{
    enum { LEN = 19, DIM = 21 };
    const int32_t lengths[BATCH] = {LEN, 7, 1};
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0.25f, 1, SHAPE(BATCH, LEN, DIM));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(BATCH, 2 * DIM));
    const vkf__span whole = SPAN(out), of_lengths = SPAN(vkf_test_ids(ops, lengths, SHAPE(BATCH)));
    float *expected = vkf_test_floats(out->count), *half = vkf_test_floats(out->count / 2);
    for (uint32_t i = 0; i < 2; i++) {
        const vkf__pool_args args = {
            .label = "pool",
            .x = SPAN(x),
            .lengths = of_lengths,
            .out = vkf__span_part(&whole, (uint64_t)i * DIM, out->count - (uint64_t)i * DIM),
            .batch = BATCH,
            .len = LEN,
            .dim = DIM,
            .first = first,
            .out_row = 2 * DIM,
            .pooling = poolings[i],
        };
        vkf__ref_pool(&(vkf__ref_pool_desc){BATCH, LEN, DIM, x->values, lengths, poolings[i], false, half, first});
        for (size_t row = 0; row < BATCH; row++)
            memcpy(expected + (2 * row + i) * DIM, half + row * DIM, DIM * sizeof *half);
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", emit, &args), "pool");
    }
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 1e-6, 1e-5,
                 vkf_test_label(&ops->gpu, "poolings %d and %d, from %u", (int)poolings[0], (int)poolings[1], first));
    free(expected);
    free(half);
    vkf_test_ops_reset(ops);
}

static void test_side_by_side_without_the_first_positions(void **state)
{
    static const uint32_t firsts[] = {0, 1, 6, 7, 8, 18, 19, 1000};
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++)
        for (size_t i = 0; i < COUNT_OF(firsts); i++) {
            const vkf_pooling both[] = {(vkf_pooling)pooling, (vkf_pooling)((pooling + 1) % VKF_POOLING_COUNT)};
            check_side_by_side(vkf_test_ops_of(state), both, firsts[i]);
        }
}

// A position weighs as much as its place, however long the sequence.
static void test_weighted_mean_of_a_long_sequence(void **state)
{
    check(vkf_test_ops_of(state), VKF_DTYPE_F32, 8192, 5, 4097, VKF_POOLING_WEIGHTED_MEAN, false);
}

#define TESTS                                                                                            \
    VKF_OPS_TEST(test_every_pooling), VKF_OPS_TEST(test_lengths_and_dimensions),                         \
        VKF_OPS_TEST(test_lengths_outside_the_sequence), VKF_OPS_TEST(test_what_is_not_finite_stays_so), \
        VKF_OPS_TEST(test_side_by_side_without_the_first_positions),                                     \
        VKF_OPS_TEST(test_weighted_mean_of_a_long_sequence)

int main(void)
{
    const struct CMUnitTest tests[] = {TESTS}, packed[] = {VKF_OPS_TEST(test_every_pooling)};
    int failed = cmocka_run_group_tests_name("pool", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("pool, packed halves", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
