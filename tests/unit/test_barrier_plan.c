// How many barriers a layer gets, known while it is planned, on devices of which there is nothing but the capabilities.
#include "caps_fixture.h"
#include "kernel/context.h"
#include "listed_layers.h"

// Stand for buffers; only their addresses count.
static vkf_buffer pool, x, memory, self_weights, cross_weights;

static vkf_tensor tensor_of(vkf_buffer *buffer, uint32_t rows, uint32_t cols)
{
    return (vkf_tensor){.buffer = buffer, .dtype = VKF_DTYPE_F32, .rank = 2, .shape = {rows, cols}};
}

static uint32_t count_of(const char *list, const char *separator)
{
    uint32_t count = 0;
    for (const char *at = list; (at = strstr(at, separator)) != NULL; at++)
        count++;
    return count;
}

static void plan_layers(const vkf__caps *caps)
{
    const uint32_t rows = LISTED_BATCH * LISTED_LEN, memory_rows = LISTED_BATCH * LISTED_MEMORY_LEN;
    const uint32_t weights = LISTED_BATCH * LISTED_HEADS * LISTED_LEN;
    const listed_io io = {
        .pool = tensor_of(&pool, LISTED_POOL, 1),
        .x = tensor_of(&x, rows, LISTED_DIM),
        .memory = tensor_of(&memory, memory_rows, LISTED_DIM),
        .self_weights = tensor_of(&self_weights, weights, LISTED_LEN),
        .cross_weights = tensor_of(&cross_weights, weights, LISTED_MEMORY_LEN),
    };
    message_record record;
    vkf_context context = {.host = recording_host(&record)};
    context.device.host = &context.host;
    context.device.plan.caps = *caps;
    context.device.plan.buffer_alignment = 256;
    assert_int_equal(vkf__verdicts_init(&context.host, &context.learned.verdicts), VKF_OK);
    for (size_t i = 0; i < LISTED_LAYERS; i++) {
        const listed_layer *layer = &listed_layers[i];
        uint32_t barriers = count_of(layer->list, " | ");
        vkf__work work;
        vkf__work_init(&work, &context, layer->name);
        assert_int_equal(vkf__work_plan(&work, listed_layer_emit, &(listed_args){layer, &io}), VKF_OK);
        assert_int_equal(work.plan.group, barriers);
        assert_int_equal(work.plan.node_count, barriers + count_of(layer->list, ", ") + 1);
        vkf__work_finish(&work);
    }
    vkf__verdicts_free(&context.learned.verdicts);
}

static void test_barriers_of_a_plan(void **state)
{
    (void)state;
    const vkf__caps rich[] = {discrete_caps(), integrated_caps(), cpu_caps()};
    for (size_t i = 0; i < sizeof rich / sizeof rich[0]; i++) {
        for (vkf_caps_profile profile = 0; profile < VKF_CAPS_PROFILE_COUNT; profile++) {
            vkf__caps caps = rich[i];
            message_record record;
            const vkf__host host = recording_host(&record);
            assert_int_equal(vkf__caps_limit(&host, &caps, profile, NULL, 0), VKF_OK);
            settle_traits(&caps);
            plan_layers(&caps);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barriers_of_a_plan),
    };
    return cmocka_run_group_tests_name("barrier_plan", tests, NULL, NULL);
}
