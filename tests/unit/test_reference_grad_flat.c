// The references of training's operators on elements: gradients against central differences of the forward references,
// and what dropout keeps.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "op/activation_value.h"
#include "op/additive.h"
#include "op/embed.h"
#include "op/pool.h"
#include "op/train/additive_grad.h"
#include "op/train/dropout.h"
#include "op/train/embed_grad.h"
#include "op/train/gate_grad.h"
#include "op/train/pool_grad.h"
#include "support/by_hand.h"
#include "support/compare.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
#define FLOATS(values) vkf_hand_operand(VKF_DTYPE_F32, values, COUNT_OF(values))
#define INTS(values) vkf_hand_operand(VKF_DTYPE_I32, values, COUNT_OF(values))
#define SEED UINT64_C(0xfedcba9876543210)

// With h = 1e-4 differences are wrong by h^2 / 6 times a third derivative below 5, and by 1e-16 / h.
static void test_activations_have_the_slope_of_differences(void **state)
{
    (void)state;
    const double h = 1e-4;
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++)
        for (double x = -6.01; x < 6; x += 0.13) {
            const double above = vkf__activation_value((vkf_activation)activation, x + h);
            const double difference = (above - vkf__activation_value((vkf_activation)activation, x - h)) / (2 * h);
            const double slope = vkf__activation_slope((vkf_activation)activation, x);
            if (fabs(slope - difference) > 2e-8)
                fail_msg("activation %d at %g: slope %.10g, difference %.10g", activation, x, slope, difference);
        }
}

// Far from 0 a slope is its limit, at infinity too. NaN stays NaN. ReLU has 0 at 0.
static void test_slopes_at_their_limits(void **state)
{
    (void)state;
    const double below[VKF_ACTIVATION_COUNT] = {[VKF_ACTIVATION_LEAKY_RELU] = (double)0.01f};
    for (int activation = VKF_ACTIVATION_RELU; activation < VKF_ACTIVATION_COUNT; activation++) {
        const vkf_activation kind = (vkf_activation)activation;
        if (kind == VKF_ACTIVATION_NONE)
            continue;
        const double limit =
            kind != VKF_ACTIVATION_TANH && kind != VKF_ACTIVATION_SIGMOID && kind != VKF_ACTIVATION_HARD_SIGMOID;
        assert_true(vkf__activation_slope(kind, -INFINITY) == below[kind]);
        assert_true(vkf__activation_slope(kind, -1e30) == below[kind]);
        assert_true(vkf__activation_slope(kind, INFINITY) == limit);
        assert_true(vkf__activation_slope(kind, 1e30) == limit);
        assert_true(isnan(vkf__activation_slope(kind, NAN)));
    }
    assert_true(vkf__activation_slope(VKF_ACTIVATION_RELU, 0) == 0);
    assert_true(vkf__activation_slope(VKF_ACTIVATION_HARD_SWISH, -3) == 0);
    assert_true(vkf__activation_slope(VKF_ACTIVATION_HARD_SWISH, 3) == 1);
    assert_true(vkf__activation_slope(VKF_ACTIVATION_ELU, 0) == 1);
}

static double gated(vkf_activation activation, double a, double b)
{
    return vkf__activation_value(activation, a) * b;
}

// Differences in double: wrong by h^2 / 6 times a third derivative below 10, and the reference by its rounding to
// float32.
static void test_gates_have_the_slope_of_differences(void **state)
{
    (void)state;
    enum { DIM = 9 };
    const double h = 1e-4;
    float x[2 * DIM], dout[DIM], dx[2 * DIM], expected[2 * DIM];
    for (size_t i = 0; i < DIM; i++) {
        x[i] = (float)i * 0.7f - 3.1f;
        x[DIM + i] = 2.5f - (float)i * 0.4f;
        dout[i] = 0.3f * (float)i - 1;
    }
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++) {
        const vkf_activation kind = (vkf_activation)activation;
        const vkf__gate_grad_args args = {"gate", FLOATS(x), FLOATS(dout), FLOATS(dx), 0, 1, DIM, kind};
        vkf_hand_run(VKF_OP_GATE_GRAD, &args);
        vkf_hand_read(&args.dx, dx);
        for (size_t i = 0; i < DIM; i++) {
            const double a = x[i], b = x[DIM + i], factor = dout[i] / (2 * h);
            expected[i] = (float)(factor * (gated(kind, a + h, b) - gated(kind, a - h, b)));
            expected[DIM + i] = (float)(factor * (gated(kind, a, b + h) - gated(kind, a, b - h)));
        }
        assert_close(dx, expected, COUNT_OF(dx), 1e-6, 1e-6, "the gate's reference");
    }
}

