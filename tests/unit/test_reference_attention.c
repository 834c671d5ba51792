// The reference of multi-head attention: examples worked out by hand, and what must hold between any two of its uses.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "recording_host.h"
#include "support/compare.h"
#include "support/random.h"
#include "support/reference.h"

#define ATOL 1e-6
#define RTOL 1e-6

static const float IDENTITY[] = {1, 0, 0, 1};
static const float ZEROS[16] = {0};

static void run(const vkf_ref_attention_desc *desc)
{
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    assert_int_equal(vkf_ref_attention(&host, desc), VKF_OK);
}

// Two heads of one column each. Queries (ln 2, ln 3) against keys (0, 0) and (1, 1): head 0 weighs 1/3 and 2/3, head 1
// weighs 1/4 and 3/4. Values (3, 4) and (6, 8) give (5, 7); the output projection swaps them and adds (10, 20).
static void test_attention_by_hand(void **state)
{
    (void)state;
    const float query[] = {0.69314718056f, 1.09861228867f};
    const float key[] = {0, 0, 1, 1};
    const float value[] = {3, 4, 6, 8};
    const float swap[] = {0, 1, 1, 0};
    const float out_bias[] = {10, 20};
    const float expected[] = {17, 25};
    const float expected_weights[] = {7 / 24.f, 17 / 24.f};
    const float expected_per_head[] = {1 / 3.f, 2 / 3.f, 1 / 4.f, 3 / 4.f};
    float out[2], weights[2], per_head[4];
    vkf_ref_attention_desc desc = {.batch = 1,
                                   .q_len = 1,
                                   .k_len = 2,
                                   .embed_dim = 2,
                                   .num_heads = 2,
                                   .query = query,
                                   .key = key,
                                   .value = value,
                                   .q_weight = IDENTITY,
                                   .k_weight = IDENTITY,
                                   .v_weight = IDENTITY,
                                   .out_weight = swap,
                                   .out_bias = out_bias,
                                   .out = out,
                                   .weights = weights,
                                   .weights_per_head = per_head};
    run(&desc);
    assert_close(out, expected, 2, ATOL, RTOL, "attention");
    assert_close(weights, expected_weights, 2, ATOL, RTOL, "mean weights");
    assert_close(per_head, expected_per_head, 4, ATOL, RTOL, "weights per head");

    // The same keys from one input column, the same values from three of which the first is ignored.
    const float narrow_key[] = {0, 1};
    const float ones[] = {1, 1};
    const float wide_value[] = {9, 3, 4, 9, 6, 8};
    const float pick[] = {0, 1, 0, 0, 0, 1};
    desc.kdim = 1;
    desc.vdim = 3;
    desc.key = narrow_key;
    desc.k_weight = ones;
    desc.value = wide_value;
    desc.v_weight = pick;
    run(&desc);
    assert_close(out, expected, 2, ATOL, RTOL, "attention with kdim and vdim");
}

