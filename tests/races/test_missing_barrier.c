// Whether the validation layer's pass for races in shared memory finds one: a product by gemm_tile as it is, and
// without the barrier between its loads and its products. run_race_pass sets the layer up.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "glsl_compiler.h"
#include "shader_copy.h"

enum { SIZE = 64 };

// (SIZE, SIZE) times (SIZE, SIZE), which takes more than one step of k.
static void multiply(vkf_test_gpu *gpu)
{
    static float values[SIZE * SIZE];
    const uint32_t shape[] = {SIZE, SIZE};
    vkf_tensor a = vkf_test_tensor(gpu, VKF_DTYPE_F32, 2, shape, values);
    vkf_tensor out = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    assert_int_equal(vkf_gemm(gpu->context, &(vkf_gemm_desc){.a = a, .b = a, .out = out, .alpha = 1}), VKF_OK);
    vkf_tensor_destroy(&a);
    vkf_tensor_destroy(&out);
}

// What the layer says of one product with the shaders of `directory`.
static int messages_with(const char *directory, char first[1024])
{
    vkf_test_gpu gpu;
    vkf_context_desc desc = {.shader_dir = directory, .variant = "gemm_tile.f32_f32_f32/small"};
    if (vkf_test_gpu_open(&gpu, &desc) != 0)
        fail_msg("no context: %s", gpu.last_error);
    multiply(&gpu);
    vkf_context_destroy(&gpu.context);
    memcpy(first, gpu.first_validation, sizeof gpu.first_validation);
    return gpu.validation_messages;
}

static void skip_without_pass(void)
{
    const char *enabled = getenv("VK_LAYER_GPUAV_SHARED_MEMORY_DATA_RACE");
    if (enabled && vkf_test_has_glsl_compiler())
        return;
    printf("skipped: the layer's pass is off, or this build has no GLSL compiler (VKF_RUNTIME_GLSL)\n");
    skip();
}

static void test_race_without_a_barrier_is_found(void **state)
{
    char first[1024] = "";
    vkf_shader_copy copy;
    (void)state;
    skip_without_pass();
    vkf_test_copy_shaders(&copy);
    (void)vkf_test_edit_shader(&copy, "gemm/gemm_tile.comp", "        barrier();\n        [[dont_unroll]]",
                               "        [[dont_unroll]]");
    int messages = messages_with(copy.path, first);
    vkf_test_remove_shaders(&copy);
    if (messages == 0 || !strstr(first, "data race"))
        fail_msg("%d messages, the first: %s", messages, first);
}

static void test_no_race_with_the_barrier(void **state)
{
    char first[1024] = "";
    (void)state;
    skip_without_pass();
    if (messages_with(VKF_TEST_SHADERS, first) > 0)
        fail_msg("%s", first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_race_without_a_barrier_is_found),
        cmocka_unit_test(test_no_race_with_the_barrier),
    };
    return cmocka_run_group_tests_name("missing_barrier", tests, NULL, NULL);
}
