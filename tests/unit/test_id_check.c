// What a tokenizer makes of a text against the tables of a model: no device is needed to tell.
#include "model/text/id_check.h"
#include "tokenizer_fixture.h"

#define WORDS(rest) TOKENIZER("\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1}", rest)
#define TEMPLATE(single)                                                                               \
    ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" single "], \"pair\": []," \
    "\"special_tokens\": {\"q\": {\"id\": \"q\", \"ids\": [5000], \"tokens\": [\"q\"]}}}"
#define TEXT_A(type) "{\"Sequence\": {\"id\": \"A\", \"type_id\": " #type "}}"
#define QUOTED "{\"SpecialToken\": {\"id\": \"q\", \"type_id\": 0}}"

static const vkf_model_config encoder = {
    .kind = VKF_MODEL_ENCODER, .source_vocab = 2, .token_types = 2, .target_vocab = 9000};
static const vkf_model_config decoder = {.kind = VKF_MODEL_DECODER, .target_vocab = 2, .source_vocab = 9000};

// The text "a" through a tokenizer, whatever the tokenizer itself may be worth.
static vkf_status check_text(tokenizer_fixture *fixture, const char *json, const vkf_model_config *config,
                             const char *text)
{
    vkf_encoding encoding = {0};
    if (fixture_parse(fixture, json) != VKF_OK)
        fail_msg("%s: %s", json, fixture->recording.text);
    const vkf__id_tables tables = {&fixture->recording.host, "t.json", &fixture->tokenizer, config};
    assert_int_equal(
        vkf__tokenizer_encode(&fixture->tokenizer, text, strlen(text), NULL, 0, &(vkf_encode_options){0}, &encoding),
        VKF_OK);
    vkf_status status = vkf__check_encoding(&tables, &encoding);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
    return status;
}

static const struct {
    const char *json;
    const vkf_model_config *config;
    const char *text;
    vkf_status status;
    const char *named[3];
} texts[] = {
    {WORDS(""), &encoder, "a", VKF_OK, {"", "", ""}},
    {WORDS(""), &decoder, "a", VKF_OK, {"", "", ""}},
    {WORDS(""), &decoder, "", VKF_OK, {"", "", ""}}, // it begins with bos_id
    {WORDS(""), &encoder, "", VKF_ERROR_INVALID_ARGUMENT, {"t.json", "no tokens", "nothing for the model to read"}},
    {WORDS(TEMPLATE("")), &encoder, "a", VKF_ERROR_INVALID_ARGUMENT, {"t.json", "no tokens", ""}},
    {WORDS(TEMPLATE(QUOTED)), &encoder, "a", VKF_ERROR_FORMAT, {"t.json", "id 5000", "vocabulary is 2"}},
    {WORDS(TEMPLATE(QUOTED)), &decoder, "a", VKF_ERROR_FORMAT, {"t.json", "id 5000", "vocabulary is 2"}},
    {WORDS(TEMPLATE(TEXT_A(1))), &encoder, "a", VKF_OK, {"", "", ""}},
    {WORDS(TEMPLATE(TEXT_A(2))), &encoder, "a", VKF_ERROR_FORMAT, {"t.json", "'a' with id 1, is of type 2", "2 token"}},
    {WORDS(TEMPLATE(TEXT_A(2147483647))), &decoder, "a", VKF_OK, {"", "", ""}}, // it has no types
};

static void test_check_encoding(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tokenizer_fixture fixture;
        vkf_status status = check_text(&fixture, texts[i].json, texts[i].config, texts[i].text);
        for (size_t n = 0; n < 3; n++)
            if (status != texts[i].status || !strstr(fixture.recording.text, texts[i].named[n]))
                fail_msg("%s: status %d, \"%s\", expected %d with \"%s\"", texts[i].json, (int)status,
                         fixture.recording.text, (int)texts[i].status, texts[i].named[n]);
        fixture_free(&fixture);
    }
}

// Every id is looked at, and only those within the table pass: also a table that ends before the vocabulary does.
static void test_check_encoding_at_the_ends_of_the_table(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(fixture_parse(&fixture, WORDS("")), VKF_OK);
    for (int32_t id = -1; id <= 2; id++) {
        int32_t ids[] = {0, 1, id}, types[] = {0, 1, 0};
        const vkf_encoding encoding = {.count = 3, .ids = ids, .type_ids = types};
        const vkf__id_tables tables = {&fixture.recording.host, "t.json", &fixture.tokenizer, &encoder};
        assert_int_equal(vkf__check_encoding(&tables, &encoding), id < 0 || id > 1 ? VKF_ERROR_FORMAT : VKF_OK);
    }
    fixture_free(&fixture);
}

static void test_check_encoding_of_nothing_without_a_token_to_begin_with(void **state)
{
    (void)state;
    const int32_t outside[] = {-1, 2, INT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        tokenizer_fixture fixture;
        vkf_model_config config = decoder;
        config.bos_id = outside[i];
        assert_int_equal(check_text(&fixture, WORDS(""), &config, ""), VKF_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(fixture.recording.text, "t.json adds none to it: the model has no bos_token_id"));
        fixture_free(&fixture);
    }
}

static const struct {
    const vkf_model_config *config;
    int32_t pad_id;
    const char *named; // NULL: it is accepted
} paddings[] = {
    {&encoder, 1, NULL},
    {&encoder, -1, NULL}, // it has none
    {&encoder, 2, "pads with id 2"},
    {&encoder, -2, "pads with id -2"},
    {&decoder, 1, NULL},
    {&decoder, 2, "pads with id 2"},
};

static void test_check_padding(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    // Ids that no text has do not matter.
    assert_int_equal(fixture_parse(&fixture, WORDS(", \"added_tokens\": [{\"id\": 2, \"content\": \"b\"}]")), VKF_OK);
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++) {
        vkf_model_config config = *paddings[i].config;
        config.pad_id = paddings[i].pad_id;
        const vkf__id_tables tables = {&fixture.recording.host, "t.json", &fixture.tokenizer, &config};
        vkf_status status = vkf__check_padding(&tables);
        assert_int_equal(status, paddings[i].named ? VKF_ERROR_FORMAT : VKF_OK);
        assert_true(!paddings[i].named || (strstr(fixture.recording.text, paddings[i].named) &&
                                           strstr(fixture.recording.text, "vocabulary")));
    }
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_encoding),
        cmocka_unit_test(test_check_encoding_at_the_ends_of_the_table),
        cmocka_unit_test(test_check_encoding_of_nothing_without_a_token_to_begin_with),
        cmocka_unit_test(test_check_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