enum { DROPPED = 29 };

static void drop(const float *x, const float *residual, float *out)
{
    const vkf__span in = vkf_hand_operand(VKF_DTYPE_F32, x, DROPPED);
    const vkf__dropout_args args = {
        "dropout", in, vkf_hand_operand(VKF_DTYPE_F32, residual, DROPPED), in, 1, DROPPED, 0.3f, SEED, 5, 6};
    vkf_hand_run(VKF_OP_DROPOUT, &args);
    vkf_hand_read(&in, out);
}

// Dropout is linear in x: what a change of x[i] by 1 changes is the factor by which its gradient is multiplied.
static void test_dropout_is_its_own_backward_pass(void **state)
{
    (void)state;
    float x[DROPPED], dout[DROPPED], dx[DROPPED], slopes[DROPPED] = {0}, above[DROPPED], below[DROPPED];
    for (size_t i = 0; i < DROPPED; i++) {
        x[i] = 0.4f * (float)i - 3;
        dout[i] = 2 - 0.3f * (float)i;
    }
    for (size_t j = 0; j < DROPPED; j++) {
        const float value = x[j];
        x[j] = value + 0.5f;
        drop(x, dout, above);
        x[j] = value - 0.5f;
        drop(x, dout, below);
        x[j] = value;
        for (size_t i = 0; i < DROPPED; i++)
            slopes[j] += dout[i] * (above[i] - below[i]);
    }
    drop(dout, NULL, dx);
    assert_close(dx, slopes, DROPPED, 1e-5, 1e-5, "dropout's reference");
}

enum { ONES = 33033 };

// Where ones are dropped, what stays is 1 / (1 - p), and what does not is 0. Returns how many stay.
static size_t mask_of(float p, uint64_t seed, uint32_t stream, uint32_t step, float *mask)
{
    size_t kept = 0;
    for (size_t i = 0; i < ONES; i++)
        mask[i] = 1;
    const vkf__span x = vkf_hand_operand(VKF_DTYPE_F32, mask, ONES);
    const vkf__dropout_args args = {"mask", x, {0}, x, 33, ONES / 33, p, seed, stream, step};
    vkf_hand_run(VKF_OP_DROPOUT, &args);
    vkf_hand_read(&x, mask);
    for (size_t i = 0; i < ONES; i++) {
        assert_true(mask[i] == 0 || mask[i] == vkf__dropout_scale(p));
        kept += mask[i] != 0;
    }
    return kept;
}

static float masks[2][ONES];

// Within five standard deviations.
static void test_as_many_are_dropped_as_asked_for(void **state)
{
    static const float probabilities[] = {0, 0x1p-31f, 0.1f, 0.5f, 0.9f, 0.99999994f, 1};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(probabilities); i++) {
        const double mean = (1 - (double)probabilities[i]) * ONES;
        const double kept = (double)mask_of(probabilities[i], SEED, 1, 2, masks[0]);
        assert_true(fabs(kept - mean) <= 5 * sqrt(mean * (double)probabilities[i]) + 1e-9);
    }
}

// Another seed, stream or step drops others, and as many of what was kept: they do not depend on each other.
static void test_masks_differ(void **state)
{
    static const struct {
        uint64_t seed;
        uint32_t stream, step;
    } others[] = {{SEED + 1, 1, 2}, {SEED ^ UINT64_C(1) << 63, 1, 2}, {SEED, 2, 2}, {SEED, 1, 3}, {SEED, 2, 1}};
    (void)state;
    (void)mask_of(0.5f, SEED, 1, 2, masks[0]);
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        size_t equal = 0;
        (void)mask_of(0.5f, others[i].seed, others[i].stream, others[i].step, masks[1]);
        for (size_t j = 0; j < ONES; j++)
            equal += masks[0][j] == masks[1][j];
        assert_true(fabs((double)equal - 0.5 * ONES) < 5 * sqrt(0.25 * ONES));
    }
}

