// What dispatches did with their parameters, against counts worked out by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "op/operators.h"
#include "shared/attention.h"
#include "shared/gemm.h"
#include "shared/layer_norm.h"
#include "shared/rotary.h"
#include "shared/sample.h"

static const vkf__kernel *kernel_named(const char *name)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        if (strcmp(vkf__kernel_at(i)->name, name) == 0)
            return vkf__kernel_at(i);
    fail_msg("no kernel %s", name);
    return NULL;
}

static vkf__account account_of(const vkf__kernel *kernel, const void *params)
{
    return vkf__account_of(&(vkf__dispatched){kernel, NULL, params});
}

static bool output_of(const vkf__kernel *kernel, const void *params, vkf__extent *out_extent)
{
    return vkf__output_of(&(vkf__dispatched){kernel, NULL, params}, out_extent);
}

static void assert_account(vkf__account account, double flops, double bytes_read, double bytes_written)
{
    if (account.flops != flops || account.bytes_read != bytes_read || account.bytes_written != bytes_written)
        fail_msg("%g operations, %g bytes read, %g written; expected %g, %g, %g", account.flops, account.bytes_read,
                 account.bytes_written, flops, bytes_read, bytes_written);
}

// (2, 3, 5) x (7, 5)^T: b is shared.
static struct vkf_gemm_params product(void)
{
    return (struct vkf_gemm_params){.m = 3,
                                    .n = 7,
                                    .k = 5,
                                    .batch = 2,
                                    .batch_inner = 1,
                                    .lda = 5,
                                    .ldb = 5,
                                    .ldd = 7,
                                    .a_outer = 15,
                                    .d_outer = 21,
                                    .alpha = 1.0f,
                                    .splits = 1,
                                    .split_k = 5,
                                    .d_n = 7};
}

static void test_products(void **state)
{
    (void)state;
    const vkf__kernel *f32 = kernel_named("gemm_tile.f32_f32_f32"), *f16 = kernel_named("gemm_tile.f32_f16_f32");
    struct vkf_gemm_params p = product();
    assert_account(account_of(f32, &p), 2 * 2 * 3 * 7 * 5, 4 * (2 * 3 * 5 + 7 * 5), 4 * 2 * 3 * 7);
    assert_account(account_of(f16, &p), 420, 4 * 30 + 2 * 35, 168);
    p.beta = 1.0f; // d is read, too
    assert_account(account_of(f32, &p), 420, 4 * 65 + 168, 168);
    p.beta = 0.0f;
    p.b_outer = 35; // and b is another for each of the batch
    assert_account(account_of(f32, &p), 420, 4 * (30 + 70), 168);
    p.splits = 4; // the parts are kept
    assert_account(account_of(f32, &p), 420, 4 * 100, 4 * 168);
    p = product();
    p.d_n = 3; // gated: fewer columns are stored
    assert_account(account_of(f32, &p), 420, 4 * 65, 4 * 2 * 3 * 3);
    p = product();
    p.m = 0;
    assert_account(account_of(f32, &p), 0, 0, 0);
}

static void test_products_of_blocks(void **state)
{
    (void)state;
    struct vkf_gemm_params p = product();
    p.batch = 1;
    p.m = 1;
    p.n = p.d_n = 32;
    p.k = 64;
    // 64 blocks of 32 bytes and a scale; q4: of 16 and a scale.
    assert_account(account_of(kernel_named("gemm_blocks.f32_q8_f32"), &p), 4096, 4 * 64 + 64 * 34, 4 * 32);
    assert_account(account_of(kernel_named("gemm_blocks.f32_q4_f32"), &p), 4096, 4 * 64 + 64 * 18, 4 * 32);
    // Rows that were rounded: 12 words for 32 elements.
    assert_account(account_of(kernel_named("gemm_dot.i32_q8_f32"), &p), 4096, 2 * 48 + 64 * 34, 4 * 32);
    assert_account(account_of(kernel_named("gemm_dot_rounds.f16_q8_f32"), &p), 4096, 2 * 64 + 64 * 34, 4 * 32);
}

// Heads of widths 8 and 6.
static const uint32_t attention_spec[VKF_KERNEL_MAX_SPEC] = {
    [VKF_ATTENTION_SPEC_HEAD_DIM] = 8,
    [VKF_ATTENTION_SPEC_V_HEAD_DIM] = 6,
};

// (B, L, H, D), as layers have them: heads lie side by side.
static struct vkf_attention_params attention(void)
{
    return (struct vkf_attention_params){.batch = 2,
                                         .heads = 4,
                                         .kv_heads = 2,
                                         .q_len = 3,
                                         .k_len = 10,
                                         .splits = 1,
                                         .q_batch = 96,
                                         .q_row = 32,
                                         .q_head = 8,
                                         .k_batch = 160,
                                         .k_row = 16,
                                         .k_head = 8,
                                         .v_batch = 120,
                                         .v_row = 12,
                                         .v_head = 6,
                                         .out_batch = 72,
                                         .out_row = 24,
                                         .out_head = 6,
                                         .causal_offset = 10};
}

// The same in (B, H, L, D), as vkf_scaled_dot_product_attention() has it: from head to head it is a sequence.
static struct vkf_attention_params attention_by_head(void)
{
    struct vkf_attention_params p = attention();
    p.q_row = 8;
    p.q_head = 3 * 8;
    p.k_row = 8;
    p.k_head = 10 * 8;
    p.v_row = 6;
    p.v_head = 10 * 6;
    p.out_row = 6;
    p.out_head = 3 * 6;
    return p;
}

