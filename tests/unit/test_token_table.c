// Vocabularies of whole words: text to ids and back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/token_match.h"
#include "io/token_table.h"
#include "recording_host.h"
#include "scratch_directory.h"

#define SPECIAL "\"<pad>\", \"<bos>\", \"<eos>\", \"<unk>\""
#define GOOD_TARGET ", \"target\": {\"tokens\": [" SPECIAL ", \"z\"]}}"

// Ids from 4 on: a, ab, abc, "abcd e", é, 日, b, c
static const char vocabulary[] =
    "{\"source\": {\"tokens\": [" SPECIAL ", \"a\", \"ab\", \"abc\", \"abcd e\", \"\xc3\xa9\", \"\\u65e5\", \"b\","
    " \"c\"], \"lowercase\": true, \"append_eos\": true},"
    " \"target\": {\"tokens\": [" SPECIAL ", \"zwei\", \"und\", \"drei\xc3\x9fig\", \"<\"]}}";

typedef struct table_fixture {
    recording_host recording;
    vkf__token_tables tables;
} table_fixture;

static int setup_tables(void **state)
{
    table_fixture *fixture = calloc(1, sizeof *fixture);
    if (!fixture)
        return -1;
    *state = fixture;
    recording_host_init(&fixture->recording);
    return vkf__token_tables_parse(&fixture->recording.host, "v.json", vocabulary, strlen(vocabulary),
                                   &fixture->tables) == VKF_OK
               ? 0
               : -1;
}

static int teardown_tables(void **state)
{
    table_fixture *fixture = *state;
    vkf__token_tables_free(&fixture->tables);
    int result = fixture->recording.live == 0 && !fixture->tables.source ? 0 : -1;
    free(fixture);
    return result;
}

static void test_token_table_text_and_count(void **state)
{
    const vkf__token_tables *tables = &((table_fixture *)*state)->tables;
    assert_int_equal(vkf__token_table_count(tables->source), 12);
    assert_int_equal(vkf__token_table_count(tables->target), 8);
    assert_string_equal(vkf__token_table_text(tables->source, 0), "<pad>");
    assert_string_equal(vkf__token_table_text(tables->source, 9), "\xe6\x97\xa5");
    assert_string_equal(vkf__token_table_text(tables->target, 7), "<");
    assert_null(vkf__token_table_text(tables->source, 12));
    assert_null(vkf__token_table_text(tables->source, -1));
    assert_null(vkf__token_table_text(tables->source, INT32_MIN));
}

typedef struct encode_case {
    bool target;
    const char *text;
    size_t text_bytes; // 0: up to the terminating zero
    uint32_t count;
    int32_t ids[12];
} encode_case;

static const encode_case encodings[] = {
    {false, "", 0, 1, {2}},
    {false, "abc", 0, 2, {6, 2}},
    {false, "abcd e", 0, 2, {7, 2}},
    {false, "abcd f", 0, 5, {6, 3, 3, 3, 2}}, // the longest match fails late and falls back to "abc"
    {false, "ABCd E", 0, 2, {7, 2}},
    {false, "aab", 0, 3, {4, 5, 2}},
    {false, "\xc3\xa9\xc3\x89", 0, 3, {8, 3, 2}}, // only ASCII is lowercased
    {false, "\xe6\x97\xa5\xe6\x9c\xac", 0, 3, {9, 3, 2}},
    {false,
     "\xf0\x9f\x98\x80"
     "a",
     0,
     3,
     {3, 4, 2}},
    {false,
     "\xff\xc3"
     "a",
     0,
     4,
     {3, 3, 4, 2}},
    {false, "\xe6\x97", 0, 3, {3, 3, 2}},        // cut off: two invalid bytes
    {false, "\xed\xa0\x80", 0, 4, {3, 3, 3, 2}}, // a surrogate
    {false, "a\0b", 3, 4, {4, 3, 10, 2}},
    {false, "\0", 1, 2, {3, 2}},
    {false, "<pad>", 0, 7, {3, 3, 4, 3, 3, 2}}, // special tokens are not matched: <, p, a, d, >
    {true, "<eos>", 0, 5, {7, 3, 3, 3, 3}},
    {true, "zweiunddrei\xc3\x9fig", 0, 3, {4, 5, 6}},
    {true, "ZWEI", 0, 4, {3, 3, 3, 3}},
    {true, "", 0, 0, {0}},
};

