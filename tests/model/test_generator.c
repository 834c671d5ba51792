// vkf_generator: prompts in any order and number, what callbacks see and may end, and what a failure leaves behind.
// That the tokens are the right ones is test_decoder.c's business.
#include <math.h>
#include <string.h>

#include "support/fixture.h"
#include "support/pretrained.h"

#define PROMPTS 5
#define NEW_TOKENS 12
#define CONTEXT 48

static const char *const texts[PROMPTS] = {
    "A cat sat there.",
    "rain",
    "Rain falls on the hills, and the rivers rise; nobody was warned.",
    "",
    "The small grey cat sat on the warm stone wall.",
};

static vkf_text text_of(const char *text)
{
    return (vkf_text){text, strlen(text)};
}

static vkf_generator *make_generator_with(vkf_test_gpu *gpu, const char *family, vkf_generator_desc desc)
{
    desc.directory = vkf_test_pretrained(family);
    desc.max_prompt_len = 7;
    desc.max_beams = 3;
    return vkf_test_make_generator(gpu, &desc);
}

static vkf_generator *make_generator(vkf_test_gpu *gpu, const char *family, uint32_t max_batch)
{
    return make_generator_with(gpu, family, (vkf_generator_desc){.max_batch = max_batch});
}

// A run of all texts, and its arguments.
typedef struct run {
    vkf_text prompts[PROMPTS];
    vkf_continuation out[PROMPTS];
    vkf_generation_cost cost;
    vkf_generator_args args;
} run;

static void run_init(run *r)
{
    *r = (run){0};
    for (uint32_t i = 0; i < PROMPTS; i++)
        r->prompts[i] = text_of(texts[i]);
    r->args = (vkf_generator_args){
        .prompts = r->prompts,
        .count = PROMPTS,
        .max_new_tokens = NEW_TOKENS,
        .out_continuations = r->out,
        .out_cost = &r->cost,
    };
}

static void run_free(run *r)
{
    for (uint32_t i = 0; i < PROMPTS; i++)
        vkf_continuation_free(&r->out[i]);
}

static void run_all(vkf_test_gpu *gpu, vkf_generator *generator, run *r)
{
    vkf_test_must(gpu, vkf_generator_run(generator, &r->args));
}

static void assert_same(const vkf_continuation *a, const vkf_continuation *b)
{
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->size_bytes, b->size_bytes);
    assert_int_equal(strlen(a->text), a->size_bytes);
    assert_int_equal(a->id_count, b->id_count);
    assert_memory_equal(a->ids, b->ids, a->id_count * sizeof *a->ids);
    assert_int_equal(a->prompt_count, b->prompt_count);
    assert_int_equal(a->reason, b->reason);
}

// ---- batches

// Every text alone, in a generator of one row.
static void run_alone(vkf_test_gpu *gpu, const char *family, run *r)
{
    vkf_generator *generator = make_generator(gpu, family, 1);
    run_init(r);
    r->args.count = 1;
    r->args.out_cost = NULL;
    for (uint32_t i = 0; i < PROMPTS; i++) {
        r->args.prompts = &r->prompts[i];
        r->args.out_continuations = &r->out[i];
        run_all(gpu, generator, r);
        assert_in_range(r->out[i].id_count, 1, NEW_TOKENS);
        assert_true(r->out[i].reason == VKF_STOP_EOS || r->out[i].id_count == NEW_TOKENS);
    }
    vkf_generator_destroy(&generator);
}

