// Tokenizer files, and SentencePiece's as those of a Marian tokenizer: what is accepted then encodes the file's own
// text and broken text, and decodes what comes out.
#include <string.h>

#include "../unit/recording_host.h"
#include "fuzz.h"
#include "text/marian.h"

#define WORDS "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"a\":1,\"type\":2}}"

// What a SentencePiece model begins with, as a rule, and no JSON that matters.
#define UNKNOWN_PIECE "\x0a\x09\x0a\x05<unk>\x18\x02"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("{\"model\":{\"type\":\"BPE\",\"unk_token\":\"<u>\",\"fuse_unk\":true,\"byte_fallback\":true,\"vocab\":{"
              "\"<u>\":0,"
              "\"t\":1,\"y\":2,\"ty\":3,\"p\":4,\"<0xC3>\":5,\"<0xA9>\":6},\"merges\":[[\"t\",\"y\"]]},\"normalizer\":"
              "{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{"
              "\"type\":"
              "\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":1}]}}"),
    FUZZ_TEXT(
        "{\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\",\"continuing_subword_prefix\":\"#\",\"vocab\":"
        "{\"a\":0,\"#b</w>\":1,\"ab</w>\":2},\"merges\":[\"a #b</w>\"]},\"pre_tokenizer\":{\"type\":\"ByteLevel\"},"
        "\"post_processor\":{\"type\":\"RobertaProcessing\",\"sep\":[\"s\",1],\"cls\":[\"c\",0],\"trim_offsets\":true}"
        "}"),
    FUZZ_TEXT(
        "{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"ty\":1,\"##pe\":2}},"
        "\"normalizer\":"
        "{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"decoder\":{\"type\":"
        "\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},\"truncation\":{\"max_length\":9,\"strategy\":\"OnlyFirst\","
        "\"stride\":0},\"padding\":{\"strategy\":{\"Fixed\":9},\"direction\":\"Left\",\"pad_id\":0}}"),
    FUZZ_TEXT(
        "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"<u>\",0],[\"a\",-1.5],"
        "[\"type\",-2e1],[\"<0xE9>\",-3]]},\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFKC\"},"
        "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAEAABhAGIA\"},{\"type\":\"Replace\",\"pattern\":"
        "{\"Regex\":\" "
        "+|x*\"},\"content\":\"\xe2\x96\x81\"}]},\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":"
        "\"\xe2\x96\x81\",\"prepend_scheme\":\"first\"},\"decoder\":{\"type\":\"Metaspace\",\"replacement\":\"_\"}}"),
    FUZZ_TEXT(
        "{" WORDS ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Whitespace\"},{\"type\":"
        "\"Punctuation\",\"behavior\":\"MergedWithNext\"},{\"type\":\"Digits\",\"individual_digits\":true},{\"type\":"
        "\"Split\",\"pattern\":{\"String\":\"e\"},\"behavior\":\"Contiguous\",\"invert\":true},{\"type\":"
        "\"CharDelimiterSplit\",\"delimiter\":\"x\"},{\"type\":\"UnicodeScripts\"},{\"type\":\"FixedLength\","
        "\"length\":3}]}}"),
    FUZZ_TEXT("{" WORDS
              ",\"added_tokens\":[{\"id\":3,\"content\":\"type\",\"single_word\":true,\"normalized\":true},{\"id\":4,"
              "\"content\":\" "
              "\",\"lstrip\":true,\"rstrip\":true,\"special\":true,\"normalized\":false}],\"normalizer\":{\"type\":"
              "\"Lowercase\"},\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{"
              "\"id\":\"s\","
              "\"type_id\":1}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"pair\":[{\"Sequence\":{\"id\":\"B\","
              "\"type_id\":7}}],"
              "\"special_tokens\":{\"s\":{\"id\":\"s\",\"ids\":[4,3],\"tokens\":[\"s\",\"t\"]}}}}"),
    FUZZ_TEXT(
        "{" WORDS
        ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":\"StripAccents\"},"
        "{\"type\":\"Nmt\"},{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true},{\"type\":\"ByteLevel\"}]},"
        "\"decoder\":{\"type\":\"CTC\",\"pad_token\":\"p\",\"word_delimiter_token\":\"|\",\"cleanup\":true}}"),
    // Pieces and their types; then rules for characters, and how blanks are treated.
    FUZZ_TEXT(UNKNOWN_PIECE "\x0a\x08\x0a\x01"
                            "a\x15\0\0\x80\xbf\x0a\x0b\x0a\x04\xe2\x96\x81"
                            "a\x15\0\0\x20\xc0\x0a\x07\x0a\x03"
                            "1x2\x18\x04\x0a\x07\x0a\x03</s\x18\x03\x1a\x0e\x12\x0c\x04\0\0\0\0\x04\0\0a\0b\0"),
    FUZZ_TEXT(UNKNOWN_PIECE "\x12\x06\x18\x01\xc0\x01\x01\x1a\x06\x18\x01\x20\0\x28\0\x0a\x0a\x0a\x06<0xC3>\x18\x06"),
    FUZZ_TEXT(UNKNOWN_PIECE "\x12\x05\x18\x01\x98\x02\x01\xe2\x02\x01?\x2a\x02\x12\0\x0a\x08\x0a\x04type\x18\x05"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static void check_decoding(const vkf__tokenizer *tokenizer, const vkf_encoding *encoding, bool skip)
{
    size_t bytes = 0;
    vkf_status status = vkf__tokenizer_decode(tokenizer, encoding->ids, encoding->count, skip, &bytes, NULL);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_TOO_LARGE);
    if (status != VKF_OK)
        return;
    char *text = malloc(bytes + 1);
    size_t capacity = bytes + 1;
    FUZZ_CHECK(text);
    FUZZ_CHECK(vkf__tokenizer_decode(tokenizer, encoding->ids, encoding->count, skip, &capacity, text) == VKF_OK);
    FUZZ_CHECK(capacity == bytes && text[bytes] == '\0');
    free(text);
}

