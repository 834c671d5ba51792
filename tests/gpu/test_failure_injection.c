// Every call of Vulkan and every allocation of host memory fails once: the library says so, leaks nothing, and works
// again afterwards.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "counting_allocator.h"
#include "fake_vulkan.h"
#include "kernel/context.h"
#include "sample_layers.h"

#define DEMO_MODEL VKF_TEST_SOURCE_DIR "/tools/demo-model"

// Sessions make hundreds of calls: every STRIDE-th fails, from a start that differs between the kinds of failure.
enum { STRIDE = 11 };

static const vkf_layer_sizes sizes = {2, 5, 7};

typedef struct injection {
    vkf_test_gpu gpu;
    counting_allocator memory;
    sample_weights weights;
    sample_data data;
    float *expected;
    vkf_model *model;
    bool validation;
} injection;

typedef struct failure_kind {
    VkResult result;
    const char *name;
    vkf_status status; // what the library makes of it
} failure_kind;

static const failure_kind kinds[] = {
    {VK_ERROR_OUT_OF_HOST_MEMORY, "OUT_OF_HOST_MEMORY", VKF_ERROR_OUT_OF_HOST_MEMORY},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "OUT_OF_DEVICE_MEMORY", VKF_ERROR_OUT_OF_DEVICE_MEMORY},
    {VK_ERROR_DEVICE_LOST, "DEVICE_LOST", VKF_ERROR_DEVICE_LOST},
    {VK_ERROR_INITIALIZATION_FAILED, "INITIALIZATION_FAILED", VKF_ERROR_VULKAN},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static vkf_context_desc context_desc(injection *t)
{
    return (vkf_context_desc){
        .allocator = counting_callbacks(&t->memory),
        .get_instance_proc_addr = fake_vulkan_get_proc,
    };
}

static int open_context(void **state)
{
    injection *t = calloc(1, sizeof *t);
    if (!t)
        return -1;
    *state = t;
    fake_vulkan_reset();
    vkf_context_desc desc = context_desc(t);
    int result = vkf_test_gpu_open(&t->gpu, &desc);
    t->validation = desc.validation;
    return result;
}

static injection *injection_of(void **state)
{
    injection *t = *state;
    (void)vkf_test_gpu_of(state); // the fixture is the struct's first member
    return t;
}

static int close_context(void **state)
{
    injection *t = *state;
    const char *kind = NULL;
    sample_weights_destroy(&t->weights);
    sample_data_destroy(&t->data);
    free(t->expected);
    vkf_model_destroy(&t->model);
    vkf_context_destroy(&t->gpu.context);
    size_t alive = fake_vulkan_live(&kind), memory = t->memory.live;
    int messages = t->gpu.validation_messages;
    if (alive > 0 || memory > 0 || messages > 0 || fake_vulkan_misuse())
        fprintf(stderr,
                "left behind: %zu Vulkan objects (%s), %zu allocations, %d validation messages (%s), misuse: %s\n",
                alive, kind, memory, messages, t->gpu.first_validation,
                fake_vulkan_misuse() ? fake_vulkan_misuse() : "none");
    bool clean = alive == 0 && memory == 0 && messages == 0 && !fake_vulkan_misuse();
    free(t);
    return clean ? 0 : -1;
}

// Failures that the library may overcome or has to pass over: memory comes from a smaller slab, or another type; what
// is waited for before destruction is destroyed all the same; a cache that cannot be saved is not; clocks that cannot
// be read together are read apart; matrices whose shapes nobody tells are not used.
static bool may_be_overcome(const char *function)
{
    static const char *const functions[] = {"vkAllocateMemory",
                                            "vkDeviceWaitIdle",
                                            "vkQueueWaitIdle",
                                            "vkGetPipelineCacheData",
                                            "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT",
                                            "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR",
                                            "vkGetCalibratedTimestampsEXT",
                                            "vkGetCalibratedTimestampsKHR",
                                            "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR",
                                            "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV"};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strcmp(functions[i], function) == 0)
            return true;
    }
    return false;
}

