// Decoders token by token: what is appended to a session's rows, taken back and appended again has the logits of whole
// sequences, however the rows' lengths differ.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/compare.h"
#include "support/fixture.h"
#include "support/pretrained.h"

#define BATCH 3
#define CONTEXT 40
#define PROMPT_LEN 7
#define MAX_VOCAB 1024
#define UNTOUCHED 12345.0f

// Absolute and relative; in units of the largest logit.
#define EXACT 5e-5
#define HALVES 2e-2

static const char *const families[] = {"gpt2", "gpt_neox", "llama", "mistral", "qwen2", "qwen3"};
#define FAMILIES (sizeof families / sizeof families[0])

// A session, what its rows should hold, and a second session that runs whole sequences.
typedef struct fixture {
    vkf_test_gpu *gpu;
    vkf_model *model;
    vkf_session *session, *whole;
    uint32_t vocab;
    int32_t ids[BATCH][CONTEXT];
    uint32_t counts[BATCH];
    double tolerance;
    const char *label;
} fixture;

static vkf_session *make_session(fixture *b, uint32_t max_batch, vkf_dtype cache_dtype)
{
    const vkf_session_desc desc = {
        .max_batch = max_batch,
        .max_target_len = CONTEXT,
        .max_prompt_len = PROMPT_LEN,
        .max_logit_rows = 5,
        .cache_dtype = cache_dtype,
    };
    return vkf_test_make_session(b->gpu, b->model, &desc);
}

static void fixture_open_model(fixture *b, vkf_test_gpu *gpu, const vkf_model_desc *desc, vkf_dtype cache_dtype)
{
    vkf_model_config config;
    *b = (fixture){.gpu = gpu, .tolerance = EXACT, .label = desc->directory, .model = vkf_test_load(gpu, desc)};
    vkf_model_get_config(b->model, &config);
    b->vocab = config.target_vocab;
    assert_in_range(b->vocab, 1, MAX_VOCAB);
    b->session = make_session(b, BATCH, cache_dtype);
    b->whole = make_session(b, 1, cache_dtype);
}

static void fixture_open(fixture *b, vkf_test_gpu *gpu, const char *family)
{
    const vkf_model_desc desc = {.directory = vkf_test_pretrained(family)};
    fixture_open_model(b, gpu, &desc, VKF_DTYPE_F32);
}

static void fixture_close(fixture *b)
{
    vkf_session_destroy(&b->whole);
    vkf_session_destroy(&b->session);
    vkf_model_destroy(&b->model);
}

static void check_logits(const fixture *b, const float *logits, const float *expected, size_t rows, const char *when)
{
    const size_t count = rows * b->vocab;
    const char *label = vkf_test_label(b->gpu, "%s: %s", b->label, when);
    assert_close(logits, expected, count, b->tolerance * vkf_test_scale(expected, count), b->tolerance, label);
}

// The logits of a row as a whole, (count, vocab); the caller frees them.
static float *whole_logits(const fixture *b, uint32_t row)
{
    float *logits = calloc((size_t)CONTEXT * b->vocab, sizeof *logits);
    assert_non_null(logits);
    const vkf_decode_args args = {
        .batch = 1, .target_len = b->counts[row], .target_ids = b->ids[row], .out_logits = logits};
    vkf_test_must(b->gpu, vkf_session_decode(b->whole, &args));
    return logits;
}

// Rows without new tokens have no logits: they are still what they were set to.
static void check_last(const fixture *b, const float *last, uint32_t batch, const uint32_t *counts, const char *when)
{
    for (uint32_t row = 0; row < batch; row++) {
        assert_int_equal(vkf_session_get_position(b->session, row), b->counts[row]);
        if (counts[row] == 0) {
            assert_true(last[(size_t)row * b->vocab] == UNTOUCHED);
            continue;
        }
        float *expected = whole_logits(b, row);
        check_logits(b, last + (size_t)row * b->vocab, expected + (size_t)(b->counts[row] - 1) * b->vocab, 1, when);
        free(expected);
    }
}

static void check_all(const fixture *b, const float *all, uint32_t batch, const uint32_t *counts, const char *when)
{
    for (uint32_t row = 0; row < batch; all += counts[row++] * (size_t)b->vocab) {
        if (counts[row] == 0)
            continue;
        float *expected = whole_logits(b, row);
        check_logits(b, all, expected + (size_t)(b->counts[row] - counts[row]) * b->vocab, counts[row], when);
        free(expected);
    }
}

