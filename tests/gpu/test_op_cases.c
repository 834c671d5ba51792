// Every operator on drawn cases: whatever kernel serves gives what the operator's reference gives, and writes nothing
// else.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "op/operators.h"
#include "prove/self_test_fixture.h"
#include "support/tried_config.h"

// Each of their drawn cases takes a compilation of seconds. They have other tests besides.
static bool is_slow(vkf__op op)
{
    return op == VKF_OP_GEMM || op == VKF_OP_GEMM_INT8 || op == VKF_OP_ATTENTION || op == VKF_OP_ATTENTION_TRAIN ||
           op == VKF_OP_ATTENTION_GRAD || op == VKF_OP_ATTENTION_GRAD_PAIR;
}

static uint32_t draws_of(const vkf__kernel *kernel)
{
    if (vkf_test_all())
        return is_slow(kernel->op) ? 3 : 24;
    return is_slow(kernel->op) ? 1 : 2;
}

// Draws cases for a variant, until one is wrong. *out_taken: how many it took.
static void run_draws(vkf_test_gpu *gpu, vkf__fixture *fixture, const vkf__variant *variant, uint32_t *out_taken)
{
    fixture->cases.variant = variant;
    fixture->cases.taken = 0;
    fixture->cases.draw = false;
    vkf__cases_clear(&fixture->cases);
    vkf__cases_seed(&fixture->cases, gpu->seed);
    const vkf_status status = vkf__fixture_draw(fixture, draws_of(variant->kernel));
    if (status != VKF_OK)
        fail_msg("%s/%s: %s, seed %llu", variant->kernel->name, variant->config->name, vkf_status_text(status),
                 (unsigned long long)gpu->seed);
    *out_taken += fixture->cases.taken;
    if (fixture->verdict != VKF_VERDICT_PASSED)
        fail_msg("%s", vkf_test_label(gpu, "%s/%s: %s", variant->kernel->name, variant->config->name, fixture->reason));
}

// With VKF_TEST_KERNEL, what begins otherwise; with VKF_TEST_BRIEF, which a driver that is a second opinion has, slow
// operators, which are left to their own tests.
static bool is_left_out(const vkf__kernel *kernel)
{
    const char *begins = getenv("VKF_TEST_KERNEL");
    if (begins && strncmp(kernel->name, begins, strlen(begins)) != 0)
        return true;
    return vkf_test_is_between_others(kernel) || (is_slow(kernel->op) && getenv("VKF_TEST_BRIEF") && !vkf_test_all());
}

// One of the configs that the device takes, which the seed draws; NULL where there is none. There are too many to be
// compiled all, and the self-test has the first.
static const vkf__config *draw_config(const vkf_test_gpu *gpu, const vkf__kernel *kernel)
{
    const vkf__caps *caps = &gpu->context->device.plan.caps;
    const vkf__config *config = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < kernel->config_count; i++) {
        const vkf__variant variant = {kernel, &kernel->configs[i]};
        vkf__cases cases = {.variant = &variant};
        vkf__cases_seed(&cases, gpu->seed);
        if (cases.random < least && vkf__kernel_supported(caps, kernel, variant.config, NULL))
            least = cases.random, config = variant.config;
    }
    return config;
}

// Products of few f32 rows with blocks of q4 are tried with every config: each has loops of its own length. Where
// configs are for problems of their own, the first takes none of the others.
static bool is_tried(const vkf_test_gpu *gpu, const vkf__kernel *kernel, uint32_t index)
{
    const vkf__caps *caps = &gpu->context->device.plan.caps;
    const vkf__config *config = &kernel->configs[index];
    const bool few_rows = kernel->op == VKF_OP_GEMM && config->max_m > 0 && kernel->types[0] == VKF_DTYPE_F32 &&
                          kernel->types[1] == VKF_DTYPE_Q4 && kernel->types[2] == VKF_DTYPE_F32;
    return config == draw_config(gpu, kernel) || (kernel->unfit && vkf_test_tries_config(caps, kernel, index)) ||
           (few_rows && vkf__kernel_supported(caps, kernel, config, NULL));
}

static void test_drawn_cases(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const char *only = getenv("VKF_TEST_OPERATOR");
    uint32_t taken[VKF_OP_COUNT] = {0}, served[VKF_OP_COUNT] = {0};
    vkf__fixture fixture = {.context = gpu->context, .verdict = VKF_VERDICT_PASSED, .repetitions = 2};
    fixture.context->self_test_budget_ns = UINT64_MAX / 8; // nothing is slow here
    assert_int_equal(vkf__fixture_init(&fixture, VKF_FIXTURE_BYTES), VKF_OK);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        if (!vkf__operator(kernel->op)->cases || is_left_out(kernel) ||
            (only && strcmp(only, vkf__op_name(kernel->op)) != 0))
            continue;
        for (uint32_t k = 0; k < kernel->config_count; k++) {
            if (!is_tried(gpu, kernel, k))
                continue;
            served[kernel->op]++;
            run_draws(gpu, &fixture, &(vkf__variant){kernel, &kernel->configs[k]}, &taken[kernel->op]);
        }
    }
    vkf__fixture_finish(&fixture);
    uint32_t tried = 0;
    for (vkf__op op = 0; op < VKF_OP_COUNT; tried += served[op], op++)
        if (served[op] > 0 && taken[op] == 0)
            fail_msg("no kernel of %s took a case", vkf__op_name(op));
    assert_true(tried > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drawn_cases),
    };
    return cmocka_run_group_tests_name("op_cases", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
