// vkf_scaled_dot_product_attention() against the reference: widths of heads, lengths, masks of every kind, fully masked
// rows, grouped heads, so many keys for few queries that they are split.
//
// Widths, kinds of masks and rules are constants of the kernels, and compiling one of those takes most of a run: what
// does not look at widths has heads of 8. VKF_TEST_ALL=1 takes all widths with all masks.
#include <math.h>
#include <string.h>

#include "support/sdpa_case.h"

// batch, heads, key heads, queries, keys, widths of key and value; 0: default
#define SIZES(b, h, kv, l, s, d, dv) \
    .batch = b, .heads = h, .kv_heads = kv, .q_len = l, .k_len = s, .dim = d, .v_dim = dv

static const uint32_t LENGTHS[] = {1, 2, 7, 9, 33, 65};

// Query and key, value.
static const uint32_t WIDTHS[][2] = {{1, 3}, {3, 1}, {8, 8}, {16, 20}, {20, 16}, {64, 64}, {80, 24}, {20, 80}};

static void test_attention_widths(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(WIDTHS); i++) {
        vkf_test_sdpa_case c = {
            .batch = 2, .heads = 3, .q_len = 9, .k_len = 33, .dim = WIDTHS[i][0], .v_dim = WIDTHS[i][1]};
        ops->aligned = i % 2 == 1;
        vkf_test_sdpa_check(ops, &c);
        c.q_len = 1;
        vkf_test_sdpa_check(ops, &c);
    }
}

static void test_attention_wide_heads(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    ops->aligned = true;
    vkf_test_sdpa_check(ops, &(vkf_test_sdpa_case){.batch = 1, .heads = 2, .q_len = 3, .k_len = 17, .dim = 128});
    vkf_test_sdpa_check(ops, &(vkf_test_sdpa_case){.batch = 1, .heads = 1, .q_len = 3, .k_len = 17, .dim = 256});
}

// Heads beyond what kernels are made for: in three steps.
static void test_attention_heads_beyond_kernels(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const vkf_test_sdpa_case cases[] = {{SIZES(1, 2, 0, 5, 40, 8, 400)}, {SIZES(1, 2, 0, 5, 40, 257, 8)}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        vkf_test_sdpa_check(ops, &cases[i]);
        assert_null(strstr(vkf_context_get_last_op_kernel(ops->gpu.context), "attention"));
    }
}

static void run_lengths(vkf_test_ops *ops, vkf_test_sdpa_case c)
{
    for (size_t q = 0; q < COUNT_OF(LENGTHS); q++) {
        for (size_t k = 0; k < COUNT_OF(LENGTHS); k++) {
            c.q_len = LENGTHS[q];
            c.k_len = LENGTHS[k];
            ops->aligned = (q + k) % 2 == 1;
            vkf_test_sdpa_check(ops, &c);
        }
    }
}

static void test_attention_lengths(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    run_lengths(ops, (vkf_test_sdpa_case){.batch = 2, .heads = 2, .dim = 8});
}

static void test_attention_causal_and_window(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t windows[] = {1, 3, 100, UINT32_MAX};
    run_lengths(ops, (vkf_test_sdpa_case){.batch = 1, .heads = 2, .dim = 8, .causal = VKF_CAUSAL_TOP_LEFT});
    run_lengths(ops, (vkf_test_sdpa_case){.batch = 1, .heads = 2, .dim = 8, .causal = VKF_CAUSAL_BOTTOM_RIGHT});
    for (int causal = 0; causal < VKF_CAUSAL_COUNT; causal++) {
        for (size_t w = 0; w < COUNT_OF(windows); w++) {
            vkf_test_sdpa_case c = {.batch = 2, .heads = 2, .q_len = 9, .k_len = 33, .dim = 8, .window = windows[w]};
            c.causal = (vkf_causal)causal;
            c.key_mask_kind = vkf_test_key_kind_of(c.causal, VKF_MASK_NONE);
            vkf_test_sdpa_check(ops, &c);
            c.q_len = 33;
            c.k_len = 7;
            vkf_test_sdpa_check(ops, &c);
        }
    }
}

