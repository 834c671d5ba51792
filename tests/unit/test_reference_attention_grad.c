// The references of attention for training and of its gradients against central differences of attention in double,
// under every kind of mask.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/philox.h"
#include "op/train/attention_grad.h"
#include "op/train/dropout.h"
#include "support/by_hand.h"
#include "support/random.h"

enum { BATCH = 2, HEADS = 4, KV_HEADS = 2, Q_LEN = 5, K_LEN = 7, WIDTH = 3, V_WIDTH = 2 };
enum {
    QUERIES = BATCH * HEADS * Q_LEN * WIDTH,
    KEYS = BATCH * KV_HEADS * K_LEN * WIDTH,
    VALUES = BATCH * KV_HEADS * K_LEN * V_WIDTH,
    OUTS = BATCH * HEADS * Q_LEN * V_WIDTH,
};

// The step is a power of two, and all values are multiples of GRAIN, so that neither they nor scores are rounded.
#define STEP 0x1p-10f
#define GRAIN 0x1p-4f
#define SCALE 0.75f

typedef struct fixture {
    float q[QUERIES], k[KEYS], v[VALUES], dout[OUTS];
    float additive[HEADS * Q_LEN * K_LEN];
    float slopes[HEADS], sinks[HEADS];
    uint8_t hidden[BATCH * K_LEN];
    int32_t lengths[BATCH];
    // What is asked for:
    vkf_mask_kind mask_kind, key_mask_kind;
    bool causal;
    int32_t causal_offset;
    uint32_t window;
    vkf__attention_dropout dropout;
    float soft_cap;
    bool sloped, sunk;
} fixture;

static void fill(vkf_test_random *random, float *values, size_t count)
{
    vkf_test_fill_integers(random, values, count, -32, 32);
    for (size_t i = 0; i < count; i++)
        values[i] *= GRAIN;
}

static fixture *make_fixture(void)
{
    vkf_test_random random;
    fixture *b = calloc(1, sizeof *b);
    assert_non_null(b);
    vkf_test_random_init(&random, 20261126);
    fill(&random, b->q, QUERIES);
    fill(&random, b->k, KEYS);
    fill(&random, b->v, VALUES);
    fill(&random, b->dout, OUTS);
    fill(&random, b->additive, HEADS * Q_LEN * K_LEN);
    for (size_t i = 0; i < HEADS * Q_LEN * K_LEN; i++)
        b->additive[i] = i % 3 == 1 || i < K_LEN ? -INFINITY : b->additive[i];
    fill(&random, b->slopes, HEADS);
    fill(&random, b->sinks, HEADS);
    vkf_test_fill_bools(&random, b->hidden, BATCH * K_LEN, 0.4);
    b->lengths[1] = K_LEN - 2;
    return b;
}

static vkf__heads_span heads_of(const float *values, uint32_t heads, uint32_t length, uint32_t width)
{
    return (vkf__heads_span){
        .span = vkf_hand_operand(VKF_DTYPE_F32, values, (size_t)BATCH * heads * length * width),
        .batch_stride = heads * length * width,
        .row_stride = width,
        .head_stride = length * width,
    };
}

// Operands that are written begin as something.
static vkf__attention_args forward_of(const fixture *b)
{
    const bool lengths = b->key_mask_kind == VKF_MASK_LENGTHS, hidden = b->key_mask_kind == VKF_MASK_BOOL_EXCLUDE;
    return (vkf__attention_args){
        .label = "attention",
        .q = heads_of(b->q, HEADS, Q_LEN, WIDTH),
        .k = heads_of(b->k, KV_HEADS, K_LEN, WIDTH),
        .v = heads_of(b->v, KV_HEADS, K_LEN, V_WIDTH),
        .out = heads_of(b->dout, HEADS, Q_LEN, V_WIDTH),
        .masks.mask = vkf_hand_operand(VKF_DTYPE_F32, b->mask_kind ? b->additive : NULL, HEADS * Q_LEN * K_LEN),
        .masks.key_mask = lengths ? vkf_hand_operand(VKF_DTYPE_I32, b->lengths, BATCH)
                                  : vkf_hand_operand(VKF_DTYPE_BOOL, hidden ? b->hidden : NULL, BATCH * K_LEN),
        .masks.slopes = vkf_hand_operand(VKF_DTYPE_F32, b->sloped ? b->slopes : NULL, HEADS),
        .masks.sinks = vkf_hand_operand(VKF_DTYPE_F32, b->sunk ? b->sinks : NULL, HEADS),
        .masks.kind = b->mask_kind,
        .masks.key_kind = b->key_mask_kind,
        .batch = BATCH,
        .heads = HEADS,
        .kv_heads = KV_HEADS,
        .q_len = Q_LEN,
        .k_len = K_LEN,
        .head_dim = WIDTH,
        .v_head_dim = V_WIDTH,
        .masks.cols = K_LEN,
        .masks.head = Q_LEN * K_LEN,
        .masks.row = K_LEN,
        .masks.key_batch = lengths ? 1 : K_LEN,
        .masks.causal = b->causal,
        .masks.causal_offset = b->causal_offset,
        .masks.window = b->window,
        .masks.scale = SCALE,
        .masks.soft_cap = b->soft_cap,
    };
}

