// Tokens turned into text as they come: whole characters, stop strings, parts that together are the whole text.
#include "model/text/text_stream.h"

#include "model_files.h"
#include "random.h"
#include "tokenizer_fixture.h"

#define MAX_TEXT 8192
#define MAX_STOPS 3

// Tokens behind the 256 single bytes: lines' ends with something before and behind them, and parts of characters.
static const char *const joined[] = {"\n\n", "\xa9\n", " \xf0", "xy", "\nx", "\x98\x80", "yx\n\xe2\x82"};
#define JOINED (sizeof joined / sizeof *joined)
#define TOKENS (256 + JOINED)

// A byte as byte-level tokenizers write it into their vocabulary (Radford et al. 2019, bytes_to_unicode()).
static uint32_t letter_of(uint8_t byte)
{
    uint32_t shifted = 256;
    if ((byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae)
        return byte;
    for (uint32_t b = 0; b < byte; b++)
        shifted += b < '!' || (b > '~' && b < 0xa1) || b == 0xad;
    return shifted;
}

static size_t put_token(char *json, const char *bytes, size_t count, size_t id)
{
    size_t at = (size_t)sprintf(json, "%s\"", id > 0 ? ", " : "");
    for (size_t i = 0; i < count; i++)
        at += (size_t)sprintf(json + at, "\\u%04x", (unsigned)letter_of((uint8_t)bytes[i]));
    return at + (size_t)sprintf(json + at, "\": %zu", id);
}

// Id b is the byte b, and 256 + i is joined[i].
static void make_bytes(tokenizer_fixture *fixture)
{
    static char json[16384];
    size_t at = (size_t)sprintf(json, "{\"decoder\": {\"type\": \"ByteLevel\", \"add_prefix_space\": true, "
                                      "\"trim_offsets\": true, \"use_regex\": true}, "
                                      "\"model\": {\"type\": \"BPE\", \"merges\": [], \"vocab\": {");
    for (size_t id = 0; id < TOKENS; id++) {
        char byte = (char)id;
        const char *bytes = id < 256 ? &byte : joined[id - 256];
        at += put_token(json + at, bytes, id < 256 ? 1 : strlen(bytes), id);
    }
    (void)sprintf(json + at, "}}}");
    assert_int_equal(fixture_parse(fixture, json), VKF_OK);
}

// A tokenizer file of tests/pretrained.
static void make_file(tokenizer_fixture *fixture, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, VKF_TEST_SOURCE_DIR "/tests/pretrained/%s/tokenizer.json", name);
    char *json = vkf_test_read_file(path, NULL);
    assert_int_equal(fixture_parse(fixture, json), VKF_OK);
    free(json);
}

// As Llama 2 and Mistral have it: bytes that are no token of their own are <0xHH>; ids 0 to 255. 256 is a blank and
// "a".
static void make_byte_fallback(tokenizer_fixture *fixture)
{
    static char json[16384];
    size_t at = (size_t)sprintf(
        json, "{\"decoder\": {\"type\": \"Sequence\", \"decoders\": [{\"type\": \"Replace\", \"pattern\": {\"String\": "
              "\"\xe2\x96\x81\"}, \"content\": \" \"}, {\"type\": \"ByteFallback\"}, {\"type\": \"Fuse\"}, {\"type\": "
              "\"Strip\", \"content\": \" \", \"start\": 1, \"stop\": 0}]}, "
              "\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"merges\": [], \"vocab\": {");
    for (unsigned id = 0; id < 256; id++)
        at += (size_t)sprintf(json + at, "\"<0x%02X>\": %u, ", id, id);
    (void)sprintf(json + at, "\"\xe2\x96\x81"
                             "a\": 256}}}");
    assert_int_equal(fixture_parse(fixture, json), VKF_OK);
}

// What on_text would be given: a stream's certain text, part by part.
typedef struct reader {
    vkf__text_stream stream;
    char text[MAX_TEXT]; // all parts so far
    size_t size_bytes;
} reader;

static void reader_open(reader *r, const tokenizer_fixture *fixture, const vkf_text *stops, uint32_t stop_count)
{
    r->size_bytes = 0;
    vkf__text_stream_init(&r->stream, &fixture->tokenizer, stops, stop_count);
}

