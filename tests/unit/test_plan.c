// What is planned for a device: memory types, features, and the limits below which it is refused.
#include "caps_fixture.h"

static const vkf__plan_wishes no_wishes = {0};

static vkf__device_plan plan_of(const vkf__caps *caps, vkf__plan_wishes wishes)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device_plan plan = {0};
    vkf_status status = vkf__device_plan_make(&host, caps, &wishes, &plan);
    if (status != VKF_OK)
        fail_msg("no plan for %s: status %d: %s", caps->name, (int)status, record.text);
    return plan;
}

static void assert_refused(const vkf__caps *caps, vkf_status status, const char *said)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device_plan plan;
    memset(&plan, 0x5a, sizeof plan);
    const vkf__device_plan before = plan;
    assert_int_equal(vkf__device_plan_make(&host, caps, &no_wishes, &plan), status);
    assert_memory_equal(&plan, &before, sizeof plan);
    assert_int_equal(record.severity, VKF_SEVERITY_ERROR);
    assert_said(&record, said);
    assert_said(&record, caps->name);
}

static void assert_memory(const vkf__caps *caps, bool unified, uint32_t device, uint32_t control, uint32_t staging)
{
    vkf__device_plan plan = plan_of(caps, no_wishes);
    assert_int_equal(plan.caps.traits.unified_memory, unified);
    assert_int_equal(plan.memory_type[VKF_MEMORY_DEVICE], device);
    assert_int_equal(plan.memory_type[VKF_MEMORY_CONTROL], control);
    assert_int_equal(plan.memory_type[VKF_MEMORY_STAGING], staging);
}

static void test_plan_memory_discrete(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    assert_memory(&caps, false, 1, 4, 3);
}

static void test_plan_memory_discrete_without_window(void **state)
{
    vkf__caps caps = rich_caps("no window", VKF_DEVICE_TYPE_DISCRETE);
    (void)state;
    add_heap(&caps, UINT64_C(4) << 30, true);
    add_heap(&caps, UINT64_C(8) << 30, false);
    add_type(&caps, 0, DL);
    add_type(&caps, 1, HV | HC | CACHED);
    add_type(&caps, 1, HV | HC);
    assert_memory(&caps, false, 0, 1, 1);
}

// The window is for control data, whichever way the driver lists its types; transfers go through system memory.
static void test_plan_memory_discrete_window_first(void **state)
{
    vkf__caps caps = rich_caps("window first", VKF_DEVICE_TYPE_DISCRETE);
    (void)state;
    add_heap(&caps, UINT64_C(256) << 20, true);
    add_heap(&caps, UINT64_C(8) << 30, true);
    add_heap(&caps, UINT64_C(8) << 30, false);
    add_type(&caps, 0, DL | HV | HC);
    add_type(&caps, 1, DL);
    add_type(&caps, 2, HV | HC);
    assert_memory(&caps, false, 1, 0, 2);
}

// The whole device memory is visible to the host (resizable BAR).
static void test_plan_memory_discrete_all_visible(void **state)
{
    vkf__caps caps = rich_caps("resizable", VKF_DEVICE_TYPE_DISCRETE);
    (void)state;
    add_heap(&caps, UINT64_C(16) << 30, true);
    add_heap(&caps, UINT64_C(32) << 30, false);
    add_type(&caps, 0, DL);
    add_type(&caps, 1, HV | HC);
    add_type(&caps, 0, DL | HV | HC);
    add_type(&caps, 1, HV | HC | CACHED);
    assert_memory(&caps, true, 2, 2, 3);
}

static void test_plan_memory_integrated(void **state)
{
    vkf__caps caps = integrated_caps();
    (void)state;
    assert_memory(&caps, true, 1, 1, 2);
}

// Two device-local heaps of which the host sees one: enough on an integrated device.
static void test_plan_memory_integrated_with_carve_out(void **state)
{
    vkf__caps caps = rich_caps("carve-out", VKF_DEVICE_TYPE_INTEGRATED);
    (void)state;
    add_heap(&caps, UINT64_C(1) << 30, true);
    add_heap(&caps, UINT64_C(8) << 30, true);
    add_type(&caps, 0, DL);
    add_type(&caps, 1, DL | HV | HC);
    assert_memory(&caps, true, 1, 1, 1);
    caps.type = VKF_DEVICE_TYPE_DISCRETE;
    assert_memory(&caps, false, 0, 1, 1);
}

