// Parts of a model, one behind the other in one process: their logits are those of the whole model, bit for bit, and
// each allocates what its plan says.
#include "model/session/session_run.h"

#include <string.h>

#include <vkformer/vulkan.h>

#include "support/fixture.h"
#include "support/pretrained.h"

#define TOKENS 6
#define CONTEXT 16
#define VOCAB 101
#define MAX_BYTES ((size_t)1 << 16)

// Hidden states on their way from one part to the next. The first part has made all its runs before the last one
// begins, and so they wait here.
typedef struct wire {
    uint8_t bytes[MAX_BYTES];
    size_t given, taken;
} wire;

static bool give(void *user, const void *bytes, size_t size_bytes)
{
    wire *w = user;
    if (size_bytes > MAX_BYTES - w->given)
        return false;
    memcpy(w->bytes + w->given, bytes, size_bytes);
    w->given += size_bytes;
    return true;
}

static bool take(void *user, void *out_bytes, size_t size_bytes)
{
    wire *w = user;
    if (size_bytes > w->given - w->taken)
        return false;
    memcpy(out_bytes, w->bytes + w->taken, size_bytes);
    w->taken += size_bytes;
    return true;
}

static bool share(void *user, void *bytes, size_t size_bytes)
{
    (void)user, (void)bytes, (void)size_bytes;
    return true;
}

static const vkf_session_desc session_desc = {
    .max_batch = 1,
    .max_target_len = CONTEXT,
    .max_prompt_len = 4, // so that the prompt has two parts
    .max_logit_rows = 1,
};

static uint64_t planned_bytes(const vkf_memory_plan *plan)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < plan->heap_count; i++)
        sum += plan->heap_bytes[i];
    return sum;
}

// Loads a part, or with `part` NULL the whole model, and makes a session of it.
static vkf_session *open_session(const vkf_test_gpu *gpu, const char *directory, const vkf_session_desc *sizes,
                                 const vkf_layer_part *part)
{
    const vkf_model_desc desc = {.directory = directory, .part = part};
    const uint64_t before = vkf_test_bytes_in_use(gpu);
    vkf_model *model = NULL;
    vkf_session *session = NULL;
    vkf_memory_plan weights, rest;
    assert_int_equal(vkf_model_plan(gpu->context, &desc, &weights), VKF_OK);
    assert_int_equal(vkf_model_plan_session(gpu->context, &desc, sizes, &rest), VKF_OK);
    if (vkf_model_load(gpu->context, &desc, &model) != VKF_OK || vkf_session_create(model, sizes, &session) != VKF_OK)
        fail_msg("%s", gpu->last_error);
    assert_true(vkf_test_bytes_in_use(gpu) - before == planned_bytes(&weights) + planned_bytes(&rest));
    vkf_model_destroy(&model);
    return session;
}

static vkf_session *open_part(const vkf_test_gpu *gpu, const char *family, const vkf_layer_part *part)
{
    return open_session(gpu, vkf_test_pretrained(family), &session_desc, part);
}

// A prompt, then a step.
static void run(vkf_session *session, uint32_t call, float *out_logits)
{
    static const int32_t prompt[TOKENS] = {5, 17, 42, 9, 88, 63}, next = 31;
    const uint32_t count = TOKENS;
    const vkf_prefill_args prefill = {.batch = 1, .ids = prompt, .counts = &count, .out_logits = out_logits};
    const vkf_step_args step = {.batch = 1, .ids = &next, .out_logits = out_logits};
    if (call == 0)
        assert_int_equal(vkf_session_prefill(session, &prefill), VKF_OK);
    else
        assert_int_equal(vkf_session_step(session, &step), VKF_OK);
}

static void check_family(const vkf_test_gpu *gpu, const char *family)
{
    static wire w;
    const vkf_part_link link = {take, give, share, &w};
    vkf_session *whole = open_part(gpu, family, NULL);
    vkf_session *first = open_part(gpu, family, &(vkf_layer_part){.first = 0, .count = 1, .link = link});
    vkf_session *last = open_part(gpu, family, &(vkf_layer_part){.first = 1, .count = 1, .link = link});
    float expected[VOCAB], logits[VOCAB];
    for (uint32_t call = 0; call < 2; call++) {
        w.given = w.taken = 0;
        run(whole, call, expected);
        run(first, call, NULL);
        run(last, call, logits);
        assert_true(w.given > 0);
        assert_int_equal(w.taken, w.given);
        assert_memory_equal(logits, expected, sizeof logits);
    }
    vkf_session_destroy(&whole);
    vkf_session_destroy(&first);
    vkf_session_destroy(&last);
}

