// What is kept about a device between runs: the tuner's table, the self-test's verdicts, and the header of a pipeline
// cache. What is read and written again is read as the same. "@device" stands in an input for the line of the device,
// "@hash" for what the first variant of the registry is made of: without them nothing behind the second line would be
// reached.
#include <string.h>

#include "../unit/recording_host.h"
#include "fuzz.h"
#include "kernel/pipeline_cache.h"
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
    FUZZ_TEXT("vkformer-verdicts 1\n@device\n" FIRST " passed\n"),
    FUZZ_TEXT("vkformer-verdicts 1\n@device\n# a comment\n" FIRST " wrong # why\n\n" FIRST " slow\n"),
    FUZZ_TEXT("VFKP\1\0\0\0\5\0\1\0\0\0\0\0\0\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static const vkf__caps caps = {.vendor_id = 0x10005, .driver_id = 13, .driver_uuid = {9}};

typedef struct word {
    const char *name;
    char text[VKF_DEVICE_LINE_BYTES];
} word;

static void fill_words(word words[3])
{
    const vkf__kernel *kernel = vkf__kernel_at(0);
    words[0] = (word){.name = "@device"};
    words[1] = (word){.name = "@hash"};
    words[2] = (word){.name = "@first"};
    vkf__device_line(&caps, words[0].text);
    snprintf(words[1].text, sizeof words[1].text, "%016llx",
             (unsigned long long)vkf__variant_hash(kernel, &kernel->configs[0]));
    snprintf(words[2].text, sizeof words[2].text, "%s/%s", kernel->name, kernel->configs[0].name);
}

// The input with its words replaced; the caller frees it.
static char *expand(const uint8_t *data, size_t size_bytes, size_t *out_bytes)
{
    word words[3];
    fill_words(words);
    char *text = malloc(size_bytes * VKF_DEVICE_LINE_BYTES / 5 + 1);
    FUZZ_CHECK(text);
    size_t count = 0;
    for (size_t i = 0; i < size_bytes;) {
        size_t w = 0;
        while (w < 3 &&
               (size_bytes - i < strlen(words[w].name) || memcmp(data + i, words[w].name, strlen(words[w].name)) != 0))
            w++;
        if (w == 3) {
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
    vkf__verdicts_free(&recording.host, &verdicts);
    vkf__verdicts_free(&recording.host, &again);
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
    check_pipeline_cache(data, size_bytes);
    free(exact);
    return 0;
}
