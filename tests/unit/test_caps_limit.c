// Profiles and masks that make a device look poorer.
#include "caps_fixture.h"

#define VALUES 64

// One number per limit, so that all of them can be compared in a loop.
static size_t limit_values(const vkf__caps *caps, uint64_t out_values[VALUES])
{
    size_t count = 0;
#define VALUE(field, name, type) out_values[count++] = caps->field;
    VKF_CAPS_LIMITS(VALUE)
#undef VALUE
#define VALUE(field, name, ...) out_values[count++] = caps->field;
    VKF_CAPS_FEATURES(VALUE)
#undef VALUE
#define VALUE(field, name, ...) out_values[count++] = caps->matrix.field;
    VKF_MATRIX_FEATURES(VALUE)
#undef VALUE
    out_values[count++] = caps->matrix.shape_count;
    out_values[count++] = caps->api_version;
    assert_in_range(count, 1, VALUES);
    return count;
}

static void assert_no_value_higher(const vkf__caps *limited, const vkf__caps *original)
{
    uint64_t after[VALUES];
    uint64_t before[VALUES];
    size_t count = limit_values(limited, after);
    assert_int_equal(limit_values(original, before), count);
    for (size_t i = 0; i < count; i++)
        if (after[i] > before[i])
            fail_msg("value %zu rose from %llu to %llu", i, (unsigned long long)before[i],
                     (unsigned long long)after[i]);
}

static void assert_same_values(const vkf__caps *caps, const vkf__caps *expected)
{
    uint64_t values[VALUES];
    uint64_t wanted[VALUES];
    size_t count = limit_values(caps, values);
    assert_int_equal(limit_values(expected, wanted), count);
    assert_memory_equal(values, wanted, count * sizeof values[0]);
}

static void test_profile_name_round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < VKF_CAPS_PROFILE_COUNT; i++) {
        vkf_caps_profile profile = VKF_CAPS_PROFILE_COUNT;
        assert_true(vkf_caps_profile_from_name(vkf_caps_profile_name((vkf_caps_profile)i), &profile));
        assert_int_equal(profile, i);
    }
    assert_string_equal(vkf_caps_profile_name(VKF_CAPS_PROFILE_ANDROID_BASELINE_2022), "android-baseline-2022");
    assert_string_equal(vkf_caps_profile_name(VKF_CAPS_PROFILE_COUNT), "unknown");
    assert_string_equal(vkf_caps_profile_name((vkf_caps_profile)-1), "unknown");
}

static void test_profile_from_name_unknown(void **state)
{
    static const char *const names[] = {"", "FULL", "full ", "unknown", "android", NULL};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        vkf_caps_profile profile = VKF_CAPS_PROFILE_ROADMAP_2026;
        assert_false(vkf_caps_profile_from_name(names[i], &profile));
        assert_int_equal(profile, VKF_CAPS_PROFILE_ROADMAP_2026);
    }
}

static void test_caps_limit_full_changes_nothing(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    const vkf__caps original = caps;
    (void)state;
    assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_FULL, NULL, 0), VKF_OK);
    assert_same_values(&caps, &original);
    assert_int_equal(record.count, 0);
}

static void test_caps_limit_android_baseline_2022(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    (void)state;
    assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_ANDROID_BASELINE_2022, NULL, 0), VKF_OK);
    assert_int_equal(caps.api_version, VK_API_VERSION_1_1);
    assert_int_equal(caps.max_workgroup_invocations, 128);
    assert_int_equal(caps.max_workgroup_size_x, 128);
    assert_int_equal(caps.max_workgroup_count_x, 65535);
    assert_int_equal(caps.max_shared_memory_bytes, 16384);
    assert_int_equal(caps.max_storage_buffers, 4);
    assert_int_equal(caps.max_storage_buffer_range, 134217728);
    assert_int_equal(caps.max_uniform_buffer_range, 16384);
    assert_int_equal(caps.max_push_constant_bytes, 128);
    assert_int_equal(caps.subgroup_size, 32);
#define OFF(field, ...) assert_false(caps.field);
    VKF_CAPS_FEATURES(OFF)
#undef OFF
}