static void check_batches(vkf_test_gpu *gpu, const char *family, uint32_t max_batch)
{
    run alone, together;
    run_alone(gpu, family, &alone);
    vkf_generator *generator = make_generator(gpu, family, max_batch);
    for (unsigned reversed = 0; reversed < 2; reversed++) {
        uint64_t prompt_tokens = 0, new_tokens = 0;
        run_init(&together);
        for (uint32_t i = 0; reversed && i < PROMPTS; i++)
            together.prompts[i] = text_of(texts[PROMPTS - 1 - i]);
        run_all(gpu, generator, &together);
        for (uint32_t i = 0; i < PROMPTS; i++) {
            assert_same(&together.out[i], &alone.out[reversed ? PROMPTS - 1 - i : i]);
            prompt_tokens += alone.out[i].prompt_count;
            new_tokens += alone.out[i].id_count - 1;
        }
        assert_int_equal(together.cost.prompt_tokens, prompt_tokens);
        assert_int_equal(together.cost.new_tokens, new_tokens);
        assert_true(together.cost.prompt_ns > 0 && together.cost.new_ns > 0);
        run_free(&together);
    }
    vkf_generator_destroy(&generator);
    run_free(&alone);
}

static void test_neighbours_and_order_change_nothing(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    check_batches(gpu, "gpt2", 2);
    check_batches(gpu, "llama", PROMPTS + 1);
}

static void test_samples_depend_on_the_seed_alone(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "llama", PROMPTS);
    static const uint64_t seeds[] = {7, 7, 8};
    run runs[3];
    bool other = false;
    for (size_t i = 0; i < 3; i++) {
        run_init(&runs[i]);
        runs[i].args.sampling = (vkf_sampling){.temperature = 3.0f, .seed = seeds[i]};
        run_all(gpu, generator, &runs[i]);
    }
    for (uint32_t i = 0; i < PROMPTS; i++) {
        assert_same(&runs[0].out[i], &runs[1].out[i]);
        other = other || strcmp(runs[0].out[i].text, runs[2].out[i].text) != 0;
    }
    assert_true(other);
    for (size_t i = 0; i < 3; i++)
        run_free(&runs[i]);
    vkf_generator_destroy(&generator);
}

static void test_a_full_context_ends_a_continuation(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_generator_desc desc = {.directory = vkf_test_pretrained("llama"), .max_context = 9};
    vkf_generator *generator = vkf_test_make_generator(gpu, &desc);
    vkf_model_config config;
    run r;
    vkf_generator_get_config(generator, &config);
    assert_int_equal(config.kind, VKF_MODEL_DECODER);
    assert_int_equal(vkf_generator_get_max_context(generator), 9);
    run_init(&r);
    r.args.count = 2;
    r.args.max_new_tokens = 0;
    run_all(gpu, generator, &r);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(r.out[i].reason == VKF_STOP_EOS ||
                    (r.out[i].reason == VKF_STOP_CONTEXT && r.out[i].prompt_count + r.out[i].id_count == 9));
    run_free(&r);
    vkf_generator_destroy(&generator);
}

// ---- what callbacks see, and what they end

typedef struct listener {
    char text[PROMPTS][512]; // all parts
    uint32_t calls[PROMPTS];
    char first[PROMPTS][512]; // the first part of each
    uint32_t end_prompt;      // this one ends with its first part; PROMPTS: none does
    bool ended;
    bool after_end; // a part came although it had ended
} listener;

static bool listen(void *user, uint32_t prompt, const char *bytes, size_t size_bytes)
{
    listener *l = user;
    assert_in_range(prompt, 0, PROMPTS - 1);
    assert_true(size_bytes > 0);
    strncat(l->text[prompt], bytes, size_bytes);
    if (l->calls[prompt] == 0)
        strncat(l->first[prompt], bytes, size_bytes);
    l->calls[prompt]++;
    if (prompt != l->end_prompt)
        return true;
    l->after_end = l->after_end || l->ended;
    l->ended = true;
    return false;
}

static void listen_to(run *r, listener *l, uint32_t end_prompt)
{
    *l = (listener){.end_prompt = end_prompt};
    r->args.on_text = listen;
    r->args.on_text_user = l;
}

