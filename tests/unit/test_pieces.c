// Texts that are longer than a model: cut, divided, left as they are, and one after the other in blocks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording_host.h"
#include "scratch_directory.h"
#include "train/pieces.h"

#define MOST 7u // tokens of a piece
#define END 71  // stands behind a decoder's text

typedef struct fixture {
    recording_host host;
    vkf_tokenizer *tokenizer;
    vkf_example_tokens tokens;
    vkf_pieces pieces;
} fixture;

static const char lines[] = "a\na b c d e f g h i j k l\na b c d e\n";

static vkf_status begin(fixture *f, scratch_directory *scratch, vkf_example_kind kind, const char *text, vkf_pieces how,
                        vkf_example_targets targets)
{
    const char *path = scratch_write(scratch, "data.tsv", text, strlen(text));
    const vkf_examples_desc desc = {.paths = &path, .path_count = 1, .kind = kind};
    const vkf_tokenizer_desc tokenizer_desc = {.path = VKF_TEST_SOURCE_DIR "/tests/tokenizers/bert"};
    static const char *const labels[] = {"A", "B"};
    *f = (fixture){0};
    recording_host_init(&f->host);
    f->tokens = (vkf_example_tokens){.host = &f->host.host,
                                     .targets = targets,
                                     .labels = labels,
                                     .label_count = 2,
                                     .first_target_id = -1,
                                     .last_target_id = how.stream ? END : -1,
                                     .ends_sources = how.stream};
    assert_int_equal(vkf_tokenizer_load(&tokenizer_desc, &f->tokenizer), VKF_OK);
    f->tokens.tokenizer = f->tokenizer;
    assert_int_equal(vkf_examples_open(&f->host.host, &desc, &f->tokens.examples), VKF_OK);
    f->pieces = how;
    f->pieces.tokens = &f->tokens;
    f->pieces.max_source = MOST;
    return vkf_pieces_open(&f->pieces);
}

static void finish(fixture *f)
{
    vkf_pieces_close(&f->pieces);
    vkf_examples_close(&f->tokens.examples);
    vkf_example_tokens_clear(&f->tokens);
    vkf_tokenizer_destroy(&f->tokenizer);
    assert_int_equal(f->host.live, 0);
}

static vkf_example_ids piece(fixture *f, uint32_t index)
{
    vkf_example_ids ids = {0};
    assert_int_equal(vkf_pieces_get(&f->pieces, index, &ids), VKF_OK);
    return ids;
}

// The tokens of an example as they are without pieces; `out_ids` has room for 100.
static uint32_t whole(fixture *f, uint32_t example, int32_t *out_ids)
{
    vkf_example_ids ids = {0};
    assert_int_equal(vkf_example_tokens_get(&f->tokens, example, &ids), VKF_OK);
    assert_in_range(ids.source_count, 1, 100);
    memcpy(out_ids, ids.source, ids.source_count * sizeof *out_ids);
    f->pieces.has_last = false; // these ids are gone
    return ids.source_count;
}

// Short texts stay what they are. A long one has so many tokens before and behind it in each part, and its parts are
// all of it.
static void expect_parts(fixture *f, uint32_t around)
{
    int32_t ids[100];
    const uint32_t count = whole(f, 1, ids), text = count - 2 * around, room = MOST - 2 * around;
    const uint32_t parts = (text + room - 1) / room;
    assert_in_range(parts, 2, 9);
    assert_int_equal(vkf_pieces_count(&f->pieces), 1 + parts + 1);
    assert_int_equal(f->pieces.long_texts, 1 + (whole(f, 2, (int32_t[100]){0}) > MOST));
    for (uint32_t i = 0; i < parts; i++) {
        const vkf_example_ids part = piece(f, 1 + i);
        const uint32_t expected = i + 1 < parts ? room : text - i * room;
        assert_int_equal(vkf_pieces_example(&f->pieces, 1 + i), 1);
        assert_int_equal(part.source_count, expected + 2 * around);
        assert_memory_equal(part.source, ids, around * sizeof *ids);
        assert_memory_equal(part.source + around, ids + around + i * room, expected * sizeof *ids);
        assert_memory_equal(part.source + around + expected, ids + count - around, around * sizeof *ids);
    }
}

