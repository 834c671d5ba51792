// What a tokenizer's file may ask for, whoever wrote it: few lines of rules make neither much text nor many tokens of a
// short text, and whatever id an encoding has is counted in the vocabulary.
#include "text/pattern.h"
#include "tokenizer_fixture.h"

#define WORDS "\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": {\"?\": 0, \"a\": 1}"
#define FILE_BYTES ((size_t)4 << 20)
#define MOST_BYTES ((size_t)64 << 20) // of memory, on the way to a refusal

// A section of so many equal steps; the caller frees it.
static char *repeat(const char *before, const char *step, unsigned count, const char *behind)
{
    char *json = malloc(FILE_BYTES);
    assert_non_null(json);
    size_t length = (size_t)snprintf(json, FILE_BYTES, "{\"model\": {%s}, %s", WORDS, before);
    for (unsigned i = 0; i < count; i++) {
        length += (size_t)snprintf(json + length, FILE_BYTES - length, "%s%s", i > 0 ? ", " : "", step);
        assert_true(length < FILE_BYTES);
    }
    length += (size_t)snprintf(json + length, FILE_BYTES - length, "%s}", behind);
    assert_true(length < FILE_BYTES);
    return json;
}

// The file is read, or refused where it is used; in neither case does it take much memory.
static void assert_too_large(const char *json, bool decodes, const char *named)
{
    tokenizer_fixture fixture;
    vkf_encoding encoding = {0};
    const int32_t ids[] = {1, 1, 1};
    size_t bytes = 0;
    vkf_status status = fixture_parse(&fixture, json);
    if (status == VKF_OK && decodes)
        status = vkf__tokenizer_decode(&fixture.tokenizer, ids, 3, false, &bytes, NULL);
    else if (status == VKF_OK)
        status = vkf__tokenizer_encode(&fixture.tokenizer, "aaa", 3, "a", 1, &(vkf_encode_options){0}, &encoding);
    if (status != VKF_ERROR_TOO_LARGE || !strstr(fixture.recording.text, named))
        fail_msg("%.300s\n  gives status %d: %s\n  and should name '%s'", json, (int)status, fixture.recording.text,
                 named);
    if (fixture.recording.peak_bytes > MOST_BYTES)
        fail_msg("%.300s\n  takes %zu bytes", json, fixture.recording.peak_bytes);
    assert_null(encoding.ids);
    fixture_free(&fixture);
}

typedef struct growth {
    const char *before, *step, *behind;
    unsigned count;
    bool decodes;
    const char *named;
} growth;

#define NORMALIZERS "\"normalizer\": {\"type\": \"Sequence\", \"normalizers\": ["
#define LONG                                                                                               \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123" \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123"

static const growth growths[] = {
    {NORMALIZERS, "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"aa\"}", "]}", 40, false,
     "text of 3 bytes"},
    {NORMALIZERS, "{\"type\": \"Replace\", \"pattern\": {\"String\": \"\"}, \"content\": \"" LONG "\"}", "]}", 6, false,
     "longer than"},
    {NORMALIZERS, "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \".\"}, \"content\": \"" LONG "\"}", "]}", 6, false,
     "longer than"},
    {NORMALIZERS, "{\"type\": \"Prepend\", \"prepend\": \"" LONG LONG LONG LONG "\"}", "]}", 128, false, "rules write"},
    {"\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [",
     "{\"type\": \"ByteLevel\", \"use_regex\": "
     "false}",
     "]}", 100, false, "longer than"},
    {"\"decoder\": {\"type\": \"Sequence\", \"decoders\": [",
     "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"aa\"}", "]}", 40, true, "decoder"},
    // Long texts, though never too long ones, time and again.
    {NORMALIZERS "{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"" LONG LONG LONG LONG
                 "\"}, ",
     "{\"type\": \"Replace\", \"pattern\": {\"Regex\": \"[0-9]\"}, \"content\": \"0123\"}, "
     "{\"type\": \"Replace\", \"pattern\": {\"String\": \"0123\"}, \"content\": \"0\"}",
     "]}", 60, false, "write"},
    {"\"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, "
     "\"content\": \"" LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG LONG "\"}, ",
     "{\"type\": \"Fuse\"}", "]}", 100, true, "decoder writes"},
    // Each of the tokens is short, and together they have what one text has to spare.
    {"\"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, \"content\": \"" LONG LONG LONG LONG
     "\"}, \"added_tokens\": [",
     "{\"id\": 2, \"content\": \"a\"}, {\"id\": 2, \"content\": \"?a\"}", "]", 200, false, "longer than"},
    {"\"post_processor\": {\"type\": \"TemplateProcessing\", \"special_tokens\": {}, \"single\": [], \"pair\": [",
     "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}",
     "]}, \"pre_tokenizer\": {\"type\": \"FixedLength\", \"length\": 1}", 50000, false, "more than"},
};

static void test_rules_that_make_much_of_little_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof growths / sizeof *growths; i++) {
        const growth *g = &growths[i];
        char *json = repeat(g->before, g->step, g->count, g->behind);
        assert_too_large(json, g->decodes, g->named);
        free(json);
    }
}

