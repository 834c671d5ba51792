// What happens to text before and after the model: normalisers, pre-tokenisers, added and special tokens, truncation,
// decoders, and text that is no UTF-8. The model takes whole pieces, so that ids tell what reaches it.
#include "tokenizer_fixture.h"

// A WordLevel model whose words are `words`, beside "?" for the rest with id 0.
#define WORDS(words) "\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, " words "}"

typedef struct text_case {
    const char *words; // of the model
    const char *rest;  // of the file
    const char *text;
    const char *expected;
} text_case;

#define NORMALIZER(steps) ", \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [" steps "]}"
#define PRE(steps) ", \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [" steps "]}"
#define ACUTE "\xcc\x81" // U+0301

static const text_case cases[] = {
    // Every byte of a decomposed letter has the whole letter's place, and so has the composed one.
    {"\"e" ACUTE "x\": 1", NORMALIZER("{\"type\": \"NFD\"}"), "\xc3\xa9x", "1[0,3)"},
    {"\"\xc3\xa9\": 1, \"x\": 2",
     NORMALIZER("{\"type\": \"NFC\"}") PRE("{\"type\": \"Split\", \"pattern\":"
                                           "{\"String\": \"x\"}, \"behavior\": \"Isolated\", \"invert\": false}"),
     "e" ACUTE "x", "1[0,1) 2[3,4)"},
    {"\"fi1\": 1", NORMALIZER("{\"type\": \"NFKC\"}"), "\xef\xac\x81\xc2\xb9", "1[0,5)"},
    {"\"eo\": 1", NORMALIZER("{\"type\": \"NFKD\"}, {\"type\": \"StripAccents\"}"), "\xc3\xa9\xc3\xb6", "1[0,4)"},
    {"\"i"
     "\xcc\x87"
     "a\": 1",
     NORMALIZER("{\"type\": \"Lowercase\"}"),
     "\xc4\xb0"
     "A",
     "1[0,3)"},
    {"\"a b\": 1", NORMALIZER("{\"type\": \"Strip\", \"strip_left\": true, \"strip_right\": true}"),
     " \ta b\xe3\x80\x80", "1[2,5)"},
    {"\"a-b\": 1", NORMALIZER("{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"\\\\s+\"}, \"content\": \"-\"}"),
     "a \xc2\x85 b", "1[0,6)"},
    {"\"__a\": 1", NORMALIZER("{\"type\": \"Prepend\", \"prepend\": \"__\"}"), "a", "1[0,1)"},
    {"\"a b\": 1", NORMALIZER("{\"type\": \"Nmt\"}"),
     "a\xe2\x80\x8b\x01"
     "b",
     "1[0,6)"},
    {"\"a\": 1, \"\xe4\xb8\xad\": 2",
     ", \"normalizer\": {\"type\": \"BertNormalizer\"}, \"pre_tokenizer\":"
     "{\"type\": \"BertPreTokenizer\"}",
     "\xc3\x84\xe4\xb8\xad!\x01", "1[0,2) 2[2,5) 0[5,6)"},
    // Pre-tokenisers.
    {"\"a1\": 1, \"!?\": 2", PRE("{\"type\": \"Whitespace\"}"), "a1!? a1", "1[0,2) 2[2,4) 1[5,7)"},
    {"\"ab\": 1, \"12\": 2, \"1\": 3", PRE("{\"type\": \"Digits\", \"individual_digits\": false}"), "ab12ab",
     "1[0,2) 2[2,4) 1[4,6)"},
    {"\"a.\": 1, \"b\": 2", PRE("{\"type\": \"Punctuation\", \"behavior\": \"MergedWithPrevious\"}"), "a.b",
     "1[0,2) 2[2,3)"},
    {"\"a\": 1, \"-b\": 2, \"-\": 3", PRE("{\"type\": \"Punctuation\", \"behavior\": \"MergedWithNext\"}"), "a--b",
     "1[0,1) 3[1,2) 2[2,4)"},
    {"\"a\": 1, \"--\": 2", PRE("{\"type\": \"Punctuation\", \"behavior\": \"Contiguous\"}"), "a--a",
     "1[0,1) 2[1,3) 1[3,4)"},
    {"\"a\": 1, \"b\": 2", PRE("{\"type\": \"CharDelimiterSplit\", \"delimiter\": \"x\"}"), "axxb", "1[0,1) 2[3,4)"},
    {"\"ab\": 1, \"c\": 2", PRE("{\"type\": \"FixedLength\", \"length\": 2}"), "abc", "1[0,2) 2[2,3)"},
    {"\"\xe2\x96\x81"
     "a\": 1, \"\xe2\x96\x81\": 2",
     PRE("{\"type\": \"Metaspace\", \"replacement\": \"\xe2\x96\x81\"}"), "a  a", "1[0,1) 2[1,2) 1[2,4)"},
    {"\"\xc4\xa0"
     "a\": 1, \"\xc4\xa0\": 2",
     PRE("{\"type\": \"ByteLevel\", \"add_prefix_space\": true}"), "a  a", "1[0,1) 2[1,2) 1[2,4)"},
    {"\"ab\": 1, \"12\": 2",
     PRE("{\"type\": \"Split\", \"pattern\": {\"Regex\": \"\\\\d+\"}, \"behavior\": \"Removed\","
         "\"invert\": true}"),
     "ab12ab", "2[2,4)"},
    // Scripts: blanks belong to what is before them, and Japanese has one script of three.
    {"\"a \": 1, \"1 \": 2, \"\xe3\x81\x82\xe6\xbc\xa2\xe3\x83\xbc\": 3", PRE("{\"type\": \"UnicodeScripts\"}"),
     " a 1 \xe3\x81\x82\xe6\xbc\xa2\xe3\x83\xbc", "1[1,3) 2[3,5) 3[5,14)"},
    // Added tokens: whole words, blanks around them, normalised and not.
    {"\"a\": 1",
     ", \"added_tokens\": [{\"id\": 2, \"content\": \"<m>\", \"lstrip\": true, \"rstrip\": true,"
     "\"normalized\": false}]" PRE("{\"type\": \"WhitespaceSplit\"}"),
     "a  <m> a<m>", "1[0,1) 2[1,7) 1[7,8) 2[8,11)"},
    {"\"a\": 1", ", \"added_tokens\": [{\"id\": 2, \"content\": \"in\", \"single_word\": true, \"normalized\": false}]",
     "in,inn", "2[0,2) 0[2,6)"},
    {"\"a\": 1",
     NORMALIZER("{\"type\": \"Lowercase\"}") ", \"added_tokens\": [{\"id\": 2, \"content\": \"Yes\"},"
                                             "{\"id\": 3, \"content\": \"No\", \"normalized\": false}]",
     "yesYESnoNo", "2[0,3) 2[3,6) 0[6,8) 3[8,10)"},
    {"\"a\": 1", ", \"added_tokens\": [{\"id\": 2, \"content\": \"ab\"}, {\"id\": 3, \"content\": \"abc\"}]", "abcab",
     "3[0,3) 2[3,5)"},
};

