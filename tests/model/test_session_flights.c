// Two steps in flight, as sessions have them on GPUs: the same tokens, bit by bit, as one step at a time, wherever text
// ends, and nothing left on its way whatever fails.
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "model/session/session.h"
#include "model/session/session_classes.h"
#include "support/compare.h"
#include "support/fixture.h"
#include "support/model_files.h"
#include "support/pretrained.h"

#define BATCH 3u
#define NEW 10u
#define CONTEXT 48u
#define SOURCE 9u

// What a session asked of the queue, in order: S for a submission, W for a wait that has ended. One of either may fail.
typedef struct queue_log {
    vkf__device *device;
    PFN_vkQueueSubmit submit;
    PFN_vkWaitForFences wait;
    char events[256];
    uint32_t count;
    uint32_t failing; // counted from 1; 0: none
    VkResult failure;
    bool spins; // the device's trait, which would hide waits
} queue_log;

static queue_log queue;

static VkResult note(char event)
{
    assert_true(queue.count + 1 < sizeof queue.events);
    queue.events[queue.count++] = event;
    queue.events[queue.count] = '\0';
    return queue.count == queue.failing ? queue.failure : VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL submit_noted(VkQueue handle, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence)
{
    const VkResult result = note('S');
    return result == VK_SUCCESS ? queue.submit(handle, count, infos, fence) : result;
}

// A wait that fails has waited all the same, so that what is freed afterwards is at rest.
static VKAPI_ATTR VkResult VKAPI_CALL wait_noted(VkDevice device, uint32_t count, const VkFence *fences, VkBool32 all,
                                                 uint64_t timeout)
{
    const VkResult result = queue.wait(device, count, fences, all, timeout);
    const VkResult noted = note('W');
    return noted == VK_SUCCESS ? result : noted;
}

static void log_queue(vkf_test_gpu *gpu, uint32_t failing, VkResult failure)
{
    vkf__device *device = &gpu->context->device;
    queue = (queue_log){.device = device,
                        .submit = device->vk.vkQueueSubmit,
                        .wait = device->vk.vkWaitForFences,
                        .failing = failing,
                        .failure = failure,
                        .spins = device->plan.caps.traits.spins};
    device->plan.caps.traits.spins = false;
    device->vk.vkQueueSubmit = submit_noted;
    device->vk.vkWaitForFences = wait_noted;
}

static void unlog_queue(void)
{
    queue.device->vk.vkQueueSubmit = queue.submit;
    queue.device->vk.vkWaitForFences = queue.wait;
    queue.device->plan.caps.traits.spins = queue.spins;
}

// A decoder, and two sessions of it.
typedef struct fixture {
    vkf_test_gpu *gpu;
    vkf_model *model;
    vkf_session *plain, *ahead;
} fixture;

static vkf_session *make_session(vkf_test_gpu *gpu, vkf_model *model, const vkf_session_desc *desc, bool ahead)
{
    vkf__traits *traits = &gpu->context->device.plan.caps.traits;
    traits->runs_ahead = ahead;
    vkf_session *session = vkf_test_make_session(gpu, model, desc);
    traits->runs_ahead = !traits->processor;
    return session;
}

static fixture make_fixture(void **state, const char *family)
{
    const vkf_session_desc desc = {
        .max_batch = BATCH,
        .max_source_len = SOURCE,
        .max_target_len = CONTEXT,
        .max_prompt_len = 16,
        .max_logit_rows = CONTEXT,
    };
    fixture f = {.gpu = vkf_test_gpu_of(state)};
    f.model = vkf_test_load_family(f.gpu, family);
    f.plain = make_session(f.gpu, f.model, &desc, false);
    f.ahead = make_session(f.gpu, f.model, &desc, true);
    return f;
}

static void free_fixture(fixture *f)
{
    vkf_session_destroy(&f->plain);
    vkf_session_destroy(&f->ahead);
    vkf_model_destroy(&f->model);
}

typedef struct result {
    int32_t ids[BATCH * CONTEXT];
    uint32_t lengths[BATCH];
    vkf_stop_reason reasons[BATCH];
} result;

static int32_t prompts[BATCH * CONTEXT];
static uint32_t prompt_lengths[BATCH];

static vkf_generate_args generation(uint32_t batch, uint32_t len, uint32_t max_new)
{
    for (uint32_t i = 0; i < BATCH * CONTEXT; i++)
        prompts[i] = 5 + (int32_t)(i * 7 % 60);
    for (uint32_t row = 0; row < BATCH; row++)
        prompt_lengths[row] = len > row ? len - row : 1;
    return (vkf_generate_args){
        .batch = batch, .prompt_ids = prompts, .prompt_lengths = prompt_lengths, .max_new_tokens = max_new};
}

static vkf_status generate(vkf_session *session, vkf_generate_args args, result *out)
{
    memset(out, 0, sizeof *out);
    args.out_ids = out->ids;
    args.out_lengths = out->lengths;
    args.out_reasons = out->reasons;
    return vkf_session_generate(session, &args);
}

static void check_same(const fixture *f, vkf_generate_args args, const char *what)
{
    result plain, ahead;
    if (generate(f->plain, args, &plain) != VKF_OK || generate(f->ahead, args, &ahead) != VKF_OK)
        fail_msg("%s: %s", what, f->gpu->last_error);
    if (memcmp(&plain, &ahead, sizeof plain) != 0)
        fail_msg("%s: other tokens with two steps in flight", what);
}

// Prompts of lengths around the borders between classes of rows, and of parts.
static void check_lengths(const fixture *f, const char *family)
{
    static const uint32_t lens[] = {1, 8, 9};
    static const vkf_sampling samplings[] = {
        {0}, {.repetition_penalty = 1.3f}, {.temperature = 0.9f, .top_k = 7, .top_p = 0.9f, .seed = 5}};
    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++)
            for (uint32_t batch = 1; batch <= BATCH; batch += 2)
                for (uint32_t max_new = 1; max_new <= NEW; max_new += max_new < 4 ? 1 : NEW - 4) {
                    vkf_generate_args args = generation(batch, lens[i], max_new);
                    args.sampling = samplings[s];
                    check_same(f, args,
                               vkf_test_label(f->gpu, "%s, sampling %zu, %u rows of %u, %u new", family, s, batch,
                                              lens[i], max_new));
                }
}

