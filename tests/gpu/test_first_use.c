// What stands between the start of a program and its first result: nothing but the pipelines that run is compiled, they
// are tested with their own constants, the context's progress function is told, and once is enough.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "fixture.h"
#include "glsl_compiler.h"
#include "heard.h"
#include "kernel/work.h"
#include "prove/self_test.h"
#include "shader_copy.h"
#include "shared/attention.h"
#include "shared/attention_grad.h"
#include "shared/embed.h"
#include "shared/gate.h"
#include "shared/gemm.h"
#include "shared/layer_norm.h"
#include "shared/pool.h"
#include "support/blob_store.h"

enum { BATCH = 2, LEN = 5, DIM = 64, HEADS = 4 };

// The attention layer of the example in README.
static vkf_status make_attention(vkf_context *context, vkf_layer **out_layer)
{
    static const float values[DIM * DIM] = {0};
    const uint32_t shape[] = {DIM, DIM};
    vkf_tensor weights[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "weight", &weights[i]), VKF_OK);
        assert_int_equal(vkf_tensor_write(&weights[i], values, sizeof values), VKF_OK);
    }
    const vkf_attention_desc desc = {
        .embed_dim = DIM,
        .num_heads = HEADS,
        .self_attention = true,
        .mask.causal = VKF_CAUSAL_TOP_LEFT,
        .params = {.q_weight = weights[0], .k_weight = weights[1], .v_weight = weights[2], .out_weight = weights[3]},
        .max_sizes = {.batch = BATCH, .query_len = LEN},
    };
    const vkf_status status = vkf_attention_create(context, &desc, out_layer);
    for (size_t i = 0; i < 4; i++)
        vkf_tensor_destroy(&weights[i]);
    return status;
}

static void test_compiles_nothing_but_what_runs(void **state)
{
    vkf_test_heard h;
    vkf_layer *layer = NULL;
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    if (!context->device.plan.caps.traits.processor)
        skip(); // the number of cores is measured with a kernel of its own, and products race
    assert_int_equal(make_attention(context, &layer), VKF_OK);
    assert_true(h.tests >= 2);
    for (size_t i = 0; i < context->pipelines.count; i++)
        if (!context->pipelines.entries[i]->taken)
            fail_msg("%s was compiled for its test alone", context->pipelines.entries[i]->kernel->name);
    vkf_layer_destroy(&layer);
    vkf_context_destroy(&context);
}

// What a context tells of its first use.
typedef struct teller {
    uint32_t compiling, testing, ended;
    bool in_order;
    uint32_t last;
    uint32_t tests_allowed;
} teller;

static bool take_progress(void *user, uint32_t done, uint32_t total, const char *what)
{
    teller *t = user;
    const bool tests = strcmp(what, "testing kernels on this device, once") == 0;
    assert_true(tests || strcmp(what, "compiling kernels") == 0);
    t->in_order = t->in_order && done <= total && (done == 0 || done >= t->last);
    t->last = done < total ? done : 0;
    t->ended += done == total;
    t->compiling += !tests;
    t->testing += tests && done < total;
    return t->testing <= t->tests_allowed;
}

static vkf_context *open_told(void **state, vkf_test_heard *h, teller *t, uint32_t tests_allowed)
{
    *t = (teller){.in_order = true, .tests_allowed = tests_allowed};
    return vkf_test_open_heard(vkf_test_gpu_of(state), h,
                               (vkf_context_desc){.progress = take_progress, .progress_user = t});
}

static void test_tells_of_compiling_and_testing(void **state)
{
    vkf_test_heard h;
    teller t;
    vkf_layer *layer = NULL, *again = NULL;
    vkf_context *context = open_told(state, &h, &t, UINT32_MAX);
    t = (teller){.in_order = true, .tests_allowed = UINT32_MAX}; // the number of cores may have been measured
    assert_int_equal(make_attention(context, &layer), VKF_OK);
    assert_true(t.compiling >= 2 && t.in_order);
    assert_int_equal(t.testing, h.tests);
    assert_true(t.testing >= 2 && t.ended >= 2);
    const uint32_t compiling = t.compiling, testing = t.testing;
    assert_int_equal(make_attention(context, &again), VKF_OK);
    assert_int_equal(t.compiling, compiling);
    assert_int_equal(t.testing, testing);
    vkf_layer_destroy(&layer);
    vkf_layer_destroy(&again);
    vkf_context_destroy(&context);
}

