// Small tokenizer files for tests, and what a test asks of them.
#ifndef VKF_TESTS_TOKENIZER_FIXTURE_H
#define VKF_TESTS_TOKENIZER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recording_host.h"
#include "text/tokenizer.h"

typedef struct tokenizer_fixture {
    recording_host recording;
    vkf__tokenizer tokenizer;
} tokenizer_fixture;

static inline vkf_status fixture_parse(tokenizer_fixture *fixture, const char *json)
{
    recording_host_init(&fixture->recording);
    fixture->tokenizer = (vkf__tokenizer){0};
    return vkf__tokenizer_parse(&fixture->recording.host, "t.json", json, strlen(json), &fixture->tokenizer);
}

static inline void fixture_free(tokenizer_fixture *fixture)
{
    vkf__tokenizer_free(&fixture->tokenizer);
    assert_int_equal(fixture->recording.live, 0);
}

// A file of a model and further keys: `rest` begins with a comma.
#define TOKENIZER(model, rest) "{\"model\": {" model "}" rest "}"

// One line for an encoding, "id[begin,end) ..."; special tokens as "id*".
static inline void fixture_print(const vkf_encoding *encoding, char *out, size_t out_bytes)
{
    size_t length = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < encoding->count && length < out_bytes; i++) {
        int written =
            encoding->special_tokens_mask[i]
                ? snprintf(out + length, out_bytes - length, "%s%ld*", i > 0 ? " " : "", (long)encoding->ids[i])
                : snprintf(out + length, out_bytes - length, "%s%ld[%zu,%zu)", i > 0 ? " " : "", (long)encoding->ids[i],
                           encoding->offsets[i].begin, encoding->offsets[i].end);
        length += (size_t)written;
    }
}

static inline void fixture_assert_bytes(const tokenizer_fixture *fixture, const char *text, size_t text_bytes,
                                        const char *pair, const vkf_encode_options *options, const char *expected)
{
    static const vkf_encode_options defaults = {0};
    char line[2048];
    vkf_encoding encoding = {0};
    assert_int_equal(vkf__tokenizer_encode(&fixture->tokenizer, text, text_bytes, pair, pair ? strlen(pair) : 0,
                                           options ? options : &defaults, &encoding),
                     VKF_OK);
    fixture_print(&encoding, line, sizeof line);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
    assert_string_equal(line, expected);
}

static inline void fixture_assert(const tokenizer_fixture *fixture, const char *text, const char *expected)
{
    fixture_assert_bytes(fixture, text, strlen(text), NULL, NULL, expected);
}

static inline void fixture_assert_decoded(const tokenizer_fixture *fixture, const int32_t *ids, uint32_t count,
                                          bool skip_special_tokens, const char *expected)
{
    char text[256];
    size_t bytes = sizeof text;
    assert_int_equal(vkf__tokenizer_decode(&fixture->tokenizer, ids, count, skip_special_tokens, &bytes, text), VKF_OK);
    assert_string_equal(text, expected);
    assert_int_equal(bytes, strlen(expected));
}

// Parses what must not be accepted; the message names `named`.
static inline void fixture_assert_refused(const char *json, vkf_status expected, const char *named)
{
    tokenizer_fixture fixture;
    vkf_status status = fixture_parse(&fixture, json);
    if (status != expected || !strstr(fixture.recording.text, named))
        print_message("%s\n  gives status %d: %s\n  and should name '%s'\n", json, (int)status, fixture.recording.text,
                      named);
    assert_int_equal(status, expected);
    assert_non_null(strstr(fixture.recording.text, named));
    assert_non_null(strstr(fixture.recording.text, "t.json"));
    fixture_free(&fixture);
}

#endif