static void test_plan_memory_integrated_not_coherent(void **state)
{
    vkf__caps caps = rich_caps("incoherent", VKF_DEVICE_TYPE_INTEGRATED);
    (void)state;
    add_heap(&caps, UINT64_C(8) << 30, true);
    add_heap(&caps, UINT64_C(8) << 30, false);
    add_type(&caps, 0, DL | HV | CACHED);
    add_type(&caps, 1, HV | HC);
    assert_memory(&caps, false, 0, 1, 1);
}

static void test_plan_memory_cpu(void **state)
{
    vkf__caps caps = cpu_caps();
    (void)state;
    assert_memory(&caps, true, 0, 0, 0);
}

// Types that need features of their own, or that can back no buffer, come first and are passed over.
static void test_plan_memory_forbidden_types(void **state)
{
    vkf__caps caps = rich_caps("special", VKF_DEVICE_TYPE_DISCRETE);
    (void)state;
    add_heap(&caps, UINT64_C(4) << 30, true);
    add_heap(&caps, UINT64_C(4) << 30, false);
    add_type(&caps, 0, DL | VK_MEMORY_PROPERTY_PROTECTED_BIT);
    add_type(&caps, 0, DL | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT);
    add_type(&caps, 1, HV | HC | CACHED | VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD);
    add_type(&caps, 0, DL);
    add_type(&caps, 1, HV | HC);
    assert_memory(&caps, false, 3, 4, 4);
}

static void test_plan_memory_missing(void **state)
{
    vkf__caps blind = rich_caps("blind", VKF_DEVICE_TYPE_DISCRETE);
    vkf__caps remote = rich_caps("remote", VKF_DEVICE_TYPE_DISCRETE);
    (void)state;
    add_heap(&blind, 1 << 30, true);
    add_type(&blind, 0, DL);
    add_type(&blind, 0, DL | HV | CACHED);
    assert_refused(&blind, VKF_ERROR_UNSUPPORTED, "host-visible and coherent");
    add_heap(&remote, 1 << 30, false);
    add_type(&remote, 0, HV | HC);
    assert_refused(&remote, VKF_ERROR_UNSUPPORTED, "no device-local memory");
}

static void test_plan_below_floor_no_device(void **state)
{
    vkf__caps old = cpu_caps();
    vkf__caps mute = cpu_caps();
    (void)state;
    old.api_version = VK_MAKE_API_VERSION(0, 1, 0, 300);
    assert_refused(&old, VKF_ERROR_NO_DEVICE, "offers Vulkan 1.0, at least 1.1");
    mute.queue_family_index = UINT32_MAX;
    assert_refused(&mute, VKF_ERROR_NO_DEVICE, "no compute queue");
}

// One below the floor is refused by name, the floor itself is enough.
static void test_plan_below_floor_limits(void **state)
{
    (void)state;
#define CHECK(field, value, said)                                        \
    {                                                                    \
        vkf__caps caps = cpu_caps();                                     \
        caps.field = (value)-1;                                          \
        assert_refused(&caps, VKF_ERROR_UNSUPPORTED, said);              \
        caps.field = (value);                                            \
        assert_int_equal(plan_of(&caps, no_wishes).caps.field, (value)); \
    }
    CHECK(max_workgroup_invocations, 64, "maxComputeWorkGroupInvocations = 63, at least 64");
    CHECK(max_workgroup_size_x, 64, "maxComputeWorkGroupSize[0] = 63, at least 64");
    CHECK(max_storage_buffers, 4, "maxPerStageDescriptorStorageBuffers = 3, at least 4");
    CHECK(max_shared_memory_bytes, 16384, "maxComputeSharedMemorySize = 16383, at least 16384");
    CHECK(max_push_constant_bytes, 32, "maxPushConstantsSize = 31, at least 32");
#undef CHECK
}

static void test_plan_every_profile_stands_on_the_floor(void **state)
{
    message_record record;
    vkf__host host = recording_host(&record);
    (void)state;
    for (int profile = 0; profile < VKF_CAPS_PROFILE_COUNT; profile++) {
        vkf__caps caps = discrete_caps();
        assert_int_equal(vkf__caps_limit(&host, &caps, (vkf_caps_profile)profile, NULL, 0), VKF_OK);
        vkf__device_plan plan = plan_of(&caps, no_wishes);
        assert_int_equal(plan.enabled.storage_16bit, profile != VKF_CAPS_PROFILE_ANDROID_BASELINE_2022);
        assert_int_equal(plan.enabled.shader_float16, profile != VKF_CAPS_PROFILE_ANDROID_BASELINE_2022);
        assert_int_equal(plan.enabled.shader_int64, profile == VKF_CAPS_PROFILE_FULL);
        assert_int_equal(plan.caps.max_workgroup_invocations, caps.max_workgroup_invocations);
    }
}

