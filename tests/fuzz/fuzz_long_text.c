// Texts of up to a quarter of a megabyte through a tokenizer file: what of memory that takes is in proportion to the
// text, and to the longest form that the file's rules give it, which itself is in proportion to the text. An input is a
// tokenizer.json, and the beginning of a text behind '\x1e'; that is repeated, with changes that follow from the input.
// Some of the inputs whose file is none get a seed's.
#include <string.h>

#include "../unit/recording_host.h"
#include "fuzz.h"
#include "text/pattern.h"
#include "text/tokenizer.h"
#include "text/valid_text.h"

#define DIVIDER '\x1e'
#define DIVIDED "\x1e"
#define LONGEST_TEXT ((size_t)256 << 10)
// Bytes of memory for each of the longest form of the text: two buffers of 9, changes of 8, spans of 12, pieces,
// tokens, what merging a word takes; all of them in arrays that double. What one symbol takes that is spelled with a
// prefix comes on top.
#define MEMORY_EACH 320u
#define SYMBOL_EACH 160u
#define MEMORY_FIXED ((size_t)1 << 20)
#define MEMORY_OF_A_TOKEN 64u // of the result
#define DOUBLING "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"}"
#define DOUBLINGS DOUBLING "," DOUBLING "," DOUBLING "," DOUBLING "," DOUBLING
#define MOST_MEMORY ((size_t)768 << 20) // the machine is not asked for more, whatever is allowed

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT(
        "{\"model\":{\"type\":\"BPE\",\"unk_token\":\"<u>\",\"byte_fallback\":true,\"vocab\":{\"<u>\":0,\"t\":1,"
        "\"y\":2,\"ty\":3,\"p\":4,\"<0xC3>\":5,\"<0xA9>\":6,\"typ\":7},\"merges\":[[\"t\",\"y\"],[\"ty\",\"p\"]]},"
        "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":"
        "\"\xe2\x96\x81\"},{\"type\":\"Replace\",\"pattern\":{\"String\":\" "
        "\"},\"content\":\"\xe2\x96\x81\"}]}}" DIVIDED "type \xc3\xa9 ty"),
    FUZZ_TEXT(
        "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\xc4\xa0\":3},\"merges\":[\"a b\"]},"
        "\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"post_processor\":{\"type\":\"ByteLevel\",\"trim_offsets\":true},"
        "\"decoder\":{\"type\":\"ByteLevel\"}}" DIVIDED "ab b's 12 \n\n"),
    FUZZ_TEXT("{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"ty\":1,\"##pe\":2,\"a\":3}},"
              "\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}" DIVIDED
              "type, \xe4\xb8\xad a\xcc\x81"),
    FUZZ_TEXT("{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"<u>\",0],[\"a\",-1.5],[\"type\",-2e1],"
              "[\"\xe2\x96\x81\",-3]]},\"normalizer\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"Metaspace\","
              "\"replacement\":\"\xe2\x96\x81\",\"prepend_scheme\":\"always\"}}" DIVIDED
              "\xef\xb7\xba type \xef\xac\x81"),
    FUZZ_TEXT(
        "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"a\":1}},\"normalizer\":{\"type\":"
        "\"Sequence\",\"normalizers\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aa\"},"
        "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" +\"},\"content\":\"  \"},{\"type\":\"ByteLevel\"}]},"
        "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Whitespace\"},{\"type\":\"Digits\","
        "\"individual_digits\":true},{\"type\":\"FixedLength\",\"length\":1}]},\"post_processor\":{\"type\":"
        "\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\","
        "\"type_id\":0}}],\"pair\":[],\"special_tokens\":{}}}" DIVIDED "a 1 a"),
    FUZZ_TEXT(
        "{\"model\":{\"type\":\"BPE\",\"byte_fallback\":true,\"continuing_subword_prefix\":\"##\",\"vocab\":{\"a\":0,"
        "\"##a\":1,\"<0x23>\":2,\"<0x62>\":3},\"merges\":[]},\"added_tokens\":[{\"id\":4,\"content\":\"<s>\"},"
        "{\"id\":5,\"content\":\" \",\"lstrip\":true,\"normalized\":false}],\"decoder\":{\"type\":\"Sequence\","
        "\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaa\"},{\"type\":"
        "\"ByteFallback\"},{\"type\":\"Fuse\"}]}}" DIVIDED "ab<s> b"),
    FUZZ_TEXT(
        "{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"a\":1}},\"normalizer\":{\"type\":"
        "\"Sequence\",\"normalizers\":[" DOUBLINGS "," DOUBLINGS "," DOUBLINGS "]}}" DIVIDED "abc"),
    FUZZ_TEXT("{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"a\":1}},\"pre_tokenizer\":{"
              "\"type\":\"WhitespaceSplit\"},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[" DOUBLINGS "," DOUBLINGS
              "," DOUBLINGS "]}}" DIVIDED "a ? a "),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

