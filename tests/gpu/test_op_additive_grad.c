// The backward pass of additive attention's scores against the reference, and the reference against differences.
//
// Bounds. tanh is wrong by 1e-7 (math.glsl) and 1 - tanh^2 by twice that, in each of up to 300 terms of about 1, which
// are summed 4 at a time: 75 roundings of partial sums below 50, which do not conspire. Gradients of v sum as many
// rows.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/additive_grad.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_additive_grad(work, args);
}

typedef struct additive_case {
    uint32_t batch, q_len, k_len, dim;
    bool accumulate;
} additive_case;

typedef struct additive_operands {
    vkf_test_operand *query, *key, *v, *dscores, *grads[3]; // of query, key and v
} additive_operands;

static additive_operands make_operands(vkf_test_ops *ops, const additive_case *c)
{
    const float before = c->accumulate ? 0.5f : NAN;
    return (additive_operands){
        vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->batch, c->q_len, c->dim)),
        vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->batch, c->k_len, c->dim)),
        vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->dim)),
        vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->batch, c->q_len, c->k_len)),
        {vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(c->batch, c->q_len, c->dim)),
         vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(c->batch, c->k_len, c->dim)),
         vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(c->dim))},
    };
}

static vkf__additive_grad_args args_of(const additive_case *c, const additive_operands *o)
{
    return (vkf__additive_grad_args){
        .label = "additive",
        .query = SPAN(o->query),
        .key = SPAN(o->key),
        .v = SPAN(o->v),
        .dscores = SPAN(o->dscores),
        .dquery = SPAN(o->grads[0]),
        .dkey = SPAN(o->grads[1]),
        .dv = SPAN(o->grads[2]),
        .batch = c->batch,
        .q_len = c->q_len,
        .k_len = c->k_len,
        .dim = c->dim,
        .accumulate_query = c->accumulate,
        .accumulate_key = c->accumulate,
        .accumulate_v = c->accumulate,
    };
}

static void run_and_check(vkf_test_ops *ops, const additive_case *c, const additive_operands *o)
{
    static const char *const names[] = {"query", "key", "v"};
    const vkf__additive_grad_args args = args_of(c, o);
    float *expected[3];
    for (int i = 0; i < 3; i++)
        expected[i] = vkf_test_floats(o->grads[i]->count);
    vkf__ref_additive_grad(&(vkf__ref_additive_grad_desc){c->batch, c->q_len, c->k_len, c->dim, o->query->values,
                                                          o->key->values, o->v->values, o->dscores->values, expected[0],
                                                          expected[1], expected[2]});
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "additive", emit, &args), "additive_grad");
    for (int i = 0; i < 3; i++) {
        vkf_test_download(ops, o->grads[i]);
        for (size_t j = 0; j < o->grads[i]->count && c->accumulate; j++)
            expected[i][j] += 0.5f;
        assert_close(o->grads[i]->values, expected[i], o->grads[i]->count, 2e-4, 1e-6,
                     vkf_test_label(&ops->gpu, "additive grad of %s, (%u, %u, %u), dim %u%s", names[i], c->batch,
                                    c->q_len, c->k_len, c->dim, c->accumulate ? ", added" : ""));
        free(expected[i]);
    }
    vkf_test_ops_reset(ops);
}

static void check(vkf_test_ops *ops, const additive_case *c)
{
    const additive_operands o = make_operands(ops, c);
    run_and_check(ops, c, &o);
}

static void test_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t lens[] = {1, 2, 3, 4, 5, 7, 8, 9, 97};
    static const uint32_t dims[] = {1, 2, 3, 64, 97, 255, 256, 257, 511, 512, 513};
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        check(ops, &(additive_case){2, lens[i], 5, 19, i % 2});
        check(ops, &(additive_case){2, 3, lens[i], 19, i % 2 == 0});
    }
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        check(ops, &(additive_case){1 + (uint32_t)i % 3, 3, 4, dims[i], i % 2});
    check(ops, &(additive_case){3, 100, 300, 16, false});
}