static void test_text_on_its_way_to_the_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tokenizer_fixture fixture;
        char json[2048];
        snprintf(json, sizeof json, "{\"model\": {" WORDS("%s") "}%s}", cases[i].words, cases[i].rest);
        if (fixture_parse(&fixture, json) != VKF_OK)
            print_message("row %zu: %s\n", i, fixture.recording.text);
        fixture_assert(&fixture, cases[i].text, cases[i].expected);
        fixture_free(&fixture);
    }
}

static size_t put_word(uint8_t *out, size_t at, uint32_t word)
{
    for (size_t i = 0; i < 4; i++)
        out[at + i] = (uint8_t)(word >> (8 * i));
    return at + 4;
}

// Base64 of a map that writes "xyz" for "a" and nothing for a tabulator: the root's children are at 1 ^ label, and each
// has its value at a place of its own.
static void write_charsmap(char out[1024])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t units[0x66] = {[0] = 1u << 10};
    uint8_t blob[3 * 139] = {0};
    units[1 ^ 'a'] = (uint32_t)((1 ^ 'a') ^ 0x65) << 10 | 1u << 8 | 'a';
    units[0x65] = 0x80000000u;
    units[1 ^ '\t'] = (uint32_t)((1 ^ '\t') ^ 0x64) << 10 | 1u << 8 | '\t';
    units[0x64] = 0x80000000u | 3;
    size_t at = put_word(blob, 0, sizeof units);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        at = put_word(blob, at, units[i]);
    memcpy(blob + at, "xyz", 3);
    for (size_t i = 0; i < sizeof blob; i += 3) {
        uint32_t bits = (uint32_t)blob[i] << 16 | (uint32_t)blob[i + 1] << 8 | blob[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *out++ = digits[bits >> shift & 63];
    }
    *out = '\0';
}