static void check_encoding(const vkf__tokenizer *tokenizer, const char *text, size_t text_bytes, const char *pair,
                           size_t pair_bytes)
{
    vkf_encoding encoding = {0};
    const vkf_encode_options options = {0};
    vkf_status status = vkf__tokenizer_encode(tokenizer, text, text_bytes, pair, pair_bytes, &options, &encoding);
    if (status != VKF_OK) {
        FUZZ_CHECK(status == VKF_ERROR_TOO_LARGE || status == VKF_ERROR_FORMAT || status == VKF_ERROR_INVALID_ARGUMENT);
        FUZZ_CHECK(!encoding.ids);
        return;
    }
    for (uint32_t i = 0; i < encoding.count; i++) {
        FUZZ_CHECK(encoding.sequences[i] >= -1 && encoding.sequences[i] <= (pair ? 1 : 0));
        FUZZ_CHECK(encoding.special_tokens_mask[i] == (encoding.sequences[i] < 0));
        FUZZ_CHECK(encoding.special_tokens_mask[i] || vkf__tokenizer_id_to_token(tokenizer, encoding.ids[i]));
        FUZZ_CHECK((uint32_t)encoding.ids[i] < vkf__tokenizer_vocab_size(tokenizer));
        FUZZ_CHECK(encoding.ids[i] >= 0);
    }
    check_decoding(tokenizer, &encoding, false);
    check_decoding(tokenizer, &encoding, true);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
}

static vkf_status parse_marian(const vkf__host *host, const char *text, size_t size_bytes,
                               vkf__tokenizer *out_tokenizer)
{
    static const char vocabulary[] =
        "{\"</s>\":0,\"<unk>\":1,\"<pad>\":2,\"a\":3,\"\xe2\x96\x81\":4,\"1x2\":6,\"<0xC3>\":7,\">>a<<\":8,\"type\":9}";
    const vkf__marian_files files = {{"source", "target", "vocabulary"},
                                     {{text, size_bytes}, {text, size_bytes}, {vocabulary, sizeof vocabulary - 1}}};
    return vkf__marian_parse(host, &files, out_tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    static const char broken[] = "type \xc3\xa9\xcc\x81 \xf0\x9f\x91\xa9\xe2\x80\x8d \xe4\xb8\xad  1x2\xff\xe2\x82 <u>";
    recording_host recording;
    recording_host_init(&recording);
    vkf__tokenizer tokenizer = {0};
    const char *text = (const char *)data;
    vkf_status status = size_bytes > 1 && text[0] == UNKNOWN_PIECE[0] && text[1] == UNKNOWN_PIECE[1]
                            ? parse_marian(&recording.host, text, size_bytes, &tokenizer)
                            : vkf__tokenizer_parse(&recording.host, "fuzz", text, size_bytes, &tokenizer);
    // PCRE2 may take tens of kilobytes for an expression of a hundred bytes.
    FUZZ_CHECK(recording.peak_bytes <= (1u << 20) + 4096 * size_bytes);
    if (status == VKF_OK) {
        check_encoding(&tokenizer, text, size_bytes, NULL, 0);
        check_encoding(&tokenizer, broken, sizeof broken - 1, text, size_bytes < 64 ? size_bytes : 64);
        vkf__tokenizer_free(&tokenizer);
    } else {
        FUZZ_CHECK(status == VKF_ERROR_FORMAT || status == VKF_ERROR_UNSUPPORTED || status == VKF_ERROR_TOO_LARGE);
        FUZZ_CHECK(recording.messages > 0 && recording.severity == VKF_SEVERITY_ERROR);
    }
    FUZZ_CHECK(recording.live == 0);
    return 0;
}
