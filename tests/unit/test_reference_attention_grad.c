// The gradients of attention by the reference against central differences of its forward pass in double, under every
// kind of mask.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "reference/reference.h"
#include "support/random.h"

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, Q_LEN = 5, K_LEN = 7, WIDTH = 3, V_WIDTH = 2 };
enum {
    QUERIES = BATCH * HEADS * Q_LEN * WIDTH,
    KEYS = BATCH * KV_HEADS * K_LEN * WIDTH,
    VALUES = BATCH * KV_HEADS * K_LEN * V_WIDTH,
    OUTS = BATCH * HEADS * Q_LEN * V_WIDTH,
    SCORES = BATCH * HEADS * Q_LEN * K_LEN,
};

// The step is a power of two, and all values are multiples of GRAIN, so that neither they nor scores are rounded.
#define STEP 0x1p-10f
#define GRAIN 0x1p-4f

typedef struct bed {
    float q[QUERIES], k[KEYS], v[VALUES], dout[OUTS], out[OUTS], scores[SCORES];
    float additive[HEADS * Q_LEN * K_LEN];
    uint8_t hidden[BATCH * K_LEN];
    int32_t lengths[BATCH];
    double dq[QUERIES], dk[KEYS], dv[VALUES], dbias[HEADS * Q_LEN * K_LEN], scratch[2 * K_LEN];
} bed;

static void fill(vkf_test_random *random, float *values, size_t count)
{
    vkf_test_fill_integers(random, values, count, -32, 32);
    for (size_t i = 0; i < count; i++)
        values[i] *= GRAIN;
}

static bed *make_bed(void)
{
    vkf_test_random random;
    bed *b = calloc(1, sizeof *b);
    assert_non_null(b);
    vkf_test_random_init(&random, 20261126);
    fill(&random, b->q, QUERIES);
    fill(&random, b->k, KEYS);
    fill(&random, b->v, VALUES);
    fill(&random, b->dout, OUTS);
    fill(&random, b->additive, HEADS * Q_LEN * K_LEN);
    for (size_t i = 0; i < HEADS * Q_LEN * K_LEN; i++)
        b->additive[i] = i % 3 == 1 || i < K_LEN ? -INFINITY : b->additive[i];
    vkf_test_fill_bools(&random, b->hidden, BATCH * K_LEN, 0.4);
    b->lengths[1] = K_LEN - 2;
    return b;
}

static vkf__ref_layout layout_of(size_t heads, size_t length, size_t width)
{
    return (vkf__ref_layout){.row = width, .outer = heads * length * width, .inner = length * width};
}

static vkf__ref_sdpa_grad_desc desc_of(bed *b)
{
    return (vkf__ref_sdpa_grad_desc){
        .forward = {.softmax = {.batch = BATCH,
                                .heads = HEADS,
                                .q_len = Q_LEN,
                                .k_len = K_LEN,
                                .mask_cols = K_LEN,
                                .out = b->scores,
                                .scale = 0.75f},
                    .kv_heads = KV_HEADS,
                    .head_dim = WIDTH,
                    .v_head_dim = V_WIDTH,
                    .query = b->q,
                    .key = b->k,
                    .value = b->v,
                    .out = b->out,
                    .q_layout = layout_of(HEADS, Q_LEN, WIDTH),
                    .k_layout = layout_of(KV_HEADS, K_LEN, WIDTH),
                    .v_layout = layout_of(KV_HEADS, K_LEN, V_WIDTH),
                    .out_layout = layout_of(HEADS, Q_LEN, V_WIDTH)},
        .dout = b->dout,
        .dq = b->dq,
        .dk = b->dk,
        .dv = b->dv,
        .dbias = b->dbias,
        .scratch = b->scratch,
    };
}

// A central difference errs by STEP^2 / 6 = 1.6e-7 times a third derivative, here below 60.
static void check_differences(const vkf__ref_sdpa_grad_desc *desc, float *values, const double *grads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const float value = values[i];
        values[i] = value + STEP;
        const double above = vkf__ref_sdpa_product(desc);
        values[i] = value - STEP;
        const double below = vkf__ref_sdpa_product(desc);
        values[i] = value;
        const double difference = (above - below) / (2.0 * STEP);
        if (!(fabs(difference - grads[i]) <= 1e-5))
            fail_msg("element %zu of %zu: %.9g, and %.9g by differences", i, count, grads[i], difference);
    }
}

