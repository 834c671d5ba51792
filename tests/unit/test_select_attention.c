// Which kernels of fused attention GPUs and processors are given, whole rows and parts.
#include "kernel/select.h"

#include "caps_fixture.h"
#include "kernel/context.h"
#include "op/attention.h"

#define F VKF_DTYPE_F32
#define H VKF_DTYPE_F16

static const vkf_dtype fff[] = {F, F, F}, hhf[] = {H, H, F}, fbf[] = {F, VKF_DTYPE_BF16, F},
                       fqf[] = {F, VKF_DTYPE_Q8, F};

static void assert_selected(const vkf__caps *caps, const vkf_dtype *types, vkf__problem problem, const char *name)
{
    vkf__variant variant = {0};
    const vkf__selector selector = {.caps = caps};
    char got[128] = "nothing";
    problem.offers = VKF_FORM_QUADS | (problem.k % 8 == 0 ? VKF_FORM_VECTORS : 0u);
    if (vkf__select(&selector, VKF_OP_ATTENTION, types, &problem, &variant, NULL))
        (void)snprintf(got, sizeof got, "%s/%s", variant.kernel->name, variant.config->name);
    if (strncmp(got, name, strlen(name)) != 0)
        fail_msg("%u x %u x %u gives %s, expected %s", problem.m, problem.n, problem.k, got, name);
}

// Decoding: few queries, keys in parts, by as many lanes as a subgroup has and a key has vectors.
static void test_few_queries_share_keys_on_a_gpu(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    vkf__problem problem = {.m = 1, .n = 512, .k = 64, .wants = VKF_FORM_SPLIT};
    assert_selected(&caps, fff, problem, "attention_decode.f32_f32_f32/lanes16");
    assert_selected(&caps, hhf, problem, "attention_decode.f16p_f16p_f32/lanes8");
    assert_selected(&caps, fbf, problem, "attention_decode.f32_bf16p_f32/lanes8");
    assert_selected(&caps, fqf, problem, "attention_decode.f32_q8_f32/lanes8");
    problem.m = 8;
    problem.k = 128;
    assert_selected(&caps, fff, problem, "attention_decode.f32_f32_f32/lanes32");
    assert_selected(&caps, hhf, problem, "attention_decode.f16p_f16p_f32/lanes16");
    caps.min_subgroup_size = 8;
    assert_selected(&caps, hhf, problem, "attention_decode.f16p_f16p_f32/wide8");
    caps.max_subgroup_size = 256; // not all would be full
    assert_selected(&caps, hhf, problem, "attention_tiled.f16p_f16p_f32/few128");
    caps.max_subgroup_size = 64;
    caps.min_subgroup_size = 4;
    assert_selected(&caps, fff, problem, "attention_decode.f32_f32_f32/wide4");
    problem.m = 9;
    assert_selected(&caps, fff, problem, "attention_tiled.f32_f32_f32/d128");
    assert_selected(&caps, fbf, problem, "attention_tiled.f32_bf16p_f32/d128");
    assert_selected(&caps, fqf, problem, "attention_tiled.f32_q8_f32/d128");
    caps.type = VKF_DEVICE_TYPE_CPU;
    settle_traits(&caps);
    problem.m = 1;
    assert_selected(&caps, fff, problem, "attention_texel4.f32_f32/shared8");
    assert_selected(&caps, fbf, problem, "attention_direct.f32_bf16p_f32/q1k1");
}

// A row of its own for each workgroup, unless the subgroup is too small for that.
static void test_few_queries_where_registers_are_few(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    caps.traits.registers = 64;
    vkf__problem problem = {.m = 1, .n = 512, .k = 64, .wants = VKF_FORM_SPLIT};
    assert_selected(&caps, fff, problem, "attention_decode.f32_f32_f32/row16");
    assert_selected(&caps, hhf, problem, "attention_decode.f16p_f16p_f32/row8");
    problem.k = 128;
    assert_selected(&caps, fff, problem, "attention_decode.f32_f32_f32/row16");
    assert_selected(&caps, hhf, problem, "attention_decode.f16p_f16p_f32/row16");
    caps.min_subgroup_size = 8;
    assert_selected(&caps, hhf, problem, "attention_decode.f16p_f16p_f32/wide8");
    problem.m = 9;
    assert_selected(&caps, hhf, problem, "attention_tiled.f16p_f16p_f32/d128x2");
}

