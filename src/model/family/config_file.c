// Finds the family of config.json, and reads the format of the project's own models.
#include "model/family/config_file.h"

#include <string.h>

#include "io/json_file.h"
#include "model/family/families.h"

typedef struct u32_key {
    const char *key;
    uint32_t *value;
    uint32_t min, max;
} u32_key;

typedef struct bool_key {
    const char *key;
    bool *value;
} bool_key;

static vkf_status read_activation(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    const char *name = NULL;
    vkf_status status = vkf__json_string(host, path, root, "activation", &name);
    if (status != VKF_OK)
        return status;
    if (strcmp(name, "relu") == 0)
        config->activation = VKF_ACTIVATION_RELU;
    else if (strcmp(name, "gelu") == 0)
        config->activation = VKF_ACTIVATION_GELU_ERF;
    else
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: activation is \"%s\", expected \"relu\" or \"gelu\"", path, name);
    return VKF_OK;
}

static vkf_status read_ids(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    const struct {
        const char *key;
        int32_t *value;
    } ids[] = {
        {"pad_id", &config->pad_id},
        {"bos_id", &config->bos_id},
        {"eos_id", &config->eos_id},
        {"unk_id", &config->unk_id},
    };
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        uint32_t value = 0;
        VKF_RETURN_IF_ERROR(vkf__json_u32(host, path, root, ids[i].key, 0, VKF_MAX_VOCAB, &value));
        *ids[i].value = (int32_t)value;
    }
    return VKF_OK;
}

static vkf_status read_numbers(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    const u32_key numbers[] = {
        {"d_model", &config->d_model, 1, VKF_MAX_DIM},
        {"nhead", &config->num_heads, 1, VKF_MAX_DIM},
        {"dim_feedforward", &config->dim_feedforward, 1, VKF_MAX_DIM},
        {"num_encoder_layers", &config->num_encoder_layers, 0, VKF_MAX_LAYERS},
        {"num_decoder_layers", &config->num_decoder_layers, 0, VKF_MAX_LAYERS},
        {"src_vocab", &config->source_vocab, 1, VKF_MAX_VOCAB},
        {"tgt_vocab", &config->target_vocab, 1, VKF_MAX_VOCAB},
        {"max_source_len", &config->max_source_len, 1, VKF_MAX_LEN},
        {"max_len", &config->max_target_len, 2, VKF_MAX_LEN},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        VKF_RETURN_IF_ERROR(
            vkf__json_u32(host, path, root, numbers[i].key, numbers[i].min, numbers[i].max, numbers[i].value));
    const bool_key bools[] = {
        {"norm_first", &config->norm_first},
        {"share_embed", &config->share_embedding},
        {"tie_proj", &config->tie_projection},
        {"proj_bias", &config->projection_bias},
    };
    for (size_t i = 0; i < sizeof bools / sizeof bools[0]; i++)
        VKF_RETURN_IF_ERROR(vkf__json_bool(host, path, root, bools[i].key, bools[i].value));
    return vkf__read_eps(host, path, root, "layer_norm_eps", config);
}

// The project's own format, model_type "vkformer-seq2seq".
static vkf_status read_seq2seq(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    config->kind = VKF_MODEL_SEQ2SEQ;
    VKF_RETURN_IF_ERROR(read_numbers(host, path, root, config));
    VKF_RETURN_IF_ERROR(read_activation(host, path, root, config));
    return read_ids(host, path, root, config);
}

static vkf_status read_by_type(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config,
                               const vkf__family **out_family)
{
    const char *type = NULL;
    char families[256];
    vkf_status status = vkf__json_string(host, path, root, "model_type", &type);
    if (status != VKF_OK)
        return status;
    *out_family = vkf__family_find(type);
    if (*out_family)
        return vkf__family_config(host, path, root, *out_family, config);
    if (strcmp(type, "vkformer-seq2seq") == 0)
        return read_seq2seq(host, path, root, config);
    vkf__family_names(families, sizeof families);
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: model_type is \"%s\"; supported: vkformer-seq2seq, %s", path,
                     type, families);
}

// Refuses weights that another program has quantised, as their tensors are laid out differently. Those of
// `vkformer quantize` describe themselves.
static vkf_status check_quantization(const vkf__host *host, const char *path, const json_t *root)
{
    const json_t *quantization = json_object_get(root, "quantization_config");
    const char *method = NULL;
    if (!quantization || json_is_null(quantization))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__json_string(host, path, quantization, "quant_method", &method));
    if (strcmp(method, "vkformer") != 0)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "%s: quantization_config.quant_method \"%.100s\": take the model that is not quantised, and "
                         "quantise it while it is loaded, or by vkformer quantize",
                         path, method);
    return VKF_OK;
}

vkf_status vkf__config_load(const vkf__host *host, const char *path, vkf_model_config *out_config,
                            const vkf__family **out_family)
{
    vkf_status status = VKF_OK;
    json_t *root = NULL;
    vkf_model_config config = {0};
    const vkf__family *family = NULL;
    VKF_TRY(vkf__json_load(host, path, &root));
    VKF_TRY(check_quantization(host, path, root));
    VKF_TRY(read_by_type(host, path, root, &config, &family));
    vkf_model_config checked = config;
    if (family && checked.bos_id < 0) // generation_config.json may have it
        checked.bos_id = 0;
    status = vkf__config_check(host, &checked, path);
    if (status == VKF_ERROR_INVALID_ARGUMENT)
        status = VKF_ERROR_FORMAT;
    VKF_TRY(status);
    *out_config = config;
    *out_family = family;
fail:
    json_decref(root);
    return status;
}
