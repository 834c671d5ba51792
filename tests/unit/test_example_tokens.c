// Ids of examples by a tokenizer, and the numbers of their classes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording_host.h"
#include "scratch_directory.h"
#include "train/example_tokens.h"

typedef struct fixture {
    recording_host host;
    vkf_tokenizer *tokenizer;
    vkf_example_tokens tokens;
} fixture;

static void begin_in(fixture *f, scratch_directory *scratch, const char *name, vkf_example_kind kind, const char *text)
{
    const char *path = scratch_write(scratch, name, text, strlen(text));
    const vkf_examples_desc desc = {.paths = &path, .path_count = 1, .kind = kind};
    const vkf_tokenizer_desc tokenizer_desc = {.path = VKF_TEST_SOURCE_DIR "/tests/tokenizers/bert"};
    *f = (fixture){0};
    recording_host_init(&f->host);
    f->tokens = (vkf_example_tokens){.host = &f->host.host, .first_target_id = -1, .last_target_id = -1};
    assert_int_equal(vkf_tokenizer_load(&tokenizer_desc, &f->tokenizer), VKF_OK);
    f->tokens.tokenizer = f->tokenizer;
    assert_int_equal(vkf_examples_open(&f->host.host, &desc, &f->tokens.examples), VKF_OK);
}

static void begin(fixture *f, scratch_directory *scratch, vkf_example_kind kind, const char *text)
{
    begin_in(f, scratch, "data.tsv", kind, text);
}

static void finish(fixture *f)
{
    vkf_examples_close(&f->tokens.examples);
    vkf_example_tokens_clear(&f->tokens);
    vkf_tokenizer_destroy(&f->tokenizer);
    assert_int_equal(f->host.live, 0);
}

// The ids are those that the tokenizer gives for the text, with `first` before and `last` behind them.
static void expect_ids(const fixture *f, const char *text, bool plain, int32_t first, int32_t last, const int32_t *ids,
                       uint32_t count)
{
    const vkf_encode_options options = {.no_special_tokens = plain};
    vkf_encoding encoding = {0};
    assert_int_equal(vkf_tokenizer_encode(f->tokenizer, &(vkf_text){text, strlen(text)}, NULL, &options, &encoding),
                     VKF_OK);
    const uint32_t before = first >= 0, behind = last >= 0;
    assert_true(encoding.count > 0);
    assert_int_equal(count, before + encoding.count + behind);
    if (before)
        assert_int_equal(ids[0], first);
    assert_memory_equal(ids + before, encoding.ids, encoding.count * sizeof *ids);
    if (behind)
        assert_int_equal(ids[count - 1], last);
    vkf_encoding_free(&encoding);
}

static void test_example_tokens_of_pairs(void **state)
{
    fixture f;
    vkf_example_ids ids = {0};
    begin(&f, *state, VKF_EXAMPLE_PAIR, "a long source of words\tone\nb\tanother target\n");
    f.tokens.plain_targets = true;
    f.tokens.first_target_id = 70;
    f.tokens.last_target_id = 71;
    for (int i = 0; i < 2; i++) { // whatever was asked for before
        assert_int_equal(vkf_example_tokens_get(&f.tokens, 1, &ids), VKF_OK);
        expect_ids(&f, "b", false, -1, -1, ids.source, ids.source_count);
        expect_ids(&f, "another target", true, 70, 71, ids.target, ids.target_count);
        assert_int_equal(vkf_example_tokens_get(&f.tokens, 0, &ids), VKF_OK);
        expect_ids(&f, "a long source of words", false, -1, -1, ids.source, ids.source_count);
        expect_ids(&f, "one", true, 70, 71, ids.target, ids.target_count);
    }
    f.tokens.plain_targets = false;
    f.tokens.first_target_id = f.tokens.last_target_id = -1;
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 0, &ids), VKF_OK);
    expect_ids(&f, "one", false, -1, -1, ids.target, ids.target_count);
    finish(&f);
}

static void test_example_tokens_of_texts(void **state)
{
    fixture f;
    vkf_example_ids ids = {0};
    begin(&f, *state, VKF_EXAMPLE_TEXT, "some words\n");
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 0, &ids), VKF_OK);
    expect_ids(&f, "some words", false, -1, -1, ids.source, ids.source_count);
    assert_int_equal(ids.target_count, 0);
    finish(&f);
}

