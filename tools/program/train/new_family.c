// Files of a new model of one of Hugging Face's families.
#include <vkformer/embed.h>

#include "train/new_files.h"
#include "train/train_json.h"
#include "train/train_values.h"

#define INT(value) ((json_int_t)(value))

// ---- sizes

static json_t *sizes_of_gpt2(const vkf_train_config *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "n_embd", INT(c->d_model), "n_head", INT(c->nhead),
                     "n_inner", INT(c->dim_feedforward), "n_layer", INT(c->num_decoder_layers), "n_positions",
                     INT(c->max_len), "layer_norm_epsilon", 1e-5, "initializer_range", VKF_NEW_DEVIATION);
}

static json_t *sizes_of_llama(const vkf_train_config *c)
{
    const uint32_t kv_heads = c->num_kv_heads > 0 ? c->num_kv_heads : c->nhead;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:b, s:b, s:f}", "hidden_size", INT(c->d_model),
                     "num_attention_heads", INT(c->nhead), "num_key_value_heads", INT(kv_heads), "head_dim",
                     INT(c->d_model / c->nhead), "intermediate_size", INT(c->dim_feedforward), "num_hidden_layers",
                     INT(c->num_decoder_layers), "max_position_embeddings", INT(c->max_len), "rms_norm_eps", 1e-6,
                     "rope_theta", 10000.0, "attention_bias", 0, "mlp_bias", 0, "initializer_range", VKF_NEW_DEVIATION);
}

static json_t *sizes_of_bert(const vkf_train_config *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:i, s:f, s:f}", "hidden_size", INT(c->d_model), "num_attention_heads",
                     INT(c->nhead), "intermediate_size", INT(c->dim_feedforward), "num_hidden_layers",
                     INT(c->num_encoder_layers), "max_position_embeddings", INT(c->max_source_len), "type_vocab_size",
                     2, "layer_norm_eps", 1e-12, "initializer_range", VKF_NEW_DEVIATION);
}

static json_t *sizes_of_bart(const vkf_train_config *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:f}", "d_model", INT(c->d_model),
                     "encoder_attention_heads", INT(c->nhead), "decoder_attention_heads", INT(c->nhead),
                     "encoder_ffn_dim", INT(c->dim_feedforward), "decoder_ffn_dim", INT(c->dim_feedforward),
                     "encoder_layers", INT(c->num_encoder_layers), "num_hidden_layers", INT(c->num_encoder_layers),
                     "decoder_layers", INT(c->num_decoder_layers), "max_position_embeddings", INT(c->max_len),
                     "is_encoder_decoder", 1, "scale_embedding", 0, "init_std", VKF_NEW_DEVIATION);
}

static const struct new_family {
    const char *architecture;
    json_t *(*sizes)(const vkf_train_config *);
    const char *activation_key, *activation; // and what it is unless the settings say
} families[VKF_TRAIN_MODEL_TYPE_COUNT] = {
    [VKF_TRAIN_GPT2] = {"GPT2LMHeadModel", sizes_of_gpt2, "activation_function", "gelu_new"},
    [VKF_TRAIN_LLAMA] = {"LlamaForCausalLM", sizes_of_llama, "hidden_act", "silu"},
    [VKF_TRAIN_BERT] = {"BertForMaskedLM", sizes_of_bert, "hidden_act", "gelu"},
    [VKF_TRAIN_BART] = {"BartForConditionalGeneration", sizes_of_bart, "activation_function", "gelu"},
};

// ---- tokens

static vkf_status check_ids(const vkf__host *host, const vkf_train_config *config, const vkf_special_tokens *ids)
{
    const bool masks = config->model_type == VKF_TRAIN_BERT;
    if (masks ? ids->mask_id >= 0 : ids->eos_id >= 0)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: the tokenizer has no %s_token (tokenizer_config.json), with which a new %s %s",
                     config->tokenizer, masks ? "mask" : "eos",
                     vkf_train_choice(VKF_TRAIN_KIND_MODEL_TYPE, config->model_type),
                     masks ? "hides words" : "ends its texts");
}