static void test_precompiled_map(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    char map[1024];
    char json[2048];
    write_charsmap(map);
    snprintf(
        json, sizeof json,
        "{\"model\": {" WORDS("\"xyz\": 1, \"b\": 2, \"c\": 3") "}" NORMALIZER(
            "{\"type\": \"Precompiled\", \"precompiled_charsmap\": \"%s\"}")
            PRE("{\"type\": \"Split\", \"pattern\": {\"Regex\": \"[xyz]+|[bc]\"}, \"behavior\": \"Isolated\"}") "}",
        map);
    assert_int_equal(fixture_parse(&fixture, json), VKF_OK);
    // What comes anew stands where the character before it does; what goes leaves its place to no one.
    fixture_assert(&fixture, "ab\tc", "1[0,1) 2[1,2) 3[3,4)");
    fixture_free(&fixture);
}

#define SPLIT PRE("{\"type\": \"WhitespaceSplit\"}")
#define BERT_TEMPLATE ", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"S\", 9], \"cls\": [\"C\", 8]}"

static void test_broken_text_keeps_its_offsets(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(fixture_parse(&fixture, TOKENIZER(WORDS("\"a\": 1, \"\xef\xbf\xbd\": 2, \"b\": 3"),
                                                       PRE("{\"type\": \"FixedLength\", \"length\": 1}"))),
                     VKF_OK);
    // Cut off, a lone byte, a surrogate (three bytes, none of which may follow), a zero.
    fixture_assert(&fixture,
                   "a\xe2\x82"
                   "b",
                   "1[0,1) 2[1,3) 3[3,4)");
    fixture_assert(&fixture,
                   "\xff"
                   "a\xf0\x9f\x98",
                   "2[0,1) 1[1,2) 2[2,5)");
    fixture_assert(&fixture, "\xed\xa0\x80", "2[0,1) 2[1,2) 2[2,3)");
    fixture_assert_bytes(&fixture, "a\0b", 3, NULL, NULL, "1[0,1) 0[1,2) 3[2,3)");
    fixture_free(&fixture);
}

static void test_special_tokens_around_pairs(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    vkf_encode_options plain = {.no_special_tokens = true};
    assert_int_equal(fixture_parse(&fixture, TOKENIZER(WORDS("\"a\": 1, \"b\": 2"), SPLIT BERT_TEMPLATE)), VKF_OK);
    fixture_assert_bytes(&fixture, "a", 1, "b a", NULL, "8* 1[0,1) 9* 2[0,1) 1[2,3) 9*");
    fixture_assert_bytes(&fixture, "a", 1, "b", &plain, "1[0,1) 2[0,1)");
    fixture_assert(&fixture, "", "8* 9*");
    vkf_encoding encoding = {0};
    assert_int_equal(vkf__tokenizer_encode(&fixture.tokenizer, "a", 1, "b", 1, &(vkf_encode_options){0}, &encoding),
                     VKF_OK);
    const int32_t type_ids[] = {0, 0, 0, 1, 1};
    const int8_t sequences[] = {-1, 0, -1, 1, -1};
    assert_memory_equal(encoding.type_ids, type_ids, sizeof type_ids);
    assert_memory_equal(encoding.sequences, sequences, sizeof sequences);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
    fixture_free(&fixture);
}

