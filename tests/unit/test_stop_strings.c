// Whether a sequence of tokens ends with a stop string: at its last token, and not before.
#include "model/text/stop_strings.h"

#include "tokenizer_fixture.h"

// Whole words' pieces, one token of two characters' bytes, and a special token.
static const char file[] =
    "{\"added_tokens\": [{\"id\": 9, \"content\": \"<s>\", \"special\": true, \"normalized\": false}], "
    "\"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true}, "
    "\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {\"s\": 0, \"to\": 1, \"pped\": 2, \"stop\": 3, "
    "\"las\": 4, "
    "\"topper\": 5, \"x\": 6, \"\\u00c3\": 7, \"\\u00a9s\": 8, \"<s>\": 9}}}";

typedef struct stop_case {
    int32_t ids[8];
    uint32_t count;
    const char *stop;
    bool ends;
} stop_case;

static const stop_case cases[] = {
    {{3}, 1, "stop", true},
    {{0, 1, 2}, 3, "stop", true},
    {{4, 5}, 2, "stop", true},
    {{0, 1}, 2, "stop", false},
    {{3, 6}, 2, "stop", false},          // it ended one token before
    {{3, 6, 3}, 3, "stop", true},        // and here once more
    {{6, 6, 6, 6, 6, 3}, 6, "st", true}, // more tokens than are looked at
    {{6, 6, 6, 6, 0, 1}, 6, "xst", true},
    {{6, 7, 8}, 3, "x\xc3\xa9", true}, // a character of two tokens
    {{7, 8, 6}, 3, "\xc3\xa9", false},
    {{0, 9, 1}, 3, "sto", false}, // across a special token
    {{6}, 1, "", false},
    {{0}, 0, "s", false},
};

static void test_where_sequences_end(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(fixture_parse(&fixture, file), VKF_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const vkf_text stops[] = {{"never", 5}, {cases[i].stop, strlen(cases[i].stop)}};
        const vkf__stop_strings strings = {&fixture.tokenizer, stops, 2};
        bool ends = !cases[i].ends;
        assert_int_equal(vkf__ends_with_stop(&strings, cases[i].ids, cases[i].count, &ends), VKF_OK);
        if (ends != cases[i].ends)
            fail_msg("case %zu: %d", i, ends);
    }
    fixture_free(&fixture);
}

static void test_allocation_failures_leave_nothing_behind(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    assert_int_equal(fixture_parse(&fixture, file), VKF_OK);
    const vkf_text stop = {"stop", 4};
    const vkf__stop_strings strings = {&fixture.tokenizer, &stop, 1};
    size_t failures = 0;
    int live = (int)fixture.recording.live;
    for (size_t call = 1; call < 40; call++) {
        bool ends = false;
        fixture.recording.calls = 0;
        fixture.recording.fail_call = call;
        vkf_status status = vkf__ends_with_stop(&strings, cases[1].ids, cases[1].count, &ends);
        assert_true(status == VKF_OK ? ends : status == VKF_ERROR_OUT_OF_HOST_MEMORY && !ends);
        assert_int_equal(fixture.recording.live, live);
        failures += status != VKF_OK;
    }
    assert_true(failures >= 2);
    fixture.recording.fail_call = 0;
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_where_sequences_end),
        cmocka_unit_test(test_allocation_failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests_name("stop_strings", tests, NULL, NULL);
}
