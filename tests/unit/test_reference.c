// The scalar references against numbers worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "op/activation_value.h"
#include "op/additive.h"
#include "op/argmax.h"
#include "op/copy.h"
#include "op/embed.h"
#include "op/gate.h"
#include "op/layer_norm.h"
#include "op/permute.h"
#include "op/pool.h"
#include "op/rotary.h"
#include "op/sample.h"
#include "op/top.h"
#include "shared/sample.h"
#include "support/by_hand.h"
#include "support/compare.h"
#include "support/reference.h"

#define ATOL 1e-7
#define RTOL 1e-6
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static vkf__span floats(const float *values, size_t count)
{
    return vkf_hand_operand(VKF_DTYPE_F32, values, count);
}

static void test_activation_known_values(void **state)
{
    (void)state;
    const float at_zero[VKF_ACTIVATION_COUNT] = {[VKF_ACTIVATION_SIGMOID] = 0.5f, [VKF_ACTIVATION_HARD_SIGMOID] = 0.5f};
    // GELU(1) is the normal distribution function at 1; SiLU(1) is 1 / (1 + 1/e).
    const float expected[VKF_ACTIVATION_COUNT] = {
        1, 1, 0.841344746f, 0.841191991f, 0.731058579f, 0.761594156f, 1, 0.731058579f, 0.865098388f, 2 / 3.0f,
        1, 1, 2 / 3.0f};
    for (int i = 0; i < VKF_ACTIVATION_COUNT; i++) {
        float at_one = (float)vkf__activation_value((vkf_activation)i, 1);
        assert_close(&at_one, &expected[i], 1, ATOL, 0, "activation of 1");
        assert_true(vkf__activation_value((vkf_activation)i, 0) == (double)at_zero[i]);
        assert_true(isnan(vkf__activation_value((vkf_activation)i, NAN)));
    }
    assert_true(vkf__activation_value(VKF_ACTIVATION_RELU, -3) == 0);
    assert_true(vkf__activation_value(VKF_ACTIVATION_NONE, -3) == -3);
    assert_true(vkf__activation_value_by(VKF_ACTIVATION_LEAKY_RELU, -3, 0.25) == -0.75);
    assert_true(vkf__activation_value_by(VKF_ACTIVATION_ELU, -INFINITY, 0.25) == -0.25);
}

// gemm ---------------------------------------------------------------------------------------------------------------

static void test_gemm_transposes(void **state)
{
    (void)state;
    const float a[] = {1, 2, 3, 4};
    const float b[] = {5, 6, 7, 8};
    const float expected[4][4] = {
        {19, 22, 43, 50}, // row (1 2) times columns (5 7), (6 8)
        {17, 23, 39, 53}, // b transposed
        {26, 30, 38, 44}, // a transposed
        {23, 31, 34, 46}, // both
    };
    for (unsigned i = 0; i < 4; i++) {
        float out[4];
        vkf_ref_gemm(&(vkf_ref_gemm_desc){.m = 2,
                                          .n = 2,
                                          .k = 2,
                                          .batch = 1,
                                          .a = a,
                                          .b = b,
                                          .out = out,
                                          .transpose_a = i >= 2,
                                          .transpose_b = i % 2 == 1,
                                          .alpha = 1});
        assert_close(out, expected[i], 4, 0, 0, "gemm transposes");
    }
}

static void test_gemm_rectangular(void **state)
{
    (void)state;
    const float a[] = {1, 2, 3};             // (1, 3)
    const float b[] = {1, 10, 2, 20, 3, 30}; // (3, 2)
    const float b_transposed[] = {1, 2, 3, 10, 20, 30};
    const float expected[] = {14, 140}; // 1 + 4 + 9
    float out[2];
    vkf_ref_gemm(&(vkf_ref_gemm_desc){.m = 1, .n = 2, .k = 3, .batch = 1, .a = a, .b = b, .out = out, .alpha = 1});
    assert_close(out, expected, 2, 0, 0, "b as (k, n)");
    vkf_ref_gemm(&(vkf_ref_gemm_desc){.m = 1,
                                      .n = 2,
                                      .k = 3,
                                      .batch = 1,
                                      .a = a,
                                      .b = b_transposed,
                                      .out = out,
                                      .transpose_a = true,
                                      .transpose_b = true,
                                      .alpha = 1});
    assert_close(out, expected, 2, 0, 0, "b as (n, k), a as (k, 1)");
}