// Kernels for processors alone read operands by address.
static void test_plan_enables_addresses_where_they_serve(void **state)
{
    const vkf__caps gpu = discrete_caps(), processor = cpu_caps();
    (void)state;
    const vkf__device_plan plain = plan_of(&gpu, no_wishes);
    assert_true(gpu.buffer_device_address && processor.buffer_device_address);
    assert_false(plain.enabled.buffer_device_address || plain.caps.buffer_device_address);
    assert_true(plan_of(&gpu, (vkf__plan_wishes){.addresses = true}).caps.buffer_device_address);
    assert_true(plan_of(&gpu, (vkf__plan_wishes){.executable_info = true}).enabled.buffer_device_address);
    assert_true(plan_of(&processor, no_wishes).caps.buffer_device_address);
}

// So do the functions that decode what matrices are loaded from.
static void test_plan_enables_addresses_for_matrices_in_blocks(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    add_matrices(&caps, 16);
    assert_true(plan_of(&caps, no_wishes).caps.buffer_device_address);
    caps.matrix.block_loads = false;
    assert_false(plan_of(&caps, no_wishes).caps.buffer_device_address);
    caps.matrix.block_loads = true;
    caps.vulkan_memory_model = false;
    assert_false(plan_of(&caps, no_wishes).caps.buffer_device_address);
}

static bool plans_extension(const vkf__device_plan *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->extension_count; i++) {
        if (strcmp(plan->extensions[i], name) == 0)
            return true;
    }
    return false;
}

static void test_plan_wishes_granted(void **state)
{
    vkf__caps caps = discrete_caps();
    vkf__device_plan plan =
        plan_of(&caps, (vkf__plan_wishes){.timestamps = true, .executable_info = true, .counters = true});
    (void)state;
    assert_true(plan.enabled.timestamps && plan.enabled.calibrated_timestamps);
    assert_true(plan.enabled.pipeline_executable_info);
    assert_true(plan.enabled.statistics_queries && plan.enabled.performance_queries);
    assert_int_equal(plan.extension_count, 5);
    assert_true(plans_extension(&plan, "VK_EXT_memory_budget"));
    assert_true(plans_extension(&plan, "VK_KHR_shader_float_controls"));
    assert_true(plans_extension(&plan, "VK_KHR_pipeline_executable_properties"));
    assert_true(plans_extension(&plan, "VK_EXT_calibrated_timestamps"));
    assert_true(plans_extension(&plan, "VK_KHR_performance_query"));
}

// Clocks are compared where they are read at all, and under the name that the driver has.
static void test_plan_calibration(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    assert_false(plan_of(&caps, no_wishes).enabled.calibrated_timestamps);
    caps.calibrated_khr = true;
    vkf__device_plan plan = plan_of(&caps, (vkf__plan_wishes){.timestamps = true});
    assert_true(plans_extension(&plan, "VK_KHR_calibrated_timestamps"));
    assert_false(plans_extension(&plan, "VK_EXT_calibrated_timestamps"));
    caps.timestamps = false;
    assert_false(plan_of(&caps, (vkf__plan_wishes){.timestamps = true}).enabled.calibrated_timestamps);
}

static void test_plan_nothing_unasked(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    caps.memory_budget = caps.round_to_even_16 = false;
    vkf__device_plan plan = plan_of(&caps, no_wishes);
    assert_false(plan.enabled.timestamps);
    assert_false(plan.enabled.pipeline_executable_info);
    assert_false(plan.enabled.calibrated_timestamps || plan.enabled.statistics_queries ||
                 plan.enabled.performance_queries);
    assert_int_equal(plan.extension_count, 0);
}

static void test_plan_wishes_refused_with_warning(void **state)
{
    static const vkf__plan_wishes wishes[] = {{.timestamps = true}, {.executable_info = true}, {.counters = true}};
    static const char *const said[] = {"no timestamps", "pipelineExecutableInfo", "has no counters"};
    vkf__caps caps = discrete_caps();
    (void)state;
    caps.timestamps = false;
    caps.pipeline_executable_info = false;
    caps.statistics_queries = caps.performance_queries = false;
    for (size_t i = 0; i < 3; i++) {
        message_record record;
        vkf__host host = recording_host(&record);
        vkf__device_plan plan = {0};
        assert_int_equal(vkf__device_plan_make(&host, &caps, &wishes[i], &plan), VKF_OK);
        assert_false(plan.enabled.timestamps || plan.enabled.pipeline_executable_info);
        assert_int_equal(record.severity, VKF_SEVERITY_WARNING);
        assert_said(&record, said[i]);
    }
}

