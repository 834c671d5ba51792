// What follows from made-up caps: each trait on both sides of what decides it.
#include "caps_fixture.h"

static const vkf_device_type all_types[] = {VKF_DEVICE_TYPE_OTHER, VKF_DEVICE_TYPE_INTEGRATED, VKF_DEVICE_TYPE_DISCRETE,
                                            VKF_DEVICE_TYPE_VIRTUAL, VKF_DEVICE_TYPE_CPU};

// A device of each type, its memory as fast for both sides.
static vkf__traits traits_of(vkf_device_type type, bool matrices)
{
    vkf__caps caps = cpu_caps();
    caps.type = type;
    if (matrices)
        add_matrices(&caps, 8);
    return vkf__traits_of(&caps);
}

static void test_traits_processor(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_types / sizeof all_types[0]; i++) {
        assert_int_equal(traits_of(all_types[i], false).processor, all_types[i] == VKF_DEVICE_TYPE_CPU);
        assert_int_equal(traits_of(all_types[i], false).runs_ahead, all_types[i] != VKF_DEVICE_TYPE_CPU);
        assert_int_equal(traits_of(all_types[i], false).joins_layers, all_types[i] != VKF_DEVICE_TYPE_CPU);
        assert_int_equal(traits_of(all_types[i], false).spins, all_types[i] != VKF_DEVICE_TYPE_CPU);
        assert_int_equal(traits_of(all_types[i], false).clock_follows_load, all_types[i] != VKF_DEVICE_TYPE_CPU);
    }
}

// Traits of drivers for processors alone: a GPU with matrices has neither trait, nor one without.
static void test_traits_compiler(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_types / sizeof all_types[0]; i++) {
        const bool processor = all_types[i] == VKF_DEVICE_TYPE_CPU;
        const vkf__traits old = traits_of(all_types[i], false), recent = traits_of(all_types[i], true);
        assert_int_equal(recent.folds_uniform_loads, processor);
        assert_false(recent.compiles_unrolled_slowly);
        assert_false(old.folds_uniform_loads);
        assert_int_equal(old.compiles_unrolled_slowly, processor);
    }
}

// As the driver tells, or by the kind of device.
static void test_traits_cores(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    assert_int_equal(vkf__traits_of(&caps).cores, 64);
    assert_false(vkf__traits_of(&caps).cores_are_known);
    caps.type = VKF_DEVICE_TYPE_INTEGRATED;
    assert_int_equal(vkf__traits_of(&caps).cores, 16);
    caps.type = VKF_DEVICE_TYPE_OTHER;
    assert_int_equal(vkf__traits_of(&caps).cores, 8);
    caps.shader_cores = 128;
    assert_int_equal(vkf__traits_of(&caps).cores, 128);
    assert_true(vkf__traits_of(&caps).cores_are_known);
}

static void test_traits_halves(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    assert_true(vkf__traits_of(&caps).prefers_halves);
    caps.storage_16bit = false;
    assert_false(vkf__traits_of(&caps).prefers_halves);
    caps = discrete_caps();
    caps.shader_float16 = false;
    assert_false(vkf__traits_of(&caps).prefers_halves);
    add_matrices(&caps, 16);
    assert_true(vkf__traits_of(&caps).prefers_halves);
    caps.type = VKF_DEVICE_TYPE_CPU;
    assert_false(vkf__traits_of(&caps).prefers_halves);
}

static void test_traits_integer_dot_units(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    assert_true(vkf__traits_of(&caps).integer_dot_units);
    caps.integer_dot_accelerated = false;
    assert_false(vkf__traits_of(&caps).integer_dot_units);
    caps = discrete_caps();
    caps.integer_dot = false; // masked, while the property is not
    assert_false(vkf__traits_of(&caps).integer_dot_units);
    assert_false(traits_of(VKF_DEVICE_TYPE_CPU, false).integer_dot_units);
    assert_true(traits_of(VKF_DEVICE_TYPE_INTEGRATED, false).integer_dot_units);
}

static void test_traits_row_dot_depths(void **state)
{
    static const struct {
        uint32_t vendor_id, min_subgroup_size;
        VkDriverId driver_id;
        uint32_t q8, q4;
    } rows[] = {
        {0x10de, 32, VK_DRIVER_ID_NVIDIA_PROPRIETARY, UINT32_MAX, 4097},
        {0x1002, 32, VK_DRIVER_ID_MESA_RADV, UINT32_MAX, 2048},
        {0x1002, 64, VK_DRIVER_ID_MESA_RADV, 2048, 2048}, // before RDNA
        {0x8086, 8, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 2048, UINT32_MAX},
        {0x8086, 8, VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS, UINT32_MAX, UINT32_MAX},
        {0x13b5, 16, VK_DRIVER_ID_ARM_PROPRIETARY, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vkf__caps caps = discrete_caps();
        caps.vendor_id = rows[i].vendor_id;
        caps.driver_id = rows[i].driver_id;
        caps.subgroup_size_control = true;
        caps.min_subgroup_size = rows[i].min_subgroup_size;
        const vkf__traits traits = vkf__traits_of(&caps);
        assert_int_equal(traits.row_dot_depth_q8, rows[i].q8);
        assert_int_equal(traits.row_dot_depth_q4, rows[i].q4);
    }
}

static void test_traits_core_bytes_in_flight(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_types / sizeof all_types[0]; i++)
        assert_int_equal(traits_of(all_types[i], false).core_bytes_in_flight, all_types[i] == VKF_DEVICE_TYPE_CPU ? 0
                                                                              : all_types[i] == VKF_DEVICE_TYPE_DISCRETE
                                                                                  ? 24576
                                                                                  : 4096);
}

