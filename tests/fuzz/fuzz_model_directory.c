// The JSON files of a model directory: config.json of every family and kind of head, generation_config.json, modules.json
// and what it names, and the index of a checkpoint. The input stands for each of them in turn.
#define _DEFAULT_SOURCE

#include <math.h>
#include <string.h>

#include "../unit/recording_host.h"
#include "../unit/scratch_directory.h"
#include "fuzz.h"
#include "io/checkpoint.h"
#include "model/family.h"
#include "model/model_directory.h"
#include "model/pooling.h"
#include "model/rotary.h"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("{}"),
    FUZZ_TEXT("[]"),
    FUZZ_TEXT(
        "{\"model_type\": \"bert\", \"hidden_size\": 384, \"num_attention_heads\": 12, \"intermediate_size\": 1536, "
        "\"num_hidden_layers\": 6, \"hidden_act\": \"gelu\", \"layer_norm_eps\": 1e-12, \"vocab_size\": 30522, "
        "\"max_position_embeddings\": 512, \"type_vocab_size\": 2, \"pad_token_id\": 0, "
        "\"position_embedding_type\": \"absolute\"}"),
    FUZZ_TEXT(
        "{\"model_type\": \"roberta\", \"hidden_size\": 40, \"num_attention_heads\": 5, \"intermediate_size\": 33, "
        "\"num_hidden_layers\": 1, \"hidden_act\": \"gelu_new\", \"layer_norm_eps\": 1e-05, \"vocab_size\": 101, "
        "\"max_position_embeddings\": 50, \"type_vocab_size\": 1, \"pad_token_id\": 1}"),
    FUZZ_TEXT(
        "{\"model_type\": \"distilbert\", \"dim\": 30, \"n_heads\": 3, \"hidden_dim\": 41, \"n_layers\": 2, "
        "\"activation\": \"relu\", \"vocab_size\": 101, \"max_position_embeddings\": 48, \"pad_token_id\": null}"),
    FUZZ_TEXT("{\"activation_function\": \"gelu_new\", \"architectures\": [\"GPT2LMHeadModel\"], \"bos_token_id\": 1, "
              "\"eos_token_id\": 2, \"layer_norm_epsilon\": 1e-05, \"model_type\": \"gpt2\", \"n_embd\": 30, "
              "\"n_head\": 3, \"n_inner\": null, \"n_layer\": 2, \"n_positions\": 48, \"pad_token_id\": 0, "
              "\"scale_attn_by_inverse_layer_idx\": false, \"scale_attn_weights\": true, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"architectures\": [\"GPTNeoXForCausalLM\"], \"attention_bias\": true, \"bos_token_id\": 1, "
              "\"eos_token_id\": 2, \"hidden_act\": \"gelu_new\", \"hidden_size\": 48, \"intermediate_size\": 41, "
              "\"layer_norm_eps\": 1e-05, \"max_position_embeddings\": 48, \"model_type\": \"gpt_neox\", "
              "\"num_attention_heads\": 3, \"num_hidden_layers\": 2, \"pad_token_id\": 0, \"partial_rotary_factor\": "
              "0.25, \"rope_scaling\": null, \"rope_theta\": 10000.0, \"rotary_emb_base\": 10000.0, \"rotary_pct\": "
              "0.25, \"tie_word_embeddings\": false, \"use_parallel_residual\": true, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"architectures\": [\"LlamaForCausalLM\"], \"attention_bias\": false, \"bos_token_id\": 1, "
              "\"eos_token_id\": [2, 3], \"head_dim\": 10, \"hidden_act\": \"silu\", \"hidden_size\": 40, "
              "\"intermediate_size\": 44, \"max_position_embeddings\": 48, \"mlp_bias\": false, \"model_type\": "
              "\"llama\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, \"num_key_value_heads\": 2, "
              "\"pad_token_id\": 0, \"rms_norm_eps\": 1e-05, \"rope_scaling\": {\"factor\": 8.0, \"high_freq_factor\": "
              "4.0, \"low_freq_factor\": 1.0, \"original_max_position_embeddings\": 16, \"rope_type\": \"llama3\"}, "
              "\"rope_theta\": 10000.0, \"tie_word_embeddings\": false, \"vocab_size\": 101}"),
    FUZZ_TEXT(
        "{\"architectures\": [\"MistralForCausalLM\"], \"bos_token_id\": 1, \"eos_token_id\": 2, \"head_dim\": 14, "
        "\"hidden_act\": \"silu\", \"hidden_size\": 40, \"intermediate_size\": 44, \"max_position_embeddings\": 48, "
        "\"model_type\": \"mistral\", \"num_attention_heads\": 4, \"num_hidden_layers\": 2, \"num_key_value_heads\": "
        "2, \"pad_token_id\": 0, \"rms_norm_eps\": 1e-05, \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2.0}, "
        "\"rope_theta\": 10000.0, \"sliding_window\": 7, \"tie_word_embeddings\": false, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"architectures\": [\"Qwen2ForCausalLM\"], \"bos_token_id\": 1, \"eos_token_id\": 2, \"hidden_act\": "
              "\"silu\", \"hidden_size\": 40, \"intermediate_size\": 44, \"max_position_embeddings\": 48, "
              "\"max_window_layers\": 1, \"model_type\": \"qwen2\", \"num_attention_heads\": 4, \"num_hidden_layers\": "
              "2, \"num_key_value_heads\": 1, \"pad_token_id\": 0, \"rms_norm_eps\": 1e-06, \"rope_scaling\": "
              "{\"rope_type\": \"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 16, \"beta_fast\": 32, "
              "\"beta_slow\": 1, \"truncate\": false, \"mscale\": 1.0}, \"rope_theta\": 10000.0, \"sliding_window\": "
              "7, \"tie_word_embeddings\": true, \"use_sliding_window\": true, \"vocab_size\": 101}"),
    FUZZ_TEXT(
        "{\"architectures\": [\"Qwen3ForCausalLM\"], \"attention_bias\": false, \"bos_token_id\": 1, \"eos_token_id\": "
        "2, \"head_dim\": 12, \"hidden_act\": \"silu\", \"hidden_size\": 40, \"intermediate_size\": 44, "
        "\"max_position_embeddings\": 48, \"max_window_layers\": 1, \"model_type\": \"qwen3\", "
        "\"num_attention_heads\": 4, \"num_hidden_layers\": 2, \"num_key_value_heads\": 2, \"pad_token_id\": 0, "
        "\"rms_norm_eps\": 1e-06, \"rope_parameters\": {\"rope_theta\": 1000000.0, \"rope_type\": \"default\"}, "
        "\"sliding_window\": null, \"tie_word_embeddings\": true, \"use_sliding_window\": false, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"architectures\": [\"ModernBertForSequenceClassification\"], \"attention_bias\": false, "
              "\"bos_token_id\": 1, \"classifier_activation\": \"relu\", \"classifier_pooling\": \"mean\", "
              "\"decoder_bias\": true, \"eos_token_id\": 2, \"global_attn_every_n_layers\": 2, \"global_rope_theta\": "
              "160000.0, \"hidden_activation\": \"gelu\", \"hidden_size\": 20, \"id2label\": {\"0\": \"bad\", \"1\": "
              "\"neutral\", \"2\": \"good\"}, \"intermediate_size\": 23, \"local_attention\": 6, \"local_rope_theta\": "
              "10000.0, \"max_position_embeddings\": 48, \"mlp_bias\": false, \"model_type\": \"modernbert\", "
              "\"norm_bias\": false, \"norm_eps\": 1e-05, \"num_attention_heads\": 2, \"num_hidden_layers\": 2, "
              "\"pad_token_id\": 0, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"architectures\": [\"BertForTokenClassification\"], \"hidden_act\": \"relu\", \"hidden_size\": 20, "
              "\"id2label\": {\"0\": \"O\", \"1\": \"B-PER\", \"2\": \"I-PER\", \"3\": \"B-LOC\", \"4\": \"I-LOC\"}, "
              "\"intermediate_size\": 23, \"layer_norm_eps\": 1e-12, \"max_position_embeddings\": 48, \"model_type\": "
              "\"bert\", \"num_attention_heads\": 2, \"num_hidden_layers\": 1, \"pad_token_id\": 0, "
              "\"position_embedding_type\": \"absolute\", \"type_vocab_size\": 2, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"activation\": \"relu\", \"architectures\": [\"DistilBertForMaskedLM\"], \"dim\": 20, \"hidden_dim\": "
              "23, \"max_position_embeddings\": 48, \"model_type\": \"distilbert\", \"n_heads\": 2, \"n_layers\": 1, "
              "\"pad_token_id\": 0, \"sinusoidal_pos_embds\": false, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"rope_scaling\": {\"rope_type\": \"longrope\", \"factor\": 4.0, \"short_factor\": [1, 1, 1, 1, 1], "
              "\"long_factor\": [2, 2, 2, 2, 2], \"original_max_position_embeddings\": 16}}"),
    FUZZ_TEXT("{\"bos_token_id\": 1, \"eos_token_id\": [2, 3], \"pad_token_id\": 0}"),
    FUZZ_TEXT("{\"eos_token_id\": null}"),
    FUZZ_TEXT("{\"pooling_mode_mean_tokens\": true, \"pooling_mode_cls_token\": false, \"max_seq_length\": 256}"),
    FUZZ_TEXT("[{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"}, "
              "{\"path\": \"\", \"type\": \"sentence_transformers.models.Pooling\"}, "
              "{\"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]"),
    FUZZ_TEXT("{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"modules.json\", \"c\": \"../1.safetensors\"}}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static scratch_directory *scratch;

static void remove_scratch(void)
{
    void *state = scratch;
    (void)scratch_teardown(&state);
}

static void make_scratch(void)
{
    static const uint8_t tensors[] =
        "\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}   "
        "       \0\0\0\0";
    void *state = NULL;
    if (scratch)
        return;
    FUZZ_CHECK(scratch_setup(&state) == 0);
    scratch = state;
    atexit(remove_scratch);
    scratch_write(scratch, "1.safetensors", tensors, sizeof tensors - 1);
}

static void check_sizes(const vkf_model_config *config)
{
    bool decoder = config->kind == VKF_MODEL_DECODER;
    FUZZ_CHECK(decoder || config->kind == VKF_MODEL_ENCODER);
    FUZZ_CHECK((decoder ? config->max_target_len : config->max_source_len) > 0);
    FUZZ_CHECK(config->d_model > 0 && config->num_heads > 0 && config->head_dim > 0);
    FUZZ_CHECK(config->num_kv_heads > 0 && config->num_heads % config->num_kv_heads == 0);
    FUZZ_CHECK(config->eos_count <= VKF_MAX_EOS);
    for (uint32_t i = 0; i < config->eos_count; i++)
        FUZZ_CHECK(config->eos_ids[i] >= 0 && (uint32_t)config->eos_ids[i] < config->target_vocab);
    FUZZ_CHECK(config->head < VKF_HEAD_COUNT);
    FUZZ_CHECK(config->head == VKF_HEAD_NONE || config->head_outputs > 0);
}

// Near the beginning and at a far position.
static void check_rotary(const vkf_rotary *rotary)
{
    float rows[2 * VKF_MAX_ROTARY_DIM];
    FUZZ_CHECK(rotary->dim % 2 == 0 && rotary->dim <= VKF_MAX_ROTARY_DIM);
    if (rotary->dim == 0)
        return;
    vkf__rotary_rows(rotary, 0, 1, 0, rows);
    vkf__rotary_rows(rotary, 1000, 1, 0, rows + rotary->dim);
    for (uint32_t i = 0; i < 2 * rotary->dim; i++)
        FUZZ_CHECK(isfinite(rows[i]));
}

// Every slot has a name and a shape.
static void check_slots(const vkf__family *family, const vkf_model_config *config)
{
    static vkf__weights weights;
    weights = (vkf__weights){0};
    FUZZ_CHECK(vkf__family_slots(family, "", config, &weights, NULL) >
               config->num_encoder_layers + config->num_decoder_layers);
}

static void read_config(const void *data, size_t size_bytes)
{
    recording_host recording;
    vkf_model_config config = {0};
    const vkf__family *family = NULL;
    recording_host_init(&recording);
    vkf_status status =
        vkf__config_load(&recording.host, scratch_write(scratch, "config.json", data, size_bytes), &config, &family);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT || status == VKF_ERROR_UNSUPPORTED);
    if (status == VKF_OK && family) {
        check_sizes(&config);
        check_rotary(&config.rotary);
        check_rotary(&config.window_rotary);
        check_slots(family, &config);
    }
    FUZZ_CHECK(recording.live == 0);
}