static double dot(const float *x, const float *y, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)x[i] * (double)y[i];
    return sum;
}

static bool is_seen(const fixture *b, uint32_t batch, int32_t l, int32_t s)
{
    const int32_t position = l + b->causal_offset;
    return !(b->causal && s > position) && !(b->window > 0 && s + (int32_t)b->window <= position) &&
           !(b->key_mask_kind == VKF_MASK_LENGTHS && s >= b->lengths[batch]) &&
           !(b->key_mask_kind == VKF_MASK_BOOL_EXCLUDE && b->hidden[batch * K_LEN + (uint32_t)s]);
}

static double kept(const fixture *b, uint32_t row, uint32_t s)
{
    const vkf__attention_dropout *d = &b->dropout;
    const uint32_t counter[4] = {s / 4, row, d->stream, d->step};
    const uint32_t seed[2] = {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)};
    uint32_t words[4];
    vkf__philox(counter, seed, words);
    return d->p > 0 && words[s % 4] < vkf__dropout_threshold(d->p) ? 0 : (double)vkf__dropout_scale(d->p);
}

// What a mask adds to a score, or the distance of its key.
static double added_by_slope(const fixture *b, uint32_t h, double bias, double distance)
{
    if (!b->sloped)
        return bias;
    return (double)b->slopes[h] * (b->mask_kind ? bias : -fabs(distance));
}

// The sum of a row's output, weighed by its gradient, from the definition of attention.
static double row_product(const fixture *b, uint32_t row)
{
    const uint32_t l = row % Q_LEN, h = row / Q_LEN % HEADS, batch = row / Q_LEN / HEADS;
    const uint32_t first_key = (batch * KV_HEADS + h / (HEADS / KV_HEADS)) * K_LEN;
    double total = b->sunk ? exp((double)b->sinks[h]) : 0, sum = 0;
    for (uint32_t s = 0; s < K_LEN; s++) {
        const double bias = b->mask_kind ? (double)b->additive[(h * Q_LEN + l) * K_LEN + s] : 0;
        const double score =
            (double)SCALE * dot(b->q + (size_t)row * WIDTH, b->k + (size_t)(first_key + s) * WIDTH, WIDTH);
        const double capped = b->soft_cap > 0 ? b->soft_cap * tanh(score / b->soft_cap) : score;
        const double added = bias == -INFINITY ? bias : added_by_slope(b, h, bias, (double)s - l);
        const double weight = is_seen(b, batch, (int32_t)l, (int32_t)s) ? exp(capped + added) : 0;
        total += weight;
        sum += weight * kept(b, row, s) *
               dot(b->dout + (size_t)row * V_WIDTH, b->v + (size_t)(first_key + s) * V_WIDTH, V_WIDTH);
    }
    return total > 0 ? sum / total : 0;
}

static double product(const fixture *b)
{
    double sum = 0;
    for (uint32_t row = 0; row < BATCH * HEADS * Q_LEN; row++)
        sum += row_product(b, row);
    return sum;
}

// A central difference errs by STEP^2 / 6 = 1.6e-7 times a third derivative, here below 60.
static void check_differences(const fixture *b, float *values, const vkf__heads_span *grads, size_t count)
{
    float read[QUERIES + KEYS];
    assert_true(count <= sizeof read / sizeof *read);
    vkf_hand_read(&grads->span, read);
    for (size_t i = 0; i < count; i++) {
        const float value = values[i];
        values[i] = value + STEP;
        const double above = product(b);
        values[i] = value - STEP;
        const double below = product(b);
        values[i] = value;
        const double difference = (above - below) / (2.0 * (double)STEP);
        if (!(fabs(difference - (double)read[i]) <= 1e-5))
            fail_msg("element %zu of %zu: %.9g, and %.9g by differences", i, count, (double)read[i], difference);
    }
}

