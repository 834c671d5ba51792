// What is kept about a device between runs: the tuner's table, the self-test's verdicts and marks, and the header of a
// pipeline cache. What is read and written again is read as the same. "@device" stands in an input for the line of the
// device, "@library" for that of the library, "@hash" for what the first variant of the registry is made of: without
// them nothing behind the first lines would be reached.
#include <string.h>

#include "../unit/recording_host.h"
#include "fuzz.h"
#include "kernel/pipeline_cache.h"
#include "kernel/test_marks.h"
#include "kernel/text_table.h"
#include "kernel/tuned.h"
#include "kernel/variant_hash.h"
#include "kernel/verdict.h"

#define FIRST "@first @hash"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("vkformer-tuned 2\n@device\n"),
    FUZZ_TEXT("vkformer-tuned 2\n@device\ngemm f32,f32,f32 m<=8 n=768 k=512 b=panels @hash @first 81.25 # next 97.5\n"
              "gemm f32,f32,f32 m<=1 n=1 k=4294967295 b=rows @hash @first 0.5\n"),
    FUZZ_TEXT("vkformer-tuned 2\n@device\ngemm f32,f16,f32 m<=1 n=1 k=1 b=rows @hash @first 0.5\n"),
    FUZZ_TEXT(
        "vkformer-tuned 2\n@device\ngemm f32,f32,f32 m<=8 n=1 k=1 b=rows @hash @first 1e308 # a note of a hundred "
        "and eleven characters and a blank, of which an entry keeps but the first, and then it has a blank at its "
        "end, which the next reading does not see\n"),
    FUZZ_TEXT("vkformer-tuned 2\n@device\ngemm f32,f32,f32 m<=8 n=1 k=1 b=rows @hash @first 1e300\n"),
    FUZZ_TEXT("vkformer-tuned 2\n@device\nattention f32,f32,f32 m<=128 n=512 k=64 b=rows @hash @first 412.00\n"),
    FUZZ_TEXT("vkformer-verdicts 2\n@library\n@device\n" FIRST " passed 1795798645 0 0\n"),
    FUZZ_TEXT("vkformer-verdicts 2\n@library\n@device\n# a comment\n" FIRST " wrong 1 0 0 # why # 2\n\n" FIRST
              " slow 1 2 125 # \x1b[2J\n" FIRST " faster 7 0 0\n"),
    FUZZ_TEXT("vkformer-verdicts 2\nlibrary 0\n@device\n" FIRST " started 1795798645 1 0 # gone\n"),
    FUZZ_TEXT("vkformer-testing 1\n" FIRST " 0 1795798650 4711 180943 4026531836 boot host\n"),
    FUZZ_TEXT("VFKP\1\0\0\0\5\0\1\0\0\0\0\0\0\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static const vkf__caps caps = {.vendor_id = 0x10005, .driver_id = 13, .driver_uuid = {9}};

typedef struct word {
    const char *name;
    char text[VKF_DEVICE_LINE_BYTES];
} word;

#define WORDS 4

static void fill_words(word words[WORDS])
{
    const vkf__kernel *kernel = vkf__kernel_at(0);
    words[0] = (word){.name = "@device"};
    words[1] = (word){.name = "@hash"};
    words[2] = (word){.name = "@first"};
    words[3] = (word){.name = "@library"};
    vkf__device_line(&caps, words[0].text);
    snprintf(words[3].text, sizeof words[3].text, "library %d.%d.%d", VKF_VERSION_MAJOR, VKF_VERSION_MINOR,
             VKF_VERSION_PATCH);
    snprintf(words[1].text, sizeof words[1].text, "%016llx",
             (unsigned long long)vkf__variant_hash(kernel, &kernel->configs[0]));
    snprintf(words[2].text, sizeof words[2].text, "%s/%s", kernel->name, kernel->configs[0].name);
}

// The input with its words replaced; the caller frees it.
static char *expand(const uint8_t *data, size_t size_bytes, size_t *out_bytes)
{
    word words[WORDS];
    fill_words(words);
    char *text = malloc(size_bytes * VKF_DEVICE_LINE_BYTES / 5 + 1);
    FUZZ_CHECK(text);
    size_t count = 0;
    for (size_t i = 0; i < size_bytes;) {
        size_t w = 0;
        while (w < WORDS &&
               (size_bytes - i < strlen(words[w].name) || memcmp(data + i, words[w].name, strlen(words[w].name)) != 0))
            w++;
        if (w == WORDS) {
            text[count++] = (char)data[i++];
            continue;
        }
        memcpy(text + count, words[w].text, strlen(words[w].text));
        count += strlen(words[w].text);
        i += strlen(words[w].name);
    }
    *out_bytes = count;
    return text;
}

static void check_tuned(const char *text, size_t size_bytes)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__tuned tuned = {0}, again = {0};
    char *written = NULL, *twice = NULL;
    FUZZ_CHECK(vkf__tuned_parse(&recording.host, &caps, text, size_bytes, &tuned) == VKF_OK);
    FUZZ_CHECK(recording.peak_bytes <= 65536 + 64 * size_bytes);
    FUZZ_CHECK(vkf__tuned_format(&recording.host, &caps, &tuned, &written) == VKF_OK);
    FUZZ_CHECK(vkf__tuned_parse(&recording.host, &caps, written, strlen(written), &again) == VKF_OK);
    FUZZ_CHECK(again.count == tuned.count);
    FUZZ_CHECK(vkf__tuned_format(&recording.host, &caps, &again, &twice) == VKF_OK);
    FUZZ_CHECK(strcmp(written, twice) == 0);
    vkf__free(&recording.host, written);
    vkf__free(&recording.host, twice);
    vkf__tuned_free(&recording.host, &tuned);
    vkf__tuned_free(&recording.host, &again);
    FUZZ_CHECK(recording.live == 0);
}

