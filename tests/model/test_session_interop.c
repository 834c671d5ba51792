// A model's runs between a program's own submissions: submitted without waiting, between semaphores, or recorded into
// command buffers of the program's. What comes out is what vkf_session_encode() and vkf_session_step() give, bit by
// bit.
#include <stdlib.h>
#include <string.h>

#include "model/session/session.h"
#include "support/compare.h"
#include "support/model_files.h"
#include "support/pretrained.h"
#include "support/vulkan_program.h"

#define USAGE (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

enum { BATCH = 3, SOURCE = 12, CONTEXT = 24, PROMPT = 5, STEPS = 4, RUNS = 3, MOST = BATCH * 1024 };

// A run takes a few milliseconds. What is not signalled soon never will be.
#define HELD_NS 100000000u
#define SOON_NS 20000000000u

static const uint32_t run_batch[RUNS] = {3, 1, 2}, run_len[RUNS] = {12, 1, 7};

typedef struct fixture {
    program *p;
    vkf_model *model;
    vkf_session *session, *plain; // of the same description
    uint32_t vocab, dim;
    int32_t ids[BATCH * SOURCE];
    uint32_t lengths[BATCH];
    float expected[MOST];
} fixture;

static const vkf_session_submit_desc none; // nothing to wait for, and nobody to tell

static vkf_session *make_session(fixture *b)
{
    const vkf_session_desc desc = {
        .max_batch = BATCH,
        .max_source_len = SOURCE,
        .max_target_len = CONTEXT,
        .max_prompt_len = 8,
        .max_logit_rows = 3,
    };
    return vkf_test_make_session(&b->p->gpu, b->model, &desc);
}

static void fixture_open(fixture *b, void **state, const char *family)
{
    vkf_model_config config;
    *b = (fixture){.p = program_of(state)};
    b->model = vkf_test_load_family(&b->p->gpu, family);
    vkf_model_get_config(b->model, &config);
    b->vocab = config.target_vocab;
    b->dim = config.d_model;
    assert_true(b->vocab * BATCH <= MOST && b->dim * BATCH <= MOST);
    b->session = make_session(b);
    b->plain = make_session(b);
    for (int32_t i = 0; i < BATCH * SOURCE; i++)
        b->ids[i] = 5 + i * 7 % 60;
    for (int32_t i = 0; i < BATCH; i++)
        b->lengths[i] = 1;
}

static void fixture_close(fixture *b)
{
    assert_int_equal(b->p->vk.vkQueueWaitIdle(b->p->queue), VK_SUCCESS);
    vkf_session_destroy(&b->session);
    vkf_session_destroy(&b->plain);
    vkf_model_destroy(&b->model);
}

static void check_ok(const fixture *b, vkf_status status)
{
    vkf_test_must(&b->p->gpu, status);
}

// Where in a VkBuffer a tensor of the session begins.
static VkBuffer find(const fixture *b, vkf_session_data data, VkDeviceSize *out_offset)
{
    VkBuffer buffer = VK_NULL_HANDLE;
    vkf_tensor tensor;
    assert_true(vkf_session_get_tensor(b->session, data, &tensor));
    vkf_buffer_get_vulkan(tensor.buffer, &buffer, out_offset);
    *out_offset += tensor.offset_bytes;
    return buffer;
}

