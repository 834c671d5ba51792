// What large models need of a device's limits: planned, because no machine that runs the tests has room for them.
#include <stdio.h>

#include "plan_lines.h"

static vkf_status plan_session(const char *mask, uint32_t batch, uint32_t len, vkf_memory_plan *out_plan)
{
    char directory[512];
    vkf_plan_chip chip = {0};
    vkf_context *context = NULL;
    const vkf_model_desc model = {.directory = directory, .precision = VKF_MODEL_PRECISION_F16};
    const vkf_session_desc session = {.max_batch = batch, .max_target_len = len, .max_prompt_len = 8};
    (void)snprintf(directory, sizeof directory, "%s/tests/plan/models/llama-3.1-8b", VKF_TEST_SOURCE_DIR);
    assert_true(vkf_plan_chip_open("rtx4090", &chip));
    const vkf_context_desc desc = {.described = chip.device, .masks = &mask, .mask_count = 1};
    assert_int_equal(vkf_context_create(&desc, &context), VKF_OK);
    vkf_status status = vkf_model_plan_session(context, &model, &session, out_plan);
    vkf_context_destroy(&context);
    vkf_plan_chip_free(&chip);
    return status;
}

// 8 key heads of 128, keys and values, 32 layers, in halves: 4 GiB of cache for each sequence of 32,768 positions, of
// which a layer's buffer has 128 MiB.
static void test_long_contexts_fit_an_allocation_of_a_gibibyte(void **state)
{
    const char *const gibibyte = "maxMemoryAllocationSize=1073741824";
    const uint32_t len = 32768;
    const uint64_t cache_bytes = UINT64_C(4) << 30;
    vkf_memory_plan plan;
    (void)state;
    assert_int_equal(plan_session(gibibyte, 1, len, &plan), VKF_OK);
    assert_true(plan.cache_bytes == cache_bytes);
    assert_int_equal(plan_session(gibibyte, 7, len, &plan), VKF_OK);
    assert_true(plan.cache_bytes == 7 * cache_bytes);
    assert_int_equal(plan_session(gibibyte, 9, len, &plan), VKF_ERROR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long_contexts_fit_an_allocation_of_a_gibibyte)};
    return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
