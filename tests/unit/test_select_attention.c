// Which kernels of fused attention GPUs and processors are given, whole rows and parts.
#include "kernel/select.h"

#include "caps_fixture.h"

#define F VKF_DTYPE_F32
#define H VKF_DTYPE_F16

static const vkf_dtype fff[] = {F, F, F}, hhf[] = {H, H, F};

static void assert_selected(const vkf__caps *caps, const vkf_dtype *types, vkf__problem problem, const char *name)
{
    vkf__variant variant = {0};
    const vkf__selector selector = {.caps = caps};
    char got[128] = "nothing";
    problem.quads = true;
    if (vkf__select(&selector, VKF_OP_ATTENTION, types, &problem, &variant, NULL))
        (void)snprintf(got, sizeof got, "%s/%s", variant.kernel->name, variant.config->name);
    if (strncmp(got, name, strlen(name)) != 0)
        fail_msg("%u x %u x %u gives %s, expected %s", problem.m, problem.n, problem.k, got, name);
}

// Decoding: few queries, keys in parts. Kernels that keep a row in the registers of one invocation come last on a GPU.
static void test_attention_in_parts_is_tiled_on_a_gpu(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    vkf__problem problem = {.m = 1, .n = 512, .k = 64, .split = true};
    assert_selected(&caps, fff, problem, "attention_tiled.f32_f32_f32/d64");
    assert_selected(&caps, hhf, problem, "attention_tiled.f16p_f16p_f32/d64");
    problem.k = 256;
    assert_selected(&caps, fff, problem, "attention_tiled.f32_f32_f32/d256");
    caps.type = VKF_DEVICE_TYPE_CPU;
    settle_traits(&caps);
    assert_selected(&caps, fff, problem, "attention_texel4.f32_f32/shared8");
}

// With the storage buffers of the baseline there are no tiles: one row to an invocation, however wide, and more where
// they fit its registers.
static void test_attention_rows_fit_registers_on_a_gpu(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    caps.max_storage_buffers = 4;
    caps.buffer_device_address = false;
    vkf__problem problem = {.m = 512, .n = 512, .k = 16};
    assert_selected(&caps, fff, problem, "attention_texel4.f32_f32/q4k4");
    problem.k = 27; // 4 * (2 * 27 + 4) = 232
    assert_selected(&caps, fff, problem, "attention_texel4.f32_f32/q1k4");
    problem.k = 26;
    assert_selected(&caps, fff, problem, "attention_texel4.f32_f32/q4k4");
    problem.k = 256;
    assert_selected(&caps, fff, problem, "attention_texel4.f32_f32/q1k4");
    caps.type = VKF_DEVICE_TYPE_CPU;
    settle_traits(&caps);
    problem.k = 128;
    assert_selected(&caps, fff, problem, "attention_texel4.f32_f32/q4k4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_in_parts_is_tiled_on_a_gpu),
        cmocka_unit_test(test_attention_rows_fit_registers_on_a_gpu),
    };
    return cmocka_run_group_tests_name("select_attention", tests, NULL, NULL);
}