// A file, and what follows it.
typedef struct divided {
    const char *file;
    size_t file_bytes;
    const uint8_t *rest;
    size_t rest_bytes;
} divided;

static divided divide(const uint8_t *data, size_t size_bytes)
{
    const uint8_t *divider = size_bytes > 0 ? memchr(data, DIVIDER, size_bytes) : NULL;
    if (!divider)
        return (divided){(const char *)data, size_bytes, data, size_bytes};
    size_t file_bytes = (size_t)(divider - data);
    return (divided){(const char *)data, file_bytes, divider + 1, size_bytes - file_bytes - 1};
}

typedef struct long_text {
    char *bytes;
    size_t size_bytes;
} long_text;

static uint64_t next_random(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

// The same input gives the same numbers.
static uint64_t random_of(const uint8_t *data, size_t size_bytes)
{
    uint64_t random = size_bytes + 1;
    for (size_t i = 0; i < size_bytes; i++)
        random = (random ^ data[i]) * UINT64_C(1099511628211);
    return random;
}

// From half a kilobyte to LONGEST_TEXT, every doubling as likely as the others.
static long_text make_text(const uint8_t *seed, size_t seed_bytes)
{
    uint64_t random = random_of(seed, seed_bytes);
    size_t size_bytes = LONGEST_TEXT >> next_random(&random) % 10;
    long_text text = {malloc(size_bytes), size_bytes - next_random(&random) % 256};
    FUZZ_CHECK(text.bytes);
    bool same = next_random(&random) % 2; // nothing but repetitions
    for (size_t i = 0; i < text.size_bytes; i++) {
        bool changed = !same && next_random(&random) % 16 == 0;
        text.bytes[i] = seed_bytes > 0 && !changed ? (char)seed[i % seed_bytes] : (char)next_random(&random);
    }
    return text;
}

// The longest that the text becomes on its way to tokens.
static size_t longest_form(const vkf__tokenizer *tokenizer, const vkf__valid_text *valid)
{
    vkf__aligned_text text;
    vkf__aligned_text_init(tokenizer->host, &text);
    vkf_status status = vkf__aligned_text_set(&text, valid->bytes, valid->size_bytes);
    if (status == VKF_OK)
        status = vkf__extract_added_tokens(&tokenizer->added, &tokenizer->normalizer, &text);
    if (status == VKF_OK)
        status = vkf__pre_tokenize(&tokenizer->pre_tokenizer, &text);
    size_t limit = vkf__text_limit(valid->size_bytes, VKF_TEXT_SPARE_BYTES);
    size_t longest = status == VKF_OK ? text.peak : limit; // a step was on its way there
    FUZZ_CHECK(text.peak <= limit || status != VKF_OK);
    vkf__aligned_text_free(&text);
    return longest;
}

static bool has(const char *file, size_t file_bytes, const char *word)
{
    for (size_t at = 0, bytes = strlen(word); at + bytes <= file_bytes; at++)
        if (memcmp(file + at, word, bytes) == 0)
            return true;
    return false;
}

// Beside what the tokenizer itself takes, and what its expressions may.
static size_t allowed_bytes(const vkf__tokenizer *tokenizer, const char *file, size_t file_bytes, const long_text *text)
{
    vkf__valid_text valid;
    FUZZ_CHECK(vkf__valid_text_make(tokenizer->host, text->bytes, text->size_bytes, &valid) == VKF_OK);
    size_t longest = longest_form(tokenizer, &valid);
    size_t limit = vkf__text_limit(valid.size_bytes, VKF_TEXT_SPARE_BYTES);
    size_t allowed = MEMORY_FIXED + MEMORY_EACH * (text->size_bytes + longest);
    if (has(file, file_bytes, "prefix") || has(file, file_bytes, "\\u"))
        allowed += SYMBOL_EACH * limit;
    if (has(file, file_bytes, "Regex") || has(file, file_bytes, "ByteLevel") || has(file, file_bytes, "\\u"))
        allowed += 2 * VKF_PATTERN_MAX_BYTES; // while it moves from less to more
    vkf__valid_text_free(&valid);
    return allowed;
}

// A decoder may make the tokens longer, within the same bounds.
static void decode(recording_host *recording, const vkf__tokenizer *tokenizer, const vkf_encoding *encoding)
{
    size_t bytes = 0, texts = 0, before = recording->live_bytes;
    for (uint32_t i = 0; i < encoding->count; i++) {
        const char *token = vkf__tokenizer_id_to_token(tokenizer, encoding->ids[i]);
        texts += token ? strlen(token) : 0;
    }
    // What a normaliser makes of an added token stands for it.
    for (size_t i = 0; i < tokenizer->added.count; i++)
        texts += strlen(vkf__added_token_text(&tokenizer->added.tokens[i])) * encoding->count;
    recording->peak_bytes = before;
    vkf_status status = vkf__tokenizer_decode(tokenizer, encoding->ids, encoding->count, false, &bytes, NULL);
    size_t limit = vkf__text_limit(texts, VKF_TEXT_SPARE_BYTES);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_TOO_LARGE || status == VKF_ERROR_OUT_OF_HOST_MEMORY);
    FUZZ_CHECK(status != VKF_OK || bytes <= limit);
    FUZZ_CHECK(recording->peak_bytes - before <=
               MEMORY_FIXED + 2 * VKF_PATTERN_MAX_BYTES + 16 * limit + MEMORY_OF_A_TOKEN * (size_t)encoding->count);
}

