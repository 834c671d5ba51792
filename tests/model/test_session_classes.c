// Classes of rows, as sessions have them on GPUs: each is recorded once, over the same memory, with kernels of its own
// and with the results that the recording for the largest runs gives.
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "model/session/session.h"
#include "model/session/session_classes.h"
#include "support/compare.h"
#include "support/fixture.h"
#include "support/model_files.h"

#define BATCH 3u
#define SOURCE 50u
#define TARGET 40u
#define VOCAB 19u
#define WIDTH 32u

static const vkf_session_desc desc = {
    .max_batch = BATCH,
    .max_source_len = SOURCE,
    .max_target_len = TARGET,
    .max_logit_rows = TARGET,
    .attention_weights = VKF_ATTENTION_CROSS,
};

static vkf_test_rig make_rig(void **state)
{
    vkf_model_config config = vkf_test_small_seq2seq();
    vkf_test_rig rig;
    config.max_source_len = SOURCE;
    config.max_target_len = TARGET;
    vkf_test_rig_make(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, &desc, &rig);
    return rig;
}

// A session whose runs are told apart, on any device.
static vkf_session *make_classed(const vkf_test_rig *rig)
{
    rig->gpu->context->device.plan.caps.traits.rows_by_class = true;
    return vkf_test_make_session(rig->gpu, rig->model, &desc);
}

static void free_classed(vkf_test_rig *rig, vkf_session *session)
{
    vkf__traits *traits = &rig->gpu->context->device.plan.caps.traits;
    vkf_session_destroy(&session);
    traits->rows_by_class = !traits->processor;
    vkf_test_rig_free(rig);
}

static int32_t token(uint32_t i)
{
    return 4 + (int32_t)(i * 7 % (VOCAB - 4));
}

// Encodes and decodes; the caller frees the logits, (batch, target_len, VOCAB).
static float *run(const vkf_test_rig *rig, vkf_session *session, uint32_t batch, uint32_t source_len,
                  uint32_t target_len)
{
    int32_t sources[BATCH * SOURCE], targets[BATCH * TARGET];
    float *logits = malloc((size_t)batch * target_len * VOCAB * sizeof *logits);
    assert_non_null(logits);
    for (uint32_t i = 0; i < BATCH * SOURCE; i++)
        sources[i] = token(i);
    for (uint32_t i = 0; i < BATCH * TARGET; i++)
        targets[i] = token(i + 3);
    const vkf_encode_args encode = {.batch = batch, .source_len = source_len, .source_ids = sources};
    const vkf_decode_args decode = {.target_len = target_len, .target_ids = targets, .out_logits = logits};
    if (vkf_session_encode(session, &encode) != VKF_OK || vkf_session_decode(session, &decode) != VKF_OK)
        fail_msg("%u x %u, %u: %s", batch, source_len, target_len, rig->gpu->last_error);
    return logits;
}

static const struct {
    uint32_t batch, source_len, target_len;
} runs[] = {
    {1, 1, 1},   {3, 50, 40}, {1, 8, 8},   {1, 9, 7}, {2, 4, 4}, {3, 11, 11},
    {1, 33, 31}, {2, 32, 32}, {3, 43, 22}, {1, 2, 1}, {3, 1, 3}, {1, 1, 40},
};
enum { RUNS = sizeof runs / sizeof runs[0] };

// In an order in which classes come again behind larger and smaller ones.
static void test_results_are_those_of_the_largest_class(void **state)
{
    vkf_test_rig rig = make_rig(state);
    vkf_session *classed = make_classed(&rig);
    for (size_t i = 0; i < 2 * RUNS; i++) {
        const uint32_t batch = runs[i % RUNS].batch, source = runs[i % RUNS].source_len;
        const uint32_t target = runs[i % RUNS].target_len;
        rig.gpu->context->device.plan.caps.traits.rows_by_class = false;
        float *expected = run(&rig, rig.session, batch, source, target);
        rig.gpu->context->device.plan.caps.traits.rows_by_class = true;
        float *actual = run(&rig, classed, batch, source, target);
        assert_close(actual, expected, (size_t)batch * target * VOCAB, 2e-5, 1e-4,
                     vkf_test_label(rig.gpu, "%u x %u, %u", batch, source, target));
        free(expected);
        free(actual);
    }
    free_classed(&rig, classed);
}