static void test_parts_have_the_logits_of_the_whole(void **state)
{
    static const char *const families[] = {"gpt2", "qwen2"};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        check_family(vkf_test_gpu_of(state), families[i]);
}

// ---- encoder-decoders

#define MOST_PARTS 4
#define ROWS 2
#define NEW_TOKENS 6
#define DEMO VKF_TEST_SOURCE_DIR "/tools/demo-model"

static const vkf_session_desc pair_desc = {.max_batch = ROWS, .max_source_len = 8, .max_target_len = NEW_TOKENS + 2};

// Parts of a model that take turns. Wire i leads from part i to the next, and the last part has one to each other.
typedef struct chain {
    uint32_t count;
    vkf_session *parts[MOST_PARTS];
    wire wires[MOST_PARTS], chosen[MOST_PARTS];
} chain;

typedef struct chain_end {
    chain *of;
    uint32_t part;
} chain_end;

static bool take_in_chain(void *user, void *out_bytes, size_t size_bytes)
{
    const chain_end *end = user;
    return take(&end->of->wires[end->part - 1], out_bytes, size_bytes);
}

static bool give_in_chain(void *user, const void *bytes, size_t size_bytes)
{
    const chain_end *end = user;
    return give(&end->of->wires[end->part], bytes, size_bytes);
}

static bool share_in_chain(void *user, void *bytes, size_t size_bytes)
{
    const chain_end *end = user;
    bool shared = true;
    if (end->part + 1 < end->of->count)
        return take(&end->of->chosen[end->part], bytes, size_bytes);
    for (uint32_t i = 0; i < end->part; i++)
        shared = shared && give(&end->of->chosen[i], bytes, size_bytes);
    return shared;
}

// What a generation has come to.
typedef struct generated {
    int32_t ids[ROWS * NEW_TOKENS];
    uint32_t lengths[ROWS];
    float logits[ROWS * VOCAB]; // behind the last step
} generated;

static vkf_generate_args args_of(float temperature, generated *out)
{
    static const int32_t prompts[] = {5, 17, 32, 9, 11, 28, 33};
    static const uint32_t lengths[ROWS] = {5, 2};
    return (vkf_generate_args){
        .batch = ROWS,
        .prompt_ids = prompts,
        .prompt_lengths = lengths,
        .max_new_tokens = NEW_TOKENS,
        .sampling = {.temperature = temperature, .seed = 3},
        .out_ids = out->ids,
        .out_lengths = out->lengths,
    };
}

static void read_logits(const vkf_session *session, generated *out)
{
    const uint32_t vocab = session->model->config.target_vocab;
    assert_in_range(vocab, 1, VOCAB);
    assert_int_equal(vkf__span_read_floats(&session->spans.logits, out->logits, (uint64_t)ROWS * vocab), VKF_OK);
}

// All parts make the same calls, one behind the other.
static void generate_in_turns(const chain *c, float temperature, generated *out)
{
    generated own[MOST_PARTS];
    vkf_generation *generations[MOST_PARTS];
    memset(own, 0, sizeof own);
    for (uint32_t i = 0; i < c->count; i++) {
        const vkf_generate_args args = args_of(temperature, &own[i]);
        assert_int_equal(vkf_generation_begin(c->parts[i], &args, &generations[i]), VKF_OK);
    }
    for (bool more = true; more;)
        for (uint32_t i = 0; i < c->count; i++) {
            const bool before = more;
            assert_int_equal(vkf_generation_turn(generations[i], &more), VKF_OK);
            assert_true(i == 0 || more == before);
        }
    for (uint32_t i = 0; i < c->count; i++) {
        vkf_generation_destroy(&generations[i]);
        assert_memory_equal(&own[i], &own[0], sizeof own[i]);
    }
    *out = own[0];
    read_logits(c->parts[c->count - 1], out);
}

// A row goes on to the last token. Otherwise the device may have begun a step beyond it, which leaves other logits.
static void generate_whole(vkf_session *session, float temperature, generated *out)
{
    const vkf_generate_args args = args_of(temperature, out);
    assert_int_equal(vkf_session_generate(session, &args), VKF_OK);
    assert_true(out->lengths[0] == NEW_TOKENS || out->lengths[1] == NEW_TOKENS);
    read_logits(session, out);
}