// By beams and by draws, of a model with an encoder, too: batches change nothing about the first, and text is handed
// on.
static void check_other_ways(vkf_test_gpu *gpu, const char *family)
{
    vkf_generator *generators[] = {make_generator(gpu, family, 1), make_generator(gpu, family, PROMPTS)};
    run runs[2], drawn[3];
    listener l;
    for (size_t i = 0; i < 2; i++) {
        run_init(&runs[i]);
        runs[i].args.beams = (vkf_beam_search){.num_beams = 3, .length_penalty = 1};
        if (i == 1)
            listen_to(&runs[i], &l, PROMPTS);
        run_all(gpu, generators[i], &runs[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        run_init(&drawn[i]);
        drawn[i].args.sampling = (vkf_sampling){.temperature = 5, .seed = i / 2};
        run_all(gpu, generators[1], &drawn[i]);
    }
    bool other = false;
    for (uint32_t i = 0; i < PROMPTS; i++) {
        assert_same(&runs[0].out[i], &runs[1].out[i]);
        assert_string_equal(l.text[i], runs[1].out[i].text);
        assert_same(&drawn[0].out[i], &drawn[1].out[i]);
        other = other || strcmp(drawn[0].out[i].text, drawn[2].out[i].text) != 0;
    }
    assert_true(other);
    for (size_t i = 0; i < 2; i++)
        run_free(&runs[i]);
    for (size_t i = 0; i < 3; i++)
        run_free(&drawn[i]);
    vkf_generator_destroy(&generators[0]);
    vkf_generator_destroy(&generators[1]);
}

static void test_beams_and_draws(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    check_other_ways(gpu, "gpt2");
    check_other_ways(gpu, "marian");
}

static void test_parts_are_the_whole_text(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "gpt2", 2);
    run r;
    listener l;
    uint32_t most = 0;
    run_init(&r);
    listen_to(&r, &l, PROMPTS);
    run_all(gpu, generator, &r);
    for (uint32_t i = 0; i < PROMPTS; i++) {
        assert_string_equal(l.text[i], r.out[i].text);
        most = l.calls[i] > most ? l.calls[i] : most;
    }
    assert_in_range(most, 3, NEW_TOKENS + 1); // token by token
    run_free(&r);
    vkf_generator_destroy(&generator);
}

// The prompt whose first part is longest, as that part is what the tests below cut.
static uint32_t longest_first_part(vkf_test_gpu *gpu, vkf_generator *generator, char out_part[512])
{
    run r;
    listener l;
    uint32_t best = 0;
    run_init(&r);
    r.args.max_new_tokens = 2;
    listen_to(&r, &l, PROMPTS);
    run_all(gpu, generator, &r);
    for (uint32_t i = 0; i < PROMPTS; i++)
        best = strlen(l.first[i]) > strlen(l.first[best]) ? i : best;
    memcpy(out_part, l.first[best], sizeof l.first[best]);
    assert_true(strlen(out_part) >= 3);
    run_free(&r);
    return best;
}

static void test_on_text_ends_its_prompt_alone(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "gpt2", 3);
    run whole, r;
    listener l;
    char part[512];
    uint32_t ended = longest_first_part(gpu, generator, part);
    run_init(&whole);
    run_all(gpu, generator, &whole);
    run_init(&r);
    listen_to(&r, &l, ended);
    run_all(gpu, generator, &r);
    for (uint32_t i = 0; i < PROMPTS; i++)
        if (i != ended)
            assert_same(&r.out[i], &whole.out[i]);
    assert_int_equal(r.out[ended].reason, VKF_STOP_CALLER);
    assert_string_equal(r.out[ended].text, part);
    assert_int_equal(l.calls[ended], 1);
    run_free(&r);
    run_free(&whole);
    vkf_generator_destroy(&generator);
}