// Encoder and decoder have four stages each. A class is recorded when its first run comes, and not again.
static void test_each_class_is_recorded_once(void **state)
{
    static const struct {
        uint32_t batch, source_len, target_len, new_groups;
    } rows[] = {
        {3, 50, 40, 0},                // made with the session: 150 rows, of the memory that the decoder projects, too
        {3, 43, 40, 0},                // 129
        {3, 42, 40, 2},                // 126: up to 128
        {1, 1, 1, 2},                  // one row
        {1, 1, 1, 0},   {1, 8, 2, 2},  // up to 8
        {2, 3, 4, 0},   {1, 20, 1, 2}, // up to 32
        {1, 32, 32, 0}, {1, 33, 1, 2}, // up to 64
        {2, 32, 32, 0},
    };
    vkf_test_rig rig = make_rig(state);
    vkf_session *session = make_classed(&rig);
    uint32_t count = vkf_session_get_command_buffer_count(session);
    assert_int_equal(count, 12);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        free(run(&rig, session, rows[i].batch, rows[i].source_len, rows[i].target_len));
        count += 4 * rows[i].new_groups;
        if (vkf_session_get_record_count(session) != count || vkf_session_get_command_buffer_count(session) != count)
            fail_msg("run %zu: %u recordings, %u command buffers, expected %u", i,
                     vkf_session_get_record_count(session), vkf_session_get_command_buffer_count(session), count);
    }
    free_classed(&rig, session);
}

// The plan counts what every class needs, and no run takes more.
static void test_plan_is_what_all_classes_use(void **state)
{
    vkf_test_rig rig = make_rig(state);
    const vkf_memory_usage before = vkf_test_usage(rig.gpu);
    vkf_memory_plan plan;
    rig.gpu->context->device.plan.caps.traits.rows_by_class = true;
    assert_int_equal(vkf_session_plan(rig.model, &desc, &plan), VKF_OK);
    vkf_session *session = make_classed(&rig);
    for (size_t i = 0; i <= RUNS; i++) {
        vkf_test_assert_took(rig.gpu, &before, &plan);
        if (i < RUNS)
            free(run(&rig, session, runs[i].batch, runs[i].source_len, runs[i].target_len));
    }
    free_classed(&rig, session);
}

static bool same_kernels(const vkf__work *a, const vkf__work *b)
{
    if (a->plan.node_count != b->plan.node_count)
        return false;
    for (uint32_t i = 0; i < a->plan.node_count; i++) {
        const vkf__variant *x = &a->plan.nodes[i].variant, *y = &b->plan.nodes[i].variant;
        if (x->kernel != y->kernel || x->config != y->config)
            return false;
    }
    return true;
}

// One row is multiplied by kernels made for one.
static void test_classes_have_kernels_of_their_own(void **state)
{
    vkf_test_rig rig = make_rig(state);
    vkf_session *session = make_classed(&rig);
    const uint32_t largest = vkf__session_largest_class(session, VKF_STAGES_ENCODE);
    free(run(&rig, session, 1, 1, 1));
    const vkf__stage *layer = &session->stages[session->group_begin[VKF_STAGES_ENCODE] + 1];
    assert_non_null(layer->works[0][0]);
    assert_ptr_equal(layer->work, layer->works[0][0]);
    assert_false(same_kernels(layer->works[0][0], layer->works[0][largest]));
    free_classed(&rig, session);
}

// Where proven kernels would need more memory than was planned, the class runs with those of the largest.
static void test_class_that_needs_more_memory_is_refused(void **state)
{
    vkf_test_rig rig = make_rig(state);
    vkf_session *session = make_classed(&rig);
    const uint32_t count = vkf_session_get_command_buffer_count(session);
    float *expected = run(&rig, session, 3, SOURCE, TARGET), *small = NULL, *again = NULL;
    const uint64_t arena_bytes = session->arena_bytes;
    session->arena_bytes = 0;
    small = run(&rig, session, 2, 5, 4);
    assert_int_equal(vkf_session_get_command_buffer_count(session), count);
    session->arena_bytes = arena_bytes;
    again = run(&rig, session, 2, 5, 4);
    assert_int_equal(vkf_session_get_command_buffer_count(session), count); // it stays refused
    assert_memory_equal(small, again, 2 * 4 * VOCAB * sizeof *small);
    free(expected);
    free(small);
    free(again);
    free_classed(&rig, session);
}

static vkf_status prove_nothing(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_again)
{
    (void)context, (void)plan, (void)out_again;
    return VKF_ERROR_OUT_OF_DEVICE_MEMORY;
}