// The loader's own calls give OUT_OF_HOST_MEMORY for files that they cannot parse, too.
static vkf_status status_of(const failure_kind *kind, const char *function)
{
    bool loader = strcmp(function, "vkCreateInstance") == 0 ||
                  strcmp(function, "vkEnumerateInstanceExtensionProperties") == 0 ||
                  strcmp(function, "vkEnumerateInstanceLayerProperties") == 0;
    return loader && kind->result == VK_ERROR_OUT_OF_HOST_MEMORY ? VKF_ERROR_VULKAN : kind->status;
}

// After an attempt in which a call was to fail: whether one did, and all is as the contract says.
static bool judge(injection *t, const failure_kind *kind, uint32_t call, const char *what, vkf_status status,
                  size_t alive_before)
{
    const char *object = NULL, *failed = fake_vulkan_failed();
    size_t alive = fake_vulkan_live(&object);
    if (fake_vulkan_misuse())
        fail_msg("%s, call %u (%s) gives %s: %s", what, call, failed ? failed : "none", kind->name,
                 fake_vulkan_misuse());
    if (alive != alive_before)
        fail_msg("%s, call %u (%s) gives %s: %zu objects alive, %zu before, the newest a %s", what, call,
                 failed ? failed : "none", kind->name, alive, alive_before, object);
    if (!failed) {
        if (status != VKF_OK)
            fail_msg("%s: %s without a failure: %s", what, vkf_status_name(status), t->gpu.last_error);
        return false;
    }
    if (status == VKF_OK && !may_be_overcome(failed))
        fail_msg("%s: call %u, %s, gave %s and nobody noticed", what, call, failed, kind->name);
    if (status != VKF_OK && status != status_of(kind, failed))
        fail_msg("%s: call %u, %s, gave %s, the library %s: %s", what, call, failed, kind->name,
                 vkf_status_name(status), t->gpu.last_error);
    if (status != VKF_OK && t->gpu.last_error[0] == '\0')
        fail_msg("%s: call %u, %s, gave %s and the library failed without a message", what, call, failed, kind->name);
    return true;
}

static void begin(injection *t, const failure_kind *kind, uint32_t call)
{
    t->gpu.last_error[0] = '\0';
    fake_vulkan_reset();
    fake_vulkan_fail(kind->result, call);
}

// Context -----------------------------------------------------------------------------------------------------------

static void listen(void *user, vkf_severity severity, const char *text)
{
    vkf_test_gpu *gpu = user;
    if (severity == VKF_SEVERITY_ERROR)
        (void)snprintf(gpu->last_error, sizeof gpu->last_error, "%s", text);
    if (severity == VKF_SEVERITY_VALIDATION && gpu->validation_messages++ == 0)
        (void)snprintf(gpu->first_validation, sizeof gpu->first_validation, "%s", text);
}

static vkf_status make_context(injection *t, counting_allocator *memory)
{
    vkf_context *context = NULL;
    vkf_context_desc desc = context_desc(t);
    desc.allocator = counting_callbacks(memory);
    desc.profile = t->gpu.profile;
    desc.validation = t->validation; // all devices of a run have the same layers, and so the same functions
    desc.message = listen;
    desc.message_user = &t->gpu;
    vkf_status status = vkf_context_create(&desc, &context);
    assert_true((status == VKF_OK) == (context != NULL));
    vkf_context_destroy(&context);
    return status;
}

static void test_context_create_with_any_call_failing(void **state)
{
    injection *t = injection_of(state);
    for (size_t k = 0; k < KINDS; k++) {
        size_t alive = fake_vulkan_live(NULL);
        bool failed = true;
        for (uint32_t call = 1; failed; call++) {
            counting_allocator memory = {0};
            begin(t, &kinds[k], call);
            vkf_status status = make_context(t, &memory);
            failed = judge(t, &kinds[k], call, "context", status, alive);
            assert_int_equal(memory.live, 0);
            assert_true(failed || call > 1);
        }
    }
    fake_vulkan_reset();
}

static void test_context_create_with_any_allocation_failing(void **state)
{
    injection *t = injection_of(state);
    size_t alive = fake_vulkan_live(NULL);
    bool failed = true;
    for (size_t call = 1; failed; call++) {
        counting_allocator memory = {.fail_call = call};
        vkf_status status = make_context(t, &memory);
        failed = memory.failed;
        assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
        assert_int_equal(memory.live, 0);
        assert_int_equal(fake_vulkan_live(NULL), alive);
        assert_true(failed || call > 1);
    }
}