// Both files of a decoder's directory: the input is the second of them.
static void read_generation(const void *data, size_t size_bytes)
{
    static const char config[] =
        "{\"model_type\": \"llama\", \"hidden_size\": 40, \"num_attention_heads\": 4, \"intermediate_size\": 44, "
        "\"num_hidden_layers\": 2, \"hidden_act\": \"silu\", \"rms_norm_eps\": 1e-05, \"vocab_size\": 101, "
        "\"max_position_embeddings\": 48, \"bos_token_id\": 1, \"eos_token_id\": 2}";
    recording_host recording;
    vkf__model_source source = {0};
    recording_host_init(&recording);
    scratch_write(scratch, "config.json", config, sizeof config - 1);
    scratch_write(scratch, "generation_config.json", data, size_bytes);
    vkf_status status = vkf__model_directory_load(&recording.host, scratch->path, &source);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT || status == VKF_ERROR_UNSUPPORTED);
    if (status == VKF_OK)
        check_sizes(&source.config);
    FUZZ_CHECK(recording.live == 0);
}

static void read_pooling(const void *data, size_t size_bytes)
{
    recording_host recording;
    vkf_model_config config = {.max_source_len = 512};
    recording_host_init(&recording);
    scratch_write(scratch, "modules.json", data, size_bytes);
    scratch_write(scratch, "sentence_bert_config.json", data, size_bytes);
    vkf_status status = vkf__pooling_load(&recording.host, scratch->path, &config);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(config.pooling < VKF_POOLING_COUNT && config.truncate_len <= 512);
    FUZZ_CHECK(recording.live == 0);
}

static void read_index(const void *data, size_t size_bytes)
{
    recording_host recording;
    vkf__checkpoint *checkpoint = NULL;
    recording_host_init(&recording);
    scratch_write(scratch, "model.safetensors.index.json", data, size_bytes);
    vkf_status status = vkf__checkpoint_open(&recording.host, scratch->path, &checkpoint);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK((status == VKF_OK) == (checkpoint != NULL));
    FUZZ_CHECK(!checkpoint || vkf__checkpoint_find(checkpoint, "a"));
    vkf__checkpoint_close(&checkpoint);
    FUZZ_CHECK(recording.live == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    make_scratch();
    read_config(data, size_bytes);
    read_generation(data, size_bytes);
    read_pooling(data, size_bytes);
    read_index(data, size_bytes);
    return 0;
}