// A character's replacement that is as long as its file lets it be.
static void test_a_charsmap_that_makes_much_of_little_is_refused(void **state)
{
    (void)state;
    static uint8_t blob[100 * 1024];
    static char base64[sizeof blob / 3 * 4 + 5], json[sizeof base64 + 512];
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // A double array of 256 units: from the root by 'a' to a unit with a leaf, whose value is 0.
    static const uint32_t units[256] = {[0] = 1u << 10, [1 ^ 'a'] = 'a' | 1u << 8 | 1u << 10, [1 ^ 'a' ^ 1] = 1u << 31};
    memset(blob, 'x', sizeof blob);
    blob[0] = 0, blob[1] = 4, blob[2] = blob[3] = 0;
    for (size_t i = 0; i < 256; i++)
        for (size_t b = 0; b < 4; b++)
            blob[4 + 4 * i + b] = (uint8_t)(units[i] >> (8 * b));
    size_t length = 0;
    for (size_t i = 0; i + 2 < sizeof blob; i += 3) {
        uint32_t bits = (uint32_t)blob[i] << 16 | (uint32_t)blob[i + 1] << 8 | blob[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            base64[length++] = digits[bits >> shift & 63];
    }
    (void)snprintf(json, sizeof json,
                   "{\"model\": {%s}, \"normalizer\": {\"type\": \"Precompiled\", \"precompiled_charsmap\": \"%s\"}}",
                   WORDS, base64);
    assert_too_large(json, false, "longer than");
}

// Bytes of a character, and those of what is spelled before it, may all be tokens.
static void test_symbols_beyond_the_limit_are_refused(void **state)
{
    (void)state;
    static char json[1 << 15];
    const size_t few = 1000, many = 2 * VKF_TEXT_SPARE_BYTES; // 65 to a byte, and 64 and the spare ones are allowed
    tokenizer_fixture fixture;
    vkf_encoding encoding = {0};
    char *text = malloc(many);
    assert_non_null(text);
    memset(text, 'a', many);
    size_t length = (size_t)snprintf(json, sizeof json,
                                     "{\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, "
                                     "\"continuing_subword_prefix\": \"%.64s\", \"merges\": [], \"vocab\": {",
                                     LONG);
    for (unsigned byte = 0; byte < 256; byte++)
        length += (size_t)snprintf(json + length, sizeof json - length, "%s\"<0x%02X>\": %u", byte > 0 ? ", " : "",
                                   byte, byte);
    (void)snprintf(json + length, sizeof json - length, "}}}");
    assert_int_equal(fixture_parse(&fixture, json), VKF_OK);
    assert_int_equal(vkf__tokenizer_encode(&fixture.tokenizer, text, few, NULL, 0, &(vkf_encode_options){0}, &encoding),
                     VKF_OK);
    assert_int_equal(encoding.count, 1 + (few - 1) * 65);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
    assert_int_equal(
        vkf__tokenizer_encode(&fixture.tokenizer, text, many, NULL, 0, &(vkf_encode_options){0}, &encoding),
        VKF_ERROR_TOO_LARGE);
    assert_non_null(strstr(fixture.recording.text, "tokens of bytes"));
    free(text);
    fixture_free(&fixture);
}

// What is allowed stays allowed, to the byte.
static void test_growth_up_to_the_limit(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    vkf_encoding encoding = {0};
    static char json[2048], text[3000];
    memset(text, 'a', sizeof text);
    (void)snprintf(json, sizeof json,
                   "{\"model\": {%s}, \"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"String\": \"a\"}, "
                   "\"content\": \"%.86s\"}}",
                   WORDS, LONG);
    assert_int_equal(fixture_parse(&fixture, json), VKF_OK);
    for (size_t bytes = 2977; bytes <= 2981; bytes++) {
        bool fits = 86 * bytes <= VKF_TEXT_SPARE_BYTES + VKF_TEXT_GROWTH * bytes;
        vkf_status status =
            vkf__tokenizer_encode(&fixture.tokenizer, text, bytes, NULL, 0, &(vkf_encode_options){0}, &encoding);
        assert_int_equal(status, fits ? VKF_OK : VKF_ERROR_TOO_LARGE);
        if (fits)
            encoding.allocator.release(encoding.allocator.user, encoding.offsets);
        assert_true(fits || bytes >= 2979);
    }
    fixture_free(&fixture);
}

// Every group of an expression that refers to one makes each step back that PCRE2 remembers larger.
static void test_memory_of_an_expression_is_bounded(void **state)
{
    (void)state;
    enum { GROUPS = 1000, BYTES = 100000 };
    static char json[16 * GROUPS + 512], text[BYTES];
    tokenizer_fixture fixture;
    vkf_encoding encoding = {0};
    size_t length = (size_t)snprintf(json, sizeof json,
                                     "{\"model\": {%s}, \"pre_tokenizer\": {\"type\": \"Split\", \"behavior\": "
                                     "\"Isolated\", \"pattern\": {\"Regex\": \"(?:(a)",
                                     WORDS);
    for (int i = 0; i < GROUPS; i++)
        length += (size_t)snprintf(json + length, sizeof json - length, "|(b%d)", i);
    (void)snprintf(json + length, sizeof json - length, ")*(?:c|d)(?:\\\\1)?\"}}}");
    memset(text, 'a', sizeof text);
    text[BYTES - 1] = 'c';
    assert_int_equal(fixture_parse(&fixture, json), VKF_OK);
    size_t before = fixture.recording.live_bytes;
    vkf_status status =
        vkf__tokenizer_encode(&fixture.tokenizer, text, BYTES, NULL, 0, &(vkf_encode_options){0}, &encoding);
    if (status != VKF_ERROR_TOO_LARGE || !strstr(fixture.recording.text, "given up"))
        fail_msg("status %d: %s", (int)status, fixture.recording.text);
    // PCRE2 has twice as much while it moves from less to more.
    assert_true(fixture.recording.peak_bytes - before < 2 * VKF_PATTERN_MAX_BYTES + 100 * (size_t)BYTES);
    fixture_free(&fixture);
}

// ---- steps

typedef struct step_kind {
    const char *before, *step, *behind, *where;
} step_kind;

static const step_kind step_kinds[] = {
    {NORMALIZERS, "{\"type\": \"NFC\"}", "]}", "normalizer.normalizers[128]"},
    {NORMALIZERS "{\"type\": \"Sequence\", \"normalizers\": [", "{\"type\": \"NFC\"}", "]}]}",
     "normalizer.normalizers[0].normalizers[128]"},
    {"\"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [", "{\"type\": \"Whitespace\"}", "]}",
     "pre_tokenizer.pretokenizers[128]"},
    {"\"post_processor\": {\"type\": \"Sequence\", \"processors\": [", "{\"type\": \"ByteLevel\"}", "]}",
     "post_processor.processors[128]"},
    {"\"decoder\": {\"type\": \"Sequence\", \"decoders\": [", "{\"type\": \"Fuse\"}", "]}", "decoder.decoders[128]"},
};

static void test_sequences_of_too_many_steps_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof step_kinds / sizeof *step_kinds; i++) {
        const step_kind *kind = &step_kinds[i];
        tokenizer_fixture fixture;
        char *most = repeat(kind->before, kind->step, VKF_SECTION_MAX_STEPS, kind->behind);
        char *more = repeat(kind->before, kind->step, VKF_SECTION_MAX_STEPS + 1, kind->behind);
        assert_int_equal(fixture_parse(&fixture, most), VKF_OK);
        fixture_assert(&fixture, "a", "1[0,1)");
        fixture_free(&fixture);
        fixture_assert_refused(more, VKF_ERROR_FORMAT, kind->where);
        fixture_assert_refused(more, VKF_ERROR_FORMAT, "step 129");
        free(most);
        free(more);
    }
}

