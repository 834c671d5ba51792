// Directories without tokenizer.json: which of their files are read, and what is refused.
#include "scratch_directory.h"
#include "tokenizer_fixture.h"

#define BERT "[UNK]\n[CLS]\n[SEP]\nab\n##c\n"
#define TYPE(name) "{\"model_type\": \"" name "\"}"
#define CLASS(name) "{\"tokenizer_class\": \"" name "\"}"

// Up to three files; a length of 0 stands for that of a text.
typedef struct file {
    const char *name;
    const char *text;
    size_t bytes;
} file;

static void write_files(scratch_directory *scratch, const file files[4])
{
    scratch_list(scratch, 1);
    for (size_t i = 0; i < 4 && files[i].name; i++)
        scratch_write(scratch, files[i].name, files[i].text, files[i].bytes ? files[i].bytes : strlen(files[i].text));
}

static void assert_ids(const vkf__tokenizer *tokenizer, const char *text, const int32_t *ids, uint32_t count)
{
    vkf_encoding encoding = {0};
    const vkf_encode_options options = {0};
    assert_int_equal(vkf__tokenizer_encode(tokenizer, text, strlen(text), NULL, 0, &options, &encoding), VKF_OK);
    assert_int_equal(encoding.count, count);
    assert_memory_equal(encoding.ids, ids, count * sizeof *ids);
    vkf_encoding_free(&encoding);
}

static void test_vocabulary_becomes_word_piece(void **state)
{
    static const file files[4] = {{"vocab.txt", BERT, 0}, {"config.json", TYPE("bert"), 0}};
    static const int32_t ids[] = {1, 3, 4, 0, 2};
    recording_host recording;
    vkf__tokenizer tokenizer;
    write_files(*state, files);
    recording_host_init(&recording);
    assert_int_equal(vkf__tokenizer_load(&recording.host, ((scratch_directory *)*state)->path, &tokenizer), VKF_OK);
    assert_ids(&tokenizer, "ABC x", ids, 5);
    assert_int_equal(vkf__tokenizer_vocab_size(&tokenizer), 7); // [PAD] and [MASK] are added
    vkf__tokenizer_free(&tokenizer);
    assert_int_equal(recording.live, 0);
    assert_int_equal(recording.messages, 0);
}

// The expected ids are those of transformers' BertTokenizer: U+2028 and U+0085 are trimmed, and of equal lines the last
// one counts.
static void test_of_equal_lines_the_last_one_counts(void **state)
{
    static const file files[4] = {{"vocab.txt",
                                   "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\ncat\n\xe2\x80\xa8\n\xc2\x85\ndog \nrat\r\ncat\n"
                                   "\xe2\x80\xa9\n",
                                   0},
                                  {"config.json", TYPE("bert"), 0}};
    static const int32_t ids[] = {1, 10, 8, 9, 2};
    recording_host recording;
    vkf__tokenizer tokenizer;
    write_files(*state, files);
    recording_host_init(&recording);
    assert_int_equal(vkf__tokenizer_load(&recording.host, ((scratch_directory *)*state)->path, &tokenizer), VKF_OK);
    assert_ids(&tokenizer, "cat dog rat", ids, 5);
    vkf__tokenizer_free(&tokenizer);
    assert_int_equal(recording.live, 0);
}

// As in tokenizers: above the vocabulary's number of tokens, and above the highest of the added tokens' ids.
static void test_tokens_that_are_added_follow_the_highest_id(void **state)
{
    static const file files[4] = {{"vocab.json", "{\"a\": 0, \"<unk>\": 70}", 0},
                                  {"merges.txt", "#version: 0.2\n", 0},
                                  {"config.json", TYPE("gpt2"), 0},
                                  {"tokenizer_config.json", "{\"bos_token\": \"<unk>\", \"unk_token\": \"<b>\"}", 0}};
    recording_host recording;
    vkf__tokenizer tokenizer;
    write_files(*state, files);
    recording_host_init(&recording);
    assert_int_equal(vkf__tokenizer_load(&recording.host, ((scratch_directory *)*state)->path, &tokenizer), VKF_OK);
    assert_int_equal(vkf__tokenizer_token_to_id(&tokenizer, "<unk>"), 70);
    assert_int_equal(vkf__tokenizer_token_to_id(&tokenizer, "<|endoftext|>"), 71);
    assert_int_equal(vkf__tokenizer_token_to_id(&tokenizer, "<b>"), 72);
    assert_int_equal(recording.messages, 0);
    vkf__tokenizer_free(&tokenizer);
}

