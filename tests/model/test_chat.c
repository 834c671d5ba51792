// A chat's next turn: what a generator still has in its cache does not run again, for one chat and for several side by
// side, and the answers are those of whole prompts.
#include <string.h>

#include "support/fixture.h"
#include "support/pretrained.h"

#define CHATS 3
#define TURNS 3
#define NEW_TOKENS 5
#define TEXT_BYTES 2048

static const char *const said[TURNS][CHATS] = {
    {"A cat sat there.", "Rain falls, and the rivers rise", "The small grey cat sat on the wall"},
    {" Rain falls.", " again", " sat on it."},
    {" Why?", " the rivers", " The warm wall was"},
};

// What was said and answered so far.
typedef struct chat {
    char text[TEXT_BYTES];
    size_t bytes;
} chat;

static void append(chat *c, const char *text)
{
    const size_t bytes = strlen(text);
    assert_true(c->bytes + bytes < TEXT_BYTES);
    memcpy(c->text + c->bytes, text, bytes + 1);
    c->bytes += bytes;
}

static vkf_generator *make_generator(vkf_test_gpu *gpu, const char *family, bool whole_prompts)
{
    const vkf_generator_desc desc = {
        .directory = vkf_test_pretrained(family),
        .max_batch = CHATS,
        .max_prompt_len = 16,
        .whole_prompts = whole_prompts,
    };
    return vkf_test_make_generator(gpu, &desc);
}

static vkf_generation_cost answer(vkf_test_gpu *gpu, vkf_generator *generator, const chat *chats, uint32_t count,
                                  vkf_choose_fn choose, vkf_continuation *out)
{
    vkf_text prompts[CHATS];
    vkf_generation_cost cost;
    for (uint32_t i = 0; i < count; i++)
        prompts[i] = (vkf_text){chats[i].text, chats[i].bytes};
    const vkf_generator_args args = {
        .prompts = prompts,
        .count = count,
        .max_new_tokens = NEW_TOKENS,
        .choose = choose,
        .out_continuations = out,
        .out_cost = &cost,
    };
    vkf_test_must(gpu, vkf_generator_run(generator, &args));
    return cost;
}

static void assert_same(const vkf_continuation *a, const vkf_continuation *b)
{
    assert_string_equal(a->text, b->text);
    assert_int_equal(a->id_count, b->id_count);
    assert_memory_equal(a->ids, b->ids, a->id_count * sizeof *a->ids);
    assert_int_equal(a->prompt_count, b->prompt_count);
}

// Turns of several chats, each of which is longer than the last one by what was said and answered.
static void check_chats(vkf_test_gpu *gpu, const char *family, uint32_t count)
{
    vkf_generator *generator = make_generator(gpu, family, false), *whole = make_generator(gpu, family, true);
    chat chats[CHATS] = {{.bytes = 0}};
    for (uint32_t turn = 0; turn < TURNS; turn++) {
        vkf_continuation out[CHATS], expected[CHATS];
        for (uint32_t i = 0; i < count; i++)
            append(&chats[i], said[turn][i]);
        const vkf_generation_cost cost = answer(gpu, generator, chats, count, NULL, out);
        const vkf_generation_cost all = answer(gpu, whole, chats, count, NULL, expected);
        assert_int_equal(all.reused_tokens, 0);
        assert_int_equal(cost.prompt_tokens, all.prompt_tokens);
        assert_true(turn == 0 ? cost.reused_tokens == 0 : cost.reused_tokens > 0);
        for (uint32_t i = 0; i < count; i++) {
            assert_same(&out[i], &expected[i]);
            append(&chats[i], out[i].text);
            vkf_continuation_free(&out[i]);
            vkf_continuation_free(&expected[i]);
        }
    }
    vkf_generator_destroy(&generator);
    vkf_generator_destroy(&whole);
}

static void test_turns_reuse_what_was_said(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    for (uint32_t count = 1; count <= CHATS; count++) {
        check_chats(gpu, "gpt2", count);
        check_chats(gpu, "llama", count);
    }
}

// The same prompts again, in another order: every row finds its prompt, and of each the last token runs at least.
static void test_rows_find_their_prompts(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "gpt2", false);
    // They have equal lengths, so that their order is the caller's.
    chat chats[2][2] = {{{.bytes = 0}}};
    vkf_continuation out[2][2];
    for (uint32_t i = 0; i < 2; i++) {
        append(&chats[0][i], i > 0 ? "the cat sat there" : "rain rain rain rain");
        append(&chats[1][1 - i], i > 0 ? "the cat sat there" : "rain rain rain rain");
    }
    (void)answer(gpu, generator, chats[0], 2, NULL, out[0]);
    const vkf_generation_cost cost = answer(gpu, generator, chats[1], 2, NULL, out[1]);
    const uint32_t a = out[0][0].prompt_count, b = out[0][1].prompt_count;
    assert_int_equal(cost.prompt_tokens, a + b);
    assert_int_equal(cost.reused_tokens, a + b - 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_same(&out[0][i], &out[1][1 - i]);
        vkf_continuation_free(&out[0][i]);
    }
    vkf_continuation_free(&out[1][0]);
    vkf_continuation_free(&out[1][1]);
    vkf_generator_destroy(&generator);
}

static int32_t most_probable(void *user, uint32_t row, float *logits, uint32_t vocab)
{
    uint32_t best = 0;
    (void)user;
    (void)row;
    for (uint32_t i = 1; i < vocab; i++)
        best = logits[i] > logits[best] ? i : best;
    return (int32_t)best;
}

static void test_the_caller_chooses(void **state)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    vkf_generator *generator = make_generator(gpu, "llama", false);
    chat chats[CHATS] = {{.bytes = 0}};
    vkf_continuation out[CHATS], expected[CHATS];
    for (uint32_t i = 0; i < CHATS; i++)
        append(&chats[i], said[0][i]);
    (void)answer(gpu, generator, chats, CHATS, NULL, expected);
    (void)answer(gpu, generator, chats, CHATS, most_probable, out);
    for (uint32_t i = 0; i < CHATS; i++) {
        assert_same(&out[i], &expected[i]);
        vkf_continuation_free(&out[i]);
        vkf_continuation_free(&expected[i]);
    }
    vkf_generator_destroy(&generator);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns_reuse_what_was_said),
        cmocka_unit_test(test_rows_find_their_prompts),
        cmocka_unit_test(test_the_caller_chooses),
    };
    return cmocka_run_group_tests_name("chat", tests, vkf_test_gpu_setup, vkf_test_gpu_teardown);
}