static void test_tokens_are_those_of_one_step_at_a_time(void **state)
{
    static const char *const families[] = {"llama", "marian"};
    for (size_t i = 0; i < 2; i++) {
        fixture f = make_fixture(state, families[i]);
        check_lengths(&f, families[i]);
        free_fixture(&f);
    }
}

static void test_tokens_by_classes_of_rows(void **state)
{
    vkf__traits *traits = &vkf_test_gpu_of(state)->context->device.plan.caps.traits;
    traits->rows_by_class = true;
    fixture f = make_fixture(state, "llama");
    check_lengths(&f, "llama by class");
    free_fixture(&f);
    traits->rows_by_class = !traits->processor;
}

// Until the context is full, which no step may run beyond.
static void test_full_context(void **state)
{
    fixture f = make_fixture(state, "llama");
    check_same(&f, generation(BATCH, 17, 0), "a full context");
    check_same(&f, generation(1, CONTEXT - 1, 0), "room for one token");
    free_fixture(&f);
}

typedef struct stops {
    const int32_t *at; // (BATCH): after so many tokens a row ends
    uint32_t made[BATCH];
} stops;

static bool stop_there(void *user, uint32_t row, int32_t token)
{
    stops *s = user;
    (void)token;
    return (int32_t)++s->made[row] != s->at[row];
}

static bool ends_there(void *user, uint32_t row, const int32_t *tokens, uint32_t count)
{
    const int32_t *at = user;
    (void)tokens;
    return (int32_t)count == at[row];
}

static void check_stop(const fixture *f, const int32_t *at, const char *what)
{
    vkf_generate_args args = generation(BATCH, 8, NEW);
    result plain, ahead;
    stops by_plain = {at, {0}}, by_ahead = {at, {0}};
    args.on_token = stop_there;
    args.on_token_user = &by_plain;
    assert_int_equal(generate(f->plain, args, &plain), VKF_OK);
    args.on_token_user = &by_ahead;
    assert_int_equal(generate(f->ahead, args, &ahead), VKF_OK);
    assert_memory_equal(&plain, &ahead, sizeof plain);
    assert_memory_equal(by_plain.made, by_ahead.made, sizeof by_plain.made);
    args.on_token = NULL;
    args.ends = ends_there;
    args.ends_user = (void *)(uintptr_t)at;
    check_same(f, args, what);
}

