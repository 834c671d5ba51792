// vkf_gemm() with weights in blocks, q8 and q4, against the reference over what the blocks stand for: what quantising
// costs is not tested here, but what the kernels make of it.
//
// Bounds as in test_op_gemm.c and test_op_gemm_f16.c: a sum's order, and the rounding of a half.
#include <math.h>

#include "support/block_weight.h"
#include "support/gemm_case.h"

#define ATOL 2e-5
#define HALF_TOLERANCE 2e-3

static const vkf_dtype BLOCK_TYPES[] = {VKF_DTYPE_Q8, VKF_DTYPE_Q4};

// The types of a and d.
static const vkf_dtype OTHER_TYPES[][2] = {
    {VKF_DTYPE_F32, VKF_DTYPE_F32},
    {VKF_DTYPE_F16, VKF_DTYPE_F16},
    {VKF_DTYPE_F16, VKF_DTYPE_F32},
};

static void run(vkf_test_ops *ops, const vkf_test_gemm_types *types, const vkf_test_gemm_case *gemm)
{
    double tolerance = types->d == VKF_DTYPE_F16 ? HALF_TOLERANCE : ATOL;
    // The rows' own bound is for sums of 300; errors of longer ones grow no faster than the root of their length.
    double longer = gemm->k > 300 ? sqrt(gemm->k / 300.0) : 1;
    vkf_test_gemm_run(ops, types, gemm, false, tolerance * longer, tolerance);
}

static void run_types(vkf_test_ops *ops, size_t number, const vkf_test_gemm_case *gemm)
{
    const vkf_dtype *other = OTHER_TYPES[number / COUNT_OF(BLOCK_TYPES) % COUNT_OF(OTHER_TYPES)];
    run(ops, &(vkf_test_gemm_types){other[0], BLOCK_TYPES[number % COUNT_OF(BLOCK_TYPES)], other[1]}, gemm);
}

// For every number one q8 and one q4, each with other types of a and d: these change how elements are read and written
// alone. Three numbers in a row take all of them.
static void run_two_types(vkf_test_ops *ops, size_t number, const vkf_test_gemm_case *gemm)
{
    run_types(ops, 2 * number, gemm);
    run_types(ops, 2 * number + 3, gemm);
}

// One, odd, prime, around panels and tiles; few rows and many; depths of one block, of odd numbers of them, and long.
static const uint32_t SHAPES[][3] = {
    {1, 1, 32},   {1, 31, 64},  {1, 33, 96},   {1, 257, 4096}, {2, 32, 160}, {3, 65, 32},   {5, 97, 128},
    {7, 31, 224}, {8, 64, 64},  {8, 1, 4128},  {9, 33, 32},    {17, 41, 96}, {31, 63, 64},  {33, 32, 32},
    {47, 65, 32}, {64, 64, 96}, {65, 127, 64}, {129, 33, 32},  {97, 2, 128}, {128, 96, 32},
};

// Each shape with so many of the types, in turn.
static void run_shapes(vkf_test_ops *ops, size_t types)
{
    for (size_t i = 0; i < COUNT_OF(SHAPES); i++) {
        const vkf_test_gemm_case gemm = {.m = SHAPES[i][0],
                                         .n = SHAPES[i][1],
                                         .k = SHAPES[i][2],
                                         .transpose_b = true,
                                         .alpha = 1,
                                         .bias = i % 4 != 0};
        for (size_t j = 0; j < types; j++)
            run_types(ops, types * i + 3 * j, &gemm);
    }
}

// Operands at any element, which few kernels take.
static void test_blocks_shapes(void **state)
{
    run_shapes(vkf_test_ops_of(state), 1);
}

static void run_aligned_shapes(vkf_test_ops *ops, size_t types)
{
    ops->aligned = true;
    run_shapes(ops, types);
    ops->aligned = false;
}

static void test_blocks_shapes_aligned(void **state)
{
    run_aligned_shapes(vkf_test_ops_of(state), 2);
}

// Halves in words change how elements are read and written alone.
static void test_blocks_shapes_aligned_in_words(void **state)
{
    run_aligned_shapes(vkf_test_ops_of(state), 1);
}

