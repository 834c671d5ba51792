// The on-device self-test finds what is planted in a shader, and the next variant serves.
#include <stdio.h>
#include <string.h>

#include "fake_vulkan.h"
#include "fixture.h"
#include "glsl_compiler.h"
#include "heard.h"
#include "kernel/context.h"
#include "prove/self_test.h"
#include "shader_copy.h"

// Multiplies with shaders in which `from` became `to`, and with gemm_tile wherever it can serve.
static vkf_status multiply_edited(vkf_test_gpu *gpu, vkf_test_heard *h, const char *from, const char *to,
                                  bool skip_self_test, uint64_t budget_ns, float *out_value)
{
    vkf_shader_copy copy;
    vkf_test_copy_shaders(&copy);
    (void)vkf_test_edit_shader(&copy, "gemm/gemm_tile.comp", from, to);
    vkf_context *context = vkf_test_open_heard(
        gpu, h, (vkf_context_desc){.shader_dir = copy.path, .variant = "gemm_tile", .skip_self_test = skip_self_test});
    if (budget_ns > 0)
        context->self_test_budget_ns = budget_ns;
    vkf_status status = vkf_test_multiply_ones(context, 100, out_value);
    vkf_context_destroy(&context);
    vkf_test_remove_shaders(&copy);
    return status;
}

static const char store_line[] = "col, col, sum[i * THREAD_N + j]);";

// Wrong in one config alone, which is what would be taken for this size.
static void test_wrong_variant_is_found_and_replaced(void **state)
{
    static const char wrong[] = "col, col, (TILE_M == 64 && TILE_N == 64 && THREAD_M == 8 ? 1.001 : 1.0) "
                                "* sum[i * THREAD_N + j]);";
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_heard h;
    float value = 0;
    vkf_test_skip_without_glsl_compiler();
    assert_int_equal(multiply_edited(gpu, &h, store_line, wrong, true, 0, &value), VKF_OK);
    if (value == 100)
        skip(); // the device does not take the large tile
    assert_int_equal(multiply_edited(gpu, &h, store_line, wrong, false, 0, &value), VKF_OK);
    assert_true(value == 100);
    if (h.wrongs != 1 || !strstr(h.wrong, VKF_TEST_LARGE_TILE " is wrong") || !strstr(h.wrong, "expected") ||
        !strstr(h.wrong, "m 1, n 1"))
        fail_msg("%d are wrong, the last: %s", h.wrongs, h.wrong);
}

// An error of the last bits is one: the edge shapes are exact.
static void test_slightly_wrong_variant_is_found(void **state)
{
    vkf_test_heard h;
    float value = 0;
    vkf_test_skip_without_glsl_compiler();
    assert_int_equal(multiply_edited(vkf_test_gpu_of(state), &h, store_line,
                                     "col, col, (TILE_M == 64 ? 1.00001 : 1.0) * sum[i * THREAD_N + j]);", false, 0,
                                     &value),
                     VKF_OK);
    assert_true(value == 100);
}

// What Mesa 22.3 does to long loops shows at k = 100,000 alone, and in every config: then there is nothing left.
static void test_loop_that_ends_early_is_found(void **state)
{
    vkf_test_heard h;
    float value = 0;
    vkf_test_skip_without_glsl_compiler();
    vkf_status status = multiply_edited(vkf_test_gpu_of(state), &h, "if (p.alpha == 0.0)",
                                        "k_end = min(k_end, 65535u);\nif (p.alpha == 0.0)", false, 0, &value);
    if (!strstr(h.warning, "k 100000"))
        fail_msg("%s", h.warning);
    assert_true(h.warnings >= 2);
    // Another kernel may serve where gemm_tile does not.
    assert_true(status == VKF_ERROR_UNSUPPORTED || (status == VKF_OK && value == 100));
}

static void test_write_beside_the_output_is_found(void **state)
{
    vkf_test_heard h;
    float value = 0;
    vkf_test_skip_without_glsl_compiler();
    (void)multiply_edited(vkf_test_gpu_of(state), &h, "if (row < p.m && col < p.n) {",
                          "if (row < p.m && col < p.n + (TILE_M == 64 ? 1 : 0)) {", false, 0, &value);
    assert_true(h.wrongs >= 1);
}

// A row's last column that is read once more where the row ends within a step of the workgroup must not count twice.
static void test_column_that_counts_twice_is_found(void **state)
{
    vkf_test_heard h;
    vkf_shader_copy copy;
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    const vkf__variant variant = vkf_test_variant_named("sample.f32/row64");
    vkf_test_skip_without_glsl_compiler();
    vkf_test_copy_shaders(&copy);
    (void)vkf_test_edit_shader(&copy, "include/sampling.glsl", "own = col < end ? better(own, candidate) : own;",
                               "own = better(own, uvec2(candidate.x, min(col, cols - 1)));");
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){.shader_dir = copy.path});
    assert_int_equal(vkf__self_test(context, &variant, &verdict), VKF_OK);
    vkf_context_destroy(&context);
    vkf_test_remove_shaders(&copy);
    assert_int_equal(verdict, VKF_VERDICT_WRONG);
    assert_non_null(strstr(h.warning, "top-k 5"));
}