static vkf__dispatched attended(const struct vkf_attention_params *params)
{
    return (vkf__dispatched){kernel_named("attention_tiled.f32_f32_f32"), attention_spec, params};
}

static void test_attention(void **state)
{
    (void)state;
    struct vkf_attention_params p = attention();
    const vkf__dispatched dispatched = attended(&p);
    const double each = 2 * (8 + 6) + 5, rows = 2 * 4;
    const double read = 4 * (rows * 3 * 8 + 2 * 2 * 10 * (8 + 6)), written = 4 * rows * 3 * 6;
    assert_account(vkf__account_of(&dispatched), rows * 30 * each, read, written);
    p.causal_offset = 7; // 8, 9 and 10 keys
    assert_account(vkf__account_of(&dispatched), rows * 27 * each, read, written);
    p.window = 4;
    assert_account(vkf__account_of(&dispatched), rows * 12 * each, read, written);
    p.window = 0;
    p.causal_offset = -2; // none, none and one
    assert_account(vkf__account_of(&dispatched), rows * 1 * each, read, written);
}

// What is done does not depend on where the heads lie.
static void test_attention_whose_heads_are_apart(void **state)
{
    (void)state;
    struct vkf_attention_params p = attention_by_head();
    const vkf__dispatched dispatched = attended(&p);
    const double each = 2 * (8 + 6) + 5, rows = 2 * 4, read = 4 * (rows * 3 * 8 + 2 * 2 * 10 * (8 + 6));
    assert_account(vkf__account_of(&dispatched), rows * 30 * each, read, 4 * rows * 3 * 6);
    p.splits = 2; // each part has a maximum and a sum beside
    assert_account(vkf__account_of(&dispatched), rows * 30 * each, read, 4 * rows * 3 * 2 * (6 + 2));
}

static void test_rows(void **state)
{
    (void)state;
    const struct vkf_layer_norm_params norm = {.rows = 3, .dim = 10, .out_row = 16};
    const struct vkf_rotary_params rotary = {.rows = 12, .len = 3, .heads = 4, .head_dim = 8};
    const struct vkf_sample_params sample = {.rows = 2, .cols = 100};
    assert_account(account_of(kernel_named("layer_norm.f32_f32"), &norm), 240, 4 * (30 + 20), 120);
    assert_account(account_of(kernel_named("layer_norm_residual.f32_f32"), &norm), 240, 4 * (60 + 20), 120);
    assert_account(account_of(kernel_named("rotary.f32_f32"), &rotary), 288, 384, 384);
    assert_account(account_of(kernel_named("sample.f32"), &sample), 200, 800, 8);
}

static void assert_extent(const vkf__extent *extent, uint32_t operand, uint64_t first, const uint32_t counts[4],
                          const uint64_t strides[4])
{
    assert_int_equal(extent->operand, operand);
    assert_int_equal(extent->first, first);
    for (size_t i = 0; i < VKF_EXTENT_RANK; i++) {
        assert_int_equal(extent->counts[i], counts[i]);
        if (extent->counts[i] > 1)
            assert_int_equal(extent->strides[i], strides[i]);
    }
}

static void test_places_of_outputs(void **state)
{
    (void)state;
    vkf__extent extent;
    struct vkf_gemm_params gemm = product();
    gemm.d_first = 100;
    gemm.ldd = 16;
    assert_true(output_of(kernel_named("gemm_tile.f32_f32_f32"), &gemm, &extent));
    assert_extent(&extent, VKF_GEMM_BINDING_D - 1, 100, (uint32_t[]){2, 1, 3, 7}, (uint64_t[]){21, 0, 16, 1});
    const struct vkf_attention_params heads = attention(), apart = attention_by_head();
    const vkf__dispatched side_by_side = attended(&heads), by_head = attended(&apart);
    assert_true(vkf__output_of(&side_by_side, &extent));
    assert_extent(&extent, VKF_ATTENTION_BINDING_OUT - 1, 0, (uint32_t[]){2, 3, 4, 6}, (uint64_t[]){72, 24, 6, 1});
    assert_true(vkf__output_of(&by_head, &extent));
    assert_extent(&extent, VKF_ATTENTION_BINDING_OUT - 1, 0, (uint32_t[]){2, 3, 4, 6}, (uint64_t[]){72, 6, 18, 1});
    const struct vkf_layer_norm_params norm = {.rows = 3, .dim = 10, .out_row = 16};
    assert_true(output_of(kernel_named("layer_norm.f32_f32"), &norm, &extent));
    assert_extent(&extent, VKF_LAYER_NORM_BINDING_OUT - 1, 0, (uint32_t[]){1, 1, 3, 10}, (uint64_t[]){0, 0, 16, 1});
}

static void test_what_is_no_tensor_of_floats(void **state)
{
    (void)state;
    vkf__extent extent;
    const struct vkf_sample_params sample = {.rows = 2, .cols = 100};
    struct vkf_gemm_params parts = product();
    parts.splits = 2;
    assert_false(output_of(kernel_named("sample.f32"), &sample, &extent));
    assert_false(output_of(kernel_named("gemm_tile.f32_f32_f32"), &parts, &extent));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_products_of_blocks),
        cmocka_unit_test(test_attention),
        cmocka_unit_test(test_attention_whose_heads_are_apart),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_places_of_outputs),
        cmocka_unit_test(test_what_is_no_tensor_of_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