// Layers ------------------------------------------------------------------------------------------------------------

static vkf_status layer_life(injection *t, sample_kind kind)
{
    vkf_layer *layer = NULL;
    vkf_status status = sample_layer_create(t->gpu.context, kind, &t->weights, sizes, &layer);
    assert_true((status == VKF_OK) == (layer != NULL));
    if (status == VKF_OK)
        status = sample_layer_run(layer, kind, &t->data);
    vkf_layer_destroy(&layer);
    return status;
}

static void assert_same_numbers(injection *t, const char *what)
{
    assert_close(t->data.out, t->expected, sample_data_outputs(&t->data), 0, 0,
                 vkf_test_label(&t->gpu, "%s after a failure", what));
}

// Runs the layer once undisturbed: pipelines are made, layouts and slabs stay for the attempts to come.
static void prepare_layer(injection *t, sample_kind kind)
{
    if (t->weights.count == 0)
        sample_weights_create(&t->gpu, &t->weights);
    sample_data_destroy(&t->data);
    sample_data_create(&t->gpu.random, sizes, &t->data);
    free(t->expected);
    t->expected = NULL;
    fake_vulkan_reset();
    counting_restart(&t->memory, 0);
    assert_int_equal(layer_life(t, kind), VKF_OK);
    size_t bytes = sample_data_outputs(&t->data) * sizeof(float);
    t->expected = malloc(bytes);
    assert_non_null(t->expected);
    memcpy(t->expected, t->data.out, bytes);
}

static void fail_layer_calls(injection *t, sample_kind kind)
{
    prepare_layer(t, kind);
    for (size_t k = 0; k < KINDS; k++) {
        size_t alive = fake_vulkan_live(NULL), memory = t->memory.live;
        bool failed = kinds[k].result != VK_ERROR_DEVICE_LOST; // a lost device is lost for good: below
        for (uint32_t call = 1; failed; call++) {
            begin(t, &kinds[k], call);
            vkf_status status = layer_life(t, kind);
            failed = judge(t, &kinds[k], call, sample_name(kind), status, alive);
            if (status == VKF_OK)
                assert_same_numbers(t, sample_name(kind));
            assert_int_equal(t->memory.live, memory);
        }
    }
    fake_vulkan_reset();
    assert_int_equal(layer_life(t, kind), VKF_OK);
    assert_same_numbers(t, sample_name(kind));
}

static void test_layer_with_any_call_failing(void **state)
{
    injection *t = injection_of(state);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++)
        fail_layer_calls(t, kind);
}

static void test_layer_with_any_allocation_failing(void **state)
{
    injection *t = injection_of(state);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        prepare_layer(t, kind);
        size_t alive = fake_vulkan_live(NULL), memory = t->memory.live;
        bool failed = true;
        for (size_t call = 1; failed; call++) {
            counting_restart(&t->memory, call);
            vkf_status status = layer_life(t, kind);
            failed = t->memory.failed;
            assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
            assert_int_equal(t->memory.live, memory);
            assert_int_equal(fake_vulkan_live(NULL), alive);
            assert_true(failed || call > 1);
        }
        assert_same_numbers(t, sample_name(kind));
    }
    counting_restart(&t->memory, 0);
}

// In a context that has no pipelines yet: some are made when one fails, and the next attempt makes the rest.
static void fail_pipeline_call(void **state, const failure_kind *kind, const char *function, uint32_t call)
{
    assert_int_equal(open_context(state), 0);
    injection *t = injection_of(state);
    sample_weights_create(&t->gpu, &t->weights);
    sample_data_create(&t->gpu.random, sizes, &t->data);
    const size_t memory = t->memory.live;
    fake_vulkan_reset();
    fake_vulkan_fail_function(kind->result, function, call);
    assert_int_equal(layer_life(t, SAMPLE_ENCODER), kind->status);
    assert_string_equal(fake_vulkan_failed(), function);
    assert_null(fake_vulkan_misuse());
    fake_vulkan_reset();
    assert_int_equal(layer_life(t, SAMPLE_ENCODER), VKF_OK);
    assert_true(t->memory.live > memory); // pipelines stay with the context
    assert_int_equal(close_context(state), 0);
    *state = NULL;
}

