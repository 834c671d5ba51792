// The references of gradients on rows against central differences of the forward references, and what they promise
// about rows that do not count.
//
// Bounds of the differences, by a step h of 2^-7: the truncation is h^2 / 6 = 1e-5 times a third derivative, which is
// below 20 for these rows, whose deviation is about 1. And the forward reference rounds its results to floats, by 2^-24
// of them: where the sum of |dout * out| over the 13 elements of a row is below 26, that makes 26 * 2^-24 / h = 2e-4. A
// weight or a bias has no third derivative.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "op/layer_norm.h"
#include "op/softmax.h"
#include "op/train/column_sum.h"
#include "op/train/layer_norm_grad.h"
#include "op/train/norm_gradients.h"
#include "op/train/softmax_grad.h"
#include "support/by_hand.h"
#include "support/compare.h"
#include "support/random.h"

#define STEP 0x1p-7f
#define ATOL 4e-4
enum { ROWS = 3, DIM = 13, COUNT = ROWS * DIM };

static vkf__span floats(const float *values, size_t count)
{
    return vkf_hand_operand(VKF_DTYPE_F32, values, count);
}

typedef double (*loss_fn)(const void *user);

// The derivative of the loss with regard to one of the values that it reads.
static double difference(loss_fn loss, const void *user, float *value)
{
    const float kept = *value, high = kept + STEP, low = kept - STEP;
    *value = high;
    const double above = loss(user);
    *value = low;
    const double below = loss(user);
    *value = kept;
    return (above - below) / ((double)high - low);
}

static void assert_derivatives(const float *gradient, loss_fn loss, const void *user, float *values, size_t count,
                               const char *label)
{
    float expected[COUNT];
    for (size_t i = 0; i < count; i++)
        expected[i] = (float)difference(loss, user, &values[i]);
    assert_close(gradient, expected, count, ATOL, 1e-3, label);
}

static double dot(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

typedef struct norm_case {
    float x[COUNT], dout[COUNT], weight[DIM], bias[DIM];
    bool has_weight, rms;
    float eps;
} norm_case;

static double norm_loss(const void *user)
{
    const norm_case *c = user;
    float out[COUNT];
    const vkf__layer_norm_args args = {
        .label = "layer_norm",
        .x = floats(c->x, COUNT),
        .out = floats(c->x, COUNT),
        .weight = floats(c->has_weight ? c->weight : NULL, DIM),
        .bias = floats(c->bias, DIM),
        .rows = ROWS,
        .dim = DIM,
        .eps = c->eps,
        .rms = c->rms,
    };
    vkf_hand_run(VKF_OP_LAYER_NORM, &args);
    vkf_hand_read(&args.out, out);
    return dot(out, c->dout, COUNT);
}

static norm_case make_norm(bool has_weight, bool rms, float eps)
{
    norm_case c = {.has_weight = has_weight, .rms = rms, .eps = eps};
    vkf_test_random random;
    vkf_test_random_init(&random, 11);
    vkf_test_fill_normal(&random, c.x, COUNT, 0.5f, 1);
    vkf_test_fill_normal(&random, c.dout, COUNT, 0, 1);
    vkf_test_fill_uniform(&random, c.weight, DIM, 0.5f, 1.5f);
    vkf_test_fill_uniform(&random, c.bias, DIM, -1, 1);
    return c;
}

// dx is added to where it holds something.
static void norm_grad(const norm_case *c, bool accumulate, float *dx, float *out_stats)
{
    const float zeros[2 * ROWS] = {0};
    const vkf__layer_norm_grad_args args = {
        .label = "layer_norm_grad",
        .x = floats(c->x, COUNT),
        .weight = floats(c->has_weight ? c->weight : NULL, DIM),
        .dout = floats(c->dout, COUNT),
        .dx = floats(accumulate ? dx : c->x, COUNT),
        .stats = floats(zeros, (size_t)2 * ROWS),
        .rows = ROWS,
        .dim = DIM,
        .eps = c->eps,
        .rms = c->rms,
        .accumulate = accumulate,
    };
    vkf_hand_run(VKF_OP_LAYER_NORM_GRAD, &args);
    vkf_hand_read(&args.dx, dx);
    vkf_hand_read(&args.stats, out_stats);
}

// The gradient of the weight; without stats that of the bias.
static void column_sum(const norm_case *c, uint32_t rows, const float *stats, float *out)
{
    const vkf__column_sum_args args = {
        .label = "column_sum",
        .x = floats(c->dout, COUNT),
        .out = floats(c->bias, DIM),
        .normed = floats(stats ? c->x : NULL, COUNT),
        .stats = floats(stats, (size_t)2 * ROWS),
        .rows = rows,
        .cols = DIM,
    };
    vkf_hand_run(VKF_OP_COLUMN_SUM, &args);
    vkf_hand_read(&args.out, out);
}

static void test_layer_norm_grad_is_the_derivative(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        norm_case c = make_norm(kind & 1, kind & 2, kind & 4 ? 0.3f : 1e-5f);
        float dx[COUNT], stats[2 * ROWS];
        norm_grad(&c, false, dx, stats);
        assert_derivatives(dx, norm_loss, &c, c.x, COUNT, "dx of a norm");
    }
}