// Without shuffles they go through shared memory. Kernels that keep a row in the registers of one invocation come last
// on a GPU.
static void test_attention_in_parts_is_tiled_on_a_gpu(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    caps.subgroup_shuffle = false;
    vkf__problem problem = {.m = 1, .n = 512, .k = 64, .wants = VKF_FORM_SPLIT};
    assert_selected(&caps, fff, problem, "attention_tiled.f32_f32_f32/few64");
    assert_selected(&caps, hhf, problem, "attention_tiled.f16p_f16p_f32/few64");
    problem.k = 128;
    assert_selected(&caps, hhf, problem, "attention_tiled.f16p_f16p_f32/few128");
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
    assert_selected(&caps, fbf, problem, "nothing"); // three steps serve
}

// The keys of few queries are divided until each core of a GPU has four workgroups, into 16 parts at most, and no finer
// than 64 keys; on a processor than 128.
static void test_attention_splits_by_cores(void **state)
{
    static const struct {
        bool processor;
        uint32_t cores, batch, heads, kv_heads, q_len, k_len, splits;
    } rows[] = {
        {false, 128, 1, 32, 8, 1, 4096, 16},  // 64 would be 512 workgroups
        {false, 132, 1, 32, 8, 1, 32768, 16}, //
        {false, 128, 1, 32, 8, 1, 575, 8},    // by keys
        {false, 128, 1, 32, 8, 1, 63, 1},     //
        {false, 128, 8, 32, 8, 1, 4096, 8},   // a batch fills cores, too
        {false, 128, 1, 32, 32, 1, 4096, 16}, //
        {false, 30, 1, 32, 8, 8, 4096, 8},    // 32 rows to a key head: two workgroups
        {false, 8, 1, 32, 8, 1, 4096, 4},     // a phone
        {false, 4, 1, 32, 8, 1, 4096, 2},     //
        {false, 128, 1, 32, 8, 9, 4096, 1},   // 288 rows
        {false, 128, 1, 4, 4, 9, 4096, 8},    // 36 rows of 256
        {true, 128, 1, 32, 8, 1, 4096, 1},    //
        {true, 128, 1, 4, 4, 1, 4096, 8},     //
        {true, 128, 1, 4, 4, 1, 575, 4},      //
        {false, 128, 1, 32, 8, 0, 4096, 1},   //
    };
    message_record record;
    vkf_context context = {.host = recording_host(&record)};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const vkf__attention_args args = {.batch = rows[i].batch,
                                          .heads = rows[i].heads,
                                          .kv_heads = rows[i].kv_heads,
                                          .q_len = rows[i].q_len,
                                          .k_len = rows[i].k_len};
        context.device.plan.caps = rows[i].processor ? cpu_caps() : discrete_caps();
        context.device.plan.caps.traits.cores = rows[i].cores;
        const uint32_t splits = vkf__attention_splits(&context, &args);
        if (splits != rows[i].splits)
            fail_msg("row %zu: %u parts, expected %u", i, splits, rows[i].splits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_queries_share_keys_on_a_gpu),
        cmocka_unit_test(test_few_queries_where_registers_are_few),
        cmocka_unit_test(test_attention_in_parts_is_tiled_on_a_gpu),
        cmocka_unit_test(test_attention_rows_fit_registers_on_a_gpu),
        cmocka_unit_test(test_attention_splits_by_cores),
    };
    return cmocka_run_group_tests_name("select_attention", tests, NULL, NULL);
}