static void test_template_and_trimmed_offsets(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(
        fixture_parse(
            &fixture,
            TOKENIZER(
                WORDS("\"a\": 1, \"\xc4\xa0"
                      "a\": 2"),
                PRE("{\"type\": \"ByteLevel\", \"add_prefix_space\": false}") ", \"post_processor\": {\"type\": "
                                                                              "\"Sequence\", \"processors\": "
                                                                              "[{\"type\": \"ByteLevel\","
                                                                              "\"add_prefix_space\": false, "
                                                                              "\"trim_offsets\": true}, {\"type\": "
                                                                              "\"TemplateProcessing\","
                                                                              "\"single\": [{\"SpecialToken\": "
                                                                              "{\"id\": \"x\", \"type_id\": 4}}, "
                                                                              "{\"Sequence\":"
                                                                              "{\"id\": \"A\", \"type_id\": 5}}], "
                                                                              "\"pair\": [{\"Sequence\": {\"id\": "
                                                                              "\"B\", \"type_id\": 1}},"
                                                                              "{\"Sequence\": {\"id\": \"A\", "
                                                                              "\"type_id\": 0}}], \"special_tokens\": "
                                                                              "{\"x\": {\"id\": \"x\","
                                                                              "\"ids\": [6, 7], \"tokens\": [\"x\", "
                                                                              "\"y\"]}}}]}")),
        VKF_OK);
    fixture_assert(&fixture, "a a", "6* 7* 1[0,1) 2[2,3)");
    fixture_assert_bytes(&fixture, "a", 1, " a", NULL, "2[1,2) 1[0,1)");
    fixture_free(&fixture);
}

// Pieces are counted in each text, added tokens as well; blanks are none.
static void test_words(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(
        fixture_parse(&fixture,
                      TOKENIZER("\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\": {\"[UNK]\": 0, "
                                "\"a\": 1, \"##b\": 2}",
                                SPLIT BERT_TEMPLATE)),
        VKF_OK);
    vkf_encoding encoding = {0};
    assert_int_equal(
        vkf__tokenizer_encode(&fixture.tokenizer, "ab a", 4, "a abb", 5, &(vkf_encode_options){0}, &encoding), VKF_OK);
    const int32_t words[] = {-1, 0, 0, 1, -1, 0, 1, 1, 1, -1};
    assert_int_equal(encoding.count, sizeof words / sizeof *words);
    assert_memory_equal(encoding.words, words, sizeof words);
    assert_int_equal(encoding.windows, 1);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
    fixture_free(&fixture);
}

typedef struct window_case {
    vkf_encode_options options;
    const char *pair, *expected; // NULL: refused
} window_case;

// Room for four tokens of the second text.
static const window_case window_cases[] = {
    {{.window = 0, .stride = 1}, "a b c d a b", "1[0,1) 1[0,1) 2[2,3) 3[4,5) 4[6,7)"},
    {{.window = 1, .stride = 1}, "a b c d a b", "1[0,1) 4[6,7) 1[8,9) 2[10,11)"},
    {{.window = 2, .stride = 1}, "a b c d a b", NULL},
    {{.window = 1, .stride = 3}, "a b c d a b", "1[0,1) 2[2,3) 3[4,5) 4[6,7) 1[8,9)"},
    {{.window = 2, .stride = 3}, "a b c d a b", "1[0,1) 3[4,5) 4[6,7) 1[8,9) 2[10,11)"},
    {{.window = 0, .stride = 4}, "a b c d a b", NULL},
    {{.window = 1}, "a b c d a b", "1[0,1) 1[8,9) 2[10,11)"},
    {{.window = 1, .truncate_left = true}, "a b c d a b", NULL},
    {{.window = 0, .stride = 9}, "a b c d", "1[0,1) 1[0,1) 2[2,3) 3[4,5) 4[6,7)"},
    {{.window = 1}, "a b c d", NULL},
};