// ---- ids that the vocabulary does not have

#define TEMPLATE(single, pair)                                                                                 \
    ", \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [" single "], \"pair\": [" pair "]," \
    "\"special_tokens\": {\"q\": {\"id\": \"q\", \"ids\": [3, 5000, 4], \"tokens\": [\"q\", \"q\", \"q\"]}}}"
#define QUOTED "{\"SpecialToken\": {\"id\": \"q\", \"type_id\": 0}}"
#define TEXT_A "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}"

static const struct {
    const char *rest;
    uint32_t vocab_size;
} vocabularies[] = {
    {"", 2},
    {TEMPLATE(TEXT_A, ""), 2}, // not added anywhere
    {TEMPLATE(QUOTED, ""), 5001},
    {TEMPLATE("", QUOTED), 5001},
    {", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"s\", 7], \"cls\": [\"c\", 1]}", 8},
    {", \"post_processor\": {\"type\": \"RobertaProcessing\", \"sep\": [\"s\", 1], \"cls\": [\"c\", 2147483646]}",
     2147483647},
    {", \"padding\": {\"strategy\": \"BatchLongest\", \"pad_id\": 9}", 10},
    {", \"added_tokens\": [{\"id\": 2, \"content\": \"x\"}]", 3},
};

static void test_vocab_size_counts_every_id(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vocabularies / sizeof *vocabularies; i++) {
        tokenizer_fixture fixture;
        char json[1024];
        (void)snprintf(json, sizeof json, "{\"model\": {%s}%s}", WORDS, vocabularies[i].rest);
        if (fixture_parse(&fixture, json) != VKF_OK)
            fail_msg("%s: %s", json, fixture.recording.text);
        assert_int_equal(vkf__tokenizer_vocab_size(&fixture.tokenizer), vocabularies[i].vocab_size);
        fixture_free(&fixture);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_that_make_much_of_little_are_refused),
        cmocka_unit_test(test_a_charsmap_that_makes_much_of_little_is_refused),
        cmocka_unit_test(test_symbols_beyond_the_limit_are_refused),
        cmocka_unit_test(test_growth_up_to_the_limit),
        cmocka_unit_test(test_memory_of_an_expression_is_bounded),
        cmocka_unit_test(test_sequences_of_too_many_steps_are_refused),
        cmocka_unit_test(test_vocab_size_counts_every_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
