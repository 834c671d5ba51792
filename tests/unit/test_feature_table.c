// The table of features, and that all which walk it agree: a device is made with what the table says, and nothing else.
#include "caps_fixture.h"

#include <vkformer/vulkan.h>

#include "vk/calibration.h"
#include "vk/feature_chain.h"

static const vkf__plan_wishes all_wishes = {.timestamps = true,
                                            .executable_info = true,
                                            .counters = true,
                                            .external_memory = true,
                                            .queue_priority = VKF_QUEUE_PRIORITY_HIGH};

static vkf__caps all_caps(void)
{
    vkf__caps caps = discrete_caps();
    add_matrices(&caps, 16);
    return caps;
}

static bool is_enabled(const vkf__device_plan *plan, const vkf__feature *feature)
{
    return *((const bool *)(const void *)&plan->enabled + feature->enabled);
}

static void test_feature_table_rows_are_distinct(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *a = &vkf__feature_table[i];
        assert_in_range(a->bit + sizeof(VkBool32), sizeof(VkBool32), sizeof(vkf__features));
        assert_true((a->bit == 0) == (a->with == 0));
        for (uint32_t j = 0; j < i; j++) {
            const vkf__feature *b = &vkf__feature_table[j];
            assert_true(a->caps != b->caps && a->enabled != b->enabled && strcmp(a->name, b->name) != 0);
            assert_true(a->bit == 0 || a->bit != b->bit);
        }
    }
}

// What a row needs is decided before the row is: readers and limits go through the table once.
static void test_feature_table_needs_come_first(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        bool found = false;
        for (uint32_t j = 0; j <= i && !found; j++)
            found = vkf__feature_table[j].caps == vkf__feature_table[i].needs;
        if (!found)
            fail_msg("%s needs what does not come before it", vkf__feature_table[i].name);
    }
}

// Each structure has its type, and each switch stands in one that the plan chains.
static void test_features_enable_and_chain(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        vkf__features features;
        vkf__features_init(&features);
        if (feature->bit == 0)
            continue;
        assert_false(vkf__features_has(&features, feature));
        uint32_t structures = vkf__features_enable(&features, feature);
        assert_true(vkf__features_has(&features, feature));
        assert_int_equal(structures == 0, feature->bit < sizeof features.head);
        uint32_t chained = 0;
        for (VkBaseOutStructure *link = vkf__features_chain(&features, structures); link; link = link->pNext) {
            assert_int_not_equal(link->sType, 0);
            chained++;
        }
        uint32_t expected = 0;
        for (uint32_t bits = structures; bits; bits &= bits - 1)
            expected++;
        assert_int_equal(chained, expected);
    }
}

static vkf__device_plan plan_of(const vkf__caps *caps, const vkf_external_device *external)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device_plan plan;
    assert_int_equal(external ? vkf__device_plan_make_external(&host, caps, &all_wishes, external, &plan)
                              : vkf__device_plan_make(&host, caps, &all_wishes, &plan),
                     VKF_OK);
    return plan;
}

// A device that has everything, and one that lacks a feature: what depends on nothing else is lost alone.
static void test_plan_enables_what_is_there(void **state)
{
    const vkf__caps all = all_caps();
    const vkf__device_plan rich = plan_of(&all, NULL);
    (void)state;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        vkf__caps caps = all;
        assert_true(is_enabled(&rich, feature));
        assert_true(feature->bit == 0 || vkf__features_has(&rich.features, feature));
        vkf__feature_set_in_caps(feature, &caps, false);
        const vkf__device_plan poor = plan_of(&caps, NULL);
        if (is_enabled(&poor, feature) || (feature->bit > 0 && vkf__features_has(&poor.features, feature)))
            fail_msg("%s is enabled on a device without it", feature->name);
        assert_true(poor.extension_count <= rich.extension_count);
    }
}