// What was tested ahead of the end needs no second test.
static void test_is_cancelled_by_its_progress_function(void **state)
{
    vkf_test_heard h;
    teller t;
    vkf_layer *layer = NULL;
    vkf_context *context = open_told(state, &h, &t, 1);
    assert_int_equal(make_attention(context, &layer), VKF_ERROR_CANCELLED);
    assert_null(layer);
    assert_int_equal(h.tests, 1);
    t.tests_allowed = UINT32_MAX;
    assert_int_equal(make_attention(context, &layer), VKF_OK);
    assert_int_equal(h.tests, t.testing - 1);
    vkf_layer_destroy(&layer);
    vkf_context_destroy(&context);
}

static void normalise(vkf_context *context, bool rms)
{
    float values[3 * DIM] = {0};
    const uint32_t shape[] = {3, DIM};
    vkf_tensor x = {0};
    assert_int_equal(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "x", &x), VKF_OK);
    assert_int_equal(vkf_tensor_write(&x, values, sizeof values), VKF_OK);
    assert_int_equal(vkf_layer_norm(context, &(vkf_layer_norm_desc){.x = x, .out = x, .eps = 1e-5f, .rms = rms}),
                     VKF_OK);
    vkf_tensor_destroy(&x);
}

// A verdict is about a variant, and its tests are about the constants that were wanted: others are tested when they
// are, in the next process, too.
static void test_other_constants_are_tested_when_they_are_wanted(void **state)
{
    vkf_blob_store store = {0};
    const vkf_context_desc desc = {.cache = vkf_blob_store_callbacks(&store)};
    const struct {
        bool rms;
        int tests;
    } runs[] = {{false, 1}, {false, 0}, {true, 1}, {true, 0}, {false, 0}};
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        vkf_test_heard h;
        vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, desc);
        normalise(context, runs[i].rms);
        normalise(context, runs[i].rms);
        if (h.tests != runs[i].tests)
            fail_msg("run %zu: %d tests, %d expected", i, h.tests, runs[i].tests);
        vkf_context_destroy(&context);
    }
    vkf_blob_store_clear(&store);
}

// A kernel that is right with all constants but those that are wanted later.
static void test_error_with_some_constants_is_found(void **state)
{
    static const char store_line[] = "col, col, sum[i * THREAD_N + j]);";
    static const char wrong[] = "col, col, (ACTIVATION == 1 ? 1.001 : 1.0) * sum[i * THREAD_N + j]);";
    vkf_test_heard h;
    vkf_shader_copy copy;
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    const vkf__variant variant = vkf_test_variant_named("gemm_tile.f32_f32_f32/small");
    uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0}, flags[VKF_KERNEL_MAX_SPEC] = {[VKF_GEMM_SPEC_B_LAYOUT] = VKF_GEMM_B_NK};
    vkf_test_skip_without_glsl_compiler();
    vkf_test_copy_shaders(&copy);
    (void)vkf_test_edit_shader(&copy, "gemm/gemm_tile.comp", store_line, wrong);
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){.shader_dir = copy.path});
    for (uint32_t activation = 0; activation < 2; activation++) {
        flags[VKF_GEMM_SPEC_ACTIVATION] = activation;
        vkf__variant_spec(&context->device.plan.caps, &variant, flags, spec);
        assert_int_equal(vkf__self_test_with(context, &variant, spec, false, &verdict), VKF_OK);
        assert_int_equal(verdict, activation == 0 ? VKF_VERDICT_PASSED : VKF_VERDICT_WRONG);
    }
    vkf_context_destroy(&context);
    vkf_test_remove_shaders(&copy);
}