static void test_column_sum_is_the_derivative_of_weight_and_bias(void **state)
{
    (void)state;
    for (int rms = 0; rms < 2; rms++) {
        norm_case c = make_norm(true, rms, 1e-5f);
        float dx[COUNT], stats[2 * ROWS], dweight[DIM], dbias[DIM];
        norm_grad(&c, false, dx, stats);
        column_sum(&c, ROWS, stats, dweight);
        column_sum(&c, ROWS, NULL, dbias);
        assert_derivatives(dweight, norm_loss, &c, c.weight, DIM, "the gradient of a norm's weight");
        assert_derivatives(dbias, norm_loss, &c, c.bias, DIM, "the gradient of a norm's bias");
    }
}

// More rows than one step sums, and rows that lie apart.
static void test_column_sum_of_many_rows(void **state)
{
    (void)state;
    enum { MANY = 2000, COLS = 3, ROW = 4 };
    static float x[MANY * ROW];
    static const uint32_t rows[] = {32, 33, 1025, MANY};
    for (size_t i = 0; i < MANY * ROW; i++)
        x[i] = i % ROW < COLS ? (float)(i % ROW + 1) : NAN;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float out[COLS] = {10, 20, 30};
        const float n = (float)rows[i], expected[COLS] = {10 + n, 20 + 2 * n, 30 + 3 * n};
        const vkf__column_sum_args args = {
            .label = "column_sum",
            .x = floats(x, (size_t)MANY * ROW),
            .out = floats(out, COLS),
            .x_row = ROW,
            .rows = rows[i],
            .cols = COLS,
            .accumulate = true,
        };
        vkf_hand_run(VKF_OP_COLUMN_SUM, &args);
        vkf_hand_read(&args.out, out);
        assert_close(out, expected, COLS, 0, 0, "a sum of many rows");
    }
}

// All three at once, which a pass over the rows gives and the sums of its groups.
static void test_norm_gradients_are_the_derivatives(void **state)
{
    (void)state;
    for (int rms = 0; rms < 2; rms++) {
        norm_case c = make_norm(true, rms, 1e-5f);
        float dx[COUNT], dweight[DIM], dbias[DIM];
        const vkf__norm_gradients_args args = {
            .label = "norm_gradients",
            .x = floats(c.x, COUNT),
            .weight = floats(c.weight, DIM),
            .dout = floats(c.dout, COUNT),
            .dx = floats(c.x, COUNT),
            .dweight = {floats(c.weight, DIM), false},
            .dbias = {floats(c.bias, DIM), false},
            .rows = ROWS,
            .dim = DIM,
            .eps = c.eps,
            .rms = c.rms,
        };
        vkf_hand_run(VKF_OP_NORM_GRADIENTS, &args);
        vkf_hand_read(&args.dx, dx);
        vkf_hand_read(&args.dweight.out, dweight);
        vkf_hand_read(&args.dbias.out, dbias);
        assert_derivatives(dx, norm_loss, &c, c.x, COUNT, "dx of a norm");
        assert_derivatives(dweight, norm_loss, &c, c.weight, DIM, "the gradient of a norm's weight");
        assert_derivatives(dbias, norm_loss, &c, c.bias, DIM, "the gradient of a norm's bias");
    }
}

static void test_layer_norm_grad_adds_to_dx(void **state)
{
    (void)state;
    const norm_case c = make_norm(true, false, 1e-5f);
    float dx[COUNT], sum[COUNT], stats[2 * ROWS];
    for (size_t i = 0; i < COUNT; i++)
        sum[i] = (float)i;
    norm_grad(&c, false, dx, stats);
    norm_grad(&c, true, sum, stats);
    for (size_t i = 0; i < COUNT; i++)
        dx[i] += (float)i;
    assert_close(sum, dx, COUNT, 1e-6, 1e-6, "added to what was there");
}