static void encode(recording_host *recording, const vkf__tokenizer *tokenizer, const char *file, size_t file_bytes,
                   const long_text *text)
{
    vkf_encoding encoding = {0};
    size_t allowed = allowed_bytes(tokenizer, file, file_bytes, text), before = recording->live_bytes;
    recording->peak_bytes = before;
    vkf_status status =
        vkf__tokenizer_encode(tokenizer, text->bytes, text->size_bytes, NULL, 0, &(vkf_encode_options){0}, &encoding);
    allowed += MEMORY_OF_A_TOKEN * (size_t)encoding.count;
    if (recording->peak_bytes - before > allowed)
        fprintf(stderr, "%zu bytes for a text of %zu, allowed are %zu\n", recording->peak_bytes - before,
                text->size_bytes, allowed);
    FUZZ_CHECK(recording->peak_bytes - before <= allowed);
    FUZZ_CHECK(status != VKF_ERROR_OUT_OF_HOST_MEMORY || recording->peak_bytes > MOST_MEMORY / 2);
    if (status != VKF_OK)
        return;
    if (encoding.count < 10000)
        decode(recording, tokenizer, &encoding);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
}

// Refuses what would be more than MOST_MEMORY.
static void *allocate(void *user, size_t size_bytes)
{
    recording_host *recording = user;
    return recording->live_bytes + size_bytes > MOST_MEMORY ? NULL : recording_allocate(user, size_bytes);
}

static bool load(recording_host *recording, divided *input, uint64_t random, vkf__tokenizer *tokenizer)
{
    if (vkf__tokenizer_parse(&recording->host, "fuzz", input->file, input->file_bytes, tokenizer) == VKF_OK)
        return true;
    const fuzz_seed *seed = &fuzz_seeds[next_random(&random) % fuzz_seed_count];
    const divided other = divide(seed->data, seed->size_bytes);
    input->file = other.file;
    input->file_bytes = other.file_bytes;
    return next_random(&random) % 8 == 0 &&
           vkf__tokenizer_parse(&recording->host, "fuzz", other.file, other.file_bytes, tokenizer) == VKF_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    recording_host recording;
    vkf__tokenizer tokenizer = {0};
    divided input = divide(data, size_bytes);
    recording_host_init(&recording);
    recording.host.allocator.allocate = allocate;
    if (load(&recording, &input, random_of(data, size_bytes), &tokenizer)) {
        long_text text = make_text(input.rest, input.rest_bytes);
        encode(&recording, &tokenizer, input.file, input.file_bytes, &text);
        free(text.bytes);
        vkf__tokenizer_free(&tokenizer);
    }
    FUZZ_CHECK(recording.live == 0);
    return 0;
}