static void test_gemm_epilogue(void **state)
{
    (void)state;
    const float a[] = {1, 2, 3, 4};
    const float b[] = {5, 6, 7, 8};
    const float c[] = {40, 40, 90, 90};
    const float bias[] = {1, -1};
    const float residual[] = {10, 20, 30, 40};
    // 2 (19 22 43 50) - c + bias = (-1 3 -3 9); ReLU gives (0 3 0 9).
    const float expected[] = {10, 23, 30, 49};
    float out[4];
    vkf_ref_gemm(&(vkf_ref_gemm_desc){.m = 2,
                                      .n = 2,
                                      .k = 2,
                                      .batch = 1,
                                      .a = a,
                                      .b = b,
                                      .c = c,
                                      .bias = bias,
                                      .residual = residual,
                                      .out = out,
                                      .alpha = 2,
                                      .beta = -1,
                                      .activation = VKF_ACTIVATION_RELU});
    assert_close(out, expected, 4, 0, 0, "gemm epilogue");
}

static void test_gemm_zero_factors_read_nothing(void **state)
{
    (void)state;
    const float bad[] = {NAN};
    const float one[] = {1};
    const float three[] = {3};
    float out[1];
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = 1, .n = 1, .k = 1, .batch = 1, .a = bad, .b = bad, .c = three, .out = out, .alpha = 0, .beta = 1});
    assert_true(out[0] == 3);
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = 1, .n = 1, .k = 1, .batch = 1, .a = one, .b = three, .c = bad, .out = out, .alpha = 1, .beta = 0});
    assert_true(out[0] == 3);
}

static void test_gemm_heads_in_place(void **state)
{
    (void)state;
    // Two batch entries, two heads of two columns side by side; one row each. b holds one row (1, 10) per entry.
    const float a[] = {1, 2, 3, 4, 5, 6, 7, 8};       // (2, 1, 2 * 2)
    const float b[] = {1, 10, 1, 100, 1, 10, 1, 100}; // (4, 1, 2)
    const float expected[] = {21, 403, 65, 807};      // 1 + 20, 3 + 400, 5 + 60, 7 + 800
    float out[4];
    vkf_ref_gemm(&(vkf_ref_gemm_desc){.m = 1,
                                      .n = 1,
                                      .k = 2,
                                      .batch = 4,
                                      .batch_inner = 2,
                                      .a = a,
                                      .b = b,
                                      .out = out,
                                      .a_layout = {.row = 4, .outer = 4, .inner = 2},
                                      .transpose_b = true,
                                      .alpha = 1});
    assert_close(out, expected, 4, 0, 0, "heads in place");
    const float shared[] = {21, 43, 65, 87};
    vkf_ref_gemm(&(vkf_ref_gemm_desc){.m = 1,
                                      .n = 1,
                                      .k = 2,
                                      .batch = 4,
                                      .batch_inner = 2,
                                      .a = a,
                                      .b = b,
                                      .out = out,
                                      .b_layout = {.row = 2},
                                      .transpose_b = true,
                                      .alpha = 1});
    assert_close(out, shared, 4, 0, 0, "one b for all entries");
}

// layer norm and the rest --------------------------------------------------------------------------------------------

typedef struct norm_case {
    vkf__layer_norm_args args;
    const float *x, *weight, *bias, *residual;
    float *out;
} norm_case;

static void layer_norm(const norm_case *c)
{
    vkf__layer_norm_args args = c->args;
    const size_t count = (size_t)args.rows * args.dim;
    args.label = "layer_norm";
    args.x = args.out = floats(c->x, count);
    args.weight = floats(c->weight, args.dim);
    args.bias = floats(c->bias, args.dim);
    args.residual = floats(c->residual, count);
    vkf_hand_run(args.residual_order == VKF_RESIDUAL_NONE ? VKF_OP_LAYER_NORM : VKF_OP_LAYER_NORM_RESIDUAL, &args);
    vkf_hand_read(&args.out, c->out);
}