static const struct {
    file files[4];
    vkf_status status;
    const char *named[2];
} refusals[] = {
    {{{"vocab.txt", "a\n\xff\n", 0}, {"config.json", TYPE("bert"), 0}},
     VKF_ERROR_FORMAT,
     {"/vocab.txt", "line 2 is not valid UTF-8"}},
    {{{"vocab.txt", "a\0b\n", 4}, {"config.json", TYPE("bert"), 0}},
     VKF_ERROR_FORMAT,
     {"/vocab.txt", "line 1 has a zero byte"}},
    {{{"vocab.txt", "", 0}, {"config.json", TYPE("bert"), 0}}, VKF_ERROR_FORMAT, {"/vocab.txt", "is empty"}},
    {{{"vocab.txt", "a\n", 0}, {"config.json", TYPE("bert"), 0}}, VKF_ERROR_FORMAT, {"/vocab.txt", "unk_token"}},
    {{{"vocab.txt", BERT, 0}, {"config.json", TYPE("bert"), 0}, {"tokenizer_config.json", "{\"do_lower_case\": 1}", 0}},
     VKF_ERROR_FORMAT,
     {"/tokenizer_config.json", "do_lower_case"}},
    {{{"vocab.txt", BERT, 0}, {"config.json", TYPE("bert"), 0}, {"tokenizer_config.json", "{\"cls_token\": null}", 0}},
     VKF_ERROR_FORMAT,
     {"BertTokenizer", "cls_token"}},
    {{{"vocab.txt", BERT, 0}, {"config.json", TYPE("bert"), 0}, {"added_tokens.json", "{\"x\": \"7\"}", 0}},
     VKF_ERROR_FORMAT,
     {"/added_tokens.json", "'x'"}},
    {{{"vocab.txt", BERT, 0}, {"config.json", TYPE("bert"), 0}, {"special_tokens_map.json", "{\"pad_token\": 7}", 0}},
     VKF_ERROR_FORMAT,
     {"pad_token", "content"}},
    {{{"vocab.txt", BERT, 0},
      {"tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizer\", \"added_tokens_decoder\": {\"x\": {}}}", 0}},
     VKF_ERROR_FORMAT,
     {"added_tokens_decoder", "'x'"}},
    {{{"vocab.txt", BERT, 0}, {"config.json", TYPE("oracle"), 0}},
     VKF_ERROR_UNSUPPORTED,
     {"/vocab.txt", "save_pretrained"}},
    {{{"vocab.txt", BERT, 0}, {"tokenizer_config.json", CLASS("RoFormerTokenizer"), 0}},
     VKF_ERROR_UNSUPPORTED,
     {"RoFormerTokenizer", "save_pretrained"}},
    {{{"spiece.model", "x", 0}, {"config.json", TYPE("bert"), 0}}, VKF_ERROR_FILE, {"/spiece.model", "/vocab.txt"}},
    {{{"vocab.json", "{\"a\": 0}", 0}, {"config.json", TYPE("gpt2"), 0}}, VKF_ERROR_FILE, {"/merges.txt", ""}},
    {{{"vocab.json", "{\"a\": -1}", 0}, {"config.json", TYPE("gpt2"), 0}, {"merges.txt", "", 0}},
     VKF_ERROR_FORMAT,
     {"/vocab.json", "'a'"}},
    {{{"vocab.json", "{\"a\": 0}", 0}, {"config.json", TYPE("gpt2"), 0}, {"merges.txt", "#version\na\n", 0}},
     VKF_ERROR_FORMAT,
     {"/merges.txt", "line 2"}},
    {{{"vocab.json", "{\"a\": 0}", 0}, {"config.json", TYPE("roberta"), 0}, {"merges.txt", "a b c\n", 0}},
     VKF_ERROR_FORMAT,
     {"/merges.txt", "line 1"}},
    {{{"vocab.json", "{\"a\": 0}", 0}, {"config.json", TYPE("qwen2"), 0}, {"merges.txt", "a a\n", 0}},
     VKF_ERROR_FORMAT,
     {"/vocab.json", "merges"}},
    {{{"spiece.model", "\x0a\xff\xff", 0}, {"config.json", TYPE("t5"), 0}},
     VKF_ERROR_FORMAT,
     {"/spiece.model", "broken or cut off"}},
    {{{"spiece.model", "\x0a\x06\x0a\x02\xff\xff\x18\x02", 8}, {"config.json", TYPE("t5"), 0}},
     VKF_ERROR_FORMAT,
     {"/spiece.model", "piece 0 is not valid UTF-8"}},
    {{{"spiece.model", "\x0a\x09\x0a\x05<unk>\x18\x02\x12\x02\x18\x02", 15}, {"config.json", TYPE("t5"), 0}},
     VKF_ERROR_UNSUPPORTED,
     {"/spiece.model", "BPE"}},
    {{{"spiece.model", "\x0a\x09\x0a\x05<unk>\x18\x02", 11},
      {"config.json", TYPE("t5"), 0},
      {"tokenizer_config.json", "{\"extra_ids\": 1e9}", 0}},
     VKF_ERROR_FORMAT,
     {"extra_ids", "32768"}},
    {{{"tokenizer.model",
       "\x0a\x09\x0a\x05<unk>\x18\x02\x12\x02\x18\x02\x0a\x03\x0a\x01"
       "a\x0a\x03\x0a\x01"
       "a",
       25},
      {"tokenizer_config.json", CLASS("LlamaTokenizerFast"), 0}},
     VKF_ERROR_FORMAT,
     {"/tokenizer.model", "pieces 1 and 2 are both 'a'"}},
};