// A class that could not be made is as if its run had never come.
static void test_failure_of_a_class_is_that_of_its_run(void **state)
{
    vkf_test_rig rig = make_rig(state);
    vkf_session *session = make_classed(&rig);
    const uint32_t count = vkf_session_get_command_buffer_count(session);
    const int32_t ids[] = {4, 5, 6};
    const vkf_encode_args args = {.batch = 1, .source_len = 3, .source_ids = ids};
    const vkf__prove_fn prove = rig.gpu->context->prove;
    rig.gpu->context->prove = prove_nothing;
    assert_int_equal(vkf_session_encode(session, &args), VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(vkf_session_get_command_buffer_count(session), count);
    rig.gpu->context->prove = prove;
    assert_int_equal(vkf_session_encode(session, &args), VKF_OK);
    assert_int_equal(vkf_session_get_command_buffer_count(session), count + 4);
    free_classed(&rig, session);
}

static PFN_vkQueueSubmit submit_all;
static int submissions;

static VKAPI_ATTR VkResult VKAPI_CALL count_submissions(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                        VkFence fence)
{
    submissions++;
    return submit_all(queue, count, infos, fence);
}

// A device is not kept busy for seconds without a break: what is more than the limit is submitted in parts.
static void test_submissions_have_a_limit(void **state)
{
    static const struct {
        double flops;
        int more; // submissions than without a limit; an encoder has four stages
    } rows[] = {{0, 0}, {1e30, 0}, {1, 3}};
    int usual = 0; // uploads may be among them
    vkf_test_rig rig = make_rig(state);
    vkf_context *context = rig.gpu->context;
    const int32_t ids[] = {4, 5, 6};
    const vkf_encode_args args = {.batch = 1, .source_len = 3, .source_ids = ids};
    const double before = context->submission_flops;
    submit_all = context->device.vk.vkQueueSubmit;
    context->device.vk.vkQueueSubmit = count_submissions;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        context->submission_flops = rows[i].flops;
        submissions = 0;
        assert_int_equal(vkf_session_encode(rig.session, &args), VKF_OK);
        usual = i == 0 ? submissions : usual;
        assert_int_equal(submissions, usual + rows[i].more);
    }
    context->device.vk.vkQueueSubmit = submit_all;
    context->submission_flops = before;
    vkf_test_rig_free(&rig);
}

static uint32_t command_buffers; // that were submitted

static VKAPI_ATTR VkResult VKAPI_CALL count_command_buffers(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                            VkFence fence)
{
    for (uint32_t i = 0; i < count; i++)
        command_buffers += infos[i].commandBufferCount;
    return submit_all(queue, count, infos, fence);
}

// On GPUs the layers of a run are submitted in one command buffer, unless it goes in parts. The results are the same.
static void test_layers_are_joined(void **state)
{
    static const struct {
        bool joins;
        double flops;
        bool one;
    } rows[] = {{false, 0, false}, {true, 0, true}, {true, 1e30, true}, {true, 1, false}};
    static float expected[6 * WIDTH], actual[6 * WIDTH];
    uint32_t apart = 0; // uploads may be among them
    vkf_test_rig rig = make_rig(state);
    vkf_context *context = rig.gpu->context;
    vkf__traits *traits = &context->device.plan.caps.traits;
    const vkf__traits before = *traits;
    const double limit = context->submission_flops;
    const int32_t ids[] = {4, 5, 6, 7, 8, 9};
    assert_int_equal(rig.model->config.d_model, WIDTH);
    submit_all = context->device.vk.vkQueueSubmit;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const vkf_encode_args args = {
            .batch = 1, .source_len = 6, .source_ids = ids, .out_memory = i == 0 ? expected : actual};
        traits->joins_layers = rows[i].joins;
        context->submission_flops = rows[i].flops;
        vkf_session *session = vkf_test_make_session(rig.gpu, rig.model, &desc);
        command_buffers = 0;
        context->device.vk.vkQueueSubmit = count_command_buffers;
        assert_int_equal(vkf_session_encode(session, &args), VKF_OK);
        context->device.vk.vkQueueSubmit = submit_all;
        apart = i == 0 ? command_buffers : apart;
        const size_t stages = session->group_begin[VKF_STAGES_ENCODE + 1] - session->group_begin[VKF_STAGES_ENCODE];
        assert_true(stages > 1);
        assert_int_equal(command_buffers, rows[i].one ? apart - stages + 1 : apart);
        if (i > 0)
            assert_memory_equal(actual, expected, sizeof expected);
        vkf_session_destroy(&session);
    }
    context->submission_flops = limit;
    *traits = before;
    vkf_test_rig_free(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_those_of_the_largest_class),
        cmocka_unit_test(test_each_class_is_recorded_once),
        cmocka_unit_test(test_plan_is_what_all_classes_use),
        cmocka_unit_test(test_classes_have_kernels_of_their_own),
        cmocka_unit_test(test_class_that_needs_more_memory_is_refused),
        cmocka_unit_test(test_failure_of_a_class_is_that_of_its_run),
        cmocka_unit_test(test_submissions_have_a_limit),
        cmocka_unit_test(test_layers_are_joined),
    };
    return cmocka_run_group_tests_name("session_classes", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