static void test_traits_dots_outrun_matrices(void **state)
{
    vkf__caps caps = discrete_caps();
    (void)state;
    assert_false(vkf__traits_of(&caps).dots_outrun_matrices);
    caps.vendor_id = 0x8086;
    assert_true(vkf__traits_of(&caps).dots_outrun_matrices);
    caps.vendor_id = 0x1002;
    assert_true(vkf__traits_of(&caps).dots_outrun_matrices);
    caps.integer_dot_accelerated = false;
    assert_false(vkf__traits_of(&caps).dots_outrun_matrices);
}

static void test_traits_halves_outrun_floats(void **state)
{
    static const struct {
        uint32_t vendor_id;
        bool outrun;
    } rows[] = {{0x1002, true}, {0x10de, true}, {0x13b5, true}, {0x5143, true}, {0x8086, false}, {0x106b, false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vkf__caps caps = discrete_caps();
        caps.vendor_id = rows[i].vendor_id;
        assert_int_equal(vkf__traits_of(&caps).halves_outrun_floats, rows[i].outrun);
        caps.shader_float16 = false;
        assert_false(vkf__traits_of(&caps).halves_outrun_floats);
        caps.shader_float16 = true;
        caps.type = VKF_DEVICE_TYPE_CPU;
        assert_false(vkf__traits_of(&caps).halves_outrun_floats);
    }
}

static void test_traits_registers(void **state)
{
    static const struct {
        uint32_t vendor_id;
        bool storage_16bit;
        uint32_t registers;
    } rows[] = {
        {0x13b5, true, 64}, {0x5143, false, 96}, {0x5143, true, 256}, {0x106b, true, 128}, {0x10de, false, 256},
    };
    (void)state;
    vkf__caps caps = discrete_caps();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        caps.vendor_id = rows[i].vendor_id;
        caps.storage_16bit = rows[i].storage_16bit;
        assert_int_equal(vkf__traits_of(&caps).registers, rows[i].registers);
    }
    caps.driver_id = 26; // Honeykrisp
    assert_int_equal(vkf__traits_of(&caps).registers, 128);
}

static void test_traits_matrices_prefer_half_sums(void **state)
{
    static const struct {
        uint32_t vendor_id;
        const char *name;
        bool prefer;
    } rows[] = {
        {0x10de, "NVIDIA GeForce RTX 4090", true},
        {0x10de, "NVIDIA RTX 6000 Ada Generation", false},
        {0x10de, "NVIDIA H200", false},
        {0x1002, "GeForce of another vendor", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vkf__caps caps = discrete_caps();
        caps.vendor_id = rows[i].vendor_id;
        (void)snprintf(caps.name, sizeof caps.name, "%s", rows[i].name);
        assert_int_equal(vkf__traits_of(&caps).matrices_prefer_half_sums, rows[i].prefer);
    }
}

static void test_traits_unified_memory(void **state)
{
    vkf__caps caps = integrated_caps();
    (void)state;
    assert_true(vkf__traits_of(&caps).unified_memory);
    caps.mapped_device_memory = false;
    assert_false(vkf__traits_of(&caps).unified_memory);
    caps = discrete_caps(); // a window alone
    assert_false(vkf__traits_of(&caps).unified_memory);
    caps.type = VKF_DEVICE_TYPE_INTEGRATED; // though one heap of two cannot be mapped
    assert_true(vkf__traits_of(&caps).unified_memory);
    caps = rich_caps("no memory", VKF_DEVICE_TYPE_CPU);
    assert_false(vkf__traits_of(&caps).unified_memory);
    assert_true(traits_of(VKF_DEVICE_TYPE_DISCRETE, false).unified_memory); // its only heap can be
}

// Traits in a plan are those of the caps as limited, whatever stood there before.
static void test_plan_has_the_traits_of_its_caps(void **state)
{
    static const char *const mask = "cooperativeMatrix";
    static const vkf__plan_wishes none = {0};
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps caps = cpu_caps();
    vkf__device_plan plan;
    (void)state;
    add_matrices(&caps, 8);
    assert_int_equal(vkf__device_plan_make(&host, &caps, &none, &plan), VKF_OK);
    assert_true(plan.caps.traits.folds_uniform_loads);
    assert_int_equal(vkf__caps_limit(&host, &caps, VKF_CAPS_PROFILE_FULL, &mask, 1), VKF_OK);
    assert_int_equal(vkf__device_plan_make(&host, &caps, &none, &plan), VKF_OK);
    assert_true(plan.caps.traits.processor && !plan.caps.traits.folds_uniform_loads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_traits_processor),
        cmocka_unit_test(test_traits_compiler),
        cmocka_unit_test(test_traits_cores),
        cmocka_unit_test(test_traits_halves),
        cmocka_unit_test(test_traits_integer_dot_units),
        cmocka_unit_test(test_traits_row_dot_depths),
        cmocka_unit_test(test_traits_core_bytes_in_flight),
        cmocka_unit_test(test_traits_dots_outrun_matrices),
        cmocka_unit_test(test_traits_halves_outrun_floats),
        cmocka_unit_test(test_traits_registers),
        cmocka_unit_test(test_traits_matrices_prefer_half_sums),
        cmocka_unit_test(test_traits_unified_memory),
        cmocka_unit_test(test_plan_has_the_traits_of_its_caps),
    };
    return cmocka_run_group_tests_name("traits", tests, NULL, NULL);
}
