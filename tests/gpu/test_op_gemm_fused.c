// Where products normalise their input and gate their output in one dispatch.
#include <string.h>

#include "op/gemm_fused.h"
#include "support/op_fixture.h"

#define EPS 1e-5f

// A description without buffers, for what only asks of it: a row of 64 elements, normalised, and 16 columns.
static vkf__gemm_args product_of_a_normalised_row(void)
{
    const vkf__span row = {.size_bytes = 4 * 64, .dtype = VKF_DTYPE_F32};
    return (vkf__gemm_args){
        .a = row,
        .b = {.size_bytes = 4 * 64 * 16, .dtype = VKF_DTYPE_F32},
        .d = {.size_bytes = 4 * 16, .dtype = VKF_DTYPE_F32},
        .m = 1,
        .n = 16,
        .k = 64,
        .batch = 1,
        .lda = 64,
        .ldb = 64,
        .ldd = 16,
        .transpose_b = true,
        .alpha = 1,
        .norm = {.weight = row, .eps = EPS},
    };
}

// What no kernel takes along is refused, whatever else it could do.
static void test_fusions_that_no_kernel_takes(void **state)
{
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (vkf_test_ops_open_variant(&ops, "gemv.")) {
        vkf__work work;
        vkf__work_init(&work, ops.gpu.context, "fusions");
        vkf__gemm_args args = product_of_a_normalised_row();
        args.gate = true;
        args.ldd = 8;
        assert_true(vkf__gemm_fuses(&work, &args));
        args.n = 12; // halves of 6 columns
        assert_false(vkf__gemm_fuses(&work, &args));
        args.n = 16;
        args.norm.weight.offset_bytes = 4;
        assert_false(vkf__gemm_fuses(&work, &args));
        args.norm.weight.offset_bytes = 16;
        args.norm.weight.dtype = VKF_DTYPE_F16;
        assert_false(vkf__gemm_fuses(&work, &args));
        args.norm.weight.dtype = VKF_DTYPE_F32;
        args.norm.bias = (vkf__span){.offset_bytes = 4 * 64 + 16, .size_bytes = 4 * 64, .dtype = VKF_DTYPE_F32};
        assert_true(vkf__gemm_fuses(&work, &args));
        args.norm.bias.offset_bytes += 4;
        assert_false(vkf__gemm_fuses(&work, &args));
        args.norm.bias.offset_bytes = 0; // ahead of the weight
        assert_true(vkf__gemm_fuses(&work, &args));
        args.bias = (vkf__span){.offset_bytes = 4 * 128 + 16, .size_bytes = 4 * 16, .dtype = VKF_DTYPE_F32};
        assert_true(vkf__gemm_fuses(&work, &args));
        args.bias.offset_bytes += work.context->device.plan.caps.max_storage_buffer_range;
        assert_false(vkf__gemm_fuses(&work, &args));
        args.bias.offset_bytes = 0;
        args.bias.buffer = &(vkf_buffer){.size_bytes = 64};
        assert_false(vkf__gemm_fuses(&work, &args));
        args.norm = (vkf__input_norm){.eps = EPS};
        assert_true(vkf__gemm_fuses(&work, &args));
        args.beta = 1;
        assert_false(vkf__gemm_fuses(&work, &args));
        vkf__work_finish(&work);
    }
    vkf_test_ops_close(&ops);
}

static uint32_t index_of(const char *name)
{
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel; (kernel = vkf__kernel_next(&walk));)
        if (strcmp(kernel->name, name) == 0)
            return vkf__kernel_index(kernel);
    fail_msg("no kernel is called %s", name);
    return 0;
}

// On a processor a product for which such a kernel was measured to be the fastest still leaves LayerNorm to itself.
static void test_processors_do_not_fuse_layer_norm(void **state)
{
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (vkf_test_ops_open(&ops, NULL, 0)) {
        vkf_context *context = ops.gpu.context;
        const vkf__tuned_entry fastest = {
            .op = VKF_OP_GEMM, .type_count = 3, .m_class = 1, .n = 16, .k = 64, .kernel = index_of("gemv.f32_f32_f32")};
        vkf__gemm_args args = product_of_a_normalised_row();
        vkf__work work;
        vkf__work_init(&work, context, "processor");
        assert_int_equal(vkf__learned_measured(&context->learned, &fastest), VKF_OK);
        assert_true(vkf__gemm_fuses(&work, &args));
        args.norm.bias = args.norm.weight;
        args.norm.bias.offset_bytes = 4 * 64;
        assert_int_equal(vkf__gemm_fuses(&work, &args), !context->device.plan.caps.traits.processor);
        vkf__work_finish(&work);
    }
    vkf_test_ops_close(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_fusions_that_no_kernel_takes),
        VKF_OPS_TEST(test_processors_do_not_fuse_layer_norm),
    };
    return cmocka_run_group_tests_name("gpu.op_gemm_fused", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