// At every step, in all rows at once and one after the other.
static void test_ends_at_every_step(void **state)
{
    fixture f = make_fixture(state, "llama");
    result whole;
    for (int32_t at = 1; at <= (int32_t)NEW + 1; at++) {
        check_stop(&f, (const int32_t[BATCH]){at, at, at}, "together");
        check_stop(&f, (const int32_t[BATCH]){at, at + 1, at > 3 ? at - 3 : 1}, "one after the other");
    }
    assert_int_equal(generate(f.plain, generation(BATCH, 8, NEW), &whole), VKF_OK);
    for (uint32_t i = 0; i < NEW; i++) {
        vkf_generate_args args = generation(BATCH, 8, NEW);
        args.stop_ids = whole.ids + i;
        args.stop_count = 1;
        check_same(&f, args, "an end token");
    }
    free_fixture(&f);
}

// What was dropped is not seen by the runs that follow.
static void test_dropped_step_leaves_nothing(void **state)
{
    fixture f = make_fixture(state, "llama");
    const vkf_decode_args decode = {.batch = BATCH, .target_len = NEW, .target_ids = prompts};
    vkf_generate_args args = generation(BATCH, 8, NEW);
    const int32_t at[BATCH] = {3, 3, 3};
    result out;
    vkf_model_config config;
    vkf_model_get_config(f.model, &config);
    const size_t count = (size_t)BATCH * NEW * config.target_vocab;
    float *logits[2] = {malloc(count * sizeof **logits), malloc(count * sizeof **logits)};
    args.ends = ends_there;
    args.ends_user = (void *)(uintptr_t)at;
    for (int i = 0; i < 2; i++) {
        vkf_session *session = i == 0 ? f.plain : f.ahead;
        vkf_decode_args run = decode;
        run.out_logits = logits[i];
        assert_int_equal(generate(session, args, &out), VKF_OK);
        assert_int_equal(session->sizes.target_past, 8 + 1);
        assert_int_equal(vkf_session_decode(session, &run), VKF_OK);
    }
    assert_memory_equal(logits[0], logits[1], count * sizeof **logits);
    check_same(&f, generation(BATCH, 8, NEW), "after a dropped step");
    free(logits[0]);
    free(logits[1]);
    free_fixture(&f);
}

// The prompt is one run; then each step but the first is submitted before the host waits for the one ahead of it.
static void test_next_step_is_submitted_first(void **state)
{
    static const int32_t at[BATCH] = {3, 3, 3};
    fixture f = make_fixture(state, "llama");
    result out;
    vkf_generate_args args = generation(BATCH, 8, 5);
    assert_int_equal(generate(f.ahead, args, &out), VKF_OK); // records the second flight
    log_queue(f.gpu, 0, VK_SUCCESS);
    assert_int_equal(generate(f.ahead, args, &out), VKF_OK);
    unlog_queue();
    assert_string_equal(queue.events, "SWSSWSWSWW");
    args.ends = ends_there;
    args.ends_user = (void *)(uintptr_t)at;
    log_queue(f.gpu, 0, VK_SUCCESS);
    assert_int_equal(generate(f.ahead, args, &out), VKF_OK); // the step behind the end is dropped
    unlog_queue();
    assert_string_equal(queue.events, "SWSSWSWW");
    free_fixture(&f);
}

static void hear(void *user, const vkf_submission_profile *profile)
{
    (void)profile;
    ++*(uint32_t *)user;
}

static bool show(void *user, const vkf_probe_output *output)
{
    (void)output;
    ++*(uint32_t *)user;
    return true;
}

// Where something has to happen between steps they run one by one.
static void test_steps_that_cannot_run_ahead(void **state)
{
    fixture f = make_fixture(state, "marian");
    result out;
    uint32_t heard = 0;
    const vkf_profiler profiler = {.submission = hear, .user = &heard};
    const vkf_session_desc keeping = {.max_batch = 1,
                                      .max_source_len = SOURCE,
                                      .max_target_len = CONTEXT,
                                      .attention_weights = VKF_ATTENTION_DECODER};
    const vkf_session_desc filled = {
        .max_batch = 1, .max_source_len = SOURCE, .max_target_len = CONTEXT, .fully_masked = VKF_FULLY_MASKED_NAN};
    vkf_session *sessions[] = {f.ahead, make_session(f.gpu, f.model, &keeping, true),
                               make_session(f.gpu, f.model, &filled, true)};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(generate(sessions[i], generation(1, 8, 4), &out), VKF_OK);
        assert_int_equal(vkf_context_set_profiler(f.gpu->context, i == 0 ? &profiler : NULL), VKF_OK);
        log_queue(f.gpu, 0, VK_SUCCESS);
        assert_int_equal(generate(sessions[i], generation(1, 8, 4), &out), VKF_OK);
        unlog_queue();
        assert_int_equal(vkf_context_set_profiler(f.gpu->context, NULL), VKF_OK);
        if (strstr(queue.events, "SS"))
            fail_msg("session %zu: %s", i, queue.events);
    }
    assert_int_equal(heard, 5);
    assert_int_equal(vkf_context_set_probe(f.gpu->context, show, &heard), VKF_OK);
    assert_int_equal(generate(f.ahead, generation(1, 8, 4), &out), VKF_OK);
    assert_int_equal(vkf_context_set_probe(f.gpu->context, NULL, NULL), VKF_OK);
    assert_true(heard > 5);
    check_same(&f, generation(1, 8, NEW), "after a probe");
    vkf_session_destroy(&sessions[1]);
    vkf_session_destroy(&sessions[2]);
    free_fixture(&f);
}

