// What decoding one token asks of Vulkan and of the host's memory: one submission, and nothing else that costs.
#include <stdlib.h>

#include "counting_allocator.h"
#include "fake_vulkan.h"
#include "fixture.h"
#include "kernel/context.h"

#define DEMO_MODEL VKF_TEST_SOURCE_DIR "/tools/demo-model"

enum { BATCH = 2, SOURCE_LEN = 5, TARGET_LEN = 9, LAYERS = 2 };

typedef struct decode_state {
    vkf_test_gpu gpu;
    counting_allocator memory;
    vkf_session *session;
    uint64_t submits; // that a step may make
    bool counts;      // whether steps are held to that
    bool spins;       // each wait begins or ends with a look at the fence, which may find that it is over
    bool ahead;       // the next step is submitted before the host waits
    uint32_t steps;
} decode_state;

// "one million three thousand five", and "twenty thousand" with padding.
static const int32_t source[BATCH * SOURCE_LEN] = {5, 66, 39, 65, 41, 24, 65, 0, 0, 0};

static void assert_calls(const char *function, uint64_t expected)
{
    if (fake_vulkan_calls(function) != expected)
        fail_msg("%d calls of %s in a step, not %d", (int)fake_vulkan_calls(function), function, (int)expected);
}

// What was called since the last token: one step of decoding, and the reading of its tokens. Behind the first token one
// step more has begun where steps run ahead.
static void assert_step(const decode_state *s, uint32_t position)
{
    const uint64_t submits = s->submits + (s->ahead && position == 2);
    static const char *const never[] = {
        "vkAllocate",     "vkFree",        "vkCreate",  "vkDestroy", "vkMap",           "vkUpdateDescriptorSets",
        "vkResetCommand", "vkCmdDispatch", "vkCmdBind", "vkCmdPush", "vkQueueWaitIdle", "vkDeviceWaitIdle"};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        assert_calls(never[i], 0);
    assert_calls("vkQueueSubmit", submits);
    if (s->spins)
        assert_true(fake_vulkan_calls("vkWaitForFences") <= 2 * s->submits);
    else
        assert_calls("vkWaitForFences", s->submits);
    assert_calls("vkResetFences", submits);
    assert_calls("vkBeginCommandBuffer", s->submits - 1);
    assert_calls("vkEndCommandBuffer", s->submits - 1);
    assert_int_equal(s->memory.calls, 0);
}

static void assert_cost(const vkf_session *session)
{
    vkf_run_cost cost = {-1, -1};
    assert_int_equal(vkf_session_get_run_cost(session, &cost), VKF_OK);
    assert_true(cost.host_ns > 0 && cost.host_ns < 1e10);
    assert_true(cost.wait_ns >= 0 && cost.wait_ns < 1e11);
}

// Before the token at `position`; the one at 1 is preceded by the encoder's run.
static bool between_steps(void *user, uint32_t position, uint32_t total, const char *what)
{
    decode_state *s = user;
    (void)total;
    (void)what;
    if (position > 1 && s->counts) {
        assert_step(s, position);
        assert_cost(s->session);
        s->steps++;
    }
    fake_vulkan_reset();
    counting_restart(&s->memory, 0);
    return true;
}

static void open_context(decode_state *s, bool discrete)
{
    vkf_context_desc desc = {.get_instance_proc_addr = fake_vulkan_get_proc};
    *s = (decode_state){0};
    desc.allocator = counting_callbacks(&s->memory);
    fake_vulkan_discrete(discrete);
    assert_int_equal(vkf_test_gpu_open(&s->gpu, &desc), 0);
    if (!s->gpu.context) {
        print_message("skipped: no Vulkan device: %s\n", s->gpu.last_error);
        skip();
    }
    s->spins = s->gpu.context->device.plan.caps.traits.spins;
}

// Generates whole rows three times: from the second run on each begins where the last one left the caches. On GPUs,
// such as a device whose memory is apart, the first makes kernels for the rows of a step.
static void check_steps(bool discrete, bool attention_weights)
{
    decode_state s;
    open_context(&s, discrete);
    const vkf_model_desc model_desc = {.directory = DEMO_MODEL};
    const vkf_session_desc desc = {
        .max_batch = BATCH,
        .max_source_len = SOURCE_LEN,
        .max_target_len = TARGET_LEN,
        .attention_weights = attention_weights ? VKF_ATTENTION_CROSS | VKF_ATTENTION_DECODER : 0,
    };
    int32_t ids[BATCH * TARGET_LEN];
    uint32_t lengths[BATCH];
    const vkf_greedy_args args = {
        .batch = BATCH,
        .source_len = SOURCE_LEN,
        .source_ids = source,
        .out_ids = ids,
        .out_lengths = lengths,
        .progress = between_steps,
        .progress_user = &s,
    };
    vkf_model *model = NULL;
    vkf_run_cost cost;
    vkf_device_info info;
    vkf_context_get_device_info(s.gpu.context, &info);
    // Weights of attention are handed to the host after every step. Where it cannot see the device's memory, each
    // decoder layer's go through copies, of two kinds.
    s.submits = attention_weights && !info.unified_memory ? 1 + 2 * LAYERS : 1;
    const vkf__traits *traits = &s.gpu.context->device.plan.caps.traits;
    s.ahead = traits->runs_ahead && !attention_weights;
    assert_int_equal(vkf_model_load(s.gpu.context, &model_desc, &model), VKF_OK);
    assert_int_equal(vkf_session_create(model, &desc, &s.session), VKF_OK);
    assert_int_equal(vkf_session_get_run_cost(s.session, &cost), VKF_ERROR_INVALID_ARGUMENT);
    for (int run = 0; run < 3; run++) {
        s.counts = run > 0 || !traits->rows_by_class;
        assert_int_equal(vkf_session_greedy(s.session, &args), VKF_OK);
    }
    assert_true(s.steps >= 4);
    vkf_session_destroy(&s.session);
    vkf_model_destroy(&model);
    vkf_test_assert_silent(&s.gpu);
    vkf_context_destroy(&s.gpu.context);
    assert_int_equal(s.memory.live, 0);
}

static void test_step_where_memory_is_shared(void **state)
{
    (void)state;
    check_steps(false, false);
}

static void test_step_where_memory_is_apart(void **state)
{
    (void)state;
    check_steps(true, false);
}

static void test_step_with_attention_weights(void **state)
{
    (void)state;
    check_steps(false, true);
}

static void test_step_with_attention_weights_where_memory_is_apart(void **state)
{
    (void)state;
    check_steps(true, true);
}

static void test_session_run_cost_without_arguments(void **state)
{
    (void)state;
    vkf_run_cost cost;
    assert_int_equal(vkf_session_get_run_cost(NULL, &cost), VKF_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_where_memory_is_shared),
        cmocka_unit_test(test_step_where_memory_is_apart),
        cmocka_unit_test(test_step_with_attention_weights),
        cmocka_unit_test(test_step_with_attention_weights_where_memory_is_apart),
        cmocka_unit_test(test_session_run_cost_without_arguments),
    };
    return cmocka_run_group_tests_name("decode_cost", tests, NULL, NULL);
}