static void test_plan_matrices(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    add_matrices(&caps, 16);
    vkf__device_plan plan = plan_of(&caps, no_wishes);
    assert_true(plan.enabled.matrix.cooperative_matrix && plan.enabled.compute_full_subgroups &&
                plan.enabled.subgroup_size_control && plan.enabled.maintenance4);
    assert_int_equal(plan.extension_count, 5);
    assert_true(plans_extension(&plan, "VK_KHR_cooperative_matrix"));
    assert_true(plans_extension(&plan, "VK_KHR_shader_bfloat16"));
    assert_true(plans_extension(&plan, "VK_NV_cooperative_matrix2"));
    // Reductions are of use with listed shapes, too.
    caps.matrix.bfloat16 = caps.matrix.flexible_dimensions = false;
    plan = plan_of(&caps, no_wishes);
    assert_int_equal(plan.extension_count, 4);
    assert_true(plan.enabled.matrix.reductions && plan.enabled.matrix.conversions &&
                plan.enabled.matrix.per_element_operations && !plan.enabled.matrix.tensor_addressing);
    caps.matrix.reductions = caps.matrix.conversions = caps.matrix.per_element_operations = false;
    plan = plan_of(&caps, no_wishes);
    assert_int_equal(plan.extension_count, 3);
    assert_true(plans_extension(&plan, "VK_KHR_cooperative_matrix"));
    assert_false(plans_extension(&plan, "VK_NV_cooperative_matrix2"));
}

// Core in Vulkan 1.3, an extension before.
static void test_plan_integer_dot(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    vkf__device_plan plan = plan_of(&caps, no_wishes);
    assert_true(plan.enabled.integer_dot);
    assert_false(plans_extension(&plan, "VK_KHR_shader_integer_dot_product"));
    caps.api_version = VK_MAKE_API_VERSION(0, 1, 2, 300);
    plan = plan_of(&caps, no_wishes);
    assert_true(plan.enabled.integer_dot && plans_extension(&plan, "VK_KHR_shader_integer_dot_product"));
    caps.integer_dot = false;
    plan = plan_of(&caps, no_wishes);
    assert_false(plan.enabled.integer_dot || plans_extension(&plan, "VK_KHR_shader_integer_dot_product"));
}

// What is core later is an extension before.
static void test_plan_matrices_on_an_older_vulkan(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    add_matrices(&caps, 16);
    caps.api_version = VK_MAKE_API_VERSION(0, 1, 1, 300);
    caps.maintenance4 = false;
    vkf__device_plan plan = plan_of(&caps, (vkf__plan_wishes){.timestamps = true, .executable_info = true});
    assert_true(plan.enabled.matrix.cooperative_matrix && plan.enabled.compute_full_subgroups &&
                !plan.enabled.maintenance4);
    assert_true(plans_extension(&plan, "VK_KHR_shader_float16_int8"));
    assert_true(plans_extension(&plan, "VK_KHR_vulkan_memory_model"));
    assert_true(plans_extension(&plan, "VK_EXT_subgroup_size_control"));
    assert_in_range(plan.extension_count, 6, sizeof plan.extensions / sizeof plan.extensions[0]);
    caps.compute_full_subgroups = caps.subgroup_size_control = false;
    plan = plan_of(&caps, no_wishes);
    assert_false(plans_extension(&plan, "VK_EXT_subgroup_size_control"));
}

// Without what their kernels need nothing of them is switched on.
static void test_plan_matrices_without_what_they_need(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        vkf__caps caps = discrete_caps();
        add_matrices(&caps, 16);
        caps.memory_budget = caps.round_to_even_16 = false;
        caps.shader_float16 = i != 0;
        caps.vulkan_memory_model = i != 1;
        caps.matrix.cooperative_matrix = i != 2;
        vkf__device_plan plan = plan_of(&caps, no_wishes);
        assert_false(plan.enabled.matrix.cooperative_matrix || plan.enabled.compute_full_subgroups ||
                     plan.enabled.subgroup_size_control || plan.enabled.maintenance4);
        assert_int_equal(plan.extension_count, 0);
    }
}

static void test_plan_portability_subset(void **state)
{
    vkf__caps caps = integrated_caps();
    (void)state;
    caps.portability_subset = true;
    caps.memory_budget = caps.round_to_even_16 = false;
    vkf__device_plan plan = plan_of(&caps, no_wishes);
    assert_int_equal(plan.extension_count, 1);
    assert_string_equal(plan.extensions[0], "VK_KHR_portability_subset");
}