// An embedding is linear in its table, so that any step will do; 1 is exact.
static void test_embedding_has_the_slope_of_differences(void **state)
{
    (void)state;
    enum { TOKENS = 6, DIM = 3, VOCAB = 4 };
    static const int32_t ids[TOKENS] = {3, 0, 3, -1, 2, 3};
    int32_t lists[3 * TOKENS + 1] = {0};
    uint32_t scratch[VOCAB];
    float table[VOCAB * DIM], dout[TOKENS * DIM], slopes[VOCAB * DIM], dtable[VOCAB * DIM] = {0};
    double slope = 0;
    for (size_t i = 0; i < COUNT_OF(dout); i++)
        dout[i] = 0.2f * (float)i - 1;
    for (size_t i = 0; i < COUNT_OF(table); i++)
        table[i] = (float)i;
    for (size_t j = 0; j < 2 * COUNT_OF(table); j++) {
        float out[TOKENS * DIM];
        table[j / 2] = (float)(j / 2) + (j % 2 ? 0.5f : -0.5f);
        const vkf__embed_args args = {.label = "embed",
                                      .ids = INTS(ids),
                                      .table = FLOATS(table),
                                      .out = FLOATS(out),
                                      .batch = 1,
                                      .len = TOKENS,
                                      .dim = DIM,
                                      .vocab = VOCAB,
                                      .ids_stride = TOKENS,
                                      .scale = 2};
        vkf_hand_run(VKF_OP_EMBED, &args);
        vkf_hand_read(&args.out, out);
        table[j / 2] = (float)(j / 2);
        for (size_t i = 0; i < COUNT_OF(dout); i++)
            slope += (j % 2 ? 1.0 : -1.0) * (double)dout[i] * (double)out[i];
        if (j % 2) {
            slopes[j / 2] = (float)slope;
            slope = 0;
        }
    }
    const uint32_t unique = vkf__id_order(ids, TOKENS, VOCAB, scratch, lists);
    const vkf__embed_grad_args args = {"embed", FLOATS(dout), INTS(lists), FLOATS(dtable), TOKENS, DIM,
                                       unique,  VOCAB,        2,           false};
    vkf_hand_run(VKF_OP_EMBED_GRAD, &args);
    vkf_hand_read(&args.dtable, dtable);
    assert_close(dtable, slopes, COUNT_OF(dtable), 1e-5, 1e-5, "the embedding's reference");
}

enum { SEQUENCES = 3, LEN = 5, POOL_DIM = 7, POOLED = SEQUENCES * LEN * POOL_DIM };

static const int32_t lengths[SEQUENCES] = {LEN, 3, 1};

// The sum of what is pooled, weighed by dout.
static double pooled_sum(const float *x, const float *dout, vkf_pooling pooling, bool normalise, uint32_t first)
{
    float out[SEQUENCES * POOL_DIM];
    double sum = 0;
    const vkf__pool_args args = {.label = "pool",
                                 .x = vkf_hand_operand(VKF_DTYPE_F32, x, POOLED),
                                 .lengths = INTS(lengths),
                                 .out = FLOATS(out),
                                 .batch = SEQUENCES,
                                 .len = LEN,
                                 .dim = POOL_DIM,
                                 .first = first,
                                 .pooling = pooling,
                                 .normalise = normalise};
    vkf_hand_run(VKF_OP_POOL, &args);
    vkf_hand_read(&args.out, out);
    for (size_t i = 0; i < COUNT_OF(out); i++)
        sum += (double)dout[i] * (double)out[i];
    return sum;
}

// Pooling is linear but for the norm, whose third derivative, below 10, is wrong by h^2 / 6 times that, 1e-4, and
// rounded to float32: 6e-8 / h for each of 7 columns, 5e-5. No two values of a column are nearer to each other than
// 2 h.
static void check_pooling(float *x, const float *dout, vkf_pooling pooling, bool normalise, uint32_t first)
{
    const float h = 0.0078125f;
    float dx[POOLED], slopes[POOLED];
    for (size_t j = 0; j < POOLED; j++) {
        const float value = x[j];
        x[j] = value + h;
        const double above = pooled_sum(x, dout, pooling, normalise, first);
        x[j] = value - h;
        slopes[j] = (float)((above - pooled_sum(x, dout, pooling, normalise, first)) / (2 * (double)h));
        x[j] = value;
    }
    const vkf__pool_grad_args args = {.label = "pool",
                                      .x = vkf_hand_operand(VKF_DTYPE_F32, x, POOLED),
                                      .lengths = INTS(lengths),
                                      .dout = vkf_hand_operand(VKF_DTYPE_F32, dout, SEQUENCES * POOL_DIM),
                                      .dx = FLOATS(dx),
                                      .batch = SEQUENCES,
                                      .len = LEN,
                                      .dim = POOL_DIM,
                                      .first = first,
                                      .pooling = pooling,
                                      .normalise = normalise};
    vkf_hand_run(VKF_OP_POOL_GRAD, &args);
    vkf_hand_read(&args.dx, dx);
    // Where nothing is left to be pooled, zeros are, and no x changes them.
    assert_close(dx, slopes, POOLED, 2e-4, 0, "pooling's reference");
}