static void test_files_that_are_refused(void **state)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        recording_host recording;
        vkf__tokenizer tokenizer = {0};
        write_files(*state, refusals[i].files);
        recording_host_init(&recording);
        vkf_status status = vkf__tokenizer_load(&recording.host, ((scratch_directory *)*state)->path, &tokenizer);
        if (status != refusals[i].status || !strstr(recording.text, refusals[i].named[0]) ||
            !strstr(recording.text, refusals[i].named[1]))
            fail_msg("case %zu: %d, %s", i, (int)status, recording.text);
        assert_null(tokenizer.host);
        assert_int_equal(recording.live, 0);
    }
}

static void test_tokenizer_json_goes_before(void **state)
{
    static const file files[4] = {
        {"vocab.txt", BERT, 0},
        {"config.json", TYPE("bert"), 0},
        {"tokenizer.json", "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"u\", \"vocab\": {\"u\": 0}}}", 0}};
    recording_host recording;
    vkf__tokenizer tokenizer;
    write_files(*state, files);
    recording_host_init(&recording);
    assert_int_equal(vkf__tokenizer_load(&recording.host, ((scratch_directory *)*state)->path, &tokenizer), VKF_OK);
    assert_int_equal(vkf__tokenizer_vocab_size(&tokenizer), 1);
    vkf__tokenizer_free(&tokenizer);
}

// Pieces of one letter, and of two, three ... of the same: n of them can be cut in about n^2 / 2 ways.
static void test_merges_are_bounded(void **state)
{
    enum { LONGEST = 1200 };
    recording_host recording;
    vkf__tokenizer tokenizer = {0};
    size_t capacity = (size_t)LONGEST * LONGEST, count = 0;
    uint8_t *bytes = malloc(capacity);
    assert_non_null(bytes);
    static const char head[] = "\x0a\x09\x0a\x05<unk>\x18\x02\x12\x02\x18\x02";
    memcpy(bytes, head, sizeof head - 1);
    count = sizeof head - 1;
    for (unsigned n = 1; n <= LONGEST; n++) {
        const unsigned outer = n + 3;
        const uint8_t begin[] = {0x0a, (uint8_t)(outer & 127u) | 128u, (uint8_t)(outer >> 7),
                                 0x0a, (uint8_t)(n & 127u) | 128u,     (uint8_t)(n >> 7)};
        memcpy(bytes + count, begin, sizeof begin);
        memset(bytes + count + sizeof begin, 'a', n);
        count += sizeof begin + n;
    }
    const file files[4] = {{"tokenizer.model", (const char *)bytes, count},
                           {"tokenizer_config.json", CLASS("LlamaTokenizer"), 0}};
    write_files(*state, files);
    recording_host_init(&recording);
    assert_int_equal(vkf__tokenizer_load(&recording.host, ((scratch_directory *)*state)->path, &tokenizer),
                     VKF_ERROR_FORMAT);
    assert_non_null(strstr(recording.text, "merges"));
    free(bytes);
}

static void test_every_allocation_may_fail(void **state)
{
    static const file kinds[][4] = {
        {{"vocab.txt", BERT, 0}, {"config.json", TYPE("bert"), 0}, {"added_tokens.json", "{\"x\": 7}", 0}},
        {{"vocab.json", "{\"a\": 0, \"aa\": 1}", 0}, {"merges.txt", "a a\n", 0}, {"config.json", TYPE("roberta"), 0}},
        {{"spiece.model",
          "\x0a\x09\x0a\x05<unk>\x18\x02\x0a\x03\x0a\x01"
          "a\x0a\x03\x0a\x01"
          "b",
          21},
         {"config.json", TYPE("t5"), 0},
         {"tokenizer_config.json", "{\"extra_ids\": 1}", 0}},
    };
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
        write_files(scratch, kinds[i]);
        for (size_t call = 1; status != VKF_OK; call++) {
            recording_host recording;
            vkf__tokenizer tokenizer = {0};
            recording_host_init(&recording);
            recording.fail_call = call;
            status = vkf__tokenizer_load(&recording.host, scratch->path, &tokenizer);
            if (status == VKF_OK)
                vkf__tokenizer_free(&tokenizer);
            else
                assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
            assert_int_equal(recording.live, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_vocabulary_becomes_word_piece, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_of_equal_lines_the_last_one_counts, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_tokens_that_are_added_follow_the_highest_id, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(test_files_that_are_refused, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_tokenizer_json_goes_before, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_merges_are_bounded, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(test_every_allocation_may_fail, scratch_setup, scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