static void test_layer_norm_by_hand(void **state)
{
    (void)state;
    // Mean 2.5, variance 1.25, and with eps 0.3125 the deviation is 1.25.
    const float x[] = {1, 2, 3, 4};
    const float weight[] = {1, 2, 1, .5f};
    const float bias[] = {0, 1, 0, -1};
    const float plain[] = {-1.2f, -.4f, .4f, 1.2f};
    const float affine[] = {-1.2f, .2f, .4f, -.4f};
    float out[4];
    norm_case c = {.args.rows = 1, .args.dim = 4, .x = x, .out = out, .args.eps = 0.3125f};
    layer_norm(&c);
    assert_close(out, plain, 4, ATOL, RTOL, "layer norm");
    c.weight = weight;
    c.bias = bias;
    layer_norm(&c);
    assert_close(out, affine, 4, ATOL, RTOL, "layer norm, weight and bias");
}

static void test_layer_norm_residuals(void **state)
{
    (void)state;
    const float x[] = {0, 0, 4, 4, 1, 2, 3, 4};
    const float residual[] = {1, 2, -1, 0, 10, 20, 30, 40};
    const float before[] = {-1.2f, -.4f, .4f, 1.2f}; // the first row sums to 1 2 3 4
    const float after[] = {8.8f, 19.6f, 30.4f, 41.2f};
    float out[8];
    norm_case c = {.args.rows = 2,
                   .args.dim = 4,
                   .x = x,
                   .residual = residual,
                   .out = out,
                   .args.eps = 0.3125f,
                   .args.residual_order = VKF_RESIDUAL_BEFORE};
    layer_norm(&c);
    assert_close(out, before, 4, ATOL, RTOL, "residual before");
    c.args.residual_order = VKF_RESIDUAL_AFTER;
    layer_norm(&c);
    assert_close(out + 4, after, 4, 1e-6, RTOL, "residual after (10, -1.2 + 10 and so on)");
}

static void test_layer_norm_with_a_large_mean(void **state)
{
    (void)state;
    const float x[] = {1e6f + 1, 1e6f + 2, 1e6f + 3, 1e6f + 4};
    const float expected[] = {-1.2f, -.4f, .4f, 1.2f};
    float out[4];
    layer_norm(&(norm_case){.args.rows = 1, .args.dim = 4, .x = x, .out = out, .args.eps = 0.3125f});
    assert_close(out, expected, 4, ATOL, RTOL, "layer norm about 1e6");
}

static void test_rms_norm_by_hand(void **state)
{
    (void)state;
    // The mean square is 6.25 and 12.25, and with eps 0 the divisors are 2.5 and 3.5.
    const float x[] = {1, 2, 2, 4, 0, 0, 0, 7};
    const float weight[] = {1, 2, 1, .5f};
    const float bias[] = {0, 1, 0, -1};
    const float plain[] = {.4f, .8f, .8f, 1.6f, 0, 0, 0, 2};
    const float affine[] = {.4f, 2.6f, .8f, -.2f, 0, 1, 0, 0};
    float out[8];
    norm_case c = {.args.rows = 2, .args.dim = 4, .x = x, .out = out, .args.rms = true};
    layer_norm(&c);
    assert_close(out, plain, 8, ATOL, RTOL, "RMS norm");
    c.weight = weight;
    c.bias = bias;
    layer_norm(&c);
    assert_close(out, affine, 8, ATOL, RTOL, "RMS norm, weight and bias");
    c.args.eps = 6;
    c.bias = NULL;
    layer_norm(&c);
    assert_close(out, &(const float){1 / 3.5f}, 1, ATOL, RTOL, "RMS norm, eps");
}

// One head of five at positions 1 and 2.
static void rotary(const float *x, const float *table, const float *weight, float *out)
{
    const vkf__rotary_args args = {
        .label = "rotary",
        .x = floats(x, 10),
        .table = floats(table, 12),
        .weight = floats(weight, 5),
        .batch = 1,
        .len = 2,
        .q_heads = 1,
        .head_dim = 5,
        .rotary_dim = 4,
        .first_position = 1,
        .x_batch = 10,
        .x_row = 5,
    };
    vkf_hand_run(VKF_OP_ROTARY, &args);
    vkf_hand_read(&args.x, out);
}