// Keys of padding, whose scores have no gradient, may be no numbers.
static void test_masked_keys_do_not_count(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const additive_case c = {2, 5, 6, 21, false};
    const additive_operands o = make_operands(ops, &c);
    for (size_t b = 0; b < c.batch; b++) {
        for (size_t i = 0; i < c.dim; i++)
            o.key->values[(b * c.k_len + 4) * c.dim + i] = i % 2 ? NAN : INFINITY;
        for (size_t t = 0; t < c.q_len; t++)
            o.dscores->values[(b * c.q_len + t) * c.k_len + 4] = 0;
    }
    vkf_test_upload(ops, o.key);
    vkf_test_upload(ops, o.dscores);
    run_and_check(ops, &c, &o);
}

static void test_nothing_and_too_much(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const additive_case c = {1, 2, 3, 4, true};
    const additive_operands o = make_operands(ops, &c);
    vkf__additive_grad_args args = args_of(&c, &o);
    args.batch = 0;
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "additive", emit, &args), "additive_grad of nothing");
    for (int i = 0; i < 3; i++) {
        vkf_test_download(ops, o.grads[i]);
        for (size_t j = 0; j < o.grads[i]->count; j++)
            assert_true(o.grads[i]->values[j] == 0.5f);
    }
    args.batch = 3;
    args.q_len = 100000;
    vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "additive", emit, &args), VKF_ERROR_TOO_LARGE,
                            "queries");
}

enum { B = 2, T = 3, S = 4, A = 5 };

// What a change of *x changes in the scores, weighed by dscores.
static double slope_of(float *x, const float *query, const float *key, const float *v, const float *dscores)
{
    const float h = 0.0078125f, value = *x;
    float out[B * T * S];
    double slope = 0;
    for (int side = -1; side <= 1; side += 2) {
        *x = value + (float)side * h;
        vkf__ref_additive_scores(B, T, S, A, query, key, v, out);
        for (size_t i = 0; i < B * T * S; i++)
            slope += side * (double)dscores[i] * out[i] / (2 * (double)h);
    }
    *x = value;
    return slope;
}

// Central differences of the forward reference: wrong by h^2 / 6 times a third derivative, below 2 for each of 4 scores
// of about 1, which is 8e-5, and by the rounding of these to float32 over h, 1e-5.
static void test_reference_has_the_slope_of_differences(void **state)
{
    (void)state;
    float query[B * T * A], key[B * S * A], v[A], dscores[B * T * S];
    float dquery[B * T * A], dkey[B * S * A], dv[A], slopes[B * S * A];
    for (size_t i = 0; i < B * T * A; i++)
        query[i] = 0.05f * (float)(i * 37 % 41) - 1;
    for (size_t i = 0; i < B * S * A; i++)
        key[i] = 0.04f * (float)(i * 29 % 43) - 0.8f;
    for (size_t i = 0; i < A; i++)
        v[i] = 0.5f - 0.3f * (float)i;
    for (size_t i = 0; i < B * T * S; i++)
        dscores[i] = 0.1f * (float)(i * 17 % 23) - 1;
    vkf__ref_additive_grad(&(vkf__ref_additive_grad_desc){B, T, S, A, query, key, v, dscores, dquery, dkey, dv});
    for (size_t i = 0; i < B * T * A; i++)
        slopes[i] = (float)slope_of(&query[i], query, key, v, dscores);
    assert_close(dquery, slopes, B * T * A, 1e-4, 0, "additive reference of queries");
    for (size_t i = 0; i < B * S * A; i++)
        slopes[i] = (float)slope_of(&key[i], query, key, v, dscores);
    assert_close(dkey, slopes, B * S * A, 1e-4, 0, "additive reference of keys");
    for (size_t i = 0; i < A; i++)
        slopes[i] = (float)slope_of(&v[i], query, key, v, dscores);
    assert_close(dv, slopes, A, 1e-4, 0, "additive reference of v");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_sizes),
        VKF_OPS_TEST(test_masked_keys_do_not_count),
        VKF_OPS_TEST(test_nothing_and_too_much),
        VKF_OPS_TEST(test_reference_has_the_slope_of_differences),
    };
    return cmocka_run_group_tests_name("op_additive_grad", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
