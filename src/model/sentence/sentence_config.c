// Reads the config.json of each kind of module: Pooling, Dense, LayerNorm, Normalize.
#include "model/sentence/sentence_config.h"

#include <string.h>

#include "io/json_file.h"
#include "model/family/config.h"

typedef struct reader {
    const vkf__host *host;
    const char *path;
    const json_t *root;
    uint32_t in_dim;
} reader;

vkf_status vkf__sentence_keys_known(const vkf__host *host, const char *path, const json_t *root,
                                    const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)root, key, value)
    {
        size_t i = 0;
        while (known[i] && strcmp(known[i], key) != 0)
            i++;
        if (!known[i])
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: the key %.100s is not known", path, key);
    }
    return VKF_OK;
}

vkf_status vkf__sentence_key_is(const vkf__host *host, const char *path, const json_t *root, const char *key,
                                const char *expected)
{
    const json_t *value = json_object_get(root, key);
    const char *text = json_string_value(value);
    if (!value || json_is_null(value) || (text && strcmp(text, expected) == 0))
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: %s is \"%.100s\"; supported: \"%s\"", path, key,
                     text ? text : "(no string)", expected);
}

// Checks that a dimension in the file is what the module before this one gives. The file must have it if `required`.
static vkf_status check_dim(const reader *r, const char *key, bool required)
{
    vkf_status status = VKF_OK;
    uint32_t dim = r->in_dim;
    if (required || vkf__json_has(r->root, key))
        VKF_RETURN_IF_ERROR(vkf__json_u32(r->host, r->path, r->root, key, 1, VKF_MAX_DIM, &dim));
    if (dim != r->in_dim)
        status = vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: %s is %u, but the module before it gives %u", r->path, key,
                           dim, r->in_dim);
    return status;
}

// ---- Pooling

// The modes are in the order in which sentence-transformers concatenates the vectors of the older keys.
static const struct {
    const char *name, *older_key;
    vkf_pooling pooling;
} modes[] = {
    {"cls", "pooling_mode_cls_token", VKF_POOLING_FIRST},
    {"max", "pooling_mode_max_tokens", VKF_POOLING_MAX},
    {"mean", "pooling_mode_mean_tokens", VKF_POOLING_MEAN},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", VKF_POOLING_MEAN_SQRT},
    {"weightedmean", "pooling_mode_weightedmean_tokens", VKF_POOLING_WEIGHTED_MEAN},
    {"lasttoken", "pooling_mode_lasttoken", VKF_POOLING_LAST},
};
#define MODE_COUNT (sizeof modes / sizeof modes[0])

static vkf_status add_mode(const reader *r, const json_t *mode, vkf_embedding_module *module)
{
    const char *name = json_string_value(mode);
    if (!name)
        return vkf__fail(r->host, VKF_ERROR_FORMAT, "%s: pooling_mode is neither a string nor a list of strings",
                         r->path);
    for (size_t i = 0; i < MODE_COUNT; i++) {
        if (strcmp(name, modes[i].name) == 0) {
            module->poolings[module->pooling_count++] = modes[i].pooling;
            return VKF_OK;
        }
    }
    return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED,
                     "%s: pooling_mode \"%.100s\"; supported: cls, max, mean, mean_sqrt_len_tokens, weightedmean, "
                     "lasttoken",
                     r->path, name);
}

static vkf_status read_modes(const reader *r, const json_t *given, vkf_embedding_module *module)
{
    if (!json_is_array(given))
        return add_mode(r, given, module);
    size_t count = json_array_size(given);
    if (count == 0 || count > VKF_MAX_POOLINGS)
        return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED, "%s: pooling_mode has %zu modes, supported are 1 to %d",
                         r->path, count, VKF_MAX_POOLINGS);
    for (size_t i = 0; i < count; i++)
        VKF_RETURN_IF_ERROR(add_mode(r, json_array_get(given, i), module));
    return VKF_OK;
}

// Before 5.4 each mode had a key of its own. Where none of them is true the mode is the mean.
static vkf_status read_older_modes(const reader *r, vkf_embedding_module *module)
{
    for (size_t i = 0; i < MODE_COUNT; i++) {
        bool active = false;
        if (json_object_get(r->root, modes[i].older_key))
            VKF_RETURN_IF_ERROR(vkf__json_bool(r->host, r->path, r->root, modes[i].older_key, &active));
        if (active)
            module->poolings[module->pooling_count++] = modes[i].pooling;
    }
    if (module->pooling_count == 0)
        module->poolings[module->pooling_count++] = VKF_POOLING_MEAN;
    return VKF_OK;
}

static vkf_status read_pooling(const reader *r, vkf_embedding_module *module)
{
    static const char *const known[] = {"embedding_dimension",
                                        "word_embedding_dimension",
                                        "pooling_mode",
                                        "pooling_mode_cls_token",
                                        "pooling_mode_max_tokens",
                                        "pooling_mode_mean_tokens",
                                        "pooling_mode_mean_sqrt_len_tokens",
                                        "pooling_mode_weightedmean_tokens",
                                        "pooling_mode_lasttoken",
                                        "include_prompt",
                                        NULL};
    bool include_prompt = true;
    const json_t *given = json_object_get(r->root, "pooling_mode");
    VKF_RETURN_IF_ERROR(vkf__sentence_keys_known(r->host, r->path, r->root, known));
    VKF_RETURN_IF_ERROR(check_dim(r, "embedding_dimension", false));
    VKF_RETURN_IF_ERROR(check_dim(r, "word_embedding_dimension", false));
    VKF_RETURN_IF_ERROR(given ? read_modes(r, given, module) : read_older_modes(r, module));
    if (json_object_get(r->root, "include_prompt"))
        VKF_RETURN_IF_ERROR(vkf__json_bool(r->host, r->path, r->root, "include_prompt", &include_prompt));
    module->without_prompt = !include_prompt;
    module->dim = r->in_dim * module->pooling_count;
    return VKF_OK;
}