static void test_rotary_by_hand(void **state)
{
    (void)state;
    // Two positions of one head of five, four of them turned: by 90 and 0 degrees, then by 180 and the angle of (3, 4).
    const float x[] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5};
    const float table[] = {9, 9, 9, 9, 0, 1, 1, 0, -1, .6f, 0, .8f};
    const float turned[] = {-3, 2, 1, 4, 5, -1, -2, -3, 4, 5};
    float out[10];
    rotary(x, table, NULL, out);
    assert_close(out, turned, 10, 1e-6, RTOL, "rotary");
    const float weight[] = {1, 1, 1, 1, 2};
    const float normal[] = {1, 2, 3, 4, 10}; // over the root of the mean square, 11
    rotary(x, NULL, weight, out);
    for (size_t i = 0; i < 5; i++)
        out[i] *= sqrtf(11);
    assert_close(out, normal, 5, 1e-6, 1e-6, "a normalised head");
}

// A query, a key and a value of one position, each turned by a right angle but the value, on their way into a cache.
static void test_rotary_of_a_step_by_hand(void **state)
{
    (void)state;
    const float x[] = {9, 1, 2, 3, 4, 5, 6}, table[] = {1, 0, 0, 1}, cache[] = {7, 7, 7, 7, 7, 7, 7};
    const float weight[] = {1, 1, 9, 2, 2}; // the key's behind the query's
    const float queries[] = {9, -2, 1, 3, 4, 5, 6}, keys[] = {7, -4, 3, 7, 7, 5, 6};
    for (int normalised = 0; normalised < 2; normalised++) {
        float out[7];
        const vkf__rotary_args args = {
            .label = "rotary",
            .x = floats(x, 7),
            .out = floats(cache, 7),
            .table = floats(table, 4),
            .weight = floats(normalised ? weight : NULL, 5),
            .k_weight = 3,
            .batch = 1,
            .len = 1,
            .q_heads = 1,
            .k_heads = 1,
            .v_heads = 1,
            .head_dim = 2,
            .rotary_dim = 2,
            .first_position = 1,
            .x_first = 1,
            .x_batch = 6,
            .x_row = 6,
            .k_first = 1,
            .v_first = 5,
            .out_batch = 4,
            .out_row = 4,
        };
        vkf_hand_run(VKF_OP_ROTARY, &args);
        vkf_hand_read(&args.x, out);
        for (int i = 1; i < 3; i++)
            out[i] *= normalised ? sqrtf(2.5f) : 1;
        assert_close(out, queries, 7, 1e-6, RTOL, "the query of a step");
        vkf_hand_read(&args.out, out);
        for (int i = 1; i < 3; i++)
            out[i] *= normalised ? sqrtf(12.5f) / 2 : 1;
        assert_close(out, keys, 7, 1e-6, RTOL, "the key and the value of a step");
    }
}

enum { HEADS = 2, DIM = 13, TURNED = 10, COUNT = HEADS * DIM };

static void turn_heads(const float *x, const float *table, bool inverse, float *out)
{
    const vkf__rotary_args args = {
        .label = "rotary",
        .x = floats(x, COUNT),
        .table = floats(table, TURNED),
        .batch = 1,
        .len = 1,
        .q_heads = HEADS,
        .head_dim = DIM,
        .rotary_dim = TURNED,
        .inverse = inverse,
    };
    vkf_hand_run(VKF_OP_ROTARY, &args);
    vkf_hand_read(&args.x, out);
}