// Appends random tokens to the rows, and checks the logits of the last ones or of all.
static void prefill(fixture *b, uint32_t batch, const uint32_t *counts, bool all, const char *when)
{
    int32_t ids[BATCH * CONTEXT];
    float *logits = calloc((size_t)BATCH * CONTEXT * b->vocab, sizeof *logits);
    size_t total = 0;
    assert_non_null(logits);
    for (uint32_t row = 0; row < batch; row++)
        logits[(size_t)row * b->vocab] = UNTOUCHED;
    for (uint32_t row = 0; row < batch; row++)
        for (uint32_t i = 0; i < counts[row]; i++) {
            ids[total] = (int32_t)vkf_test_random_below(&b->gpu->random, b->vocab);
            b->ids[row][b->counts[row]++] = ids[total++];
        }
    const vkf_prefill_args args = {
        .batch = batch,
        .ids = ids,
        .counts = counts,
        .out_logits = all ? NULL : logits,
        .out_all_logits = all ? logits : NULL,
    };
    vkf_test_must(b->gpu, vkf_session_prefill(b->session, &args));
    if (all)
        check_all(b, logits, batch, counts, when);
    else
        check_last(b, logits, batch, counts, when);
    free(logits);
}

static void step(fixture *b, uint32_t batch, uint32_t left_out, const char *when)
{
    int32_t ids[BATCH];
    uint32_t counts[BATCH];
    float logits[BATCH * MAX_VOCAB];
    for (uint32_t row = 0; row < batch; row++) {
        counts[row] = row != left_out;
        logits[(size_t)row * b->vocab] = UNTOUCHED;
        ids[row] = row == left_out ? -1 : (int32_t)vkf_test_random_below(&b->gpu->random, b->vocab);
        if (row != left_out)
            b->ids[row][b->counts[row]++] = ids[row];
    }
    const vkf_step_args args = {.batch = batch, .ids = ids, .out_logits = logits};
    vkf_test_must(b->gpu, vkf_session_step(b->session, &args));
    check_last(b, logits, batch, counts, when);
}

static void truncate_row(fixture *b, uint32_t row, uint32_t position)
{
    assert_int_equal(vkf_session_truncate(b->session, row, position), VKF_OK);
    b->counts[row] = position;
    assert_int_equal(vkf_session_get_position(b->session, row), position);
}

// Rows that begin, end, and go on at places of their own.
static void run_rows(fixture *b)
{
    prefill(b, BATCH, (const uint32_t[]){9, 2, 5}, false, "a first part");
    step(b, BATCH, BATCH, "a step behind it");
    step(b, BATCH, 1, "a step without row 1");
    prefill(b, BATCH, (const uint32_t[]){1, 8, 0}, true, "a part that row 2 has nothing of");
    truncate_row(b, 0, 3);
    prefill(b, BATCH, (const uint32_t[]){2, 1, 9}, true, "a part behind row 0's third token");
    truncate_row(b, 1, 0);
    prefill(b, 2, (const uint32_t[]){1, 4}, false, "two rows, one of them anew");
    step(b, BATCH, BATCH, "a step of all three");
}

static void test_rows_have_the_logits_of_whole_sequences(void **state)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        fixture b;
        fixture_open(&b, vkf_test_gpu_of(state), families[f]);
        run_rows(&b);
        fixture_close(&b);
    }
}

