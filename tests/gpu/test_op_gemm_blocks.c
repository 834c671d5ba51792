// vkf_gemm() with weights in blocks, q8 and q4, where cases do not go: weights that are cut, and what is refused.
#include <math.h>

#include "support/block_weight.h"
#include "support/gemm_case.h"

// The error of sums of 300, as in test_op_gemm.c; errors of longer ones grow no faster than the root of their length.
#define ATOL 2e-5

static const vkf_dtype BLOCK_TYPES[] = {VKF_DTYPE_Q8, VKF_DTYPE_Q4};

// A weight larger than what the device binds: it is cut between panels.
static void test_blocks_in_slices(void **state)
{
    (void)vkf_test_ops_of(state);
    static const uint32_t sizes[][3] = {{1, 1000, 96}, {5, 1000, 160}, {20, 700, 224}, {2, 100, 1504}};
    const char *const masks[] = {"maxStorageBufferRange=65536"};
    vkf_test_ops ops;
    if (vkf_test_ops_open(&ops, masks, 1)) {
        for (size_t i = 0; i < 2 * COUNT_OF(sizes); i++) {
            const uint32_t *size = sizes[i / 2];
            ops.aligned = i % 2 == 1;
            const vkf_test_gemm_case gemm = {
                .m = size[0], .n = size[1], .k = size[2], .transpose_b = true, .alpha = 1, .bias = true};
            const double longer = gemm.k > 300 ? sqrt(gemm.k / 300.0) : 1;
            for (size_t q = 0; q < COUNT_OF(BLOCK_TYPES); q++)
                vkf_test_gemm_run(&ops, &(vkf_test_gemm_types){VKF_DTYPE_F32, BLOCK_TYPES[q], VKF_DTYPE_F32}, &gemm,
                                  false, ATOL * longer, ATOL);
        }
    }
    vkf_test_ops_close(&ops);
}

static void test_blocks_in_the_wrong_place_are_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *a = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(32, 32));
    vkf_test_operand *b = vkf_test_block_weight(ops, VKF_DTYPE_Q8, false, 32, 32);
    vkf_test_operand *bias = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(32));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(32, 32));
    const vkf_gemm_desc good = {
        .a = a->tensor, .b = b->tensor, .bias = bias->tensor, .out = out->tensor, .transpose_b = true, .alpha = 1};
    vkf_gemm_desc bad[] = {good, good, good, good, good, good, good, good};
    bad[0].transpose_b = false;
    bad[1].transpose_a = true;
    bad[2].b.layout = VKF_LAYOUT_ROWS;
    bad[3].a.shape[1] = bad[3].b.shape[1] = 33; // no whole blocks
    bad[4].b.offset_bytes += 8;
    bad[5].bias.dtype = VKF_DTYPE_I32;
    bad[6].a = b->tensor;
    bad[7].out.dtype = VKF_DTYPE_Q8;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        vkf_test_assert_refused(ops, vkf_gemm(ops->gpu.context, &bad[i]),
                                i < 2 ? VKF_ERROR_UNSUPPORTED : VKF_ERROR_INVALID_ARGUMENT,
                                vkf_test_label(&ops->gpu, "refusal %zu", i));
        vkf_test_assert_untouched(ops, out);
    }
}

static void test_other_operators_refuse_blocks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_context *context = ops->gpu.context;
    vkf_test_operand *b = vkf_test_block_weight(ops, VKF_DTYPE_Q4, false, 32, 32);
    vkf_test_operand *ids = vkf_test_ids(ops, (const int32_t[]){1, 2}, SHAPE(1, 2));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(32, 32));
    vkf_tensor packed = {0};
    const vkf_softmax_desc softmax = {.x = b->tensor, .out = out->tensor};
    const vkf_embed_desc embed = {.ids = ids->tensor, .table = b->tensor, .out = out->tensor, .scale = 1};
    const vkf_status refused[] = {
        vkf_softmax(context, &softmax),
        vkf_embed(context, &embed),
        vkf_copy(context, &b->tensor, &out->tensor),
        vkf_pack_weight(context, &b->tensor, "packed", &packed),
        vkf_tensor_write(&b->tensor, out->values, 640),
        vkf_quantize_weight(context, &b->tensor, VKF_DTYPE_Q8, "blocks", &packed),
    };
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_int_equal(refused[i], VKF_ERROR_INVALID_ARGUMENT);
    ops->gpu.last_error[0] = '\0';
    vkf_test_assert_untouched(ops, out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_blocks_in_slices),
        VKF_OPS_TEST(test_blocks_in_the_wrong_place_are_refused),
        VKF_OPS_TEST(test_other_operators_refuse_blocks),
    };
    return cmocka_run_group_tests_name("op_gemm_blocks", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