static void reader_take(reader *r)
{
    size_t bytes = r->stream.certain_bytes - r->size_bytes;
    assert_true(r->stream.certain_bytes >= r->size_bytes && r->stream.certain_bytes < MAX_TEXT);
    if (bytes > 0)
        memcpy(r->text + r->size_bytes, r->stream.text + r->size_bytes, bytes);
    r->size_bytes += bytes;
}

static void reader_add(reader *r, int32_t id)
{
    assert_int_equal(vkf__text_stream_add(&r->stream, id), VKF_OK);
    reader_take(r);
}

static void assert_bytes(const char *text, size_t size_bytes, const char *expected, size_t expected_bytes)
{
    if (size_bytes != expected_bytes || memcmp(text, expected, size_bytes) != 0)
        fail_msg("the text is \"%.*s\", expected \"%.*s\"", (int)size_bytes, text, (int)expected_bytes, expected);
}

static void reader_assert(const reader *r, const char *expected)
{
    assert_bytes(r->text, r->size_bytes, expected, strlen(expected));
}

static void reader_close(reader *r)
{
    vkf__text_stream_free(&r->stream);
    assert_null(r->stream.ids);
    assert_null(r->stream.text);
}

// Whether all characters are whole; what was broken in the tokens is U+FFFD in the text.
static bool is_utf8(const char *text, size_t size_bytes)
{
    for (size_t at = 0; at < size_bytes;) {
        uint8_t lead = (uint8_t)text[at++];
        size_t more = lead < 0x80 ? 0 : lead >= 0xf0 && lead < 0xf5 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc2 ? 1 : 4;
        if (more > size_bytes - at)
            return false;
        for (; more > 0; more--)
            if (((uint8_t)text[at++] & 0xc0) != 0x80)
                return false;
    }
    return true;
}

static size_t decode(const tokenizer_fixture *fixture, const int32_t *ids, uint32_t count, char out_text[MAX_TEXT])
{
    size_t bytes = MAX_TEXT;
    assert_int_equal(vkf__tokenizer_decode(&fixture->tokenizer, ids, count, true, &bytes, out_text), VKF_OK);
    return bytes;
}

// ---- characters

static void test_characters_of_several_tokens_are_shown_whole(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    make_bytes(&fixture);
    static const char text[] = "a\xc3\xb6\xe2\x82\xac\xf0\x9f\x98\x80z";
    static const size_t shown[] = {1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11}; // after each byte
    reader r;
    reader_open(&r, &fixture, NULL, 0);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        reader_add(&r, (uint8_t)text[i]);
        assert_int_equal(r.size_bytes, shown[i]);
    }
    reader_assert(&r, text);
    reader_close(&r);
    fixture_free(&fixture);
}

static void test_what_stays_incomplete_is_replaced_at_the_end(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    make_bytes(&fixture);
    reader r;
    reader_open(&r, &fixture, NULL, 0);
    reader_add(&r, 'a');
    reader_add(&r, 0xe2);
    reader_add(&r, 0x82);
    reader_assert(&r, "a");
    vkf__text_stream_end(&r.stream);
    reader_take(&r);
    reader_assert(&r, "a\xef\xbf\xbd");
    reader_close(&r);
    fixture_free(&fixture);
}

static void test_a_character_begun_before_a_lines_end(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    make_bytes(&fixture);
    static const int32_t ids[] = {0xc3, 257, 258, 0x9f,
                                  261,  256, 259}; // e acute and "\n"; " " and a face; "\n\n"; "xy"
    reader r;
    reader_open(&r, &fixture, NULL, 0);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        reader_add(&r, ids[i]);
    reader_assert(&r, "\xc3\xa9\n \xf0\x9f\x98\x80\n\nxy");
    reader_close(&r);
    fixture_free(&fixture);
}

static void test_special_tokens_are_left_out(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    make_file(&fixture, "gpt2");
    reader r;
    reader_open(&r, &fixture, NULL, 0);
    reader_add(&r, 1);  // <s>
    reader_add(&r, 95); // rain
    reader_add(&r, 2);  // </s>
    reader_assert(&r, "rain");
    reader_close(&r);
    fixture_free(&fixture);
}

// ---- stop strings

typedef struct stop_case {
    const char *stops[MAX_STOPS];
    const char *ids;      // single bytes
    const char *expected; // what is shown; NULL: no stop, all of it at the end
    size_t before_end;    // without a stop: bytes that are shown before the end
} stop_case;

