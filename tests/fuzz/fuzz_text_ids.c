// A tokenizer file beside a model's config.json: whatever both say, ids and types of a text are in the model's tables,
// or the text is refused. An input is a tokenizer.json, a config.json and a text, divided by '\x1e'. What is not there,
// or is no such file, a small one stands in for.
#include <string.h>

#include "../unit/recording_host.h"
#include "fuzz.h"
#include "io/json_file.h"
#include "model/family/config.h"
#include "model/family/families.h"
#include "model/text/id_check.h"

#define DIVIDED "\x1e"
#define VOCABULARY "\"vocab\":{\"[UNK]\":0,\"a\":1,\"rain\":2,\"##s\":3,\"[SEP]\":4}"
#define WORD_PIECE "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\"," VOCABULARY "}"
#define WHITESPACE ",\"pre_tokenizer\":{\"type\":\"Whitespace\"}"
#define SIZES \
    "\"hidden_size\":8,\"num_attention_heads\":2,\"num_hidden_layers\":1,\"intermediate_size\":8,\"vocab_size\":5,"
#define BERT                                                                                                    \
    "{\"model_type\":\"bert\"," SIZES "\"hidden_act\":\"gelu\",\"layer_norm_eps\":1e-12,\"type_vocab_size\":2," \
    "\"max_position_embeddings\":16,\"pad_token_id\":0}"

static const char default_tokenizer[] = "{" WORD_PIECE WHITESPACE "}";
static const vkf_text default_model = {BERT, sizeof BERT - 1};

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("{" WORD_PIECE WHITESPACE
              ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"q\","
              "\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":1}}],\"pair\":[{\"Sequence\":{\"id\":\"A\","
              "\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":2}}],\"special_tokens\":{\"q\":{\"id\":\"q\","
              "\"ids\":[4,5],\"tokens\":[\"q\",\"r\"]}}}}" DIVIDED BERT DIVIDED "a rains"),
    FUZZ_TEXT(
        "{" WORD_PIECE ",\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":"
        "\"BertPreTokenizer\"},\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",4],\"cls\":[\"a\","
        "1]},\"padding\":{\"strategy\":\"BatchLongest\",\"pad_id\":3},\"truncation\":{\"max_length\":6,"
        "\"strategy\":\"LongestFirst\"}}" DIVIDED "{\"model_type\":\"roberta\"," SIZES
        "\"hidden_act\":\"gelu\",\"layer_norm_eps\":1e-5,\"type_vocab_size\":1,\"max_position_embeddings\":16,"
        "\"pad_token_id\":1}"),
    FUZZ_TEXT("{\"model\":{\"type\":\"BPE\",\"unk_token\":\"[UNK]\",\"byte_fallback\":true,\"merges\":[]," VOCABULARY
              "},\"added_tokens\":[{\"id\":5,\"content\":\"<s>\",\"special\":true}],\"post_processor\":{\"type\":"
              "\"RobertaProcessing\",\"sep\":[\"[SEP]\",4],\"cls\":[\"<s>\",5]}}" DIVIDED
              "{\"model_type\":\"gpt2\",\"n_embd\":8,\"n_head\":2,\"n_layer\":1,\"n_positions\":16,\"vocab_size\":5,"
              "\"activation_function\":\"gelu_new\",\"layer_norm_epsilon\":1e-5,\"bos_token_id\":4,\"eos_token_id\":"
              "4}" DIVIDED "<s>a"),
    FUZZ_TEXT("{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"u\",0],[\"a\",-1],[\"rain\",-2],[\"r\",-3],"
              "[\"</s>\",-4]]},\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[],\"pair\":[],"
              "\"special_tokens\":{}}}" DIVIDED
              "{\"model_type\":\"t5\",\"d_model\":8,\"d_ff\":8,\"d_kv\":4,\"num_heads\":2,\"num_layers\":1,"
              "\"feed_forward_proj\":\"gated-gelu\",\"relative_attention_num_buckets\":8,\"layer_norm_epsilon\":1e-6,"
              "\"relative_attention_max_distance\":12,\"vocab_size\":5,\"pad_token_id\":0,\"eos_token_id\":1,"
              "\"decoder_start_token_id\":0}" DIVIDED "rain"),
    FUZZ_TEXT("{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"[UNK]\"," VOCABULARY "}" WHITESPACE "}" DIVIDED BERT),
    FUZZ_TEXT("" DIVIDED "" DIVIDED "a rain [SEP]"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

// The next part of the input; `fallback` where it is empty.
static vkf_text next_part(const char **inout_at, const char *end, const char *fallback)
{
    const char *divider = *inout_at < end ? memchr(*inout_at, DIVIDED[0], (size_t)(end - *inout_at)) : NULL;
    vkf_text part = {*inout_at, (size_t)((divider ? divider : end) - *inout_at)};
    *inout_at = divider ? divider + 1 : end;
    return part.size_bytes > 0 ? part : (vkf_text){fallback, strlen(fallback)};
}

static uint32_t vocab_of(const vkf_model_config *config)
{
    return config->kind == VKF_MODEL_DECODER ? config->target_vocab : config->source_vocab;
}

// What a check must say, by other means than its own.
static bool is_inside(const vkf_model_config *config, const vkf_encoding *encoding)
{
    bool begins =
        config->kind == VKF_MODEL_DECODER && config->bos_id >= 0 && (uint32_t)config->bos_id < vocab_of(config);
    bool inside = encoding->count > 0 || begins;
    bool typed = config->kind == VKF_MODEL_ENCODER && config->token_types > 1;
    for (uint32_t i = 0; i < encoding->count; i++) {
        int64_t id = encoding->ids[i], type = typed ? encoding->type_ids[i] : 0;
        inside = inside && id >= 0 && id < (int64_t)vocab_of(config) && type >= 0 &&
                 type < (int64_t)(typed ? config->token_types : 1);
    }
    return inside;
}

// As the host does it with what was checked: a bit to each token. The sanitizer sees a bit that is nobody's.
static void mark(const vkf_model_config *config, const vkf_encoding *encoding)
{
    size_t words = (vocab_of(config) + 31u) / 32u;
    uint32_t *seen = calloc(words, sizeof *seen);
    FUZZ_CHECK(seen);
    for (uint32_t i = 0; i < encoding->count; i++)
        seen[(uint32_t)encoding->ids[i] / 32] |= 1u << (uint32_t)encoding->ids[i] % 32;
    free(seen);
}

static void check_text(const vkf__id_tables *tables, vkf_text text, vkf_text pair, const vkf_encode_options *options)
{
    vkf_encoding encoding = {0};
    const recording_host *recording = tables->host->message_user;
    if (vkf__tokenizer_encode(tables->tokenizer, text.bytes, text.size_bytes, pair.bytes, pair.size_bytes, options,
                              &encoding) != VKF_OK)
        return;
    size_t messages = recording->messages;
    vkf_status status = vkf__check_encoding(tables, &encoding);
    FUZZ_CHECK((status == VKF_OK) == is_inside(tables->config, &encoding));
    FUZZ_CHECK(recording->messages - messages == (status != VKF_OK));
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT || status == VKF_ERROR_INVALID_ARGUMENT);
    if (status == VKF_OK)
        mark(tables->config, &encoding);
    encoding.allocator.release(encoding.allocator.user, encoding.offsets);
}