static void test_rows_in_other_precisions(void **state)
{
    static const struct {
        vkf_model_desc desc;
        vkf_dtype cache_dtype;
        double tolerance;
        const char *family;
    } cases[] = {
        {{.quantization = VKF_QUANTIZATION_Q8}, VKF_DTYPE_F32, 2e-2, "mistral"},
        {{.quantization = VKF_QUANTIZATION_NONE}, VKF_DTYPE_F32, 2e-2, "llama-blocks"},
        {{.precision = VKF_MODEL_PRECISION_F32}, VKF_DTYPE_F16, HALVES, "qwen3"},
        {{.precision = VKF_MODEL_PRECISION_F16}, VKF_DTYPE_F16, HALVES, "llama"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture b;
        vkf_model_desc desc = cases[i].desc;
        desc.directory = vkf_test_pretrained(cases[i].family);
        fixture_open_model(&b, vkf_test_gpu_of(state), &desc, cases[i].cache_dtype);
        b.tolerance = cases[i].tolerance;
        run_rows(&b);
        fixture_close(&b);
    }
}

// Where the host does not see the device's memory, what moves goes through staging memory.
static void test_rows_where_memory_is_staged(void **state)
{
    static const char *const masks[] = {"hostVisibleDeviceMemory"};
    vkf_context_desc desc = {.masks = masks, .mask_count = 1};
    vkf_test_gpu gpu;
    fixture b;
    (void)vkf_test_gpu_of(state);
    assert_int_equal(vkf_test_gpu_open(&gpu, &desc), 0);
    fixture_open(&b, &gpu, "llama");
    run_rows(&b);
    fixture_close(&b);
    vkf_context_destroy(&gpu.context);
}

static void test_rows_fill_the_context_to_its_end(void **state)
{
    fixture b;
    fixture_open(&b, vkf_test_gpu_of(state), "llama");
    prefill(&b, BATCH, (const uint32_t[]){CONTEXT - 1, 1, 20}, false, "one row nearly full");
    step(&b, BATCH, BATCH, "one row full");
    const uint32_t none_and_some[] = {0, CONTEXT - 2, 1};
    prefill(&b, BATCH, none_and_some, false, "two rows full");
    truncate_row(&b, 1, 7);
    prefill(&b, BATCH, (const uint32_t[]){0, 3, 0}, false, "behind a row that is full, and stays so");
    truncate_row(&b, 0, 10);
    prefill(&b, BATCH, (const uint32_t[]){3, 0, 0}, false, "a row that was full");
    step(&b, BATCH, BATCH, "none of them full");
    fixture_close(&b);
}

// The greedy continuation of a prompt that fills row 0, and what is appended to it.
static void test_tokens_follow_a_generation(void **state)
{
    fixture b;
    const int32_t prompt[] = {5, 9, 3, 7, 5, 9, 9, 4, 2};
    const uint32_t lengths[] = {5, 4};
    int32_t out_ids[2 * 6];
    uint32_t out_lengths[2];
    fixture_open(&b, vkf_test_gpu_of(state), "llama");
    const vkf_generate_args args = {
        .batch = 2,
        .prompt_ids = prompt,
        .prompt_lengths = lengths,
        .max_new_tokens = 6,
        .out_ids = out_ids,
        .out_lengths = out_lengths,
    };
    assert_int_equal(vkf_session_generate(b.session, &args), VKF_OK);
    for (uint32_t row = 0; row < 2; row++) {
        memcpy(b.ids[row], prompt + (row > 0 ? lengths[0] : 0), lengths[row] * sizeof *prompt);
        memcpy(b.ids[row] + lengths[row], out_ids + row * 6, out_lengths[row] * sizeof *out_ids);
        b.counts[row] = lengths[row] + out_lengths[row] - 1;
        assert_int_equal(vkf_session_get_position(b.session, row), b.counts[row]);
    }
    prefill(&b, 2, (const uint32_t[]){3, 1}, false, "behind a generation");
    fixture_close(&b);
}

// ---- a prompt that begins like what is in the cache

// The tokens that a session generates behind `length` tokens, and how many of these it did not run.
static uint64_t generate(fixture *b, vkf_session *session, uint32_t length, bool reuse, int32_t out_ids[6])
{
    uint32_t out_length = 0;
    vkf_generation_cost cost;
    const vkf_generate_args args = {
        .batch = 1,
        .prompt_ids = b->ids[0],
        .prompt_lengths = &length,
        .max_new_tokens = 6,
        .reuse_cache = reuse,
        .out_ids = out_ids,
        .out_lengths = &out_length,
        .out_cost = &cost,
    };
    vkf_test_must(b->gpu, vkf_session_generate(session, &args));
    assert_int_equal(cost.prompt_tokens, length);
    return cost.reused_tokens;
}

static void check_reuse(fixture *b, uint32_t length, uint64_t reused)
{
    int32_t ids[6], expected[6];
    assert_int_equal(generate(b, b->whole, length, false, expected), 0);
    assert_int_equal(generate(b, b->session, length, true, ids), reused);
    assert_memory_equal(ids, expected, sizeof ids);
}

static void test_prompts_reuse_what_they_begin_with(void **state)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        fixture b;
        fixture_open(&b, vkf_test_gpu_of(state), families[f]);
        for (uint32_t i = 0; i < CONTEXT; i++)
            b.ids[0][i] = (int32_t)vkf_test_random_below(&b.gpu->random, b.vocab);
        check_reuse(&b, 10, 0);
        check_reuse(&b, 10, 9);
        check_reuse(&b, 16, vkf_session_get_position(b.session, 0) > 10 ? 10 : 9);
        b.ids[0][4] = (b.ids[0][4] + 1) % (int32_t)b.vocab;
        check_reuse(&b, 12, 4);
        assert_int_equal(vkf_session_truncate(b.session, 0, 3), VKF_OK);
        check_reuse(&b, 12, 3);
        fixture_close(&b);
    }
}