// A rotation is linear, so that a difference is its slope. The bound is the rounding of 26 outputs below 4 to float32.
static void test_inverse_rotary_has_the_slope_of_differences(void **state)
{
    (void)state;
    float x[COUNT], dout[COUNT], dx[COUNT], above[COUNT], below[COUNT], slopes[COUNT] = {0}, table[TURNED];
    for (size_t i = 0; i < COUNT; i++) {
        x[i] = 0.11f * (float)i - 1.3f;
        dout[i] = 1 - 0.07f * (float)i;
    }
    for (size_t i = 0; i < TURNED / 2; i++) {
        table[i] = (float)cos(0.9 * (double)i + 0.3);
        table[TURNED / 2 + i] = (float)sin(0.9 * (double)i + 0.3);
    }
    turn_heads(dout, table, true, dx);
    for (size_t j = 0; j < COUNT; j++) {
        const float kept = x[j];
        x[j] = kept + 0.5f;
        turn_heads(x, table, false, above);
        x[j] = kept - 0.5f;
        turn_heads(x, table, false, below);
        x[j] = kept;
        for (size_t i = 0; i < COUNT; i++)
            slopes[j] += dout[i] * (above[i] - below[i]);
    }
    assert_close(dx, slopes, COUNT, 1e-5, 0, "the inverse rotation");
}

static void test_gate_by_hand(void **state)
{
    (void)state;
    const float x[] = {1, -2, 3, 4, -5, 6, 7, 8}; // (2, 4)
    const float expected[] = {3, 0, 0, 48};
    float out[4] = {0};
    const vkf__gate_args args = {"gate", floats(x, 8), floats(out, 4), 0, 2, 2, VKF_ACTIVATION_RELU};
    vkf_hand_run(VKF_OP_GATE, &args);
    vkf_hand_read(&args.out, out);
    assert_close(out, expected, 4, 0, 0, "gate");
}

typedef struct sample_case {
    struct vkf_sample_params params;
    const float *x; // (5)
    const uint32_t *seen;
} sample_case;

static void assert_probabilities(const sample_case *c, const double *expected, const char *what)
{
    const uint32_t spec[VKF_SAMPLE_SPEC_COUNT] = {[VKF_SAMPLE_SPEC_HAS_SEEN] = c->seen != NULL};
    const vkf__execution e = {
        .spec = spec,
        .params = &c->params,
        .operands = {{(uint8_t *)c->x, 5 * sizeof *c->x, VKF_DTYPE_F32},
                     {(uint8_t *)c->seen, sizeof *c->seen, VKF_DTYPE_I32}},
    };
    const uint32_t top = c->seen ? 3 : 1;
    double actual[5], sorted[5], margin = 1;
    vkf__sample_probabilities(&e, 0, top, actual, sorted, &margin);
    for (size_t i = 0; i < 5; i++)
        if (fabs(actual[i] - expected[i]) > 1e-6)
            fail_msg("%s: token %zu has %g, expected %g", what, i, actual[i], expected[i]);
}

static int32_t token_of(const sample_case *c, float temperature)
{
    int32_t token = 0;
    const vkf__sample_args args = {
        .label = "sample",
        .x = floats(c->x, 5),
        .seen = vkf_hand_operand(VKF_DTYPE_I32, c->seen, 1),
        .out = vkf_hand_operand(VKF_DTYPE_I32, &token, 1),
        .rows = 1,
        .cols = 5,
        .out_stride = 1,
        .temperature = temperature,
        .top_p = 1,
        .repetition_penalty = c->params.repetition_penalty,
    };
    vkf_hand_run(VKF_OP_SAMPLE, &args);
    vkf_hand_read(&args.out, &token);
    return token;
}

