// Descriptions of devices, what is refused of them, and contexts that have no other device.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <time.h>

#include <vkformer/vkformer.h>

#include "kernel/context.h"
#include "recording_host.h"
#include "vk/described.h"

#define CHIPS VKF_TEST_SOURCE_DIR "/tools/chips/described/"
#define MODELS VKF_TEST_SOURCE_DIR "/tests/plan/models/"

static vkf_status describe(const char *text, recording_host *recording, vkf_device_description **out)
{
    recording_host_init(recording);
    const vkf_device_description_desc desc = {
        .text = text,
        .text_bytes = strlen(text),
        .message = recording->host.message,
        .message_user = recording->host.message_user,
        .allocator = recording->host.allocator,
    };
    return vkf_device_description_create(&desc, out);
}

#define PROFILE(block)                  \
    "{\"capabilities\": {\"c\": " block \
    "}, \"profiles\": {\"p\": {\"api-version\": \"1.3.0\", \"capabilities\": [\"c\"]}}}"
#define PROPERTIES(structure, members) PROFILE("{\"properties\": {\"" structure "\": {" members "}}}")
#define LIMITS(members) PROPERTIES("VkPhysicalDeviceProperties", "\"limits\": {" members "}")

// What is refused, and what the message names.
static const struct {
    const char *text, *named;
} refused[] = {
    {"", "JSON"},
    {"[]", "object"},
    {"{}", "profiles"},
    {"{\"profiles\": {}}", "profiles"},
    {"{\"profiles\": {\"p\": 1}}", "'p'"},
    {"{\"profiles\": {\"p\": {}}}", "'capabilities'"},
    {"{\"profiles\": {\"p\": {\"capabilities\": [\"c\"]}}}", "'c'"},
    {"{\"profiles\": {\"p\": {\"capabilities\": [1]}}}", "list of names"},
    {"{\"profiles\": {\"p\": {\"profiles\": [\"p\"]}}}", "does not build on itself"},
    {"{\"profiles\": {\"p\": {\"api-version\": \"1.3\", \"capabilities\": []}}}", "api-version"},
    {"{\"profiles\": {\"a\": {}, \"b\": {}}}", "a, b"},
    {PROFILE("{\"extensions\": []}"), "'extensions'"},
    {PROFILE("{\"features\": 1}"), "'features'"},
    {PROFILE("{\"features\": {\"VkPhysicalDeviceFeatures\": 1}}"), "'VkPhysicalDeviceFeatures'"},
    {PROFILE("{\"features\": {\"VkPhysicalDeviceFeatures\": {\"shaderInt64\": 2}}}"), "'shaderInt64'"},
    {PROFILE("{\"queueFamiliesProperties\": {}}"), "'VkQueueFamilyProperties'"},
    {PROFILE("{\"queueFamiliesProperties\": [1]}"), "'VkQueueFamilyProperties'"},
    {LIMITS("\"maxComputeSharedMemorySize\": -1"), "'maxComputeSharedMemorySize'"},
    {LIMITS("\"maxComputeSharedMemorySize\": 1.5"), "'maxComputeSharedMemorySize'"},
    {LIMITS("\"maxComputeSharedMemorySize\": 4294967296"), "'maxComputeSharedMemorySize'"},
    {LIMITS("\"maxComputeWorkGroupCount\": [1, 2]"), "'maxComputeWorkGroupCount'"},
    {LIMITS("\"maxComputeWorkGroupCount\": [0, 1, 1]"), "'maxComputeWorkGroupCount'"},
    {LIMITS("\"minStorageBufferOffsetAlignment\": 3"), "alignment"},
    {LIMITS("\"timestampPeriod\": \"1\""), "'timestampPeriod'"},
    {PROPERTIES("VkPhysicalDeviceProperties", "\"deviceName\": 1"), "'deviceName'"},
    {PROPERTIES("VkPhysicalDeviceProperties", "\"deviceType\": 2"), "'deviceType'"},
    {PROPERTIES("VkPhysicalDeviceVulkan11Properties", "\"subgroupSize\": 33"), "subgroupSize"},
    {PROPERTIES("VkPhysicalDeviceVulkan11Properties", "\"subgroupSupportedStages\": [1]"), "'subgroupSupportedStages'"},
    {PROPERTIES("VkPhysicalDeviceMemoryProperties", "\"memoryHeaps\": [{}], \"memoryTypes\": [{\"heapIndex\": 1}]"),
     "'heapIndex'"},
    {PROPERTIES("VkPhysicalDeviceMemoryProperties", "\"memoryHeaps\": 1"), "'memoryHeaps'"},
};

