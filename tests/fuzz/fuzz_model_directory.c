// The files of a model directory: config.json of every family and kind of head, generation_config.json, modules.json
// and what it names, what stands beside a tokenizer, the index of a checkpoint, an adapter, and weights that are stored
// in blocks. The input stands for each of them in turn.
#define _DEFAULT_SOURCE

#include <math.h>
#include <string.h>

#include "../unit/recording_host.h"
#include "../unit/scratch_directory.h"
#include "fuzz.h"
#include "io/checkpoint.h"
#include "io/safetensors.h"
#include "model/family/config_file.h"
#include "model/family/family.h"
#include "model/family/rotary_rows.h"
#include "model/load/adapter.h"
#include "model/load/model_directory.h"
#include "model/load/weight_blocks.h"
#include "model/sentence/sentence_settings.h"
#include "model/sentence/sentence_text.h"
#include "model/text/tokenizer_config.h"

#define BLOCK_ROWS VKF_BLOCK_PANEL

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
    FUZZ_TEXT("{\"architectures\": [\"T5ForConditionalGeneration\"], \"classifier_dropout\": 0.0, \"d_ff\": 41, "
              "\"d_kv\": 10, \"d_model\": 36, \"decoder_start_token_id\": 0, \"dense_act_fn\": \"gelu_new\", "
              "\"dropout_rate\": 0.1, \"eos_token_id\": 1, \"feed_forward_proj\": \"gated-gelu\", "
              "\"initializer_factor\": 1.0, \"is_encoder_decoder\": true, \"is_gated_act\": true, "
              "\"layer_norm_epsilon\": 1e-06, \"model_type\": \"t5\", \"num_decoder_layers\": 1, \"num_heads\": 4, "
              "\"num_layers\": 2, \"pad_token_id\": 0, \"relative_attention_max_distance\": 12, "
              "\"relative_attention_num_buckets\": 12, \"tie_word_embeddings\": false, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"activation_dropout\": 0.0, \"activation_function\": \"gelu\", \"architectures\": "
              "[\"BartForConditionalGeneration\"], \"attention_dropout\": 0.0, \"bos_token_id\": 0, "
              "\"classifier_dropout\": 0.0, \"d_model\": 36, \"decoder_attention_heads\": 2, \"decoder_ffn_dim\": 41, "
              "\"decoder_layerdrop\": 0.0, \"decoder_layers\": 2, \"decoder_start_token_id\": 2, \"dropout\": 0.1, "
              "\"encoder_attention_heads\": 3, \"encoder_ffn_dim\": 41, \"encoder_layerdrop\": 0.0, "
              "\"encoder_layers\": 1, \"eos_token_id\": 2, \"forced_eos_token_id\": 2, \"init_std\": 0.02, "
              "\"is_encoder_decoder\": true, \"max_position_embeddings\": 48, \"model_type\": \"bart\", "
              "\"num_hidden_layers\": 1, \"pad_token_id\": 1, \"scale_embedding\": false, \"vocab_size\": 101}"),
    FUZZ_TEXT(
        "{\"activation_dropout\": 0.0, \"activation_function\": \"swish\", \"architectures\": [\"MarianMTModel\"], "
        "\"attention_dropout\": 0.0, \"d_model\": 36, \"decoder_attention_heads\": 2, \"decoder_ffn_dim\": 41, "
        "\"decoder_layerdrop\": 0.0, \"decoder_layers\": 2, \"decoder_start_token_id\": 100, \"decoder_vocab_size\": "
        "101, \"dropout\": 0.1, \"encoder_attention_heads\": 3, \"encoder_ffn_dim\": 41, \"encoder_layerdrop\": 0.0, "
        "\"encoder_layers\": 1, \"eos_token_id\": 0, \"forced_eos_token_id\": 0, \"init_std\": 0.02, "
        "\"is_encoder_decoder\": true, \"max_position_embeddings\": 48, \"model_type\": \"marian\", "
        "\"num_hidden_layers\": 1, \"pad_token_id\": 100, \"scale_embedding\": true, "
        "\"share_encoder_decoder_embeddings\": true, \"vocab_size\": 101}"),
    FUZZ_TEXT("{\"rope_scaling\": {\"rope_type\": \"longrope\", \"factor\": 4.0, \"short_factor\": [1, 1, 1, 1, 1], "
              "\"long_factor\": [2, 2, 2, 2, 2], \"original_max_position_embeddings\": 16}}"),
    FUZZ_TEXT("{\"bos_token_id\": 1, \"eos_token_id\": [2, 3], \"pad_token_id\": 0}"),
    FUZZ_TEXT("{\"eos_token_id\": null}"),
    FUZZ_TEXT("{\"pooling_mode_mean_tokens\": true, \"pooling_mode_cls_token\": false}"),
    FUZZ_TEXT("{\"embedding_dimension\": 384, \"pooling_mode\": [\"mean\", \"cls\"], \"include_prompt\": false}"),
    FUZZ_TEXT("{\"in_features\": 384, \"out_features\": 2, \"bias\": true, \"activation_function\": "
              "\"torch.nn.modules.activation.Tanh\"}"),
    FUZZ_TEXT("{\"max_seq_length\": 256, \"do_lower_case\": true, \"transformer_task\": \"feature-extraction\", "
              "\"modality_config\": {\"text\": {\"method\": \"forward\", \"method_output_name\": "
              "\"last_hidden_state\"}}, \"module_output_name\": \"token_embeddings\"}"),
    FUZZ_TEXT("{\"prompts\": {\"query\": \"q: \"}, \"default_prompt_name\": \"query\", \"truncate_dim\": 8, "
              "\"similarity_fn_name\": \"dot\", \"model_type\": \"SentenceTransformer\"}"),
    FUZZ_TEXT("[{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"}, "
              "{\"path\": \"\", \"type\": \"sentence_transformers.models.Pooling\"}, "
              "{\"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]"),
    FUZZ_TEXT("{\"model_type\": \"llama\", \"quantization_config\": {\"quant_method\": \"vkformer\", \"bits\": 4}}"),
    FUZZ_TEXT(
        "{\"cls_token\": \"<s>\", \"mask_token\": {\"content\": \"<mask>\", \"lstrip\": true}, \"unk_token\": null, "
        "\"model_max_length\": 1e30, \"clean_up_tokenization_spaces\": true, \"tokenizer_class\": "
        "\"PreTrainedTokenizerFast\"}"),
    FUZZ_TEXT(
        "{\"peft_type\": \"LORA\", \"r\": 1, \"lora_alpha\": 2, \"use_rslora\": true, \"target_modules\": [\"a\"], "
        "\"alpha_pattern\": {\"^a\\\\.b\": 3, \"a\": 1.5}, \"rank_pattern\": {\"b\": 1}, \"use_dora\": false}"),
    // Scales and minima of blocks: a half that is infinite, and one that is no number.
    FUZZ_TEXT("\0\x3c\0\x7c 0123456789abcdef \xff\x7f\1\0"),
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
    static const uint8_t adapter[] =
        "\xb0\0\0\0\0\0\0\0{\"base_model.model.a.lora_A.weight\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":["
        "0,4]"
        "},\"base_model.model.a.lora_B.weight\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[4,8]}}   "
        "\0\0\0\0\0\0\0\0";
    void *state = NULL;
    if (scratch)
        return;
    FUZZ_CHECK(scratch_setup(&state) == 0);
    scratch = state;
    atexit(remove_scratch);
    scratch_write(scratch, "1.safetensors", tensors, sizeof tensors - 1);
    scratch_write(scratch, VKF_ADAPTER_WEIGHTS, adapter, sizeof adapter - 1);
}