static void test_example_tokens_of_classes(void **state)
{
    static const char *const labels[] = {"bad", "good", "0", "4"};
    static const char text[] =
        "a\tgood\na\t1\na\t0\na\t3\na\t4\na\tGood\na\t-1\na\t99999999999999999999\na\t1x\na\tgoo\n";
    static const int32_t expected[] = {1, 1, 2, 3, 3, -1, -1, -1, -1, -1};
    fixture f;
    vkf_example_ids ids = {0};
    char message[600];
    begin(&f, *state, VKF_EXAMPLE_CLASS, text);
    f.tokens.targets = VKF_TARGETS_CLASS;
    f.tokens.labels = labels;
    f.tokens.label_count = 4;
    f.tokens.first_target_id = 70; // is for texts
    for (uint32_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const vkf_status status = vkf_example_tokens_get(&f.tokens, i, &ids);
        assert_int_equal(status, expected[i] < 0 ? VKF_ERROR_FORMAT : VKF_OK);
        if (status != VKF_OK)
            continue;
        assert_int_equal(ids.target_count, 1);
        assert_int_equal(ids.target[0], expected[i]);
    }
    snprintf(message, sizeof message, "%s, line 10: its label 'goo' is none of the model's 4 classes",
             scratch_path(*state, "data.tsv"));
    assert_string_equal(f.host.text, message);
    f.tokens.labels = NULL; // classes without names
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 2, &ids), VKF_OK);
    assert_int_equal(ids.target[0], 0);
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 4, &ids), VKF_ERROR_FORMAT);
    finish(&f);
}

// The first piece of a word is labelled. An empty word, and one that the tokenizer takes out, have none, so that of the
// last line nothing is left.
static void test_example_tokens_of_tags(void **state)
{
    static const char text[] =
        "{\"tokens\":[\"tokens\",\"qer\",\"\",\"a,b\",\"\\u0007\",\"z\"],"
        "\"labels\":[\"A\",\"B\",\"A\",\"C\",\"A\",1]}\n"
        "{\"tokens\":[\"a\"],\"labels\":[3]}\n{\"tokens\":[\"\",\"\\u0007\"],\"labels\":[0,0]}\n";
    static const char *const labels[] = {"A", "B", "C"};
    static const int32_t none = VKF_IGNORED_LABEL;
    const int32_t expected[] = {none, 0, 1, none, 2, none, none, 1, none};
    fixture f;
    vkf_example_ids ids = {0};
    begin_in(&f, *state, "data.jsonl", VKF_EXAMPLE_TAGS, text);
    f.tokens.targets = VKF_TARGETS_TAGS;
    f.tokens.labels = labels;
    f.tokens.label_count = 3;
    f.tokens.last_target_id = 71; // is for texts
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vkf_example_tokens_get(&f.tokens, 0, &ids), VKF_OK);
        expect_ids(&f, "tokens qer  a,b \a z", false, -1, -1, ids.source, ids.source_count);
        assert_int_equal(ids.target_count, sizeof expected / sizeof expected[0]);
        assert_memory_equal(ids.target, expected, sizeof expected);
        assert_int_equal(vkf_example_tokens_get(&f.tokens, 1, &ids), VKF_ERROR_FORMAT);
        assert_non_null(strstr(f.host.text, "line 2: its label '3' is none of the model's 3 classes"));
    }
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 2, &ids), VKF_OK);
    assert_int_equal(ids.target_count, 0);
    finish(&f);
}

// What may be masked is what the text has; tokens around it are special, and so are those that stand in it.
static void test_example_tokens_of_maskable_texts(void **state)
{
    fixture f;
    vkf_example_ids ids = {0};
    begin(&f, *state, VKF_EXAMPLE_TEXT, "a [SEP] tokens\n[MASK]\n");
    f.tokens.targets = VKF_TARGETS_MASKABLE;
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 0, &ids), VKF_OK);
    expect_ids(&f, "a [SEP] tokens", false, -1, -1, ids.source, ids.source_count);
    assert_int_equal(ids.source_count, 5);
    assert_int_equal(ids.target_count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(ids.target[i], i % 2 == 1 ? ids.source[i] : VKF_IGNORED_LABEL);
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 1, &ids), VKF_OK);
    assert_int_equal(ids.target_count, 0);
    finish(&f);
}

// What has a byte of the completion is learned, and so is what ends it; a token that begins in the prompt and ends in
// the completion is the completion's.
static void test_example_tokens_of_completions(void **state)
{
    static const char text[] = "{\"prompt\":\"a b\",\"completion\":\" c tokens\"}\n"
                               "{\"prompt\":\"a tok\",\"completion\":\"ens b\"}\n";
    static const char *const joined[] = {"a b c tokens", "a tokens b"};
    static const uint32_t first[] = {3, 2}; // token of the completion, behind [CLS]
    fixture f;
    vkf_example_ids ids = {0};
    begin_in(&f, *state, "data.jsonl", VKF_EXAMPLE_PROMPT, text);
    f.tokens.targets = VKF_TARGETS_COMPLETION;
    f.tokens.last_target_id = 71;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t line = i % 2;
        f.tokens.learns_prompts = i >= 2;
        assert_int_equal(vkf_example_tokens_get(&f.tokens, line, &ids), VKF_OK);
        expect_ids(&f, joined[line], false, -1, 71, ids.source, ids.source_count);
        assert_int_equal(ids.target_count, ids.source_count);
        for (uint32_t t = 0; t < ids.source_count; t++) { // [SEP] is before what ends the text, and not learned
            const bool learned = i >= 2 || (t >= first[line] && t != ids.source_count - 2);
            assert_int_equal(ids.target[t], learned ? ids.source[t] : VKF_IGNORED_LABEL);
        }
    }
    finish(&f);
}

