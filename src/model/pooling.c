#include "model/pooling.h"

#include <string.h>

#include "io/file_map.h"
#include "io/json_file.h"
#include "io/path.h"

// Its keys are booleans, one to a mode.
static const struct {
    const char *key;
    vkf_pooling pooling;
    bool known;
} modes[] = {
    {"pooling_mode_mean_tokens", VKF_POOLING_MEAN, true},
    {"pooling_mode_mean_sqrt_len_tokens", VKF_POOLING_MEAN_SQRT, true},
    {"pooling_mode_cls_token", VKF_POOLING_FIRST, true},
    {"pooling_mode_lasttoken", VKF_POOLING_LAST, true},
    {"pooling_mode_max_tokens", VKF_POOLING_MAX, true},
    {"pooling_mode_weightedmean_tokens", VKF_POOLING_MEAN, false},
};

static vkf_status read_pooling(const vkf__host *host, const char *path, const json_t *root, vkf_model_config *config)
{
    const char *chosen = NULL;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (!json_is_true(json_object_get(root, modes[i].key)))
            continue;
        if (chosen || !modes[i].known)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: %s%s%s is not supported", path, modes[i].key,
                             chosen ? " together with " : "", chosen ? chosen : "");
        chosen = modes[i].key;
        config->pooling = modes[i].pooling;
    }
    return chosen ? VKF_OK : vkf__fail(host, VKF_ERROR_FORMAT, "%s: no pooling_mode_... is true", path);
}

static vkf_status load_pooling(const vkf__host *host, const char *directory, const char *part, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    char *within = NULL, *path = NULL;
    json_t *root = NULL;
    if (!vkf__path_is_name(part))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s/modules.json: path \"%s\" leaves the directory", directory, part);
    VKF_TRY(vkf__path_join(host, directory, *part ? part : ".", &within));
    VKF_TRY(vkf__path_join(host, within, "config.json", &path));
    VKF_TRY(vkf__json_load(host, path, &root));
    VKF_TRY(read_pooling(host, path, root, config));
fail:
    vkf__free(host, within);
    vkf__free(host, path);
    json_decref(root);
    return status;
}

// "sentence_transformers.models.Pooling": the last word counts, as its module moves between releases.
static const char *class_of(const char *type)
{
    const char *dot = strrchr(type, '.');
    return dot ? dot + 1 : type;
}

static vkf_status apply_module(const vkf__host *host, const char *directory, const char *path, const json_t *module,
                               vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    const char *type = NULL, *part = NULL;
    if (!json_is_object(module))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: a module is no object", path);
    VKF_TRY(vkf__json_string(host, path, module, "type", &type));
    VKF_TRY(vkf__json_string(host, path, module, "path", &part));
    type = class_of(type);
    if (strcmp(type, "Pooling") == 0)
        return load_pooling(host, directory, part, config);
    if (strcmp(type, "Normalize") == 0)
        config->normalise = true;
    else if (strcmp(type, "Transformer") != 0)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: module \"%s\"; supported: Transformer, Pooling, Normalize",
                         path, type);
fail:
    return status;
}

static vkf_status load_modules(const vkf__host *host, const char *directory, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, "modules.json", &path));
    if (vkf__file_exists(path))
        VKF_TRY(vkf__json_load_array(host, path, &root));
    for (size_t i = 0; i < json_array_size(root); i++)
        VKF_TRY(apply_module(host, directory, path, json_array_get(root, i), config));
fail:
    vkf__free(host, path);
    json_decref(root);
    return status;
}

static vkf_status load_truncation(const vkf__host *host, const char *directory, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, "sentence_bert_config.json", &path));
    if (vkf__file_exists(path))
        VKF_TRY(vkf__json_load(host, path, &root));
    const json_t *value = json_object_get(root, "max_seq_length");
    if (value && !json_is_null(value))
        VKF_TRY(vkf__json_u32(host, path, root, "max_seq_length", 1, UINT32_MAX, &config->truncate_len));
    if (config->truncate_len > config->max_source_len)
        config->truncate_len = config->max_source_len;
fail:
    vkf__free(host, path);
    json_decref(root);
    return status;
}

vkf_status vkf__pooling_load(const vkf__host *host, const char *directory, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    vkf_model_config found = *config;
    found.pooling = VKF_POOLING_MEAN;
    found.normalise = false;
    found.truncate_len = found.max_source_len;
    VKF_TRY(load_modules(host, directory, &found));
    VKF_TRY(load_truncation(host, directory, &found));
    *config = found;
fail:
    return status;
}