static void check_texts(const vkf__id_tables *tables, vkf_text text, vkf_text file)
{
    static const vkf_encode_options options[] = {
        {0}, {.no_special_tokens = true}, {.truncation = VKF_TRUNCATION_LONGEST_FIRST, .max_length = 5}};
    static const vkf_text none = {0}, nothing = {"", 0};
    vkf_status status = vkf__check_padding(tables);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        check_text(tables, text, none, &options[i]);
        check_text(tables, text, text, &options[i]);
        check_text(tables, nothing, none, &options[i]);
        check_text(tables, file, nothing, &options[i]);
    }
}

static bool read_config(const vkf__host *host, vkf_text file, vkf_model_config *out_config)
{
    json_t *root = NULL;
    if (vkf__json_parse(host, "config.json", file.bytes, file.size_bytes, &root) != VKF_OK)
        return false;
    const char *type = json_string_value(json_object_get(root, "model_type"));
    const vkf__family *family = type ? vkf__family_find(type) : NULL;
    bool read = family && vkf__family_config(host, "config.json", root, family, out_config) == VKF_OK &&
                vkf__config_check(host, out_config, "config.json") == VKF_OK;
    json_decref(root);
    return read;
}

static void read_tokenizer(const vkf__host *host, vkf_text file, vkf__tokenizer *out_tokenizer)
{
    if (vkf__tokenizer_parse(host, "fuzz", file.bytes, file.size_bytes, out_tokenizer) == VKF_OK)
        return;
    const char *seed = fuzz_seeds[file.size_bytes % fuzz_seed_count].data;
    file = next_part(&seed, strchr(seed, DIVIDED[0]), default_tokenizer);
    FUZZ_CHECK(vkf__tokenizer_parse(host, "fuzz", file.bytes, file.size_bytes, out_tokenizer) == VKF_OK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    recording_host recording;
    vkf__tokenizer tokenizer = {0};
    vkf_model_config config = {0};
    const char *at = (const char *)data, *end = at + size_bytes;
    vkf_text file = next_part(&at, end, default_tokenizer);
    vkf_text model = next_part(&at, end, BERT);
    vkf_text text = next_part(&at, end, "a rains");
    recording_host_init(&recording);
    if (!read_config(&recording.host, model, &config))
        FUZZ_CHECK(read_config(&recording.host, default_model, &config));
    read_tokenizer(&recording.host, file, &tokenizer);
    const vkf__id_tables tables = {&recording.host, "fuzz", &tokenizer, &config};
    check_texts(&tables, text, file);
    vkf__tokenizer_free(&tokenizer);
    FUZZ_CHECK(recording.live == 0);
    return 0;
}
