// Every key of a family's config.json: followed, refused, or without a part in what a model computes.
// tools/pretrained/make-models --vary compares the same with transformers; here the verdicts stand by themselves. And
// what holds where a key is not there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/family/config_file.h"
#include "model/family/family.h"

#include "recording_host.h"
#include "scratch_directory.h"

static vkf_status load(scratch_directory *scratch, recording_host *recording, const char *text,
                       vkf_model_config *config)
{
    const vkf__family *family = NULL;
    recording_host_init(recording);
    vkf_status status =
        vkf__config_load(&recording->host, scratch_write(scratch, "config.json", text, strlen(text)), config, &family);
    assert_int_equal(recording->live, 0);
    return status;
}

typedef enum verdict {
    FOLLOWED, // the model's configuration is another one
    IDLE,     // it is the same
    REFUSED,
} verdict;

// `keys` beside model_type and a vocabulary of 101.
static const struct {
    const char *type, *keys;
    verdict verdict;
    const char *message; // of REFUSED
} rows[] = {
    {"bert", "\"is_decoder\": true", FOLLOWED, NULL},
    {"bert", "\"add_cross_attention\": true", REFUSED, "add_cross_attention"},
    {"bert", "\"add_cross_attention\": null", IDLE, NULL},
    {"bert", "\"position_embedding_type\": \"relative_key\"", REFUSED, "relative_key"},
    {"bert", "\"pad_token_id\": -1", FOLLOWED, NULL},
    {"bert", "\"pad_token_id\": \"none\"", REFUSED, "pad_token_id"},
    {"bert", "\"layer_norm_eps\": 0.5", FOLLOWED, NULL},
    {"bert", "\"layer_norm_eps\": null", REFUSED, "layer_norm_eps"},
    {"bert", "\"hidden_size\": null", REFUSED, "hidden_size"},
    {"bert", "\"hidden_dropout_prob\": 0.5", IDLE, NULL},
    {"bert", "\"tie_word_embeddings\": false", IDLE, NULL}, // it has no head
    {"bert", "\"architectures\": [\"BertForMaskedLM\"]", FOLLOWED, NULL},
    {"bert", "\"architectures\": [\"BertForTokenClassification\"], \"num_labels\": 5", FOLLOWED, NULL},
    {"roberta", "\"pad_token_id\": 3", FOLLOWED, NULL},
    {"roberta", "\"pad_token_id\": -1", FOLLOWED, NULL},
    {"roberta", "\"pad_token_id\": null", REFUSED, "pad_token_id"},
    {"roberta", "\"pad_token_id\": 101", REFUSED, "pad_token_id"},
    {"roberta", "\"is_decoder\": true", FOLLOWED, NULL},
    {"xlm-roberta", "\"pad_token_id\": 1", IDLE, NULL},
    {"camembert", "\"eos_token_id\": 90", IDLE, NULL},
    {"modernbert", "\"local_attention\": 128", IDLE, NULL},
    {"modernbert", "\"local_attention\": 6", FOLLOWED, NULL},
    {"modernbert", "\"global_attn_every_n_layers\": 3", IDLE, NULL},
    {"modernbert", "\"global_attn_every_n_layers\": 2", FOLLOWED, NULL},
    {"modernbert", "\"global_rope_theta\": 160000.0, \"local_rope_theta\": 10000.0", IDLE, NULL},
    {"modernbert", "\"local_rope_theta\": 500.0", FOLLOWED, NULL},
    {"modernbert", "\"local_rope_theta\": null", FOLLOWED, NULL}, // as elsewhere
    {"modernbert", "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 500.0}}", FOLLOWED, NULL},
    {"modernbert", "\"norm_bias\": true", FOLLOWED, NULL},
    {"distilbert", "\"activation\": \"relu\"", FOLLOWED, NULL},
    {"distilbert", "\"sinusoidal_pos_embds\": true", IDLE, NULL}, // they are in the file
    {"gpt2", "\"bos_token_id\": 50256", IDLE, NULL},
    {"gpt2", "\"bos_token_id\": 5", FOLLOWED, NULL},
    {"gpt2", "\"eos_token_id\": [5, -1, 7]", FOLLOWED, NULL},
    {"gpt2", "\"n_inner\": null", IDLE, NULL},
    {"gpt2", "\"scale_attn_weights\": false", REFUSED, "scale_attn_weights"},
    {"gpt2", "\"scale_attn_by_inverse_layer_idx\": true", REFUSED, "scale_attn_by_inverse_layer_idx"},
    {"gpt2", "\"add_cross_attention\": true", REFUSED, "add_cross_attention"},
    {"gpt2", "\"reorder_and_upcast_attn\": true", IDLE, NULL},
    {"gpt2", "\"architectures\": [\"GPT2ForSequenceClassification\"]", FOLLOWED, NULL},
    {"gpt2", "\"architectures\": [\"GPT2ForQuestionAnswering\"]", REFUSED, "GPT2ForQuestionAnswering"},
    {"gpt_neox", "\"rotary_pct\": 0.25", IDLE, NULL},
    {"gpt_neox", "\"rotary_pct\": 0.5", FOLLOWED, NULL},
    {"gpt_neox", "\"use_parallel_residual\": false", FOLLOWED, NULL},
    {"gpt_neox", "\"is_decoder\": true", IDLE, NULL}, // it always is one
    {"llama", "\"hidden_act\": \"silu\", \"rms_norm_eps\": 1e-6, \"max_position_embeddings\": 2048", IDLE, NULL},
    {"llama", "\"hidden_act\": \"quick_gelu\"", REFUSED, "hidden_act"},
    {"llama", "\"pad_token_id\": -1, \"eos_token_id\": 2", IDLE, NULL},
    {"llama", "\"eos_token_id\": -1", FOLLOWED, NULL},
    {"llama", "\"eos_token_id\": null", FOLLOWED, NULL},
    {"llama", "\"num_key_value_heads\": null", IDLE, NULL},
    {"llama", "\"head_dim\": null", IDLE, NULL},
    {"llama", "\"rope_scaling\": {\"rope_type\": \"su\", \"factor\": 2.0}", REFUSED, "rope_type"},
    {"llama", "\"architectures\": [\"LlamaForTokenClassification\"]", FOLLOWED, NULL},
    {"llama", "\"architectures\": [\"LlamaForRewardModel\"]", REFUSED, "LlamaForRewardModel"},
    {"mistral", "\"sliding_window\": 4096", IDLE, NULL},
    {"mistral", "\"sliding_window\": null", FOLLOWED, NULL},
    {"mistral", "\"num_key_value_heads\": 8", IDLE, NULL},
    {"mistral", "\"num_key_value_heads\": null", FOLLOWED, NULL},
    {"qwen2", "\"use_sliding_window\": false, \"sliding_window\": 7", IDLE, NULL},
    {"qwen2", "\"use_sliding_window\": true", FOLLOWED, NULL},
    {"qwen2", "\"use_sliding_window\": true, \"max_window_layers\": 2", FOLLOWED, NULL},
    {"qwen3", "\"head_dim\": 128", IDLE, NULL},
    {"qwen3", "\"attention_bias\": true", FOLLOWED, NULL},
    {"t5", "\"feed_forward_proj\": \"relu\"", IDLE, NULL},
    {"t5", "\"feed_forward_proj\": \"gated-gelu\"", FOLLOWED, NULL},
    {"t5", "\"num_decoder_layers\": null", IDLE, NULL},
    {"t5", "\"decoder_start_token_id\": 0", FOLLOWED, NULL},
    {"t5", "\"decoder_start_token_id\": 101", REFUSED, "decoder_start_token_id"},
    {"t5", "\"architectures\": [\"T5ForTokenClassification\"]", REFUSED, "T5ForTokenClassification"},
    {"bart", "\"decoder_layers\": 12, \"decoder_attention_heads\": 16", IDLE, NULL},
    {"bart", "\"decoder_layers\": 6", FOLLOWED, NULL},
    {"bart", "\"scale_embedding\": true", FOLLOWED, NULL},
    {"bart", "\"forced_bos_token_id\": 0", FOLLOWED, NULL},
    {"bart", "\"architectures\": [\"BartForSequenceClassification\"]", REFUSED, "BartForSequenceClassification"},
    {"marian", "\"share_encoder_decoder_embeddings\": false", REFUSED, "share_encoder_decoder_embeddings"},
    {"marian", "\"decoder_start_token_id\": 7, \"bad_words_ids\": [[5]]", FOLLOWED, NULL},
    {"marian", "\"decoder_start_token_id\": 7, \"bad_words_ids\": [[5, 6]]", REFUSED, "bad_words_ids"},
};