static void test_sample_probabilities_by_hand(void **state)
{
    (void)state;
    // Logarithms of 1, 8, 2, 4, 1: sixteenths.
    const float ln2 = 0.69314718f, x[] = {0, 3 * ln2, ln2, 2 * ln2, 0};
    const uint32_t seen = 1 << 1 | 1 << 2;
    sample_case c = {.params = {.cols = 5, .temperature = 1, .top_p = 1, .repetition_penalty = 1}, .x = x};
    assert_probabilities(&c, (const double[]){1. / 16, .5, .125, .25, 1. / 16}, "softmax");
    c.params.temperature = 0.5f;
    assert_probabilities(&c, (const double[]){1. / 86, 64. / 86, 4. / 86, 16. / 86, 1. / 86}, "temperature");
    c.params.temperature = 1;
    c.params.top_k = 2;
    assert_probabilities(&c, (const double[]){0, 2. / 3, 0, 1. / 3, 0}, "top-k");
    c.params.top_k = 4; // and a tie
    assert_probabilities(&c, (const double[]){1. / 16, .5, .125, .25, 1. / 16}, "top-k, tie");
    c.params.top_k = 0;
    c.params.top_p = 0.8f;
    assert_probabilities(&c, (const double[]){0, 8. / 14, 2. / 14, 4. / 14, 0}, "top-p");
    c.params.top_k = 2; // of two thirds and a third
    c.params.top_p = 0.6f;
    assert_probabilities(&c, (const double[]){0, 1, 0, 0, 0}, "top-p after top-k");
    c.params.top_k = 0;
    c.params.top_p = 1;
    c.params.min_p = 0.2f;
    assert_probabilities(&c, (const double[]){0, 8. / 14, 2. / 14, 4. / 14, 0}, "min-p");
    c.params.min_p = 0;
    c.seen = &seen;
    c.params.repetition_penalty = 3; // 8 becomes 2, and 2 its third root
    const double third = pow(2, 1. / 3), sum = 8 + third;
    assert_probabilities(&c, (const double[]){1 / sum, 2 / sum, third / sum, 4 / sum, 1 / sum}, "penalty");
    assert_int_equal(token_of(&c, 0), 3);
}

// An operand (batch, rows, cols, depth), 12 elements.
static void permute(uint32_t batch, uint32_t rows, uint32_t cols, uint32_t depth, const float *x, float *out)
{
    const vkf__permute_args args = {"permute", floats(x, 12), floats(x, 12), batch, rows, cols, depth};
    vkf_hand_run(VKF_OP_PERMUTE, &args);
    vkf_hand_read(&args.out, out);
}

static void test_permute_and_back(void **state)
{
    (void)state;
    const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; // (2, 2, 3, 1)
    const float expected[] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
    float out[12], back[12];
    permute(2, 2, 3, 1, x, out);
    assert_close(out, expected, 12, 0, 0, "permute");
    permute(2, 3, 2, 1, out, back);
    assert_close(back, x, 12, 0, 0, "permute back");
    const float pairs[] = {0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11};
    permute(1, 3, 2, 2, x, out);
    assert_close(out, pairs, 12, 0, 0, "permute with depth 2");
}

// out[o, r, c] = alpha x + beta out: rows of 5 out of rows of 7, into rows of 6 after 4 elements; or one row for all.
static void test_strided_copy_by_hand(void **state)
{
    (void)state;
    enum { X = 2 * 3 * 7, OUT = 4 + 2 * 3 * 6 };
    static const float factors[][2] = {{1, 0}, {0, 3}, {-1, 1}, {0.5f, -2}};
    float x[X], before[OUT], expected[OUT], out[OUT];
    for (size_t i = 0; i < 2 * COUNT_OF(factors); i++) {
        const float alpha = factors[i / 2][0], beta = factors[i / 2][1];
        const uint32_t x_outer = i % 2 ? 0 : 21, x_row = i % 2 ? 0 : 7;
        for (size_t k = 0; k < X; k++)
            x[k] = (float)(k * 5 % 19) - 9;
        for (size_t k = 0; k < OUT; k++)
            expected[k] = before[k] = (float)(k * 7 % 17) - 8;
        for (uint32_t k = 0; k < 2 * 3 * 5; k++) {
            const uint32_t o = k / 15, r = k / 5 % 3, c = k % 5, to = 4 + o * 18 + r * 6 + c;
            expected[to] = alpha * x[o * x_outer + r * x_row + c] + beta * expected[to];
        }
        const vkf__copy_args args = {
            .label = "copy",
            .x = floats(x, X),
            .out = floats(before, OUT),
            .outer = 2,
            .rows = 3,
            .cols = 5,
            .x_outer = x_outer,
            .x_row = x_row,
            .out_first = 4,
            .out_outer = 18,
            .out_row = 6,
            .alpha = alpha,
            .beta = beta,
        };
        vkf_hand_run(VKF_OP_COPY, &args);
        vkf_hand_read(&args.out, out);
        assert_close(out, expected, OUT, 0, 0, "strided copy");
    }
}

