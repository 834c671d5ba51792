// Regular expressions, each with a text behind a line's end. What is read searches the text; what it finds begins and
// ends at code points, one place behind the other.
#include <string.h>

#include "../unit/recording_host.h"
#include "fuzz.h"
#include "text/code_point.h"
#include "text/pattern.h"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("'s|'t|'re| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+\nIt's 12345 o'clock"),
    FUZZ_TEXT("[\\p{Lu}\\p{M}&&[^\\p{Han}]]*(?i:'s|'ll)?|\\p{N}{1,3}+|a{,2}b{2}?c{3,1}\nABCs 12345 aab bbb"),
    FUZZ_TEXT("(?i)stra\xc3\x9f"
              "e|[[:^punct:]\\x{61 62 70-7a}]++|ffi\nSTRASSE \xef\xac\x83 x"),
    FUZZ_TEXT("(?<n>\\w)\\k<n>|(?<=ab|c)d(?<!e)|(?>x|xy)z*?|\\R\\b\\N\\O\nxx abd cd xyz \r\n"),
    FUZZ_TEXT("(.)\\1+|(\\p{Greek}|\\u0041)(?(2)b|c)\\G\\K^$\\A\\z\\Z\naabb \xce\xb1"),
    FUZZ_TEXT("\\((?:[^()]|\\g<0>)*\\)|/\\*(?~\\*/)\\*/|(?#c)(?x) a # b\n (?W:\\w)(?m-i:.)\n(a(b)) /* c */"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static bool at_code_point(const char *text, size_t text_bytes, size_t at)
{
    return at == text_bytes || ((unsigned char)text[at] & 0xc0u) != 0x80u;
}

static void check_search(const vkf__pattern *pattern, const char *text, size_t text_bytes)
{
    vkf__pattern_search search;
    size_t last = 0;
    bool found = true;
    vkf_status status = vkf__pattern_search_begin(pattern, &search);
    FUZZ_CHECK(status == VKF_OK);
    vkf__pattern_search_text(&search, text, text_bytes);
    while (status == VKF_OK && found) {
        size_t begin = 0;
        size_t end = 0;
        status = vkf__pattern_next(&search, &found, &begin, &end);
        FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_TOO_LARGE);
        if (status != VKF_OK || !found)
            break;
        FUZZ_CHECK(last <= begin && begin <= end && end <= text_bytes);
        FUZZ_CHECK(at_code_point(text, text_bytes, begin) && at_code_point(text, text_bytes, end));
        last = end;
    }
    vkf__pattern_search_end(&search);
}

// The longest beginning that is UTF-8.
static size_t valid_bytes(const char *text, size_t text_bytes)
{
    size_t at = 0;
    for (bool valid = true; at < text_bytes;) {
        size_t bytes = vkf__utf8_check(text + at, text_bytes - at, &valid);
        if (!valid)
            break;
        at += bytes;
    }
    return at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static char expression[4097];
    recording_host recording;
    vkf__pattern *pattern = NULL;
    // The last line is the text, since expressions have line ends, too.
    size_t text_at = size_bytes < sizeof expression ? size_bytes : sizeof expression - 1;
    size_t most = text_at;
    while (text_at > 0 && data[text_at - 1] != '\n')
        text_at--;
    size_t bytes = text_at > 0 ? text_at - 1 : 0;
    memcpy(expression, data, bytes);
    expression[bytes] = '\0';
    recording_host_init(&recording);
    vkf_status status = vkf__pattern_create(&recording.host, "fuzz", expression, &pattern);
    FUZZ_CHECK(recording.peak_bytes <= (1u << 20) + 4096 * size_bytes);
    if (status == VKF_OK) {
        const char *text = (const char *)data + text_at;
        check_search(pattern, text, valid_bytes(text, most - text_at));
        check_search(pattern, expression, valid_bytes(expression, bytes));
        vkf__pattern_destroy(&pattern);
    } else {
        FUZZ_CHECK(status == VKF_ERROR_FORMAT || status == VKF_ERROR_UNSUPPORTED);
        FUZZ_CHECK(recording.messages > 0 && recording.severity == VKF_SEVERITY_ERROR);
    }
    FUZZ_CHECK(recording.live == 0);
    return 0;
}
