// A layer is recorded once: runs of any sizes allocate nothing, record nothing, and give what a layer made for just
// those sizes gives.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "fake_vulkan.h"
#include "kernel/context.h"
#include "sample_layers.h"

#define DEMO_MODEL VKF_TEST_SOURCE_DIR "/tools/demo-model"

enum { RUNS = 100, COMPARED = 10, SESSION_RUNS = 24 }; // every COMPARED-th run against a fresh layer

static const vkf_layer_sizes max_sizes = {3, 21, 26};

// What kernels may differ by that are chosen for other maximum sizes: they add in another order.
static const double tolerance = 2e-5;

static int open_counted(void **state)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {.get_instance_proc_addr = fake_vulkan_get_proc};
    *state = gpu;
    return gpu ? vkf_test_gpu_open(gpu, &desc) : -1;
}

// What a run must not do. Where the host does not see the device's memory, or does not cache it, token ids and results
// go through transfers, which record their copy anew.
static void assert_nothing_recorded(bool transfers)
{
    static const char *const never[] = {"vkAllocateMemory",
                                        "vkAllocateDescriptorSets",
                                        "vkUpdateDescriptorSets",
                                        "vkAllocateCommandBuffers",
                                        "vkCreate",
                                        "vkFree",
                                        "vkCmdDispatch",
                                        "vkCmdBind",
                                        "vkCmdPush"};
    static const char *const without_transfers[] = {"vkCmd", "vkBeginCommandBuffer", "vkEndCommandBuffer"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        if (fake_vulkan_calls(never[i]) != 0)
            fail_msg("%d calls of %s in a run", (int)fake_vulkan_calls(never[i]), never[i]);
    }
    for (size_t i = 0; !transfers && i < sizeof without_transfers / sizeof without_transfers[0]; i++)
        assert_int_equal(fake_vulkan_calls(without_transfers[i]), 0);
}

// Whether results are read where they lie. Memory that the host does not cache is copied first.
static bool reads_are_mapped(const vkf_test_gpu *gpu)
{
    const vkf__device_plan *plan = &gpu->context->device.plan;
    const VkMemoryType *type = &plan->caps.memory.memoryTypes[plan->memory_type[VKF_MEMORY_DEVICE]];
    return plan->caps.traits.unified_memory && type->propertyFlags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
}

static vkf_layer_sizes random_sizes(vkf_test_random *random)
{
    return (vkf_layer_sizes){
        .batch = 1 + vkf_test_random_below(random, max_sizes.batch),
        .query_len = 1 + vkf_test_random_below(random, max_sizes.query_len),
        .key_len = 1 + vkf_test_random_below(random, max_sizes.key_len),
    };
}

static void compare_with_fresh(vkf_test_gpu *gpu, sample_kind kind, const sample_weights *weights, sample_data *data)
{
    vkf_layer *fresh = NULL;
    size_t count = sample_data_outputs(data);
    float *out = malloc(count * sizeof *out);
    assert_non_null(out);
    memcpy(out, data->out, count * sizeof *out);
    assert_int_equal(sample_layer_create(gpu->context, kind, weights, data->sizes, &fresh), VKF_OK);
    assert_int_equal(sample_layer_run(fresh, kind, data), VKF_OK);
    assert_close(out, data->out, count, tolerance, tolerance,
                 vkf_test_label(gpu, "%s, sizes %u %u %u", sample_name(kind), data->sizes.batch, data->sizes.query_len,
                                data->sizes.key_len));
    vkf_layer_destroy(&fresh);
    free(out);
}

