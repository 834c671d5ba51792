// The backward pass of pooling against the reference, and the reference against differences.
//
// Bounds. A share of a gradient is a few roundings of 2^-24. Normalised, the length of what was pooled and its product
// with the gradient are sums over up to 1,025 columns in 16 invocations or more: 64 roundings or so, 4e-6 of values
// that a length of 0.1 or more makes 10 times larger.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/pool_grad.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define BATCH 3

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_pool_grad(work, args);
}

typedef struct pool_case {
    uint32_t len, dim;
    int32_t shortest; // of the last sequence, which may lie outside of 0 .. len
    uint32_t first;
    vkf_pooling pooling;
    bool normalise, accumulate;
} pool_case;

// Lengths are the whole, about half, and the shortest.
static void check(vkf_test_ops *ops, const pool_case *c)
{
    const float before = c->accumulate ? 0.75f : NAN;
    const int32_t lengths[BATCH] = {(int32_t)c->len, (int32_t)(c->len + 1) / 2, c->shortest};
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0.25f, 1, SHAPE(BATCH, c->len, c->dim));
    vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(BATCH, c->dim));
    vkf_test_operand *dx = vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(BATCH, c->len, c->dim));
    float *expected = vkf_test_floats(dx->count), *pooled = vkf_test_floats(dout->count);
    double *grads = malloc(c->dim * sizeof *grads);
    assert_non_null(grads);
    const vkf__pool_grad_args args = {
        .label = "pool",
        .x = SPAN(x),
        .lengths = SPAN(vkf_test_ids(ops, lengths, SHAPE(BATCH))),
        .dout = SPAN(dout),
        .dx = SPAN(dx),
        .batch = BATCH,
        .len = c->len,
        .dim = c->dim,
        .first = c->first,
        .pooling = c->pooling,
        .normalise = c->normalise,
        .accumulate = c->accumulate,
    };
    vkf__ref_pool_grad(
        &(vkf__ref_pool_desc){BATCH, c->len, c->dim, x->values, lengths, c->pooling, c->normalise, pooled, c->first},
        dout->values, grads, expected);
    for (size_t i = 0; i < dx->count && c->accumulate; i++)
        expected[i] += before;
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", emit, &args), "pool_grad");
    vkf_test_download(ops, dx);
    assert_close(dx->values, expected, dx->count, c->normalise ? 4e-5 : 1e-6, c->normalise ? 2e-5 : 1e-6,
                 vkf_test_label(&ops->gpu, "grad of pooling %d%s, (%d, %u, %u) from %u, shortest %d%s", (int)c->pooling,
                                c->normalise ? ", normalised" : "", BATCH, c->len, c->dim, c->first, c->shortest,
                                c->accumulate ? ", added" : ""));
    free(expected);
    free(pooled);
    free(grads);
    vkf_test_ops_reset(ops);
}

static void test_every_pooling(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++)
        for (int form = 0; form < 4; form++) {
            check(ops, &(pool_case){13, 137, 1, 0, (vkf_pooling)pooling, form & 1, form & 2});
            check(ops, &(pool_case){13, 137, 5, 4, (vkf_pooling)pooling, form & 1, form & 2});
        }
}

// What is beyond the sequence counts as its end; of a sequence of nothing, or of one that ends before the first
// position that counts, no position has a gradient.
static void test_lengths_outside_the_sequence(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t shortest[] = {0, -3, 2, 14, INT32_MAX, INT32_MIN};
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++)
        for (size_t i = 0; i < COUNT_OF(shortest); i++)
            check(ops, &(pool_case){13, 21, shortest[i], i % 2 ? 0 : 3, (vkf_pooling)pooling, i > 2, false});
}

static void test_lengths_and_dimensions(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t lens[] = {1, 2, 7, 8, 9, 127, 1000};
    static const uint32_t dims[] = {1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1024, 1025};
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        check(ops, &(pool_case){lens[i], 48, 1, 0, VKF_POOLING_MEAN, true, false});
        check(ops, &(pool_case){lens[i], 48, 1, 0, VKF_POOLING_MAX, false, true});
    }
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        check(ops, &(pool_case){11, dims[i], 1, 0, i % 2 ? VKF_POOLING_MAX : VKF_POOLING_MEAN, dims[i] > 16, false});
}

// Of equal maxima the first, or the first NaN, has the gradient, and what lies behind a sequence may be no number.
static void test_which_maximum(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { LEN = 6 };
    const float values[2 * LEN] = {1, 3, -1, 3, 3, NAN, 1, NAN, 5, NAN, 7, 0};
    const float grads[2] = {2, 4}, expected[2 * LEN] = {0, 2, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0};
    const int32_t lengths[2] = {5, 6};
    vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, LEN, 1));
    const vkf__pool_grad_args args = {
        .label = "pool",
        .x = SPAN(vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(2, LEN, 1))),
        .lengths = SPAN(vkf_test_ids(ops, lengths, SHAPE(2))),
        .dout = SPAN(vkf_test_values(ops, VKF_DTYPE_F32, grads, SHAPE(2, 1))),
        .dx = SPAN(dx),
        .batch = 2,
        .len = LEN,
        .dim = 1,
        .pooling = VKF_POOLING_MAX,
    };
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", emit, &args), "pool_grad");
    vkf_test_download(ops, dx);
    assert_close(dx->values, expected, COUNT_OF(expected), 0, 0, vkf_test_label(&ops->gpu, "the first maximum"));
}