static const stop_case stop_cases[] = {
    {{"ab"}, "xxabc", "xx", 0},
    {{"ab"}, "ab", "", 0},
    {{"ab"}, "aab", "a", 0},
    {{"aab"}, "aaab", "a", 0}, // the beginning of a stop string that was none
    {{"abc", "b"}, "xab", "xa", 0},
    {{"abcd", "bc"}, "xabcd", "xa", 0}, // known one token earlier
    {{"\n\n"}, "a\nb\n\nc", "a\nb", 0},
    {{"\nx"}, "y\nx", "y", 0},
    {{"\xe2\x82\xac"}, "5 \xe2\x82\xac!", "5 ", 0},
    {{"ab"}, "xxa", NULL, 2},
    {{"ab", "a\nc"}, "a\n", NULL, 0},
    {{"\n\n"}, "a\n", NULL, 1},
    {{"abc"}, "abx", NULL, 3},
};

static uint32_t texts_of(const char *const words[MAX_STOPS], vkf_text out_stops[MAX_STOPS])
{
    uint32_t count = 0;
    for (; count < MAX_STOPS && words[count]; count++)
        out_stops[count] = (vkf_text){words[count], strlen(words[count])};
    return count;
}

static void check_stop(const tokenizer_fixture *fixture, const stop_case *c)
{
    vkf_text stops[MAX_STOPS];
    reader r;
    reader_open(&r, fixture, stops, texts_of(c->stops, stops));
    size_t length = strlen(c->ids), taken = 0;
    while (taken < length && !r.stream.stopped)
        reader_add(&r, (uint8_t)c->ids[taken++]);
    assert_int_equal(r.stream.stopped, c->expected != NULL);
    if (!c->expected)
        assert_int_equal(r.size_bytes, c->before_end);
    vkf__text_stream_end(&r.stream);
    reader_take(&r);
    reader_assert(&r, c->expected ? c->expected : c->ids);
    reader_close(&r);
}

static void test_stop_strings_over_tokens(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    make_bytes(&fixture);
    for (size_t i = 0; i < sizeof stop_cases / sizeof *stop_cases; i++)
        check_stop(&fixture, &stop_cases[i]);
    fixture_free(&fixture);
}

static void test_a_stop_string_inside_a_token(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    make_file(&fixture, "gpt2");
    const vkf_text stops[] = {{"ieva", 4}};
    reader r;
    reader_open(&r, &fixture, stops, 1);
    reader_add(&r, 95);
    reader_add(&r, 54);
    assert_true(r.stream.stopped);
    reader_assert(&r, "rain unbel");
    reader_close(&r);
    fixture_free(&fixture);
}

// ---- random tokens