// What a loss leaves out has a gradient of 0, and may hold anything.
static void test_rows_without_gradient_give_none(void **state)
{
    (void)state;
    norm_case c = make_norm(true, false, 1e-5f);
    float dx[COUNT], stats[2 * ROWS], all[DIM], without[DIM];
    const float zeros[DIM] = {0};
    for (size_t i = 0; i < DIM; i++) {
        c.x[(ROWS - 1) * DIM + i] = NAN;
        c.dout[(ROWS - 1) * DIM + i] = 0;
    }
    norm_grad(&c, false, dx, stats);
    assert_close(dx + (ROWS - 1) * DIM, zeros, DIM, 0, 0, "a row without gradient");
    column_sum(&c, ROWS, stats, all);
    column_sum(&c, ROWS - 1, stats, without);
    assert_close(all, without, DIM, 0, 0, "a sum over rows, the last without gradient");
}

typedef struct softmax_case {
    float x[COUNT], dout[COUNT];
    int32_t length;
    float scale;
} softmax_case;

static void softmax(const softmax_case *c, float *out)
{
    const vkf__softmax_args args = {
        .label = "softmax",
        .x = floats(c->x, COUNT),
        .out = floats(c->x, COUNT),
        .masks.key_mask = vkf_hand_operand(VKF_DTYPE_I32, &c->length, 1),
        .masks.key_kind = VKF_MASK_LENGTHS,
        .batch = 1,
        .heads = 1,
        .q_len = ROWS,
        .k_len = DIM,
        .masks.cols = DIM,
        .masks.key_batch = 1,
        .masks.scale = c->scale,
    };
    vkf_hand_run(VKF_OP_SOFTMAX, &args);
    vkf_hand_read(&args.out, out);
}

static void softmax_grad(uint32_t rows, uint32_t cols, float scale, const float *y, const float *dout, float *dx)
{
    const size_t count = (size_t)rows * cols;
    const vkf__softmax_grad_args args = {
        "softmax_grad", floats(y, count), floats(dout, count), floats(y, count), rows, cols, scale};
    vkf_hand_run(VKF_OP_SOFTMAX_GRAD, &args);
    vkf_hand_read(&args.dx, dx);
}

static double softmax_loss(const void *user)
{
    const softmax_case *c = user;
    float out[COUNT];
    softmax(c, out);
    return dot(out, c->dout, COUNT);
}

static void test_softmax_grad_is_the_derivative(void **state)
{
    (void)state;
    static const int32_t lengths[] = {DIM, 9, 1, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        softmax_case c = {.length = lengths[i], .scale = 0.7f};
        float y[COUNT], dx[COUNT];
        vkf_test_random random;
        vkf_test_random_init(&random, 12);
        vkf_test_fill_normal(&random, c.x, COUNT, 0, 1);
        vkf_test_fill_normal(&random, c.dout, COUNT, 0, 1);
        softmax(&c, y);
        softmax_grad(ROWS, DIM, c.scale, y, c.dout, dx);
        assert_derivatives(dx, softmax_loss, &c, c.x, COUNT, "dx of softmax");
    }
}

static void test_softmax_grad_behind_a_mask_is_zero(void **state)
{
    (void)state;
    const float y[] = {0.25f, 0, 0.75f, 0, 0, 0};
    const float dout[] = {4, NAN, 8, NAN, INFINITY, 1};
    const float expected[] = {-1.5f, 0, 1.5f, 0, 0, 0}; // 2 y (dout - 7)
    float dx[6];
    softmax_grad(2, 3, 2, y, dout, dx);
    assert_close(dx, expected, 6, 0, 0, "behind a mask");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_norm_grad_is_the_derivative),
        cmocka_unit_test(test_column_sum_is_the_derivative_of_weight_and_bias),
        cmocka_unit_test(test_column_sum_of_many_rows),
        cmocka_unit_test(test_norm_gradients_are_the_derivatives),
        cmocka_unit_test(test_layer_norm_grad_adds_to_dx),
        cmocka_unit_test(test_rows_without_gradient_give_none),
        cmocka_unit_test(test_softmax_grad_is_the_derivative),
        cmocka_unit_test(test_softmax_grad_behind_a_mask_is_zero),
    };
    return cmocka_run_group_tests_name("reference_grad_rows", tests, vkf_hand_setup, vkf_hand_teardown);
}