static void test_plan_buffer_alignment(void **state)
{
    static const struct {
        uint32_t storage, uniform, atom, expected;
    } rows[] = {{4, 4, 1, 256}, {256, 64, 64, 256}, {16, 1024, 64, 1024}, {512, 64, 64, 512}, {16, 64, 2048, 2048}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vkf__caps caps = cpu_caps();
        caps.storage_buffer_alignment = rows[i].storage;
        caps.uniform_buffer_alignment = rows[i].uniform;
        caps.non_coherent_atom_bytes = rows[i].atom;
        assert_int_equal(plan_of(&caps, no_wishes).buffer_alignment, rows[i].expected);
    }
}

static void test_caps_info_mirrors_caps(void **state)
{
    vkf__caps caps = discrete_caps();
    vkf_device_info info;
    (void)state;
    vkf__caps_info(&caps, 3, &info);
    assert_int_equal(info.index, 3);
    assert_string_equal(info.name, "Discrete 9000");
    assert_int_equal(info.type, VKF_DEVICE_TYPE_DISCRETE);
    assert_false(info.unified_memory);
    assert_int_equal(info.heap_count, 3);
    assert_int_equal(info.heap_size_bytes[2], 268435456);
    assert_true(info.heap_device_local[2]);
    assert_false(info.heap_device_local[1]);
    assert_memory_equal(info.uuid, caps.device_uuid, VKF_UUID_SIZE);
    assert_int_equal(info.max_storage_buffer_range_bytes, UINT32_MAX);
    caps.matrix = (vkf__caps_matrix){0};
    caps.integer_dot_accelerated = false;
    vkf__caps_info(&caps, 3, &info);
    assert_false(info.cooperative_matrix || info.flexible_matrix || info.integer_dot_accelerated);
    caps.integer_dot_accelerated = caps.matrix.cooperative_matrix = true;
    caps.matrix.workgroup_scope = caps.matrix.tensor_addressing = true;
    vkf__caps_info(&caps, 3, &info);
    assert_true(info.cooperative_matrix && info.integer_dot_accelerated);
    assert_false(info.flexible_matrix); // without block loads
    caps.matrix.block_loads = true;
    vkf__caps_info(&caps, 3, &info);
    assert_true(info.flexible_matrix);
}

// For shaders that are not the library's, and only from Vulkan 1.2 on, where all of it is in the core.
static void test_plan_other_types_come_with_statistics(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    caps.api_version = VK_API_VERSION_1_2;
    assert_false(plan_of(&caps, (vkf__plan_wishes){.timestamps = true}).enabled.other.int8);
    assert_true(plan_of(&caps, (vkf__plan_wishes){.executable_info = true}).enabled.other.int8);
    caps.pipeline_executable_info = false;
    assert_true(plan_of(&caps, (vkf__plan_wishes){.executable_info = true}).enabled.other.int8);
    caps.api_version = VK_API_VERSION_1_1;
    assert_false(plan_of(&caps, (vkf__plan_wishes){.executable_info = true}).enabled.other.int8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_other_types_come_with_statistics),
        cmocka_unit_test(test_plan_memory_discrete),
        cmocka_unit_test(test_plan_memory_discrete_without_window),
        cmocka_unit_test(test_plan_memory_discrete_window_first),
        cmocka_unit_test(test_plan_memory_discrete_all_visible),
        cmocka_unit_test(test_plan_memory_integrated),
        cmocka_unit_test(test_plan_memory_integrated_with_carve_out),
        cmocka_unit_test(test_plan_memory_integrated_not_coherent),
        cmocka_unit_test(test_plan_memory_cpu),
        cmocka_unit_test(test_plan_memory_forbidden_types),
        cmocka_unit_test(test_plan_memory_missing),
        cmocka_unit_test(test_plan_below_floor_no_device),
        cmocka_unit_test(test_plan_below_floor_limits),
        cmocka_unit_test(test_plan_every_profile_stands_on_the_floor),
        cmocka_unit_test(test_plan_enables_addresses_where_they_serve),
        cmocka_unit_test(test_plan_enables_addresses_for_matrices_in_blocks),
        cmocka_unit_test(test_plan_wishes_granted),
        cmocka_unit_test(test_plan_calibration),
        cmocka_unit_test(test_plan_nothing_unasked),
        cmocka_unit_test(test_plan_wishes_refused_with_warning),
        cmocka_unit_test(test_plan_integer_dot),
        cmocka_unit_test(test_plan_matrices),
        cmocka_unit_test(test_plan_matrices_on_an_older_vulkan),
        cmocka_unit_test(test_plan_matrices_without_what_they_need),
        cmocka_unit_test(test_plan_portability_subset),
        cmocka_unit_test(test_plan_buffer_alignment),
        cmocka_unit_test(test_caps_info_mirrors_caps),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
