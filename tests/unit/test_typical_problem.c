// The problems and constants that kernels are listed and compiled for.
#include "op/operators.h"

#include "caps_fixture.h"
#include "kernel/pipeline.h"
#include "shared/attention.h"
#include "shared/blocks.h"

static void spec_of(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim,
                    uint32_t spec[VKF_KERNEL_MAX_SPEC])
{
    uint32_t flags[VKF_KERNEL_MAX_SPEC];
    vkf__caps caps = discrete_caps();
    add_matrices(&caps, 16);
    memset(flags, 0x5a, sizeof flags);
    vkf__typical_flags(kernel, config, head_dim, flags);
    memset(spec, 0, VKF_KERNEL_MAX_SPEC * sizeof *spec);
    vkf__variant_spec(&caps, &(vkf__variant){kernel, config}, flags, spec);
}

static void test_typical_flags_are_a_linear_with_bias(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        uint32_t spec[VKF_KERNEL_MAX_SPEC];
        if (kernel->op != VKF_OP_GEMM)
            continue;
        spec_of(kernel, &kernel->configs[0], 64, spec);
        bool blocks = vkf_dtype_block_elements(kernel->types[1]) > 1;
        if (blocks)
            assert_int_equal(spec[VKF_GEMM_SPEC_B_LAYOUT],
                             kernel->types[1] == VKF_DTYPE_Q8 ? VKF_GEMM_B_Q8 : VKF_GEMM_B_Q4);
        else if (!(kernel->b_layouts >> spec[VKF_GEMM_SPEC_B_LAYOUT] & 1))
            fail_msg("%s does not read layout %u", kernel->name, spec[VKF_GEMM_SPEC_B_LAYOUT]);
        assert_int_equal(spec[VKF_GEMM_SPEC_TRANSPOSE_A], 0);
        assert_int_equal(spec[VKF_GEMM_SPEC_HAS_BIAS], 1);
    }
}

static void test_typical_flags_have_the_size_of_a_head(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        uint32_t spec[VKF_KERNEL_MAX_SPEC];
        if (kernel->op != VKF_OP_ATTENTION)
            continue;
        spec_of(kernel, &kernel->configs[0], 96, spec);
        assert_int_equal(spec[VKF_ATTENTION_SPEC_HEAD_DIM], 96);
        assert_int_equal(spec[VKF_ATTENTION_SPEC_V_HEAD_DIM], 96);
        if (kernel->operands[0] == VKF_OPERAND_TEXEL4)
            assert_int_equal(spec[VKF_ATTENTION_SPEC_TEXEL_WIDTH], 4);
        if (kernel->operands[0] == VKF_OPERAND_TEXEL)
            assert_int_equal(spec[VKF_ATTENTION_SPEC_TEXEL_WIDTH], 1);
    }
}

// A config whose invocations share a row makes nothing but parts, and every other a whole.
static void test_typical_flags_ask_for_parts_where_nothing_else_is_made(void **state)
{
    (void)state;
    uint32_t seen[2] = {0};
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; kernel->op == VKF_OP_ATTENTION && c < kernel->config_count; c++) {
            const vkf__config *config = &kernel->configs[c];
            const vkf__caps caps = discrete_caps();
            const vkf__problem whole = {.m = 1,
                                        .n = 1,
                                        .k = 4,
                                        .offers = VKF_FORM_QUADS | VKF_FORM_VECTORS,
                                        .precision = VKF_PRECISION_F16_SUMS};
            uint32_t spec[VKF_KERNEL_MAX_SPEC];
            spec_of(kernel, config, 4, spec);
            if (kernel->matrix == VKF_MATRIX_NONE)
                assert_int_equal(spec[VKF_ATTENTION_SPEC_PARTIAL], !vkf__kernel_takes(&caps, kernel, config, &whole));
            seen[spec[VKF_ATTENTION_SPEC_PARTIAL]]++;
        }
    }
    assert_true(seen[0] > 0 && seen[1] > 0);
}

// Types that every device has kernels for.
static void types_of(vkf__op op, vkf_dtype types[VKF_KERNEL_MAX_TYPES])
{
    types[0] = op == VKF_OP_REORDER ? VKF_DTYPE_I32 : VKF_DTYPE_F32;
    types[1] = op == VKF_OP_ARGMAX || op == VKF_OP_SAMPLE ? VKF_DTYPE_I32 : VKF_DTYPE_F32;
    types[2] = VKF_DTYPE_F32;
    if (op == VKF_OP_GEMM_INT8)
        types[0] = VKF_DTYPE_I8;
    if (op == VKF_OP_QUANTIZE_LINEAR)
        types[1] = VKF_DTYPE_I8;
}

static void test_typical_problems_are_served_for_every_op(void **state)
{
    (void)state;
    const vkf__caps caps = discrete_caps();
    const vkf__selector selector = {.caps = &caps};
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++) {
        const vkf__op_info *info = vkf__operator(op);
        uint32_t labels = 0;
        for (uint32_t i = 0; i < info->problem_count; i++) {
            const vkf__typical_problem *typical = &info->problems[i];
            vkf_dtype types[VKF_KERNEL_MAX_TYPES];
            vkf__variant variant = {0};
            types_of(op, types);
            const vkf__problem problem = vkf__typical_problem_for(&selector, typical, types);
            if (!vkf__select(&selector, op, types, &problem, &variant, NULL))
                fail_msg("nothing serves problem %u of %s", i, vkf__op_name(op));
            labels += typical->label != NULL;
            assert_true(typical->label || typical->ahead);
        }
        if (labels == 0)
            fail_msg("reports name no typical problem of %s", vkf__op_name(op));
    }
}

// A processor wants weights in panels, a GPU with kernels of no panels does not: the problem follows.
static void test_typical_problem_for_takes_the_layout_wanted(void **state)
{
    (void)state;
    const vkf_dtype f32[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    vkf__caps caps = discrete_caps();
    const vkf__selector selector = {.caps = &caps};
    const vkf__typical_problem linear = {.problem = {.m = 128, .n = 768, .k = 768}, .linear = true};
    const vkf__typical_problem product = {.problem = {.m = 128, .n = 768, .k = 768}};
    assert_int_equal(vkf__typical_problem_for(&selector, &linear, f32).b_layout, VKF_GEMM_B_NK);
    caps.type = VKF_DEVICE_TYPE_CPU;
    settle_traits(&caps);
    assert_int_equal(vkf__typical_problem_for(&selector, &linear, f32).b_layout, VKF_GEMM_B_PANELS);
    assert_true(vkf__typical_problem_for(&selector, &linear, f32).offers & VKF_FORM_QUADS);
    assert_int_equal(vkf__typical_problem_for(&selector, &product, f32).b_layout, VKF_GEMM_B_KN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typical_flags_are_a_linear_with_bias),
        cmocka_unit_test(test_typical_flags_have_the_size_of_a_head),
        cmocka_unit_test(test_typical_flags_ask_for_parts_where_nothing_else_is_made),
        cmocka_unit_test(test_typical_problems_are_served_for_every_op),
        cmocka_unit_test(test_typical_problem_for_takes_the_layout_wanted),
    };
    return cmocka_run_group_tests_name("typical_problem", tests, NULL, NULL);
}
