// JSON files and their values: what is read, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/json_file.h"
#include "recording_host.h"
#include "scratch_directory.h"

typedef struct malformed_case {
    const char *text;
    size_t text_bytes; // 0: up to the terminating zero
    const char *words; // of the message
} malformed_case;

static const malformed_case malformed[] = {
    {"", 0, "not valid JSON"},
    {"   ", 0, "not valid JSON"},
    {"{\"a\": 1", 0, "not valid JSON"},
    {"{\"a\": 1}\n x", 0, ":2:"},
    {"{\"a\": nan}", 0, "not valid JSON"},
    {"{\"a\": -NaN}", 0, "not valid JSON"},
    {"{\"a\": +Infinity}", 0, "not valid JSON"},
    {"{NaN: 1}", 0, "not valid JSON"},
    {"{\"a\": 01}", 0, "not valid JSON"},
    {"{\"a\": 1.}", 0, "not valid JSON"},
    {"{\"a\": .5}", 0, "not valid JSON"},
    {"{\"a\": 1e}", 0, "not valid JSON"},
    {"{\"a\": 64.0.0}", 0, "not valid JSON"},
    {"{\"a\": \"\xff\"}", 0, "UTF-8"},
    {"{\"a\": \"b\\u0000c\"}", 0, "\\u0000"},
    {"{\"a\\u0000b\": 1}", 0, "NUL"},
    {"{\"a\": 1}\0", 9, "end of file expected"},
    {"{'a': 1}", 0, "not valid JSON"},
    {"{\"a\": 1,}", 0, "not valid JSON"},
    {"[1, 2]", 0, "the top level is an array; it must be an object"},
    {"\"text\"", 0, "not valid JSON"},
    {"null", 0, "not valid JSON"},
};

static void test_json_load_refuses_malformed_text(void **state)
{
    scratch_directory *scratch = *state;
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        const malformed_case *row = &malformed[i];
        recording_host recording;
        recording_host_init(&recording);
        json_t *root = NULL;
        size_t bytes = row->text_bytes ? row->text_bytes : strlen(row->text);
        const char *path = scratch_write(scratch, "malformed.json", row->text, bytes);
        vkf_status status = vkf__json_load(&recording.host, path, &root);
        if (status != VKF_ERROR_FORMAT || !strstr(recording.text, row->words))
            print_message("row %zu, %s: '%s' has no '%s'\n", i, row->text, recording.text, row->words);
        assert_int_equal(status, VKF_ERROR_FORMAT);
        assert_non_null(strstr(recording.text, row->words));
        assert_non_null(strstr(recording.text, "malformed.json:"));
        assert_null(root);
        assert_int_equal(recording.messages, 1);
        assert_int_equal(recording.live, 0);
    }
}

static void test_json_load_refuses_deep_nesting(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    size_t depth = 1000000;
    char *text = malloc(depth + 5);
    assert_non_null(text);
    memcpy(text, "{\"a\":", 5);
    memset(text + 5, '[', depth);
    json_t *root = NULL;
    assert_int_equal(vkf__json_parse(&recording.host, "deep.json", text, depth + 5, &root), VKF_ERROR_FORMAT);
    assert_non_null(strstr(recording.text, "depth"));
    assert_null(root);
    free(text);
}

static void test_json_load_reads_an_object(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    static const char text[] = " {\"d_model\": 64}\n";
    json_t *root = NULL;
    const char *path = scratch_write(scratch, "good.json", text, strlen(text));
    assert_int_equal(vkf__json_load(&recording.host, path, &root), VKF_OK);
    assert_int_equal(json_integer_value(json_object_get(root, "d_model")), 64);
    json_decref(root);
    assert_int_equal(recording.messages, 0);
    assert_int_equal(recording.live, 0);
}

// Each row is what Python's json makes of the text, written by json.dumps(..., sort_keys=True), but that numbers
// without a counterpart in jansson are strings and whole ones integers.
static void test_json_parse_reads_what_python_reads(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{\"a\": 1, \"b\": 2, \"a\": 3}", "{\"a\": 3, \"b\": 2}"},
        {"{\"o\": {\"a\": 1, \"a\": {\"c\": 2}}}", "{\"o\": {\"a\": {\"c\": 2}}}"},
        {"{\"a\": NaN, \"b\": [Infinity , -Infinity]}", "{\"a\": \"NaN\", \"b\": [\"Infinity\", \"-Infinity\"]}"},
        {"{\"a\": \"NaN, 64.0, \\\" NaN\"}", "{\"a\": \"NaN, 64.0, \\\" NaN\"}"},
        {"{\"a\": 1e999, \"b\": -1e999}", "{\"a\": \"Infinity\", \"b\": \"-Infinity\"}"},
        {"{\"a\": 64.0, \"b\":-64.000,\"c\": 6.4e1, \"d\": 2E+6}",
         "{\"a\": 64, \"b\": -64, \"c\": 64, \"d\": 2000000}"},
        {"{\"a\": 0.0, \"b\": 120e-1, \"c\": 0.064E3, \"d\": 1010.0}", "{\"a\": 0, \"b\": 12, \"c\": 64, \"d\": 1010}"},
        {"{\"a\": 1.5, \"b\": 1e-5, \"c\": 1.25e1, \"d\": 0.0625}",
         "{\"a\": 1.5, \"b\": 1.0e-5, \"c\": 12.5, \"d\": 0.0625}"},
        {"{\"a\": 99999999999999999999, \"b\": -123456789012345678901234567890}",
         "{\"a\": 1e20, \"b\": -1.2345678901234568e29}"},
        {"{\"a\": 999999999999999999, \"b\": -999999999999999999}",
         "{\"a\": 999999999999999999, \"b\": -999999999999999999}"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        recording_host recording;
        recording_host_init(&recording);
        json_t *root = NULL, *wanted = json_loads(rows[i][1], 0, NULL);
        assert_int_equal(vkf__json_parse(&recording.host, "p.json", rows[i][0], strlen(rows[i][0]), &root), VKF_OK);
        if (!json_equal(root, wanted))
            print_message("row %zu: %s\n", i, rows[i][0]);
        assert_non_null(wanted);
        assert_true(json_equal(root, wanted));
        json_decref(root);
        json_decref(wanted);
        assert_int_equal(recording.live, 0);
    }
}

