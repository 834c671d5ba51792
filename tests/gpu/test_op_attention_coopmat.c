// Attention on cooperative matrices, with the softmax in shared memory and, by reductions, in registers: maxima that
// rise by little and by much, so that sums are rescaled in some steps and not in others; heads of no whole vectors,
// under masks; caps, slopes and sinks; keys in parts. Skipped where a device has no matrices.
#include <math.h>
#include <string.h>

#include "layer/layer.h"
#include "support/sdpa_case.h"

// batch, heads, key heads, queries, keys, widths of key and value; 0: default
#define SIZES(b, h, kv, l, s, d, dv) \
    .batch = b, .heads = h, .kv_heads = kv, .q_len = l, .k_len = s, .dim = d, .v_dim = dv

// Keys of a step of the kernels.
#define STEP 32u

// Keys double with each step, up to eight times their size, and so do the scores. The last query is NaN.
static void grow(vkf_test_operand *query, vkf_test_operand *key, vkf_test_operand *value)
{
    const uint32_t *shape = key->tensor.shape; // (B, H, S, E)
    (void)value;
    for (size_t i = 0; i < key->count; i++) {
        const uint32_t step = (uint32_t)(i / shape[3] % shape[2]) / STEP;
        key->values[i] *= (float)(1u << (step < 3 ? step : 3));
    }
    query->values[query->count - 1] = NAN;
}

static const vkf_test_sdpa_case ALIGNED = {SIZES(1, 4, 2, 37, 131, 16, 24), .prepare = grow};
static const vkf_test_sdpa_case MASKED = {SIZES(2, 3, 1, 7, 131, 20, 12),           .mask_kind = VKF_MASK_ADDITIVE,
                                          .mask_dims = VKF_TEST_MASK_ROWS,          .key_mask_kind = VKF_MASK_LENGTHS,
                                          .causal = VKF_CAUSAL_BOTTOM_RIGHT,        .mask_all = true,
                                          .fully_masked = VKF_FULLY_MASKED_UNIFORM, .prepare = grow};
// So many keys for so few queries that they are divided: then another kernel runs last.
static const vkf_test_sdpa_case SPLIT = {SIZES(1, 2, 0, 3, 530, 16, 24), .prepare = grow};

// The widest heads that the kernels take in most models.
static const vkf_test_sdpa_case WIDE = {SIZES(1, 2, 1, 19, 67, 128, 0), .causal = VKF_CAUSAL_BOTTOM_RIGHT,
                                        .prepare = grow};

// They have the widths of ALIGNED, so that they share its pipeline. A workgroup has 128 rows.
static const vkf_test_sdpa_case AROUND_TILES[] = {
    {SIZES(1, 1, 0, 1, 1, 16, 24)},
    {SIZES(1, 2, 1, 31, STEP, 16, 24), .prepare = grow},
    {SIZES(2, 2, 0, 129, STEP + 1, 16, 24), .prepare = grow},
    {SIZES(1, 3, 1, 17, 2 * STEP - 1, 16, 24), .prepare = grow},
    {SIZES(1, 4, 2, 151, 257, 16, 24)},
};

static const vkf_test_sdpa_case MASKS[] = {
    {SIZES(2, 2, 0, 33, 65, 16, 24), .mask_kind = VKF_MASK_BOOL_ATTEND, .mask_dims = VKF_TEST_MASK_ROWS, .window = 7,
     .causal = VKF_CAUSAL_BOTTOM_RIGHT, .mask_all = true, .fully_masked = VKF_FULLY_MASKED_NAN},
    {SIZES(2, 2, 1, 33, 100, 16, 24), .mask_kind = VKF_MASK_BOOL_EXCLUDE, .mask_dims = VKF_TEST_MASK_HEADS,
     .key_mask_kind = VKF_MASK_ADDITIVE, .causal = VKF_CAUSAL_TOP_LEFT, .mask_all = true},
    {SIZES(2, 2, 0, 19, 70, 16, 24), .key_mask_kind = VKF_MASK_BOOL_ATTEND, .mask_all = true, .prepare = grow},
};

// Whether the device has what a kernel of that name needs.
static bool has_matrices(const vkf__caps_matrix *matrix, const char *variant)
{
    const bool reduces = matrix->reductions && matrix->conversions && matrix->per_element_operations;
    return matrix->cooperative_matrix && (reduces || strncmp(variant, "attention_coopmat2", 18) != 0);
}