static void run_many(vkf_test_gpu *gpu, sample_kind kind)
{
    sample_weights weights;
    vkf_layer *layer = NULL;
    sample_weights_create(gpu, &weights);
    assert_int_equal(sample_layer_create(gpu->context, kind, &weights, max_sizes, &layer), VKF_OK);
    for (int run = 0; run < RUNS; run++) {
        sample_data data;
        sample_data_create(&gpu->random, run == 0 ? max_sizes : random_sizes(&gpu->random), &data);
        assert_int_equal(sample_layer_write(layer, kind, &data), VKF_OK);
        fake_vulkan_reset();
        assert_int_equal(vkf_layer_run(layer, &data.sizes), VKF_OK);
        assert_nothing_recorded(false);
        assert_int_equal(fake_vulkan_calls("vkQueueSubmit"), 1);
        assert_int_equal(vkf_layer_get_record_count(layer), 1);
        assert_int_equal(
            vkf_layer_read(layer, VKF_PORT_OUTPUT, data.out, sample_data_outputs(&data) * sizeof *data.out), VKF_OK);
        if (run % COMPARED == 0)
            compare_with_fresh(gpu, kind, &weights, &data);
        sample_data_destroy(&data);
    }
    vkf_layer_destroy(&layer);
    sample_weights_destroy(&weights);
}

static void test_attention_is_recorded_once(void **state)
{
    run_many(vkf_test_gpu_of(state), SAMPLE_ATTENTION);
}

static void test_feed_forward_is_recorded_once(void **state)
{
    run_many(vkf_test_gpu_of(state), SAMPLE_FEED_FORWARD);
}

static void test_encoder_layer_is_recorded_once(void **state)
{
    run_many(vkf_test_gpu_of(state), SAMPLE_ENCODER);
}

static void test_decoder_layer_is_recorded_once(void **state)
{
    run_many(vkf_test_gpu_of(state), SAMPLE_DECODER);
}

// What stands in an output beyond the run's sizes is nobody's: a smaller run must not write there.
static void test_smaller_run_leaves_the_rest(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_layer_sizes small = {1, 2, 3};
    sample_weights weights;
    sample_data data;
    vkf_layer *layer = NULL;
    sample_weights_create(gpu, &weights);
    sample_data_create(&gpu->random, max_sizes, &data);
    size_t count = sample_data_outputs(&data), written = (size_t)2 * SAMPLE_DIM;
    float *after = malloc(count * sizeof *after);
    assert_non_null(after);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        assert_int_equal(sample_layer_create(gpu->context, kind, &weights, max_sizes, &layer), VKF_OK);
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        assert_int_equal(vkf_layer_run(layer, &small), VKF_OK);
        assert_int_equal(vkf_layer_read(layer, VKF_PORT_OUTPUT, after, count * sizeof *after), VKF_OK);
        assert_memory_equal(after + written, data.out + written, (count - written) * sizeof *after);
        vkf_layer_destroy(&layer);
    }
    free(after);
    sample_data_destroy(&data);
    sample_weights_destroy(&weights);
}

static void test_sizes_beyond_the_maximum_are_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const struct {
        vkf_layer_sizes sizes;
        vkf_status status;
    } rows[] = {
        {{4, 1, 1}, VKF_ERROR_TOO_LARGE},          {{1, 22, 1}, VKF_ERROR_TOO_LARGE},
        {{1, 1, 27}, VKF_ERROR_TOO_LARGE},         {{0, 1, 1}, VKF_ERROR_INVALID_ARGUMENT},
        {{1, 0, 1}, VKF_ERROR_INVALID_ARGUMENT},   {{1, 1, 0}, VKF_ERROR_INVALID_ARGUMENT},
        {{UINT32_MAX, 1, 1}, VKF_ERROR_TOO_LARGE}, {{3, 21, 26}, VKF_OK},
    };
    sample_weights weights;
    vkf_layer *layer = NULL;
    sample_weights_create(gpu, &weights);
    assert_int_equal(sample_layer_create(gpu->context, SAMPLE_DECODER, &weights, max_sizes, &layer), VKF_OK);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(vkf_layer_set_sizes(layer, 0, &rows[i].sizes), rows[i].status);
        assert_int_equal(vkf_layer_run(layer, &rows[i].sizes), rows[i].status);
    }
    vkf_layer_destroy(&layer);
    sample_weights_destroy(&weights);
}

// Sessions ------------------------------------------------------------------------------------------------------------