static void check_row(scratch_directory *scratch, size_t i)
{
    char plain[256], text[512];
    recording_host recording;
    vkf_model_config base, config;
    (void)snprintf(plain, sizeof plain, "{\"model_type\": \"%s\", \"vocab_size\": 101}", rows[i].type);
    (void)snprintf(text, sizeof text, "{\"model_type\": \"%s\", \"vocab_size\": 101, %s}", rows[i].type, rows[i].keys);
    assert_int_equal(load(scratch, &recording, plain, &base), VKF_OK);
    memset(&config, 0, sizeof config);
    vkf_status status = load(scratch, &recording, text, &config);
    verdict got = status != VKF_OK ? REFUSED : memcmp(&base, &config, sizeof config) == 0 ? IDLE : FOLLOWED;
    if (got != rows[i].verdict || (got == REFUSED && !strstr(recording.text, rows[i].message)))
        fail_msg("%s with %s: verdict %d, expected %d: %s", rows[i].type, rows[i].keys, got, rows[i].verdict,
                 recording.text);
}

static void test_verdicts(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_row(*state, i);
}

// ---- defaults

static vkf_model_config config_of(scratch_directory *scratch, const char *keys)
{
    char text[512];
    recording_host recording;
    vkf_model_config config;
    (void)snprintf(text, sizeof text, "{\"vocab_size\": 101, %s}", keys);
    if (load(scratch, &recording, text, &config) != VKF_OK)
        fail_msg("%s: %s", keys, recording.text);
    return config;
}