static void test_layer_with_any_pipeline_failing(void **state)
{
    static const char *const functions[] = {"vkCreateDescriptorSetLayout", "vkCreatePipelineLayout",
                                            "vkCreateShaderModule", "vkCreateComputePipelines"};
    // Where a driver refuses a kernel for another reason, another kernel serves.
    for (size_t k = 0; k < KINDS && kinds[k].result != VK_ERROR_DEVICE_LOST; k++)
        for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++)
            for (uint32_t call = 1; call <= 2; call++)
                fail_pipeline_call(state, &kinds[k], functions[f], call);
}

// A lost device ------------------------------------------------------------------------------------------------------

static void test_lost_device_stays_lost(void **state)
{
    // The fence's status is asked for where the wait begins or ends with a spin.
    static const char *const functions[] = {"vkQueueSubmit", "vkWaitForFences", "vkGetFenceStatus"};
    for (size_t f = 0; f < 3; f++) {
        vkf_layer *layer = NULL;
        assert_int_equal(open_context(state), 0);
        injection *t = injection_of(state);
        t->gpu.context->device.plan.caps.traits.spins = f == 2;
        sample_weights_create(&t->gpu, &t->weights);
        sample_data_create(&t->gpu.random, sizes, &t->data);
        assert_int_equal(sample_layer_create(t->gpu.context, SAMPLE_ENCODER, &t->weights, sizes, &layer), VKF_OK);
        fake_vulkan_reset();
        fake_vulkan_fail_function(VK_ERROR_DEVICE_LOST, functions[f], 1);
        t->gpu.last_error[0] = '\0';
        assert_int_equal(sample_layer_run(layer, SAMPLE_ENCODER, &t->data), VKF_ERROR_DEVICE_LOST);
        assert_string_equal(fake_vulkan_failed(), functions[f]);
        assert_int_not_equal(t->gpu.last_error[0], '\0');
        fake_vulkan_reset(); // the driver would work again: the library does not ask it any more
        assert_int_equal(vkf_layer_run(layer, &sizes), VKF_ERROR_DEVICE_LOST);
        assert_int_equal(fake_vulkan_calls("vkQueueSubmit"), 0);
        vkf_layer_destroy(&layer);
        assert_int_equal(close_context(state), 0);
    }
    *state = NULL;
}

// Models and sessions ------------------------------------------------------------------------------------------------

static vkf_status model_life(injection *t)
{
    const vkf_model_desc desc = {.directory = DEMO_MODEL};
    vkf_model *model = NULL;
    vkf_status status = vkf_model_load(t->gpu.context, &desc, &model);
    assert_true((status == VKF_OK) == (model != NULL));
    vkf_model_destroy(&model);
    return status;
}

enum { GREEDY_LEN = 4 };

static vkf_status session_life(injection *t, int32_t *out_ids)
{
    static const int32_t source[] = {5, 9, 17, 4, 30};
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = 6, .max_target_len = GREEDY_LEN};
    vkf_session *session = NULL;
    uint32_t length = 0;
    vkf_status status = vkf_session_create(t->model, &desc, &session);
    assert_true((status == VKF_OK) == (session != NULL));
    const vkf_greedy_args args = {
        .batch = 1, .source_len = 5, .source_ids = source, .out_ids = out_ids, .out_lengths = &length};
    if (status == VKF_OK)
        status = vkf_session_greedy(session, &args);
    vkf_session_destroy(&session);
    return status;
}