// The scale is 1 / sqrt(head_dim) after the query's bias: (0 + 2) * 1 / sqrt(4) per column, against keys 0 and ln 2 /
// 4.
static void test_attention_scale_and_biases(void **state)
{
    (void)state;
    const float key_step = 0.17328679514f; // ln 2 / 4: the score is 4 * (2 / 2) * ln 2 / 4 = ln 2
    const float identity[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    const float twos[] = {2, 2, 2, 2};
    const float hundred[] = {100, 100, 100, 100}; // moves both keys alike: no change
    const float value_bias[] = {1, 2, 3, 4};      // comes through unweighted, as the weights sum to 1
    const float key[] = {0, 0, 0, 0, key_step, key_step, key_step, key_step};
    const float value[] = {0, 0, 0, 0, 3, 3, 3, 3};
    const float expected[] = {3, 4, 5, 6};
    float out[4];
    run(&(vkf_ref_attention_desc){.batch = 1,
                                  .q_len = 1,
                                  .k_len = 2,
                                  .embed_dim = 4,
                                  .num_heads = 1,
                                  .query = ZEROS,
                                  .key = key,
                                  .value = value,
                                  .q_weight = identity,
                                  .k_weight = identity,
                                  .v_weight = identity,
                                  .out_weight = identity,
                                  .q_bias = twos,
                                  .k_bias = hundred,
                                  .v_bias = value_bias,
                                  .out = out});
    assert_close(out, expected, 4, 2e-5, 0, "scale and biases"); // scores are near 400: 1e-7 relative of that
}

// A query of zeros weighs all keys alike: S = 2, the bias row and the zero row make four.
static void test_attention_extra_keys(void **state)
{
    (void)state;
    const float value[] = {4, 8, 12, 16};
    const float bias_k[] = {1, 2};
    const float bias_v[] = {8, 0};
    const float quarters[] = {.25f, .25f, .25f, .25f};
    const float expected[] = {6, 6};   // (4 + 12 + 8) / 4, (8 + 16) / 4
    const float only_extra[] = {4, 0}; // (8 + 0) / 2
    const uint8_t exclude_all[] = {1, 1};
    float out[2], weights[4];
    vkf_ref_attention_desc desc = {.batch = 1,
                                   .q_len = 1,
                                   .k_len = 2,
                                   .embed_dim = 2,
                                   .num_heads = 1,
                                   .query = ZEROS,
                                   .key = ZEROS,
                                   .value = value,
                                   .q_weight = IDENTITY,
                                   .k_weight = IDENTITY,
                                   .v_weight = IDENTITY,
                                   .out_weight = IDENTITY,
                                   .bias_k = bias_k,
                                   .bias_v = bias_v,
                                   .add_zero_attn = true,
                                   .out = out,
                                   .weights = weights};
    run(&desc);
    assert_close(out, expected, 2, ATOL, RTOL, "bias_kv and zero_attn");
    assert_close(weights, quarters, 4, ATOL, RTOL, "weights of all four keys");
    desc.mask.key_kind = VKF_MASK_BOOL_EXCLUDE;
    desc.key_mask_values = exclude_all;
    run(&desc);
    assert_close(out, only_extra, 2, ATOL, RTOL, "the masks do not reach the extra keys");
}

static void test_attention_fully_masked_rules(void **state)
{
    (void)state;
    const float value[] = {4, 8, 12, 16};
    const float out_bias[] = {1, 2};
    const int32_t lengths[] = {0};
    const float expected[VKF_FULLY_MASKED_COUNT][2] = {{1, 2}, {NAN, NAN}, {9, 14}};
    for (int rule = 0; rule < VKF_FULLY_MASKED_COUNT; rule++) {
        float out[2];
        run(&(vkf_ref_attention_desc){.batch = 1,
                                      .q_len = 1,
                                      .k_len = 2,
                                      .embed_dim = 2,
                                      .num_heads = 1,
                                      .query = ZEROS,
                                      .key = ZEROS,
                                      .value = value,
                                      .q_weight = IDENTITY,
                                      .k_weight = IDENTITY,
                                      .v_weight = IDENTITY,
                                      .out_weight = IDENTITY,
                                      .out_bias = out_bias,
                                      .mask.key_kind = VKF_MASK_LENGTHS,
                                      .key_mask_values = lengths,
                                      .fully_masked = (vkf_fully_masked)rule,
                                      .out = out});
        assert_close(out, expected[rule], 2, ATOL, RTOL, "fully masked");
    }
}

// Random attention: B 2, L 3, S 5, E 8, H 2, with biases.
enum { B = 2, L = 3, S = 5, E = 8, H = 2 };

typedef struct random_case {
    float query[B * L * E], key[B * S * E], value[B * S * E];
    float weights[4 * E * E], biases[4 * E]; // of q, k, v and out
    float out[B * L * E];
    vkf_ref_attention_desc desc;
} random_case;

static void make_case(random_case *c, uint64_t seed)
{
    vkf_test_random random;
    vkf_test_random_init(&random, seed);
    vkf_test_fill_normal(&random, c->query, B * L * E, 0, 1);
    vkf_test_fill_normal(&random, c->key, B * S * E, 0, 1);
    vkf_test_fill_normal(&random, c->value, B * S * E, 0, 1);
    vkf_test_fill_normal(&random, c->weights, 4 * E * E, 0, 0.5f);
    vkf_test_fill_normal(&random, c->biases, 4 * E, 0, 0.5f);
    c->desc = (vkf_ref_attention_desc){.batch = B,
                                       .q_len = L,
                                       .k_len = S,
                                       .embed_dim = E,
                                       .num_heads = H,
                                       .query = c->query,
                                       .key = c->key,
                                       .value = c->value,
                                       .q_weight = c->weights,
                                       .k_weight = c->weights + E * E,
                                       .v_weight = c->weights + 2 * E * E,
                                       .out_weight = c->weights + 3 * E * E,
                                       .q_bias = c->biases,
                                       .k_bias = c->biases + E,
                                       .v_bias = c->biases + 2 * E,
                                       .out_bias = c->biases + 3 * E,
                                       .out = c->out};
}

static void test_attention_boolean_equals_additive(void **state)
{
    (void)state;
    random_case c;
    make_case(&c, 21);
    uint8_t exclude[B * H * L * S], attend[B * H * L * S];
    float added[B * H * L * S], expected[B * L * E];
    vkf_test_random random;
    vkf_test_random_init(&random, 22);
    vkf_test_fill_bools(&random, exclude, sizeof exclude, 0.4);
    for (size_t i = 0; i < sizeof exclude; i++) {
        attend[i] = !exclude[i];
        added[i] = exclude[i] ? -INFINITY : 0;
    }
    c.desc.mask = (vkf_attention_mask){.kind = VKF_MASK_ADDITIVE, .per_head = true};
    c.desc.mask_values = added;
    c.desc.out = expected;
    run(&c.desc);
    c.desc.out = c.out;
    c.desc.mask.kind = VKF_MASK_BOOL_EXCLUDE;
    c.desc.mask_values = exclude;
    run(&c.desc);
    assert_close(c.out, expected, B * L * E, 0, 0, "exclude, seeds 21 and 22");
    c.desc.mask.kind = VKF_MASK_BOOL_ATTEND;
    c.desc.mask_values = attend;
    run(&c.desc);
    assert_close(c.out, expected, B * L * E, 0, 0, "attend, seeds 21 and 22");
    c.desc.mask.per_head = false;
    run(&c.desc);
    assert_true(vkf_test_mismatches(c.out, expected, B * L * E, ATOL, RTOL) > 0);
}

// Keys past the length might as well not exist; each batch entry has its own length.
static void test_attention_lengths_equal_truncation(void **state)
{
    (void)state;
    random_case c;
    make_case(&c, 31);
    const int32_t lengths[B] = {2, 4};
    c.desc.mask.key_kind = VKF_MASK_LENGTHS;
    c.desc.key_mask_values = lengths;
    run(&c.desc);
    for (uint32_t b = 0; b < B; b++) {
        float out[L * E];
        vkf_ref_attention_desc one = c.desc;
        one.batch = 1;
        one.k_len = (uint32_t)lengths[b];
        one.query += b * L * E;
        one.key += b * S * E;
        one.value += b * S * E;
        one.mask.key_kind = VKF_MASK_NONE;
        one.out = out;
        run(&one);
        assert_close(c.out + b * L * E, out, L * E, ATOL, RTOL, "lengths, seed 31");
    }
}

static void test_attention_causal_equals_mask(void **state)
{
    (void)state;
    random_case c;
    make_case(&c, 41);
    float expected[B * L * E];
    for (int bottom_right = 0; bottom_right < 2; bottom_right++) {
        uint8_t attend[L * S];
        for (uint32_t l = 0; l < L; l++)
            for (uint32_t s = 0; s < S; s++) {
                uint32_t last = l + (bottom_right ? S - L : 0);
                attend[l * S + s] = s <= last && s + 2 > last;
            }
        c.desc.mask = (vkf_attention_mask){.kind = VKF_MASK_BOOL_ATTEND};
        c.desc.mask_values = attend;
        c.desc.out = expected;
        run(&c.desc);
        c.desc.mask =
            (vkf_attention_mask){.causal = bottom_right ? VKF_CAUSAL_BOTTOM_RIGHT : VKF_CAUSAL_TOP_LEFT, .window = 2};
        c.desc.out = c.out;
        run(&c.desc);
        assert_close(c.out, expected, B * L * E, 0, 0, "causal with a window of 2, seed 41");
    }
}

// Query heads 0 and 1 read key head 0, 2 and 3 read key head 1: as if each had a copy of its own. The grouped operands
// lie (batch, length, heads, width), the copies (batch, heads, length, width).
static void test_sdpa_grouped_heads_equal_copies(void **state)
{
    (void)state;
    enum { HEADS = 4, KV_HEADS = 2, WIDTH = 3, V_WIDTH = 2 };
    float query[B * L * HEADS * WIDTH], key[B * S * KV_HEADS * WIDTH], value[B * S * KV_HEADS * V_WIDTH];
    float keys[B * HEADS * S * WIDTH], values[B * HEADS * S * V_WIDTH];
    float scores[B * HEADS * L * S], out[B * L * HEADS * V_WIDTH], expected[B * L * HEADS * V_WIDTH];
    vkf_test_random random;
    vkf_test_random_init(&random, 61);
    vkf_test_fill_normal(&random, query, sizeof query / 4, 0, 1);
    vkf_test_fill_normal(&random, key, sizeof key / 4, 0, 1);
    vkf_test_fill_normal(&random, value, sizeof value / 4, 0, 1);
    for (size_t i = 0; i < B * HEADS * S; i++) {
        size_t from = (i / HEADS / S * S + i % S) * KV_HEADS + i / S % HEADS / (HEADS / KV_HEADS);
        for (size_t c = 0; c < WIDTH; c++)
            keys[i * WIDTH + c] = key[from * WIDTH + c];
        for (size_t c = 0; c < V_WIDTH; c++)
            values[i * V_WIDTH + c] = value[from * V_WIDTH + c];
    }
    vkf_ref_sdpa_desc desc = {
        .softmax = {.batch = B,
                    .heads = HEADS,
                    .q_len = L,
                    .k_len = S,
                    .mask_cols = S,
                    .out = scores,
                    .scale = 0.5f,
                    .causal = true,
                    .causal_offset = S - L},
        .kv_heads = HEADS,
        .head_dim = WIDTH,
        .v_head_dim = V_WIDTH,
        .query = query,
        .key = keys,
        .value = values,
        .out = expected,
        .q_layout = {.row = HEADS * WIDTH, .outer = L * HEADS * WIDTH, .inner = WIDTH},
        .k_layout = {.row = WIDTH, .outer = HEADS * S * WIDTH, .inner = S * WIDTH},
        .v_layout = {.row = V_WIDTH, .outer = HEADS * S * V_WIDTH, .inner = S * V_WIDTH},
        .out_layout = {.row = HEADS * V_WIDTH, .outer = L * HEADS * V_WIDTH, .inner = V_WIDTH},
    };
    vkf_ref_sdpa(&desc);
    desc.kv_heads = KV_HEADS;
    desc.key = key;
    desc.value = value;
    desc.out = out;
    desc.k_layout = (vkf_ref_layout){.row = KV_HEADS * WIDTH, .outer = S * KV_HEADS * WIDTH, .inner = WIDTH};
    desc.v_layout = (vkf_ref_layout){.row = KV_HEADS * V_WIDTH, .outer = S * KV_HEADS * V_WIDTH, .inner = V_WIDTH};
    vkf_ref_sdpa(&desc);
    assert_close(out, expected, sizeof out / 4, 0, 0, "grouped heads, seed 61");
}

// One query (ln 2) against keys 0 and 1: weights 1/3 and 2/3 for both heads, which share the values 3 and 6.
static void test_sdpa_by_hand(void **state)
{
    (void)state;
    const float query[] = {0.69314718056f, 0.69314718056f}, key[] = {0, 1}, value[] = {3, 6};
    const float expected[] = {5, 5}, expected_weights[] = {1 / 3.f, 2 / 3.f, 1 / 3.f, 2 / 3.f};
    const vkf_ref_layout column = {.row = 1, .outer = 2, .inner = 1};
    float scores[4], out[2];
    vkf_ref_sdpa(&(vkf_ref_sdpa_desc){
        .softmax = {.batch = 1, .heads = 2, .q_len = 1, .k_len = 2, .mask_cols = 2, .out = scores, .scale = 1},
        .kv_heads = 1,
        .head_dim = 1,
        .v_head_dim = 1,
        .query = query,
        .key = key,
        .value = value,
        .out = out,
        .q_layout = column,
        .k_layout = column,
        .v_layout = column,
        .out_layout = column,
    });
    assert_close(out, expected, 2, ATOL, RTOL, "sdpa");
    assert_close(scores, expected_weights, 4, ATOL, RTOL, "weights");
}

static void test_attention_without_memory(void **state)
{
    (void)state;
    random_case c;
    make_case(&c, 51);
    recording_host recording;
    recording_host_init(&recording);
    assert_int_equal(vkf_ref_attention(&recording.host, &c.desc), VKF_OK);
    size_t calls = recording.calls;
    assert_true(calls > 0 && recording.live == 0);
    for (size_t fail = 1; fail <= calls; fail++) {
        recording_host_init(&recording);
        recording.fail_call = fail;
        assert_int_equal(vkf_ref_attention(&recording.host, &c.desc), VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_int_equal(recording.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_by_hand),
        cmocka_unit_test(test_attention_scale_and_biases),
        cmocka_unit_test(test_attention_extra_keys),
        cmocka_unit_test(test_attention_fully_masked_rules),
        cmocka_unit_test(test_attention_boolean_equals_additive),
        cmocka_unit_test(test_attention_lengths_equal_truncation),
        cmocka_unit_test(test_attention_causal_equals_mask),
        cmocka_unit_test(test_sdpa_grouped_heads_equal_copies),
        cmocka_unit_test(test_sdpa_by_hand),
        cmocka_unit_test(test_attention_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
