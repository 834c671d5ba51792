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

#include "reference/reference.h"
#include "support/compare.h"
#include "support/random.h"

#define STEP 0x1p-7f
#define ATOL 4e-4
enum { ROWS = 3, DIM = 13, COUNT = ROWS * DIM };

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
    vkf__ref_layer_norm(&(vkf__ref_layer_norm_desc){
        .rows = ROWS,
        .dim = DIM,
        .x = c->x,
        .weight = c->has_weight ? c->weight : NULL,
        .bias = c->bias,
        .out = out,
        .eps = c->eps,
        .rms = c->rms,
    });
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

static vkf__ref_layer_norm_grad_desc desc_of(const norm_case *c, float *dx, float *stats)
{
    return (vkf__ref_layer_norm_grad_desc){
        .rows = ROWS,
        .dim = DIM,
        .x = c->x,
        .weight = c->has_weight ? c->weight : NULL,
        .dout = c->dout,
        .dx = dx,
        .stats = stats,
        .eps = c->eps,
        .rms = c->rms,
    };
}

static void test_layer_norm_grad_is_the_derivative(void **state)
{
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        norm_case c = make_norm(kind & 1, kind & 2, kind & 4 ? 0.3f : 1e-5f);
        float dx[COUNT], stats[2 * ROWS];
        const vkf__ref_layer_norm_grad_desc desc = desc_of(&c, dx, stats);
        vkf__ref_layer_norm_grad(&desc);
        assert_derivatives(dx, norm_loss, &c, c.x, COUNT, "dx of a norm");
    }
}

static void test_column_sum_is_the_derivative_of_weight_and_bias(void **state)
{
    (void)state;
    for (int rms = 0; rms < 2; rms++) {
        norm_case c = make_norm(true, rms, 1e-5f);
        float dx[COUNT], stats[2 * ROWS], dweight[DIM], dbias[DIM];
        const vkf__ref_layer_norm_grad_desc desc = desc_of(&c, dx, stats);
        vkf__ref_layer_norm_grad(&desc);
        vkf__ref_column_sum(&(vkf__ref_column_sum_desc){ROWS, DIM, c.dout, c.x, stats, dweight, false});
        vkf__ref_column_sum(&(vkf__ref_column_sum_desc){ROWS, DIM, c.dout, NULL, NULL, dbias, false});
        assert_derivatives(dweight, norm_loss, &c, c.weight, DIM, "the gradient of a norm's weight");
        assert_derivatives(dbias, norm_loss, &c, c.bias, DIM, "the gradient of a norm's bias");
    }
}

static void test_layer_norm_grad_adds_to_dx(void **state)
{
    (void)state;
    const norm_case c = make_norm(true, false, 1e-5f);
    float dx[COUNT], sum[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        sum[i] = (float)i;
    vkf__ref_layer_norm_grad_desc desc = desc_of(&c, dx, NULL);
    vkf__ref_layer_norm_grad(&desc);
    desc.dx = sum;
    desc.accumulate = true;
    vkf__ref_layer_norm_grad(&desc);
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
    const vkf__ref_layer_norm_grad_desc desc = desc_of(&c, dx, stats);
    for (size_t i = 0; i < DIM; i++) {
        c.x[(ROWS - 1) * DIM + i] = NAN;
        c.dout[(ROWS - 1) * DIM + i] = 0;
    }
    vkf__ref_layer_norm_grad(&desc);
    assert_close(dx + (ROWS - 1) * DIM, zeros, DIM, 0, 0, "a row without gradient");
    vkf__ref_column_sum(&(vkf__ref_column_sum_desc){ROWS, DIM, c.dout, c.x, stats, all, false});
    vkf__ref_column_sum(&(vkf__ref_column_sum_desc){ROWS - 1, DIM, c.dout, c.x, stats, without, false});
    assert_close(all, without, DIM, 0, 0, "a sum over rows, the last without gradient");
}

typedef struct softmax_case {
    float x[COUNT], dout[COUNT];
    int32_t length;
    float scale;
} softmax_case;

static void softmax(const softmax_case *c, float *out)
{
    vkf__ref_softmax(&(vkf__ref_softmax_desc){
        .batch = 1,
        .heads = 1,
        .q_len = ROWS,
        .k_len = DIM,
        .mask_cols = DIM,
        .x = c->x,
        .out = out,
        .scale = c->scale,
        .key_mask_kind = VKF_MASK_LENGTHS,
        .key_mask = &c->length,
    });
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
        vkf__ref_softmax_grad(ROWS, DIM, c.scale, y, c.dout, dx);
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
    vkf__ref_softmax_grad(2, 3, 2, y, dout, dx);
    assert_close(dx, expected, 6, 0, 0, "behind a mask");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_norm_grad_is_the_derivative),
        cmocka_unit_test(test_column_sum_is_the_derivative_of_weight_and_bias),
        cmocka_unit_test(test_layer_norm_grad_adds_to_dx),
        cmocka_unit_test(test_rows_without_gradient_give_none),
        cmocka_unit_test(test_softmax_grad_is_the_derivative),
        cmocka_unit_test(test_softmax_grad_behind_a_mask_is_zero),
    };
    return cmocka_run_group_tests_name("reference_grad_rows", tests, NULL, NULL);
}
