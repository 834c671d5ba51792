// Opens the context that the environment names, and hears what it and validation layers say.
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared_library.h"
#include "kernel/context.h"

static bool environment_is_one(const char *name)
{
    const char *value = getenv(name);
    return value && strcmp(value, "1") == 0;
}

bool vkf_test_all(void)
{
    return environment_is_one("VKF_TEST_ALL");
}

void vkf_test_skip_unless_all(void)
{
    if (vkf_test_all())
        return;
    printf("skipped: VKF_TEST_ALL is not 1\n");
    skip();
}

#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER true
#elif defined(__has_feature)
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#define THREAD_SANITIZER false
#endif

void vkf_test_skip_if_children_have_no_threads(const vkf_test_gpu *gpu)
{
    vkf_device_info info;
    vkf_context_get_device_info(gpu->context, &info);
    // The driver's threads, which the parent alone has, are still in the sanitizer's list: it ends a child that gets
    // one in the place of such a thread.
    if (THREAD_SANITIZER)
        printf("skipped: ThreadSanitizer takes no threads in a child of a process that has some\n");
    else if (strstr(info.name, "SwiftShader"))
        printf("skipped: SwiftShader waits for its threads in a child, too, where they are not\n");
    else
        return;
    skip();
}

static void listen(void *user, vkf_severity severity, const char *text)
{
    vkf_test_gpu *gpu = user;
    if (severity == VKF_SEVERITY_ERROR)
        (void)snprintf(gpu->last_error, sizeof gpu->last_error, "%s", text);
    if (severity == VKF_SEVERITY_VALIDATION && gpu->validation_messages++ == 0)
        (void)snprintf(gpu->first_validation, sizeof gpu->first_validation, "%s", text);
}

// LeakSanitizer can name what a layer or driver itself leaks, and so suppress it, only while that stays loaded.
static void keep_loaded(bool validation)
{
    const char *why;
    (void)vkf__library_open("libvulkan_lvp.so", &why);
    if (validation)
        (void)vkf__library_open("libVkLayer_khronos_validation.so", &why);
}

// The masks of VKF_TEST_MASKS behind those of the test's own.
static void add_masks(vkf_test_gpu *gpu, vkf_context_desc *desc)
{
    const char *listed = getenv("VKF_TEST_MASKS");
    uint32_t count = 0;
    if (!listed || !*listed)
        return;
    if (strlen(listed) >= sizeof gpu->mask_text) {
        fprintf(stderr, "VKF_TEST_MASKS is longer than %zu characters\n", sizeof gpu->mask_text - 1);
        abort();
    }
    for (; count < desc->mask_count && count < VKF_TEST_MAX_MASKS; count++)
        gpu->masks[count] = desc->masks[count];
    strcpy(gpu->mask_text, listed);
    for (char *mask = strtok(gpu->mask_text, ","); mask && count < VKF_TEST_MAX_MASKS; mask = strtok(NULL, ","))
        gpu->masks[count++] = mask;
    desc->masks = gpu->masks;
    desc->mask_count = count;
}

// A processor without the instructions has no driver of that width, and so nothing that this run could show.
static void exit_unless_subgroups_fit(const vkf_test_gpu *gpu)
{
    const char *wanted = getenv("VKF_TEST_SUBGROUP_SIZE");
    vkf_device_info info;
    if (!wanted || !gpu->context)
        return;
    vkf_context_get_device_info(gpu->context, &info);
    if (info.subgroup_size == strtoul(wanted, NULL, 10))
        return;
    printf("skipped: subgroups have %u lanes here, not %s\n", (unsigned)info.subgroup_size, wanted);
    exit(77);
}

int vkf_test_gpu_prepare(vkf_test_gpu *gpu, vkf_context_desc *desc)
{
    const char *profile = getenv("VKF_TEST_PROFILE");
    const char *seed = getenv("VKF_TEST_SEED");
    const char *device = getenv("VKF_TEST_DEVICE");
    memset(gpu, 0, sizeof *gpu);
    gpu->seed = seed ? strtoull(seed, NULL, 0) : 20261120;
    vkf_test_random_init(&gpu->random, gpu->seed);
    if (profile && !vkf_caps_profile_from_name(profile, &gpu->profile)) {
        fprintf(stderr, "VKF_TEST_PROFILE=%s is no profile\n", profile);
        return -1;
    }
    if (device && strcmp(device, "reference") == 0 && desc->device.kind == VKF_CHOOSE_BEST)
        desc->device.kind = VKF_CHOOSE_REFERENCE;
    desc->profile = gpu->profile;
    desc->validation = environment_is_one("VKF_TEST_VALIDATION");
    // What kernels compute is what these tests look at; the self-test has tests of its own.
    desc->skip_self_test = true;
    desc->message = listen;
    desc->message_user = gpu;
    add_masks(gpu, desc);
    keep_loaded(desc->validation);
    return 0;
}