// ---- the caller's choice

typedef struct chooser {
    uint32_t calls;
    int32_t banned; // its logit has to be minus infinity; -1: none
    int32_t answer; // instead of the most probable token; -2: none
} chooser;

static int32_t choose(void *user, uint32_t row, float *logits, uint32_t vocab)
{
    chooser *c = user;
    uint32_t best = 0;
    (void)row;
    for (uint32_t i = 1; i < vocab; i++)
        best = logits[i] > logits[best] ? i : best;
    if (c->banned >= 0)
        assert_true(isinf(logits[c->banned]) && logits[c->banned] < 0.0f);
    c->calls++;
    return c->answer == -2 ? (int32_t)best : c->answer;
}

static vkf_generate_args choice_args(chooser *c, const int32_t *prompt, const uint32_t *lengths, int32_t *out_ids,
                                     uint32_t *out_lengths)
{
    return (vkf_generate_args){
        .batch = 2,
        .prompt_ids = prompt,
        .prompt_lengths = lengths,
        .max_new_tokens = 8,
        .choose = c ? choose : NULL,
        .choose_user = c,
        .out_ids = out_ids,
        .out_lengths = out_lengths,
    };
}

// What the caller chooses as the device does is what the device chooses.
static void check_choice(vkf_test_gpu *gpu, const char *family)
{
    static const int32_t prompt[] = {5, 9, 3, 7, 5, 9, 9};
    static const uint32_t lengths[] = {5, 2};
    const vkf_session_desc desc = {.max_batch = 2, .max_source_len = 12, .max_target_len = 16};
    vkf_model *model = vkf_test_load_family(gpu, family);
    vkf_session *session = vkf_test_make_session(gpu, model, &desc);
    vkf_model_config config;
    int32_t ids[2][16];
    uint32_t out_lengths[2][2];
    vkf_model_get_config(model, &config);
    chooser c = {.banned = config.banned_count > 0 ? config.banned_ids[0] : -1, .answer = -2};
    for (size_t i = 0; i < 2; i++) {
        const vkf_generate_args args = choice_args(i > 0 ? &c : NULL, prompt, lengths, ids[i], out_lengths[i]);
        if (vkf_session_generate(session, &args) != VKF_OK)
            fail_msg("%s: %s", family, gpu->last_error);
    }
    assert_memory_equal(out_lengths[0], out_lengths[1], sizeof out_lengths[0]);
    assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
    assert_true(c.calls >= 2);
    vkf_session_destroy(&session);
    vkf_model_destroy(&model);
}

static void test_choices_of_the_caller(void **state)
{
    check_choice(vkf_test_gpu_of(state), "llama");
    check_choice(vkf_test_gpu_of(state), "gpt2");
    check_choice(vkf_test_gpu_of(state), "marian");
    check_choice(vkf_test_gpu_of(state), "t5");
}

static void test_choices_that_are_refused(void **state)
{
    fixture b;
    static const int32_t prompt[] = {5, 9, 3, 7, 5, 9, 9};
    static const uint32_t lengths[] = {5, 2};
    int32_t ids[16];
    uint32_t out_lengths[2];
    chooser c = {.banned = -1, .answer = -1};
    fixture_open(&b, vkf_test_gpu_of(state), "llama");
    vkf_generate_args args = choice_args(&c, prompt, lengths, ids, out_lengths);
    vkf_test_expect(b.gpu, vkf_session_generate(b.session, &args), VKF_ERROR_INVALID_ARGUMENT,
                    "`choose` gave token id -1 for row 0");
    c.answer = (int32_t)b.vocab;
    assert_int_equal(vkf_session_generate(b.session, &args), VKF_ERROR_INVALID_ARGUMENT);
    args.sampling.top_k = 3;
    vkf_test_expect(b.gpu, vkf_session_generate(b.session, &args), VKF_ERROR_INVALID_ARGUMENT,
                    "leave all fields of `sampling` zero");
    fixture_close(&b);
}

// ---- what is refused