// Two vocabularies in the tokenizer's place: words that are known, and one that is not.
static void test_example_tokens_by_vocabularies(void **state)
{
    static const char text[] =
        "{\"source\": {\"tokens\": [\"<pad>\", \"<bos>\", \"<eos>\", \"<unk>\", \"a\", \"b\"], \"append_eos\": true},"
        "\"target\": {\"tokens\": [\"<pad>\", \"<bos>\", \"<eos>\", \"<unk>\", \"ba\", \"b\"]}}";
    static const int32_t source[] = {4, 5, 3, VKF_TOKEN_EOS}, target[] = {VKF_TOKEN_BOS, 5, 4, 3, VKF_TOKEN_EOS};
    fixture f;
    vkf__token_tables tables = {0};
    vkf_example_ids ids = {0};
    begin(&f, *state, VKF_EXAMPLE_PAIR, "abx\tbba?\n");
    assert_int_equal(vkf__token_tables_parse(&f.host.host, "v", text, sizeof text - 1, &tables), VKF_OK);
    f.tokens.tables = &tables;
    f.tokens.first_target_id = VKF_TOKEN_BOS;
    f.tokens.last_target_id = VKF_TOKEN_EOS;
    for (int i = 0; i < 2; i++) {
        f.tokens.ends_sources = i == 1; // the vocabulary has ended it already
        assert_int_equal(vkf_example_tokens_get(&f.tokens, 0, &ids), VKF_OK);
        assert_int_equal(ids.source_count, 4);
        assert_memory_equal(ids.source, source, sizeof source);
        assert_int_equal(ids.target_count, 5);
        assert_memory_equal(ids.target, target, sizeof target);
    }
    vkf__token_tables_free(&tables);
    finish(&f);
}

static void test_example_tokens_end_sources(void **state)
{
    fixture f;
    vkf_example_ids ids = {0};
    begin(&f, *state, VKF_EXAMPLE_TEXT, "some words\n");
    f.tokens.last_target_id = 71;
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 0, &ids), VKF_OK);
    const uint32_t count = ids.source_count;
    f.tokens.ends_sources = true;
    assert_int_equal(vkf_example_tokens_get(&f.tokens, 0, &ids), VKF_OK);
    assert_int_equal(ids.source_count, count + 1);
    assert_int_equal(ids.source[count], 71);
    finish(&f);
}

// The whole way: from lines to a padded batch.
static void test_example_tokens_make_batches(void **state)
{
    fixture f;
    vkf_batches *batches = NULL;
    const vkf_batch *batch = NULL;
    begin(&f, *state, VKF_EXAMPLE_PAIR, "a\tb\nsome more words\tc\n");
    const vkf_batches_desc desc = {.example_count = vkf_examples_count(f.tokens.examples),
                                   .ids = vkf_example_tokens_get,
                                   .ids_user = &f.tokens,
                                   .has_targets = true,
                                   .max_tokens = 200};
    assert_int_equal(vkf_batches_create(&f.host.host, &desc, &batches), VKF_OK);
    assert_int_equal(vkf_batches_per_epoch(batches), 1);
    assert_int_equal(vkf_batches_get(batches, 5, &batch), VKF_OK);
    assert_int_equal(batch->rows, 2);
    const uint32_t shorter = batch->examples[0] == 0 ? 0 : 1;
    expect_ids(&f, "a", false, -1, -1, batch->source_ids + shorter * batch->source_len, batch->source_lengths[shorter]);
    expect_ids(&f, "some more words", false, -1, -1, batch->source_ids + (1 - shorter) * batch->source_len,
               batch->source_len);
    vkf_batches_destroy(&batches);
    finish(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example_tokens_of_pairs),          cmocka_unit_test(test_example_tokens_of_texts),
        cmocka_unit_test(test_example_tokens_of_classes),        cmocka_unit_test(test_example_tokens_of_tags),
        cmocka_unit_test(test_example_tokens_of_maskable_texts), cmocka_unit_test(test_example_tokens_by_vocabularies),
        cmocka_unit_test(test_example_tokens_end_sources),       cmocka_unit_test(test_example_tokens_make_batches),
        cmocka_unit_test(test_example_tokens_of_completions),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