// As resizable BAR has it: the host sees the device's memory, but reads it through staging memory, which such a device
// has from the beginning. Here the first transfer of two parts makes it, where a test's limits leave room for that.
static void stop_caching(vkf_context *context)
{
    const uint64_t bytes = 2 * VKF_STAGING_BYTES;
    VkPhysicalDeviceMemoryProperties *memory = &context->device.plan.caps.memory;
    vkf_buffer *buffer = NULL;
    void *read = malloc((size_t)bytes);
    for (uint32_t i = 0; i < memory->memoryTypeCount; i++)
        memory->memoryTypes[i].propertyFlags &= ~(VkMemoryPropertyFlags)VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
    if (read && vkf_buffer_create(context, bytes, "staged", &buffer) == VKF_OK)
        (void)!vkf_buffer_read(buffer, 0, read, bytes);
    vkf_buffer_destroy(&buffer);
    free(read);
}

// The driver stays what it is: what was enabled, where memory lies, and a clock that nobody waits for.
static void count_as_gpu(vkf_context *context)
{
    vkf__caps *caps = &context->device.plan.caps;
    const bool unified = caps->traits.unified_memory;
    caps->type = VKF_DEVICE_TYPE_DISCRETE;
    caps->traits = vkf__traits_of(caps);
    caps->traits.unified_memory = unified;
    caps->traits.clock_follows_load = false;
    stop_caching(context);
}

int vkf_test_gpu_create(vkf_test_gpu *gpu, const vkf_context_desc *desc)
{
    vkf_status status = vkf_context_create(desc, &gpu->context);
    if (gpu->context && environment_is_one("VKF_TEST_AS_GPU"))
        count_as_gpu(gpu->context);
    exit_unless_subgroups_fit(gpu);
    if (status == VKF_OK || ((status == VKF_ERROR_NO_VULKAN || status == VKF_ERROR_NO_DEVICE) &&
                             !environment_is_one("VKF_TEST_REQUIRE_GPU")))
        return 0;
    fprintf(stderr, "no context: %s: %s\n", vkf_status_name(status), gpu->last_error);
    return -1;
}

int vkf_test_gpu_open(vkf_test_gpu *gpu, vkf_context_desc *desc)
{
    int failed = vkf_test_gpu_prepare(gpu, desc);
    return failed ? failed : vkf_test_gpu_create(gpu, desc);
}

// A fixture's function has no argument for another.
static CMFixtureFunction group_teardown;
static bool group_teardown_failed;

static int noted_teardown(void **state)
{
    const int result = group_teardown(state);
    group_teardown_failed = result != 0;
    return result;
}

int vkf_test_run_group(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                       CMFixtureFunction teardown)
{
    group_teardown = teardown;
    group_teardown_failed = false;
    const int failed = _cmocka_run_group_tests(name, tests, count, setup, teardown ? noted_teardown : NULL);
    return failed + group_teardown_failed;
}

int vkf_test_gpu_setup(void **state)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {0};
    if (!gpu)
        return -1;
    *state = gpu;
    return vkf_test_gpu_open(gpu, &desc);
}

int vkf_test_gpu_teardown(void **state)
{
    vkf_test_gpu *gpu = *state;
    vkf_context_destroy(&gpu->context);
    int messages = gpu->validation_messages;
    if (messages > 0)
        fprintf(stderr, "%d validation messages, the first: %s\n", messages, gpu->first_validation);
    free(gpu);
    return messages == 0 ? 0 : -1;
}

void vkf_test_assert_silent(vkf_test_gpu *gpu)
{
    int messages = gpu->validation_messages;
    gpu->validation_messages = 0;
    if (messages > 0)
        fail_msg("%d validation messages, the first: %s", messages, gpu->first_validation);
}

