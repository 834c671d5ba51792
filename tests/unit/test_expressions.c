// Regular expressions of published tokenizers, and made-up ones of everything that their dialect has, held to what the
// library `tokenizers` finds: in a few texts, and around every assigned code point, by a checksum. Also which code
// points its pre-tokenizers take for words, numbers and scripts. tools/tokenizers/expressions writes the file.
#include <jansson.h>
#include <stdio.h>
#include <zlib.h>

#include "text/code_point.h"
#include "text/pattern.h"
#include "text/unicode_table.h"
#include "tokenizer_fixture.h"

#define BLOCK 32u // code points in a text, as the tool has it
#define LETTER (UINT32_C(1) << 31)
#define TEXT_BYTES (BLOCK * 48)

typedef struct golden {
    json_t *root;
    uint32_t *codes; // assigned, but for those of private use; | LETTER those of the category Lo
    size_t count;
} golden;

static int setup(void **state)
{
    static golden read;
    json_error_t error;
    read.root = json_load_file(VKF_TEST_SOURCE_DIR "/tests/tokenizers/expressions.json", 0, &error);
    if (!read.root)
        fail_msg("expressions.json:%d: %s", error.line, error.text);
    read.codes = calloc(VKF_UNICODE_END, sizeof *read.codes);
    assert_non_null(read.codes);
    for (size_t i = 0; i < vkf__unicode_run_count; i++) {
        unsigned category = vkf__unicode_kinds[vkf__unicode_runs[i] & 0x7ff] & 31;
        if (category == VKF_CN || category == VKF_CS || category == VKF_CO)
            continue;
        for (uint32_t code = vkf__unicode_runs[i] >> 11; code < vkf__unicode_runs[i + 1] >> 11; code++)
            read.codes[read.count++] = category == VKF_LO ? code | LETTER : code;
    }
    *state = &read;
    return 0;
}

static int teardown(void **state)
{
    golden *read = *state;
    json_decref(read->root);
    free(read->codes);
    return 0;
}

static vkf__pattern *create(recording_host *recording, const char *expression)
{
    vkf__pattern *pattern = NULL;
    recording_host_init(recording);
    if (vkf__pattern_create(&recording->host, "test", expression, &pattern) != VKF_OK)
        fail_msg("%s", recording->text);
    return pattern;
}

// The next match that is not empty.
static bool next(vkf__pattern_search *search, size_t *out_begin, size_t *out_end)
{
    bool found = true;
    do
        assert_int_equal(vkf__pattern_next(search, &found, out_begin, out_end), VKF_OK);
    while (found && *out_begin == *out_end);
    return found;
}

// Each code point on a line and among others; ideographs and their like once.
static size_t write_around(const uint32_t *codes, size_t count, char *out)
{
    static const char *const all[] = {"", "\naB", "9 ", "", "'s\n ", "x\n", NULL};
    static const char *const once[] = {"a", "\n", NULL};
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        const char *const *between = codes[i] & LETTER ? once : all;
        for (size_t part = 0; between[part]; part++) {
            length += part > 0 ? vkf__utf8_write(codes[i] & ~LETTER, out + length) : 0;
            length += (size_t)snprintf(out + length, 8, "%s", between[part]);
        }
    }
    return length;
}

static uint32_t checksum(const vkf__pattern *pattern, const golden *read)
{
    vkf__pattern_search search;
    uLong sum = 0;
    assert_int_equal(vkf__pattern_search_begin(pattern, &search), VKF_OK);
    for (size_t at = 0; at < read->count; at += BLOCK) {
        char text[TEXT_BYTES];
        size_t count = read->count - at < BLOCK ? read->count - at : BLOCK;
        size_t begin = 0;
        size_t end = 0;
        vkf__pattern_search_text(&search, text, write_around(read->codes + at, count, text));
        while (next(&search, &begin, &end)) {
            const uint32_t places[2] = {(uint32_t)begin, (uint32_t)end};
            sum = crc32(sum, (const Bytef *)places, sizeof places);
        }
        sum = crc32(sum, (const Bytef *)&(uint32_t){UINT32_MAX}, sizeof(uint32_t));
    }
    vkf__pattern_search_end(&search);
    return (uint32_t)sum;
}