static void check_stack(const vkf_model_config *config, bool target)
{
    const vkf__stack stack = vkf__stack_of(config, target);
    FUZZ_CHECK(stack.layers > 0 && stack.heads > 0 && stack.head_dim > 0 && stack.dim_feedforward > 0);
    FUZZ_CHECK(stack.kv_heads > 0 && stack.heads % stack.kv_heads == 0);
}

static void check_sizes(const vkf_model_config *config)
{
    FUZZ_CHECK(config->kind == VKF_MODEL_ENCODER || config->kind == VKF_MODEL_DECODER ||
               config->kind == VKF_MODEL_SEQ2SEQ);
    FUZZ_CHECK(config->kind == VKF_MODEL_DECODER || config->max_source_len > 0);
    FUZZ_CHECK(config->kind == VKF_MODEL_ENCODER || config->max_target_len > 0);
    FUZZ_CHECK(config->d_model > 0);
    if (config->kind != VKF_MODEL_DECODER)
        check_stack(config, false);
    if (config->kind != VKF_MODEL_ENCODER)
        check_stack(config, true);
    FUZZ_CHECK(config->eos_count <= VKF_MAX_EOS);
    for (uint32_t i = 0; i < config->eos_count; i++)
        FUZZ_CHECK(config->eos_ids[i] >= 0 && (uint32_t)config->eos_ids[i] < config->target_vocab);
    FUZZ_CHECK(config->head < VKF_HEAD_COUNT);
    FUZZ_CHECK(config->head == VKF_HEAD_NONE || config->head_outputs > 0);
}

// Near the beginning and at a far position.
static void check_rotary(const vkf_rotary_config *rotary)
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
    FUZZ_CHECK(vkf__family_slots(family, "", NULL, config, &(vkf__layer_part){0}, &weights, NULL) >
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
    FUZZ_CHECK(recording.messages >= (status != VKF_OK)); // a warning for what is not followed
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT || status == VKF_ERROR_UNSUPPORTED);
    if (status == VKF_OK)
        check_sizes(&source.config);
    FUZZ_CHECK(recording.live == 0);
}