static vkf_status load_tokens(const vkf__host *host, const vkf_train_config *config, vkf_special_tokens *out_ids,
                              uint32_t *out_vocab)
{
    const vkf_tokenizer_desc desc = {
        .path = config->tokenizer, .message = host->message, .message_user = host->message_user};
    vkf_tokenizer *tokenizer = NULL;
    VKF_RETURN_IF_ERROR(vkf_tokenizer_load(&desc, &tokenizer));
    *out_vocab = vkf_tokenizer_get_vocab_size(tokenizer);
    const vkf_status status = vkf_tokenizer_read_special_tokens(tokenizer, config->tokenizer, out_ids);
    vkf_tokenizer_destroy(&tokenizer);
    VKF_RETURN_IF_ERROR(status);
    return check_ids(host, config, out_ids);
}

// ---- config.json

static const char *activation_of(const vkf_train_config *config)
{
    return config->origins[VKF_TRAIN_ACTIVATION] == VKF_TRAIN_DEFAULT
               ? families[config->model_type].activation
               : vkf_train_choice(VKF_TRAIN_KIND_ACTIVATION, config->activation);
}

static json_t *id_json(int32_t id)
{
    return id >= 0 ? json_integer(id) : json_null();
}

// Ids that there are none of are null: transformers has defaults for what is absent.
static json_t *config_of(const vkf_train_config *config, const vkf_special_tokens *ids, uint32_t vocab)
{
    const struct new_family *family = &families[config->model_type];
    const bool tied = config->model_type != VKF_TRAIN_LLAMA || config->tie_proj;
    json_t *root =
        json_pack("{s:s, s:[s], s:s, s:I, s:s, s:b, s:o, s:o, s:o}", "model_type",
                  vkf_train_choice(VKF_TRAIN_KIND_MODEL_TYPE, config->model_type), "architectures",
                  family->architecture, "torch_dtype", "float32", "vocab_size", INT(vocab), family->activation_key,
                  activation_of(config), "tie_word_embeddings", tied, "bos_token_id", id_json(ids->bos_id),
                  "eos_token_id", id_json(ids->eos_id), "pad_token_id", id_json(ids->pad_id));
    json_t *sizes = family->sizes(config);
    bool made = root && json_object_update(root, sizes) == 0;
    if (config->model_type == VKF_TRAIN_BART) // as BART's own: a target begins with what ends a text
        made = made && json_object_set_new(root, "decoder_start_token_id", id_json(ids->eos_id)) == 0 &&
               json_object_set_new(root, "forced_eos_token_id", id_json(ids->eos_id)) == 0;
    json_decref(sizes);
    if (made)
        return root;
    json_decref(root);
    return NULL;
}

vkf_status vkf_new_family_files(const vkf__host *host, const vkf_train_config *config, const char *directory)
{
    static const char *const beside[] = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"};
    bool there = false;
    vkf_special_tokens ids;
    uint32_t vocab = 0;
    VKF_RETURN_IF_ERROR(vkf_new_file_copy(host, config->tokenizer, "tokenizer.json", directory, &there));
    if (!there)
        return vkf__fail(host, VKF_ERROR_FILE, "%s/tokenizer.json is not there: a new %s takes its tokens from it",
                         config->tokenizer, vkf_train_choice(VKF_TRAIN_KIND_MODEL_TYPE, config->model_type));
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++)
        VKF_RETURN_IF_ERROR(vkf_new_file_copy(host, config->tokenizer, beside[i], directory, NULL));
    VKF_RETURN_IF_ERROR(load_tokens(host, config, &ids, &vocab));
    return vkf_train_json_write(host, config_of(config, &ids, vocab), directory, "config.json");
}