static void test_create_refuses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        recording_host recording;
        vkf_device_description *description = NULL;
        assert_int_equal(describe(refused[i].text, &recording, &description), VKF_ERROR_FORMAT);
        if (!strstr(recording.text, refused[i].named))
            fail_msg("\"%s\" does not name %s", recording.text, refused[i].named);
        assert_null(description);
        assert_int_equal(recording.live, 0);
    }
}

// Each block and each profile is taken once, however often it is named: 10^9 times would take minutes, and 10^6
// mentions of an extension 260 MB.
static void test_mentions_cost_nothing(void **state)
{
    (void)state;
    enum { MENTIONS = 1000 };
    json_t *root = json_object(), *profiles = json_object();
    vkf_device_description *description = NULL;
    for (int level = 0; level < 4; level++) {
        char name[16], base[16];
        json_t *bases = json_array(), *blocks = json_array();
        (void)snprintf(name, sizeof name, "p%d", level);
        (void)snprintf(base, sizeof base, "p%d", level + 1);
        for (int i = 0; i < MENTIONS; i++) {
            if (level < 3)
                json_array_append_new(bases, json_string(base));
            json_array_append_new(blocks, json_string("c"));
        }
        json_object_set_new(
            profiles, name,
            json_pack("{s:s, s:o, s:o}", "api-version", "1.3.0", "profiles", bases, "capabilities", blocks));
    }
    json_object_set_new(root, "profiles", profiles);
    json_object_set_new(root, "capabilities", json_pack("{s:{s:{s:i}}}", "c", "extensions", "VK_KHR_maintenance4", 1));
    char *text = json_dumps(root, 0);
    const vkf_device_description_desc desc = {.text = text, .text_bytes = strlen(text), .profile = "p0"};
    clock_t begin = clock();
    assert_int_equal(vkf_device_description_create(&desc, &description), VKF_OK);
    assert_true(clock() - begin < 10 * CLOCKS_PER_SEC);
    vkf_device_description_destroy(&description);
    free(text);
    json_decref(root);
}

static void test_create_needs_path_or_text(void **state)
{
    const vkf_device_description_desc empty = {0}, absent = {.path = CHIPS "none.json"};
    vkf_device_description *description = NULL;
    (void)state;
    assert_int_equal(vkf_device_description_create(&empty, &description), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_device_description_create(NULL, &description), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_device_description_create(&absent, &description), VKF_ERROR_FILE);
    assert_null(description);
    vkf_device_description_destroy(&description);
    vkf_device_description_destroy(NULL);
}

static void test_create_survives_exhausted_memory(void **state)
{
    static const char text[] = PROFILE("{\"extensions\": {\"VK_KHR_a\": 1, \"VK_KHR_b\": 1}}");
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    (void)state;
    for (size_t call = 1; status != VKF_OK; call++) {
        recording_host recording;
        vkf_device_description *description = NULL;
        recording_host_init(&recording);
        recording.fail_call = call;
        const vkf_device_description_desc desc = {
            .text = text, .text_bytes = sizeof text - 1, .allocator = recording.host.allocator};
        status = vkf_device_description_create(&desc, &description);
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        vkf_device_description_destroy(&description);
        assert_int_equal(recording.live, 0);
    }
}

static void test_absent_values_are_the_least(void **state)
{
    recording_host recording;
    vkf_device_description *description = NULL;
    (void)state;
    assert_int_equal(describe(PROFILE("{}"), &recording, &description), VKF_OK);
    const vkf__caps *caps = &description->caps;
    assert_string_equal(caps->name, "p");
    assert_int_equal(caps->max_workgroup_invocations, 128);
    assert_int_equal(caps->max_storage_buffers, 4);
    assert_int_equal(caps->max_memory_allocation_bytes, UINT64_C(1) << 30);
    assert_int_equal(caps->max_buffer_bytes, UINT64_C(1) << 30);
    for (uint32_t i = 0; i < VKF_MASKABLE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        if (vkf__feature_is_switched(feature))
            assert_false(vkf__feature_in_caps(feature, caps));
    }
    vkf_device_description_destroy(&description);
}

// Every feature that has to be enabled can be described: a row that vkf__described_find() does not know would stay off.
static void test_every_feature_can_be_described(void **state)
{
    static const char *const structures[] = {
        "VkPhysicalDeviceFeatures",
        "VkPhysicalDeviceVulkan11Features",
        "VkPhysicalDeviceVulkan12Features",
        "VkPhysicalDeviceVulkan13Features",
        "VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR",
        "VkPhysicalDevicePerformanceQueryFeaturesKHR",
        "VkPhysicalDeviceCooperativeMatrixFeaturesKHR",
        "VkPhysicalDeviceShaderBfloat16FeaturesKHR",
        "VkPhysicalDeviceCooperativeMatrix2FeaturesNV",
    };
    (void)state;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        bool found = feature->bit == 0;
        for (size_t s = 0; s < sizeof structures / sizeof structures[0]; s++)
            found = found || vkf__described_find(structures[s], feature->name);
        if (!found)
            fail_msg("no description can have %s", feature->name);
    }
    assert_null(vkf__described_find("VkPhysicalDeviceCooperativeMatrixFeaturesNV", "cooperativeMatrix"));
}