static void record_keeping(const fixture *b, VkCommandBuffer commands, vkf_session_data data, const own_buffer *kept,
                           size_t count)
{
    VkBufferCopy region = {.size = count * sizeof(float)};
    const VkBuffer from = find(b, data, &region.srcOffset);
    b->p->vk.vkCmdCopyBuffer(commands, from, kept->handle, 1, &region);
    program_barrier(b->p, commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                    VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

static VkCommandBuffer keeping(const fixture *b, vkf_session_data data, const own_buffer *kept, size_t count)
{
    VkCommandBuffer commands = program_begin(b->p);
    record_keeping(b, commands, data, kept, count);
    assert_int_equal(b->p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    return commands;
}

static vkf_encode_args encode_args(fixture *b, int run)
{
    for (uint32_t i = 0; i < run_batch[run]; i++)
        b->lengths[i] = run_len[run] > i ? run_len[run] - i : 1;
    return (vkf_encode_args){
        .batch = run_batch[run], .source_len = run_len[run], .source_ids = b->ids + run, .source_lengths = b->lengths};
}

static size_t expect_embeddings(fixture *b, int run)
{
    vkf_encode_args args = encode_args(b, run);
    args.out_embeddings = b->expected;
    check_ok(b, vkf_session_encode(b->plain, &args));
    return (size_t)args.batch * b->dim;
}

static void read_embeddings(const fixture *b, float *out_values, size_t count)
{
    vkf_tensor tensor;
    assert_true(vkf_session_get_tensor(b->session, VKF_SESSION_EMBEDDINGS, &tensor));
    assert_int_equal(tensor.rank, 2);
    assert_int_equal(tensor.shape[0], BATCH);
    assert_int_equal(tensor.shape[1], b->dim);
    check_ok(b, vkf_buffer_read(tensor.buffer, tensor.offset_bytes, out_values, count * sizeof *out_values));
}

static void check_same(const fixture *b, const float *values, size_t count, const char *what)
{
    assert_close(values, b->expected, count, 0, 0, vkf_test_label(&b->p->gpu, "%s", what));
}

// The run is held by a semaphore of the program's until the host has seen that it was submitted.
static void test_submitted_encodes_are_held_and_signal(void **state)
{
    static fixture b;
    static float got[MOST];
    fixture_open(&b, state, "bert");
    VkSemaphore begin = program_semaphore(b.p, true), end = program_semaphore(b.p, true);
    for (int run = 0; run < RUNS; run++) {
        const size_t count = expect_embeddings(&b, run);
        const vkf_encode_args args = encode_args(&b, run);
        const vkf_semaphore_value wait = {begin, (uint64_t)run + 1}, done = {end, (uint64_t)run + 1};
        const vkf_session_submit_desc desc = {.waits = &wait, .wait_count = 1, .signals = &done, .signal_count = 1};
        bool ended = true;
        check_ok(&b, vkf_session_submit_encode(b.session, &args, &desc));
        assert_int_equal(vkf_session_ended(b.session, &ended), VKF_OK);
        assert_false(ended);
        assert_false(program_reaches(b.p, end, done.value, HELD_NS));
        program_signal(b.p, begin, wait.value);
        check_ok(&b, vkf_session_wait(b.session));
        assert_int_equal(vkf_session_ended(b.session, &ended), VKF_OK);
        assert_true(ended);
        assert_true(program_reaches(b.p, end, done.value, SOON_NS));
        read_embeddings(&b, got, count);
        check_same(&b, got, count, "a submitted encode");
    }
    b.p->vk.vkDestroySemaphore(b.p->device, begin, NULL);
    b.p->vk.vkDestroySemaphore(b.p->device, end, NULL);
    fixture_close(&b);
}

// What the library asks of the queue: w for a submission that waits for a semaphore, s for one that signals, and - for
// others.
typedef struct queue_log {
    PFN_vkQueueSubmit submit;
    char events[64];
    uint32_t count;
} queue_log;

static queue_log queue;

static VKAPI_ATTR VkResult VKAPI_CALL submit_noted(VkQueue handle, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence)
{
    const VkSubmitInfo *info = &infos[count - 1];
    assert_true(queue.count + 1 < sizeof queue.events);
    queue.events[queue.count++] = info->waitSemaphoreCount > 0 ? 'w' : info->signalSemaphoreCount > 0 ? 's' : '-';
    return queue.submit(handle, count, infos, fence);
}

// A run that is more work than one submission should be waits with its first part, and signals with its last.
static void test_encodes_in_parts_are_held_and_signal(void **state)
{
    static fixture b;
    static float got[MOST];
    fixture_open(&b, state, "bert");
    VkSemaphore begin = program_semaphore(b.p, false), end = program_semaphore(b.p, true);
    const size_t count = expect_embeddings(&b, 0);
    const vkf_encode_args args = encode_args(&b, 0);
    const vkf_semaphore_value wait = {.semaphore = begin}, done = {end, 1};
    const vkf_session_submit_desc desc = {.waits = &wait, .wait_count = 1, .signals = &done, .signal_count = 1};
    own_buffer kept = program_buffer(b.p, sizeof b.expected, USAGE);
    VkCommandBuffer nothing = program_begin(b.p);
    assert_int_equal(b.p->vk.vkEndCommandBuffer(nothing), VK_SUCCESS);
    b.p->gpu.context->submission_flops = 1;
    program_submit_after(b.p, nothing, VK_NULL_HANDLE, begin);
    PFN_vkQueueSubmit *submit = &b.p->gpu.context->device.vk.vkQueueSubmit;
    queue = (queue_log){.submit = *submit};
    *submit = submit_noted;
    check_ok(&b, vkf_session_submit_encode(b.session, &args, &desc));
    *submit = queue.submit;
    // Where parameters are no memory of the host's, they are copied first.
    const char *events = strchr(queue.events, 'w');
    assert_non_null(events);
    const size_t submissions = strlen(events);
    assert_int_equal(submissions, b.session->group_begin[VKF_STAGES_ENCODE + 1]); // one for each command buffer
    for (size_t i = 0; i < submissions; i++)
        assert_int_equal(events[i], i == 0 ? 'w' : i + 1 == submissions ? 's' : '-');
    program_submit_after(b.p, keeping(&b, VKF_SESSION_EMBEDDINGS, &kept, count), VK_NULL_HANDLE, VK_NULL_HANDLE);
    assert_true(program_reaches(b.p, end, done.value, SOON_NS));
    check_ok(&b, vkf_session_wait(b.session));
    assert_int_equal(b.p->vk.vkQueueWaitIdle(b.p->queue), VK_SUCCESS);
    b.p->gpu.context->submission_flops = 0;
    check_same(&b, kept.mapped, count, "a submitted encode in parts");
    read_embeddings(&b, got, count);
    check_same(&b, got, count, "a submitted encode in parts, read by the host");
    program_destroy_buffer(b.p, &kept);
    b.p->vk.vkDestroySemaphore(b.p->device, begin, NULL);
    b.p->vk.vkDestroySemaphore(b.p->device, end, NULL);
    fixture_close(&b);
}

// The program writes the ids on the device and copies the result there; the host sees neither.
static void test_submitted_encode_reads_ids_of_the_device(void **state)
{
    static fixture b;
    fixture_open(&b, state, "bert");
    const size_t count = expect_embeddings(&b, 2);
    vkf_encode_args args = encode_args(&b, 2);
    own_buffer kept = program_buffer(b.p, sizeof b.expected, USAGE);
    VkSemaphore written = program_semaphore(b.p, false), ran = program_semaphore(b.p, false);
    VkCommandBuffer write = program_begin(b.p);
    VkDeviceSize offset = 0;
    const VkBuffer ids = find(&b, VKF_SESSION_SOURCE_IDS, &offset);
    b.p->vk.vkCmdUpdateBuffer(write, ids, offset, sizeof(int32_t) * args.batch * args.source_len, args.source_ids);
    assert_int_equal(b.p->vk.vkEndCommandBuffer(write), VK_SUCCESS);
    program_submit_after(b.p, write, VK_NULL_HANDLE, written);
    const vkf_semaphore_value wait = {.semaphore = written}, done = {.semaphore = ran};
    const vkf_session_submit_desc desc = {.waits = &wait, .wait_count = 1, .signals = &done, .signal_count = 1};
    args.source_ids = NULL;
    check_ok(&b, vkf_session_submit_encode(b.session, &args, &desc));
    program_submit_after(b.p, keeping(&b, VKF_SESSION_EMBEDDINGS, &kept, count), ran, VK_NULL_HANDLE);
    assert_int_equal(b.p->vk.vkQueueWaitIdle(b.p->queue), VK_SUCCESS);
    check_same(&b, kept.mapped, count, "ids of the device");
    fixture_close(&b);
    b.p->vk.vkDestroySemaphore(b.p->device, written, NULL);
    b.p->vk.vkDestroySemaphore(b.p->device, ran, NULL);
    program_destroy_buffer(b.p, &kept);
}

static void prefill(const fixture *b, vkf_session *session)
{
    static const uint32_t counts[BATCH] = {PROMPT, PROMPT - 2, PROMPT - 1};
    const vkf_prefill_args args = {.batch = BATCH, .ids = b->ids, .counts = counts};
    check_ok(b, vkf_session_prefill(session, &args));
}

static vkf_step_args step_args(const fixture *b, uint32_t step)
{
    return (vkf_step_args){.batch = BATCH, .ids = b->ids + 3 * step};
}

static void expect_step(fixture *b, uint32_t step)
{
    vkf_step_args args = step_args(b, step);
    args.out_logits = b->expected;
    check_ok(b, vkf_session_step(b->plain, &args));
}

static void check_rows(const fixture *b)
{
    for (uint32_t row = 0; row < BATCH; row++) {
        const uint32_t count = vkf_session_get_position(b->plain, row);
        assert_int_equal(vkf_session_get_position(b->session, row), count);
        assert_memory_equal(vkf_session_get_tokens(b->session, row), vkf_session_get_tokens(b->plain, row),
                            count * sizeof(int32_t));
    }
}

// Steps are submitted one behind the other, with a copy of the program's behind each; the host waits for none.
static void test_submitted_steps_follow_one_another(void **state)
{
    static fixture b;
    own_buffer kept[STEPS];
    fixture_open(&b, state, "llama");
    const size_t count = (size_t)BATCH * b.vocab;
    prefill(&b, b.plain);
    prefill(&b, b.session);
    for (uint32_t i = 0; i < STEPS; i++) {
        const vkf_step_args args = step_args(&b, i);
        kept[i] = program_buffer(b.p, sizeof b.expected, USAGE);
        check_ok(&b, vkf_session_submit_step(b.session, &args, &none));
        program_submit_after(b.p, keeping(&b, VKF_SESSION_LOGITS, &kept[i], count), VK_NULL_HANDLE, VK_NULL_HANDLE);
    }
    assert_int_equal(b.p->vk.vkQueueWaitIdle(b.p->queue), VK_SUCCESS);
    for (uint32_t i = 0; i < STEPS; i++) {
        expect_step(&b, i);
        check_same(&b, kept[i].mapped, count, "a submitted step");
        program_destroy_buffer(b.p, &kept[i]);
    }
    check_rows(&b);
    fixture_close(&b);
}

// Whatever comes next waits by itself: a step of the other kind, a truncation, and the end.
static void test_next_call_waits_for_a_submitted_step(void **state)
{
    static fixture b;
    static float got[MOST];
    fixture_open(&b, state, "llama");
    const size_t count = (size_t)BATCH * b.vocab;
    vkf_step_args args = step_args(&b, 0);
    prefill(&b, b.plain);
    prefill(&b, b.session);
    for (uint32_t i = 0; i < 2 * STEPS; i++) {
        args = step_args(&b, i);
        expect_step(&b, i);
        args.out_logits = i % 2 == 0 ? NULL : got;
        if (i % 2 == 0)
            check_ok(&b, vkf_session_submit_step(b.session, &args, &none));
        else
            check_ok(&b, vkf_session_step(b.session, &args));
    }
    check_same(&b, got, count, "a step behind a submitted one");
    args.out_logits = NULL;
    check_ok(&b, vkf_session_submit_step(b.session, &args, &none));
    fixture_close(&b); // while it may still run
}

// Where a row was cut or gets no token, positions of rows run before the step. It has the logits all the same.
static void test_submitted_steps_of_unequal_rows(void **state)
{
    static fixture b;
    static float got[MOST];
    static const int32_t ids[][BATCH] = {{7, 8, 9}, {-1, 10, 11}, {12, -1, 13}, {14, 15, 16}};
    vkf_tensor tensor;
    fixture_open(&b, state, "llama");
    prefill(&b, b.plain);
    prefill(&b, b.session);
    check_ok(&b, vkf_session_truncate(b.plain, 0, 2));
    check_ok(&b, vkf_session_truncate(b.session, 0, 2));
    assert_true(vkf_session_get_tensor(b.session, VKF_SESSION_LOGITS, &tensor));
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        const vkf_step_args expected = {.batch = BATCH, .ids = ids[i], .out_logits = b.expected};
        const vkf_step_args args = {.batch = BATCH, .ids = ids[i]};
        check_ok(&b, vkf_session_step(b.plain, &expected));
        check_ok(&b, vkf_session_submit_step(b.session, &args, &none));
        check_ok(&b, vkf_session_wait(b.session));
        check_ok(&b, vkf_buffer_read(tensor.buffer, tensor.offset_bytes, got, sizeof(float) * BATCH * b.vocab));
        for (uint32_t row = 0; row < BATCH; row++)
            if (ids[i][row] >= 0)
                assert_close(got + row * b.vocab, b.expected + row * b.vocab, b.vocab, 1e-4, 1e-4,
                             vkf_test_label(&b.p->gpu, "row %u of step %zu", row, i));
        check_rows(&b);
    }
    fixture_close(&b);
}

// Nobody knows what the cache holds then.
static void test_rows_are_empty_behind_a_failure(void **state)
{
    static fixture b;
    fixture_open(&b, state, "llama");
    const vkf_step_args args = step_args(&b, 0);
    prefill(&b, b.session);
    check_ok(&b, vkf_session_submit_step(b.session, &args, &none));
    assert_int_equal(vkf_session_get_position(b.session, 0), PROMPT + 1);
    vkf_test_forbid_waits(&b.p->gpu);
    const vkf_status status = vkf_session_wait(b.session);
    vkf_test_allow_waits(&b.p->gpu);
    assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
    for (uint32_t row = 0; row < BATCH; row++)
        assert_int_equal(vkf_session_get_position(b.session, row), 0);
    check_ok(&b, vkf_session_wait(b.session)); // nothing is under way any more
    prefill(&b, b.plain);
    prefill(&b, b.session);
    check_rows(&b);
    fixture_close(&b);
}

// Prompts of one part, of one position, and of more parts, of which the last one is not waited for.
static void test_submitted_prompts_are_those_of_prefill(void **state)
{
    static fixture b;
    static float got[MOST];
    static const uint32_t counts[][BATCH] = {{PROMPT, PROMPT - 2, PROMPT - 1}, {1, 1, 1}, {9, 0, 3}, {8, 0, 1}};
    vkf_tensor tensor;
    fixture_open(&b, state, "llama");
    VkSemaphore begin = program_semaphore(b.p, true);
    assert_true(vkf_session_get_tensor(b.session, VKF_SESSION_LOGITS, &tensor));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const vkf_prefill_args args = {.batch = BATCH, .ids = b.ids + i, .counts = counts[i]};
        vkf_prefill_args expected = args;
        const vkf_semaphore_value wait = {begin, i + 1};
        const vkf_session_submit_desc desc = {.waits = &wait, .wait_count = 1};
        bool ended = true;
        expected.out_logits = b.expected;
        check_ok(&b, vkf_session_prefill(b.plain, &expected));
        check_ok(&b, vkf_session_submit_prefill(b.session, &args, &desc));
        assert_int_equal(vkf_session_ended(b.session, &ended), VKF_OK);
        assert_false(ended);
        program_signal(b.p, begin, wait.value);
        check_ok(&b, vkf_session_wait(b.session));
        check_ok(&b, vkf_buffer_read(tensor.buffer, tensor.offset_bytes, got, sizeof(float) * BATCH * b.vocab));
        for (uint32_t row = 0; row < BATCH; row++)
            if (counts[i][row] > 0)
                assert_close(got + row * b.vocab, b.expected + row * b.vocab, b.vocab, 0, 0,
                             vkf_test_label(&b.p->gpu, "row %u of prompt %zu", row, i));
        check_rows(&b);
    }
    b.p->vk.vkDestroySemaphore(b.p->device, begin, NULL);
    fixture_close(&b);
}

// The decoder follows at once, and reads the memory that the submitted run leaves.
static void test_decoder_follows_a_submitted_encode(void **state)
{
    static fixture b;
    static float got[MOST];
    static const int32_t targets[] = {2, 5, 9};
    fixture_open(&b, state, "bart");
    vkf_encode_args args = encode_args(&b, 1);
    args.source_len = 4;
    b.lengths[0] = 3;
    const vkf_decode_args expected = {.target_len = 3, .target_ids = targets, .out_logits = b.expected};
    const vkf_decode_args decode = {.target_len = 3, .target_ids = targets, .out_logits = got};
    check_ok(&b, vkf_session_encode(b.plain, &args));
    check_ok(&b, vkf_session_decode(b.plain, &expected));
    for (int i = 0; i < 2; i++) { // the second time with the ids that are there
        check_ok(&b, vkf_session_submit_encode(b.session, &args, &none));
        check_ok(&b, vkf_session_decode(b.session, &decode));
        check_same(&b, got, (size_t)3 * b.vocab, "a decoder behind a submitted encode");
        args.source_ids = NULL;
    }
    fixture_close(&b);
}

// Recorded once behind a copy of ids, and submitted for several sizes: all by the kernels of the largest.
static void test_recorded_encodes_run_with_sizes_of_their_own(void **state)
{
    static fixture b;
    vkf__traits *traits = &program_of(state)->gpu.context->device.plan.caps.traits;
    traits->rows_by_class = false;
    fixture_open(&b, state, "bert");
    own_buffer kept = program_buffer(b.p, sizeof b.expected, USAGE);
    VkCommandBuffer commands = program_begin(b.p);
    check_ok(&b, vkf_session_record_encode(b.session, commands));
    record_keeping(&b, commands, VKF_SESSION_EMBEDDINGS, &kept, (size_t)BATCH * b.dim);
    assert_int_equal(b.p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    const uint32_t recorded = vkf_session_get_record_count(b.session);
    for (int run = 0; run < 2 * RUNS; run++) {
        const size_t count = expect_embeddings(&b, run % RUNS);
        const vkf_encode_args args = encode_args(&b, run % RUNS);
        check_ok(&b, vkf_session_prepare_encode(b.session, &args));
        program_submit(b.p, commands);
        check_same(&b, kept.mapped, count, "a recorded encode");
    }
    assert_int_equal(vkf_session_get_record_count(b.session), recorded);
    fixture_close(&b);
    program_destroy_buffer(b.p, &kept);
    traits->rows_by_class = !traits->processor;
}

// The program runs the steps; between them the session runs a step by itself.
static void test_recorded_steps_keep_the_cache(void **state)
{
    static fixture b;
    static float got[MOST];
    fixture_open(&b, state, "llama");
    const size_t count = (size_t)BATCH * b.vocab;
    own_buffer kept = program_buffer(b.p, sizeof b.expected, USAGE);
    VkCommandBuffer commands = program_begin(b.p);
    check_ok(&b, vkf_session_record_step(b.session, commands));
    record_keeping(&b, commands, VKF_SESSION_LOGITS, &kept, count);
    assert_int_equal(b.p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    prefill(&b, b.plain);
    prefill(&b, b.session);
    for (uint32_t i = 0; i < 2 * STEPS; i++) {
        vkf_step_args args = step_args(&b, i);
        expect_step(&b, i);
        if (i == STEPS) {
            args.out_logits = got;
            check_ok(&b, vkf_session_step(b.session, &args));
            check_same(&b, got, count, "the session's own step");
            continue;
        }
        check_ok(&b, vkf_session_prepare_step(b.session, &args));
        program_submit(b.p, commands);
        check_same(&b, kept.mapped, count, "a recorded step");
    }
    check_rows(&b);
    fixture_close(&b);
    program_destroy_buffer(b.p, &kept);
}

// With classes of rows, as on GPUs, submissions take the kernels of theirs, and recordings those of the largest.
static void test_classes_of_rows(void **state)
{
    vkf__traits *traits = &program_of(state)->gpu.context->device.plan.caps.traits;
    const bool by_class = traits->rows_by_class;
    static fixture b;
    static float got[MOST];
    traits->rows_by_class = true;
    fixture_open(&b, state, "bert");
    VkCommandBuffer commands = program_begin(b.p);
    check_ok(&b, vkf_session_record_encode(b.session, commands));
    assert_int_equal(b.p->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    for (int run = 0; run < RUNS; run++) {
        const size_t count = expect_embeddings(&b, run);
        const vkf_encode_args args = encode_args(&b, run);
        check_ok(&b, vkf_session_submit_encode(b.session, &args, &none));
        check_ok(&b, vkf_session_wait(b.session));
        read_embeddings(&b, got, count);
        check_same(&b, got, count, "a submitted encode of a class");
        check_ok(&b, vkf_session_prepare_encode(b.session, &args));
        program_submit(b.p, commands);
        read_embeddings(&b, got, count);
        assert_close(got, b.expected, count, 1e-5, 1e-5, vkf_test_label(&b.p->gpu, "a recorded encode of the largest"));
    }
    traits->rows_by_class = by_class;
    fixture_close(&b);
}

static const vkf_model_config embedded = {
    .kind = VKF_MODEL_TRANSFORMER,
    .d_model = 16,
    .num_heads = 4,
    .num_encoder_layers = 2,
    .num_decoder_layers = 1,
    .dim_feedforward = 32,
    .activation = VKF_ACTIVATION_RELU,
    .layer_norm_eps = 1e-5f,
    .final_norm = true,
};

// The source of a model without ids: from the host, and written on the device by the program.
static void test_source_on_the_device(void **state)
{
    enum { COUNT = 2 * 4 * 16 };
    static const vkf_session_desc sizes = {.max_batch = 2, .max_source_len = 5, .max_target_len = 3};
    static float source[COUNT], expected[COUNT], got[COUNT];
    program *p = program_of(state);
    vkf_test_rig rig;
    vkf_tensor memory;
    for (int i = 0; i < COUNT; i++)
        source[i] = (float)(i * 37 % 64) / 32 - 1;
    vkf_test_rig_make(&p->gpu, &embedded, VKF_DTYPE_F32, &sizes, &rig);
    vkf_encode_args args = {.batch = 2, .source_len = 4, .source = source, .out_memory = expected};
    assert_int_equal(vkf_session_encode(rig.session, &args), VKF_OK);
    assert_true(vkf_session_get_tensor(rig.session, VKF_SESSION_MEMORY, &memory));
    args.out_memory = NULL;
    for (int i = 0; i < 2; i++) {
        if (i == 1) {
            assert_int_equal(vkf_buffer_write(memory.buffer, memory.offset_bytes, source, sizeof source), VKF_OK);
            args.source = NULL;
        }
        assert_int_equal(vkf_session_submit_encode(rig.session, &args, &none), VKF_OK);
        assert_int_equal(vkf_session_wait(rig.session), VKF_OK);
        assert_int_equal(vkf_buffer_read(memory.buffer, memory.offset_bytes, got, sizeof got), VKF_OK);
        assert_close(got, expected, COUNT, 0, 0, vkf_test_label(&p->gpu, "source of the %s", i ? "device" : "host"));
    }
    vkf_test_rig_free(&rig);
}

static void check_refused(const fixture *b, vkf_status status, const char *why)
{
    vkf_test_expect(&b->p->gpu, status, VKF_ERROR_INVALID_ARGUMENT, why);
}

static void test_unusable_encodes_are_refused(void **state)
{
    static fixture b;
    fixture_open(&b, state, "roberta");
    const vkf_semaphore_value null = {0};
    const vkf_session_submit_desc bad = {.waits = &null, .wait_count = 1};
    vkf_encode_args args = encode_args(&b, 0);
    check_refused(&b, vkf_session_submit_encode(b.session, &args, &bad), "waits[0] is null");
    check_refused(&b, vkf_session_record_encode(b.session, VK_NULL_HANDLE), "the command buffer is null");
    check_refused(&b, vkf_session_record_step(b.session, VK_NULL_HANDLE), "no DECODER");
    args.out_memory = b.expected;
    check_refused(&b, vkf_session_submit_encode(b.session, &args, &none), "results stay on the device");
    args.out_memory = NULL;
    args.source_ids = NULL; // RoBERTa's positions depend on the ids
    check_refused(&b, vkf_session_prepare_encode(b.session, &args), "source_ids are NULL");
    args = encode_args(&b, 0);
    args.source_len = SOURCE + 1;
    assert_int_equal(vkf_session_submit_encode(b.session, &args, &none), VKF_ERROR_TOO_LARGE);
    fixture_close(&b);
}

static void test_unusable_steps_are_refused(void **state)
{
    static fixture b;
    vkf_tensor tensor;
    fixture_open(&b, state, "llama");
    vkf_step_args args = step_args(&b, 0);
    const vkf_encode_args encode = encode_args(&b, 0);
    args.out_logits = b.expected;
    check_refused(&b, vkf_session_submit_step(b.session, &args, &none), "results stay on the device");
    check_refused(&b, vkf_session_submit_encode(b.session, &encode, &none), "no encoder");
    const vkf_prefill_args prompt = {
        .batch = 1, .ids = b.ids, .counts = &(const uint32_t){PROMPT}, .out_logits = b.expected};
    check_refused(&b, vkf_session_submit_prefill(b.session, &prompt, &none), "results stay on the device");
    check_refused(&b, vkf_session_record_step(b.session, VK_NULL_HANDLE), "the command buffer is null");
    assert_false(vkf_session_get_tensor(b.session, VKF_SESSION_EMBEDDINGS, &tensor));
    assert_false(vkf_session_get_tensor(b.session, VKF_SESSION_DATA_COUNT, &tensor));
    assert_int_equal(vkf_session_get_position(b.session, 0), 0);
    fixture_close(&b);
}

static int open_timeline(void **state)
{
    return program_open(state, &(program_wishes){.api_version = VK_API_VERSION_1_3, .setup = true, .aggregates = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_submitted_encodes_are_held_and_signal),
        cmocka_unit_test(test_encodes_in_parts_are_held_and_signal),
        cmocka_unit_test(test_submitted_encode_reads_ids_of_the_device),
        cmocka_unit_test(test_submitted_steps_follow_one_another),
        cmocka_unit_test(test_next_call_waits_for_a_submitted_step),
        cmocka_unit_test(test_submitted_steps_of_unequal_rows),
        cmocka_unit_test(test_rows_are_empty_behind_a_failure),
        cmocka_unit_test(test_submitted_prompts_are_those_of_prefill),
        cmocka_unit_test(test_decoder_follows_a_submitted_encode),
        cmocka_unit_test(test_recorded_encodes_run_with_sizes_of_their_own),
        cmocka_unit_test(test_recorded_steps_keep_the_cache),
        cmocka_unit_test(test_classes_of_rows),
        cmocka_unit_test(test_source_on_the_device),
        cmocka_unit_test(test_unusable_encodes_are_refused),
        cmocka_unit_test(test_unusable_steps_are_refused),
    };
    return cmocka_run_group_tests_name("session_interop", tests, open_timeline, program_close);
}