static void test_pieces_divide_a_decoders_text(void **state)
{
    fixture f;
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_BLOCK, .stream = true};
    assert_int_equal(begin(&f, *state, VKF_EXAMPLE_TEXT, "a\na b c d e f g h i j k l m\nb\n", how, VKF_TARGETS_TEXT),
                     VKF_OK);
    expect_parts(&f, 0);
    finish(&f);
}

static void test_pieces_divide_a_masked_text(void **state)
{
    fixture f;
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_BLOCK, .by_token = true};
    assert_int_equal(begin(&f, *state, VKF_EXAMPLE_TEXT, "a\na b c d e f g h i j k l\nb\n", how, VKF_TARGETS_MASKABLE),
                     VKF_OK);
    expect_parts(&f, 1); // [CLS], [SEP]
    const vkf_example_ids part = piece(&f, 2);
    assert_int_equal(part.target_count, MOST);
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(part.target[i], i == 0 || i == MOST - 1 ? VKF_IGNORED_LABEL : part.source[i]);
    finish(&f);
}

// A decoder learns nothing from a token alone, so that the last one of nine is in no block.
static void test_pieces_leave_no_token_alone(void **state)
{
    fixture f;
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_BLOCK, .stream = true};
    int32_t ids[100];
    assert_int_equal(begin(&f, *state, VKF_EXAMPLE_TEXT, "a b c d e\n", how, VKF_TARGETS_TEXT), VKF_OK);
    assert_int_equal(whole(&f, 0, ids), MOST + 1); // with [CLS], [SEP] and the end
    assert_int_equal(vkf_pieces_count(&f.pieces), 1);
    assert_int_equal(piece(&f, 0).source_count, MOST);
    finish(&f);
}

static void test_pieces_cut_texts_off(void **state)
{
    fixture f;
    int32_t ids[100];
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_CUT};
    assert_int_equal(begin(&f, *state, VKF_EXAMPLE_CLASS, "a\tA\na b c d e f g h i j\tB\n", how, VKF_TARGETS_CLASS),
                     VKF_OK);
    assert_int_equal(vkf_pieces_count(&f.pieces), 2);
    for (int i = 0; i < 2; i++) { // it counts once
        const uint32_t count = whole(&f, 1, ids);
        (void)piece(&f, 0);
        const vkf_example_ids part = piece(&f, 1);
        assert_int_equal(part.source_count, MOST);
        assert_memory_equal(part.source, ids, (MOST - 1) * sizeof *ids);
        assert_int_equal(part.source[MOST - 1], ids[count - 1]);
        assert_int_equal(part.target_count, 1);
        assert_int_equal(part.target[0], 1);
        assert_int_equal(f.pieces.long_texts, 1);
    }
    finish(&f);
}

// Each side of a pair has a length of its own.
static void test_pieces_cut_both_sides(void **state)
{
    fixture f;
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_CUT, .max_target = 4};
    assert_int_equal(begin(&f, *state, VKF_EXAMPLE_PAIR, "a b\ta b c d e f\n", how, VKF_TARGETS_TEXT), VKF_OK);
    const vkf_example_ids pair = piece(&f, 0);
    assert_int_equal(pair.source_count, 4);
    assert_int_equal(pair.target_count, 4);
    assert_memory_equal(pair.target, pair.source, 4 * sizeof *pair.source);
    assert_int_equal(f.pieces.long_texts, 1);
    finish(&f);
}

// A prompt that leaves no room for its completion has nothing to learn.
static void test_pieces_without_a_completion(void **state)
{
    fixture f;
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_CUT, .stream = true, .by_token = true};
    assert_int_equal(
        begin(&f, *state, VKF_EXAMPLE_PROMPT, "a b c d e f g\t h\na b c d\t e f g h\n", how, VKF_TARGETS_COMPLETION),
        VKF_OK);
    assert_int_equal(piece(&f, 0).target_count, 0);
    const vkf_example_ids cut = piece(&f, 1); // [CLS] a b c d e f
    assert_int_equal(cut.target_count, MOST);
    assert_int_equal(cut.target[4], VKF_IGNORED_LABEL);
    assert_int_equal(cut.target[5], cut.source[5]);
    assert_int_equal(cut.target[6], cut.source[6]);
    finish(&f);
}