// The end of the part could have been the beginning of a stop string, so it had not been shown.
static void test_no_part_follows_the_last_one(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "gpt2", 3);
    run r;
    listener l;
    char part[512], stop[3] = {0};
    uint32_t ended = longest_first_part(gpu, generator, part);
    stop[0] = part[strlen(part) - 1];
    stop[1] = '\x01'; // never follows
    const vkf_text stops[] = {text_of(stop)};
    run_init(&r);
    r.args.stops = stops;
    r.args.stop_count = 1;
    listen_to(&r, &l, ended);
    run_all(gpu, generator, &r);
    assert_true(l.ended);
    assert_false(l.after_end);
    assert_int_equal(r.out[ended].reason, VKF_STOP_CALLER);
    run_free(&r);
    vkf_generator_destroy(&generator);
}

static void test_stop_strings_end_the_text_before_them(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "gpt2", PROMPTS);
    run whole, r;
    listener l;
    char part[512];
    uint32_t chosen = longest_first_part(gpu, generator, part);
    run_init(&whole);
    run_all(gpu, generator, &whole);
    const vkf_text stops[] = {text_of("never there"), {part + 1, strlen(part) - 2}};
    run_init(&r);
    r.args.stops = stops;
    r.args.stop_count = 2;
    listen_to(&r, &l, PROMPTS);
    run_all(gpu, generator, &r);
    for (uint32_t i = 0; i < PROMPTS; i++) {
        char stop[512] = {0};
        memcpy(stop, stops[1].bytes, stops[1].size_bytes);
        const char *found = strstr(whole.out[i].text, stop);
        size_t expected = found ? (size_t)(found - whole.out[i].text) : whole.out[i].size_bytes;
        assert_int_equal(r.out[i].size_bytes, expected);
        assert_memory_equal(r.out[i].text, whole.out[i].text, expected);
        assert_string_equal(l.text[i], r.out[i].text);
        assert_true(!found || r.out[i].reason == VKF_STOP_EOS);
        assert_memory_equal(r.out[i].ids, whole.out[i].ids, r.out[i].id_count * sizeof *r.out[i].ids);
    }
    assert_int_equal(r.out[chosen].id_count, 1);
    run_free(&r);
    run_free(&whole);
    vkf_generator_destroy(&generator);
}

// ---- failures

// Fails the test unless nothing of the outputs was written.
static void expect(vkf_test_gpu *gpu, vkf_generator *generator, run *r, vkf_status expected, const char *text)
{
    unsigned char before[sizeof r->out];
    memset(r->out, 0xa5, sizeof r->out);
    memset(&r->cost, 0xa5, sizeof r->cost);
    memset(before, 0xa5, sizeof before);
    gpu->last_error[0] = '\0';
    vkf_test_expect(gpu, vkf_generator_run(generator, &r->args), expected, text);
    assert_memory_equal(r->out, before, sizeof r->out);
    assert_memory_equal(&r->cost, before, sizeof r->cost);
}

typedef struct counter {
    uint32_t calls, total;
    uint32_t cancel_call; // counted from 1; 0: none
} counter;

static bool count_calls(void *user, uint32_t done, uint32_t total, const char *what)
{
    counter *c = user;
    assert_non_null(what);
    assert_true(done <= total);
    c->total = total;
    return ++c->calls != c->cancel_call;
}

static void test_progress_of_a_prompt_and_its_cancel(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    const vkf_generator_desc desc = {.max_batch = PROMPTS, .whole_prompts = true};
    vkf_generator *generator = make_generator_with(gpu, "gpt2", desc); // prompts in parts of 7
    counter c = {0};
    run r, again;
    run_init(&r);
    r.args.progress = count_calls;
    r.args.progress_user = &c;
    run_all(gpu, generator, &r);
    uint32_t longest = 0;
    for (uint32_t i = 0; i < PROMPTS; i++)
        longest = r.out[i].prompt_count > longest ? r.out[i].prompt_count : longest;
    assert_int_equal(c.calls, (longest + 6) / 7);
    assert_int_equal(c.total, longest);
    run_init(&again);
    c = (counter){.cancel_call = 2};
    again.args.progress = count_calls;
    again.args.progress_user = &c;
    expect(gpu, generator, &again, VKF_ERROR_CANCELLED, "");
    assert_int_equal(c.calls, 2);
    run_init(&again);
    run_all(gpu, generator, &again); // it can still be used
    for (uint32_t i = 0; i < PROMPTS; i++)
        assert_same(&again.out[i], &r.out[i]);
    run_free(&again);
    run_free(&r);
    vkf_generator_destroy(&generator);
}

