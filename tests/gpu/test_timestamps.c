// GPU times of dispatches, where a context asks for them and the device has them.
#include <stdlib.h>
#include <string.h>

#include "kernel/registry.h"
#include "sample_layers.h"

#define DEMO_MODEL VKF_TEST_SOURCE_DIR "/tools/demo-model"

enum { MAX_TIMINGS = 64 };

static const vkf_layer_sizes sizes = {2, 7, 9};

static int open_timed(void **state)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {.timestamps = true};
    *state = gpu;
    return gpu ? vkf_test_gpu_open(gpu, &desc) : -1;
}

static bool has_timestamps(vkf_test_gpu *gpu)
{
    vkf_device_info info;
    vkf_context_get_device_info(gpu->context, &info);
    return info.timestamps;
}

static bool kernel_exists(const char *name)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        if (strcmp(vkf__kernel_at(i)->name, name) == 0)
            return true;
    }
    return false;
}

static bool label_among(const vkf_timing *timings, uint32_t count, const char *label)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(timings[i].label, label) == 0)
            return true;
    }
    return false;
}

static void check_timings(vkf_layer *layer, sample_kind kind)
{
    static const char *const labels[SAMPLE_KINDS] = {"out_proj", NULL, "self_attn.out_proj", "multihead_attn.out_proj"};
    vkf_timing timings[MAX_TIMINGS];
    uint32_t asked = 0, count = MAX_TIMINGS;
    double total = 0;
    assert_int_equal(vkf_layer_get_timings(layer, &asked, NULL), VKF_OK);
    assert_int_equal(vkf_layer_get_timings(layer, &count, timings), VKF_OK);
    assert_true(count > 0 && count == asked && count <= MAX_TIMINGS);
    for (uint32_t i = 0; i < count; i++) {
        assert_non_null(timings[i].label);
        assert_true(timings[i].label[0] != '\0');
        assert_true(kernel_exists(timings[i].kernel));
        assert_true(timings[i].gpu_ns >= 0 && timings[i].gpu_ns < 60e9);
        total += timings[i].gpu_ns;
    }
    assert_true(total > 0);
    if (labels[kind] && !label_among(timings, count, labels[kind]))
        fail_msg("%s has no dispatch %s, but %s", sample_name(kind), labels[kind], timings[0].label);
    vkf_timing first = {0};
    count = 1; // room for less than there is
    assert_int_equal(vkf_layer_get_timings(layer, &count, &first), VKF_OK);
    assert_int_equal(count, asked);
    assert_string_equal(first.label, timings[0].label);
}

static void test_layer_timings(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    sample_weights weights;
    sample_data data;
    sample_weights_create(gpu, &weights);
    sample_data_create(&gpu->random, sizes, &data);
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        vkf_layer *layer = NULL;
        uint32_t count = 0;
        assert_int_equal(sample_layer_create(gpu->context, kind, &weights, sizes, &layer), VKF_OK);
        assert_int_equal(vkf_layer_get_timings(layer, &count, NULL), VKF_ERROR_INVALID_ARGUMENT); // never run
        assert_int_equal(sample_layer_run(layer, kind, &data), VKF_OK);
        vkf_timing timing;
        count = 1;
        if (has_timestamps(gpu))
            check_timings(layer, kind);
        else
            assert_int_equal(vkf_layer_get_timings(layer, &count, &timing), VKF_ERROR_UNSUPPORTED);
        assert_int_equal(vkf_layer_get_timings(layer, NULL, NULL), VKF_ERROR_INVALID_ARGUMENT);
        vkf_layer_destroy(&layer);
    }
    sample_data_destroy(&data);
    sample_weights_destroy(&weights);
}