static void test_every_code_point_is_where_the_library_has_it(void **state)
{
    golden *read = *state;
    size_t i = 0;
    json_t *row = NULL;
    size_t wrong = 0;
    assert_int_equal(read->count, json_integer_value(json_object_get(read->root, "code_points")));
    json_array_foreach(json_object_get(read->root, "expressions"), i, row)
    {
        recording_host recording;
        vkf__pattern *pattern = create(&recording, json_string_value(json_object_get(row, "expression")));
        if (checksum(pattern, read) != json_integer_value(json_object_get(row, "checksum"))) {
            print_message("%s: differs\n", json_string_value(json_object_get(row, "name")));
            wrong++;
        }
        vkf__pattern_destroy(&pattern);
        assert_int_equal(recording.live, 0);
    }
    assert_true(i >= 60);
    assert_int_equal(wrong, 0);
}

// What pre-tokenizers take for parts of words, and for numbers.
static void test_words_and_numbers(void **state)
{
    static const struct {
        const char *name;
        vkf__code_point_test test;
    } classes[] = {{"word", vkf__is_word}, {"number", vkf__is_number}};
    golden *read = *state;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        uLong sum = 0;
        for (size_t at = 0; at < read->count; at++) {
            uint32_t code = read->codes[at] & ~LETTER;
            if (classes[i].test(code))
                sum = crc32(sum, (const Bytef *)&code, sizeof code);
        }
        json_t *wanted = json_object_get(json_object_get(read->root, "classes"), classes[i].name);
        assert_int_equal(sum, json_integer_value(wanted));
    }
}

// Where the pre-tokenizer UnicodeScripts cuts all code points, each behind the one before it.
static void test_scripts(void **state)
{
    golden *read = *state;
    tokenizer_fixture fixture;
    vkf_encoding encoding = {0};
    size_t bytes = 0;
    uLong sum = 0;
    char *text = malloc(read->count * VKF_UTF8_MAX_BYTES);
    assert_non_null(text);
    for (size_t i = 0; i < read->count; i++)
        bytes += vkf__utf8_write(read->codes[i] & ~LETTER, text + bytes);
    assert_int_equal(fixture_parse(&fixture, TOKENIZER("\"type\": \"WordLevel\", \"unk_token\": \"?\", \"vocab\": "
                                                       "{\"?\": 0}",
                                                       ", \"pre_tokenizer\": {\"type\": \"UnicodeScripts\"}")),
                     VKF_OK);
    const vkf_encode_options options = {0};
    assert_int_equal(vkf__tokenizer_encode(&fixture.tokenizer, text, bytes, NULL, 0, &options, &encoding), VKF_OK);
    for (uint32_t i = 0; i < encoding.count; i++) {
        const uint32_t places[2] = {(uint32_t)encoding.offsets[i].begin, (uint32_t)encoding.offsets[i].end};
        sum = crc32(sum, (const Bytef *)places, sizeof places);
    }
    assert_int_equal(sum, json_integer_value(json_object_get(read->root, "scripts")));
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
    fixture_free(&fixture);
    free(text);
}

static void assert_found(const vkf__pattern *pattern, const char *name, const char *text, const json_t *wanted)
{
    vkf__pattern_search search;
    size_t begin = 0;
    size_t end = 0;
    size_t count = 0;
    assert_int_equal(vkf__pattern_search_begin(pattern, &search), VKF_OK);
    vkf__pattern_search_text(&search, text, strlen(text));
    for (; next(&search, &begin, &end); count++) {
        const char *piece = json_string_value(json_array_get(wanted, count));
        if (!piece || strlen(piece) != end - begin || memcmp(piece, text + begin, end - begin) != 0)
            fail_msg("%s finds '%.*s' in '%s', and should find '%s'", name, (int)(end - begin), text + begin, text,
                     piece ? piece : "nothing more");
    }
    assert_int_equal(count, json_array_size(wanted));
    vkf__pattern_search_end(&search);
}

static void test_pieces_of_texts(void **state)
{
    golden *read = *state;
    const json_t *texts = json_object_get(read->root, "texts");
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(json_object_get(read->root, "expressions"), i, row)
    {
        recording_host recording;
        vkf__pattern *pattern = create(&recording, json_string_value(json_object_get(row, "expression")));
        for (size_t text = 0; text < json_array_size(texts); text++)
            assert_found(pattern, json_string_value(json_object_get(row, "name")),
                         json_string_value(json_array_get(texts, text)),
                         json_array_get(json_object_get(row, "found"), text));
        vkf__pattern_destroy(&pattern);
    }
}