// Right, but far beyond its time.
static void test_slow_variant_is_found_and_replaced(void **state)
{
    static const char slow[] = "void main()\n"
                               "{\n"
                               "    float waste = float(gl_LocalInvocationID.x);\n"
                               "    for (uint i = 0; TILE_M == 64 && i < 60000; ++i) {\n"
                               "        [[unroll]] for (uint j = 0; j < 32; ++j)\n"
                               "            waste = sin(waste) + cos(waste + 0.5);\n"
                               "    }\n"
                               "    if (waste > 3.0 * float(p.m + 100))\n"
                               "        return;\n";
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_test_heard h;
    float value = 0;
    vkf_test_skip_without_glsl_compiler();
    if (gpu->context->device.plan.caps.type != VKF_DEVICE_TYPE_CPU)
        skip(); // what is slow depends on the device
    assert_int_equal(multiply_edited(gpu, &h, "void main()\n{\n", slow, false, 150000000, &value), VKF_OK);
    assert_true(value == 100);
    // On a busy machine others may be slow as well.
    if (!strstr(h.slow, VKF_TEST_LARGE_TILE " is too slow") || !strstr(h.slow, "budget"))
        fail_msg("%d warnings: %s", h.warnings, h.warning);
}

// Tests the large tile, slow in a product of depth 128 alone, from which that of 100,000 is foretold, in so many times
// the time that a GPU has.
static vkf__verdict test_slow_at_128(vkf_test_gpu *gpu, vkf_test_heard *h, uint32_t rounds, uint32_t budgets,
                                     uint64_t delay_ns, vkf__verdict_entry *out_entry)
{
    static const char format[] = "void main()\n"
                                 "{\n"
                                 "    float waste = float(gl_LocalInvocationID.x);\n"
                                 "    for (uint i = 0; TILE_M == 64 && p.k == 128 && i < %u; ++i) {\n"
                                 "        [[unroll]] for (uint j = 0; j < 32; ++j)\n"
                                 "            waste = sin(waste) + cos(waste + 0.5);\n"
                                 "    }\n"
                                 "    if (waste > 3.0 * float(p.m + 100))\n"
                                 "        return;\n";
    const vkf__variant large = vkf_test_variant_named(VKF_TEST_LARGE_TILE);
    char slow[1024];
    vkf_shader_copy copy;
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    vkf_test_copy_shaders(&copy);
    (void)snprintf(slow, sizeof slow, format, rounds);
    (void)vkf_test_edit_shader(&copy, "gemm/gemm_tile.comp", "void main()\n{\n", slow);
    fake_vulkan_reset();
    vkf_context *context = vkf_test_open_heard(
        gpu, h, (vkf_context_desc){.shader_dir = copy.path, .get_instance_proc_addr = fake_vulkan_get_proc});
    context->self_test_budget_ns = budgets * VKF_SELF_TEST_BUDGET_NS;
    fake_vulkan_delay("vkQueueSubmit", delay_ns);
    assert_int_equal(vkf__self_test(context, &large, &verdict), VKF_OK);
    *out_entry = *vkf__verdict_entry_of(&context->learned.verdicts, large.kernel, large.config);
    vkf_context_destroy(&context);
    fake_vulkan_reset();
    vkf_test_remove_shaders(&copy);
    return verdict;
}

static void skip_unless_slowness_is_known(const vkf_test_gpu *gpu)
{
    vkf_test_skip_without_glsl_compiler();
    vkf_test_skip_unless_lavapipe(gpu);
    if (!gpu->context->device.plan.caps.timestamps)
        skip();
}

// So slow that a busy machine's submission of nothing takes no tenth of it, and within the time of one run.
static void test_foretold_slowness_is_no_strike(void **state)
{
    vkf_test_heard h;
    vkf__verdict_entry entry;
    skip_unless_slowness_is_known(vkf_test_gpu_of(state));
    const vkf__verdict verdict = test_slow_at_128(vkf_test_gpu_of(state), &h, 30000, 10, 0, &entry);
    if (verdict != VKF_VERDICT_SLOW || !strstr(h.slow, "times the work") || !strstr(h.slow, "in this run"))
        fail_msg("verdict %d: %s", (int)verdict, h.slow);
    assert_int_equal(atomic_load(&entry.strikes), 0);
    assert_true(atomic_load(&entry.percent) > 100);
}

// What takes no ten times as long as a submission by itself foretells nothing: more depth tells. There is time for the
// deep product on a busy machine, too.
static void test_nothing_is_foretold_from_little(void **state)
{
    vkf_test_heard h;
    vkf__verdict_entry entry;
    skip_unless_slowness_is_known(vkf_test_gpu_of(state));
    const vkf__verdict verdict = test_slow_at_128(vkf_test_gpu_of(state), &h, 2000, 10, 100000000, &entry);
    if (verdict != VKF_VERDICT_PASSED)
        fail_msg("verdict %d: %s", (int)verdict, h.slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrong_variant_is_found_and_replaced),
        cmocka_unit_test(test_slightly_wrong_variant_is_found),
        cmocka_unit_test(test_loop_that_ends_early_is_found),
        cmocka_unit_test(test_write_beside_the_output_is_found),
        cmocka_unit_test(test_column_that_counts_twice_is_found),
        cmocka_unit_test(test_slow_variant_is_found_and_replaced),
        cmocka_unit_test(test_foretold_slowness_is_no_strike),
        cmocka_unit_test(test_nothing_is_foretold_from_little),
    };
    return cmocka_run_group_tests_name("planted", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