vkf_test_gpu *vkf_test_gpu_of(void **state)
{
    vkf_test_gpu *gpu = *state;
    if (!gpu->context) {
        printf("skipped: no Vulkan device: %s\n", gpu->last_error);
        skip();
    }
    return gpu;
}

const char *vkf_test_label(vkf_test_gpu *gpu, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int used = vsnprintf(gpu->label, sizeof gpu->label, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof gpu->label)
        (void)snprintf(gpu->label + used, sizeof gpu->label - (size_t)used, ", profile %s, seed %llu",
                       vkf_caps_profile_name(gpu->profile), (unsigned long long)gpu->seed);
    return gpu->label;
}

static size_t count_of(const vkf_tensor *tensor)
{
    uint64_t count = 0;
    assert_true(vkf_tensor_count(tensor, &count));
    return (size_t)count;
}

vkf_tensor vkf_test_tensor_raw(vkf_test_gpu *gpu, vkf_dtype dtype, uint32_t rank, const uint32_t *shape,
                               const void *bytes)
{
    vkf_tensor tensor = {0};
    if (vkf_tensor_create(gpu->context, dtype, rank, shape, "test", &tensor) != VKF_OK)
        fail_msg("no tensor: %s", gpu->last_error);
    if (bytes && vkf_tensor_write(&tensor, bytes, count_of(&tensor) * vkf_dtype_size(dtype)) != VKF_OK)
        fail_msg("tensor not written: %s", gpu->last_error);
    return tensor;
}

vkf_tensor vkf_test_tensor(vkf_test_gpu *gpu, vkf_dtype dtype, uint32_t rank, const uint32_t *shape,
                           const float *values)
{
    if (dtype == VKF_DTYPE_F32)
        return vkf_test_tensor_raw(gpu, dtype, rank, shape, values);
    assert_int_equal(dtype, VKF_DTYPE_F16);
    const vkf_tensor view = {
        .rank = rank, .shape = {shape[0], rank > 1 ? shape[1] : 0, rank > 2 ? shape[2] : 0, rank > 3 ? shape[3] : 0}};
    size_t count = count_of(&view);
    uint16_t *halves = malloc(count * sizeof *halves);
    assert_non_null(halves);
    vkf_f32_to_f16(values, halves, count);
    vkf_tensor tensor = vkf_test_tensor_raw(gpu, dtype, rank, shape, halves);
    free(halves);
    return tensor;
}

float *vkf_test_read(const vkf_tensor *tensor)
{
    size_t count = count_of(tensor);
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    if (tensor->dtype == VKF_DTYPE_F32) {
        assert_int_equal(vkf_tensor_read(tensor, values, count * sizeof *values), VKF_OK);
        return values;
    }
    uint16_t *halves = malloc(count * sizeof *halves);
    assert_non_null(halves);
    assert_int_equal(vkf_tensor_read(tensor, halves, count * sizeof *halves), VKF_OK);
    vkf_f16_to_f32(halves, values, count);
    free(halves);
    return values;
}

static VKAPI_ATTR VkResult VKAPI_CALL fail_to_wait(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                                   uint64_t timeout)
{
    (void)device, (void)count, (void)fences, (void)all, (void)timeout;
    return VK_ERROR_OUT_OF_HOST_MEMORY;
}

static PFN_vkWaitForFences device_waits;
static bool device_spins; // which would hide waits

void vkf_test_forbid_waits(vkf_test_gpu *gpu)
{
    vkf__device *device = &gpu->context->device;
    device_waits = device->vk.vkWaitForFences;
    device_spins = device->plan.caps.traits.spins;
    device->vk.vkWaitForFences = fail_to_wait;
    device->plan.caps.traits.spins = false;
}

void vkf_test_allow_waits(vkf_test_gpu *gpu)
{
    gpu->context->device.vk.vkWaitForFences = device_waits;
    gpu->context->device.plan.caps.traits.spins = device_spins;
}

uint64_t vkf_test_bytes_in_use(const vkf_test_gpu *gpu)
{
    vkf_memory_usage usage;
    uint64_t bytes = 0;
    vkf_context_get_memory_usage(gpu->context, &usage);
    for (uint32_t i = 0; i < usage.heap_count; i++)
        bytes += usage.used_bytes[i];
    return bytes;
}
