// What parts of a model take: every part that there is as its own plan says.
#include <stdio.h>

#include "plan_lines.h"
#include "ranks/cut_plan.h"

#define BATCHES 3

static const vkf_session_desc session = {.max_batch = 2, .max_source_len = 48, .max_target_len = 40};

static uint64_t sum_of(const vkf_memory_plan *plan)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->heap_count; i++)
        sum += plan->heap_bytes[i];
    return sum;
}

static uint64_t part_bytes(const plan_device *device, const vkf_model_desc *model, uint32_t first, uint32_t count)
{
    const vkf_layer_part part = {.first = first, .count = count};
    vkf_model_desc desc = *model;
    vkf_memory_plan weights, rest;
    desc.part = &part;
    assert_int_equal(vkf_model_plan(device->context, &desc, &weights), VKF_OK);
    assert_int_equal(vkf_model_plan_session(device->context, &desc, &session, &rest), VKF_OK);
    return sum_of(&weights) + BATCHES * sum_of(&rest);
}

static void check_model(const plan_device *device, const char *name, uint32_t encoder_layers, uint32_t decoder_layers)
{
    char directory[256];
    (void)snprintf(directory, sizeof directory, "%s/tests/plan/models/%s", VKF_TEST_SOURCE_DIR, name);
    const vkf_model_desc model = {.directory = directory, .precision = VKF_MODEL_PRECISION_F16};
    const vkf_cut_plan plan = {device->context, &model, &session, BATCHES, encoder_layers, decoder_layers};
    const uint32_t layers = encoder_layers + decoder_layers;
    vkf_cut_model cut;
    assert_int_equal(vkf_cut_plan_parts(&plan, &cut), VKF_OK);
    assert_int_equal(vkf_cut_layer_count(&cut), layers);
    for (uint32_t first = 0; first < layers; first++)
        for (uint32_t end = first + 1; end <= layers; end++)
            if (vkf_cut_bytes(&cut, first, end) != part_bytes(device, &model, first, end - first))
                fail_msg("%s, layers %u to %u: %llu bytes, its plan says %llu", name, first, end - 1,
                         (unsigned long long)vkf_cut_bytes(&cut, first, end),
                         (unsigned long long)part_bytes(device, &model, first, end - first));
}

static void test_parts_take_what_their_plans_say(void **state)
{
    plan_device device = plan_open("rtx4070");
    (void)state;
    check_model(&device, "opus-mt", 6, 6);
    check_model(&device, "t5-base", 12, 12);
    check_model(&device, "gpt2", 0, 12);
    plan_close(&device);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts_take_what_their_plans_say)};
    return PLAN_RUN(tests, argc, argv);
}