static void test_attention_mask_kinds_and_broadcasts(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = VKF_MASK_BOOL_EXCLUDE; kind <= VKF_MASK_ADDITIVE; kind++) {
        for (uint32_t dims = 0; dims < 8; dims++) {
            vkf_test_sdpa_case c = {.batch = 2, .heads = 4, .q_len = 7, .k_len = 33, .dim = 8, .mask_dims = dims};
            c.mask_kind = (vkf_mask_kind)kind;
            ops->aligned = dims % 2 == 1;
            vkf_test_sdpa_check(ops, &c);
            c.kv_heads = 2;
            vkf_test_sdpa_check(ops, &c);
        }
    }
}

static void test_attention_key_masks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = VKF_MASK_BOOL_EXCLUDE; kind < VKF_MASK_KIND_COUNT; kind++) {
        vkf_test_sdpa_case c = {.batch = 3, .heads = 2, .dim = 8, .key_mask_kind = (vkf_mask_kind)kind};
        for (size_t i = 0; i < COUNT_OF(LENGTHS); i++) {
            c.q_len = LENGTHS[i];
            c.k_len = LENGTHS[(i + 2) % COUNT_OF(LENGTHS)];
            vkf_test_sdpa_check(ops, &c);
        }
    }
}

// Everything at once, and row 0 or batch entry 0 fully masked.
static const vkf_test_sdpa_case MASKED[] = {
    {SIZES(2, 2, 0, 9, 13, 8, 0), .mask_kind = VKF_MASK_BOOL_ATTEND, .mask_dims = VKF_TEST_MASK_ROWS, .mask_all = true},
    {SIZES(3, 2, 0, 5, 33, 8, 0), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true},
    {SIZES(1, 2, 0, 9, 4, 8, 0), .causal = VKF_CAUSAL_BOTTOM_RIGHT},
    {SIZES(2, 4, 2, 33, 65, 8, 12), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = 7, .key_mask_kind = VKF_MASK_LENGTHS,
     .causal = VKF_CAUSAL_BOTTOM_RIGHT, .window = 5, .mask_all = true},
};

// Each rule with each of them, or, as a rule is one more constant, with one of them and the plainest.
static void run_masked(vkf_test_ops *ops, vkf_dtype dtype)
{
    for (int rule = 0; rule < VKF_FULLY_MASKED_COUNT; rule++) {
        for (size_t i = 0; i < COUNT_OF(MASKED); i++) {
            vkf_test_sdpa_case c = MASKED[i];
            c.dtype = dtype;
            c.fully_masked = (vkf_fully_masked)rule;
            if (i == 1 || (int)i % VKF_FULLY_MASKED_COUNT == rule || vkf_test_all())
                vkf_test_sdpa_check(ops, &c);
        }
    }
}

static void test_attention_fully_masked_rows(void **state)
{
    run_masked(vkf_test_ops_of(state), VKF_DTYPE_F32);
}

// One query and many, keys in parts, and rows in which every key is masked.
static void test_attention_forms_of_scores(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const vkf_test_sdpa_case cases[] = {
        {SIZES(2, 4, 2, 9, 33, 8, 12), .causal = VKF_CAUSAL_BOTTOM_RIGHT},
        {SIZES(2, 2, 0, 1, 300, 16, 0), .key_mask_kind = VKF_MASK_LENGTHS},
        {SIZES(2, 2, 0, 33, 17, 16, 0), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = 7, .window = 4, .mask_all = true},
    };
    for (uint32_t i = 1; i < VKF_TEST_SCORE_FORMS; i++) {
        for (size_t k = 0; k < COUNT_OF(cases); k++) {
            vkf_test_sdpa_case c = cases[k];
            c.form = vkf_test_score_forms[i];
            c.dtype = (i + k) % 4 == 3 ? VKF_DTYPE_F16 : VKF_DTYPE_F32;
            vkf_test_sdpa_check(ops, &c);
        }
    }
}