static void check_verdicts(const char *text, size_t size_bytes)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__verdicts verdicts = {0}, again = {0};
    char *written = NULL, *twice = NULL;
    FUZZ_CHECK(vkf__verdicts_init(&recording.host, &verdicts) == VKF_OK);
    FUZZ_CHECK(vkf__verdicts_init(&recording.host, &again) == VKF_OK);
    vkf__verdicts_parse(&recording.host, &caps, text, size_bytes, &verdicts);
    FUZZ_CHECK(vkf__verdicts_format(&recording.host, &caps, &verdicts, &written) == VKF_OK);
    vkf__verdicts_parse(&recording.host, &caps, written, strlen(written), &again);
    FUZZ_CHECK(vkf__verdicts_format(&recording.host, &caps, &again, &twice) == VKF_OK);
    FUZZ_CHECK(strcmp(written, twice) == 0);
    vkf__free(&recording.host, written);
    vkf__free(&recording.host, twice);
    vkf__verdicts_free(&verdicts);
    vkf__verdicts_free(&again);
    FUZZ_CHECK(recording.live == 0);
}

static void ignore(void *user, const vkf__test_mark *mark)
{
    (void)user;
    FUZZ_CHECK(mark->kernel && mark->config);
}

// What is kept is kept again.
static void check_marks(const char *text, size_t size_bytes)
{
    recording_host recording;
    recording_host_init(&recording);
    vkf__text_out out = {.host = &recording.host}, again = {.host = &recording.host};
    vkf__test_marks_keep(text, size_bytes, NULL, ignore, NULL, &out);
    vkf__test_marks_keep(out.text ? out.text : "", out.length, NULL, ignore, NULL, &again);
    FUZZ_CHECK(out.length == again.length && (out.length == 0 || strcmp(out.text, again.text) == 0));
    vkf__free(&recording.host, out.text);
    vkf__free(&recording.host, again.text);
    FUZZ_CHECK(recording.live == 0);
}

static void check_pipeline_cache(const uint8_t *blob, size_t size_bytes)
{
    const void *payload = NULL;
    size_t payload_bytes = 0;
    const char *why = NULL;
    bool valid = vkf__pipeline_cache_valid(&caps, blob, size_bytes, &payload, &payload_bytes, &why);
    FUZZ_CHECK(valid || why);
    FUZZ_CHECK(!valid ||
               ((const uint8_t *)payload >= blob && (const uint8_t *)payload + payload_bytes == blob + size_bytes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    size_t count = 0;
    char *text = expand(data, size_bytes, &count);
    // As long as it is, so that the address sanitizer sees a read beyond the end.
    char *exact = malloc(count > 0 ? count : 1);
    FUZZ_CHECK(exact);
    memcpy(exact, text, count);
    free(text);
    check_tuned(exact, count);
    check_verdicts(exact, count);
    check_marks(exact, count);
    check_pipeline_cache(data, size_bytes);
    free(exact);
    return 0;
}
