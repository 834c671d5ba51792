// Runs of layers that are submitted without waiting: several under way at once, each with sizes of its own, between
// semaphores of the program's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "layer/layer.h"
#include "vulkan_program.h"

#define USAGE (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

enum { FRAMES = 3, OUTPUTS = 2 * 12 * SAMPLE_DIM };

static const vkf_layer_sizes max_sizes = {2, 12, 15};
static const vkf_layer_sizes frame_sizes[FRAMES] = {{2, 12, 15}, {1, 3, 4}, {2, 5, 9}};

// Copies the layer's output to where the program keeps that of one run.
static VkCommandBuffer record_keeping(program *p, vkf_layer *layer, const own_buffer *kept)
{
    VkCommandBuffer commands = program_begin(p);
    VkBufferCopy region = {.size = OUTPUTS * sizeof(float)};
    VkBuffer output = VK_NULL_HANDLE;
    vkf_tensor tensor;
    assert_true(vkf_layer_get_port(layer, VKF_PORT_OUTPUT, &tensor));
    vkf_buffer_get_vulkan(tensor.buffer, &output, &region.srcOffset);
    region.srcOffset += tensor.offset_bytes;
    p->vk.vkCmdCopyBuffer(commands, output, kept->handle, 1, &region);
    program_barrier(p, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                    VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    assert_int_equal(p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    return commands;
}

// What the layer gives with the data that its ports have, run by run.
static void run_alone(vkf_layer *layer, uint32_t frame, float *out_values)
{
    const vkf_layer_sizes *sizes = &frame_sizes[frame];
    const size_t count = (size_t)sizes->batch * sizes->query_len * SAMPLE_DIM;
    assert_int_equal(vkf_layer_run(layer, sizes), VKF_OK);
    assert_int_equal(vkf_layer_read(layer, VKF_PORT_OUTPUT, out_values, count * sizeof *out_values), VKF_OK);
}

// The first run is held by a semaphore of the program's until all are submitted: had they one set of parameters, the
// sizes of the last would be those of all. The temporaries are common.
static void check_frames(program *p, sample_kind kind, vkf_layer *layer)
{
    static float expected[FRAMES][OUTPUTS];
    own_buffer kept[FRAMES];
    VkSemaphore begin = program_semaphore(p, true), end = program_semaphore(p, true);
    bool ended = true;
    for (uint32_t i = 0; i < FRAMES; i++)
        run_alone(layer, i, expected[i]);
    for (uint32_t i = 0; i < FRAMES; i++) {
        const vkf_semaphore_value wait = {begin, 1}, done = {end, i + 1};
        const vkf_layer_submit_desc submit = {.frame = i,
                                              .sizes = frame_sizes[i],
                                              .waits = &wait,
                                              .wait_count = i == 0,
                                              .signals = &done,
                                              .signal_count = 1};
        assert_int_equal(vkf_layer_submit(layer, &submit), VKF_OK);
        kept[i] = program_buffer(p, sizeof expected[i], USAGE);
        program_submit_after(p, record_keeping(p, layer, &kept[i]), VK_NULL_HANDLE, VK_NULL_HANDLE);
    }
    assert_int_equal(vkf_layer_ended(layer, 0, &ended), VKF_OK);
    assert_false(ended);
    program_signal(p, begin, 1);
    for (uint32_t i = 0; i < FRAMES; i++)
        assert_int_equal(vkf_layer_wait(layer, i), VKF_OK);
    assert_int_equal(vkf_layer_ended(layer, 0, &ended), VKF_OK);
    assert_true(ended);
    assert_int_equal(p->vk.vkQueueWaitIdle(p->queue), VK_SUCCESS);
    for (uint32_t i = 0; i < FRAMES; i++) {
        const size_t count = (size_t)frame_sizes[i].batch * frame_sizes[i].query_len * SAMPLE_DIM;
        assert_close(kept[i].mapped, expected[i], count, 0, 0,
                     vkf_test_label(&p->gpu, "%s, frame %u", sample_name(kind), (unsigned)i));
        program_destroy_buffer(p, &kept[i]);
    }
    p->vk.vkDestroySemaphore(p->device, begin, NULL);
    p->vk.vkDestroySemaphore(p->device, end, NULL);
}

static vkf_layer *create_layer(program *p, sample_kind kind, uint32_t frames)
{
    const sample_options options = {.frames_in_flight = frames};
    vkf_layer *layer = NULL;
    sample_data data;
    assert_int_equal(sample_layer_create_with(p->gpu.context, kind, &p->weights, max_sizes, &options, &layer), VKF_OK);
    sample_data_create(&p->gpu.random, max_sizes, &data);
    assert_int_equal(sample_layer_write(layer, kind, &data), VKF_OK);
    sample_data_destroy(&data);
    return layer;
}

static void test_frames_have_sizes_of_their_own(void **state)
{
    program *p = program_of(state);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        vkf_layer *layer = create_layer(p, kind, FRAMES);
        assert_int_equal(vkf_layer_get_record_count(layer), FRAMES);
        check_frames(p, kind, layer);
        assert_int_equal(vkf_layer_get_record_count(layer), FRAMES);
        vkf_layer_destroy(&layer);
    }
}

// With one frame the second submission waits for the first, whose sizes it would overwrite.
static void test_frame_under_way_is_waited_for(void **state)
{
    static float expected[OUTPUTS], got[OUTPUTS];
    program *p = program_of(state);
    vkf_layer *layer = create_layer(p, SAMPLE_ENCODER, 0);
    run_alone(layer, 1, expected);
    for (int i = 0; i < 20; i++) {
        const vkf_layer_submit_desc submit = {.sizes = frame_sizes[i % 2]};
        assert_int_equal(vkf_layer_submit(layer, &submit), VKF_OK);
    }
    assert_int_equal(vkf_layer_wait(layer, 0), VKF_OK);
    const size_t count = (size_t)frame_sizes[1].batch * frame_sizes[1].query_len * SAMPLE_DIM;
    assert_int_equal(vkf_layer_read(layer, VKF_PORT_OUTPUT, got, count * sizeof *got), VKF_OK);
    assert_close(got, expected, count, 0, 0, vkf_test_label(&p->gpu, "the last of many"));
    assert_int_equal(vkf_layer_wait(layer, 0), VKF_OK); // again, with nothing under way
    // Destroyed while it runs.
    const vkf_layer_submit_desc submit = {.sizes = frame_sizes[0]};
    assert_int_equal(vkf_layer_submit(layer, &submit), VKF_OK);
    vkf_layer_destroy(&layer);
}

// The program fills the query, the layer follows, and the program copies: joined by binary semaphores.
static void test_submit_between_binary_semaphores(void **state)
{
    static float expected[OUTPUTS];
    program *p = program_of(state);
    vkf_layer *layer = create_layer(p, SAMPLE_FEED_FORWARD, 2);
    own_buffer kept = program_buffer(p, sizeof expected, USAGE);
    VkSemaphore filled = program_semaphore(p, false), ran = program_semaphore(p, false);
    VkCommandBuffer fill = program_begin(p);
    VkBuffer query = VK_NULL_HANDLE;
    VkDeviceSize begin = 0;
    vkf_tensor tensor;
    assert_true(vkf_layer_get_port(layer, VKF_PORT_QUERY, &tensor));
    vkf_buffer_get_vulkan(tensor.buffer, &query, &begin);
    p->vk.vkCmdFillBuffer(fill, query, begin + tensor.offset_bytes, sizeof expected, 0x3f000000); // 0.5
    assert_int_equal(p->vk.vkEndCommandBuffer(fill), VK_SUCCESS);
    VkCommandBuffer keep = record_keeping(p, layer, &kept);
    program_submit_after(p, fill, VK_NULL_HANDLE, filled);
    const vkf_semaphore_value wait = {.semaphore = filled}, done = {.semaphore = ran};
    const vkf_layer_submit_desc submit = {
        .frame = 1, .sizes = max_sizes, .waits = &wait, .wait_count = 1, .signals = &done, .signal_count = 1};
    assert_int_equal(vkf_layer_submit(layer, &submit), VKF_OK);
    program_submit_after(p, keep, ran, VK_NULL_HANDLE);
    assert_int_equal(vkf_layer_wait(layer, 1), VKF_OK);
    assert_int_equal(p->vk.vkQueueWaitIdle(p->queue), VK_SUCCESS);
    run_alone(layer, 0, expected);
    assert_close(kept.mapped, expected, OUTPUTS, 0, 0, vkf_test_label(&p->gpu, "between semaphores"));
    p->vk.vkDestroySemaphore(p->device, filled, NULL);
    p->vk.vkDestroySemaphore(p->device, ran, NULL);
    program_destroy_buffer(p, &kept);
    vkf_layer_destroy(&layer);
}

// In one command buffer of the program's, a layer runs twice, with other sizes each time.
static void test_frames_are_recorded_with_sizes_of_their_own(void **state)
{
    static float expected[2][OUTPUTS];
    program *p = program_of(state);
    vkf_layer *layer = create_layer(p, SAMPLE_ENCODER, 2);
    own_buffer kept[2];
    VkCommandBuffer commands[2], keep[2];
    for (uint32_t i = 0; i < 2; i++) {
        run_alone(layer, i, expected[i]);
        kept[i] = program_buffer(p, sizeof expected[i], USAGE);
        keep[i] = record_keeping(p, layer, &kept[i]);
        commands[i] = program_begin(p);
        assert_int_equal(vkf_layer_record(layer, i, commands[i]), VKF_OK);
        assert_int_equal(p->vk.vkEndCommandBuffer(commands[i]), VK_SUCCESS);
    }
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(vkf_layer_set_sizes(layer, i, &frame_sizes[i]), VKF_OK);
    for (uint32_t i = 0; i < 2; i++) {
        program_submit_after(p, commands[i], VK_NULL_HANDLE, VK_NULL_HANDLE);
        program_submit_after(p, keep[i], VK_NULL_HANDLE, VK_NULL_HANDLE);
    }
    assert_int_equal(p->vk.vkQueueWaitIdle(p->queue), VK_SUCCESS);
    for (uint32_t i = 0; i < 2; i++) {
        const size_t count = (size_t)frame_sizes[i].batch * frame_sizes[i].query_len * SAMPLE_DIM;
        assert_close(kept[i].mapped, expected[i], count, 0, 0,
                     vkf_test_label(&p->gpu, "recorded frame %u", (unsigned)i));
        program_destroy_buffer(p, &kept[i]);
    }
    vkf_layer_destroy(&layer);
}

static void test_submit_unusable_is_refused(void **state)
{
    program *p = program_of(state);
    vkf_layer *layer = create_layer(p, SAMPLE_FEED_FORWARD, 2);
    const vkf_semaphore_value none = {0};
    bool ended = false;
    const vkf_layer_submit_desc bad[] = {
        {.frame = 2, .sizes = max_sizes},
        {.sizes = max_sizes, .wait_count = 1},
        {.sizes = max_sizes, .signals = &none, .signal_count = 1},
        {.sizes = max_sizes, .waits = &none, .wait_count = VKF_MAX_SEMAPHORES + 1},
        {.sizes = {0, 1, 1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(vkf_layer_submit(layer, &bad[i]), VKF_ERROR_INVALID_ARGUMENT);
    const vkf_layer_submit_desc large = {.sizes = {3, 1, 1}};
    assert_int_equal(vkf_layer_submit(layer, &large), VKF_ERROR_TOO_LARGE);
    assert_int_equal(vkf_layer_wait(layer, 2), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_layer_ended(layer, 2, &ended), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_layer_set_sizes(layer, 2, &max_sizes), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_layer_ended(layer, 1, &ended), VKF_OK);
    assert_true(ended); // nothing was ever begun
    vkf_layer_destroy(&layer);
    const sample_options options = {.frames_in_flight = VKF_MAX_FRAMES_IN_FLIGHT + 1};
    assert_int_equal(sample_layer_create_with(p->gpu.context, SAMPLE_ENCODER, &p->weights, max_sizes, &options, &layer),
                     VKF_ERROR_INVALID_ARGUMENT);
}

// A layer of N frames takes N sets of parameters, and one of everything else.
static void test_frames_cost_what_the_plan_says(void **state)
{
    program *p = program_of(state);
    vkf_memory_usage before, after;
    vkf_memory_plan one, many;
    assert_int_equal(
        sample_layer_plan_with(p->gpu.context, SAMPLE_ENCODER, &p->weights, max_sizes, &(sample_options){0}, &one),
        VKF_OK);
    assert_int_equal(sample_layer_plan_with(p->gpu.context, SAMPLE_ENCODER, &p->weights, max_sizes,
                                            &(sample_options){.frames_in_flight = FRAMES}, &many),
                     VKF_OK);
    assert_int_equal(many.control_bytes, FRAMES * one.control_bytes);
    assert_int_equal(many.activations_bytes, one.activations_bytes);
    vkf_context_get_memory_usage(p->gpu.context, &before);
    vkf_layer *layer = create_layer(p, SAMPLE_ENCODER, FRAMES);
    vkf_context_get_memory_usage(p->gpu.context, &after);
    for (uint32_t i = 0; i < many.heap_count; i++)
        assert_int_equal(after.used_bytes[i] - before.used_bytes[i], many.heap_bytes[i]);
    vkf_layer_destroy(&layer);
}

static int open_timeline(void **state)
{
    return program_open(state, &(program_wishes){.api_version = VK_API_VERSION_1_3, .setup = true, .aggregates = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_have_sizes_of_their_own),
        cmocka_unit_test(test_frame_under_way_is_waited_for),
        cmocka_unit_test(test_submit_between_binary_semaphores),
        cmocka_unit_test(test_frames_are_recorded_with_sizes_of_their_own),
        cmocka_unit_test(test_submit_unusable_is_refused),
        cmocka_unit_test(test_frames_cost_what_the_plan_says),
    };
    return cmocka_run_group_tests_name("interop_submit", tests, open_timeline, program_close);
}