// Numbers keep their kind, as transformers refuses a whole number where a float was. What only Python reads is read,
// too.
static void test_json_load_as_written_keeps_numbers(void **state)
{
    static const struct {
        const char *text, *written; // written NULL: it is refused
    } cases[] = {
        {"{\"a\": 2.0, \"b\": 2, \"c\": 1e3}", "{\"a\":2.0,\"b\":2,\"c\":1000.0}"},
        {"{\"a\": 1, \"a\": 2.0}", "{\"a\":2.0}"},
        {"{\"a\": NaN, \"b\": 2}", "{\"a\":\"NaN\",\"b\":2}"},
        {"[1]", NULL},
        {"", NULL},
        {"{\"a\": .5}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host recording;
        json_t *root = NULL;
        recording_host_init(&recording);
        const char *path = scratch_write(*state, "kept.json", cases[i].text, strlen(cases[i].text));
        const vkf_status status = vkf__json_load_as_written(&recording.host, path, &root);
        assert_int_equal(status, cases[i].written ? VKF_OK : VKF_ERROR_FORMAT);
        assert_int_equal(recording.messages, !cases[i].written);
        char *written = json_dumps(root, JSON_COMPACT);
        if (cases[i].written)
            assert_string_equal(written, cases[i].written);
        free(written);
        json_decref(root);
        assert_int_equal(recording.live, 0);
    }
}

static void test_json_load_of_absent_file_and_directory(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    json_t *root = NULL;
    const char *path = scratch_path(scratch, "absent.json");
    assert_int_equal(vkf__json_load(&recording.host, path, &root), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "absent.json: cannot be opened"));
    assert_int_equal(vkf__json_load(&recording.host, scratch->path, &root), VKF_ERROR_FILE);
    recording.fail_call = recording.calls + 1;
    path = scratch_write(scratch, "good.json", "{}", 2);
    assert_int_equal(vkf__json_load(&recording.host, path, &root), VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_null(root);
    assert_int_equal(recording.live, 0);
}

typedef struct read_fixture {
    recording_host recording;
    json_t *root;
} read_fixture;

static int setup_reads(void **state)
{
    static const char text[] = "{\"four\": 4, \"zero\": 0, \"minus\": -1, \"big\": 4294967296, \"max\": 4294967295,"
                               " \"half\": 0.5, \"whole\": 4.0, \"huge\": 1e39, \"small\": 1e-60, \"yes\": true,"
                               " \"no\": false, \"text\": \"relu\", \"none\": null, \"list\": [], \"object\": {}, "
                               "\"wide\": 100000000000000000000, \"infinite\": 1e999,"
                               " \"-infinite\": -Infinity, \"undefined\": NaN}";
    read_fixture *fixture = calloc(1, sizeof *fixture);
    if (!fixture)
        return -1;
    *state = fixture;
    recording_host_init(&fixture->recording);
    return vkf__json_parse(&fixture->recording.host, "c.json", text, strlen(text), &fixture->root) == VKF_OK ? 0 : -1;
}

static int teardown_reads(void **state)
{
    read_fixture *fixture = *state;
    json_decref(fixture->root);
    free(fixture);
    return 0;
}

static void test_json_u32_checks_type_and_range(void **state)
{
    read_fixture *fixture = *state;
    const vkf__host *host = &fixture->recording.host;
    static const struct {
        const char *key;
        uint32_t min, max;
        const char *words; // NULL: it is read
        uint32_t value;
    } rows[] = {
        {"four", 4, 4, NULL, 4},
        {"four", 5, 9, "key 'four' is 4; it must be within 5 and 9", 0},
        {"four", 1, 3, "it must be within 1 and 3", 0},
        {"zero", 0, UINT32_MAX, NULL, 0},
        {"max", 0, UINT32_MAX, NULL, UINT32_MAX},
        {"big", 0, UINT32_MAX, "4294967296", 0},
        {"minus", 0, UINT32_MAX, "'minus' is -1", 0},
        {"whole", 0, 9, NULL, 4},
        {"wide", 0, 9, "'wide' is 1e+20; it must be within 0 and 9", 0},
        {"half", 0, 9, "with a fraction or exponent; it must be a whole number", 0},
        {"infinite", 0, 9, "is no finite number; it must be a whole number", 0},
        {"-infinite", 0, 9, "is no finite number; it must be a whole number", 0},
        {"undefined", 0, 9, "is no finite number; it must be a whole number", 0},
        {"text", 0, 9, "is a string; it must be a whole number", 0},
        {"none", 0, 9, "is null", 0},
        {"list", 0, 9, "is an array", 0},
        {"object", 0, 9, "is an object", 0},
        {"yes", 0, 9, "is true or false", 0},
        {"absent", 0, 9, "c.json: key 'absent' is missing", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t value = 77;
        vkf_status status = vkf__json_u32(host, "c.json", fixture->root, rows[i].key, rows[i].min, rows[i].max, &value);
        assert_int_equal(status, rows[i].words ? VKF_ERROR_FORMAT : VKF_OK);
        assert_int_equal(value, rows[i].words ? 77 : rows[i].value);
        if (rows[i].words)
            assert_non_null(strstr(fixture->recording.text, rows[i].words));
    }
}

static void test_json_bool_takes_true_and_false_alone(void **state)
{
    read_fixture *fixture = *state;
    const vkf__host *host = &fixture->recording.host;
    bool value = false;
    assert_int_equal(vkf__json_bool(host, "c.json", fixture->root, "yes", &value), VKF_OK);
    assert_true(value);
    assert_int_equal(vkf__json_bool(host, "c.json", fixture->root, "no", &value), VKF_OK);
    assert_false(value);
    assert_int_equal(vkf__json_bool(host, "c.json", fixture->root, "four", &value), VKF_ERROR_FORMAT);
    assert_non_null(strstr(fixture->recording.text, "'four' is a whole number; it must be true or false"));
    assert_int_equal(vkf__json_bool(host, "c.json", fixture->root, "absent", &value), VKF_ERROR_FORMAT);
    assert_non_null(strstr(fixture->recording.text, "'absent' is missing"));
}

static void test_json_f32_takes_finite_numbers(void **state)
{
    read_fixture *fixture = *state;
    const vkf__host *host = &fixture->recording.host;
    float value = 0;
    assert_int_equal(vkf__json_f32(host, "c.json", fixture->root, "half", &value), VKF_OK);
    assert_true(value == 0.5f);
    assert_int_equal(vkf__json_f32(host, "c.json", fixture->root, "four", &value), VKF_OK);
    assert_true(value == 4.0f);
    assert_int_equal(vkf__json_f32(host, "c.json", fixture->root, "small", &value), VKF_OK);
    assert_true(value == 0.0f);
    value = 42.0f;
    assert_int_equal(vkf__json_f32(host, "c.json", fixture->root, "huge", &value), VKF_ERROR_FORMAT);
    assert_non_null(strstr(fixture->recording.text, "'huge' is 1e+39, which is too large"));
    assert_int_equal(vkf__json_f32(host, "c.json", fixture->root, "text", &value), VKF_ERROR_FORMAT);
    assert_true(value == 42.0f);
}

static void test_json_string_takes_strings_alone(void **state)
{
    read_fixture *fixture = *state;
    const vkf__host *host = &fixture->recording.host;
    const char *value = NULL;
    assert_int_equal(vkf__json_string(host, "c.json", fixture->root, "half", &value), VKF_ERROR_FORMAT);
    assert_non_null(strstr(fixture->recording.text, "with a fraction or exponent; it must be a string"));
    assert_null(value);
    assert_int_equal(vkf__json_string(host, "c.json", fixture->root, "text", &value), VKF_OK);
    assert_string_equal(value, "relu");
}

int main(void)
{
    const struct CMUnitTest files[] = {
        cmocka_unit_test(test_json_load_refuses_malformed_text),
        cmocka_unit_test(test_json_load_refuses_deep_nesting),
        cmocka_unit_test(test_json_load_reads_an_object),
        cmocka_unit_test(test_json_parse_reads_what_python_reads),
        cmocka_unit_test(test_json_load_as_written_keeps_numbers),
        cmocka_unit_test(test_json_load_of_absent_file_and_directory),
    };
    const struct CMUnitTest reads[] = {
        cmocka_unit_test(test_json_u32_checks_type_and_range),
        cmocka_unit_test(test_json_bool_takes_true_and_false_alone),
        cmocka_unit_test(test_json_f32_takes_finite_numbers),
        cmocka_unit_test(test_json_string_takes_strings_alone),
    };
    int failed = cmocka_run_group_tests(files, scratch_setup, scratch_teardown);
    return failed + cmocka_run_group_tests(reads, setup_reads, teardown_reads);
}