static void test_token_table_encode_takes_longest_match(void **state)
{
    table_fixture *fixture = *state;
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
        const encode_case *row = &encodings[i];
        const vkf__token_table *table = row->target ? fixture->tables.target : fixture->tables.source;
        size_t bytes = row->text_bytes ? row->text_bytes : strlen(row->text);
        uint32_t expected = 0;
        while (expected < 12 && row->ids[expected] != 0)
            expected++;
        int32_t ids[13] = {0};
        uint32_t count = 12;
        assert_int_equal(vkf__token_table_encode(table, row->text, bytes, &count, ids), VKF_OK);
        if (count != expected || memcmp(ids, row->ids, sizeof row->ids) != 0)
            print_message("row %zu: '%s'\n", i, row->text);
        assert_int_equal(count, expected);
        assert_memory_equal(ids, row->ids, sizeof row->ids);
    }
}

static void test_token_table_encode_tells_the_count(void **state)
{
    table_fixture *fixture = *state;
    const vkf__token_table *table = fixture->tables.source;
    int32_t ids[4] = {-7, -7, -7, -7};
    uint32_t count = 99;
    assert_int_equal(vkf__token_table_encode(table, "abcc", 4, &count, NULL), VKF_OK);
    assert_int_equal(count, 3);
    count = 2;
    assert_int_equal(vkf__token_table_encode(table, "abcc", 4, &count, ids), VKF_ERROR_TOO_LARGE);
    assert_int_equal(count, 3);
    assert_int_equal(ids[0], -7);
    assert_non_null(strstr(fixture->recording.text, "3 tokens, but room for 2"));
    assert_int_equal(vkf__token_table_encode(table, "abcc", 4, &count, ids), VKF_OK);
    assert_int_equal(ids[2], 2);
    assert_int_equal(ids[3], -7);
}

