// Tokenizer files that must not be taken: each a status and a message that names the file and the key. And what happens
// when memory runs out, and to the public functions' wrong arguments.
#include "scratch_directory.h"
#include "tokenizer_fixture.h"

#define BPE(rest) "\"type\": \"BPE\", " rest
#define WORDS "\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1}"

typedef struct refusal {
    const char *json;
    vkf_status status;
    const char *named;
} refusal;

static const refusal refusals[] = {
    {"", VKF_ERROR_FORMAT, "t.json:1:"},
    {"[]", VKF_ERROR_FORMAT, "object"},
    {"{", VKF_ERROR_FORMAT, "t.json:1:1"},
    {"{}", VKF_ERROR_FORMAT, "'model' is missing"},
    {"{\"model\": []}", VKF_ERROR_FORMAT, "model must be an object"},
    {"{\"model\": {\"type\": 3}}", VKF_ERROR_FORMAT, "model: key 'type'"},
    {"{\"model\": {\"type\": \"Magic\"}}", VKF_ERROR_UNSUPPORTED, "BPE, Unigram, WordLevel, WordPiece"},
    {TOKENIZER(BPE("\"merges\": []"), ""), VKF_ERROR_FORMAT, "'vocab' is missing"},
    {TOKENIZER(BPE("\"vocab\": [], \"merges\": []"), ""), VKF_ERROR_FORMAT, "model.vocab"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": -1}, \"merges\": []"), ""), VKF_ERROR_FORMAT, "model.vocab: key 'a'"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": 2147483647}, \"merges\": []"), ""), VKF_ERROR_FORMAT, "2147483647"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": 9223372036854775807}, \"merges\": []"), ""), VKF_ERROR_FORMAT, "within 0 and"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": 1.5}, \"merges\": []"), ""), VKF_ERROR_FORMAT, "key 'a'"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": 0}"), ""), VKF_ERROR_FORMAT, "'merges' is missing"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": 0}, \"merges\": [\"a\"]"), ""), VKF_ERROR_FORMAT, "model.merges[0]"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": 0}, \"merges\": [\"a a a\"]"), ""), VKF_ERROR_FORMAT, "model.merges[0]"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": 0}, \"merges\": [[\"a\", 3]]"), ""), VKF_ERROR_FORMAT, "model.merges[0]"},
    {TOKENIZER(BPE("\"vocab\": {\"a\": 0}, \"merges\": [[\"a\", \"a\"]]"), ""), VKF_ERROR_FORMAT, "'vocab'"},
    {TOKENIZER(BPE("\"dropout\": 0.1, \"vocab\": {\"a\": 0}, \"merges\": []"), ""), VKF_ERROR_UNSUPPORTED, "dropout"},
    {TOKENIZER("\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}", ""), VKF_ERROR_FORMAT, "'unk_token'"},
    {TOKENIZER("\"type\": \"Unigram\", \"vocab\": [[\"a\"]]", ""), VKF_ERROR_FORMAT, "model.vocab[0]"},
    {TOKENIZER("\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]], \"unk_id\": 1", ""), VKF_ERROR_FORMAT, "'unk_id'"},
    {TOKENIZER("\"type\": \"Unigram\", \"vocab\": [[\"a\", 0]]", ""), VKF_ERROR_FORMAT, "'unk_id'"},
    {TOKENIZER(WORDS, ", \"normalizer\": {\"type\": \"Rot13\"}"), VKF_ERROR_UNSUPPORTED, "BertNormalizer, ByteLevel"},
    {TOKENIZER(WORDS,
               ", \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, {\"type\": \"X\"}]}"),
     VKF_ERROR_UNSUPPORTED, "normalizer.normalizers[1]"},
    {TOKENIZER(WORDS, ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"####\"}"),
     VKF_ERROR_FORMAT, "base64"},
    {TOKENIZER(WORDS, ", \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"/////wAAAAA=\"}"),
     VKF_ERROR_FORMAT, "no trie"},
    {TOKENIZER(WORDS, ", \"normalizer\": {\"type\": \"Replace\", \"pattern\": {}, \"content\": \"\"}"),
     VKF_ERROR_FORMAT, "normalizer.pattern"},
    {TOKENIZER(WORDS, ", \"pre_tokenizer\": {\"type\": \"Syllables\"}"), VKF_ERROR_UNSUPPORTED, "pre_tokenizer"},
    {TOKENIZER(
         WORDS,
         ", \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"(\"}, \"behavior\": \"Isolated\"}"),
     VKF_ERROR_FORMAT, "regular expression '('"},
    {TOKENIZER(WORDS, ", \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"a\\\\X\"}, \"behavior\":"
                      "\"Isolated\"}"),
     VKF_ERROR_UNSUPPORTED, "a boundary of text segments"},
    {TOKENIZER(WORDS,
               ", \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"String\": \"a\"}, \"behavior\": \"Eaten\"}"),
     VKF_ERROR_UNSUPPORTED, "MergedWithNext"},
    {TOKENIZER(WORDS, ", \"pre_tokenizer\": {\"type\": \"CharDelimiterSplit\", \"delimiter\": \"ab\"}"),
     VKF_ERROR_FORMAT, "one character"},
    {TOKENIZER(WORDS, ", \"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 0}"), VKF_ERROR_FORMAT, "'length'"},
    {TOKENIZER(WORDS, ", \"added_tokens\": {}"), VKF_ERROR_FORMAT, "added_tokens must be an array"},
    {TOKENIZER(WORDS, ", \"added_tokens\": [{\"id\": 1}]"), VKF_ERROR_FORMAT, "added_tokens[0]: key 'content'"},
    {TOKENIZER(WORDS, ", \"added_tokens\": [{\"id\": -7, \"content\": \"x\"}]"), VKF_ERROR_FORMAT,
     "added_tokens[0]: key 'id'"},
    {TOKENIZER(WORDS, ", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"s\"], \"cls\": [\"c\", 1]}"),
     VKF_ERROR_FORMAT, "'sep'"},
    {TOKENIZER(
         WORDS,
         ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"q\","
         "\"type_id\": 0}}], \"pair\": [], \"special_tokens\": {}}"),
     VKF_ERROR_FORMAT, "'q' is missing"},
    {TOKENIZER(WORDS,
               ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"Sequence\": {\"id\": \"B\","
               "\"type_id\": 0}}], \"pair\": [], \"special_tokens\": {}}"),
     VKF_ERROR_FORMAT, "one sequence"},
    {TOKENIZER(WORDS, ", \"decoder\": {\"type\": \"Telepathy\"}"), VKF_ERROR_UNSUPPORTED, "ByteFallback"},
    {TOKENIZER(WORDS, ", \"truncation\": {\"max_length\": \"8\"}"), VKF_ERROR_FORMAT, "truncation: key 'max_length'"},
    {TOKENIZER(WORDS, ", \"padding\": {\"strategy\": \"Sometimes\"}"), VKF_ERROR_UNSUPPORTED, "BatchLongest"},
};

static void test_files_that_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        fixture_assert_refused(refusals[i].json, refusals[i].status, refusals[i].named);
}

