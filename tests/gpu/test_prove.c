// What stands between a plan and its use: plans and queries prove nothing, creation proves what it takes, plans again
// without what is refused, and fails where nothing can be proven.
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "fixture.h"
#include "heard.h"
#include "layer/layer.h"
#include "op/layer_norm.h"
#include "op/run_once.h"
#include "op/train/total.h"
#include "prove/self_test.h"

enum { BATCH = 2, LEN = 40, DIM = 64, HEADS = 4 };

// What the planted proofs were asked.
static int proofs;
static int refused;

// Finds every fused attention kernel wrong.
static vkf_status refuse_attention(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_again)
{
    proofs++;
    for (size_t i = 0; i < plan->want_count; i++) {
        const vkf__variant *v = &plan->wants[i].variant;
        if (v->kernel->op != VKF_OP_ATTENTION ||
            vkf__verdict_get(&context->learned.verdicts, v->kernel, v->config) != VKF_VERDICT_UNKNOWN)
            continue;
        vkf__learned_verdict(&context->learned, v->kernel, v->config, VKF_VERDICT_WRONG);
        refused++;
        *out_again = true;
    }
    return VKF_OK;
}

static vkf_status lose_device(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_again)
{
    (void)context, (void)plan, (void)out_again;
    proofs++;
    return VKF_ERROR_DEVICE_LOST;
}

// The context's messages go to `gpu`, which stays where it is.
static void open_gpu(vkf_test_gpu *gpu, void **state, vkf__prove_fn prove)
{
    vkf_context_desc desc = {0};
    *gpu = (vkf_test_gpu){.profile = vkf_test_gpu_of(state)->profile};
    proofs = refused = 0;
    assert_int_equal(vkf_test_gpu_open(gpu, &desc), 0);
    if (prove)
        gpu->context->prove = prove;
}

static void close_gpu(vkf_test_gpu *gpu)
{
    vkf_test_assert_silent(gpu);
    vkf_context_destroy(&gpu->context);
}

// A self-attention layer with the same parameters in every context, and its input.
typedef struct attention {
    vkf_tensor weights[4], x;
    vkf_attention_desc desc;
} attention;

static attention make_attention(vkf_test_gpu *gpu)
{
    attention a = {0};
    float values[BATCH * LEN * DIM + DIM * DIM];
    vkf_test_random random;
    vkf_test_random_init(&random, 7);
    vkf_test_fill_normal(&random, values, sizeof values / sizeof values[0], 0, 0.2f);
    for (size_t i = 0; i < 4; i++)
        a.weights[i] = vkf_test_tensor(gpu, VKF_DTYPE_F32, 2, (uint32_t[]){DIM, DIM}, values + 64 * i);
    a.x = vkf_test_tensor(gpu, VKF_DTYPE_F32, 3, (uint32_t[]){BATCH, LEN, DIM}, values);
    a.desc = (vkf_attention_desc){
        .embed_dim = DIM,
        .num_heads = HEADS,
        .self_attention = true,
        .params = {.q_weight = a.weights[0],
                   .k_weight = a.weights[1],
                   .v_weight = a.weights[2],
                   .out_weight = a.weights[3]},
        .max_sizes = {BATCH, LEN, 0},
    };
    return a;
}

static void forget_attention(attention *a)
{
    for (size_t i = 0; i < 4; i++)
        vkf_tensor_destroy(&a->weights[i]);
    vkf_tensor_destroy(&a->x);
}

// What a new layer computes, and its dispatches' labels behind each other.
static void run_attention(vkf_test_gpu *gpu, float *out_values, char *out_labels, size_t labels_bytes)
{
    attention a = make_attention(gpu);
    const vkf_layer_sizes sizes = {BATCH, LEN, 0};
    vkf_layer *layer = NULL;
    float *x = vkf_test_read(&a.x);
    if (vkf_attention_create(gpu->context, &a.desc, &layer) != VKF_OK)
        fail_msg("%s", gpu->last_error);
    assert_int_equal(vkf_layer_write(layer, VKF_PORT_QUERY, x, BATCH * LEN * DIM * sizeof *x), VKF_OK);
    assert_int_equal(vkf_layer_run(layer, &sizes), VKF_OK);
    assert_int_equal(vkf_layer_read(layer, VKF_PORT_OUTPUT, out_values, BATCH * LEN * DIM * sizeof *x), VKF_OK);
    out_labels[0] = '\0';
    for (uint32_t i = 0; i < layer->frames[0].work.plan.node_count; i++) {
        strncat(out_labels, layer->frames[0].work.built.nodes[i].label, labels_bytes - strlen(out_labels) - 1);
        strncat(out_labels, " ", labels_bytes - strlen(out_labels) - 1);
    }
    free(x);
    vkf_layer_destroy(&layer);
    forget_attention(&a);
}