static void test_attention_grouped_heads(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t heads[][2] = {{4, 1}, {4, 2}, {6, 2}, {5, 5}, {12, 4}};
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        vkf_test_sdpa_case c = {
            .batch = 2, .heads = heads[i][0], .kv_heads = heads[i][1], .q_len = 7, .k_len = 33, .dim = 8};
        vkf_test_sdpa_check(ops, &c);
        c.causal = VKF_CAUSAL_BOTTOM_RIGHT;
        vkf_test_sdpa_check(ops, &c);
    }
}

// 0 stands for the default.
static void test_attention_scale(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float scales[] = {1, -0.5f, 1e-20f, 8};
    for (size_t i = 0; i < COUNT_OF(scales); i++)
        vkf_test_sdpa_check(
            ops, &(vkf_test_sdpa_case){.batch = 1, .heads = 2, .q_len = 9, .k_len = 33, .dim = 8, .scale = scales[i]});
}

// One query, or a few, over so many keys that they are shared out among workgroups; then parts of a row see no key.
static const vkf_test_sdpa_case LONG[] = {
    {SIZES(1, 2, 0, 1, 700, 8, 0)},
    {SIZES(2, 4, 2, 1, 700, 8, 0), .key_mask_kind = VKF_MASK_LENGTHS},
    {SIZES(2, 4, 2, 3, 700, 8, 0), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true},
    {SIZES(1, 2, 0, 3, 700, 8, 0), .causal = VKF_CAUSAL_TOP_LEFT},
    {SIZES(1, 2, 0, 2, 700, 8, 0), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true,
     .fully_masked = VKF_FULLY_MASKED_UNIFORM},
    {SIZES(1, 1, 0, 1, 700, 64, 0)},
};

static void test_attention_long_keys(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(LONG); i++) {
        ops->aligned = i % 2 == 0;
        vkf_test_sdpa_check(ops, &LONG[i]);
    }
}

#define HALF .dtype = VKF_DTYPE_F16

static const vkf_test_sdpa_case HALVES[] = {
    {SIZES(2, 3, 0, 9, 33, 8, 0), HALF},
    {SIZES(2, 2, 0, 65, 65, 8, 0), HALF},
    {SIZES(2, 2, 0, 7, 9, 5, 3), HALF},
    {SIZES(1, 4, 2, 7, 33, 64, 0), HALF, .causal = VKF_CAUSAL_BOTTOM_RIGHT},
    {SIZES(2, 4, 2, 9, 65, 20, 12), HALF, .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = VKF_TEST_MASK_ROWS,
     .key_mask_kind = VKF_MASK_BOOL_EXCLUDE},
    {SIZES(2, 2, 0, 1, 700, 8, 0), HALF, .key_mask_kind = VKF_MASK_LENGTHS},
};

// Aligned operands take kernels that others do not; each is a pipeline more.
static void test_attention_half_storage(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(HALVES); i++) {
        for (int aligned = 0; aligned < 2; aligned++) {
            ops->aligned = aligned;
            if (i < 1 || vkf_test_all() || aligned == (int)(i % 2))
                vkf_test_sdpa_check(ops, &HALVES[i]);
        }
    }
    ops->aligned = false;
    if (vkf_test_all())
        run_masked(ops, VKF_DTYPE_F16);
}

#define BFLOATS .kv_dtype = VKF_DTYPE_BF16