static void test_blocks_bias_of_every_type(void **state)
{
    static const vkf_dtype kinds[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_BF16};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < 2 * COUNT_OF(kinds); i++) {
        ops->aligned = i % 2 == 1;
        run_two_types(
            ops, i,
            &(vkf_test_gemm_case){
                .m = 3, .n = 37, .k = 64, .transpose_b = true, .alpha = 1, .bias = true, .bias_dtype = kinds[i / 2]});
    }
    ops->aligned = false;
}

static const vkf_test_gemm_case EPILOGUES[] = {
    {.alpha = 0.5f, .beta = -0.5f, .c = true},
    {.alpha = 1, .beta = 1, .c = true, .c_in_place = true, .bias = true, .activation = VKF_ACTIVATION_SILU},
    {.alpha = 1, .residual = true, .activation = VKF_ACTIVATION_GELU_TANH},
    {.alpha = 1, .residual = true, .residual_in_place = true, .bias = true, .activation = VKF_ACTIVATION_RELU},
    {.alpha = 0, .beta = 2, .c = true},
    {.alpha = -1, .batch = 3, .b_shared = true, .bias = true, .activation = VKF_ACTIVATION_TANH},
};

static void test_blocks_epilogues(void **state)
{
    static const uint32_t rows[] = {1, 35};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < 2 * COUNT_OF(rows) * COUNT_OF(EPILOGUES); i++) {
        vkf_test_gemm_case gemm = EPILOGUES[i / 2 % COUNT_OF(EPILOGUES)];
        gemm.m = rows[i / 2 / COUNT_OF(EPILOGUES)];
        gemm.n = 45;
        gemm.k = 96;
        gemm.transpose_b = true;
        ops->aligned = i % 2 == 1;
        run_types(ops, i + i / 6, &gemm);
    }
    ops->aligned = false;
}

// Whole numbers: exact, whatever the order of sums. Beyond 65,535 steps, and beyond what one dispatch sums up.
static void run_deep(vkf_test_ops *ops, uint32_t m, uint32_t n, uint32_t k)
{
    for (size_t q = 0; q < COUNT_OF(BLOCK_TYPES); q++) {
        const vkf_test_gemm_types types = {VKF_DTYPE_F32, BLOCK_TYPES[q], VKF_DTYPE_F32};
        const vkf_test_gemm_case gemm = {
            .m = m, .n = n, .k = k, .transpose_b = true, .alpha = 1, .bias = true, .bias_dtype = VKF_DTYPE_F16};
        vkf_test_gemm_run(ops, &types, &gemm, true, 0, 0);
    }
}

static void test_blocks_with_large_k_are_exact(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int aligned = 0; aligned < 2; aligned++) {
        ops->aligned = aligned != 0;
        run_deep(ops, 1, 3, 100000);
        run_deep(ops, 3, 33, 100000);
        run_deep(ops, 11, 3, 100000);
        run_deep(ops, 2, 35, 131072 + 4096 + 32);
    }
    ops->aligned = false;
}

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
            for (size_t q = 0; q < COUNT_OF(BLOCK_TYPES); q++)
                run(&ops, &(vkf_test_gemm_types){VKF_DTYPE_F32, BLOCK_TYPES[q], VKF_DTYPE_F32}, &gemm);
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
    const struct CMUnitTest native[] = {
        VKF_OPS_TEST(test_blocks_shapes),
        VKF_OPS_TEST(test_blocks_shapes_aligned),
        VKF_OPS_TEST(test_blocks_bias_of_every_type),
        VKF_OPS_TEST(test_blocks_epilogues),
        VKF_OPS_TEST(test_blocks_with_large_k_are_exact),
        VKF_OPS_TEST(test_blocks_in_slices),
        VKF_OPS_TEST(test_blocks_in_the_wrong_place_are_refused),
        VKF_OPS_TEST(test_other_operators_refuse_blocks),
    };
    const struct CMUnitTest packed[] = {
        VKF_OPS_TEST(test_blocks_shapes),
        VKF_OPS_TEST(test_blocks_shapes_aligned_in_words),
    };
    int failed = cmocka_run_group_tests_name("op_gemm_blocks", native, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("op_gemm_blocks packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