static void test_file_nested_too_deeply(void **state)
{
    (void)state;
    char json[8192] = "{\"model\": {" WORDS "}, \"normalizer\": ";
    for (int i = 0; i < 100; i++)
        strcat(json, "{\"type\": \"Sequence\", \"normalizers\": [");
    strcat(json, "{\"type\": \"NFC\"}");
    for (int i = 0; i < 100; i++)
        strcat(json, "]}");
    strcat(json, "}");
    fixture_assert_refused(json, VKF_ERROR_FORMAT, "nested too deeply");
}

#define WHOLE                                                                                                         \
    TOKENIZER(                                                                                                        \
        BPE("\"unk_token\": \"u\", \"byte_fallback\": true, \"vocab\": {\"a\": 0, \"u\": 1, \"aa\": 2},"              \
            "\"merges\": [[\"a\", \"a\"]]"),                                                                          \
        ", \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFKC\"}, {\"type\": \"Replace\","  \
        "\"pattern\": {\"Regex\": \"b+\"}, \"content\": \"a\"}]}, \"pre_tokenizer\": {\"type\": \"ByteLevel\"},"      \
        "\"added_tokens\": [{\"id\": 3, \"content\": \"<s>\", \"special\": true}], \"post_processor\": {\"type\":"    \
        "\"RobertaProcessing\", \"sep\": [\"<s>\", 3], \"cls\": [\"<s>\", 3]}, \"decoder\": {\"type\": \"Sequence\"," \
        "\"decoders\": [{\"type\": \"ByteLevel\"}, {\"type\": \"Replace\", \"pattern\": {\"String\": \"x\"},"         \
        "\"content\": \"y\"}]}")