// `cuts` are the first layers of the parts, and behind them the number of all layers.
static void check_cut(const vkf_test_gpu *gpu, const char *directory, const uint32_t *cuts, uint32_t count,
                      const generated *greedy, const generated *drawn)
{
    static chain c;
    chain_end ends[MOST_PARTS];
    generated got;
    memset(&c, 0, sizeof c);
    c.count = count;
    for (uint32_t i = 0; i < count; i++) {
        const vkf_layer_part part = {
            .first = cuts[i],
            .count = cuts[i + 1] - cuts[i],
            .link = {take_in_chain, give_in_chain, share_in_chain, &ends[i]},
        };
        ends[i] = (chain_end){&c, i};
        c.parts[i] = open_session(gpu, directory, &pair_desc, &part);
    }
    generate_in_turns(&c, 0.0f, &got);
    assert_memory_equal(&got, greedy, sizeof got);
    generate_in_turns(&c, 0.9f, &got);
    assert_memory_equal(&got, drawn, sizeof got);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(c.wires[i].taken, c.wires[i].given);
        assert_int_equal(c.chosen[i].taken, c.chosen[i].given);
        vkf_session_destroy(&c.parts[i]);
    }
}

// Cut in two in every place, and into parts of one layer.
static void check_encoder_decoder(const vkf_test_gpu *gpu, const char *directory, uint32_t layers)
{
    uint32_t all[MOST_PARTS + 1];
    generated greedy = {0}, drawn = {0};
    vkf_session *whole = open_session(gpu, directory, &pair_desc, NULL);
    generate_whole(whole, 0.0f, &greedy);
    generate_whole(whole, 0.9f, &drawn);
    vkf_session_destroy(&whole);
    for (uint32_t cut = 1; cut < layers; cut++)
        check_cut(gpu, directory, (const uint32_t[]){0, cut, layers}, 2, &greedy, &drawn);
    for (uint32_t i = 0; i <= layers; i++)
        all[i] = i;
    check_cut(gpu, directory, all, layers, &greedy, &drawn);
}

static void test_parts_of_encoder_decoders_generate_as_the_whole(void **state)
{
    static const char *const families[] = {"bart", "marian", "t5"};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        check_encoder_decoder(vkf_test_gpu_of(state), vkf_test_pretrained(families[i]), 3);
    check_encoder_decoder(vkf_test_gpu_of(state), DEMO, 4);
}

static void check_refused(const vkf_test_gpu *gpu, const char *family, const vkf_layer_part *part, vkf_status expected)
{
    const vkf_model_desc desc = {.directory = vkf_test_pretrained(family), .part = part};
    vkf_model *model = NULL;
    assert_int_equal(vkf_model_load(gpu->context, &desc, &model), expected);
    assert_null(model);
}

