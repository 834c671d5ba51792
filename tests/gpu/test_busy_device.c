// A first start on a device that is busy: every submission waits 4 ms behind what others have queued. That says nothing
// about kernels, so none of them is condemned, whether the device has timestamps or not.
#include <stdlib.h>
#include <string.h>

#include "blob_store.h"
#include "fake_vulkan.h"
#include "fixture.h"
#include "heard.h"
#include "kernel/context.h"
#include "prove/race.h"
#include "prove/self_test.h"

#define DELAY_NS UINT64_C(4000000)

static const char *const no_timestamps[] = {"timestampComputeAndGraphics"};

// A context whose submissions wait, and whose kernels have the time that they have on a GPU. A small tile alone stays
// far below that on a processor, too.
static vkf_context *open_busy(void **state, vkf_test_heard *h, bool timestamps, vkf_blob_store *store)
{
    fake_vulkan_reset();
    fake_vulkan_delay("vkQueueSubmit", DELAY_NS);
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), h,
                                               (vkf_context_desc){.get_instance_proc_addr = fake_vulkan_get_proc,
                                                                  .cache = vkf_blob_store_callbacks(store),
                                                                  .variant = "gemm_tile.f32_f32_f32/small",
                                                                  .masks = no_timestamps,
                                                                  .mask_count = timestamps ? 0 : 1});
    context->self_test_budget_ns = VKF_SELF_TEST_BUDGET_NS;
    return context;
}

// The driver of a GPU that is not there: it has timestamps and writes none.
static VKAPI_ATTR VkResult VKAPI_CALL get_nothing(VkDevice device, VkQueryPool pool, uint32_t first, uint32_t count,
                                                  size_t size, void *data, VkDeviceSize stride,
                                                  VkQueryResultFlags flags)
{
    (void)device, (void)pool, (void)first, (void)count, (void)size, (void)data, (void)stride, (void)flags;
    return VK_NOT_READY;
}

static void check_busy(void **state, bool timestamps, bool ticks)
{
    vkf_test_heard h;
    vkf_blob_store store = {0};
    float value = 0;
    vkf_test_skip_unless_lavapipe(vkf_test_gpu_of(state));
    vkf_context *context = open_busy(state, &h, timestamps, &store);
    if (!timestamps)
        assert_false(context->device.plan.caps.timestamps);
    if (!ticks)
        context->device.vk.vkGetQueryPoolResults = get_nothing;
    assert_int_equal(vkf_test_multiply_ones(context, 100, &value), VKF_OK);
    // The context did not ask for timestamps.
    assert_int_equal(fake_vulkan_calls("vkCmdWriteTimestamp") > 0, context->device.plan.caps.timestamps);
    vkf_context_destroy(&context);
    fake_vulkan_reset();
    assert_true(value == 100);
    assert_true(h.tests > 0);
    if (h.warnings > 0)
        fail_msg("%d warnings, the last: %s", h.warnings, h.warning);
    char *text = vkf_blob_text(&store, "verdicts-");
    assert_non_null(strstr(text, " passed"));
    assert_null(strstr(text, " slow"));
    free(text);
    vkf_blob_store_clear(&store);
}

static void test_timestamps_know_of_no_wait(void **state)
{
    check_busy(state, true, true);
}

static void test_a_wait_is_no_time_of_a_kernel(void **state)
{
    check_busy(state, false, false);
}

static void test_timestamps_that_nobody_writes_are_done_without(void **state)
{
    check_busy(state, true, false);
}

// Nor of one that runs a race.
static void test_a_wait_is_no_time_of_a_race(void **state)
{
    vkf_test_heard h;
    vkf_blob_store store = {0};
    const vkf__variant small = vkf_test_variant_named("gemm_tile.f32_f32_f32/small");
    const vkf__want want = {.op = VKF_OP_GEMM,
                            .types = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32},
                            .problem = {.m = 5, .n = 70, .k = 48, .b_layout = VKF_LAYOUT_ROWS},
                            .variant = small};
    double ns[2] = {0};
    vkf_context *context = open_busy(state, &h, false, &store);
    const uint64_t delay_ns = 10 * DELAY_NS; // far longer than both
    fake_vulkan_delay("vkQueueSubmit", delay_ns);
    assert_int_equal(vkf__race_run(context, &want, &small, ns), VKF_OK);
    vkf_context_destroy(&context);
    fake_vulkan_reset();
    vkf_blob_store_clear(&store);
    for (int i = 0; i < 2; i++)
        if (ns[i] <= 0 || ns[i] >= (double)delay_ns / 2)
            fail_msg("%g ns behind a wait of %g", ns[i], (double)delay_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timestamps_know_of_no_wait),
        cmocka_unit_test(test_a_wait_is_no_time_of_a_kernel),
        cmocka_unit_test(test_timestamps_that_nobody_writes_are_done_without),
        cmocka_unit_test(test_a_wait_is_no_time_of_a_race),
    };
    return cmocka_run_group_tests_name("busy device", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
