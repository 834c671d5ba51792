// Which kernel serves a problem, on devices written by hand.
#include "kernel/select.h"

#include "caps_fixture.h"

static const vkf_dtype fff[] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
static const vkf_dtype fhf[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F32};
static const vkf_dtype hhh[] = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16};

static void assert_selected(const vkf__caps *caps, const vkf__tuned *tuned, vkf__op op, const vkf_dtype *types,
                            vkf__problem problem, const char *kernel, const char *config)
{
    vkf__variant variant = {0};
    assert_true(vkf__select(caps, tuned, op, types, &problem, &variant));
    if (strcmp(variant.kernel->name, kernel) != 0 || strcmp(variant.config->name, config) != 0)
        fail_msg("%u x %u x %u gives %s/%s, expected %s/%s", problem.m, problem.n, problem.k, variant.kernel->name,
                 variant.config->name, kernel, config);
}

static const vkf__kernel *kernel_named(const char *name)
{
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        if (strcmp(vkf__kernels[i].name, name) == 0)
            return &vkf__kernels[i];
    }
    fail_msg("no kernel %s", name);
    return NULL;
}

static void test_select_gemm_config_by_shape(void **state)
{
    (void)state;
    static const struct {
        uint32_t m, n;
        const char *config;
    } rows[] = {
        {1, 512, "thin"},  {8, 512, "thin"},  {8, 1, "thin"},    {9, 512, "small"},   {47, 47, "small"},
        {48, 47, "small"}, {47, 48, "small"}, {48, 48, "large"}, {512, 512, "large"}, {UINT32_MAX, UINT32_MAX, "large"},
    };
    const vkf__caps caps = discrete_caps();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){rows[i].m, rows[i].n, 64},
                        "gemm_tile.f32_f32_f32", rows[i].config);
}

static void test_select_row_config_by_length(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        const char *config;
    } rows[] = {{1, "row16"}, {63, "row16"}, {64, "row64"}, {1023, "row64"}, {1024, "row256"}};
    const vkf__caps caps = discrete_caps();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_selected(&caps, NULL, VKF_OP_SOFTMAX, fff, (vkf__problem){10, rows[i].n, 0}, "softmax.f32_f32",
                        rows[i].config);
}

static void test_select_smaller_workgroups_where_large_ones_are_not_allowed(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    caps.max_workgroup_invocations = 128;
    assert_selected(&caps, NULL, VKF_OP_SOFTMAX, fff, (vkf__problem){10, 5000, 0}, "softmax.f32_f32", "row64");
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){100, 100, 9}, "gemm_tile.f32_f32_f32", "large");
    caps.max_workgroup_size_x = 64;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){100, 100, 9}, "gemm_tile.f32_f32_f32", "small");
    assert_selected(&caps, NULL, VKF_OP_COPY, fff, (vkf__problem){100, 100, 9}, "copy.f32_f32", "flat64");
    caps.max_workgroup_size_x = 1024;
    caps.max_shared_memory_bytes = 8000; // the large tile takes 8320 bytes
    assert_selected(&caps, NULL, VKF_OP_GEMM, fff, (vkf__problem){100, 100, 9}, "gemm_tile.f32_f32_f32", "small");
}

static void test_select_prefers_16bit_storage(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    const vkf__problem problem = {100, 100, 100};
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_tile.f32_f16_f32", "large");
    assert_selected(&caps, NULL, VKF_OP_GEMM, hhh, problem, "gemm_tile.f16_f16_f16", "large");
    caps.storage_16bit = false;
    assert_selected(&caps, NULL, VKF_OP_GEMM, fhf, problem, "gemm_tile.f32_f16p_f32", "large");
    assert_selected(&caps, NULL, VKF_OP_GEMM, hhh, problem, "gemm_tile.f16p_f16p_f16p", "large");
}

static void test_select_unknown_types_are_refused(void **state)
{
    (void)state;
    const vkf__caps caps = discrete_caps();
    const vkf_dtype types[] = {VKF_DTYPE_BOOL, VKF_DTYPE_BOOL, VKF_DTYPE_BOOL};
    const vkf__problem problem = {1, 1, 1};
    vkf__variant variant = {0};
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++)
        assert_false(vkf__select(&caps, NULL, op, types, &problem, &variant));
    assert_null(variant.kernel);
}

