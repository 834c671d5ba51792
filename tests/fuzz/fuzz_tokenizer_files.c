// Directories without tokenizer.json. The first byte of an input says which class it is for, the rest is divided by
// '\x1e' into the vocabulary's file, merges.txt, tokenizer_config.json, special_tokens_map.json and added_tokens.json.
// What is accepted encodes the input and decodes what comes out.
#include <string.h>

#include "../unit/recording_host.h"
#include "../unit/scratch_directory.h"
#include "fuzz.h"
#include "text/tokenizer.h"

#define DIVIDER '\x1e'
#define PART_COUNT 5

static const struct {
    const char *name, *vocabulary;
} kinds[] = {
    {"Bert", "vocab.txt"},
    {"MPNet", "vocab.txt"},
    {"GPT2", "vocab.json"},
    {"Roberta", "vocab.json"},
    {"Qwen2", "vocab.json"},
    {"T5", "spiece.model"},
    {"XLMRoberta", "sentencepiece.bpe.model"},
    {"Camembert", "sentencepiece.bpe.model"},
    {"Llama", "tokenizer.model"},
};

#define KIND_COUNT (sizeof kinds / sizeof *kinds)
#define UNKNOWN_PIECE "\x0a\x09\x0a\x05<unk>\x18\x02"
#define PIECES                                                     \
    "\x0a\x08\x0a\x01"                                             \
    "a\x15\0\0\x80\xbf\x0a\x07\x0a\x03</s\x18\x03\x0a\x04\x0a\x02" \
    "aa\x0a\x05\x0a\x03"                                           \
    "aab"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT(
        "\0[UNK]\n[CLS]\n[SEP]\na\r\n##b\n\x1e\x1e{\"do_lower_case\":false}\x1e{\"mask_token\":{\"content\":\"<m>\","
        "\"lstrip\":true}}\x1e{\"x\":7,\"y\":3}"),
    FUZZ_TEXT("\1[UNK]\n<s>\n</s>\na\n\x1e\x1e{\"added_tokens_decoder\":{\"9\":{\"content\":\"z\",\"special\":true}},"
              "\"extra_special_tokens\":{\"image_token\":\"i\"},\"b_token\":\"b\"}"),
    FUZZ_TEXT(
        "\2{\"a\":0,\"b\":1,\"ab\":9}\x1e#version: 0.2\na b\n\x1e{\"add_bos_token\":true,\"add_prefix_space\":true}"),
    FUZZ_TEXT("\3{\"a\":0,\"b\":1,\"ab\":2}\x1e"
              "a b\x1e{\"additional_special_tokens\":[\"q\",{\"content\":\"r\"}]}"),
    FUZZ_TEXT("\4{\"a\":0,\"b\":1}\x1e\x1e{\"pad_token\":null}\x1e{\"extra_special_tokens\":[\"q\"]}\x1e{\"q\":1}"),
    FUZZ_TEXT("\5" UNKNOWN_PIECE PIECES "\x1a\x0e\x12\x0c\x04\0\0\0\0\x04\0\0a\0b\0\x1e\x1e{\"extra_ids\":3}"),
    FUZZ_TEXT("\6" UNKNOWN_PIECE PIECES "\x1e\x1e{\"add_prefix_space\":false}"),
    FUZZ_TEXT("\7" UNKNOWN_PIECE PIECES),
    FUZZ_TEXT("\x8" UNKNOWN_PIECE PIECES "\x12\x02\x18\x02\x1e\x1e{\"legacy\":true,\"add_eos_token\":true}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static scratch_directory *scratch;

static void remove_scratch(void)
{
    void *state = scratch;
    scratch_teardown(&state);
}

static void make_scratch(void)
{
    void *state = NULL;
    if (scratch)
        return;
    FUZZ_CHECK(scratch_setup(&state) == 0);
    scratch = state;
    atexit(remove_scratch);
}

// The configuration names the class, whatever the input has: the last of two equal keys would be refused.
static void write_config(size_t kind)
{
    char text[128];
    int bytes = snprintf(text, sizeof text, "{\"tokenizer_class\":\"%sTokenizer\"}", kinds[kind].name);
    scratch_write(scratch, "config.json", text, (size_t)bytes);
}

static void write_files(const uint8_t *data, size_t size_bytes, size_t kind)
{
    const char *const names[PART_COUNT] = {kinds[kind].vocabulary, "merges.txt", "tokenizer_config.json",
                                           "special_tokens_map.json", "added_tokens.json"};
    scratch_list(scratch, 1);
    write_config(kind);
    for (size_t i = 0; i < PART_COUNT; i++) {
        const uint8_t *end = size_bytes > 0 ? memchr(data, DIVIDER, size_bytes) : NULL;
        size_t bytes = end && i + 1 < PART_COUNT ? (size_t)(end - data) : size_bytes;
        if (bytes > 0 || i < 2)
            scratch_write(scratch, names[i], bytes > 0 ? (const void *)data : "", bytes);
        bytes += end && i + 1 < PART_COUNT;
        data += bytes;
        size_bytes -= bytes;
    }
}

static void check_text(const vkf__tokenizer *tokenizer, const char *text, size_t size_bytes)
{
    vkf_encoding encoding = {0};
    const vkf_encode_options options = {0};
    size_t bytes = 0;
    vkf_status status = vkf__tokenizer_encode(tokenizer, text, size_bytes, NULL, 0, &options, &encoding);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_TOO_LARGE || status == VKF_ERROR_FORMAT);
    if (status != VKF_OK)
        return;
    for (uint32_t i = 0; i < encoding.count; i++) {
        FUZZ_CHECK(encoding.ids[i] >= 0 && (uint32_t)encoding.ids[i] < vkf__tokenizer_vocab_size(tokenizer));
        FUZZ_CHECK(vkf__tokenizer_id_to_token(tokenizer, encoding.ids[i]));
    }
    status = vkf__tokenizer_decode(tokenizer, encoding.ids, encoding.count, false, &bytes, NULL);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_TOO_LARGE);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static const char usual[] = "aab x [MASK]</s> \xc3\xa9\xff \xe4\xb8\xad";
    recording_host recording;
    vkf__tokenizer tokenizer = {0};
    make_scratch();
    recording_host_init(&recording);
    write_files(data + (size_bytes > 0), size_bytes - (size_bytes > 0), size_bytes > 0 ? *data % KIND_COUNT : 0);
    vkf_status status = vkf__tokenizer_load(&recording.host, scratch->path, &tokenizer);
    FUZZ_CHECK(status == VKF_OK || recording.messages > 0);
    FUZZ_CHECK(recording.peak_bytes <= (1u << 20) + 4096 * size_bytes);
    if (status == VKF_OK) {
        check_text(&tokenizer, (const char *)data, size_bytes);
        check_text(&tokenizer, usual, sizeof usual - 1);
        vkf__tokenizer_free(&tokenizer);
    } else {
        FUZZ_CHECK(status == VKF_ERROR_FORMAT || status == VKF_ERROR_UNSUPPORTED || status == VKF_ERROR_TOO_LARGE);
        FUZZ_CHECK(!tokenizer.host);
    }
    FUZZ_CHECK(recording.live == 0);
    return 0;
}