static void test_tokens_that_are_refused(void **state)
{
    fixture b;
    fixture_open(&b, vkf_test_gpu_of(state), "llama");
    const int32_t ids[CONTEXT + 1] = {1, 2, 3}, outside[] = {1, (int32_t)b.vocab}, none[] = {-1, -1};
    vkf_prefill_args args = {.batch = 1, .ids = ids, .counts = (const uint32_t[]){CONTEXT + 1}};
    vkf_test_expect(b.gpu, vkf_session_prefill(b.session, &args), VKF_ERROR_TOO_LARGE,
                    "row 0 has 0 tokens and gets 41, there is room for 40");
    args.counts = (const uint32_t[]){0};
    assert_int_equal(vkf_session_prefill(b.session, &args), VKF_ERROR_INVALID_ARGUMENT);
    args.batch = BATCH + 1;
    assert_int_equal(vkf_session_prefill(b.session, &args), VKF_ERROR_TOO_LARGE);
    const vkf_step_args steps[] = {{.batch = 2, .ids = outside}, {.batch = 2, .ids = none}, {.ids = ids}};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(vkf_session_step(b.session, &steps[i]), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_session_truncate(b.session, 0, 1), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_session_truncate(b.session, BATCH, 0), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_session_get_position(b.session, BATCH), 0);
    fixture_close(&b);
}

static void assert_limit(const char *what, uint64_t asked, uint64_t allowed)
{
    vkf_limit limit;
    assert_true(vkf_last_limit(&limit));
    assert_string_equal(limit.what, what);
    assert_int_equal(limit.asked, asked);
    assert_int_equal(limit.allowed, allowed);
}

static void test_limits_are_numbers(void **state)
{
    fixture b;
    fixture_open(&b, vkf_test_gpu_of(state), "llama");
    const int32_t ids[CONTEXT + 1] = {1, 2, 3};
    const uint32_t lengths[] = {CONTEXT - 3, 1, 1, 1};
    int32_t out_ids[BATCH * CONTEXT];
    uint32_t out_lengths[BATCH];
    vkf_limit limit = {.what = "untouched"};
    const vkf_prefill_args prefill_args = {.batch = 1, .ids = ids, .counts = (const uint32_t[]){CONTEXT + 1}};
    vkf_generate_args args = {.batch = 1,
                              .prompt_ids = ids,
                              .prompt_lengths = lengths,
                              .max_new_tokens = 4,
                              .out_ids = out_ids,
                              .out_lengths = out_lengths};
    assert_int_equal(vkf_session_prefill(b.session, &prefill_args), VKF_ERROR_TOO_LARGE);
    assert_limit("max_target_len", CONTEXT + 1, CONTEXT);
    assert_int_equal(vkf_session_generate(b.session, &args), VKF_ERROR_TOO_LARGE);
    assert_limit("max_target_len", CONTEXT + 1, CONTEXT);
    args.batch = BATCH + 1;
    assert_int_equal(vkf_session_generate(b.session, &args), VKF_ERROR_TOO_LARGE);
    assert_limit("max_batch", BATCH + 1, BATCH);
    args.batch = 1;
    args.max_new_tokens = 1;
    args.beams.num_beams = 2;
    assert_int_equal(vkf_session_generate(b.session, &args), VKF_ERROR_TOO_LARGE);
    assert_limit("max_beams", 2, 1);
    args.batch = 0;
    assert_int_equal(vkf_session_generate(b.session, &args), VKF_ERROR_INVALID_ARGUMENT);
    assert_false(vkf_last_limit(&limit));
    assert_string_equal(limit.what, "untouched");
    fixture_close(&b);
}

static bool cancel(void *user, uint32_t done, uint32_t total, const char *what)
{
    (void)user;
    (void)total;
    (void)what;
    return done == 0;
}

static void test_a_cancelled_part_empties_its_rows(void **state)
{
    fixture b;
    const int32_t ids[20] = {1, 2, 3};
    fixture_open(&b, vkf_test_gpu_of(state), "llama");
    const vkf_prefill_args args = {.batch = 1, .ids = ids, .counts = (const uint32_t[]){20}, .progress = cancel};
    assert_int_equal(vkf_session_prefill(b.session, &args), VKF_ERROR_CANCELLED);
    assert_int_equal(vkf_session_get_position(b.session, 0), 0);
    prefill(&b, 1, (const uint32_t[]){6}, false, "after a cancelled part");
    fixture_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_have_the_logits_of_whole_sequences),
        cmocka_unit_test(test_rows_in_other_precisions),
        cmocka_unit_test(test_rows_where_memory_is_staged),
        cmocka_unit_test(test_rows_fill_the_context_to_its_end),
        cmocka_unit_test(test_tokens_follow_a_generation),
        cmocka_unit_test(test_prompts_reuse_what_they_begin_with),
        cmocka_unit_test(test_choices_of_the_caller),
        cmocka_unit_test(test_choices_that_are_refused),
        cmocka_unit_test(test_tokens_that_are_refused),
        cmocka_unit_test(test_limits_are_numbers),
        cmocka_unit_test(test_a_cancelled_part_empties_its_rows),
    };
    return cmocka_run_group_tests_name("session_tokens", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