static vkf_device_description *open_chip(const char *path)
{
    const vkf_device_description_desc desc = {.path = path};
    vkf_device_description *description = NULL;
    assert_int_equal(vkf_device_description_create(&desc, &description), VKF_OK);
    return description;
}

static void test_a_chip_has_what_its_file_says(void **state)
{
    vkf_device_description *description = open_chip(CHIPS "rtx4090.json");
    const vkf__caps *caps = &description->caps;
    (void)state;
    assert_string_equal(caps->name, "NVIDIA GeForce RTX 4090");
    assert_int_equal(caps->type, VKF_DEVICE_TYPE_DISCRETE);
    assert_int_equal(caps->max_shared_memory_bytes, 49152);
    assert_int_equal(caps->subgroup_size, 32);
    assert_true(caps->storage_16bit && caps->integer_dot_accelerated && caps->round_to_even_16);
    assert_true(caps->matrix.cooperative_matrix && caps->matrix.workgroup_scope);
    const vkf__matrix_shape *shape =
        vkf__matrix_find(&caps->matrix, VK_COMPONENT_TYPE_FLOAT16_KHR, VK_COMPONENT_TYPE_FLOAT32_KHR, 0, 0, 0);
    assert_non_null(shape);
    assert_int_equal(shape->k, 16);
    assert_int_equal(caps->shader_cores, 128);
    assert_int_equal(caps->core_subgroups, 48);
    assert_int_equal(caps->memory.memoryHeapCount, 3);
    assert_int_equal(caps->queue_family_index, 2); // of compute alone
    vkf_device_description_destroy(&description);
}

// Intel's driver takes no mode of rounding for 16 bits alone, and says how large a buffer may be.
static void test_a_chip_that_rounds_all_widths(void **state)
{
    vkf_device_description *description = open_chip(CHIPS "a770.json");
    const vkf__caps *caps = &description->caps;
    (void)state;
    assert_true(caps->round_to_even_16 && caps->rounds_all_widths);
    assert_true(caps->max_buffer_bytes == UINT64_C(1) << 32 && caps->max_memory_allocation_bytes > UINT64_C(1) << 32);
    vkf_device_description_destroy(&description);
}