static void test_caps_limit_later_profiles(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps android = discrete_caps();
    vkf__caps roadmap = discrete_caps();
    (void)state;
    assert_int_equal(vkf__caps_limit(&host, &android, VKF_CAPS_PROFILE_ANDROID_2025, NULL, 0), VKF_OK);
    assert_int_equal(android.max_workgroup_invocations, 256);
    assert_int_equal(android.max_shared_memory_bytes, 16384);
    assert_int_equal(android.max_storage_buffers, 12);
    assert_true(android.storage_16bit && android.shader_float16 && android.subgroup_arithmetic);
    // What is accelerated is for the device to say, and no profile's promise.
    assert_true(android.integer_dot && roadmap.integer_dot_accelerated);
    assert_false(android.integer_dot_accelerated);
    assert_false(android.timestamps || android.pipeline_executable_info || android.memory_budget);
    assert_int_equal(vkf__caps_limit(&host, &roadmap, VKF_CAPS_PROFILE_ROADMAP_2026, NULL, 0), VKF_OK);
    assert_int_equal(roadmap.max_shared_memory_bytes, 32768);
    assert_int_equal(roadmap.max_storage_buffers, 200);
    assert_int_equal(roadmap.max_push_constant_bytes, 256);
    assert_true(roadmap.integer_dot && !roadmap.integer_dot_accelerated);
    assert_true(roadmap.timestamps && roadmap.storage_16bit);
    assert_int_equal(roadmap.api_version, VK_MAKE_API_VERSION(0, 1, 3, 250));
}

// Also on a device that has less than every profile: nothing is raised to the profile's value.
static void test_caps_limit_profiles_only_lower(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    const vkf__caps poor = {.name = "poor",
                            .api_version = VK_API_VERSION_1_1,
                            .max_workgroup_invocations = 64,
                            .max_storage_buffers = 3,
                            .max_push_constant_bytes = 32,
                            .subgroup_size = 1};
    const vkf__caps originals[] = {discrete_caps(), integrated_caps(), cpu_caps(), poor};
    (void)state;
    for (size_t i = 0; i < sizeof originals / sizeof originals[0]; i++) {
        for (int profile = 0; profile < VKF_CAPS_PROFILE_COUNT; profile++) {
            vkf__caps caps = originals[i];
            assert_int_equal(vkf__caps_limit(&host, &caps, (vkf_caps_profile)profile, NULL, 0), VKF_OK);
            assert_no_value_higher(&caps, &originals[i]);
            assert_memory_equal(&caps.memory, &originals[i].memory, sizeof caps.memory);
            assert_int_equal(caps.storage_buffer_alignment, originals[i].storage_buffer_alignment);
        }
    }
}

static void test_caps_limit_every_feature_mask(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    (void)state;
#define MASK(field, vulkan_name, ...)                                                             \
    {                                                                                             \
        vkf__caps caps = discrete_caps();                                                         \
        const char *mask = vulkan_name;                                                           \
        assert_true(caps.field);                                                                  \
        assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_FULL, &mask, 1), VKF_OK); \
        assert_false(caps.field);                                                                 \
        caps.field = true;                                                                        \
        const vkf__caps original = discrete_caps();                                               \
        assert_same_values(&caps, &original);                                                     \
    }
    VKF_CAPS_FEATURES(MASK)
#undef MASK
}

static void test_caps_limit_every_matrix_feature_mask(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps original = discrete_caps();
    add_matrices(&original, 16);
    (void)state;
#define MASK(field, vulkan_name, ...)                                                             \
    {                                                                                             \
        vkf__caps caps = original;                                                                \
        const char *mask = vulkan_name;                                                           \
        assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_FULL, &mask, 1), VKF_OK); \
        assert_false(caps.matrix.field);                                                          \
        assert_int_equal(caps.matrix.reductions &&caps.matrix.block_loads,                        \
                         strcmp(mask, "cooperativeMatrixReductions") != 0 &&                      \
                             strcmp(mask, "cooperativeMatrixBlockLoads") != 0 &&                  \
                             strcmp(mask, "cooperativeMatrix") != 0);                             \
    }
    VKF_MATRIX_FEATURES(MASK)
#undef MASK
}

// Nothing is left of matrices without the first of their features: not even the shapes.
static void test_caps_limit_no_matrices_below_full(void **state)
{
    static const char *const mask = "cooperativeMatrix";
    const vkf__caps_matrix none = {0};
    (void)state;
    for (int profile = 0; profile < VKF_CAPS_PROFILE_COUNT; profile++) {
        message_record record;
        vkf__host host = recording_host(&record);
        vkf__caps caps = discrete_caps();
        add_matrices(&caps, 16);
        const vkf__caps_matrix all = caps.matrix;
        assert_int_equal(vkf__caps_limit(&host, &caps, (vkf_caps_profile)profile, NULL, 0), VKF_OK);
        assert_memory_equal(&caps.matrix, profile == VKF_CAPS_PROFILE_FULL ? &all : &none, sizeof none);
        assert_int_equal(vkf__caps_limit(&host, &caps, (vkf_caps_profile)profile, &mask, 1), VKF_OK);
        assert_memory_equal(&caps.matrix, &none, sizeof none);
    }
}