static const vkf_test_sdpa_case BFLOAT_KEYS[] = {
    {SIZES(2, 3, 0, 9, 33, 8, 0), BFLOATS},
    {SIZES(2, 2, 0, 7, 9, 5, 3), BFLOATS},
    {SIZES(2, 4, 2, 3, 1, 16, 20), BFLOATS},
    {SIZES(1, 4, 2, 7, 33, 64, 0), BFLOATS, .causal = VKF_CAUSAL_BOTTOM_RIGHT, .window = 5},
    {SIZES(2, 6, 2, 33, 65, 20, 12), BFLOATS, .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = VKF_TEST_MASK_ROWS,
     .mask_all = true, .fully_masked = VKF_FULLY_MASKED_UNIFORM, .form = {.window_right = 2, .soft_cap = 3}},
    {SIZES(2, 4, 1, 1, 2100, 8, 0), BFLOATS, .key_mask_kind = VKF_MASK_LENGTHS, .form = {.sloped = true, .sunk = true}},
    {SIZES(1, 2, 0, 3, 700, 13, 0), BFLOATS, .form = {.sunk = true}, .scale = -0.5f},
    {SIZES(1, 2, 1, 5, 40, 8, 257), BFLOATS}, // in three steps
};

// Keys and values in half the bytes, off and on every alignment.
static void test_attention_bfloat_keys(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(BFLOAT_KEYS); i++) {
        for (int aligned = 0; aligned < 2; aligned++) {
            ops->aligned = aligned;
            if (i < 1 || vkf_test_all() || aligned == (int)(i % 2))
                vkf_test_sdpa_check(ops, &BFLOAT_KEYS[i]);
        }
    }
}

#define BLOCKS .kv_dtype = VKF_DTYPE_Q8

static const vkf_test_sdpa_case BLOCK_KEYS[] = {
    {SIZES(2, 3, 0, 9, 33, 32, 0), BLOCKS}, // every other row begins in the middle of a word
    {SIZES(2, 4, 2, 3, 1, 32, 96), BLOCKS},
    {SIZES(1, 4, 2, 7, 33, 64, 0), BLOCKS, .causal = VKF_CAUSAL_BOTTOM_RIGHT, .window = 5},
    {SIZES(2, 6, 2, 33, 65, 96, 32), BLOCKS, .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = VKF_TEST_MASK_ROWS,
     .mask_all = true, .fully_masked = VKF_FULLY_MASKED_UNIFORM, .form = {.window_right = 2, .soft_cap = 3}},
    {SIZES(2, 4, 1, 1, 2100, 32, 64), BLOCKS, .key_mask_kind = VKF_MASK_LENGTHS,
     .form = {.sloped = true, .sunk = true}},
    {SIZES(1, 8, 2, 1, 517, 128, 0), BLOCKS, .causal = VKF_CAUSAL_BOTTOM_RIGHT},
    {SIZES(1, 2, 0, 3, 700, 160, 0), BLOCKS, .form = {.sunk = true}, .scale = -0.5f},
    {SIZES(1, 2, 1, 5, 40, 32, 256), BLOCKS},
    {SIZES(1, 2, 1, 5, 40, 288, 32), BLOCKS}, // wider than kernels take
};

static void test_attention_block_keys(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(BLOCK_KEYS); i++) {
        ops->aligned = i % 2 == 1;
        vkf_test_sdpa_check(ops, &BLOCK_KEYS[i]);
    }
}

// With VKF_TEST_ALL=1: all widths with all masks.
static void test_attention_widths_with_masks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_skip_unless_all();
    for (size_t i = 0; i < 2 * COUNT_OF(WIDTHS) * VKF_MASK_LENGTHS * VKF_MASK_KIND_COUNT; i++) {
        const uint32_t *widths = WIDTHS[i / 2 % COUNT_OF(WIDTHS)];
        size_t masks = i / 2 / COUNT_OF(WIDTHS);
        const vkf_mask_kind key_kind = (vkf_mask_kind)(masks / VKF_MASK_LENGTHS);
        ops->aligned = masks % 2 == 1;
        vkf_test_sdpa_check(
            ops,
            &(vkf_test_sdpa_case){
                .batch = 2,
                .heads = 4,
                .kv_heads = i % 3 == 0 ? 2 : 4,
                .q_len = LENGTHS[i % COUNT_OF(LENGTHS)],
                .k_len = LENGTHS[i / 7 % COUNT_OF(LENGTHS)],
                .dim = widths[0],
                .v_dim = widths[1],
                .dtype = i % 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32,
                .mask_kind = (vkf_mask_kind)(masks % VKF_MASK_LENGTHS),
                .mask_dims = (uint32_t)(i % 8),
                .key_mask_kind = key_kind,
                // By lengths where there are some.
                .causal = (vkf_causal)(i / 5 % (key_kind == VKF_MASK_LENGTHS ? VKF_CAUSAL_COUNT : VKF_CAUSAL_LENGTHS)),
                .window = i % 11 == 0 ? 4 : 0,
            });
    }
}