// The first creation already goes without: nothing is left that serves in one pass.
static void test_attention_goes_unfused_when_every_fused_kernel_is_wrong(void **state)
{
    static float fused[BATCH * LEN * DIM], unfused[BATCH * LEN * DIM];
    char labels[1024];
    vkf_test_gpu gpu;
    open_gpu(&gpu, state, NULL);
    run_attention(&gpu, fused, labels, sizeof labels);
    close_gpu(&gpu);
    if (strstr(labels, "softmax"))
        skip(); // the device has no fused kernel
    open_gpu(&gpu, state, refuse_attention);
    run_attention(&gpu, unfused, labels, sizeof labels);
    assert_non_null(strstr(labels, "softmax"));
    assert_true(refused > 0 && proofs > 1);
    assert_close(unfused, fused, BATCH * LEN * DIM, 1e-5, 1e-5, "unfused against fused, seed 7");
    close_gpu(&gpu);
}

static void test_plans_and_queries_prove_nothing(void **state)
{
    const vkf_dtype f32 = VKF_DTYPE_F32;
    vkf_memory_plan plan;
    vkf_test_gpu gpu;
    open_gpu(&gpu, state, lose_device);
    attention a = make_attention(&gpu);
    assert_int_equal(vkf_attention_plan(gpu.context, &a.desc, &plan), VKF_OK);
    (void)vkf_context_get_preferred_layout(gpu.context, f32, f32, DIM, DIM);
    const vkf_model_desc model = {.directory = VKF_TEST_SOURCE_DIR "/tests/pretrained/bert"};
    const vkf_session_desc session = {.max_batch = 1, .max_source_len = 8};
    assert_int_equal(vkf_model_plan(gpu.context, &model, &plan), VKF_OK);
    assert_int_equal(vkf_model_plan_session(gpu.context, &model, &session, &plan), VKF_OK);
    assert_int_equal(proofs, 0);
    forget_attention(&a);
    close_gpu(&gpu);
}

static void test_failed_proof_is_the_status_of_creation(void **state)
{
    vkf_layer *layer = NULL;
    vkf_test_gpu gpu;
    open_gpu(&gpu, state, lose_device);
    attention a = make_attention(&gpu);
    assert_int_equal(vkf_attention_create(gpu.context, &a.desc, &layer), VKF_ERROR_DEVICE_LOST);
    assert_null(layer);
    assert_int_equal(proofs, 1);
    forget_attention(&a);
    close_gpu(&gpu);
}

// A driver whose compiler fails once.
static PFN_vkCreateComputePipelines compile_all;

static VKAPI_ATTR VkResult VKAPI_CALL fail_to_compile(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                      const VkComputePipelineCreateInfo *infos,
                                                      const VkAllocationCallbacks *allocator, VkPipeline *out_pipelines)
{
    if (refused > 0)
        return compile_all(device, cache, count, infos, allocator, out_pipelines);
    refused++;
    return VK_ERROR_UNKNOWN;
}

static uint32_t count_verdicts(const vkf_context *context, vkf__verdict verdict)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++)
        for (uint32_t c = 0; c < vkf__kernel_at(i)->config_count; c++)
            count += vkf__verdict_get(&context->learned.verdicts, vkf__kernel_at(i), &vkf__kernel_at(i)->configs[c]) ==
                     verdict;
    return count;
}

// Creation takes the next variant, whether kernels are tested or trusted.
static void test_variant_that_does_not_compile_gives_way(void **state)
{
    static float usual[BATCH * LEN * DIM], other[BATCH * LEN * DIM];
    char labels[1024];
    for (int tested = 0; tested < 2; tested++) {
        vkf_test_gpu gpu;
        open_gpu(&gpu, state, NULL);
        run_attention(&gpu, usual, labels, sizeof labels);
        assert_int_equal(count_verdicts(gpu.context, VKF_VERDICT_UNCOMPILED), 0);
        close_gpu(&gpu);
        open_gpu(&gpu, state, NULL);
        gpu.context->self_tests = tested;
        compile_all = gpu.context->device.vk.vkCreateComputePipelines;
        gpu.context->device.vk.vkCreateComputePipelines = fail_to_compile;
        run_attention(&gpu, other, labels, sizeof labels);
        assert_true(refused > 0);
        assert_int_equal(count_verdicts(gpu.context, VKF_VERDICT_UNCOMPILED), 1);
        assert_close(other, usual, BATCH * LEN * DIM, 1e-5, 1e-5, "with the next variant, seed 7");
        close_gpu(&gpu);
    }
}