static void test_caps_limit_every_limit_mask(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    (void)state;
#define MASK(field, vulkan_name, type)                                                            \
    {                                                                                             \
        vkf__caps caps = discrete_caps();                                                         \
        const char *mask = vulkan_name "=7";                                                      \
        assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_FULL, &mask, 1), VKF_OK); \
        assert_int_equal(caps.field, 7);                                                          \
        const vkf__caps original = discrete_caps();                                               \
        caps.field = original.field;                                                              \
        assert_same_values(&caps, &original);                                                     \
    }
    VKF_CAPS_LIMITS(MASK)
#undef MASK
}

static void test_caps_limit_masks_on_top_of_profile(void **state)
{
    static const char *const masks[] = {"maxComputeWorkGroupInvocations=64", "shaderFloat16",
                                        "maxPushConstantsSize=4096", "maxStorageBufferRange=18446744073709551615"};
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    (void)state;
    assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_ANDROID_2025, masks, 4), VKF_OK);
    assert_int_equal(caps.max_workgroup_invocations, 64);
    assert_false(caps.shader_float16);
    assert_true(caps.storage_16bit);
    assert_int_equal(caps.max_push_constant_bytes, 128);
    assert_int_equal(caps.max_storage_buffer_range, 134217728);
}

static void test_caps_limit_bad_mask(void **state)
{
    static const struct {
        const char *mask;
        const char *said;
    } rows[] = {
        {"", "not known"},
        {"=", "not known"},
        {"shaderfloat16", "not known"},
        {"shaderFloat1", "not known"},
        {"shaderFloat16 ", "not known"},
        {"noSuchThing=4", "maxComputeSharedMemorySize=N"},
        {"shaderFloat16=0", "takes no value"},
        {"cooperativeMatrix=0", "takes no value"},
        {"cooperativeMatri", "cooperativeMatrixTensorAddressing"},
        {"maxPushConstantsSize", "is a limit"},
        {"maxPushConstantsSize=", "decimal number"},
        {"maxPushConstantsSize=-1", "decimal number"},
        {"maxPushConstantsSize=+1", "decimal number"},
        {"maxPushConstantsSize= 1", "decimal number"},
        {"maxPushConstantsSize=0x40", "decimal number"},
        {"maxPushConstantsSize=64k", "decimal number"},
        {"maxPushConstantsSize=64=64", "decimal number"},
        {"maxStorageBufferRange=18446744073709551616", "decimal number"},
        {NULL, "masks[1] is NULL"},
    };
    const vkf__caps original = discrete_caps();
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        message_record record;
        vkf__host host = recording_host(&record);
        vkf__caps caps = original;
        const char *const masks[] = {"storageBuffer16BitAccess", rows[i].mask};
        assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_FULL, masks, 2), VKF_ERROR_INVALID_ARGUMENT);
        assert_said(&record, rows[i].said);
        assert_same_values(&caps, &original);
    }
}

static void test_caps_limit_bad_arguments(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    const vkf__caps original = caps;
    (void)state;
    assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_COUNT, NULL, 0), VKF_ERROR_INVALID_ARGUMENT);
    assert_said(&record, "profile 4");
    assert_int_equal(vkf__caps_limit(&host, &caps, (vkf_caps_profile)-1, NULL, 0), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_FULL, NULL, 2), VKF_ERROR_INVALID_ARGUMENT);
    assert_said(&record, "masks is NULL");
    assert_same_values(&caps, &original);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile_name_round_trip),
        cmocka_unit_test(test_profile_from_name_unknown),
        cmocka_unit_test(test_caps_limit_full_changes_nothing),
        cmocka_unit_test(test_caps_limit_android_baseline_2022),
        cmocka_unit_test(test_caps_limit_later_profiles),
        cmocka_unit_test(test_caps_limit_profiles_only_lower),
        cmocka_unit_test(test_caps_limit_every_feature_mask),
        cmocka_unit_test(test_caps_limit_every_matrix_feature_mask),
        cmocka_unit_test(test_caps_limit_no_matrices_below_full),
        cmocka_unit_test(test_caps_limit_every_limit_mask),
        cmocka_unit_test(test_caps_limit_masks_on_top_of_profile),
        cmocka_unit_test(test_caps_limit_bad_mask),
        cmocka_unit_test(test_caps_limit_bad_arguments),
    };
    return cmocka_run_group_tests_name("caps_limit", tests, NULL, NULL);
}