static void test_progress_of_loading_and_its_cancel(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    counter c = {0};
    vkf_generator_desc desc = {
        .directory = vkf_test_pretrained("gpt2"),
        .progress = count_calls,
        .progress_user = &c,
    };
    vkf_generator *generator = vkf_test_make_generator(gpu, &desc);
    assert_true(c.calls > 10); // tensors
    vkf_generator_destroy(&generator);
    assert_null(generator);
    c = (counter){.cancel_call = 3};
    assert_int_equal(vkf_generator_load(gpu->context, &desc, &generator), VKF_ERROR_CANCELLED);
    assert_int_equal(c.calls, 3);
    assert_null(generator);
}

static void test_wrong_arguments_are_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "gpt2", 2);
    run r;
    run_init(&r);
    const vkf_generator_args good = r.args;
    r.args.count = 0;
    expect(gpu, generator, &r, VKF_ERROR_INVALID_ARGUMENT, "count is 0");
    r.args = good, r.args.prompts = NULL;
    expect(gpu, generator, &r, VKF_ERROR_INVALID_ARGUMENT, "prompts");
    r.args = good, r.args.out_continuations = NULL;
    expect(gpu, generator, &r, VKF_ERROR_INVALID_ARGUMENT, "out_continuations");
    r.args = good, r.args.stop_count = 1;
    expect(gpu, generator, &r, VKF_ERROR_INVALID_ARGUMENT, "stops");
    r.args = good, r.prompts[1].bytes = NULL;
    expect(gpu, generator, &r, VKF_ERROR_INVALID_ARGUMENT, "bytes");
    run_init(&r);
    static const vkf_sampling wrong[] = {
        {.temperature = -1.0f}, {.temperature = NAN},          {.top_p = 1.5f},
        {.min_p = -0.5f},       {.repetition_penalty = -2.0f}, {.temperature = INFINITY}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        r.args.sampling = wrong[i];
        expect(gpu, generator, &r, VKF_ERROR_INVALID_ARGUMENT, "");
    }
    run_init(&r);
    r.args.beams = (vkf_beam_search){.num_beams = 2, .length_penalty = 1};
    r.args.sampling.temperature = 1;
    expect(gpu, generator, &r, VKF_ERROR_UNSUPPORTED, "temperature");
    r.args.sampling.temperature = 0;
    r.args.beams.num_beams = 4;
    expect(gpu, generator, &r, VKF_ERROR_TOO_LARGE, "4 beams");
    assert_int_equal(vkf_generator_run(NULL, &good), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_generator_run(generator, NULL), VKF_ERROR_INVALID_ARGUMENT);
    vkf_generator_destroy(&generator);
    vkf_generator_destroy(&generator);
    vkf_generator_destroy(NULL);
    vkf_continuation_free(NULL);
    assert_int_equal(vkf_generator_get_max_context(NULL), 0);
}

// One text too long, or a continuation: nothing of the others is given either.
static void test_a_context_too_small_is_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "gpt2", 2);
    char text[512] = {0};
    for (unsigned i = 0; i < CONTEXT; i++)
        strcat(text, "rain ");
    run r;
    run_init(&r);
    r.prompts[3] = text_of(text);
    expect(gpu, generator, &r, VKF_ERROR_TOO_LARGE, "the context is full");
    r.args.max_new_tokens = 0;
    expect(gpu, generator, &r, VKF_ERROR_TOO_LARGE, "the context is full");
    run_init(&r);
    r.args.max_new_tokens = 1u << 20;
    expect(gpu, generator, &r, VKF_ERROR_TOO_LARGE, "the context is full");
    vkf_generator_destroy(&generator);
}