static void test_head_mean_by_hand(void **state)
{
    (void)state;
    const float x[] = {1, 2, 3, 7, 4, 5, 0, 8, 2, 4, 6, 8}, expected[] = {4, 3, 4, 2, 7, 5}; // (2, 2, 3)
    float out[6] = {0};
    const vkf__head_mean_args args = {
        .label = "mean", .x = floats(x, 12), .out = floats(out, 6), .batch = 2, .heads = 2, .plane = 3};
    vkf_hand_run(VKF_OP_HEAD_MEAN, &args);
    vkf_hand_read(&args.out, out);
    assert_close(out, expected, 6, 0, 0, "head mean");
}

// Three positions of two columns, of which two count, and of these the second alone from position 1 on.
static void test_pooling_by_hand(void **state)
{
    (void)state;
    const float x[] = {3, -4, 1, 8, 90, 90};
    const int32_t length = 2;
    const struct {
        vkf_pooling pooling;
        bool normalise;
        uint32_t first;
        float out[2];
    } rows[] = {
        {VKF_POOLING_MEAN, false, 0, {2, 2}},
        {VKF_POOLING_MEAN_SQRT, false, 0, {2.828427125f, 2.828427125f}},
        {VKF_POOLING_FIRST, false, 0, {3, -4}},
        {VKF_POOLING_FIRST, true, 0, {0.6f, -0.8f}},
        {VKF_POOLING_LAST, false, 0, {1, 8}},
        {VKF_POOLING_MAX, false, 0, {3, 8}},
        {VKF_POOLING_WEIGHTED_MEAN, false, 0, {5 / 3.f, 4}},
        {VKF_POOLING_MEAN, false, 1, {1, 8}},
        {VKF_POOLING_MEAN, false, 2, {0, 0}},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        float out[3] = {7, 7, 7};
        const vkf__pool_args args = {
            .label = "pool",
            .x = floats(x, 6),
            .lengths = vkf_hand_operand(VKF_DTYPE_I32, &length, 1),
            .out = floats(out, 3),
            .batch = 1,
            .len = 3,
            .dim = 2,
            .first = rows[i].first,
            .out_row = 3,
            .pooling = rows[i].pooling,
            .normalise = rows[i].normalise,
        };
        vkf_hand_run(VKF_OP_POOL, &args);
        vkf_hand_read(&args.out, out);
        assert_close(out, rows[i].out, 2, ATOL, RTOL, "pooling");
        assert_true(out[2] == 7);
    }
}

static void test_top_by_hand(void **state)
{
    (void)state;
    // Logarithms of 1, 2, 4, 1: eighths. A penalty a little beyond 2 puts what was seen behind its equal.
    const float ln2 = 0.69314718f, x[] = {0, ln2, 2 * ln2, 0};
    const float plain[] = {2, -ln2, 1, -2 * ln2, 0, -3 * ln2}, penalised[] = {1, -2 * ln2, 2, -2 * ln2, 0, -3 * ln2};
    const uint32_t seen = 1 << 2;
    for (int way = 0; way < 2; way++) {
        float out[6] = {0};
        const vkf__top_args args = {
            .label = "top",
            .x = floats(x, 4),
            .seen = vkf_hand_operand(VKF_DTYPE_I32, &seen, 1),
            .out = floats(out, 6),
            .rows = 1,
            .cols = 4,
            .k = 3,
            .repetition_penalty = way ? 2.000001f : 1,
        };
        vkf_hand_run(VKF_OP_TOP, &args);
        vkf_hand_read(&args.out, out);
        assert_close(out, way ? penalised : plain, 6, 1e-5, 1e-5, "top");
    }
}