typedef struct session_case {
    uint32_t batch, source_len, max_len;
    int32_t source[3 * 24];
    int32_t ids[3 * 24];
    uint32_t lengths[3];
    float memory[3 * 24 * 128];
} session_case;

static void run_session(vkf_test_gpu *gpu, vkf_session *session, session_case *c)
{
    const vkf_encode_args encode = {
        .batch = c->batch, .source_len = c->source_len, .source_ids = c->source, .out_memory = c->memory};
    const vkf_greedy_args greedy = {.batch = c->batch,
                                    .source_len = c->source_len,
                                    .source_ids = c->source,
                                    .max_len = c->max_len,
                                    .out_ids = c->ids,
                                    .out_lengths = c->lengths};
    // The first run of each class of rows records; the same run once more does not.
    for (int again = 0; again <= gpu->context->device.plan.caps.traits.rows_by_class; again++) {
        fake_vulkan_reset();
        assert_int_equal(vkf_session_encode(session, &encode), VKF_OK);
        assert_int_equal(vkf_session_greedy(session, &greedy), VKF_OK);
    }
    assert_nothing_recorded(!reads_are_mapped(gpu));
    assert_int_equal(vkf_session_get_record_count(session), vkf_session_get_command_buffer_count(session));
}

static vkf_session *make_session(vkf_model *model, uint32_t batch, uint32_t source_len, uint32_t target_len)
{
    const vkf_session_desc desc = {.max_batch = batch, .max_source_len = source_len, .max_target_len = target_len};
    vkf_session *session = NULL;
    assert_int_equal(vkf_session_create(model, &desc, &session), VKF_OK);
    return session;
}

static void fill_case(vkf_test_gpu *gpu, session_case *c)
{
    memset(c, 0, sizeof *c);
    c->batch = 1 + vkf_test_random_below(&gpu->random, 3);
    c->source_len = 1 + vkf_test_random_below(&gpu->random, 24);
    c->max_len = 2 + vkf_test_random_below(&gpu->random, 10);
    for (uint32_t i = 0; i < c->batch * c->source_len; i++)
        c->source[i] = 4 + (int32_t)vkf_test_random_below(&gpu->random, 76);
}

static void test_session_is_recorded_once(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_model_desc desc = {.directory = DEMO_MODEL};
    vkf_model *model = NULL;
    assert_int_equal(vkf_model_load(gpu->context, &desc, &model), VKF_OK);
    vkf_session *session = make_session(model, 3, 24, 12);
    assert_true(vkf_session_get_command_buffer_count(session) >= 4);
    for (int run = 0; run < SESSION_RUNS; run++) {
        session_case replayed, fresh;
        fill_case(gpu, &replayed);
        fresh = replayed;
        run_session(gpu, session, &replayed);
        if (run % COMPARED != 0)
            continue;
        vkf_session *exact = make_session(model, fresh.batch, fresh.source_len, fresh.max_len);
        run_session(gpu, exact, &fresh);
        vkf_session_destroy(&exact);
        const char *label = vkf_test_label(gpu, "session, run %d", run);
        assert_close(replayed.memory, fresh.memory, (size_t)fresh.batch * fresh.source_len * 128, 1e-4, 1e-4, label);
        assert_memory_equal(replayed.ids, fresh.ids, sizeof fresh.ids);
        assert_memory_equal(replayed.lengths, fresh.lengths, sizeof fresh.lengths);
    }
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_is_recorded_once),
        cmocka_unit_test(test_feed_forward_is_recorded_once),
        cmocka_unit_test(test_encoder_layer_is_recorded_once),
        cmocka_unit_test(test_decoder_layer_is_recorded_once),
        cmocka_unit_test(test_smaller_run_leaves_the_rest),
        cmocka_unit_test(test_sizes_beyond_the_maximum_are_refused),
        cmocka_unit_test(test_session_is_recorded_once),
    };
    return cmocka_run_group_tests_name("recordings", tests, open_counted, vkf_test_gpu_teardown);
}