static void refuse_model(vkf_test_gpu *gpu, const vkf_generator_desc *desc, vkf_status expected, const char *text)
{
    vkf_generator *generator = NULL;
    vkf_test_expect(gpu, vkf_generator_load(gpu->context, desc, &generator), expected, text);
    assert_null(generator);
}

static void test_models_that_generate_no_text_are_refused(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator_desc desc = {.directory = vkf_test_pretrained("bert")};
    refuse_model(gpu, &desc, VKF_ERROR_UNSUPPORTED, "no decoder");
    desc.directory = vkf_test_pretrained("mistral"); // without a tokenizer
    refuse_model(gpu, &desc, VKF_ERROR_FILE, "tokenizer.json");
    desc.directory = vkf_test_pretrained("gpt2");
    desc.max_context = CONTEXT + 1;
    refuse_model(gpu, &desc, VKF_ERROR_TOO_LARGE, "48 positions");
    desc.directory = NULL;
    vkf_generator *generator = NULL;
    assert_int_equal(vkf_generator_load(gpu->context, &desc, &generator), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_generator_load(gpu->context, NULL, &generator), VKF_ERROR_INVALID_ARGUMENT);
}

// Two short texts: each allocation of a run fails once.
static vkf_status run_two(vkf_generator *generator, run *r)
{
    run_init(r);
    r->prompts[0] = text_of("the");
    r->args.count = 2;
    r->args.max_new_tokens = 1;
    return vkf_generator_run(generator, &r->args);
}

static void test_allocation_failures_leave_nothing_behind(void **state)
{
    (void)vkf_test_gpu_of(state);
    counting_allocator allocator = {0};
    vkf_context_desc desc = {.allocator = counting_callbacks(&allocator)};
    vkf_test_gpu gpu;
    run r;
    assert_int_equal(vkf_test_gpu_open(&gpu, &desc), 0);
    vkf_generator *generator = make_generator(&gpu, "gpt2", 2);
    assert_int_equal(run_two(generator, &r), VKF_OK); // what is made once is there now
    run_free(&r);
    size_t live = allocator.live, failures = 0;
    for (size_t call = 1;; call++) {
        counting_restart(&allocator, call);
        vkf_status status = run_two(generator, &r);
        if (!allocator.failed) {
            assert_int_equal(status, VKF_OK);
            break;
        }
        failures++;
        assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_null(r.out[0].text);
        assert_int_equal(allocator.live, live);
    }
    assert_true(failures > 20);
    run_free(&r);
    assert_int_equal(allocator.live, live);
    vkf_generator_destroy(&generator);
    vkf_context_destroy(&gpu.context);
    assert_int_equal(allocator.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_neighbours_and_order_change_nothing),
        cmocka_unit_test(test_samples_depend_on_the_seed_alone),
        cmocka_unit_test(test_beams_and_draws),
        cmocka_unit_test(test_a_full_context_ends_a_continuation),
        cmocka_unit_test(test_parts_are_the_whole_text),
        cmocka_unit_test(test_on_text_ends_its_prompt_alone),
        cmocka_unit_test(test_no_part_follows_the_last_one),
        cmocka_unit_test(test_stop_strings_end_the_text_before_them),
        cmocka_unit_test(test_progress_of_a_prompt_and_its_cancel),
        cmocka_unit_test(test_progress_of_loading_and_its_cancel),
        cmocka_unit_test(test_wrong_arguments_are_refused),
        cmocka_unit_test(test_a_context_too_small_is_refused),
        cmocka_unit_test(test_models_that_generate_no_text_are_refused),
        cmocka_unit_test(test_allocation_failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests_name("generator", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
