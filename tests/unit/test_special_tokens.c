// Which tokens are special, by tokenizer_config.json and special_tokens_map.json, or by their usual names.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <vkformer/embed.h>

#include "recording_host.h"
#include "scratch_directory.h"

#define BERT "\"[PAD]\": 0, \"[UNK]\": 1, \"[CLS]\": 2, \"[SEP]\": 3, \"[MASK]\": 4"
#define ROBERTA "\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3, \"<mask>\": 4"

static void write_text(scratch_directory *scratch, const char *name, const char *text)
{
    if (text)
        scratch_write(scratch, name, text, strlen(text));
}

// The files of a tokenizer with these tokens.
static vkf_tokenizer *load(scratch_directory *scratch, recording_host *recording, const char *tokens,
                           const char *config, const char *map)
{
    const vkf_tokenizer_desc desc = {.path = scratch->path,
                                     .message = recording_message,
                                     .message_user = recording,
                                     .allocator = recording->host.allocator};
    char json[512];
    vkf_tokenizer *tokenizer = NULL;
    scratch_list(scratch, 1);
    (void)snprintf(json, sizeof json,
                   "{\"model\": {\"type\": \"WordLevel\", \"vocab\": {%s, \"a\": 5}, \"unk_token\": \"a\"}}", tokens);
    write_text(scratch, "tokenizer.json", json);
    write_text(scratch, "tokenizer_config.json", config);
    write_text(scratch, "special_tokens_map.json", map);
    if (vkf_tokenizer_load(&desc, &tokenizer) != VKF_OK)
        fail_msg("%s: %s", json, recording->text);
    return tokenizer;
}

static void test_tokens_have_usual_names_unless_files_give_others(void **state)
{
    static const struct {
        const char *tokens, *config, *map;
        vkf_special_tokens expected; // cls, mask, unk, pad, bos, eos
    } cases[] = {
        {BERT, NULL, NULL, {2, 4, 1, 0, 2, 3}},
        {ROBERTA, NULL, NULL, {0, 4, 3, 1, 0, 2}},
        {"\"<|endoftext|>\": 0", NULL, NULL, {-1, -1, -1, -1, 0, 0}},
        {BERT, "{\"bos_token\": \"a\", \"eos_token\": {\"content\": \"[PAD]\"}}", NULL, {2, 4, 1, 0, 5, 0}},
        {BERT, "{\"sep_token\": \"a\"}", "{\"cls_token\": \"[UNK]\"}", {1, 4, 1, 0, 1, 5}},
        {BERT, "{\"mask_token\": null}", "{\"mask_token\": \"a\", \"pad_token\": \"a\"}", {2, -1, 1, 5, 2, 3}},
        {BERT, "{\"tokenizer_class\": \"PreTrainedTokenizerFast\"}", NULL, {-1, -1, -1, -1, -1, -1}},
        // A text begins with nothing, so that "<s>" is but a name that classifiers give their first token.
        {ROBERTA, "{\"bos_token\": null}", NULL, {0, 4, 3, 1, -1, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        vkf_special_tokens found;
        recording_host_init(&recording);
        vkf_tokenizer *tokenizer = load(*state, &recording, cases[i].tokens, cases[i].config, cases[i].map);
        assert_int_equal(vkf_tokenizer_read_special_tokens(tokenizer, ((scratch_directory *)*state)->path, &found),
                         VKF_OK);
        if (memcmp(&found, &cases[i].expected, sizeof found) != 0)
            fail_msg("case %zu: cls %d, mask %d, unk %d, pad %d, bos %d, eos %d", i, found.cls_id, found.mask_id,
                     found.unk_id, found.pad_id, found.bos_id, found.eos_id);
        vkf_tokenizer_destroy(&tokenizer);
        assert_int_equal(recording.live, 0);
    }
}

static void test_what_is_refused(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    vkf_special_tokens found = {.cls_id = 7};
    recording_host_init(&recording);
    vkf_tokenizer *tokenizer = load(scratch, &recording, BERT, NULL, NULL);
    write_text(scratch, "special_tokens_map.json", "[");
    assert_int_equal(vkf_tokenizer_read_special_tokens(tokenizer, scratch->path, &found), VKF_ERROR_FORMAT);
    assert_non_null(strstr(recording.text, "special_tokens_map.json"));
    assert_int_equal(found.cls_id, 7); // untouched
    assert_int_equal(vkf_tokenizer_read_special_tokens(NULL, scratch->path, &found), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tokenizer_read_special_tokens(tokenizer, NULL, &found), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tokenizer_read_special_tokens(tokenizer, scratch->path, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tokenizer_read_special_tokens_sized(tokenizer, scratch->path, &found, 0),
                     VKF_ERROR_INVALID_ARGUMENT);
    vkf_tokenizer_destroy(&tokenizer);
    assert_int_equal(recording.live, 0);
}

// A program that knows only the first members gets these.
static void test_an_older_struct_is_filled_as_far_as_it_goes(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    vkf_special_tokens found = {.bos_id = 7};
    recording_host_init(&recording);
    vkf_tokenizer *tokenizer = load(scratch, &recording, BERT, NULL, NULL);
    assert_int_equal(
        vkf_tokenizer_read_special_tokens_sized(tokenizer, scratch->path, &found, offsetof(vkf_special_tokens, bos_id)),
        VKF_OK);
    assert_int_equal(found.cls_id, 2);
    assert_int_equal(found.bos_id, 7);
    vkf_tokenizer_destroy(&tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_have_usual_names_unless_files_give_others),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_an_older_struct_is_filled_as_far_as_it_goes),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
