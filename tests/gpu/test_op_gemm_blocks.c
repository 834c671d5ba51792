// vkf_gemm() with weights in blocks, q8 and q4, where cases do not go: weights that are cut, and what is refused.
#include <math.h>

#include "support/block_weight.h"
#include "support/gemm_case.h"

// Of sums of 300, as in test_op_gemm.c; errors of longer ones grow no faster than the root of their length.
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

// What a product may not be given. Each is a change to one that is good.
typedef struct refusal {
    const char *what;
    void (*change)(vkf_gemm_desc *desc);
    vkf_status status;
} refusal;

static void rows(vkf_gemm_desc *desc)
{
    desc->b.layout = VKF_LAYOUT_ROWS;
}

static void not_transposed(vkf_gemm_desc *desc)
{
    desc->transpose_b = false;
}

static void transposed_a(vkf_gemm_desc *desc)
{
    desc->transpose_a = true;
}

static void odd_depth(vkf_gemm_desc *desc)
{
    desc->a.shape[1] = desc->b.shape[1] = 33;
}

static void odd_offset(vkf_gemm_desc *desc)
{
    desc->b.offset_bytes += 8;
}

static void ids_as_bias(vkf_gemm_desc *desc)
{
    desc->bias.dtype = VKF_DTYPE_I32;
}

static void blocks_as_a(vkf_gemm_desc *desc)
{
    desc->a = desc->b;
}

static void blocks_as_out(vkf_gemm_desc *desc)
{
    desc->out.dtype = VKF_DTYPE_Q8;
}

static const refusal REFUSALS[] = {
    {"rows", rows, VKF_ERROR_INVALID_ARGUMENT},
    {"b not transposed", not_transposed, VKF_ERROR_UNSUPPORTED},
    {"a transposed", transposed_a, VKF_ERROR_UNSUPPORTED},
    {"a depth of no whole blocks", odd_depth, VKF_ERROR_INVALID_ARGUMENT},
    {"an offset of 8 bytes", odd_offset, VKF_ERROR_INVALID_ARGUMENT},
    {"a bias of ids", ids_as_bias, VKF_ERROR_INVALID_ARGUMENT},
    {"blocks as a", blocks_as_a, VKF_ERROR_INVALID_ARGUMENT},
    {"blocks as the output", blocks_as_out, VKF_ERROR_INVALID_ARGUMENT},
};

static void test_blocks_in_the_wrong_place_are_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *a = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(32, 32));
    vkf_test_operand *b = vkf_test_block_weight(ops, VKF_DTYPE_Q8, false, 32, 32);
    vkf_test_operand *bias = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(32));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(32, 32));
    for (size_t i = 0; i < COUNT_OF(REFUSALS); i++) {
        vkf_gemm_desc desc = {
            .a = a->tensor, .b = b->tensor, .bias = bias->tensor, .out = out->tensor, .transpose_b = true, .alpha = 1};
        REFUSALS[i].change(&desc);
        vkf_test_assert_refused(ops, vkf_gemm(ops->gpu.context, &desc), REFUSALS[i].status, REFUSALS[i].what);
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
        vkf_tensor_create(context, VKF_DTYPE_Q4, 2, (const uint32_t[]){32, 32}, "rows", &packed),
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