// Work beyond the limit of a submission goes in parts, with the next step's behind them.
static void test_steps_in_several_submissions(void **state)
{
    fixture f = make_fixture(state, "llama");
    vkf_context *context = f.gpu->context;
    const double limit = context->submission_flops;
    context->submission_flops = 1;
    check_same(&f, generation(BATCH, 8, NEW), "in parts");
    context->submission_flops = limit;
    free_fixture(&f);
}

// Failures ----------------------------------------------------------------------------------------------------------

static uint32_t count_of(char event)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < queue.count; i++)
        count += queue.events[i] == event;
    return count;
}

// Whichever call fails, all that was submitted has been waited for, and the session works again.
static void test_any_call_failing(void **state)
{
    fixture f = make_fixture(state, "llama");
    const vkf_generate_args args = generation(BATCH, 8, 6);
    result expected, out;
    assert_int_equal(generate(f.ahead, args, &expected), VKF_OK);
    log_queue(f.gpu, 0, VK_SUCCESS);
    assert_int_equal(generate(f.ahead, args, &out), VKF_OK);
    unlog_queue();
    const uint32_t calls = queue.count;
    for (uint32_t call = 1; call <= calls; call++) {
        log_queue(f.gpu, call, VK_ERROR_OUT_OF_HOST_MEMORY);
        f.gpu->last_error[0] = '\0';
        assert_int_equal(generate(f.ahead, args, &out), VKF_ERROR_OUT_OF_HOST_MEMORY);
        unlog_queue();
        assert_int_not_equal(f.gpu->last_error[0], '\0');
        assert_int_equal(count_of('S') - (queue.events[call - 1] == 'S'), count_of('W'));
        assert_false(f.ahead->ahead);
        assert_int_equal(generate(f.ahead, args, &out), VKF_OK);
        assert_memory_equal(&out, &expected, sizeof out);
    }
    free_fixture(&f);
}

static void test_device_lost_at_any_call(void **state)
{
    fixture f = make_fixture(state, "llama");
    const vkf_generate_args args = generation(BATCH, 8, 4);
    result out;
    assert_int_equal(generate(f.ahead, args, &out), VKF_OK);
    for (uint32_t call = 1; call <= 8; call++) {
        log_queue(f.gpu, call, VK_ERROR_DEVICE_LOST);
        assert_int_equal(generate(f.ahead, args, &out), VKF_ERROR_DEVICE_LOST);
        const uint32_t asked = queue.count;
        assert_int_equal(generate(f.ahead, args, &out), VKF_ERROR_DEVICE_LOST);
        assert_int_equal(queue.count, asked);
        unlog_queue();
        assert_false(f.ahead->ahead);
        atomic_store(&f.gpu->context->device.lost, false); // it only seemed so
    }
    check_same(&f, args, "after losses");
    free_fixture(&f);
}

static VKAPI_ATTR VkResult VKAPI_CALL make_no_pool(VkDevice device, const VkDescriptorPoolCreateInfo *info,
                                                   const VkAllocationCallbacks *callbacks, VkDescriptorPool *out_pool)
{
    (void)device, (void)info, (void)callbacks, (void)out_pool;
    return VK_ERROR_OUT_OF_DEVICE_MEMORY;
}