static void test_cores_are_those_of_each_vendor(void **state)
{
    static const struct {
        const char *path;
        uint32_t cores; // 0: no extension tells
    } chips[] = {
        {CHIPS "h200.json", 132}, {CHIPS "rx7900xtx.json", 96}, {CHIPS "mali-g715.json", 11}, {CHIPS "m2.json", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++) {
        vkf_device_description *description = open_chip(chips[i].path);
        assert_int_equal(description->caps.shader_cores, chips[i].cores);
        vkf_device_description_destroy(&description);
    }
}

static vkf_context *describe_context(const vkf_device_description *described, const vkf_device_description *limits)
{
    const vkf_context_desc desc = {.described = described, .limits = limits};
    vkf_context *context = NULL;
    assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
    return context;
}

static void test_a_described_device_runs_nothing(void **state)
{
    const vkf_model_desc model = {.directory = MODELS "gpt2"};
    vkf_device_description *description = open_chip(CHIPS "rtx4090.json");
    vkf_context *context = describe_context(description, NULL);
    vkf_buffer *buffer = NULL;
    vkf_model *loaded = NULL;
    vkf_roofs roofs;
    vkf_memory_usage usage = {.heap_count = 9};
    (void)state;
    vkf_device_description_destroy(&description);
    assert_int_equal(vkf_buffer_create(context, 64, "x", &buffer), VKF_ERROR_NO_DEVICE);
    assert_int_equal(vkf_model_load(context, &model, &loaded), VKF_ERROR_NO_DEVICE);
    assert_int_equal(vkf_measure_roofs(context, NULL, NULL, &roofs), VKF_ERROR_NO_DEVICE);
    assert_int_equal(vkf_context_create_pipelines(context, NULL, NULL), VKF_ERROR_NO_DEVICE);
    assert_int_equal(vkf_context_save_cache(context), VKF_OK);
    vkf_context_get_memory_usage(context, &usage);
    assert_int_equal(usage.heap_count, 3);
    assert_int_equal(usage.used_bytes[0], 0);
    vkf_context_destroy(&context);
}

static void count_dispatch(void *user, const vkf_planned_dispatch *dispatch)
{
    uint32_t *count = user;
    assert_non_null(dispatch->run);
    assert_true(dispatch->local_size > 0);
    (*count)++;
}

static void test_a_model_is_planned_from_its_config_alone(void **state)
{
    const vkf_model_desc model = {.directory = MODELS "gpt2"};
    const vkf_session_desc session = {.max_batch = 1, .max_target_len = 128, .max_prompt_len = 64};
    vkf_device_description *description = open_chip(CHIPS "m2.json");
    vkf_context *context = describe_context(description, NULL);
    vkf_memory_plan plan;
    vkf_model_config config;
    vkf_model_precision precision = VKF_MODEL_PRECISION_AUTO;
    uint32_t count = 0;
    (void)state;
    assert_int_equal(vkf_model_plan(context, &model, &plan), VKF_OK);
    assert_int_equal(plan.weights_bytes, UINT64_C(124439808) * 4); // the parameters of GPT-2
    assert_int_equal(vkf_model_plan_config(context, &model, &config, &precision), VKF_OK);
    assert_int_equal(config.num_decoder_layers, 12);
    assert_int_equal(precision, VKF_MODEL_PRECISION_F32);
    assert_int_equal(vkf_model_plan_session(context, &model, &session, &plan), VKF_OK);
    assert_int_equal(vkf_model_plan_dispatches(context, &model, &session, count_dispatch, &count), VKF_OK);
    assert_true(count > 200);
    assert_int_equal(vkf_model_plan_dispatches(context, &model, &session, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
    vkf_context_destroy(&context);
    vkf_device_description_destroy(&description);
}

static void test_a_model_is_planned_from_its_weights_where_they_are(void **state)
{
    const vkf_model_desc with = {.directory = VKF_TEST_SOURCE_DIR "/tests/pretrained/llama"};
    const vkf_model_desc absent = {.directory = VKF_TEST_SOURCE_DIR "/tests/plan"};
    vkf_device_description *description = open_chip(CHIPS "m2.json");
    vkf_context *context = describe_context(description, NULL);
    vkf_memory_plan plan;
    vkf_model_config config;
    (void)state;
    assert_int_equal(vkf_model_plan(context, &with, &plan), VKF_OK);
    assert_true(plan.weights_bytes > 0);
    assert_int_equal(vkf_model_plan(context, &absent, &plan), VKF_ERROR_FILE); // not even a config.json
    assert_int_equal(vkf_model_plan_config(context, &with, &config, NULL), VKF_OK);
    assert_int_equal(config.kind, VKF_MODEL_DECODER);
    config.d_model = 7;
    assert_int_equal(vkf_model_plan_config(context, &absent, &config, NULL), VKF_ERROR_FILE);
    assert_int_equal(config.d_model, 7); // untouched
    vkf_context_destroy(&context);
    vkf_device_description_destroy(&description);
}

static void test_limits_lower_and_never_raise(void **state)
{
    vkf_device_description *rich = open_chip(CHIPS "rtx4090.json"), *poor = open_chip(CHIPS "adreno750.json");
    vkf__caps both = rich->caps, same = rich->caps;
    (void)state;
    vkf__caps_limit_to(&both, &poor->caps);
    assert_int_equal(both.max_shared_memory_bytes, 32768);
    assert_int_equal(both.max_workgroup_count_x, 65535);
    assert_int_equal(both.subgroup_size, 32);
    assert_false(both.matrix.cooperative_matrix || both.statistics_queries);
    assert_int_equal(both.matrix.shape_count, 0);
    assert_true(both.storage_16bit);
    vkf__caps_limit_to(&same, &rich->caps);
    assert_int_equal(same.matrix.shape_count, rich->caps.matrix.shape_count);
    assert_memory_equal(&same.memory, &rich->caps.memory, sizeof same.memory);
    vkf_context *context = describe_context(rich, poor);
    vkf_device_info info;
    vkf_context_get_device_info(context, &info);
    assert_int_equal(info.max_shared_memory_bytes, 32768);
    vkf_context_destroy(&context);
    vkf_device_description_destroy(&rich);
    vkf_device_description_destroy(&poor);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_refuses),
        cmocka_unit_test(test_mentions_cost_nothing),
        cmocka_unit_test(test_create_needs_path_or_text),
        cmocka_unit_test(test_create_survives_exhausted_memory),
        cmocka_unit_test(test_absent_values_are_the_least),
        cmocka_unit_test(test_every_feature_can_be_described),
        cmocka_unit_test(test_a_chip_has_what_its_file_says),
        cmocka_unit_test(test_a_chip_that_rounds_all_widths),
        cmocka_unit_test(test_cores_are_those_of_each_vendor),
        cmocka_unit_test(test_a_described_device_runs_nothing),
        cmocka_unit_test(test_a_model_is_planned_from_its_config_alone),
        cmocka_unit_test(test_a_model_is_planned_from_its_weights_where_they_are),
        cmocka_unit_test(test_limits_lower_and_never_raise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