// ---- Dense

// PyTorch's classes by their last word, because the module path before it changes between releases.
static const struct {
    const char *name;
    vkf_activation activation;
} activations[] = {
    {"Identity", VKF_ACTIVATION_NONE},
    {"Tanh", VKF_ACTIVATION_TANH},
    {"ReLU", VKF_ACTIVATION_RELU},
    {"GELU", VKF_ACTIVATION_GELU_ERF},
    {"SiLU", VKF_ACTIVATION_SILU},
    {"Sigmoid", VKF_ACTIVATION_SIGMOID},
    {"Mish", VKF_ACTIVATION_MISH},
    {"Hardswish", VKF_ACTIVATION_HARD_SWISH},
    {"Hardsigmoid", VKF_ACTIVATION_HARD_SIGMOID},
};

static vkf_status read_activation(const reader *r, vkf_activation *out_activation)
{
    const char *type = NULL;
    *out_activation = VKF_ACTIVATION_TANH;
    if (!json_object_get(r->root, "activation_function"))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__json_string(r->host, r->path, r->root, "activation_function", &type));
    const char *dot = strrchr(type, '.');
    for (size_t i = 0; i < sizeof activations / sizeof activations[0]; i++) {
        if (strncmp(type, "torch.nn.", 9) == 0 && strcmp(dot + 1, activations[i].name) == 0) {
            *out_activation = activations[i].activation;
            return VKF_OK;
        }
    }
    return vkf__fail(r->host, VKF_ERROR_UNSUPPORTED,
                     "%s: activation_function \"%.100s\"; supported: Identity, Tanh, ReLU, GELU, SiLU, "
                     "Sigmoid, Mish, Hardswish and Hardsigmoid of torch.nn",
                     r->path, type);
}

static vkf_status read_dense(const reader *r, vkf_embedding_module *module)
{
    static const char *const known[] = {
        "in_features",       "out_features",       "bias",         "activation_function",
        "module_input_name", "module_output_name", "use_residual", NULL};
    bool residual = false;
    VKF_RETURN_IF_ERROR(vkf__sentence_keys_known(r->host, r->path, r->root, known));
    VKF_RETURN_IF_ERROR(vkf__sentence_key_is(r->host, r->path, r->root, "module_input_name", "sentence_embedding"));
    VKF_RETURN_IF_ERROR(vkf__sentence_key_is(r->host, r->path, r->root, "module_output_name", "sentence_embedding"));
    VKF_RETURN_IF_ERROR(check_dim(r, "in_features", true));
    VKF_RETURN_IF_ERROR(vkf__json_u32(r->host, r->path, r->root, "out_features", 1, VKF_MAX_DIM, &module->dim));
    module->bias = true;
    if (json_object_get(r->root, "bias"))
        VKF_RETURN_IF_ERROR(vkf__json_bool(r->host, r->path, r->root, "bias", &module->bias));
    if (json_object_get(r->root, "use_residual"))
        VKF_RETURN_IF_ERROR(vkf__json_bool(r->host, r->path, r->root, "use_residual", &residual));
    if (residual)
        VKF_RETURN_IF_ERROR(
            vkf__fail(r->host, VKF_ERROR_UNSUPPORTED, "%s: use_residual is true; supported: false", r->path));
    return read_activation(r, &module->activation);
}

// ---- the others

static vkf_status read_layer_norm(const reader *r, vkf_embedding_module *module)
{
    static const char *const known[] = {"dimension", NULL};
    VKF_RETURN_IF_ERROR(vkf__sentence_keys_known(r->host, r->path, r->root, known));
    VKF_RETURN_IF_ERROR(check_dim(r, "dimension", true));
    module->dim = r->in_dim;
    module->bias = true;
    return VKF_OK;
}

// Before 5.4 there was no such file, or it was empty.
static vkf_status read_normalize(const reader *r, vkf_embedding_module *module)
{
    VKF_RETURN_IF_ERROR(vkf__sentence_key_is(r->host, r->path, r->root, "module_input_name", "sentence_embedding"));
    VKF_RETURN_IF_ERROR(vkf__sentence_key_is(r->host, r->path, r->root, "module_output_name", "sentence_embedding"));
    module->dim = r->in_dim;
    return VKF_OK;
}

vkf_status vkf__sentence_config_read(const vkf__host *host, const char *path, const json_t *root,
                                     vkf__sentence_module_kind kind, uint32_t in_dim, vkf_embedding_module *out_module)
{
    static const struct {
        vkf__sentence_module_kind kind;
        vkf_embedding_module_kind module;
        vkf_status (*read)(const reader *r, vkf_embedding_module *module);
    } readers[] = {
        {VKF_SENTENCE_POOLING, VKF_EMBEDDING_POOLING, read_pooling},
        {VKF_SENTENCE_DENSE, VKF_EMBEDDING_DENSE, read_dense},
        {VKF_SENTENCE_LAYER_NORM, VKF_EMBEDDING_LAYER_NORM, read_layer_norm},
        {VKF_SENTENCE_NORMALIZE, VKF_EMBEDDING_NORMALISE, read_normalize},
    };
    const reader r = {host, path, root, in_dim};
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (readers[i].kind != kind)
            continue;
        vkf_embedding_module module = {.kind = readers[i].module};
        VKF_RETURN_IF_ERROR(readers[i].read(&r, &module));
        *out_module = module;
    }
    return VKF_OK;
}