// One attempt after another over `life`, which made `calls` calls or allocations when nothing failed.
static void fail_model_calls(injection *t, vkf_status (*life)(injection *t, int32_t *ids), const char *what)
{
    int32_t expected[GREEDY_LEN] = {0}, ids[GREEDY_LEN] = {0};
    assert_int_equal(life(t, expected), VKF_OK);
    size_t alive = fake_vulkan_live(NULL), memory = t->memory.live;
    for (size_t k = 0; k < KINDS; k++) {
        bool failed = kinds[k].result != VK_ERROR_DEVICE_LOST;
        for (uint32_t call = 1 + (uint32_t)k; failed; call += STRIDE) {
            begin(t, &kinds[k], call);
            vkf_status status = life(t, ids);
            failed = judge(t, &kinds[k], call, what, status, alive);
            assert_int_equal(t->memory.live, memory);
            if (status == VKF_OK)
                assert_memory_equal(ids, expected, sizeof ids);
        }
    }
    fake_vulkan_reset();
    bool failed = true;
    for (size_t call = 1; failed; call += STRIDE) {
        counting_restart(&t->memory, call);
        vkf_status status = life(t, ids);
        failed = t->memory.failed;
        assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
        assert_int_equal(t->memory.live, memory);
        assert_int_equal(fake_vulkan_live(NULL), alive);
    }
    counting_restart(&t->memory, 0);
    assert_memory_equal(ids, expected, sizeof ids);
}

static vkf_status model_life_ids(injection *t, int32_t *ids)
{
    (void)ids;
    return model_life(t);
}

static void test_model_load_with_calls_failing(void **state)
{
    fail_model_calls(injection_of(state), model_life_ids, "model");
}

static void check_session(injection *t, const char *what)
{
    const vkf_model_desc desc = {.directory = DEMO_MODEL};
    assert_int_equal(vkf_model_load(t->gpu.context, &desc, &t->model), VKF_OK);
    fail_model_calls(t, session_life, what);
}

static void test_session_with_calls_failing(void **state)
{
    check_session(injection_of(state), "session");
}

// The context ends with the test, and the trait with it.
static void test_session_that_runs_ahead_with_calls_failing(void **state)
{
    injection *t = injection_of(state);
    t->gpu.context->device.plan.caps.traits.runs_ahead = true;
    check_session(t, "session that runs ahead");
}

// The loader itself ---------------------------------------------------------------------------------------------------

static void test_fake_loader_notices_a_leak_and_a_double_destroy(void **state)
{
    (void)injection_of(state);
    PFN_vkCreateInstance create = NULL;
    PFN_vkDestroyInstance destroy = NULL;
    const VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                           .apiVersion = VK_API_VERSION_1_1};
    const VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                       .pApplicationInfo = &application};
    VkInstance instance = VK_NULL_HANDLE;
    size_t alive = fake_vulkan_live(NULL);
    create = (PFN_vkCreateInstance)fake_vulkan_get_proc(NULL, "vkCreateInstance");
    assert_int_equal(create(&info, NULL, &instance), VK_SUCCESS);
    assert_int_equal(fake_vulkan_live(NULL), alive + 1);
    destroy = (PFN_vkDestroyInstance)fake_vulkan_get_proc(instance, "vkDestroyInstance");
    destroy(instance, NULL);
    assert_int_equal(fake_vulkan_live(NULL), alive);
    assert_null(fake_vulkan_misuse());
    destroy(instance, NULL);
    assert_non_null(fake_vulkan_misuse());
    fake_vulkan_reset();
    fake_vulkan_fail_function(VK_ERROR_OUT_OF_HOST_MEMORY, "vkCreateInstance", 1);
    assert_int_equal(create(&info, NULL, &instance), VK_ERROR_OUT_OF_HOST_MEMORY);
    assert_string_equal(fake_vulkan_failed(), "vkCreateInstance");
    assert_int_equal(fake_vulkan_calls("vkCreateInstance"), 1);
    fake_vulkan_reset();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)
    const struct CMUnitTest tests[] = {
        TEST(test_fake_loader_notices_a_leak_and_a_double_destroy),
        TEST(test_context_create_with_any_call_failing),
        TEST(test_context_create_with_any_allocation_failing),
        TEST(test_layer_with_any_call_failing),
        TEST(test_layer_with_any_allocation_failing),
        cmocka_unit_test(test_layer_with_any_pipeline_failing),
        cmocka_unit_test(test_lost_device_stays_lost),
        TEST(test_model_load_with_calls_failing),
        TEST(test_session_with_calls_failing),
        TEST(test_session_that_runs_ahead_with_calls_failing),
    };
#undef TEST
    return cmocka_run_group_tests_name("failure injection", tests, NULL, NULL);
}