static void test_parts_that_are_refused(void **state)
{
    const vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    static wire w;
    const vkf_part_link link = {take, give, share, &w};
    const vkf_layer_part parts[] = {
        {.first = 1, .link = link},
        {.first = 1, .count = 2, .link = link},
        {.first = 2, .count = 1, .link = link},
        {.first = 1, .count = 1, .link = {.give = give, .share = share, .user = &w}},
        {.count = 1, .link = {.take = take, .share = share, .user = &w}},
        {.count = 2},
        {.first = 1, .count = UINT32_MAX, .link = link},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        check_refused(gpu, "llama", &parts[i], VKF_ERROR_INVALID_ARGUMENT);
    check_refused(gpu, "t5", &(vkf_layer_part){.first = 2, .count = 2, .link = link}, VKF_ERROR_INVALID_ARGUMENT);
    check_refused(gpu, "bert", &(vkf_layer_part){.count = 1, .link = link}, VKF_ERROR_UNSUPPORTED);
    check_refused(gpu, "llama", &(vkf_layer_part){.count = 1, .link = link, .reserved = {1}}, VKF_ERROR_UNSUPPORTED);
    const vkf_layer_part all = {.count = 2, .link = link};
    const vkf_model_desc trainable = {.directory = vkf_test_pretrained("llama"), .trainable = true, .part = &all};
    vkf_model *model = NULL;
    assert_int_equal(vkf_model_load(gpu->context, &trainable, &model), VKF_ERROR_INVALID_ARGUMENT);
}

// Nothing else runs in the session meanwhile, which lives as long as its generation.
static void test_a_session_that_generates_in_turns_does_nothing_else(void **state)
{
    const vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    generated own = {0};
    vkf_session *session = open_session(gpu, DEMO, &pair_desc, NULL);
    const vkf_generate_args args = args_of(0.0f, &own);
    vkf_generation *generation = NULL, *second = NULL;
    bool more = false;
    assert_int_equal(vkf_generation_begin(session, &args, &generation), VKF_OK);
    assert_int_equal(vkf_session_generate(session, &args), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_generation_begin(session, &args, &second), VKF_ERROR_INVALID_ARGUMENT);
    assert_null(second);
    assert_int_equal(vkf_generation_turn(generation, &more), VKF_OK);
    assert_true(more);
    assert_int_equal(own.lengths[0], 0);
    vkf_generation_destroy(&generation);
    assert_null(generation);
    assert_int_equal(vkf_generation_begin(session, &args, &generation), VKF_OK);
    vkf_session_destroy(&session);
    do
        assert_int_equal(vkf_generation_turn(generation, &more), VKF_OK);
    while (more);
    assert_true(own.lengths[0] > 0);
    assert_int_equal(vkf_generation_turn(generation, &more), VKF_ERROR_INVALID_ARGUMENT);
    vkf_generation_destroy(&generation);
    vkf_generation_destroy(&generation);
    vkf_generation_destroy(NULL);
}

// A prompt of more than one part.
static const vkf_session_desc turn_desc = {.max_batch = ROWS, .max_target_len = NEW_TOKENS + 5, .max_prompt_len = 4};

static void check_submitted(const vkf_test_gpu *gpu, const char *directory, const vkf_session_desc *desc,
                            float temperature)
{
    generated expected = {0}, own = {0};
    vkf_session *plain = open_session(gpu, directory, desc, NULL), *session = open_session(gpu, directory, desc, NULL);
    vkf_generate_args args = args_of(temperature, &expected);
    assert_int_equal(vkf_session_generate(plain, &args), VKF_OK);
    args = args_of(temperature, &own);
    for (int i = 0; i < 2; i++) {
        vkf_generation *generation = NULL;
        assert_int_equal(vkf_generation_submit(session, &args, &generation), VKF_OK);
        for (bool more = true, ended = false; more;) {
            while (i == 0 && !ended) // the second time each turn waits
                assert_int_equal(vkf_session_ended(session, &ended), VKF_OK);
            assert_int_equal(vkf_generation_turn(generation, &more), VKF_OK);
            if (i == 0 && more)
                break; // given up while a run may be under way
        }
        vkf_generation_destroy(&generation);
    }
    assert_memory_equal(own.ids, expected.ids, sizeof own.ids);
    assert_memory_equal(own.lengths, expected.lengths, sizeof own.lengths);
    vkf_session_destroy(&session);
    vkf_session_destroy(&plain);
}

// Tokens are those of a generation that waits, and a session that was given up generates again.
static void test_submitted_generations_have_the_same_tokens(void **state)
{
    const vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (int i = 0; i < 2; i++) {
        check_submitted(gpu, vkf_test_pretrained("llama"), &turn_desc, (float)i);
        check_submitted(gpu, DEMO, &pair_desc, (float)i);
    }
}

static void test_prompts_that_are_submitted_are_not_waited_for(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    generated own = {0};
    vkf_session_desc desc = turn_desc;
    desc.max_prompt_len = 5; // the prompts in one part
    vkf_session *session = open_session(gpu, vkf_test_pretrained("llama"), &desc, NULL);
    const vkf_generate_args args = args_of(0, &own);
    vkf_generation *generation = NULL;
    assert_int_equal(vkf_session_generate(session, &args), VKF_OK); // the first run proves kernels, which waits
    vkf_test_forbid_waits(gpu);
    const vkf_status status = vkf_generation_submit(session, &args, &generation);
    vkf_test_allow_waits(gpu);
    assert_int_equal(status, VKF_OK);
    vkf_generation_destroy(&generation);
    vkf_session_destroy(&session);
}

static void test_submitted_generations_that_are_refused(void **state)
{
    const vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_layer_part last = {.first = 1, .count = 1, .link = {take, give, share, NULL}};
    for (int i = 0; i < 3; i++) {
        generated own = {0};
        vkf_session_desc desc = turn_desc;
        vkf_generation *generation = NULL;
        desc.max_beams = i == 0 ? 2 : 0;
        desc.attention_weights = i == 1 ? VKF_ATTENTION_DECODER : 0;
        vkf_session *session = open_session(gpu, vkf_test_pretrained("llama"), &desc, i == 2 ? &last : NULL);
        vkf_generate_args args = args_of(0, &own);
        args.beams.num_beams = i == 0 ? 2 : 1;
        assert_int_equal(vkf_generation_submit(session, &args, &generation), VKF_ERROR_INVALID_ARGUMENT);
        assert_null(generation);
        args.beams.num_beams = 1;
        if (i < 2)
            assert_int_equal(vkf_session_generate(session, &args), VKF_OK); // it goes on
        vkf_session_destroy(&session);
    }
}

// The host passes hidden states on between two parts, so that nothing of one is submitted without waiting.
static void test_parts_are_not_submitted(void **state)
{
    static wire empty;
    const vkf_layer_part part = {.first = 1, .count = 1, .link = {take, give, share, &empty}};
    vkf_session *session = open_part(vkf_test_gpu_of(state), "llama", &part);
    const int32_t id = 7;
    const vkf_step_args step = {.batch = 1, .ids = &id};
    const uint32_t count = 1;
    const vkf_prefill_args prompt = {.batch = 1, .ids = &id, .counts = &count};
    const vkf_session_submit_desc none = {0};
    assert_int_equal(vkf_session_submit_step(session, &step, &none), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_session_prepare_step(session, &step), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_session_submit_prefill(session, &prompt, &none), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_session_record_step(session, VK_NULL_HANDLE), VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(vkf_last_error(VKF_ERROR_INVALID_ARGUMENT), "a part"));
    vkf_session_destroy(&session);
}

static void test_a_link_that_fails_ends_the_run(void **state)
{
    static wire empty;
    const vkf_layer_part part = {.first = 1, .count = 1, .link = {take, give, share, &empty}};
    vkf_session *session = open_part(vkf_test_gpu_of(state), "llama", &part);
    const vkf_step_args step = {.batch = 1, .ids = (const int32_t[]){7}};
    assert_int_equal(vkf_session_step(session, &step), VKF_ERROR_CANCELLED);
    assert_int_equal(vkf_session_get_position(session, 0), 0);
    vkf_session_destroy(&session);
}

// What a part does, a letter for each call of its link.
typedef struct call_log {
    char calls[64];
    size_t count;
} call_log;

static bool take_nothing(void *user, void *out_bytes, size_t size_bytes)
{
    call_log *log = user;
    memset(out_bytes, 0, size_bytes);
    log->calls[log->count++] = 't';
    return log->count < sizeof log->calls;
}

static bool note_share(void *user, void *bytes, size_t size_bytes)
{
    call_log *log = user;
    (void)bytes, (void)size_bytes;
    log->calls[log->count++] = 's';
    return log->count < sizeof log->calls;
}

// If the last part kept what it has chosen until its next turn, the first could not go on, and no two parts would ever
// work at once.
static void test_the_last_part_shares_before_it_takes_again(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    static call_log log;
    const vkf_layer_part part = {.first = 1, .count = 1, .link = {take_nothing, give, note_share, &log}};
    const vkf_model_desc desc = {.directory = vkf_test_pretrained("gpt2"), .part = &part};
    const vkf_text prompts[] = {{"rain", 4}, {"all", 3}, {"bell", 4}};
    vkf_continuation continuations[3];
    vkf_model *model = NULL;
    assert_int_equal(vkf_model_load(gpu->context, &desc, &model), VKF_OK);
    const vkf_generator_desc generator_desc = {.directory = desc.directory, .model = model, .batches = 2};
    vkf_generator *generator = vkf_test_make_generator(gpu, &generator_desc);
    const vkf_generator_args args = {
        .prompts = prompts, .count = 3, .max_new_tokens = 3, .out_continuations = continuations};
    assert_int_equal(vkf_generator_run(generator, &args), VKF_OK);
    assert_true(log.count > 0 && log.count % 2 == 0);
    for (size_t i = 0; i < log.count; i++)
        assert_int_equal(log.calls[i], i % 2 == 0 ? 't' : 's');
    for (size_t i = 0; i < 3; i++)
        vkf_continuation_free(&continuations[i]);
    vkf_generator_destroy(&generator);
    vkf_model_destroy(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_the_logits_of_the_whole),
        cmocka_unit_test(test_parts_of_encoder_decoders_generate_as_the_whole),
        cmocka_unit_test(test_parts_that_are_refused),
        cmocka_unit_test(test_a_session_that_generates_in_turns_does_nothing_else),
        cmocka_unit_test(test_submitted_generations_have_the_same_tokens),
        cmocka_unit_test(test_prompts_that_are_submitted_are_not_waited_for),
        cmocka_unit_test(test_submitted_generations_that_are_refused),
        cmocka_unit_test(test_parts_are_not_submitted),
        cmocka_unit_test(test_a_link_that_fails_ends_the_run),
        cmocka_unit_test(test_the_last_part_shares_before_it_takes_again),
    };
    return cmocka_run_group_tests_name("layer_part", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