static void test_pooling_has_the_slope_of_differences(void **state)
{
    (void)state;
    float x[POOLED], dout[SEQUENCES * POOL_DIM];
    for (size_t i = 0; i < POOLED; i++)
        x[i] = 0.05f * (float)(i * 37 % 101) - 2;
    for (size_t i = 0; i < COUNT_OF(dout); i++)
        dout[i] = 0.1f * (float)(i * 17 % 23) - 1;
    for (int pooling = 0; pooling < VKF_POOLING_COUNT; pooling++)
        for (int form = 0; form < 4; form++)
            check_pooling(x, dout, (vkf_pooling)pooling, form & 1, form > 1);
}

enum { B = 2, T = 3, S = 4, A = 5 };

typedef struct additive_arrays {
    float query[B * T * A], key[B * S * A], v[A], dscores[B * T * S];
} additive_arrays;

// What a change of *x changes in the scores, weighed by dscores.
static double slope_of(const additive_arrays *a, float *x)
{
    const float h = 0.0078125f, value = *x;
    float out[B * T * S];
    double slope = 0;
    for (int side = -1; side <= 1; side += 2) {
        *x = value + (float)side * h;
        const vkf__additive_args args = {
            "additive", FLOATS(a->query), FLOATS(a->key), FLOATS(a->v), FLOATS(out), B, T, S, A};
        vkf_hand_run(VKF_OP_ADDITIVE_SCORES, &args);
        vkf_hand_read(&args.out, out);
        for (size_t i = 0; i < COUNT_OF(out); i++)
            slope += side * (double)a->dscores[i] * (double)out[i] / (2 * (double)h);
    }
    *x = value;
    return slope;
}

static void check_slopes(const additive_arrays *a, float *x, size_t count, const vkf__span *span, const char *name)
{
    float slopes[B * S * A], grads[B * S * A];
    vkf_hand_read(span, grads);
    for (size_t i = 0; i < count; i++)
        slopes[i] = (float)slope_of(a, &x[i]);
    assert_close(grads, slopes, count, 1e-4, 0, name);
}

// Differences are wrong by h^2 / 6 times a third derivative, below 2 for each of 4 scores of about 1, which is 8e-5,
// and by the rounding of these to float32 over h, 1e-5.
static void test_additive_scores_have_the_slope_of_differences(void **state)
{
    (void)state;
    additive_arrays a;
    for (size_t i = 0; i < COUNT_OF(a.query); i++)
        a.query[i] = 0.05f * (float)(i * 37 % 41) - 1;
    for (size_t i = 0; i < COUNT_OF(a.key); i++)
        a.key[i] = 0.04f * (float)(i * 29 % 43) - 0.8f;
    for (size_t i = 0; i < A; i++)
        a.v[i] = 0.5f - 0.3f * (float)i;
    for (size_t i = 0; i < COUNT_OF(a.dscores); i++)
        a.dscores[i] = 0.1f * (float)(i * 17 % 23) - 1;
    float *const sides[] = {a.query, a.key, a.v};
    static const size_t counts[] = {B * T * A, B * S * A, A};
    static const char *const names[] = {"additive reference of queries", "of keys", "of v"};
    for (size_t side = 0; side < COUNT_OF(sides); side++) {
        const vkf__additive_grad_args args = {.label = "additive",
                                              .query = FLOATS(a.query),
                                              .key = FLOATS(a.key),
                                              .v = FLOATS(a.v),
                                              .dscores = FLOATS(a.dscores),
                                              .dquery = FLOATS(a.query),
                                              .dkey = FLOATS(a.key),
                                              .dv = FLOATS(a.v),
                                              .batch = B,
                                              .q_len = T,
                                              .k_len = S,
                                              .dim = A};
        const vkf__span *const spans[] = {&args.dquery, &args.dkey, &args.dv};
        vkf_hand_run(VKF_OP_ADDITIVE_GRAD, &args);
        check_slopes(&a, sides[side], counts[side], spans[side], names[side]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activations_have_the_slope_of_differences),
        cmocka_unit_test(test_slopes_at_their_limits),
        cmocka_unit_test(test_gates_have_the_slope_of_differences),
        cmocka_unit_test(test_dropout_is_its_own_backward_pass),
        cmocka_unit_test(test_as_many_are_dropped_as_asked_for),
        cmocka_unit_test(test_masks_differ),
        cmocka_unit_test(test_embedding_has_the_slope_of_differences),
        cmocka_unit_test(test_pooling_has_the_slope_of_differences),
        cmocka_unit_test(test_additive_scores_have_the_slope_of_differences),
    };
    return cmocka_run_group_tests_name("reference_grad_flat", tests, vkf_hand_setup, vkf_hand_teardown);
}
