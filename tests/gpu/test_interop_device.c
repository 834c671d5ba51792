// A device of the program's own, made with what vkf_device_setup asks for, serves the library like one that the library
// makes itself; and nothing is used that the program did not enable.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "kernel/context.h"
#include "vk/feature_chain.h"
#include "vulkan_program.h"

enum { MAX_LINES = 1024 };

// What vkf_context_visit_kernels() says.
typedef struct kernel_lines {
    char *lines[MAX_LINES];
    size_t count, usable;
} kernel_lines;

static void note_kernel(void *user, const char *kernel, bool usable, const char *why)
{
    kernel_lines *lines = user;
    char text[512];
    assert_true(lines->count < MAX_LINES);
    (void)snprintf(text, sizeof text, "%s: %s%s", kernel, usable ? "usable" : "not usable: ", usable ? "" : why);
    lines->lines[lines->count++] = strdup(text);
    lines->usable += usable;
}

static kernel_lines lines_of(vkf_context *context)
{
    kernel_lines lines = {0};
    vkf_context_visit_kernels(context, note_kernel, &lines);
    return lines;
}

static void free_lines(kernel_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->lines[i]);
}

static int open_plain(void **state)
{
    return program_open(state, &(program_wishes){.api_version = VK_API_VERSION_1_3});
}

static int open_setup(void **state)
{
    return program_open(state, &(program_wishes){.api_version = VK_API_VERSION_1_3, .setup = true, .timestamps = true});
}

static int open_aggregates(void **state)
{
    return program_open(state, &(program_wishes){.api_version = VK_API_VERSION_1_3, .setup = true, .aggregates = true});
}

static int open_oldest(void **state)
{
    return program_open(state, &(program_wishes){.setup = true});
}

static int open_halved(void **state)
{
    return program_open(state, &(program_wishes){.api_version = VK_API_VERSION_1_3, .setup = true, .halved = true});
}

// A context on a device of the library's own, with the program's description otherwise.
static vkf_context *own_context(program *p)
{
    vkf_context_desc desc = p->desc;
    vkf_context *own = NULL;
    desc.external = NULL;
    assert_int_equal(vkf_context_create(&desc, &own), VKF_OK);
    return own;
}

static void test_setup_device_has_the_same_kernels(void **state)
{
    program *p = program_of(state);
    vkf_context *own = own_context(p);
    kernel_lines expected = lines_of(own), got = lines_of(p->gpu.context);
    assert_true(expected.usable > 0);
    assert_int_equal(got.count, expected.count);
    for (size_t i = 0; i < got.count; i++)
        assert_string_equal(got.lines[i], expected.lines[i]);
    const vkf__enabled *there = &own->device.plan.enabled, *here = &p->gpu.context->device.plan.enabled;
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        size_t at = vkf__feature_table[i].enabled;
        if (*((const bool *)there + at) != *((const bool *)here + at))
            fail_msg("%s differs", vkf__feature_table[i].name);
    }
    printf("%zu of %zu kernels are usable\n", got.usable, got.count);
    free_lines(&expected);
    free_lines(&got);
    vkf_context_destroy(&own);
}

// The device is there, so nothing that the library takes for enabled may be missing from what the program enabled.
static void test_device_uses_what_was_enabled(void **state)
{
    program *p = program_of(state);
    const vkf__device_plan *plan = &p->gpu.context->device.plan;
    vkf__features enabled;
    vkf__feature_chain_read(p->external.features, &enabled);
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        bool used = *((const bool *)&plan->enabled + feature->enabled) || vkf__feature_in_caps(feature, &plan->caps);
        bool named = !feature->extension;
        for (uint32_t n = 0; n < p->external.extension_count && !named; n++)
            named = strcmp(p->external.extensions[n], feature->extension) == 0;
        if (used && (!named || (feature->bit > 0 && !vkf__features_has(&enabled, feature))))
            fail_msg("%s is used and was not enabled", feature->name);
    }
}

// Every kind of layer, with the validation layers listening where they are on.
static void test_layers_run_on_the_device(void **state)
{
    static const vkf_layer_sizes sizes = {2, 12, 15};
    program *p = program_of(state);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        vkf_layer *layer = NULL;
        sample_data data;
        sample_data_create(&p->gpu.random, sizes, &data);
        assert_int_equal(sample_layer_create(p->gpu.context, kind, &p->weights, sizes, &layer), VKF_OK);
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        vkf_layer_destroy(&layer);
        sample_data_destroy(&data);
    }
}

static void test_device_without_setup_has_fewer_kernels(void **state)
{
    program *p = program_of(state);
    vkf_context *own = own_context(p);
    kernel_lines most = lines_of(own), least = lines_of(p->gpu.context);
    assert_true(least.usable > 0 && least.usable <= most.usable);
    assert_false(p->gpu.context->device.plan.enabled.storage_16bit);
    free_lines(&most);
    free_lines(&least);
    vkf_context_destroy(&own);
}

static size_t chain_length(const void *chain)
{
    size_t length = 0;
    for (const VkBaseInStructure *link = chain; link; link = link->pNext)
        length++;
    return length;
}