static void test_token_table_encode_refuses_absurd_length(void **state)
{
    table_fixture *fixture = *state;
    uint32_t count = 5;
    assert_int_equal(vkf__token_table_encode(fixture->tables.source, "", UINT32_MAX, &count, NULL),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(count, 5);
}

static void test_token_table_decode_skips_special_tokens(void **state)
{
    table_fixture *fixture = *state;
    static const int32_t ids[] = {1, 4, 5, 3, 6, 2, 0, 0};
    char text[32];
    memset(text, 'x', sizeof text);
    size_t bytes = sizeof text;
    assert_int_equal(vkf__token_table_decode(fixture->tables.target, ids, 8, &bytes, text), VKF_OK);
    assert_string_equal(text, "zweiunddrei\xc3\x9fig");
    assert_int_equal(bytes, 15);
    assert_int_equal(text[16], 'x');
    bytes = 1;
    assert_int_equal(vkf__token_table_decode(fixture->tables.target, NULL, 0, &bytes, text), VKF_OK);
    assert_int_equal(bytes, 0);
    assert_string_equal(text, "");
}

static void test_token_table_decode_needs_room_for_the_zero(void **state)
{
    table_fixture *fixture = *state;
    static const int32_t ids[] = {4, 5};
    char text[9] = "unwrit";
    size_t bytes = 7;
    assert_int_equal(vkf__token_table_decode(fixture->tables.target, ids, 2, &bytes, text), VKF_ERROR_TOO_LARGE);
    assert_int_equal(bytes, 7);
    assert_string_equal(text, "unwrit");
    bytes = 0;
    assert_int_equal(vkf__token_table_decode(fixture->tables.target, ids, 2, &bytes, NULL), VKF_OK);
    assert_int_equal(bytes++, 7);
    assert_int_equal(vkf__token_table_decode(fixture->tables.target, ids, 2, &bytes, text), VKF_OK);
    assert_string_equal(text, "zweiund");
}

static void test_token_table_decode_refuses_unknown_ids(void **state)
{
    table_fixture *fixture = *state;
    static const int32_t bad[] = {8, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int32_t ids[] = {4, bad[i]};
        char text[16] = "unwritten";
        size_t bytes = sizeof text;
        assert_int_equal(vkf__token_table_decode(fixture->tables.target, ids, 2, &bytes, text),
                         VKF_ERROR_INVALID_ARGUMENT);
        assert_int_equal(bytes, sizeof text);
        assert_string_equal(text, "unwritten");
        assert_non_null(strstr(fixture->recording.text, "ids[1]"));
    }
}

// Every code point but the surrogates is one unit; each of its proper prefixes is invalid bytes.
static void test_code_point_bytes_of_all_code_points(void **state)
{
    (void)state;
    for (uint32_t point = 0; point < 0x112000; point++) {
        char text[4] = {(char)point};
        size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
        for (size_t i = 0; i < length && length > 1; i++)
            text[i] = (char)(0x80 | ((point >> (6 * (length - 1 - i))) & 0x3f));
        if (length > 1)
            text[0] = (char)((uint8_t)text[0] | (0xf00u >> length & 0xffu));
        bool valid = point < 0x110000 && (point < 0xd800 || point > 0xdfff);
        assert_int_equal(vkf__code_point_bytes(text, 4), valid ? length : 1);
        assert_int_equal(vkf__code_point_bytes(text, length), valid ? length : 1);
        for (size_t cut = 1; cut < length; cut++)
            assert_int_equal(vkf__code_point_bytes(text, cut), 1);
    }
}

static void test_code_point_bytes_of_ill_formed_bytes(void **state)
{
    (void)state;
    static const char *const texts[] = {"\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf", "\xf8\x88\x80\x80",
                                        "\x80",     "\xbf\x80", "\xe6\x97.",    "\xf0\x9f\x98\xc0", "\xc3\xc3"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(vkf__code_point_bytes(texts[i], strlen(texts[i])), 1);
}

// The definition: try all tokens at each place.
static uint32_t encode_naively(const vkf__token_table *table, const char *text, size_t text_bytes, int32_t *ids)
{
    uint32_t count = 0;
    for (size_t at = 0; at < text_bytes; count++) {
        size_t longest = 0;
        ids[count] = VKF_TOKEN_UNK;
        for (int32_t id = VKF_TOKEN_SPECIAL_COUNT; id < (int32_t)vkf__token_table_count(table); id++) {
            const char *token = vkf__token_table_text(table, id);
            size_t length = strlen(token);
            if (length > longest && length <= text_bytes - at && memcmp(token, text + at, length) == 0) {
                longest = length;
                ids[count] = id;
            }
        }
        at += longest > 0 ? longest : 1;
    }
    return count;
}

static uint32_t next_random(uint32_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
    return *random;
}

// The `number`-th of a, b, c, aa, ba, ...: bijective numeration to base 3, up to five letters below 364.
static size_t spell_token(uint32_t number, char *out_text)
{
    size_t length = 0;
    for (; number > 0; number = (number - 1) / 3)
        out_text[length++] = (char)('a' + (number - 1) % 3);
    return length;
}

static vkf_status parse_random_table(const vkf__host *host, uint32_t *random, vkf__token_tables *out_tables)
{
    char text[8192];
    size_t bytes = (size_t)snprintf(text, sizeof text, "{\"source\": {\"tokens\": [" SPECIAL);
    uint32_t keep = 1 + next_random(random) % 8;
    for (uint32_t number = 1; number < 240; number++) {
        if (next_random(random) % 8 >= keep)
            continue;
        bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, ", \"");
        bytes += spell_token(number, text + bytes);
        text[bytes++] = '"';
    }
    bytes += (size_t)snprintf(text + bytes, sizeof text - bytes, "]}" GOOD_TARGET);
    return vkf__token_tables_parse(host, "random.json", text, bytes, out_tables);
}

static void test_token_table_encode_agrees_with_definition(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        recording_host recording;
        recording_host_init(&recording);
        uint32_t random = seed * 2654435761u;
        vkf__token_tables tables = {0};
        assert_int_equal(parse_random_table(&recording.host, &random, &tables), VKF_OK);
        char text[200];
        int32_t ids[200], expected[200];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)('a' + next_random(&random) % 10 % 4); // "d" is in no token
        uint32_t count = 200;
        assert_int_equal(vkf__token_table_encode(tables.source, text, sizeof text, &count, ids), VKF_OK);
        uint32_t expected_count = encode_naively(tables.source, text, sizeof text, expected);
        if (count != expected_count || memcmp(ids, expected, count * sizeof *ids) != 0)
            print_message("seed %u\n", (unsigned)seed);
        assert_int_equal(count, expected_count);
        assert_memory_equal(ids, expected, count * sizeof *ids);
        vkf__token_tables_free(&tables);
    }
}

typedef struct malformed_case {
    const char *text;
    const char *words; // of the message
} malformed_case;

#define SOURCE(list) "{\"source\": {\"tokens\": " list "}" GOOD_TARGET