// Constants as models have them, each of which the cases have to give, and pass.
static void test_constants_of_models_are_tested(void **state)
{
    enum { NK = VKF_GEMM_B_NK, KN = VKF_GEMM_B_KN, PANELS = VKF_GEMM_B_PANELS };
#define PRODUCT(layout, activation, bias, after)                                                                     \
    {                                                                                                                \
        [VKF_GEMM_SPEC_B_LAYOUT] = layout, [VKF_GEMM_SPEC_ACTIVATION] = activation, [VKF_GEMM_SPEC_HAS_BIAS] = bias, \
        [VKF_GEMM_SPEC_ADD_AFTER] = after                                                                            \
    }
#define HEADS_OF(width, v_width, masks, key_masks, is_causal, windowed)                                               \
    {                                                                                                                 \
        [VKF_ATTENTION_SPEC_HEAD_DIM] = width, [VKF_ATTENTION_SPEC_V_HEAD_DIM] = v_width,                             \
        [VKF_ATTENTION_SPEC_MASK_KIND] = VKF_MASK_##masks, [VKF_ATTENTION_SPEC_KEY_MASK_KIND] = VKF_MASK_##key_masks, \
        [VKF_ATTENTION_SPEC_CAUSAL] = is_causal, [VKF_ATTENTION_SPEC_WINDOW] = windowed                               \
    }
    static const struct {
        const char *variant;
        uint32_t flags[VKF_KERNEL_MAX_SPEC];
    } rows[] = {
        {"gemm_tile.f32_f32_f32/small", PRODUCT(NK, 0, 0, 0)},
        {"gemm_tile.f32_f32_f32/small", PRODUCT(KN, VKF_ACTIVATION_GELU_ERF, 1, 0)},
        {"gemm_tile.f32_f32_f32/small", PRODUCT(PANELS, VKF_ACTIVATION_SILU, 1, 1)},
        {"gemm_tile.f32_f32_f32/small", {[VKF_GEMM_SPEC_TRANSPOSE_A] = 1, [VKF_GEMM_SPEC_B_LAYOUT] = KN}},
        {"gemv_subgroup.f32_f32_f32/rows1x128", {[VKF_GEMM_SPEC_B_LAYOUT] = NK, [VKF_GEMM_SPEC_NORM] = 1}},
        {"gemv_subgroup.f32_f32_f32/rows1x128",
         {[VKF_GEMM_SPEC_B_LAYOUT] = NK, [VKF_GEMM_SPEC_HAS_BIAS] = 1, [VKF_GEMM_SPEC_NORM] = 3}},
        {"gemv_subgroup.f32_f32_f32/rows1x128",
         {[VKF_GEMM_SPEC_B_LAYOUT] = NK,
          [VKF_GEMM_SPEC_ACTIVATION] = VKF_ACTIVATION_SILU,
          [VKF_GEMM_SPEC_GATE] = 1,
          [VKF_GEMM_SPEC_NORM] = 1}},
        {"attention_tiled.f32_f32_f32/few64", HEADS_OF(16, 16, NONE, NONE, true, false)},
        {"attention_tiled.f32_f32_f32/few64", HEADS_OF(9, 13, BOOL_ATTEND, LENGTHS, false, false)},
        {"attention_tiled.f32_f32_f32/few64", HEADS_OF(64, 64, ADDITIVE, BOOL_EXCLUDE, true, true)},
        {"attention_train.f32/d64",
         {[VKF_ATTENTION_GRAD_SPEC_HEAD_DIM] = 16,
          [VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM] = 18,
          [VKF_ATTENTION_GRAD_SPEC_CAUSAL] = 1,
          [VKF_ATTENTION_GRAD_SPEC_GIVES] = VKF_ATTENTION_GRAD_OUTPUT}},
        {"embed.f32_f32/flat128", {[VKF_EMBED_SPEC_HAS_POSITIONS] = 0}},
        {"gate.f32/flat128", {[VKF_GATE_SPEC_ACTIVATION] = VKF_ACTIVATION_GELU_TANH}},
        {"pool.f32/row64", {[VKF_POOL_SPEC_MODE] = VKF_POOLING_FIRST}},
        {"layer_norm.f32_f32/row64", {[VKF_LAYER_NORM_SPEC_HAS_WEIGHT] = 1, [VKF_LAYER_NORM_SPEC_RMS] = 1}},
        {"layer_norm_residual.f32_f32/row64",
         {[VKF_LAYER_NORM_SPEC_HAS_WEIGHT] = 1,
          [VKF_LAYER_NORM_SPEC_HAS_BIAS] = 1,
          [VKF_LAYER_NORM_SPEC_RESIDUAL_AFTER] = 1}},
    };
    vkf_test_heard h;
    vkf_context *context = vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){0});
    const vkf__caps *caps = &context->device.plan.caps;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0};
        vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
        const vkf__variant variant = vkf_test_variant_named(rows[i].variant);
        if (!vkf__kernel_supported(caps, variant.kernel, variant.config, NULL))
            continue;
        const size_t pipelines = context->pipelines.count;
        vkf__variant_spec(caps, &variant, rows[i].flags, spec);
        assert_int_equal(vkf__self_test_with(context, &variant, spec, false, &verdict), VKF_OK);
        if (verdict != VKF_VERDICT_PASSED || h.untouched[0])
            fail_msg("row %zu, %s: verdict %d: %s%s", i, rows[i].variant, (int)verdict, h.last, h.untouched);
        // Attention for training is tested on the way back, too.
        if (variant.kernel->op != VKF_OP_ATTENTION_TRAIN)
            assert_int_equal(context->pipelines.count, pipelines + 1);
    }
    vkf_context_destroy(&context);
}