static void test_operator_time(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const uint32_t shape[] = {64, 64};
    vkf_tensor a = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    vkf_tensor b = vkf_test_tensor_raw(gpu, VKF_DTYPE_F32, 2, shape, NULL);
    assert_int_equal(vkf_copy(gpu->context, &a, &b), VKF_OK);
    assert_string_equal(vkf_context_get_last_op_kernel(gpu->context), "copy.f32_f32");
    if (has_timestamps(gpu))
        assert_true(vkf_context_get_last_op_ns(gpu->context) >= 0);
    else
        assert_true(vkf_context_get_last_op_ns(gpu->context) < 0);
    vkf_tensor_destroy(&a);
    vkf_tensor_destroy(&b);
    assert_true(vkf_context_get_last_op_ns(NULL) < 0);
    assert_null(vkf_context_get_last_op_kernel(NULL));
}

static void test_session_timings(void **state)
{
    static const int32_t source[] = {5, 9, 17};
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_model_desc model_desc = {.directory = DEMO_MODEL};
    const vkf_session_desc desc = {.max_batch = 1, .max_source_len = 4, .max_target_len = 4};
    vkf_model *model = NULL;
    vkf_session *session = NULL;
    vkf_timing timings[MAX_TIMINGS];
    uint32_t count = MAX_TIMINGS, asked = 0;
    assert_int_equal(vkf_model_load(gpu->context, &model_desc, &model), VKF_OK);
    assert_int_equal(vkf_session_create(model, &desc, &session), VKF_OK);
    const vkf_encode_args args = {.batch = 1, .source_len = 3, .source_ids = source};
    assert_int_not_equal(vkf_session_get_timings(session, &count, timings), VKF_OK); // never run
    assert_int_equal(vkf_session_encode(session, &args), VKF_OK);
    count = MAX_TIMINGS;
    vkf_status status = vkf_session_get_timings(session, &count, timings);
    assert_int_equal(status, has_timestamps(gpu) ? VKF_OK : VKF_ERROR_UNSUPPORTED);
    if (status == VKF_OK) {
        assert_int_equal(vkf_session_get_timings(session, &asked, NULL), VKF_OK);
        assert_int_equal(asked, count);
        assert_true(label_among(timings, count, "encoder.0") && label_among(timings, count, "encoder.1"));
        for (uint32_t i = 0; i < count; i++)
            assert_true(timings[i].gpu_ns >= 0 && timings[i].kernel == NULL);
    }
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
}

static void test_timings_without_timestamps(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    static const char *const masks[] = {"timestampComputeAndGraphics"};
    vkf_context_desc rows[2] = {{.timestamps = false}, {.timestamps = true, .masks = masks, .mask_count = 1}};
    for (size_t i = 0; i < 2; i++) {
        vkf_test_gpu other;
        sample_weights weights;
        sample_data data;
        vkf_layer *layer = NULL;
        vkf_timing timing;
        uint32_t count = 1;
        assert_int_equal(vkf_test_gpu_open(&other, &rows[i]), 0);
        sample_weights_create(&other, &weights);
        sample_data_create(&gpu->random, sizes, &data);
        assert_int_equal(sample_layer_create(other.context, SAMPLE_FEED_FORWARD, &weights, sizes, &layer), VKF_OK);
        assert_int_equal(sample_layer_run(layer, SAMPLE_FEED_FORWARD, &data), VKF_OK);
        assert_int_equal(vkf_layer_get_timings(layer, &count, &timing), VKF_ERROR_UNSUPPORTED);
        assert_non_null(strstr(other.last_error, "timestamps"));
        assert_int_equal(count, 1);
        vkf_layer_destroy(&layer);
        sample_data_destroy(&data);
        sample_weights_destroy(&weights);
        vkf_context_destroy(&other.context);
        assert_int_equal(other.validation_messages, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layer_timings),
        cmocka_unit_test(test_operator_time),
        cmocka_unit_test(test_session_timings),
        cmocka_unit_test(test_timings_without_timestamps),
    };
    return cmocka_run_group_tests_name("timestamps", tests, open_timed, vkf_test_gpu_teardown);
}