// The output, whose elements are rounded, makes the same sum.
static void check_sum(const fixture *b, const vkf__heads_span *span)
{
    float out[OUTS];
    vkf_hand_read(&span->span, out);
    assert_true(fabs(dot(b->dout, out, OUTS) - product(b)) <= 1e-5);
}

static void check(fixture *b)
{
    vkf__attention_grad_args args = {
        .label = "gradients",
        .forward = forward_of(b),
        .dropout = b->dropout,
        .row_stats = vkf_hand_operand(VKF_DTYPE_F32, b->q, 2 * BATCH * HEADS * Q_LEN),
        .dout = heads_of(b->dout, HEADS, Q_LEN, V_WIDTH),
        .dq = heads_of(b->q, HEADS, Q_LEN, WIDTH),
        .dk = heads_of(b->k, KV_HEADS, K_LEN, WIDTH),
        .dv = heads_of(b->v, KV_HEADS, K_LEN, V_WIDTH),
    };
    if (b->sunk)
        args.dsinks = vkf_hand_operand(VKF_DTYPE_F32, b->sinks, HEADS);
    const vkf__attention_train_args train = {args.forward, args.dropout, args.row_stats};
    if (b->mask_kind)
        args.dbias = (vkf__heads_span){vkf_hand_operand(VKF_DTYPE_F32, b->additive, HEADS * Q_LEN * K_LEN), 0, K_LEN,
                                       Q_LEN * K_LEN};
    if (b->dropout.p == 0) {
        vkf_hand_run(VKF_OP_ATTENTION, &args.forward);
        check_sum(b, &args.forward.out);
    }
    vkf_hand_run(VKF_OP_ATTENTION_TRAIN, &train);
    check_sum(b, &args.forward.out);
    vkf_hand_run(VKF_OP_ATTENTION_GRAD, &args);
    check_differences(b, b->q, &args.dq, QUERIES);
    check_differences(b, b->k, &args.dk, KEYS);
    check_differences(b, b->v, &args.dv, VALUES);
    if (b->mask_kind)
        check_differences(b, b->additive, &args.dbias, HEADS * Q_LEN * K_LEN);
    if (b->sunk)
        check_differences(b, b->sinks, &(vkf__heads_span){.span = args.dsinks}, HEADS);
    free(b);
}

static void test_grad_without_masks(void **state)
{
    (void)state;
    check(make_fixture());
}

// The first row of every head sees no key.
static void test_grad_with_additive_mask(void **state)
{
    (void)state;
    fixture *b = make_fixture();
    b->mask_kind = VKF_MASK_ADDITIVE;
    check(b);
}

static void test_grad_with_hidden_keys(void **state)
{
    (void)state;
    fixture *b = make_fixture();
    b->key_mask_kind = VKF_MASK_BOOL_EXCLUDE;
    check(b);
}

// No query of the first batch entry sees a key.
static void test_grad_with_lengths(void **state)
{
    (void)state;
    fixture *b = make_fixture();
    b->key_mask_kind = VKF_MASK_LENGTHS;
    check(b);
}

static void test_grad_with_causal_mask_and_window(void **state)
{
    (void)state;
    fixture *b = make_fixture();
    b->causal = true;
    b->causal_offset = K_LEN - Q_LEN - 3;
    b->window = 3;
    check(b);
}

static void test_grad_with_dropout(void **state)
{
    (void)state;
    fixture *b = make_fixture();
    b->dropout = (vkf__attention_dropout){.p = 0.4f, .seed = UINT64_C(0x123456789abcdef), .stream = 2, .step = 7};
    b->key_mask_kind = VKF_MASK_LENGTHS;
    check(b);
}

// In a row that sees no key its sink has all the weight.
static void test_grad_with_sinks(void **state)
{
    (void)state;
    fixture *b = make_fixture();
    b->sunk = true;
    b->key_mask_kind = VKF_MASK_LENGTHS;
    check(b);
}

static void test_grad_with_a_cap_and_slopes(void **state)
{
    (void)state;
    fixture *b = make_fixture();
    b->soft_cap = 1.5f;
    b->sloped = true;
    check(b);
}

static void test_grad_with_all_forms_of_scores(void **state)
{
    (void)state;
    fixture *b = make_fixture();
    b->soft_cap = 2;
    b->sloped = b->sunk = true;
    b->mask_kind = VKF_MASK_ADDITIVE;
    check(b);
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
        cmocka_unit_test(test_grad_with_sinks),
        cmocka_unit_test(test_grad_with_a_cap_and_slopes),
        cmocka_unit_test(test_grad_with_all_forms_of_scores),
    };
    return cmocka_run_group_tests_name("reference_attention_grad", tests, vkf_hand_setup, vkf_hand_teardown);
}