static void test_plan_without_wishes_has_no_switch_for_them(void **state)
{
    static const vkf__plan_wishes none = {0};
    const vkf__caps all = all_caps();
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device_plan plan;
    (void)state;
    assert_int_equal(vkf__device_plan_make(&host, &all, &none, &plan), VKF_OK);
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        bool wished = feature->wanted >= VKF_WANTED_FOR_TIMESTAMPS && feature->wanted <= VKF_WANTED_FOR_OTHER_SHADERS &&
                      feature->wanted != VKF_WANTED_FOR_ADDRESSES; // which matrices in blocks need
        assert_int_equal(is_enabled(&plan, feature), !wished);
        assert_true(feature->bit == 0 || vkf__features_has(&plan.features, feature) == !wished);
    }
}

static vkf_external_device external_of(uint32_t family, bool storage_16bit)
{
    return (vkf_external_device){
        .api_version = VK_API_VERSION_1_1,
        .queue_family_index = family,
        .storage_16bit = storage_16bit,
    };
}

// On the caller's device nothing is used that has to be enabled, but for what the caller vouches for.
static void test_plan_external_uses_what_is_vouched_for(void **state)
{
    const vkf__caps all = all_caps();
    (void)state;
    for (int vouched = 0; vouched < 2; vouched++) {
        const vkf_external_device external = external_of(0, vouched);
        const vkf__device_plan plan = plan_of(&all, &external);
        for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
            const vkf__feature *feature = &vkf__feature_table[i];
            bool named = feature->caps == offsetof(vkf__caps, storage_16bit);
            bool kept = named ? vouched : !vkf__feature_is_switched(feature) && feature->needs == feature->caps;
            if (is_enabled(&plan, feature) != kept || vkf__feature_in_caps(feature, &plan.caps) != kept)
                fail_msg("%s is %s", feature->name, kept ? "lost" : "used");
        }
        assert_int_equal(plan.extension_count, 0);
        assert_int_equal(plan.caps.matrix.shape_count, 0);
        assert_int_equal(plan.caps.api_version, VK_API_VERSION_1_1);
    }
}

// Chains as a program makes them: of structures of versions of Vulkan, and of one for each extension.
typedef struct version_chain {
    VkPhysicalDeviceFeatures2 core;
    VkPhysicalDeviceVulkan11Features version11;
    VkPhysicalDeviceVulkan12Features version12;
    VkPhysicalDeviceVulkan13Features version13;
} version_chain;

static void link_versions(version_chain *chain)
{
    *chain = (version_chain){
        .core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &chain->version11},
        .version11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &chain->version12},
        .version12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .pNext = &chain->version13},
        .version13 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES},
    };
}

// All structures that a version of Vulkan took over stand aside for that version's, and no switch of theirs is lost.
static void test_feature_chain_versions_have_all_that_they_took_over(void **state)
{
    const vkf__caps all = all_caps();
    const vkf__device_plan plan = plan_of(&all, NULL);
    version_chain chain;
    vkf__features read;
    bool head = false;
    (void)state;
    link_versions(&chain);
    chain.version12.timelineSemaphore = VK_TRUE;
    uint32_t missing = vkf__feature_chain_merge(&chain.core, &plan.features, plan.feature_structures, &head);
    assert_true(head);
    vkf__feature_chain_read(&chain.core, &read);
    for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++)
        assert_int_equal(missing >> i & 1, vkf__feature_structures[i].core == UINT32_MAX);
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        uint32_t structures = vkf__feature_structure_bits(feature);
        if (feature->bit > 0 && !(structures & missing) && !vkf__features_has(&read, feature))
            fail_msg("%s is lost", feature->name);
    }
    assert_true(chain.version12.timelineSemaphore); // the program's own
}

static void test_feature_chain_switches_nothing_on_by_itself(void **state)
{
    vkf__features none, read;
    version_chain chain;
    bool head = true;
    (void)state;
    vkf__features_init(&none);
    link_versions(&chain);
    chain.version11.storageBuffer16BitAccess = VK_TRUE;
    (void)vkf__feature_chain_merge(&chain.version11, &none, 0, &head);
    assert_false(head);
    vkf__feature_chain_read(&chain.core, &read);
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        bool named = feature->caps == offsetof(vkf__caps, storage_16bit);
        assert_true(feature->bit == 0 || vkf__features_has(&read, feature) == named);
    }
    vkf__feature_chain_read(NULL, &read);
    assert_false(read.storage_16bit.storageBuffer16BitAccess);
}

