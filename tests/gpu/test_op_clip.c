// The norm of gradients and the factor that limits it, against the reference: numbers of tensors about the workgroup's
// size, norms on both sides of the limit, loss scales, and sums of squares that are no numbers.
#include <math.h>

#include "op/clip.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_clip(work, args);
}

// A root, a quotient and a few dozen sums of positive numbers round.
static void check(vkf_test_ops *ops, const vkf_test_operand *squares, float max_norm, float loss_scale)
{
    const uint32_t count = (uint32_t)squares->count;
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2));
    float expected[2];
    const vkf__clip_args args = {"clip", SPAN(squares), SPAN(out), count, max_norm, loss_scale};
    vkf__ref_clip(count, squares->values, max_norm, loss_scale, expected);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "clip", emit, &args), "clip");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, 2, 0, 4e-6,
                 vkf_test_label(&ops->gpu, "factor and norm of %u tensors, at most %g, scale %g", count,
                                (double)max_norm, (double)loss_scale));
}

static void test_clip_sizes_and_limits(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t counts[] = {1, 2, 63, 64, 65, 149, 1024, 2049};
    static const float limits[] = {0, 1e-3f, 1, 1e6f};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        for (size_t k = 0; k < COUNT_OF(limits); k++)
            check(ops, vkf_test_uniform(ops, VKF_DTYPE_F32, 0, 4, SHAPE(counts[i])), limits[k], k % 2 ? 65536.0f : 1);
        vkf_test_ops_reset(ops);
    }
}

// By a limit that the norm is equal to, torch clips a little, too; a norm of 0 divides nothing by 0.
static void test_clip_at_the_limit(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float sixteenth[] = {1.0f / 256}, nothing[] = {0};
    check(ops, vkf_test_values(ops, VKF_DTYPE_F32, sixteenth, SHAPE(1)), 1.0f / 16, 1);
    check(ops, vkf_test_values(ops, VKF_DTYPE_F32, nothing, SHAPE(1)), 1, 2);
    check(ops, vkf_test_values(ops, VKF_DTYPE_F32, nothing, SHAPE(1)), 0, 2);
}

static void test_clip_of_what_is_no_number_skips_the_step(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float values[] = {NAN, INFINITY, 3e38f};
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        vkf_test_operand *squares = vkf_test_constant(ops, VKF_DTYPE_F32, 3e38f, SHAPE(70));
        for (size_t k = 0; k < squares->count; k++)
            squares->values[k] = k == 69 ? values[i] : i == 2 && k == 0 ? 3e38f : 1;
        vkf_test_upload(ops, squares);
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2));
        const vkf__clip_args args = {"clip", SPAN(squares), SPAN(out), 70, i == 1 ? 1.0f : 0.0f, 2};
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "clip", emit, &args), "clip");
        vkf_test_download(ops, out);
        assert_true(out->values[0] == 0 && !isfinite(out->values[1]));
    }
}

static void test_clip_of_no_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *squares = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(3));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2));
    const vkf__clip_args args = {"clip", SPAN(squares), SPAN(out), 0, 1, 1};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "clip", emit, &args), "clip");
    vkf_test_assert_untouched(ops, out);
}

static void test_clip_refuses_more_tensors_than_it_sums(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2));
    const vkf__clip_args args = {"clip", SPAN(out), SPAN(out), (1u << 20) + 1, 1, 1};
    vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "clip", emit, &args), VKF_ERROR_TOO_LARGE,
                            "many tensors");
    vkf_test_assert_untouched(ops, out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_clip_sizes_and_limits),
        VKF_OPS_TEST(test_clip_at_the_limit),
        VKF_OPS_TEST(test_clip_of_what_is_no_number_skips_the_step),
        VKF_OPS_TEST(test_clip_of_no_tensors),
        VKF_OPS_TEST(test_clip_refuses_more_tensors_than_it_sums),
    };
    return cmocka_run_group_tests_name("op_clip", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
