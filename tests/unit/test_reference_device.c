// The device of references by itself: it opens where there is no driver, keeps what is copied, and says that it has no
// shaders for what a program records into its command buffers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/context.h"
#include "vk/submission.h"

#include <vkformer/vulkan.h>

static char last_error[512];

static void listen(void *user, vkf_severity severity, const char *text)
{
    (void)user;
    if (severity == VKF_SEVERITY_ERROR)
        (void)snprintf(last_error, sizeof last_error, "%s", text);
}

static vkf_context *open_reference(void)
{
    const vkf_context_desc desc = {.device = {.kind = VKF_CHOOSE_REFERENCE}, .message = listen};
    vkf_context *context = NULL;
    assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
    return context;
}

static void test_it_is_the_only_device(void **state)
{
    const vkf_context_desc desc = {.device = {.kind = VKF_CHOOSE_REFERENCE}};
    vkf_device_info info;
    uint32_t count = 1;
    (void)state;
    assert_int_equal(vkf_enumerate_devices(&desc, &count, &info), VKF_OK);
    assert_int_equal(count, 1);
    assert_non_null(strstr(info.name, "reference"));
}

static void test_buffers_keep_what_is_written(void **state)
{
    vkf_context *context = open_reference();
    vkf_buffer *buffer = NULL;
    uint8_t in[1000], out[1000] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(i * 7);
    assert_int_equal(vkf_buffer_create(context, sizeof in, "kept", &buffer), VKF_OK);
    assert_int_equal(vkf_buffer_write(buffer, 0, in, sizeof in), VKF_OK);
    assert_int_equal(vkf_buffer_read(buffer, 0, out, sizeof out), VKF_OK);
    assert_memory_equal(in, out, sizeof in);
    vkf_buffer_destroy(&buffer);
    assert_int_equal(vkf_buffer_create(context, UINT64_C(1) << 40, "large", &buffer), VKF_ERROR_TOO_LARGE);
    vkf_context_destroy(&context);
}

static void test_an_external_device_is_refused(void **state)
{
    const vkf_external_device external = {0};
    const vkf_context_desc desc = {.device = {.kind = VKF_CHOOSE_REFERENCE}, .message = listen, .external = &external};
    vkf_context *context = NULL;
    (void)state;
    assert_int_equal(vkf_context_create(&desc, &context), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(last_error, "external"));
    assert_null(context);
}

// With `indirect` the grid lies in a buffer, which nothing reads.
static void check_dispatch_of_a_program(vkf_context *context, bool indirect)
{
    vkf__submission submission;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    vkf__device *device = &context->device;
    const VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    assert_int_equal(vkf__submission_init(&submission, device, "program"), VKF_OK);
    assert_int_equal(vkf__submission_command_buffer(&submission, "program", &commands), VKF_OK);
    assert_int_equal(device->vk.vkBeginCommandBuffer(commands, &begin), VK_SUCCESS);
    device->vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, VK_NULL_HANDLE);
    device->vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, VK_NULL_HANDLE, 0, 0, NULL, 0, NULL);
    device->vk.vkCmdPushConstants(commands, VK_NULL_HANDLE, VK_SHADER_STAGE_COMPUTE_BIT, 0, 0, NULL);
    if (indirect)
        device->vk.vkCmdDispatchIndirect(commands, VK_NULL_HANDLE, 0);
    else
        device->vk.vkCmdDispatch(commands, 1, 1, 1);
    assert_int_equal(device->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    assert_int_equal(vkf__submission_run(&submission, &commands, 1), VKF_ERROR_VULKAN);
    vkf__submission_finish(&submission);
}

static void test_a_program_has_no_shaders_here(void **state)
{
    vkf_context *context = open_reference();
    (void)state;
    check_dispatch_of_a_program(context, false);
    check_dispatch_of_a_program(context, true);
    vkf_context_destroy(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_only_device),
        cmocka_unit_test(test_buffers_keep_what_is_written),
        cmocka_unit_test(test_an_external_device_is_refused),
        cmocka_unit_test(test_a_program_has_no_shaders_here),
    };
    return cmocka_run_group_tests_name("unit.reference_device", tests, NULL, NULL);
}