static struct {
    PFN_vkCreateComputePipelines compile;
    PFN_vkQueueSubmit submit;
    uint32_t compiled, submitted;
    uint32_t late; // pipelines that were compiled after the first run
} calls;

static VKAPI_ATTR VkResult VKAPI_CALL count_compilation(VkDevice device, VkPipelineCache cache, uint32_t count,
                                                        const VkComputePipelineCreateInfo *infos,
                                                        const VkAllocationCallbacks *allocator, VkPipeline *pipelines)
{
    calls.compiled += count;
    calls.late += calls.submitted > 0 ? count : 0;
    return calls.compile(device, cache, count, infos, allocator, pipelines);
}

static VKAPI_ATTR VkResult VKAPI_CALL count_submission(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                       VkFence fence)
{
    calls.submitted++;
    return calls.submit(queue, count, infos, fence);
}

static void count_calls(vkf__device *device)
{
    memset(&calls, 0, sizeof calls);
    calls.compile = device->vk.vkCreateComputePipelines;
    calls.submit = device->vk.vkQueueSubmit;
    device->vk.vkCreateComputePipelines = count_compilation;
    device->vk.vkQueueSubmit = count_submission;
}

static void count_no_calls(vkf__device *device)
{
    device->vk.vkCreateComputePipelines = calls.compile;
    device->vk.vkQueueSubmit = calls.submit;
}

// On GPUs all pipelines of a self-test are compiled before it runs anything, which several threads do at once.
static void test_self_test_compiles_first(void **state)
{
    const vkf__variant variant = vkf_test_variant_named("attention_tiled.f32_f32_f32/d64");
    vkf_test_gpu gpu;
    vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
    open_gpu(&gpu, state, NULL);
    vkf__device *device = &gpu.context->device;
    device->plan.caps.traits.processor = false;
    count_calls(device);
    assert_int_equal(vkf__self_test(gpu.context, &variant, &verdict), VKF_OK);
    assert_int_equal(verdict, VKF_VERDICT_PASSED);
    if (calls.compiled < 2 || calls.submitted < 2)
        fail_msg("%u pipelines, %u submissions", calls.compiled, calls.submitted);
    assert_int_equal(calls.late, 0);
    count_no_calls(device);
    close_gpu(&gpu);
}

enum { ROWS = 3, COLS = 33 };

// Two operators whose kernels are soon compiled, on an x that is (ROWS, COLS).
static vkf_status emit_two(vkf__work *work, const void *args)
{
    const vkf__span x = *(const vkf__span *)args;
    const vkf__total_args total = {
        .label = "total", .x = x, .out = vkf__span_part(&x, COLS, 1), .count = COLS, .squares = true, .factor = 1};
    const vkf__layer_norm_args norm = {.label = "norm", .x = x, .out = x, .rows = ROWS, .dim = COLS, .eps = 1e-5f};
    VKF_RETURN_IF_ERROR(vkf__emit_layer_norm(work, &norm));
    return vkf__emit_total(work, &total);
}

// So does what proves a plan, for the plan and all of its tests at once: what squares are tested with, the sum of
// several parts, which this plan has not, is there before the norm's test runs.
static void test_plan_and_tests_compile_in_one_batch(void **state)
{
    float values[ROWS * COLS] = {0};
    vkf_test_gpu gpu;
    open_gpu(&gpu, state, NULL);
    vkf__device *device = &gpu.context->device;
    device->plan.caps.traits.processor = false;
    gpu.context->self_tests = true;
    vkf_tensor x = vkf_test_tensor(&gpu, VKF_DTYPE_F32, 2, (uint32_t[]){ROWS, COLS}, values);
    const vkf__span span = vkf__span_of(&x);
    count_calls(device);
    assert_int_equal(vkf__run_once(gpu.context, "two", emit_two, &span), VKF_OK);
    if (calls.compiled < 3 || calls.submitted < 2 || calls.late > 0)
        fail_msg("%u pipelines, %u of them late, %u submissions", calls.compiled, calls.late, calls.submitted);
    count_no_calls(device);
    vkf_tensor_destroy(&x);
    close_gpu(&gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_goes_unfused_when_every_fused_kernel_is_wrong),
        cmocka_unit_test(test_plans_and_queries_prove_nothing),
        cmocka_unit_test(test_failed_proof_is_the_status_of_creation),
        cmocka_unit_test(test_variant_that_does_not_compile_gives_way),
        cmocka_unit_test(test_self_test_compiles_first),
        cmocka_unit_test(test_plan_and_tests_compile_in_one_batch),
    };
    return cmocka_run_group_tests_name("prove", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
