// Transfers of several threads, on a device whose memory the host does not see: a small read waits for a part of a
// large write that is in flight, not for the whole.
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "kernel/context.h"

enum { PARTS = 6 };

// What the device is handed while the test runs, by the thread that hands it over.
typedef struct turn_log {
    vkf_test_gpu gpu;
    vkf_buffer *large, *small;
    PFN_vkQueueSubmit submit;
    pthread_t reader;
    bool reading;              // the reader's thread was started
    bool by_reader[PARTS + 2]; // for each submission
    size_t count;
    vkf_status read_status;
    uint32_t value;
} turn_log;

// The hook has no argument of the test's own.
static turn_log *running;

static void *read_small(void *user)
{
    turn_log *log = user;
    log->read_status = vkf_buffer_read(log->small, 0, &log->value, sizeof log->value);
    return NULL;
}

static bool somebody_waits(vkf__turns *turns)
{
    pthread_mutex_lock(&turns->mutex);
    bool waits = turns->taken - turns->served > 1;
    pthread_mutex_unlock(&turns->mutex);
    return waits;
}

// Inside the second part of the write, when both halves are taken, the reader is started, and the write goes on when it
// waits.
static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    turn_log *log = running;
    if (log->count < sizeof log->by_reader / sizeof log->by_reader[0])
        log->by_reader[log->count++] = log->reading && pthread_equal(pthread_self(), log->reader);
    if (!log->reading && log->count == 2) {
        log->reading = pthread_create(&log->reader, NULL, read_small, log) == 0;
        while (log->reading && !somebody_waits(&log->gpu.context->transfer.halves[0].turns))
            sched_yield();
    }
    return log->submit(queue, count, infos, fence);
}

static int open_masked(void **state)
{
    static const char *const masks[] = {"hostVisibleDeviceMemory"};
    vkf_context_desc desc = {.masks = masks, .mask_count = 1};
    turn_log *log = calloc(1, sizeof *log);
    *state = log;
    return log ? vkf_test_gpu_open(&log->gpu, &desc) : -1;
}

static void test_read_waits_for_no_more_than_is_in_flight(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    turn_log *log = *state;
    const uint32_t value = 0x12345678;
    uint64_t bytes = PARTS * VKF_STAGING_BYTES;
    void *data = calloc(1, (size_t)bytes);
    assert_non_null(data);
    assert_int_equal(vkf_buffer_create(gpu->context, bytes, "large", &log->large), VKF_OK);
    assert_int_equal(vkf_buffer_create(gpu->context, sizeof value, "small", &log->small), VKF_OK);
    assert_int_equal(vkf_buffer_write(log->small, 0, &value, sizeof value), VKF_OK);
    running = log;
    log->submit = gpu->context->device.vk.vkQueueSubmit;
    gpu->context->device.vk.vkQueueSubmit = submit;
    vkf_status written = vkf_buffer_write(log->large, 0, data, bytes);
    assert_true(log->reading);
    pthread_join(log->reader, NULL);
    gpu->context->device.vk.vkQueueSubmit = log->submit;
    assert_int_equal(written, VKF_OK);
    assert_int_equal(log->read_status, VKF_OK);
    assert_int_equal(log->value, value);
    assert_int_equal(log->count, PARTS + 1);
    for (size_t i = 0; i < log->count; i++)
        assert_int_equal(log->by_reader[i], i == 2);
    vkf_buffer_destroy(&log->large);
    vkf_buffer_destroy(&log->small);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_read_waits_for_no_more_than_is_in_flight)};
    return cmocka_run_group_tests_name("transfer_turns", tests, open_masked, vkf_test_gpu_teardown);
}