// Loading, encoding and decoding, with every allocation failing in turn: a status each time, and nothing left behind.
static void test_every_allocation_may_fail(void **state)
{
    (void)state;
    static const char text[] = "aab \xef\xac\x81 <s>\xff";
    const int32_t ids[] = {0, 3, 2};
    size_t failures = 0;
    for (size_t fail_call = 1;; fail_call++) {
        recording_host recording;
        vkf__tokenizer tokenizer = {0};
        vkf_encoding encoding = {0};
        char decoded[64];
        size_t bytes = sizeof decoded;
        recording_host_init(&recording);
        recording.fail_call = fail_call;
        vkf_status status = vkf__tokenizer_parse(&recording.host, "t.json", WHOLE, strlen(WHOLE), &tokenizer);
        if (status == VKF_OK)
            status = vkf__tokenizer_encode(&tokenizer, text, strlen(text), "a", 1, &(vkf_encode_options){0}, &encoding);
        if (status == VKF_OK)
            status = vkf__tokenizer_decode(&tokenizer, ids, 3, false, &bytes, decoded);
        if (encoding.offsets)
            encoding.allocator.release(encoding.allocator.user, encoding.offsets);
        vkf__tokenizer_free(&tokenizer);
        assert_int_equal(recording.live, 0);
        if (recording.calls < fail_call)
            break;
        // PCRE2 does without machine code when it has no memory for it; nothing else goes on.
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        failures += status != VKF_OK;
    }
    assert_true(failures > 40);
}

static void test_public_functions(void **state)
{
    scratch_directory *scratch = *state;
    const char *path = scratch_write(scratch, "t.json", WHOLE, strlen(WHOLE));
    vkf_tokenizer *tokenizer = NULL;
    vkf_encoding encoding = {0};
    vkf_tokenizer_info info;
    const vkf_text a = {"a", 1};
    char text[16];
    size_t bytes = sizeof text;
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = path}, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){0}, &tokenizer), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = "/nonexistent/t.json"}, &tokenizer),
                     VKF_ERROR_FILE);
    assert_null(tokenizer);
    assert_int_equal(vkf_tokenizer_load(&(vkf_tokenizer_desc){.path = path}, &tokenizer), VKF_OK);
    assert_int_equal(vkf_tokenizer_encode(tokenizer, &(vkf_text){NULL, 1}, NULL, NULL, &encoding),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tokenizer_encode(tokenizer, &a, &(vkf_text){NULL, 1}, NULL, &encoding),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tokenizer_encode(tokenizer, &a, NULL, &(vkf_encode_options){.truncation = 99}, &encoding),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_tokenizer_encode(tokenizer, &(vkf_text){NULL, 0}, NULL, NULL, &encoding), VKF_OK);
    assert_int_equal(encoding.count, 2);
    vkf_encoding_free(&encoding);
    vkf_encoding_free(&encoding);
    vkf_encoding_free(NULL);
    assert_int_equal(vkf_tokenizer_decode(tokenizer, (const int32_t[]){2}, 1, false, &bytes, text), VKF_OK);
    assert_string_equal(text, "aa");
    assert_int_equal(vkf_tokenizer_get_vocab_size(tokenizer), 4);
    assert_int_equal(vkf_tokenizer_token_to_id(tokenizer, "<s>"), 3);
    assert_string_equal(vkf_tokenizer_id_to_token(tokenizer, 3), "<s>");
    vkf_tokenizer_get_info(tokenizer, &info);
    assert_false(info.pads);
    vkf_tokenizer_destroy(&tokenizer);
    assert_null(tokenizer);
    vkf_tokenizer_destroy(&tokenizer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_that_are_refused),
        cmocka_unit_test(test_file_nested_too_deeply),
        cmocka_unit_test(test_every_allocation_may_fail),
        cmocka_unit_test_setup_teardown(test_public_functions, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