// The second flight is recorded while the first step is on its way. A class that cannot be made is as if it had not
// been asked for.
static void test_second_flight_that_cannot_be_made(void **state)
{
    vkf__traits *traits = &vkf_test_gpu_of(state)->context->device.plan.caps.traits;
    traits->rows_by_class = false;
    fixture f = make_fixture(state, "llama");
    vkf__device *device = &f.gpu->context->device;
    const vkf_generate_args args = generation(BATCH, 8, 6);
    const uint32_t buffers = vkf_session_get_command_buffer_count(f.ahead);
    result out;
    const PFN_vkCreateDescriptorPool create = device->vk.vkCreateDescriptorPool;
    device->vk.vkCreateDescriptorPool = make_no_pool;
    assert_int_equal(generate(f.ahead, args, &out), VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    device->vk.vkCreateDescriptorPool = create;
    assert_int_equal(vkf_session_get_command_buffer_count(f.ahead), buffers);
    assert_false(f.ahead->ahead);
    assert_false(device->lost);
    check_same(&f, args, "after a failure");
    assert_int_equal(vkf_session_get_command_buffer_count(f.ahead), buffers + buffers / 2);
    for (size_t i = f.ahead->group_begin[VKF_STAGES_STEP]; i < f.ahead->stage_count; i++) {
        const vkf__stage *stage = &f.ahead->stages[i];
        const uint32_t class = vkf__session_largest_class(f.ahead, VKF_STAGES_STEP);
        assert_ptr_equal(stage->works[0][class]->built.control, stage->controls[0]);
        assert_ptr_equal(stage->works[1][class]->built.control, stage->controls[1]);
    }
    free_fixture(&f);
    traits->rows_by_class = !traits->processor;
}

static void test_plan_counts_both_flights(void **state)
{
    fixture f = make_fixture(state, "llama");
    vkf__traits *traits = &f.gpu->context->device.plan.caps.traits;
    const vkf_session_desc desc = {.max_batch = 2, .max_target_len = CONTEXT};
    vkf_memory_plan one, two;
    result out;
    traits->runs_ahead = false;
    assert_int_equal(vkf_session_plan(f.model, &desc, &one), VKF_OK);
    traits->runs_ahead = true;
    assert_int_equal(vkf_session_plan(f.model, &desc, &two), VKF_OK);
    assert_true(two.control_bytes > one.control_bytes);
    const vkf_memory_usage before = vkf_test_usage(f.gpu);
    vkf_session *session = make_session(f.gpu, f.model, &desc, true);
    assert_int_equal(generate(session, generation(2, 8, NEW), &out), VKF_OK);
    vkf_test_assert_took(f.gpu, &before, &two);
    vkf_session_destroy(&session);
    traits->runs_ahead = !traits->processor;
    free_fixture(&f);
}

// Greedy decoding from a source -------------------------------------------------------------------------------------

typedef struct greedy_run {
    uint32_t calls, last; // of progress; the call that cancels, 0: none
    int32_t ids[BATCH * CONTEXT];
    uint32_t lengths[BATCH];
} greedy_run;

static bool go_on(void *user, uint32_t done, uint32_t total, const char *what)
{
    greedy_run *run = user;
    (void)done, (void)total, (void)what;
    return ++run->calls != run->last;
}

static vkf_status greedy(vkf_session *session, uint32_t max_len, uint32_t last, greedy_run *out)
{
    int32_t source[BATCH * SOURCE];
    for (uint32_t i = 0; i < BATCH * SOURCE; i++)
        source[i] = 4 + (int32_t)(i * 5 % 13);
    *out = (greedy_run){.last = last};
    const vkf_greedy_args args = {
        .batch = BATCH,
        .source_len = SOURCE,
        .source_ids = source,
        .max_len = max_len,
        .out_ids = out->ids,
        .out_lengths = out->lengths,
        .progress = go_on,
        .progress_user = out,
    };
    return vkf_session_greedy(session, &args);
}

static void check_greedy(vkf_test_rig *rig, vkf_session *ahead)
{
    greedy_run expected, out;
    for (uint32_t len = 1; len <= 10; len++) {
        assert_int_equal(greedy(rig->session, len, 0, &expected), VKF_OK);
        assert_int_equal(greedy(ahead, len, 0, &out), VKF_OK);
        assert_memory_equal(&out, &expected, sizeof out);
    }
    for (uint32_t last = 1; last <= expected.calls; last++) {
        assert_int_equal(greedy(ahead, 10, last, &out), VKF_ERROR_CANCELLED);
        assert_int_equal(out.calls, last);
        assert_false(ahead->ahead);
        assert_int_equal(greedy(ahead, 10, 0, &out), VKF_OK);
        assert_memory_equal(out.ids, expected.ids, sizeof out.ids);
    }
}

// Also with tokens that the model forces: the host writes them, and the step that reads one waits for that.
static void test_greedy_and_cancelled(void **state)
{
    const vkf_session_desc desc = {.max_batch = BATCH, .max_source_len = SOURCE, .max_target_len = 10};
    const vkf_model_config config = vkf_test_small_seq2seq();
    vkf_test_rig rig;
    vkf_test_rig_make(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, &desc, &rig);
    vkf_session *ahead = make_session(rig.gpu, rig.model, &desc, true);
    check_greedy(&rig, ahead);
    rig.model->config.forced_bos = rig.model->config.forced_eos = true;
    rig.model->config.forced_bos_id = 7;
    rig.model->config.forced_eos_id = rig.model->config.eos_id;
    check_greedy(&rig, ahead);
    vkf_session_destroy(&ahead);
    vkf_test_rig_free(&rig);
}

// Logits that are no numbers end a run, whatever has begun behind it.
static void test_logits_that_are_not_finite(void **state)
{
    const vkf_session_desc desc = {.max_batch = BATCH, .max_source_len = SOURCE, .max_target_len = 10};
    const vkf_model_config config = vkf_test_small_seq2seq();
    vkf_test_rig rig;
    greedy_run out;
    vkf_test_rig_make(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, &desc, &rig);
    vkf_test_weight *projection = vkf_test_weight_of(&rig.weights, "generator.weight");
    for (size_t i = 0; i < projection->count; i++)
        projection->values[i] = 3e38f;
    vkf_test_rig_reload(&rig);
    vkf_session *ahead = make_session(rig.gpu, rig.model, &desc, true);
    assert_int_equal(greedy(ahead, 10, 0, &out), VKF_ERROR_NOT_FINITE);
    assert_false(ahead->ahead);
    vkf_session_destroy(&ahead);
    vkf_test_rig_free(&rig);
}

// A callback is told of the step whose token it gets, though the next one is on its way.
static bool look_back(void *user, uint32_t row, int32_t token)
{
    fixture *f = user;
    vkf_timing timings[16];
    vkf_run_cost cost;
    uint32_t count = 16;
    (void)row, (void)token;
    assert_int_equal(vkf_session_get_run_cost(f->ahead, &cost), VKF_OK);
    assert_true(cost.host_ns > 0 && cost.wait_ns >= 0);
    if (f->gpu->context->device.plan.enabled.timestamps)
        assert_int_equal(vkf_session_get_timings(f->ahead, &count, timings), VKF_OK);
    return true;
}

static int open_timed(void **state)
{
    vkf_test_gpu *gpu = calloc(1, sizeof *gpu);
    vkf_context_desc desc = {.timestamps = true};
    *state = gpu;
    return gpu ? vkf_test_gpu_open(gpu, &desc) : -1;
}

static void test_timings_are_of_the_step_that_ended(void **state)
{
    fixture f = make_fixture(state, "llama");
    vkf_generate_args args = generation(1, 8, NEW);
    result out;
    args.on_token = look_back;
    args.on_token_user = &f;
    assert_int_equal(generate(f.ahead, args, &out), VKF_OK);
    check_same(&f, generation(1, 8, NEW), "with timestamps");
    free_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_those_of_one_step_at_a_time),
        cmocka_unit_test(test_tokens_by_classes_of_rows),
        cmocka_unit_test(test_full_context),
        cmocka_unit_test(test_ends_at_every_step),
        cmocka_unit_test(test_dropped_step_leaves_nothing),
        cmocka_unit_test(test_next_step_is_submitted_first),
        cmocka_unit_test(test_steps_that_cannot_run_ahead),
        cmocka_unit_test(test_steps_in_several_submissions),
        cmocka_unit_test(test_any_call_failing),
        cmocka_unit_test(test_device_lost_at_any_call),
        cmocka_unit_test(test_second_flight_that_cannot_be_made),
        cmocka_unit_test(test_plan_counts_both_flights),
        cmocka_unit_test(test_greedy_and_cancelled),
        cmocka_unit_test(test_logits_that_are_not_finite),
    };
    const struct CMUnitTest timed[] = {cmocka_unit_test(test_timings_are_of_the_step_that_ended)};
    const int failed = cmocka_run_group_tests_name("flights", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
    return failed + cmocka_run_group_tests_name("flights, timed", timed, open_timed, vkf_test_gpu_teardown);
}