// Its modules stand in the directory itself, whose config.json is the input, too.
static void read_modules(const void *data, size_t size_bytes)
{
    static const char usual[] = "[{\"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"}, "
                                "{\"path\": \"\", \"type\": \"sentence_transformers.models.Pooling\"}, "
                                "{\"path\": \"\", \"type\": \"sentence_transformers.models.Dense\"}]";
    recording_host recording;
    vkf__sentence_list list = {.count = 0};
    vkf__model_source source = {.config = {.d_model = 384, .max_source_len = 512}};
    recording_host_init(&recording);
    scratch_write(scratch, "config.json", data, size_bytes);
    scratch_write(scratch, "modules.json", data, size_bytes);
    vkf_status status = vkf__sentence_list_load(&recording.host, scratch->path, &list);
    FUZZ_CHECK(recording.messages == (status != VKF_OK) && list.count <= VKF_MAX_SENTENCE_MODULES);
    if (status != VKF_OK) {
        FUZZ_CHECK(recording.live == 0);
        recording_host_init(&recording);
        scratch_write(scratch, "modules.json", usual, sizeof usual - 1);
        FUZZ_CHECK(vkf__sentence_list_load(&recording.host, scratch->path, &list) == VKF_OK);
    }
    status = vkf__sentence_modules_load(&recording.host, scratch->path, &list, &source);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(source.config.embedding_module_count <= VKF_MAX_EMBEDDING_MODULES);
    FUZZ_CHECK(recording.live == 0);
}

// An adapter with one product, whose rank and scale the input says.
static void read_adapter(const void *data, size_t size_bytes)
{
    recording_host recording;
    vkf__adapter *adapter = NULL;
    recording_host_init(&recording);
    scratch_write(scratch, VKF_ADAPTER_CONFIG, data, size_bytes);
    vkf_status status = vkf__adapter_open(&recording.host, scratch->path, &adapter);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(status != VKF_ERROR_FILE && (status == VKF_OK) == (adapter != NULL));
    FUZZ_CHECK(!adapter || (adapter->product_count == 1 && isfinite(adapter->products[0].scale)));
    vkf__adapter_close(&adapter);
    FUZZ_CHECK(recording.live == 0);
}

static void read_sentence_files(const void *data, size_t size_bytes)
{
    const vkf__sentence_list list = {.embeds = true};
    recording_host recording;
    vkf__sentence_text text = {.max_length = 1};
    vkf__sentence_settings settings = {0};
    scratch_write(scratch, "modules.json", "[]", 2);
    scratch_write(scratch, "sentence_bert_config.json", data, size_bytes);
    scratch_write(scratch, "config_sentence_transformers.json", data, size_bytes);
    recording_host_init(&recording);
    vkf_status status = vkf__sentence_text_load(&recording.host, scratch->path, &list, &text);
    FUZZ_CHECK(recording.messages == (status != VKF_OK) && text.max_length > 0);
    FUZZ_CHECK(recording.live == 0);
    recording_host_init(&recording);
    status = vkf__sentence_settings_load(&recording.host, scratch->path, &settings);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(settings.default_prompt < (int32_t)settings.prompt_count || settings.prompt_count == 0);
    vkf__sentence_settings_free(&recording.host, &settings);
    FUZZ_CHECK(recording.live == 0);
    remove(scratch_path(scratch, "config_sentence_transformers.json"));
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

static void check_token(const vkf__tokenizer *tokenizer, int32_t id)
{
    FUZZ_CHECK(id == -1 || vkf__tokenizer_id_to_token(tokenizer, id));
}

// Both files beside tokenizer.json, and text from the input in the way of decoded text.
static void read_tokenizer_config(const void *data, size_t size_bytes)
{
    static const char json[] =
        "{\"model\": {\"type\": \"WordLevel\", \"unk_token\": \"[UNK]\", \"vocab\": {\"[UNK]\": 0, "
        "\"<s>\": 1, \"<mask>\": 2, \"[PAD]\": 3}}}";
    recording_host recording;
    vkf__tokenizer tokenizer;
    vkf__tokenizer_config config = {.max_length = 0};
    recording_host_init(&recording);
    FUZZ_CHECK(vkf__tokenizer_parse(&recording.host, "fuzz", json, sizeof json - 1, &tokenizer) == VKF_OK);
    scratch_write(scratch, "tokenizer_config.json", data, size_bytes);
    scratch_write(scratch, "special_tokens_map.json", data, size_bytes);
    vkf_status status = vkf__tokenizer_config_load(&recording.host, scratch->path, &tokenizer, &config);
    FUZZ_CHECK(recording.messages == (status != VKF_OK));
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FORMAT);
    FUZZ_CHECK((status == VKF_OK) == (config.max_length > 0));
    check_token(&tokenizer, config.special.cls_id);
    check_token(&tokenizer, config.special.mask_id);
    check_token(&tokenizer, config.special.unk_id);
    check_token(&tokenizer, config.special.pad_id);
    check_token(&tokenizer, config.special.bos_id);
    check_token(&tokenizer, config.special.eos_id);
    vkf__tokenizer_free(&tokenizer);
    FUZZ_CHECK(recording.live == 0);
}