static void test_setup_without_queues_asks_for_one(void **state)
{
    program *p = program_of(state);
    vkf_device_setup *setup = NULL;
    VkDeviceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    uint32_t count = 0;
    assert_int_equal(vkf_device_setup_create(&p->desc, &setup), VKF_OK);
    assert_int_equal(vkf_device_setup_fill_create_info(setup, &info), VKF_OK);
    assert_int_equal(info.queueCreateInfoCount, 1);
    assert_int_equal(info.pQueueCreateInfos->queueFamilyIndex, vkf_device_setup_get_queue_family(setup));
    const char *const *names = vkf_device_setup_get_extensions(setup, &count);
    assert_int_equal(info.enabledExtensionCount, count);
    // Filled again, it has nothing twice, and nothing less.
    const size_t structures = chain_length(info.pNext);
    assert_int_equal(vkf_device_setup_fill_create_info(setup, &info), VKF_OK);
    assert_int_equal(info.enabledExtensionCount, count);
    assert_int_equal(info.queueCreateInfoCount, 1);
    assert_int_equal(chain_length(info.pNext), structures);
    for (uint32_t i = 0; i < count; i++)
        assert_string_equal(info.ppEnabledExtensionNames[i], names[i]);
    vkf_device_setup_destroy(&setup);
    assert_null(setup);
}

static void test_setup_unusable_is_refused(void **state)
{
    program *p = program_of(state);
    vkf_device_setup *setup = NULL;
    vkf_context_desc desc = p->desc;
    const VkPhysicalDeviceFeatures core = {0};
    VkPhysicalDeviceFeatures2 head = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkDeviceCreateInfo both = {.pNext = &head, .pEnabledFeatures = &core}, nameless = {.enabledExtensionCount = 1};
    desc.external = NULL;
    assert_int_equal(vkf_device_setup_create(&desc, &setup), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_device_setup_create(&p->desc, &setup), VKF_OK);
    assert_int_equal(vkf_device_setup_fill_create_info(setup, &both), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_device_setup_fill_create_info(setup, &nameless), VKF_ERROR_INVALID_ARGUMENT);
    vkf_device_setup_destroy(&setup);
}

// The program finds the handles of a context, whoever made the device, and may submit between locks of the queue.
static void test_context_get_vulkan(void **state)
{
    program *p = program_of(state);
    vkf_vulkan_handles handles;
    vkf_context_get_vulkan(p->gpu.context, &handles);
    assert_ptr_equal(handles.instance, p->instance);
    assert_ptr_equal(handles.physical_device, p->physical);
    assert_ptr_equal(handles.device, p->device);
    assert_ptr_equal(handles.queue, p->queue);
    assert_int_equal(handles.queue_family_index, p->family);
    assert_ptr_equal(handles.get_instance_proc_addr, p->desc.get_instance_proc_addr);
    p->locks = 0;
    vkf_context_lock_queue(p->gpu.context);
    assert_int_equal(p->locked, 1);
    vkf_context_unlock_queue(p->gpu.context);
    assert_int_equal(p->locked, 0);
    vkf_context *own = own_context(p);
    vkf_context_get_vulkan(own, &handles);
    assert_non_null(handles.queue);
    assert_ptr_not_equal(handles.device, p->device);
    vkf_context_lock_queue(own);
    PFN_vkQueueWaitIdle wait = (PFN_vkQueueWaitIdle)p->vkGetDeviceProcAddr(handles.device, "vkQueueWaitIdle");
    assert_int_equal(wait(handles.queue), VK_SUCCESS);
    vkf_context_unlock_queue(own);
    vkf_context_destroy(&own);
}

static int run(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction open)
{
    printf("%s\n", name);
    return _cmocka_run_group_tests(name, tests, count, open, program_close);
}

#define RUN(tests, open) run("interop_device " #open, tests, sizeof(tests) / sizeof *(tests), open)

int main(void)
{
    const struct CMUnitTest whole[] = {
        cmocka_unit_test(test_setup_device_has_the_same_kernels),
        cmocka_unit_test(test_device_uses_what_was_enabled),
        cmocka_unit_test(test_layers_run_on_the_device),
        cmocka_unit_test(test_setup_without_queues_asks_for_one),
        cmocka_unit_test(test_setup_unusable_is_refused),
        cmocka_unit_test(test_context_get_vulkan),
    };
    const struct CMUnitTest aggregates[] = {
        cmocka_unit_test(test_setup_device_has_the_same_kernels),
        cmocka_unit_test(test_device_uses_what_was_enabled),
    };
    const struct CMUnitTest partly[] = {
        cmocka_unit_test(test_device_uses_what_was_enabled),
        cmocka_unit_test(test_layers_run_on_the_device),
    };
    const struct CMUnitTest plain[] = {
        cmocka_unit_test(test_device_without_setup_has_fewer_kernels),
    };
    return RUN(whole, open_setup) + RUN(aggregates, open_aggregates) + RUN(partly, open_halved) +
           RUN(partly, open_oldest) + RUN(plain, open_plain);
}