static void check_sum(const vkf__ref_sdpa_grad_desc *desc)
{
    double sum = 0;
    for (size_t i = 0; i < OUTS; i++)
        sum += (double)desc->dout[i] * desc->forward.out[i];
    assert_true(fabs(sum - vkf__ref_sdpa_product(desc)) <= 1e-5);
}

// The output of either forward pass, whose elements are rounded, makes the same sum.
static void check_product(const vkf__ref_sdpa_grad_desc *desc)
{
    float row_stats[2 * BATCH * HEADS * Q_LEN];
    if (desc->dropout.p == 0) {
        vkf__ref_sdpa(&desc->forward);
        check_sum(desc);
    }
    vkf__ref_sdpa_train(desc, row_stats);
    check_sum(desc);
}

static void check(bed *b, const vkf__ref_sdpa_grad_desc *desc)
{
    check_product(desc);
    vkf__ref_sdpa_grad(desc);
    check_differences(desc, b->q, b->dq, QUERIES);
    check_differences(desc, b->k, b->dk, KEYS);
    check_differences(desc, b->v, b->dv, VALUES);
    if (desc->forward.softmax.mask)
        check_differences(desc, b->additive, b->dbias, HEADS * Q_LEN * K_LEN);
    free(b);
}

static void test_grad_without_masks(void **state)
{
    (void)state;
    bed *b = make_bed();
    const vkf__ref_sdpa_grad_desc desc = desc_of(b);
    check(b, &desc);
}

// The first row of every head sees no key.
static void test_grad_with_additive_mask(void **state)
{
    (void)state;
    bed *b = make_bed();
    vkf__ref_sdpa_grad_desc desc = desc_of(b);
    desc.forward.softmax.mask_kind = VKF_MASK_ADDITIVE;
    desc.forward.softmax.mask = b->additive;
    desc.forward.softmax.mask_head = Q_LEN * K_LEN;
    desc.forward.softmax.mask_row = K_LEN;
    check(b, &desc);
}

static void test_grad_with_hidden_keys(void **state)
{
    (void)state;
    bed *b = make_bed();
    vkf__ref_sdpa_grad_desc desc = desc_of(b);
    desc.forward.softmax.key_mask_kind = VKF_MASK_BOOL_EXCLUDE;
    desc.forward.softmax.key_mask = b->hidden;
    check(b, &desc);
}

// No query of the first batch entry sees a key.
static void test_grad_with_lengths(void **state)
{
    (void)state;
    bed *b = make_bed();
    vkf__ref_sdpa_grad_desc desc = desc_of(b);
    desc.forward.softmax.key_mask_kind = VKF_MASK_LENGTHS;
    desc.forward.softmax.key_mask = b->lengths;
    check(b, &desc);
}

static void test_grad_with_causal_mask_and_window(void **state)
{
    (void)state;
    bed *b = make_bed();
    vkf__ref_sdpa_grad_desc desc = desc_of(b);
    desc.forward.softmax.causal = true;
    desc.forward.softmax.causal_offset = K_LEN - Q_LEN - 3;
    desc.forward.softmax.window = 3;
    check(b, &desc);
}

static void test_grad_with_dropout(void **state)
{
    (void)state;
    bed *b = make_bed();
    vkf__ref_sdpa_grad_desc desc = desc_of(b);
    desc.dropout = (vkf__ref_weight_dropout){.p = 0.4, .seed = UINT64_C(0x123456789abcdef), .stream = 2, .step = 7};
    desc.forward.softmax.key_mask_kind = VKF_MASK_LENGTHS;
    desc.forward.softmax.key_mask = b->lengths;
    check(b, &desc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grad_without_masks),
        cmocka_unit_test(test_grad_with_additive_mask),
        cmocka_unit_test(test_grad_with_hidden_keys),
        cmocka_unit_test(test_grad_with_lengths),
        cmocka_unit_test(test_grad_with_causal_mask_and_window),
        cmocka_unit_test(test_grad_with_dropout),
    };
    return cmocka_run_group_tests_name("reference_attention_grad", tests, NULL, NULL);
}
