// The scalar reference against numbers worked out by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "reference/reference.h"
#include "support/compare.h"

#define ATOL 1e-7
#define RTOL 1e-6

static void test_activation_known_values(void **state)
{
    (void)state;
    // GELU(1) is the normal distribution function at 1; SiLU(1) is 1 / (1 + 1/e).
    const float expected[VKF_ACTIVATION_COUNT] = {1, 1, 0.841344746f, 0.841191991f, 0.731058579f, 0.761594156f, 1};
    for (int i = 0; i < VKF_ACTIVATION_COUNT; i++) {
        float at_one = (float)vkf__ref_activation((vkf_activation)i, 1);
        assert_close(&at_one, &expected[i], 1, ATOL, 0, "activation of 1");
        assert_true(vkf__ref_activation((vkf_activation)i, 0) == 0);
        assert_true(isnan(vkf__ref_activation((vkf_activation)i, NAN)));
    }
    assert_true(vkf__ref_activation(VKF_ACTIVATION_RELU, -3) == 0);
    assert_true(vkf__ref_activation(VKF_ACTIVATION_NONE, -3) == -3);
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
        vkf__ref_gemm(&(vkf__ref_gemm_desc){.m = 2,
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
    vkf__ref_gemm(&(vkf__ref_gemm_desc){.m = 1, .n = 2, .k = 3, .batch = 1, .a = a, .b = b, .out = out, .alpha = 1});
    assert_close(out, expected, 2, 0, 0, "b as (k, n)");
    vkf__ref_gemm(&(vkf__ref_gemm_desc){.m = 1,
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
    vkf__ref_gemm(&(vkf__ref_gemm_desc){.m = 2,
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
    vkf__ref_gemm(&(vkf__ref_gemm_desc){
        .m = 1, .n = 1, .k = 1, .batch = 1, .a = bad, .b = bad, .c = three, .out = out, .alpha = 0, .beta = 1});
    assert_true(out[0] == 3);
    vkf__ref_gemm(&(vkf__ref_gemm_desc){
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
    vkf__ref_gemm(&(vkf__ref_gemm_desc){.m = 1,
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
    vkf__ref_gemm(&(vkf__ref_gemm_desc){.m = 1,
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
    vkf__ref_layer_norm_desc desc = {.rows = 1, .dim = 4, .x = x, .out = out, .eps = 0.3125f};
    vkf__ref_layer_norm(&desc);
    assert_close(out, plain, 4, ATOL, RTOL, "layer norm");
    desc.weight = weight;
    desc.bias = bias;
    vkf__ref_layer_norm(&desc);
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
    vkf__ref_layer_norm_desc desc = {.rows = 2,
                                     .dim = 4,
                                     .x = x,
                                     .residual = residual,
                                     .out = out,
                                     .eps = 0.3125f,
                                     .residual_order = VKF_RESIDUAL_BEFORE};
    vkf__ref_layer_norm(&desc);
    assert_close(out, before, 4, ATOL, RTOL, "residual before");
    desc.residual_order = VKF_RESIDUAL_AFTER;
    vkf__ref_layer_norm(&desc);
    assert_close(out + 4, after, 4, 1e-6, RTOL, "residual after (10, -1.2 + 10 and so on)");
}

static void test_layer_norm_with_a_large_mean(void **state)
{
    (void)state;
    const float x[] = {1e6f + 1, 1e6f + 2, 1e6f + 3, 1e6f + 4};
    const float expected[] = {-1.2f, -.4f, .4f, 1.2f};
    float out[4];
    vkf__ref_layer_norm(&(vkf__ref_layer_norm_desc){.rows = 1, .dim = 4, .x = x, .out = out, .eps = 0.3125f});
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
    vkf__ref_layer_norm_desc desc = {.rows = 2, .dim = 4, .x = x, .out = out, .rms = true};
    vkf__ref_layer_norm(&desc);
    assert_close(out, plain, 8, ATOL, RTOL, "RMS norm");
    desc.weight = weight;
    desc.bias = bias;
    vkf__ref_layer_norm(&desc);
    assert_close(out, affine, 8, ATOL, RTOL, "RMS norm, weight and bias");
    desc.eps = 6;
    desc.bias = NULL;
    vkf__ref_layer_norm(&desc);
    assert_close(out, &(const float){1 / 3.5f}, 1, ATOL, RTOL, "RMS norm, eps");
}

static void test_rotary_by_hand(void **state)
{
    (void)state;
    // Two positions of one head of five, four of them turned: by 90 and 0 degrees, then by 180 and the angle of (3, 4).
    const float x[] = {1, 2, 3, 4, 5, 1, 2, 3, 4, 5};
    const float table[] = {9, 9, 9, 9, 0, 1, 1, 0, -1, .6f, 0, .8f};
    const float turned[] = {-3, 2, 1, 4, 5, -1, -2, -3, 4, 5};
    float out[10];
    vkf__ref_rotary_desc desc = {.batch = 1,
                                 .len = 2,
                                 .heads = 1,
                                 .head_dim = 5,
                                 .rotary_dim = 4,
                                 .first_position = 1,
                                 .x = x,
                                 .table = table,
                                 .x_row = 5,
                                 .out_row = 5,
                                 .out = out};
    vkf__ref_rotary(&desc);
    assert_close(out, turned, 10, 1e-6, RTOL, "rotary");
    const float weight[] = {1, 1, 1, 1, 2};
    const float normal[] = {1, 2, 3, 4, 10}; // over the root of the mean square, 11
    desc.table = NULL;
    desc.weight = weight;
    vkf__ref_rotary(&desc);
    for (size_t i = 0; i < 5; i++)
        out[i] *= sqrtf(11);
    assert_close(out, normal, 5, 1e-6, 1e-6, "a normalised head");
}

static void test_gate_by_hand(void **state)
{
    (void)state;
    const float x[] = {1, -2, 3, 4, -5, 6, 7, 8}; // (2, 4)
    const float expected[] = {3, 0, 0, 48};
    float out[4];
    vkf__ref_gate(2, 2, VKF_ACTIVATION_RELU, x, out);
    assert_close(out, expected, 4, 0, 0, "gate");
}

static void assert_probabilities(const vkf__ref_sample_desc *desc, const double *expected, const char *what)
{
    double actual[5], sorted[5];
    vkf__ref_sample_probabilities(desc, actual, sorted);
    for (size_t i = 0; i < 5; i++)
        if (fabs(actual[i] - expected[i]) > 1e-6)
            fail_msg("%s: token %zu has %g, expected %g", what, i, actual[i], expected[i]);
}

static void test_sample_probabilities_by_hand(void **state)
{
    (void)state;
    // Logarithms of 1, 8, 2, 4, 1: sixteenths.
    const float ln2 = 0.69314718f, x[] = {0, 3 * ln2, ln2, 2 * ln2, 0};
    const uint32_t seen = 1 << 1 | 1 << 2;
    vkf__ref_sample_desc desc = {.cols = 5, .x = x, .temperature = 1, .top_p = 1, .repetition_penalty = 1};
    assert_probabilities(&desc, (const double[]){1. / 16, .5, .125, .25, 1. / 16}, "softmax");
    desc.temperature = 0.5f;
    assert_probabilities(&desc, (const double[]){1. / 86, 64. / 86, 4. / 86, 16. / 86, 1. / 86}, "temperature");
    desc.temperature = 1;
    desc.top_k = 2;
    assert_probabilities(&desc, (const double[]){0, 2. / 3, 0, 1. / 3, 0}, "top-k");
    desc.top_k = 4; // and a tie
    assert_probabilities(&desc, (const double[]){1. / 16, .5, .125, .25, 1. / 16}, "top-k, tie");
    desc.top_k = 0;
    desc.top_p = 0.8f;
    assert_probabilities(&desc, (const double[]){0, 8. / 14, 2. / 14, 4. / 14, 0}, "top-p");
    desc.top_k = 2; // of two thirds and a third
    desc.top_p = 0.6f;
    assert_probabilities(&desc, (const double[]){0, 1, 0, 0, 0}, "top-p after top-k");
    desc.top_k = 0;
    desc.top_p = 1;
    desc.min_p = 0.2f;
    assert_probabilities(&desc, (const double[]){0, 8. / 14, 2. / 14, 4. / 14, 0}, "min-p");
    desc.min_p = 0;
    desc.seen = &seen;
    desc.repetition_penalty = 3; // 8 becomes 2, and 2 its third root
    const double third = pow(2, 1. / 3), sum = 8 + third;
    assert_probabilities(&desc, (const double[]){1 / sum, 2 / sum, third / sum, 4 / sum, 1 / sum}, "penalty");
    desc.temperature = 0;
    assert_probabilities(&desc, (const double[]){0, 0, 0, 1, 0}, "temperature 0");
}

static void test_permute_and_back(void **state)
{
    (void)state;
    const float x[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}; // (2, 2, 3, 1)
    const float expected[] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
    float out[12], back[12];
    vkf__ref_permute(2, 2, 3, 1, x, out);
    assert_close(out, expected, 12, 0, 0, "permute");
    vkf__ref_permute(2, 3, 2, 1, out, back);
    assert_close(back, x, 12, 0, 0, "permute back");
    const float pairs[] = {0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11};
    vkf__ref_permute(1, 3, 2, 2, x, out);
    assert_close(out, pairs, 12, 0, 0, "permute with depth 2");
}

static void test_embed_with_positions_and_unknown_ids(void **state)
{
    (void)state;
    const int32_t ids[] = {2, -1, 0, 3}; // (2, 2); the table has 3 rows
    const float table[] = {1, 2, 3, 4, 5, 6};
    const float positions[] = {90, 90, 10, 20, 30, 40};
    const float expected[] = {20, 32, 30, 40, 12, 24, 30, 40}; // 2 * (5, 6) + (10, 20), ...
    const float plain[] = {10, 12, 0, 0, 2, 4, 0, 0};
    float out[8];
    vkf__ref_embed_desc desc = {.batch = 2,
                                .len = 2,
                                .dim = 2,
                                .vocab = 3,
                                .ids = ids,
                                .table = table,
                                .positions = positions,
                                .first_position = 1,
                                .scale = 2,
                                .out = out};
    vkf__ref_embed(&desc);
    assert_close(out, expected, 8, 0, 0, "embed with positions");
    desc.positions = NULL;
    vkf__ref_embed(&desc);
    assert_close(out, plain, 8, 0, 0, "embed");
}

static void test_additive_scores_by_hand(void **state)
{
    (void)state;
    const float query[] = {1, 0, -1, 5};             // (2, 1, 2)
    const float key[] = {0, 0, -1, 0, 1, -5, 0, -5}; // (2, 2, 2)
    const float v[] = {2, 3};
    // 2 tanh(1) + 3 tanh(0); 2 tanh(0); 2 tanh(0) + 3 tanh(0); 2 tanh(-1)
    const float expected[] = {1.523188312f, 0, 0, -1.523188312f};
    float out[4];
    vkf__ref_additive_scores(2, 1, 2, 2, query, key, v, out);
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
    int32_t out[5];
    vkf__ref_argmax(5, 4, x, out);
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
        cmocka_unit_test(test_gate_by_hand),
        cmocka_unit_test(test_sample_probabilities_by_hand),
        cmocka_unit_test(test_permute_and_back),
        cmocka_unit_test(test_embed_with_positions_and_unknown_ids),
        cmocka_unit_test(test_additive_scores_by_hand),
        cmocka_unit_test(test_argmax_ties_and_nan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