// What a plan would enable on a device of the library's own is used on the caller's that was made so; without the
// names of extensions only what the version of Vulkan includes is.
static void test_plan_external_uses_all_that_is_enabled(void **state)
{
    const vkf__caps all = all_caps();
    vkf__device_plan own = plan_of(&all, NULL);
    vkf_external_device external = {
        .api_version = own.caps.api_version, .features = &own.features.head, .extensions = own.extensions};
    (void)state;
    own.features.head.pNext = vkf__features_chain(&own.features, own.feature_structures);
    for (int named = 0; named < 2; named++) {
        external.extension_count = named ? own.extension_count : 0;
        const vkf__device_plan plan = plan_of(&all, &external);
        for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
            const vkf__feature *feature = &vkf__feature_table[i];
            uint32_t structures = vkf__feature_structure_bits(feature);
            bool extension = feature->extension != NULL;
            for (uint32_t s = 0; s < VKF_FEATURE_STRUCTURE_COUNT; s++)
                extension = extension || ((structures >> s & 1) && vkf__feature_structures[s].core == UINT32_MAX);
            bool there = vkf__feature_in_caps(feature, &plan.caps);
            bool queues = feature->wanted == VKF_WANTED_FOR_PRIORITY; // the queue is the caller's
            if (there != (named || !extension) || (named && is_enabled(&plan, feature) == queues))
                fail_msg("%s is %s", feature->name, there ? "used" : "lost");
        }
        assert_int_equal(plan.caps.matrix.shape_count, named ? own.caps.matrix.shape_count : 0);
        assert_int_equal(plan.extension_count, 0);
        assert_int_equal(plan.feature_structures, 0);
    }
}

static void test_plan_external_knows_both_names_of_calibrated_timestamps(void **state)
{
    static const char *const name = VKF_KHR_CALIBRATED_TIMESTAMPS;
    const vkf__caps all = all_caps();
    vkf_external_device external = external_of(0, false);
    (void)state;
    assert_false(plan_of(&all, &external).enabled.calibrated_timestamps);
    external.extensions = &name;
    external.extension_count = 1;
    assert_true(plan_of(&all, &external).enabled.calibrated_timestamps);
}

static void test_plan_external_queue_family(void **state)
{
    vkf__caps caps = discrete_caps();
    vkf_external_device external = external_of(1, false);
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device_plan plan;
    (void)state;
    caps.portability_subset = true;
    assert_int_equal(vkf__device_plan_make_external(&host, &caps, &all_wishes, &external, &plan),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_said(&record, "queue family 1 of Discrete 9000 cannot compute");
    external.queue_family_index = 1000;
    assert_int_equal(vkf__device_plan_make_external(&host, &caps, &all_wishes, &external, &plan),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_said(&record, "queue_family_index is 1000, but Discrete 9000 has 2 families");
    caps.queue_families[1].compute = true; // without timestamps
    external.queue_family_index = 1;
    plan = plan_of(&caps, &external);
    assert_int_equal(plan.caps.queue_family_index, 1);
    assert_false(plan.enabled.timestamps || plan.caps.timestamps);
    assert_int_equal(plan.extension_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feature_table_rows_are_distinct),
        cmocka_unit_test(test_feature_table_needs_come_first),
        cmocka_unit_test(test_features_enable_and_chain),
        cmocka_unit_test(test_plan_enables_what_is_there),
        cmocka_unit_test(test_plan_without_wishes_has_no_switch_for_them),
        cmocka_unit_test(test_plan_external_uses_what_is_vouched_for),
        cmocka_unit_test(test_feature_chain_versions_have_all_that_they_took_over),
        cmocka_unit_test(test_feature_chain_switches_nothing_on_by_itself),
        cmocka_unit_test(test_plan_external_uses_all_that_is_enabled),
        cmocka_unit_test(test_plan_external_knows_both_names_of_calibrated_timestamps),
        cmocka_unit_test(test_plan_external_queue_family),
    };
    return cmocka_run_group_tests_name("feature_table", tests, NULL, NULL);
}