static void test_windows(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    vkf_encoding encoding = {0};
    assert_int_equal(fixture_parse(&fixture, TOKENIZER(WORDS("\"a\": 1, \"b\": 2, \"c\": 3, \"d\": 4"), SPLIT)),
                     VKF_OK);
    for (size_t i = 0; i < sizeof window_cases / sizeof *window_cases; i++) {
        const char *pair = window_cases[i].pair;
        vkf_encode_options options = window_cases[i].options;
        options.truncation = VKF_TRUNCATION_ONLY_SECOND;
        options.max_length = 5;
        if (window_cases[i].expected)
            fixture_assert_bytes(&fixture, "a", 1, pair, &options, window_cases[i].expected);
        else
            assert_int_equal(vkf__tokenizer_encode(&fixture.tokenizer, "a", 1, pair, strlen(pair), &options, &encoding),
                             VKF_ERROR_INVALID_ARGUMENT);
    }
    const vkf_encode_options longest = {.truncation = VKF_TRUNCATION_LONGEST_FIRST, .max_length = 2, .window = 1};
    assert_int_equal(vkf__tokenizer_encode(&fixture.tokenizer, "a b c", 5, NULL, 0, &longest, &encoding),
                     VKF_ERROR_INVALID_ARGUMENT);
    const vkf_encode_options first = {.truncation = VKF_TRUNCATION_ONLY_FIRST, .max_length = 2, .stride = 1};
    assert_int_equal(vkf__tokenizer_encode(&fixture.tokenizer, "a b c a", 7, NULL, 0, &first, &encoding), VKF_OK);
    assert_int_equal(encoding.windows, 3);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
    fixture_free(&fixture);
}

typedef struct truncation_case {
    vkf_encode_options options;
    const char *text;
    const char *pair;
    vkf_status status;
    const char *expected;
} truncation_case;

static const truncation_case truncations[] = {
    {{0}, "a b a b", NULL, VKF_OK, "8* 1[0,1) 2[2,3) 9*"}, // the file's four
    {{.truncation = VKF_TRUNCATION_NONE}, "a b a", NULL, VKF_OK, "8* 1[0,1) 2[2,3) 1[4,5) 9*"},
    {{.truncation = VKF_TRUNCATION_LONGEST_FIRST, .max_length = 3, .truncate_left = true},
     "a b",
     NULL,
     VKF_OK,
     "8* 2[2,3) 9*"},
    {{.max_length = 6}, "a b a", "b", VKF_OK, "8* 1[0,1) 2[2,3) 9* 2[0,1) 9*"},
    {{.truncation = VKF_TRUNCATION_ONLY_FIRST, .max_length = 6}, "a b", "b a", VKF_OK, "8* 1[0,1) 9* 2[0,1) 1[2,3) 9*"},
    {{.truncation = VKF_TRUNCATION_ONLY_SECOND, .max_length = 6},
     "a b",
     "b a",
     VKF_OK,
     "8* 1[0,1) 2[2,3) 9* 2[0,1) 9*"},
    {{.max_length = 2}, "a", NULL, VKF_OK, "8* 9*"},
    {{.max_length = 1}, "a", NULL, VKF_ERROR_INVALID_ARGUMENT, "special"},
    {{.truncation = VKF_TRUNCATION_ONLY_SECOND, .max_length = 3}, "a b", NULL, VKF_ERROR_INVALID_ARGUMENT, "second"},
    {{.truncation = VKF_TRUNCATION_ONLY_FIRST, .max_length = 4}, "a", "b b b", VKF_ERROR_TOO_LARGE, "4 tokens"},
};

static void test_truncation(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(
        fixture_parse(&fixture, TOKENIZER(WORDS("\"a\": 1, \"b\": 2"), SPLIT BERT_TEMPLATE
                                          ", \"truncation\": {\"max_length\": 4, \"strategy\": \"LongestFirst\","
                                          "\"stride\": 0, \"direction\": \"Right\"}")),
        VKF_OK);
    for (size_t i = 0; i < sizeof truncations / sizeof *truncations; i++) {
        const truncation_case *row = &truncations[i];
        vkf_encoding encoding = {0};
        if (row->status == VKF_OK) {
            fixture_assert_bytes(&fixture, row->text, strlen(row->text), row->pair, &row->options, row->expected);
            continue;
        }
        assert_int_equal(vkf__tokenizer_encode(&fixture.tokenizer, row->text, strlen(row->text), row->pair,
                                               row->pair ? strlen(row->pair) : 0, &row->options, &encoding),
                         row->status);
        assert_non_null(strstr(fixture.recording.text, row->expected));
        assert_null(encoding.ids);
    }
    fixture_free(&fixture);
}