static void clean_text(const uint8_t *data, size_t size_bytes)
{
    char *text = malloc(size_bytes + 1);
    FUZZ_CHECK(text);
    if (size_bytes > 0)
        memcpy(text, data, size_bytes);
    size_t cleaned = vkf__clean_up_blanks(text, size_bytes);
    FUZZ_CHECK(cleaned <= size_bytes && text[cleaned] == '\0');
    free(text);
}

#define BLOCK_FILE_BYTES (8 + 128 + BLOCK_ROWS * 256)

// A file with one tensor of bytes, (BLOCK_ROWS, row_bytes), which the input fills. Its bytes are returned.
static size_t put_blocks(const uint8_t *data, size_t size_bytes, uint32_t row_bytes, uint8_t *file)
{
    size_t bytes = (size_t)BLOCK_ROWS * row_bytes;
    int header =
        snprintf((char *)file + 8, 128, "{\"a\":{\"dtype\":\"U8\",\"shape\":[%d,%u],\"data_offsets\":[0,%zu]}}",
                 BLOCK_ROWS, (unsigned)row_bytes, bytes);
    FUZZ_CHECK(header > 0 && header < 128);
    memset(file, 0, 8);
    file[0] = (uint8_t)header;
    for (size_t i = 0; i < bytes; i++)
        file[8 + (size_t)header + i] = size_bytes > 0 ? data[i % size_bytes] : 0;
    return 8 + (size_t)header + bytes;
}

// A weight of one panel in blocks, as files hold it: what is finite comes out as it is, anything else is refused by
// name.
static void read_blocks(const uint8_t *data, size_t size_bytes, uint32_t row_bytes)
{
    const vkf__weight_slot slot = {.name = "a", .linear = true, .shape = {BLOCK_ROWS, VKF_BLOCK}};
    static uint8_t file_bytes[BLOCK_FILE_BYTES];
    recording_host recording;
    vkf__checkpoint *checkpoint = NULL; // for messages alone
    vkf__tensor_file *file = NULL;
    float values[BLOCK_ROWS * VKF_BLOCK];
    uint8_t blocks[BLOCK_ROWS * 64];
    recording_host_init(&recording);
    FUZZ_CHECK(vkf__checkpoint_open_file(&recording.host, scratch_path(scratch, "1.safetensors"), &checkpoint) ==
               VKF_OK);
    FUZZ_CHECK(vkf__safetensors_open_memory(&recording.host, "fuzz", file_bytes,
                                            put_blocks(data, size_bytes, row_bytes, file_bytes), &file) == VKF_OK);
    const vkf__stored_tensor *stored = vkf__tensor_file_find(file, "a");
    vkf__block_source source = {&recording.host, checkpoint, stored, &slot, VKF_DTYPE_F32};
    bool known = row_bytes == vkf_dtype_block_bytes(VKF_DTYPE_Q8) || row_bytes == vkf_dtype_block_bytes(VKF_DTYPE_Q4);
    FUZZ_CHECK(vkf__stored_in_blocks(&slot, stored, &source.dtype) == known);
    if (known) {
        vkf_status status = vkf__rows_to_blocks(&source, 0, BLOCK_ROWS, values, blocks);
        FUZZ_CHECK(recording.messages == (status != VKF_OK));
        FUZZ_CHECK(status == VKF_ERROR_FORMAT ||
                   (status == VKF_OK && memcmp(blocks, stored->data, stored->size_bytes) == 0));
    }
    vkf__tensor_file_close(&file);
    vkf__checkpoint_close(&checkpoint);
    FUZZ_CHECK(recording.live == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    make_scratch();
    read_config(data, size_bytes);
    read_generation(data, size_bytes);
    read_modules(data, size_bytes);
    read_adapter(data, size_bytes);
    read_sentence_files(data, size_bytes);
    read_index(data, size_bytes);
    read_tokenizer_config(data, size_bytes);
    clean_text(data, size_bytes);
    read_blocks(data, size_bytes, (uint32_t)vkf_dtype_block_bytes(VKF_DTYPE_Q8));
    read_blocks(data, size_bytes, (uint32_t)vkf_dtype_block_bytes(VKF_DTYPE_Q4));
    read_blocks(data, size_bytes, size_bytes > 0 ? data[0] : 0);
    return 0;
}
