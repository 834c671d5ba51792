// Races of kernels by matrices: what is measured, and what a lost race changes. Where the device has matrices (lavapipe
// since Mesa 24.3), a layer of halves races for real.
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "kernel/variant_hash.h"
#include "prove/prove.h"
#include "prove/race.h"
#include "prove/trial.h"
#include "prove/tune.h"
#include "shared/gemm.h"
#include "support/blob_store.h"
#include "support/fixture.h"
#include "support/heard.h"
#include "vk/traits.h"

static vkf__variant variant_named(const char *name)
{
    vkf__variant variant = {0};
    if (!vkf__variant_named(name, strlen(name), &variant.kernel, &variant.config))
        fail_msg("no variant %s", name);
    return variant;
}

static vkf__want want_of(const char *name, uint32_t m, uint32_t n, uint32_t k)
{
    const vkf__variant variant = variant_named(name);
    return (vkf__want){.op = variant.kernel->op,
                       .types = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32},
                       .problem = {.m = m, .n = n, .k = k, .b_layout = VKF_LAYOUT_ROWS},
                       .variant = variant};
}

static bool supports(const vkf_context *context, const vkf__variant *variant)
{
    return vkf__kernel_supported(&context->device.plan.caps, variant->kernel, variant->config, NULL);
}

static void test_race_measures_both(void **state)
{
    static const char *const pairs[][2] = {{"gemm_tile.f32_f32_f32/small", "gemm_tile.f32_f32_f32/thin"},
                                           {"attention_tiled.f32_f32_f32/d64", "attention_tiled.f32_f32_f32/d128"}};
    vkf_context *context = vkf_test_gpu_of(state)->context;
    for (size_t i = 0; i < 2; i++) {
        const vkf__variant opponent = variant_named(pairs[i][1]);
        const vkf__want want = want_of(pairs[i][0], 5, 70, 48);
        double ns[2] = {0};
        if (!supports(context, &want.variant) || !supports(context, &opponent))
            continue;
        assert_int_equal(vkf__race_run(context, &want, &opponent, ns), VKF_OK);
        if (ns[0] <= 0 || ns[1] <= 0)
            fail_msg("%s against %s: %g and %g ns", pairs[i][0], pairs[i][1], ns[0], ns[1]);
    }
}

// Without a variant that takes the problem nothing is measured.
static void test_race_without_a_taker(void **state)
{
    vkf_context *context = vkf_test_gpu_of(state)->context;
    const vkf__variant opponent = variant_named("gemv.f32_f32_f32/rows1"); // of one row
    const vkf__want want = want_of("gemm_tile.f32_f32_f32/small", 50, 60, 64);
    double ns[2] = {1, 1};
    assert_int_equal(vkf__race_run(context, &want, &opponent, ns), VKF_OK);
    assert_true(ns[0] == 0 && ns[1] == 0);
}

// A clock that follows the load is given time to settle, unless one of both is clearly ahead. *out_ns is 0 on a device
// that does not run the pair.
static void test_race_waits_for_the_clock(void **state)
{
    vkf_context *context = vkf_test_gpu_of(state)->context;
    const vkf__variant opponent = variant_named("gemm_tile.f32_f32_f32/small"); // as fast, because it is the same
    const vkf__want want = want_of("gemm_tile.f32_f32_f32/small", 5, 70, 48);
    const bool follows = context->device.plan.caps.traits.clock_follows_load;
    double ns[2] = {0};
    context->device.plan.caps.traits.clock_follows_load = true;
    assert_int_equal(vkf__race_run(context, &want, &opponent, ns), VKF_OK);
    context->device.plan.caps.traits.clock_follows_load = follows;
    assert_true(!supports(context, &opponent) || (ns[0] > 0 && ns[1] > 0));
}

static bool always(void *user)
{
    (void)user;
    return true;
}

static bool never(void *user)
{
    (void)user;
    return false;
}

// A vkf__tune_use_fn. Too short to settle, so that it ends by its cap or is ended; both trials can be run afterwards.
static vkf_status settle_trials(vkf_context *context, const vkf__tune_subject *subject, void *user)
{
    const vkf__variant *variant = user;
    const void *args = subject->ways[VKF_TUNE_ROWS].args;
    bool *follows = &context->device.plan.caps.traits.clock_follows_load;
    const bool really = *follows;
    vkf__trial trials[2] = {0};
    vkf__trial *const both[] = {&trials[0], &trials[1]};
    bool settled = true;
    double ns = 0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(vkf__trial_init(&trials[i], context, variant, subject->emit, args), VKF_OK);
    for (int i = 0; i < 2; i++) {
        *follows = true;
        assert_int_equal(vkf__trials_settle(context, both, 2, 30e6, i ? never : always, NULL, &settled), VKF_OK);
        assert_false(settled);
        *follows = false;
        assert_int_equal(vkf__trials_settle(context, both, 2, 30e6, never, NULL, &settled), VKF_OK);
        assert_true(settled);
        assert_int_equal(vkf__trial_run(&trials[i], &ns), VKF_OK);
        assert_true(ns > 0);
    }
    *follows = really;
    vkf__trial_finish(&trials[0]);
    vkf__trial_finish(&trials[1]);
    return VKF_OK;
}