static void test_sizes_that_are_not_there(void **state)
{
    static const struct {
        const char *type;
        uint32_t d_model, heads, kv_heads, feed_forward, encoder, decoder, positions;
    } sizes[] = {
        {"bert", 768, 12, 12, 3072, 12, 0, 512},      {"roberta", 768, 12, 12, 3072, 12, 0, 510},
        {"distilbert", 768, 12, 12, 3072, 6, 0, 512}, {"modernbert", 768, 12, 12, 1152, 22, 0, 8192},
        {"gpt2", 768, 12, 12, 3072, 0, 12, 1024},     {"gpt_neox", 6144, 64, 64, 24576, 0, 44, 2048},
        {"llama", 4096, 32, 32, 11008, 0, 32, 2048},  {"mistral", 4096, 32, 8, 14336, 0, 32, 131072},
        {"qwen2", 4096, 32, 32, 22016, 0, 32, 32768}, {"qwen3", 4096, 32, 32, 22016, 0, 32, 32768},
        {"t5", 512, 8, 0, 2048, 6, 6, 512},           {"bart", 1024, 16, 0, 4096, 12, 12, 1024},
        {"marian", 1024, 16, 0, 4096, 12, 12, 1024},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char keys[64];
        (void)snprintf(keys, sizeof keys, "\"model_type\": \"%s\"", sizes[i].type);
        const vkf_model_config c = config_of(*state, keys);
        uint32_t positions = c.kind == VKF_MODEL_DECODER ? c.max_target_len : c.max_source_len;
        if (c.d_model != sizes[i].d_model || c.num_heads != sizes[i].heads || c.num_kv_heads != sizes[i].kv_heads ||
            c.dim_feedforward != sizes[i].feed_forward || c.num_encoder_layers != sizes[i].encoder ||
            c.num_decoder_layers != sizes[i].decoder || positions != sizes[i].positions)
            fail_msg("%s has other sizes", sizes[i].type);
    }
}

static void test_tokens_that_never_come(void **state)
{
    const vkf_model_config gpt2 = config_of(*state, "\"model_type\": \"gpt2\"");
    assert_int_equal(gpt2.bos_id, -1); // 50256, as in GPT2Config(vocab_size=101)
    assert_int_equal(gpt2.eos_count, 0);
    assert_int_equal(gpt2.eos_id, -1);
    assert_int_equal(gpt2.pad_id, -1);
    const vkf_model_config llama = config_of(*state, "\"model_type\": \"llama\", \"eos_token_id\": [-1, 9, 101]");
    assert_int_equal(llama.eos_count, 1);
    assert_int_equal(llama.eos_id, 9);
    assert_int_equal(llama.bos_id, 1);
    const vkf_model_config none = config_of(*state, "\"model_type\": \"qwen2\"");
    assert_int_equal(none.eos_count, 0);
    assert_int_equal(none.bos_id, -1);
}

static void test_windows_of_modernbert(void **state)
{
    const vkf_model_config c = config_of(*state, "\"model_type\": \"modernbert\"");
    assert_int_equal(c.window, 128);
    assert_int_equal(c.windowed_layers[0], 0x3fffffu & ~0x249249u); // all but every third of 22
    assert_true(c.rotary.inverse_frequency[1] < c.window_rotary.inverse_frequency[1]);
}

static void test_a_decoder_that_classifies(void **state)
{
    const vkf_model_config c = config_of(
        *state,
        "\"model_type\": \"qwen2\", \"architectures\": [\"Qwen2ForSequenceClassification\"], \"num_labels\": 3, "
        "\"tie_word_embeddings\": true, \"num_hidden_layers\": 5, \"pad_token_id\": 9");
    assert_int_equal(c.kind, VKF_MODEL_ENCODER);
    assert_true(c.causal);
    assert_false(c.tie_projection);
    assert_int_equal(c.head, VKF_HEAD_SEQUENCE_CLASSIFICATION);
    assert_int_equal(c.head_outputs, 3);
    assert_int_equal(c.head_pooling, VKF_POOLING_LAST);
    assert_int_equal(c.num_encoder_layers, 5);
    assert_int_equal(c.num_decoder_layers, 0);
    assert_int_equal(c.source_vocab, 101);
    assert_int_equal(c.pad_id, 9);
}

#define SCRATCH_TEST(function) cmocka_unit_test_setup_teardown(function, scratch_setup, scratch_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH_TEST(test_verdicts),
        SCRATCH_TEST(test_sizes_that_are_not_there),
        SCRATCH_TEST(test_tokens_that_never_come),
        SCRATCH_TEST(test_windows_of_modernbert),
        SCRATCH_TEST(test_a_decoder_that_classifies),
    };
    return cmocka_run_group_tests_name("family keys", tests, NULL, NULL);
}