static uint64_t seed_of_run(void)
{
    const char *text = getenv("VKF_TEST_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

// Ids of random characters, lines' ends often, and now and then of anything.
static uint32_t random_ids(vkf_test_random *random, uint32_t vocab, bool bytes, uint32_t capacity, int32_t *out_ids)
{
    static const char *const characters[] = {
        "\n", "\n", " ", "x", "y", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbf\xbd"};
    uint32_t count = 0;
    while (count + 4 < capacity) {
        if (!bytes || vkf_test_random_below(random, 4) == 0) {
            out_ids[count++] = (int32_t)vkf_test_random_below(random, vocab);
            continue;
        }
        const char *c = characters[vkf_test_random_below(random, sizeof characters / sizeof *characters)];
        while (*c)
            out_ids[count++] = (uint8_t)*c++;
    }
    return count;
}

// Where the text of the first `count` tokens has to end; SIZE_MAX: no stop string is in it.
static size_t first_stop(const char *text, size_t size_bytes, const vkf_text *stops, uint32_t stop_count)
{
    for (size_t at = 0; at < size_bytes; at++)
        for (uint32_t i = 0; i < stop_count; i++)
            if (stops[i].size_bytes <= size_bytes - at && memcmp(text + at, stops[i].bytes, stops[i].size_bytes) == 0)
                return at;
    return SIZE_MAX;
}

static void check_random(const tokenizer_fixture *fixture, const int32_t *ids, uint32_t count, const vkf_text *stops,
                         uint32_t stop_count)
{
    char text[MAX_TEXT];
    reader r;
    reader_open(&r, fixture, stops, stop_count);
    size_t stop = SIZE_MAX, bytes = 0;
    for (uint32_t i = 0; i < count && stop == SIZE_MAX; i++) {
        reader_add(&r, ids[i]);
        bytes = decode(fixture, ids, i + 1, text);
        stop = first_stop(text, bytes, stops, stop_count);
        assert_int_equal(r.stream.stopped, stop != SIZE_MAX);
        assert_true(is_utf8(r.text, r.size_bytes));
    }
    vkf__text_stream_end(&r.stream);
    reader_take(&r);
    assert_bytes(r.text, r.size_bytes, text, stop == SIZE_MAX ? bytes : stop);
    assert_bytes(r.stream.text, r.stream.size_bytes, text, r.size_bytes);
    reader_close(&r);
}

static void check_random_runs(const tokenizer_fixture *fixture, uint32_t vocab, bool bytes)
{
    static const char *const words[MAX_STOPS] = {"\n\n", "x\xc3\xa9", "yy"};
    uint64_t seed = seed_of_run();
    vkf_test_random random;
    vkf_text stops[MAX_STOPS];
    int32_t ids[150];
    print_message("seed %llu\n", (unsigned long long)seed);
    vkf_test_random_init(&random, seed);
    uint32_t stop_count = texts_of(words, stops);
    for (unsigned run = 0; run < 200; run++) {
        uint32_t count = random_ids(&random, vocab, bytes, 8 + vkf_test_random_below(&random, 142), ids);
        check_random(fixture, ids, count, stops, run % 2 == 0 ? 0 : stop_count);
    }
}

static void test_parts_are_the_whole_text(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    make_bytes(&fixture);
    check_random_runs(&fixture, TOKENS, true);
    fixture_free(&fixture);
    make_file(&fixture, "gpt2");
    check_random_runs(&fixture, vkf__tokenizer_vocab_size(&fixture.tokenizer), false);
    fixture_free(&fixture);
}

// Two bytes that are no character become two U+FFFD, even where the first alone was a line's end.
static void test_byte_fallback_gives_whole_characters(void **state)
{
    (void)state;
    tokenizer_fixture fixture;
    make_byte_fallback(&fixture);
    static const int32_t ids[] = {256, 0x0a, 0xf0, 0x9f};
    char text[MAX_TEXT];
    reader r;
    reader_open(&r, &fixture, NULL, 0);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        reader_add(&r, ids[i]);
    vkf__text_stream_end(&r.stream);
    reader_take(&r);
    if (!is_utf8(r.text, r.size_bytes))
        fail_msg("a character was cut: \"%.*s\" of \"%.*s\"", (int)r.size_bytes, r.text,
                 (int)decode(&fixture, ids, 4, text), text);
    reader_close(&r);
    fixture_free(&fixture);
}

// ---- memory

static void test_allocation_failures_leave_nothing_behind(void **state)
{
    (void)state;
    static const char text[] =
        "a line\nand another, longer than the first blocks of ids and of text, which are 64 long\n";
    tokenizer_fixture fixture;
    make_bytes(&fixture);
    size_t live = fixture.recording.live, failures = 0;
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (size_t call = 1; status != VKF_OK; call++) {
        vkf__text_stream stream;
        vkf__text_stream_init(&stream, &fixture.tokenizer, NULL, 0);
        fixture.recording.calls = 0;
        fixture.recording.fail_call = call;
        status = VKF_OK;
        for (size_t i = 0; status == VKF_OK && i < sizeof text - 1; i++)
            status = vkf__text_stream_add(&stream, (uint8_t)text[i]);
        assert_true(status == VKF_OK || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_true(stream.certain_bytes <= stream.size_bytes);
        failures += status != VKF_OK;
        vkf__text_stream_free(&stream);
        assert_int_equal(fixture.recording.live, live);
    }
    assert_true(failures >= 4); // ids and text, and both again when they grow
    fixture.recording.fail_call = 0;
    fixture_free(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters_of_several_tokens_are_shown_whole),
        cmocka_unit_test(test_what_stays_incomplete_is_replaced_at_the_end),
        cmocka_unit_test(test_a_character_begun_before_a_lines_end),
        cmocka_unit_test(test_special_tokens_are_left_out),
        cmocka_unit_test(test_stop_strings_over_tokens),
        cmocka_unit_test(test_a_stop_string_inside_a_token),
        cmocka_unit_test(test_parts_are_the_whole_text),
        cmocka_unit_test(test_byte_fallback_gives_whole_characters),
        cmocka_unit_test(test_allocation_failures_leave_nothing_behind),
    };
    return cmocka_run_group_tests_name("text_stream", tests, NULL, NULL);
}