static void test_select_device_without_any_config(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    const vkf__problem problem = {100, 100, 100};
    vkf__variant variant = {0};
    caps.max_workgroup_invocations = 8;
    assert_false(vkf__select(&caps, NULL, VKF_OP_GEMM, fff, &problem, &variant));
    caps = discrete_caps();
    caps.max_storage_buffers = 3;
    assert_false(vkf__select(&caps, NULL, VKF_OP_GEMM, fff, &problem, &variant));
}

static vkf__tuned tuned_table(const char *text)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__tuned tuned;
    assert_int_equal(vkf__tuned_parse(&host, text, strlen(text), &tuned), VKF_OK);
    assert_true(tuned.count > 0);
    return tuned;
}

static void free_table(vkf__tuned *tuned)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__tuned_free(&host, tuned);
}

static void test_select_tuned_entry_overrides(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    vkf__tuned tuned = tuned_table("vkformer-tuned 1\n"
                                   "gemm f32,f32,f32 m<=128 n=100 k=64 gemm_tile.f32_f32_f32/small\n"
                                   "gemm f32,f16,f32 m<=any n=100 k=64 gemm_tile.f32_f16_f32/small\n"
                                   "softmax f32,f32 m<=8 n=2000 k=0 softmax.f32_f32/row256\n");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){100, 100, 64}, "gemm_tile.f32_f32_f32", "small");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){128, 100, 64}, "gemm_tile.f32_f32_f32", "small");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){129, 100, 64}, "gemm_tile.f32_f32_f32", "large");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){100, 101, 64}, "gemm_tile.f32_f32_f32", "large");
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fff, (vkf__problem){100, 100, 65}, "gemm_tile.f32_f32_f32", "large");
    // An entry that this device may not use is passed over.
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fhf, (vkf__problem){200, 100, 64}, "gemm_tile.f32_f16_f32", "small");
    caps.storage_16bit = false;
    assert_selected(&caps, &tuned, VKF_OP_GEMM, fhf, (vkf__problem){200, 100, 64}, "gemm_tile.f32_f16p_f32", "large");
    caps.max_workgroup_invocations = 128;
    assert_selected(&caps, &tuned, VKF_OP_SOFTMAX, fff, (vkf__problem){8, 2000, 0}, "softmax.f32_f32", "row64");
    free_table(&tuned);
}

static void test_kernel_usable_says_why(void **state)
{
    (void)state;
    const vkf__kernel *gemm = kernel_named("gemm_tile.f32_f16_f32");
    const vkf__caps good = discrete_caps();
    const char *why = NULL;
    assert_true(vkf__kernel_usable(&good, gemm, &gemm->configs[0], &why));
    assert_string_equal(why, "usable");
    assert_true(vkf__kernel_usable(&good, gemm, &gemm->configs[0], NULL));
#define REFUSED(field, value, part)                                             \
    do {                                                                        \
        vkf__caps caps = good;                                                  \
        caps.field = (value);                                                   \
        assert_false(vkf__kernel_usable(&caps, gemm, &gemm->configs[0], &why)); \
        if (!strstr(why, part))                                                 \
            fail_msg("%s: \"%s\" does not say \"%s\"", #field, why, part);      \
    } while (0)
    REFUSED(storage_16bit, false, "16-bit");
    REFUSED(max_storage_buffers, 3, "storage buffers");
    REFUSED(max_push_constant_bytes, 12, "push constants");
    REFUSED(max_workgroup_invocations, 32, "workgroup");
    REFUSED(max_workgroup_size_x, 32, "workgroup");
    REFUSED(max_shared_memory_bytes, 1024, "shared memory");
#undef REFUSED
    vkf__config crooked = gemm->configs[0];
    crooked.tile[3] = 3;
    assert_false(vkf__kernel_usable(&good, gemm, &crooked, &why));
    assert_non_null(strstr(why, "contradict"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select_gemm_config_by_shape),
        cmocka_unit_test(test_select_row_config_by_length),
        cmocka_unit_test(test_select_smaller_workgroups_where_large_ones_are_not_allowed),
        cmocka_unit_test(test_select_prefers_16bit_storage),
        cmocka_unit_test(test_select_unknown_types_are_refused),
        cmocka_unit_test(test_select_device_without_any_config),
        cmocka_unit_test(test_select_tuned_entry_overrides),
        cmocka_unit_test(test_kernel_usable_says_why),
    };
    return cmocka_run_group_tests_name("select", tests, NULL, NULL);
}