typedef struct decode_case {
    const char *decoder;
    const char *words; // ids 1, 2, 3 in a row are decoded
    const char *expected;
} decode_case;

static const decode_case decodings[] = {
    {"null", "\"a\": 1, \"b\": 2, \"c\": 3", "a b c"},
    {"{\"type\": \"WordPiece\", \"prefix\": \"##\", \"cleanup\": true}", "\"a\": 1, \"##b\": 2, \".\": 3", "ab."},
    {"{\"type\": \"ByteLevel\"}", "\"a\": 1, \"\xc4\xa0\xc3\x83\": 2, \"\xc2\xa9\": 3", "a \xc3\xa9"},
    {"{\"type\": \"ByteLevel\"}", "\"a\": 1, \"\xc3\x83\": 2, \"b\": 3",
     "a\xef\xbf\xbd"
     "b"},
    {"{\"type\": \"Metaspace\", \"replacement\": \"_\", \"prepend_scheme\": \"always\"}",
     "\"_a\": 1, \"_b\": 2, \"c_\": 3", "a bc "},
    {"{\"type\": \"BPEDecoder\", \"suffix\": \"</w>\"}", "\"a</w>\": 1, \"b\": 2, \"c</w>\": 3", "a bc"},
    {"{\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": {\"String\": \"_\"}, \"content\": "
     "\" \"},"
     "{\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}, {\"type\": \"Strip\", \"content\": \" \", \"start\": 1, "
     "\"stop\": 0}]}",
     "\"_a\": 1, \"<0xC3>\": 2, \"<0xA9>\": 3", "a\xc3\xa9"},
    {"{\"type\": \"ByteFallback\"}", "\"<0xC3>\": 1, \"<0xC3>x\": 2, \"<0xFF>\": 3", "\xef\xbf\xbd<0xC3>x\xef\xbf\xbd"},
    {"{\"type\": \"CTC\", \"pad_token\": \"p\", \"word_delimiter_token\": \"|\", \"cleanup\": true}",
     "\"a\": 1, \"|\": 2, \"p\": 3", "a "},
};

static void test_decoders(void **state)
{
    (void)state;
    const int32_t ids[] = {1, 2, 3, 77};
    for (size_t i = 0; i < sizeof decodings / sizeof *decodings; i++) {
        tokenizer_fixture fixture;
        char json[1024];
        snprintf(json, sizeof json, "{\"model\": {" WORDS("%s") "}, \"decoder\": %s}", decodings[i].words,
                 decodings[i].decoder);
        assert_int_equal(fixture_parse(&fixture, json), VKF_OK);
        fixture_assert_decoded(&fixture, ids, 4, false, decodings[i].expected);
        fixture_assert_decoded(&fixture, ids, 0, false, "");
        fixture_free(&fixture);
    }
}

static void test_decode_special_tokens_and_capacity(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    const int32_t ids[] = {1, 2};
    char text[3] = "xy";
    size_t bytes = 2;
    assert_int_equal(
        fixture_parse(&fixture, TOKENIZER(WORDS("\"a\": 1"), ", \"added_tokens\": [{\"id\": 2, \"content\": \"b\","
                                                             "\"special\": true}]")),
        VKF_OK);
    fixture_assert_decoded(&fixture, ids, 2, false, "a b");
    fixture_assert_decoded(&fixture, ids, 2, true, "a");
    assert_int_equal(vkf__tokenizer_decode(&fixture.tokenizer, ids, 2, false, &bytes, text), VKF_ERROR_TOO_LARGE);
    assert_string_equal(text, "xy");
    assert_int_equal(vkf__tokenizer_decode(&fixture.tokenizer, ids, 2, false, &bytes, NULL), VKF_OK);
    assert_int_equal(bytes, 3);
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_on_its_way_to_the_model),
        cmocka_unit_test(test_precompiled_map),
        cmocka_unit_test(test_broken_text_keeps_its_offsets),
        cmocka_unit_test(test_special_tokens_around_pairs),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_template_and_trimmed_offsets),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_decoders),
        cmocka_unit_test(test_decode_special_tokens_and_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