static void assert_refused(const char *expression, vkf_status wanted, const char *named)
{
    recording_host recording;
    vkf__pattern *pattern = NULL;
    recording_host_init(&recording);
    vkf_status status = vkf__pattern_create(&recording.host, "t.json", expression, &pattern);
    if (status != wanted || !strstr(recording.text, named) || strncmp(recording.text, "t.json: ", 8) != 0)
        fail_msg("'%s' gives status %d: %s\n  and should name '%s'", expression, (int)status, recording.text, named);
    assert_null(pattern);
    assert_int_equal(recording.live, 0);
}

static void test_what_is_not_read_is_named(void **state)
{
    golden *read = *state;
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach(json_object_get(read->root, "refused"), i, row)
        assert_refused(json_string_value(json_object_get(row, "expression")), VKF_ERROR_UNSUPPORTED,
                       json_string_value(json_object_get(row, "named")));
    assert_true(i >= 10);
}

static void test_what_is_wrong_is_said(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"(", "byte 1: a parenthesis is not closed"},
        {"a)", "byte 2: a parenthesis is closed that is not open"},
        {"[a", "a class is not closed"},
        {"[]", "a class is empty"},
        {"[b-a]", "a range is empty"},
        {"[\\d-a]", "a range begins with no code point"},
        {"[a-\\d]", "a range ends with no code point"},
        {"[[:vowel:]]", "there is no such [:class:]"},
        {"a\\", "it ends with a backslash"},
        {"*a", "a quantifier stands behind nothing"},
        {"(?z)", "there is no such group or option"},
        {"\\k<a>", "there is no such group"},
        {"(?<a>b)\\1", "groups have names"},
        {"\\x{110000}", "there is no such code point"},
        {"\\uD800", "there is no such code point"},
        {"\\u12", "four digits"},
        {"\\p{L", "a brace is not closed"},
        {"(?#a", "a comment is not closed"},
        {"\xff", "it is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(wrong[i][0], VKF_ERROR_FORMAT, wrong[i][1]);
}

// 300 letters that the expression tells apart are more than a byte has.
static void test_more_letters_than_a_byte_has(void **state)
{
    (void)state;
    recording_host recording;
    char expression[2048] = "";
    const char *text = "\xe4\xb8\x80\xe4\xb8\x81\xe5\x80\x80 \xe4\xb9\x80";
    size_t begin = 0;
    size_t end = 0;
    for (uint32_t code = 0, length = 0; code < 300; code++) {
        expression[length++] = code > 0 ? '|' : ' ';
        length += (uint32_t)vkf__utf8_write(0x4e00 + code, expression + length);
    }
    vkf__pattern *pattern = create(&recording, expression);
    vkf__pattern_search search;
    assert_int_equal(vkf__pattern_search_begin(pattern, &search), VKF_OK);
    vkf__pattern_search_text(&search, text, strlen(text));
    assert_true(next(&search, &begin, &end)); // the first letter stands behind a blank there
    assert_int_equal(begin, 3);
    assert_int_equal(end, 6);
    assert_true(next(&search, &begin, &end));
    assert_int_equal(begin, 10);
    assert_false(next(&search, &begin, &end));
    vkf__pattern_search_end(&search);
    vkf__pattern_destroy(&pattern);
}

static void test_classes_that_take_too_much_are_refused(void **state)
{
    (void)state;
    char expression[4096] = "(a)\\1";
    for (size_t i = 0; i < 400; i++)
        strcat(expression, "\\W\\w");
    assert_refused(expression, VKF_ERROR_UNSUPPORTED, "too many classes");
    memset(expression, '(', sizeof expression);
    expression[1000] = '\0';
    assert_refused(expression, VKF_ERROR_UNSUPPORTED, "groups nested too deep");
    memset(expression, '[', sizeof expression);
    expression[1000] = '\0';
    assert_refused(expression, VKF_ERROR_UNSUPPORTED, "classes nested too deep");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_code_point_is_where_the_library_has_it),
        cmocka_unit_test(test_words_and_numbers),
        cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_pieces_of_texts),
        cmocka_unit_test(test_what_is_not_read_is_named),
        cmocka_unit_test(test_what_is_wrong_is_said),
        cmocka_unit_test(test_more_letters_than_a_byte_has),
        cmocka_unit_test(test_classes_that_take_too_much_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