static void test_settling_ends(void **state)
{
    vkf_context *context = vkf_test_gpu_of(state)->context;
    const vkf_tune_problem problem = {.m = 5, .n = 70, .k = 48};
    vkf__variant variant = variant_named("gemm_tile.f32_f32_f32/small");
    if (!supports(context, &variant))
        skip();
    assert_int_equal(vkf__tune_with_operands(context, &problem, settle_trials, &variant), VKF_OK);
}

// The order of the kernels decides then, and the device is not asked again.
static void test_race_that_measures_nothing(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_context *context = gpu->context;
    vkf__want want = want_of("gemm_coopmat.f32_f16_f32/64x64", 50, 60, 64);
    bool lost = true;
    if (supports(context, &want.variant))
        skip();
    vkf_test_skip_unless_lavapipe(gpu); // SwiftShader executes what is no instruction
    want.types[1] = VKF_DTYPE_F16;
    for (int run = 0; run < 2; run++) {
        assert_int_equal(vkf__race_once(context, &want, &lost), VKF_OK);
        assert_false(lost);
        assert_int_equal(vkf__race_get(&context->learned.verdicts, want.variant.kernel, want.variant.config),
                         VKF_RACE_UNMEASURED);
    }
    gpu->validation_messages = 0; // the layers say, too, that the device has no matrices
}

static void test_kernels_without_matrices_do_not_race(void **state)
{
    vkf_context *context = vkf_test_gpu_of(state)->context;
    const vkf__want want = want_of("gemm_tile.f32_f32_f32/small", 50, 60, 64);
    bool lost = true;
    assert_int_equal(vkf__race_once(context, &want, &lost), VKF_OK);
    assert_false(lost);
    assert_int_equal(vkf__race_get(&context->learned.verdicts, want.variant.kernel, want.variant.config),
                     VKF_RACE_UNKNOWN);
}

// What a product of halves takes, once everything was proven. A processor takes minutes to prove large tiles: for those
// the product is too small, but with VKF_TEST_ALL=1.
static vkf__variant proven_choice(vkf_context *context, int *out_rounds)
{
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16};
    const uint32_t side = vkf_test_all() ? 128 : 32;
    const vkf__problem problem = {
        .m = side, .n = side, .k = 128, .b_layout = VKF_LAYOUT_ROWS, .offers = VKF_FORM_QUADS};
    const vkf__selector selector = vkf__context_selector(context);
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_GEMM_SPEC_B_LAYOUT] = problem.b_layout};
    vkf__want want = {.op = VKF_OP_GEMM, .types = {types[0], types[1], types[2]}, .problem = problem};
    vkf__planned_node node = {.label = "race"};
    const vkf__dispatch_plan plan = {.nodes = &node, .node_count = 1, .wants = &want, .want_count = 1};
    *out_rounds = 0;
    for (bool again = true; again; ++*out_rounds) {
        assert_true(vkf__select(&selector, VKF_OP_GEMM, types, &problem, &want.variant, NULL));
        node.variant = want.variant;
        vkf__variant_spec(selector.caps, &node.variant, flags, node.spec);
        assert_int_equal(vkf__prove(context, &plan, &again), VKF_OK);
        assert_true(*out_rounds < 20);
    }
    return want.variant;
}

// The device's own matrices, as a GPU would choose them. What is stored decides in the next context, too.
static void test_matrices_race_before_their_first_use(void **state)
{
    vkf_test_gpu gpu = {.profile = vkf_test_gpu_of(state)->profile};
    vkf_blob_store store = {0};
    vkf__variant chosen[2];
    int rounds[2];
    for (int run = 0; run < 2; run++) {
        vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store)};
        assert_int_equal(vkf_test_gpu_open(&gpu, &desc), 0);
        if (!gpu.context->device.plan.caps.matrix.cooperative_matrix) {
            vkf_context_destroy(&gpu.context);
            vkf_blob_store_clear(&store);
            print_message("skipped: this device multiplies no matrices\n");
            skip();
        }
        gpu.context->device.plan.caps.traits = (vkf__traits){0};
        gpu.context->self_tests = true;
        chosen[run] = proven_choice(gpu.context, &rounds[run]);
        vkf_test_assert_silent(&gpu);
        vkf_context_destroy(&gpu.context);
    }
    char *text = vkf_blob_text(&store, "verdicts-");
    assert_non_null(strstr(text, "gemm_coopmat")); // whichever of these kernels the device takes first
    assert_true(strstr(text, " faster ") || strstr(text, " slower "));
    assert_true(chosen[0].kernel == chosen[1].kernel && chosen[0].config == chosen[1].config);
    assert_int_equal(rounds[1], 1);
    // A kernel without matrices is chosen if and only if all of these lost.
    const bool matrices = chosen[0].kernel->needs & VKF_NEEDS_MATRIX;
    assert_int_equal(strstr(text, " faster ") != NULL, matrices);
    free(text);
    vkf_blob_store_clear(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_race_measures_both),
        cmocka_unit_test(test_race_without_a_taker),
        cmocka_unit_test(test_race_waits_for_the_clock),
        cmocka_unit_test(test_settling_ends),
        cmocka_unit_test(test_race_that_measures_nothing),
        cmocka_unit_test(test_kernels_without_matrices_do_not_race),
        cmocka_unit_test(test_matrices_race_before_their_first_use),
    };
    return cmocka_run_group_tests_name("race", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