// What is stored while pipelines are compiled.
static struct {
    PFN_vkCreateComputePipelines compile;
    vkf_blob_store *store;
    uint32_t in_tests, in_batches;
} compilations;

static VKAPI_ATTR VkResult VKAPI_CALL look_at_store(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                    const VkComputePipelineCreateInfo *infos,
                                                    const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
    char *testing = vkf_blob_text(compilations.store, "testing-"), *batch = vkf_blob_text(compilations.store, "batch-");
    compilations.in_tests += testing[0] != '\0';
    compilations.in_batches += strstr(batch, "\nstarted ") != NULL;
    free(testing);
    free(batch);
    return compilations.compile(device, cache, count, infos, allocator, pipelines);
}

static void compile_watched(void **state, vkf_blob_store *store)
{
    vkf_test_heard h;
    vkf_context *context =
        vkf_test_open_heard(vkf_test_gpu_of(state), &h, (vkf_context_desc){.cache = vkf_blob_store_callbacks(store)});
    compilations.compile = context->device.vk.vkCreateComputePipelines;
    compilations.store = store;
    compilations.in_tests = compilations.in_batches = 0;
    context->device.vk.vkCreateComputePipelines = look_at_store;
    normalise(context, false);
    context->device.vk.vkCreateComputePipelines = compilations.compile;
    assert_int_equal(h.tests, 1);
    vkf_context_destroy(&context);
}

// A driver that brings down the process while it compiles a batch does not tell which pipeline did it. The next process
// compiles each in the test of its variant, of which the store tells.
static void test_batch_that_never_ended_is_not_repeated(void **state)
{
    vkf_blob_store store = {0};
    char gone[192];
    compile_watched(state, &store);
    assert_true(compilations.in_batches > 0 && compilations.in_tests == 0);
    char *text = vkf_blob_text(&store, "batch-");
    assert_string_equal(text, "vkformer-batch 1\nended\n");
    free(text);
    // The first process is another one, which is gone.
    const vkf__process_place place = vkf__process_mark_own().place;
    (void)snprintf(gone, sizeof gone, "started 1 1 %llu %s %s\n", (unsigned long long)place.numbers, place.boot,
                   place.host);
    vkf_blob_edit(&store, "batch-", "ended\n", gone);
    vkf_blob_edit(&store, "verdicts-", "vkformer-verdicts", "no-verdicts"); // and so forgotten
    compile_watched(state, &store);
    assert_true(compilations.in_tests > 0);
    text = vkf_blob_text(&store, "batch-");
    assert_string_equal(text, "vkformer-batch 1\nended\n");
    free(text);
    vkf_blob_store_clear(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compiles_nothing_but_what_runs),
        cmocka_unit_test(test_tells_of_compiling_and_testing),
        cmocka_unit_test(test_is_cancelled_by_its_progress_function),
        cmocka_unit_test(test_other_constants_are_tested_when_they_are_wanted),
        cmocka_unit_test(test_error_with_some_constants_is_found),
        cmocka_unit_test(test_constants_of_models_are_tested),
        cmocka_unit_test(test_batch_that_never_ended_is_not_repeated),
    };
    return cmocka_run_group_tests_name("first_use", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