// A sequence that is no number, and padding that is none, leave the others alone; rows of dout lie apart.
static void test_sequences_do_not_mix(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { LEN = 5, DIM = 33, APART = 35 };
    const int32_t lengths[BATCH] = {LEN, 3, LEN};
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++) {
        vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0.25f, 1, SHAPE(BATCH, LEN, DIM));
        vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(BATCH, APART));
        vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(BATCH, LEN, DIM));
        float expected[BATCH * LEN * DIM], pooled[BATCH * DIM], compact[BATCH * DIM];
        double grads[DIM];
        for (size_t i = 0; i < x->count; i++)
            if (i >= (size_t)2 * LEN * DIM || (i >= (size_t)(LEN + 3) * DIM))
                x->values[i] = NAN;
        for (size_t b = 0; b < BATCH; b++)
            memcpy(compact + b * DIM, dout->values + b * APART, DIM * sizeof *compact);
        vkf_test_upload(ops, x);
        const vkf__pool_grad_args args = {
            .label = "pool",
            .x = SPAN(x),
            .lengths = SPAN(vkf_test_ids(ops, lengths, SHAPE(BATCH))),
            .dout = SPAN(dout),
            .dx = SPAN(dx),
            .batch = BATCH,
            .len = LEN,
            .dim = DIM,
            .dout_row = APART,
            .pooling = (vkf_pooling)pooling,
            .normalise = true,
        };
        vkf__ref_pool_grad(&(vkf__ref_pool_desc){BATCH, LEN, DIM, x->values, lengths, args.pooling, true, pooled, 0},
                           compact, grads, expected);
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", emit, &args), "pool_grad");
        vkf_test_download(ops, dx);
        assert_close(dx->values, expected, (size_t)2 * LEN * DIM, 4e-5, 2e-5,
                     vkf_test_label(&ops->gpu, "grad of pooling %d beside NaN", pooling));
        vkf_test_ops_reset(ops);
    }
}

static void test_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 4));
    vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 4));
    static const int32_t lengths[] = {3, 3};
    vkf__pool_grad_args args = {
        .label = "pool",
        .x = SPAN(x),
        .lengths = SPAN(vkf_test_ids(ops, lengths, SHAPE(2))),
        .dout = SPAN(x),
        .dx = SPAN(dx),
        .len = 3,
        .dim = 4,
        .normalise = true,
    };
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "pool", emit, &args), "pool_grad of no sequence");
    vkf_test_assert_untouched(ops, dx);
    args.batch = 1;
    args.len = 524273;
    vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "pool", emit, &args), VKF_ERROR_TOO_LARGE,
                            "positions");
}

// What x[j] changes in the pooled vectors, weighed by dout.
static double slope_of(const vkf__ref_pool_desc *desc, float *x, size_t j, const float *dout)
{
    const float h = 0.0078125f, value = x[j];
    double slope = 0;
    for (int side = -1; side <= 1; side += 2) {
        x[j] = value + (float)side * h;
        vkf__ref_pool(desc);
        for (size_t i = 0; i < (size_t)desc->batch * desc->dim; i++)
            slope += side * (double)dout[i] * desc->out[i] / (2 * (double)h);
    }
    x[j] = value;
    return slope;
}

// Central differences of the forward reference. It is linear but for the norm, whose third derivative, below 10, is
// wrong by h^2 / 6 times that, 1e-4, and rounded to float32: 6e-8 / h for each of 7 columns, 5e-5. No two values of a
// column are nearer to each other than 2 h.
static void test_reference_has_the_slope_of_differences(void **state)
{
    (void)state;
    enum { LEN = 5, DIM = 7, COUNT = BATCH * LEN * DIM };
    const int32_t lengths[BATCH] = {LEN, 3, 1};
    float x[COUNT], dout[BATCH * DIM], pooled[BATCH * DIM], dx[COUNT], slopes[COUNT];
    double grads[DIM];
    for (size_t i = 0; i < COUNT; i++)
        x[i] = 0.05f * (float)(i * 37 % 101) - 2;
    for (size_t i = 0; i < BATCH * DIM; i++)
        dout[i] = 0.1f * (float)(i * 17 % 23) - 1;
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++)
        for (int form = 0; form < 4; form++) {
            const vkf__ref_pool_desc desc = {BATCH,    LEN,    DIM,     x, lengths, (vkf_pooling)pooling,
                                             form & 1, pooled, form > 1};
            vkf__ref_pool_grad(&desc, dout, grads, dx);
            for (size_t j = 0; j < COUNT; j++)
                slopes[j] = (float)slope_of(&desc, x, j, dout);
            // Where nothing is left to be pooled, zeros are, and no x changes them.
            assert_close(dx, slopes, COUNT, 2e-4, 0, "pooling's reference");
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_every_pooling),
        VKF_OPS_TEST(test_lengths_outside_the_sequence),
        VKF_OPS_TEST(test_lengths_and_dimensions),
        VKF_OPS_TEST(test_which_maximum),
        VKF_OPS_TEST(test_sequences_do_not_mix),
        VKF_OPS_TEST(test_nothing),
        VKF_OPS_TEST(test_reference_has_the_slope_of_differences),
    };
    return cmocka_run_group_tests_name("op_pool_grad", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