// The first token of a block follows from nothing: it alone is nothing to learn.
static void test_pieces_whose_first_token_has_the_label(void **state)
{
    fixture f;
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_BLOCK, .stream = true, .by_token = true};
    assert_int_equal(begin(&f, *state, VKF_EXAMPLE_PROMPT, "a b c d e f\t g\n", how, VKF_TARGETS_COMPLETION), VKF_OK);
    assert_int_equal(piece(&f, 0).target_count, 0);
    assert_int_equal(piece(&f, 1).target_count, 3); // g [SEP] and the end, which is learned
    vkf_pieces_close(&f.pieces);
    f.tokens.last_target_id = -1;
    f.pieces = how;
    f.pieces.tokens = &f.tokens;
    f.pieces.max_source = MOST;
    assert_int_equal(vkf_pieces_open(&f.pieces), VKF_OK);
    assert_int_equal(piece(&f, 1).source_count, 2);
    assert_int_equal(piece(&f, 1).target_count, 0);
    finish(&f);
}

static void test_pieces_leave_texts_as_they_are(void **state)
{
    fixture f;
    int32_t ids[100];
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_DROP};
    assert_int_equal(begin(&f, *state, VKF_EXAMPLE_TEXT, lines, how, VKF_TARGETS_TEXT), VKF_OK);
    const uint32_t count = whole(&f, 1, ids);
    assert_int_equal(piece(&f, 1).source_count, count);
    assert_true(count > MOST);
    finish(&f);
}

// Blocks are full but for the last one, and together they are all texts in order.
static void test_pieces_pack_texts(void **state)
{
    fixture f;
    int32_t all[300];
    uint32_t count = 0;
    const vkf_pieces how = {.how = VKF_TRAIN_LONG_BLOCK, .stream = true, .pack = true};
    assert_int_equal(begin(&f, *state, VKF_EXAMPLE_TEXT, lines, how, VKF_TARGETS_TEXT), VKF_OK);
    for (uint32_t i = 0; i < 3; i++)
        count += whole(&f, i, all + count);
    assert_int_equal(vkf_pieces_count(&f.pieces), (count + MOST - 1) / MOST);
    for (uint32_t i = vkf_pieces_count(&f.pieces); i-- > 0;) {
        const vkf_example_ids block = piece(&f, i);
        assert_int_equal(block.source_count, count - i * MOST < MOST ? count - i * MOST : MOST);
        assert_memory_equal(block.source, all + i * MOST, block.source_count * sizeof *all);
    }
    finish(&f);
}

static void test_pieces_release_all_when_memory_is_exhausted(void **state)
{
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t call = 1; status != VKF_OK; call++) {
        fixture f;
        vkf_example_ids ids;
        const vkf_pieces how = {.how = VKF_TRAIN_LONG_DROP, .by_token = true};
        assert_int_equal(begin(&f, *state, VKF_EXAMPLE_TEXT, lines, how, VKF_TARGETS_MASKABLE), VKF_OK);
        f.pieces.how = VKF_TRAIN_LONG_BLOCK;
        f.host.fail_call = f.host.calls + call;
        status = vkf_pieces_open(&f.pieces);
        if (status == VKF_OK)
            status = vkf_pieces_get(&f.pieces, 2, &ids);
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        finish(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_divide_a_decoders_text),
        cmocka_unit_test(test_pieces_divide_a_masked_text),
        cmocka_unit_test(test_pieces_leave_no_token_alone),
        cmocka_unit_test(test_pieces_cut_texts_off),
        cmocka_unit_test(test_pieces_cut_both_sides),
        cmocka_unit_test(test_pieces_without_a_completion),
        cmocka_unit_test(test_pieces_whose_first_token_has_the_label),
        cmocka_unit_test(test_pieces_leave_texts_as_they_are),
        cmocka_unit_test(test_pieces_pack_texts),
        cmocka_unit_test(test_pieces_release_all_when_memory_is_exhausted),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