// Width 8: elements of row `row` of an operand's first head.
static float *row_of(vkf_test_operand *operand, size_t row)
{
    return operand->values + row * 8;
}

// NaN in a key and in a value that no query may see, and an infinity beside them.
static void hide_nan(vkf_test_operand *query, vkf_test_operand *key, vkf_test_operand *value)
{
    (void)query;
    (void)value;
    for (size_t i = 0; i < 8; i++) {
        row_of(key, 8)[i] = NAN;
        row_of(key, 7)[i] = INFINITY;
    }
}

static void test_attention_hidden_keys_are_not_seen(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_sdpa_case c = {.batch = 1, .heads = 1, .q_len = 7, .k_len = 9, .dim = 8, .prepare = hide_nan};
    c.causal = VKF_CAUSAL_TOP_LEFT;
    vkf_test_sdpa_check(ops, &c);
    c.q_len = 65;
    c.k_len = 65;
    vkf_test_sdpa_check(ops, &c); // rows 7 and 8 on are NaN, those before are not
}

// Row 0 of the queries is NaN, row 1 huge, row 2 infinite: the rows after them are as if alone.
static void spoil_rows(vkf_test_operand *query, vkf_test_operand *key, vkf_test_operand *value)
{
    (void)key;
    (void)value;
    for (size_t i = 0; i < 8; i++)
        row_of(query, 1)[i] *= 1000;
    row_of(query, 0)[3] = NAN;
    row_of(query, 2)[5] = INFINITY;
}

static void test_attention_rows_are_independent(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_sdpa_case c = {.batch = 2, .heads = 2, .q_len = 9, .k_len = 33, .dim = 8, .prepare = spoil_rows};
    vkf_test_sdpa_check(ops, &c);
    c.q_len = 3;
    c.k_len = 700; // parts of the keys
    vkf_test_sdpa_check(ops, &c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_attention_widths),
        VKF_OPS_TEST(test_attention_wide_heads),
        VKF_OPS_TEST(test_attention_heads_beyond_kernels),
        VKF_OPS_TEST(test_attention_lengths),
        VKF_OPS_TEST(test_attention_causal_and_window),
        VKF_OPS_TEST(test_attention_mask_kinds_and_broadcasts),
        VKF_OPS_TEST(test_attention_key_masks),
        VKF_OPS_TEST(test_attention_fully_masked_rows),
        VKF_OPS_TEST(test_attention_forms_of_scores),
        VKF_OPS_TEST(test_attention_grouped_heads),
        VKF_OPS_TEST(test_attention_scale),
        VKF_OPS_TEST(test_attention_long_keys),
        VKF_OPS_TEST(test_attention_half_storage),
        VKF_OPS_TEST(test_attention_bfloat_keys),
        VKF_OPS_TEST(test_attention_block_keys),
        VKF_OPS_TEST(test_attention_widths_with_masks),
        VKF_OPS_TEST(test_attention_hidden_keys_are_not_seen),
        VKF_OPS_TEST(test_attention_rows_are_independent),
    };
    const struct CMUnitTest packed[] = {VKF_OPS_TEST(test_attention_half_storage)};
    int failed = cmocka_run_group_tests_name("op_attention", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("op_attention packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