// Skipped where the device lacks them.
static void check(void **state, const char *variant, const vkf_test_sdpa_case *sdpa, bool divided)
{
    vkf_test_ops ops;
    if (!has_matrices(&vkf_test_ops_of(state)->gpu.context->device.plan.caps.matrix, variant))
        skip();
    if (vkf_test_ops_open_variant(&ops, variant)) {
        vkf_test_sdpa_case c = *sdpa;
        c.dtype = VKF_DTYPE_F16;
        ops.aligned = c.dim % 8 == 0;
        vkf_test_sdpa_check(&ops, &c);
        const char *ran = vkf_context_get_last_op_kernel(ops.gpu.context);
        if (!divided && strncmp(ran, variant, strcspn(variant, ".")) != 0)
            fail_msg("%s was asked for, %s taken", variant, ran);
    }
    vkf_test_ops_close(&ops);
}

static void test_matrices_of_sixteen_rows(void **state)
{
    check(state, "attention_coopmat.f16_f16_f16/rows16", &MASKED, false);
}

static void test_matrices_of_more_rows(void **state)
{
    check(state, "attention_coopmat.f16_f16_f16/rows32", &ALIGNED, false);
}

static void test_reductions_of_sixteen_rows(void **state)
{
    check(state, "attention_coopmat2.f16_f16_f16/rows16", &MASKED, false);
}

static void test_reductions_of_more_rows(void **state)
{
    check(state, "attention_coopmat2.f16_f16_f16/rows32", &ALIGNED, false);
}

// One less and one more than a fragment, a step and a workgroup's rows.
static void test_reductions_around_tiles(void **state)
{
    for (size_t i = 0; i < sizeof AROUND_TILES / sizeof AROUND_TILES[0]; i++)
        check(state, "attention_coopmat2.f16_f16_f16/rows32", &AROUND_TILES[i], false);
}

// Masks that leave rows nothing to see, and rows that are shorter than the keys.
static void test_reductions_of_masks(void **state)
{
    for (size_t i = 0; i < sizeof MASKS / sizeof MASKS[0] && vkf_test_all(); i++)
        check(state, "attention_coopmat2.f16_f16_f16/rows16x8", &MASKS[i], false);
}

// The last form has a cap, slopes and sinks; the others with VKF_TEST_ALL=1, because compiling takes most of the time.
static void check_forms(void **state, const char *variant)
{
    vkf_test_sdpa_case c = ALIGNED;
    c.prepare = NULL; // scores that the least cap tells apart
    for (size_t i = vkf_test_all() ? 1 : VKF_TEST_SCORE_FORMS - 1; i < VKF_TEST_SCORE_FORMS; i++) {
        c.form = vkf_test_score_forms[i];
        check(state, variant, &c, false);
    }
}

static void test_matrices_of_score_forms(void **state)
{
    check_forms(state, "attention_coopmat.f16_f16_f16/rows32");
}

static void test_reductions_of_score_forms(void **state)
{
    check_forms(state, "attention_coopmat2.f16_f16_f16/rows32");
}

// This and the next with VKF_TEST_ALL=1, too.
static void test_matrices_of_divided_keys(void **state)
{
    for (size_t i = 0; i < 2 && vkf_test_all(); i++)
        check(state, i == 0 ? "attention_coopmat." : "attention_coopmat2.", &SPLIT, true);
}

static void test_matrices_of_wide_heads(void **state)
{
    for (size_t i = 0; i < 2 && vkf_test_all(); i++)
        check(state, i == 0 ? "attention_coopmat.f16_f16_f16/rows16" : "attention_coopmat2.f16_f16_f16/rows16x8", &WIDE,
              false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_matrices_of_sixteen_rows),   VKF_OPS_TEST(test_matrices_of_more_rows),
        VKF_OPS_TEST(test_reductions_of_sixteen_rows), VKF_OPS_TEST(test_reductions_of_more_rows),
        VKF_OPS_TEST(test_reductions_around_tiles),    VKF_OPS_TEST(test_reductions_of_masks),
        VKF_OPS_TEST(test_matrices_of_score_forms),    VKF_OPS_TEST(test_reductions_of_score_forms),
        VKF_OPS_TEST(test_matrices_of_divided_keys),   VKF_OPS_TEST(test_matrices_of_wide_heads),
    };
    return cmocka_run_group_tests_name("op_attention_coopmat", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
