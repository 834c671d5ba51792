// Steps that take the most probable token have recordings of their own, as on GPUs: without what only other ways of
// choosing need, and with the same tokens.
#include <string.h>

#include "kernel/context.h"
#include "model/session/session.h"
#include "support/fixture.h"
#include "support/model_files.h"

#define BATCH 2u
#define SOURCE 5u
#define NEW 6u
#define LONG_ROW 32000u // from which on many workgroups share a row of logits

static const vkf_session_desc desc = {
    .max_batch = BATCH, .max_source_len = SOURCE, .max_target_len = NEW + 1, .max_beams = 2};

static const vkf_sampling greedily = {.repetition_penalty = 1.3f};
static const vkf_sampling drawing = {.temperature = 1.2f, .top_k = 40, .top_p = 0.9f, .seed = 3};

// A session on a device of many cores, whose runs are told apart, and one as this device has it.
typedef struct fixture {
    vkf_test_rig rig;
    vkf__traits before;
    vkf_session *session;
} fixture;

static vkf__traits *traits_of(const fixture *f)
{
    return &f->rig.gpu->context->device.plan.caps.traits;
}

static void pretend(const fixture *f)
{
    vkf__traits *traits = traits_of(f);
    traits->processor = false;
    traits->cores = 128;
    traits->cores_are_known = true;
    traits->rows_by_class = true;
}

static void make_fixture(void **state, fixture *f)
{
    vkf_model_config config = vkf_test_small_seq2seq();
    config.target_vocab = LONG_ROW;
    vkf_test_rig_make(vkf_test_gpu_of(state), &config, VKF_DTYPE_F32, &desc, &f->rig);
    f->before = *traits_of(f);
    pretend(f);
    f->session = vkf_test_make_session(f->rig.gpu, f->rig.model, &desc);
}

static void free_fixture(fixture *f)
{
    *traits_of(f) = f->before;
    vkf_session_destroy(&f->session);
    vkf_test_rig_free(&f->rig);
}

typedef struct result {
    int32_t ids[BATCH * NEW];
    uint32_t lengths[BATCH];
} result;

static result generate(const fixture *f, vkf_session *session, vkf_sampling sampling, uint32_t beams)
{
    static const int32_t source[] = {4, 9, 6, 11, 8, 5, 7, 10};
    static const uint32_t lengths[BATCH] = {5, 3};
    result out = {0};
    const vkf_generate_args args = {
        .batch = BATCH,
        .prompt_ids = source,
        .prompt_lengths = lengths,
        .max_new_tokens = NEW,
        .sampling = sampling,
        .beams = {.num_beams = beams, .length_penalty = 1},
        .out_ids = out.ids,
        .out_lengths = out.lengths,
    };
    if (session == f->session)
        pretend(f);
    else
        *traits_of(f) = f->before;
    if (vkf_session_generate(session, &args) != VKF_OK)
        fail_msg("%s", f->rig.gpu->last_error);
    return out;
}

static void check_same(const fixture *f, vkf_sampling sampling, uint32_t beams)
{
    const result expected = generate(f, f->rig.session, sampling, beams);
    const result actual = generate(f, f->session, sampling, beams);
    assert_memory_equal(actual.ids, expected.ids, sizeof actual.ids);
    assert_memory_equal(actual.lengths, expected.lengths, sizeof actual.lengths);
}

// In turn, so that none finds what another left behind.
static void test_tokens_are_those_of_one_recording(void **state)
{
    fixture f;
    make_fixture(state, &f);
    for (int i = 0; i < 2; i++) {
        check_same(&f, greedily, 1);
        check_same(&f, drawing, 1);
        check_same(&f, (vkf_sampling){0}, 1);
        check_same(&f, (vkf_sampling){0}, 2);
    }
    free_fixture(&f);
}

// The dispatches of a work, with a bar where one waits for those before it.
static void list(const vkf__work *work, char *out_text, size_t size_bytes)
{
    out_text[0] = '\0';
    for (uint32_t i = 0; i < work->plan.node_count; i++)
        (void)snprintf(out_text + strlen(out_text), size_bytes - strlen(out_text), "%s%s",
                       work->built.nodes[i].barrier ? " | " : (i > 0 ? ", " : ""), work->built.nodes[i].label);
}

static void test_dispatches_behind_the_layers(void **state)
{
    fixture f;
    char text[512];
    make_fixture(state, &f);
    const vkf__stage *head = &f.session->stages[f.session->group_begin[VKF_STAGES_COUNT] - 1];
    assert_string_equal(head->name, "step.head");
    (void)generate(&f, f.session, greedily, 1);
    list(head->work, text, sizeof text);
    assert_string_equal(text, "norm | generator | sample_phase | sample");
    (void)generate(&f, f.session, drawing, 1);
    list(head->work, text, sizeof text);
    assert_string_equal(text,
                        "norm | generator | sample_phase | sample_phase | sample_phase | sample_phase | "
                        "sample_phase | sample_phase | sample_phase | sample_phase | sample_phase | sample | top");
    free_fixture(&f);
}

// Recorded when the first greedy step comes, within the memory that was planned.
static void test_greedy_steps_are_recorded_once(void **state)
{
    fixture f;
    vkf_memory_usage before, after;
    make_fixture(state, &f);
    vkf_context_get_memory_usage(f.rig.gpu->context, &before);
    (void)generate(&f, f.session, drawing, 1);
    const uint32_t drawn = vkf_session_get_record_count(f.session);
    (void)generate(&f, f.session, greedily, 1);
    const uint32_t greedy = vkf_session_get_record_count(f.session);
    assert_true(greedy > drawn);
    for (int i = 0; i < 2; i++) {
        (void)generate(&f, f.session, drawing, 1);
        (void)generate(&f, f.session, greedily, 1);
    }
    assert_int_equal(vkf_session_get_record_count(f.session), greedy);
    assert_int_equal(vkf_session_get_command_buffer_count(f.session), greedy);
    vkf_context_get_memory_usage(f.rig.gpu->context, &after);
    for (uint32_t heap = 0; heap < after.heap_count; heap++)
        assert_int_equal(after.used_bytes[heap], before.used_bytes[heap]);
    free_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_those_of_one_recording),
        cmocka_unit_test(test_dispatches_behind_the_layers),
        cmocka_unit_test(test_greedy_steps_are_recorded_once),
    };
    return cmocka_run_group_tests_name("greedy steps", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