static void test_embed_with_positions_and_unknown_ids(void **state)
{
    (void)state;
    const int32_t ids[] = {2, -1, 0, 3}; // (2, 2); the table has 3 rows
    const float table[] = {1, 2, 3, 4, 5, 6};
    const float positions[] = {90, 90, 10, 20, 30, 40};
    const float expected[] = {20, 32, 30, 40, 12, 24, 30, 40}; // 2 * (5, 6) + (10, 20), ...
    const float plain[] = {10, 12, 0, 0, 2, 4, 0, 0};
    float out[8] = {0};
    for (int plainly = 0; plainly < 2; plainly++) {
        const vkf__embed_args args = {
            .label = "embed",
            .ids = vkf_hand_operand(VKF_DTYPE_I32, ids, 4),
            .table = floats(table, 6),
            .positions = floats(plainly ? NULL : positions, 6),
            .out = floats(out, 8),
            .batch = 2,
            .len = 2,
            .dim = 2,
            .vocab = 3,
            .ids_stride = 2,
            .first_position = 1,
            .scale = 2,
        };
        vkf_hand_run(VKF_OP_EMBED, &args);
        vkf_hand_read(&args.out, out);
        assert_close(out, plainly ? plain : expected, 8, 0, 0, plainly ? "embed" : "embed with positions");
    }
}

static void test_additive_scores_by_hand(void **state)
{
    (void)state;
    const float query[] = {1, 0, -1, 5};             // (2, 1, 2)
    const float key[] = {0, 0, -1, 0, 1, -5, 0, -5}; // (2, 2, 2)
    const float v[] = {2, 3};
    // 2 tanh(1) + 3 tanh(0); 2 tanh(0); 2 tanh(0) + 3 tanh(0); 2 tanh(-1)
    const float expected[] = {1.523188312f, 0, 0, -1.523188312f};
    float out[4] = {0};
    const vkf__additive_args args = {
        "additive", floats(query, 4), floats(key, 8), floats(v, 2), floats(out, 4), 2, 1, 2, 2};
    vkf_hand_run(VKF_OP_ADDITIVE_SCORES, &args);
    vkf_hand_read(&args.out, out);
    assert_close(out, expected, 4, ATOL, RTOL, "additive scores");
}

static void test_argmax_ties_and_nan(void **state)
{
    (void)state;
    const float x[] = {
        1,         3,         3,         2,         // the lowest of equals
        -5,        -2,        -4,        -3,        //
        INFINITY,  NAN,       9,         NAN,       // NaN is largest
        -INFINITY, -INFINITY, -INFINITY, -INFINITY, //
        -0.f,      0.f,       -1,        -1,        // zeros are equal
    };
    const int32_t expected[] = {1, 1, 1, 0, 0};
    int32_t out[5] = {0};
    const vkf__argmax_args args = {
        .label = "argmax",
        .x = floats(x, 20),
        .out = vkf_hand_operand(VKF_DTYPE_I32, out, 5),
        .rows = 5,
        .cols = 4,
        .out_stride = 1,
    };
    vkf_hand_run(VKF_OP_ARGMAX, &args);
    vkf_hand_read(&args.out, out);
    assert_memory_equal(out, expected, sizeof expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_activation_known_values),
        cmocka_unit_test(test_gemm_transposes),
        cmocka_unit_test(test_gemm_rectangular),
        cmocka_unit_test(test_gemm_epilogue),
        cmocka_unit_test(test_gemm_zero_factors_read_nothing),
        cmocka_unit_test(test_gemm_heads_in_place),
        cmocka_unit_test(test_layer_norm_by_hand),
        cmocka_unit_test(test_layer_norm_residuals),
        cmocka_unit_test(test_layer_norm_with_a_large_mean),
        cmocka_unit_test(test_rms_norm_by_hand),
        cmocka_unit_test(test_rotary_by_hand),
        cmocka_unit_test(test_rotary_of_a_step_by_hand),
        cmocka_unit_test(test_inverse_rotary_has_the_slope_of_differences),
        cmocka_unit_test(test_gate_by_hand),
        cmocka_unit_test(test_sample_probabilities_by_hand),
        cmocka_unit_test(test_permute_and_back),
        cmocka_unit_test(test_strided_copy_by_hand),
        cmocka_unit_test(test_head_mean_by_hand),
        cmocka_unit_test(test_pooling_by_hand),
        cmocka_unit_test(test_top_by_hand),
        cmocka_unit_test(test_embed_with_positions_and_unknown_ids),
        cmocka_unit_test(test_additive_scores_by_hand),
        cmocka_unit_test(test_argmax_ties_and_nan),
    };
    return cmocka_run_group_tests(tests, vkf_hand_setup, vkf_hand_teardown);
}