static const malformed_case malformed[] = {
    {"[]", "must be an object"},
    {"{", "not valid JSON"},
    {"{}", "'source' is missing"},
    {"{\"source\": []" GOOD_TARGET, "'source' is missing or not an object"},
    {"{\"source\": {}" GOOD_TARGET, "source.tokens is missing"},
    {SOURCE("\"abc\""), "source.tokens is missing or not a list"},
    {SOURCE("{}"), "source.tokens is missing or not a list"},
    {SOURCE("[]"), "special"},
    {SOURCE("[\"<pad>\", \"<bos>\", \"<eos>\"]"), "special"},
    {SOURCE("[\"<pad>\", \"<eos>\", \"<bos>\", \"<unk>\"]"), "source.tokens[1] is '<eos>'; the special token '<bos>'"},
    {SOURCE("[\"a\", " SPECIAL "]"), "source.tokens[0] is 'a'; the special token '<pad>'"},
    {SOURCE("[" SPECIAL ", \"\"]"), "source.tokens[4] is empty"},
    {SOURCE("[" SPECIAL ", 4]"), "source.tokens[4] is empty or not a string"},
    {SOURCE("[" SPECIAL ", null]"), "source.tokens[4] is empty or not a string"},
    {SOURCE("[" SPECIAL ", \"a\", \"b\", \"a\"]"), "duplicate token 'a' (ids "},
    {SOURCE("[" SPECIAL ", \"<eos>\"]"), "duplicate token '<eos>'"},
    {SOURCE("[" SPECIAL ", \"a\\u0000\"]"), "\\u0000"},
    {SOURCE("[" SPECIAL "], \"lowercase\": 1"), "'lowercase' is a whole number"},
    {SOURCE("[" SPECIAL "], \"append_eos\": \"yes\""), "'append_eos' is a string"},
    {"{\"source\": {\"tokens\": [" SPECIAL "]}}", "'target' is missing"},
    {"{\"source\": {\"tokens\": [" SPECIAL "]}, \"target\": {\"tokens\": [" SPECIAL ", \"\"]}}", "target.tokens[4]"},
};

static void test_token_tables_load_refuses_malformed_files(void **state)
{
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        recording_host recording;
        recording_host_init(&recording);
        vkf__token_tables tables = {0};
        const char *path = scratch_write(scratch, "vocabulary.json", malformed[i].text, strlen(malformed[i].text));
        vkf_status status = vkf__token_tables_load(&recording.host, path, &tables);
        if (status != VKF_ERROR_FORMAT || !strstr(recording.text, malformed[i].words))
            print_message("row %zu, %s: '%s'\n", i, malformed[i].text, recording.text);
        assert_int_equal(status, VKF_ERROR_FORMAT);
        assert_non_null(strstr(recording.text, malformed[i].words));
        assert_non_null(strstr(recording.text, "vocabulary.json"));
        assert_null(tables.source);
        assert_null(tables.target);
        assert_int_equal(recording.messages, 1);
        assert_int_equal(recording.live, 0);
    }
}

static void test_token_tables_load_of_absent_file(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__token_tables tables = {0};
    const char *path = scratch_path(scratch, "absent.json");
    assert_int_equal(vkf__token_tables_load(&recording.host, path, &tables), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "absent.json"));
}

static void test_token_tables_load_survives_allocation_failure(void **state)
{
    scratch_directory *scratch = *state;
    const char *path = scratch_write(scratch, "vocabulary.json", vocabulary, strlen(vocabulary));
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    size_t n = 0;
    while (status != VKF_OK && n < 100) {
        recording_host recording;
        recording_host_init(&recording);
        recording.fail_call = ++n;
        vkf__token_tables tables = {0};
        status = vkf__token_tables_load(&recording.host, path, &tables);
        if (status != VKF_OK) {
            assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
            assert_int_equal(recording.messages, 1);
            assert_null(tables.source);
        }
        vkf__token_tables_free(&tables);
        assert_int_equal(recording.live, 0);
    }
    assert_int_equal(status, VKF_OK);
    assert_in_range(n, 10, 99);
}

int main(void)
{
    const struct CMUnitTest tables[] = {
        cmocka_unit_test(test_token_table_text_and_count),
        cmocka_unit_test(test_token_table_encode_takes_longest_match),
        cmocka_unit_test(test_token_table_encode_tells_the_count),
        cmocka_unit_test(test_token_table_encode_refuses_absurd_length),
        cmocka_unit_test(test_token_table_decode_skips_special_tokens),
        cmocka_unit_test(test_token_table_decode_needs_room_for_the_zero),
        cmocka_unit_test(test_token_table_decode_refuses_unknown_ids),
        cmocka_unit_test(test_code_point_bytes_of_all_code_points),
        cmocka_unit_test(test_code_point_bytes_of_ill_formed_bytes),
        cmocka_unit_test(test_token_table_encode_agrees_with_definition),
    };
    const struct CMUnitTest files[] = {
        cmocka_unit_test(test_token_tables_load_refuses_malformed_files),
        cmocka_unit_test(test_token_tables_load_of_absent_file),
        cmocka_unit_test(test_token_tables_load_survives_allocation_failure),
    };
    int failed = cmocka_run_group_tests(tables, setup_tables, teardown_tables);
    return failed + cmocka_run_group_tests(files, scratch_setup, scratch_teardown);
}
