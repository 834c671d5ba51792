// Describes the sentence-transformers modules of a model.
#include "inspect/inspect_embedding.h"

#include <stdio.h>

#include "output/json_output.h"

typedef struct line {
    char text[256];
    size_t used;
} line;

static void add(line *l, const char *separator, const char *text)
{
    if (l->used < sizeof l->text)
        l->used += (size_t)snprintf(l->text + l->used, sizeof l->text - l->used, "%s%s", separator, text);
}

static void add_poolings(line *l, const vkf_embedding_module *module)
{
    static const char *const names[VKF_POOLING_COUNT] = {"mean", "mean_sqrt_len", "cls",
                                                         "last", "max",           "weighted_mean"};
    for (uint32_t i = 0; i < module->pooling_count; i++)
        add(l, i > 0 ? " + " : " ", names[module->poolings[i]]);
    if (module->without_prompt)
        add(l, " ", "without_prompt");
}

// Makes "pooling cls + mean 64" or "dense tanh 48".
static json_t *describe_module(const vkf_embedding_module *module)
{
    static const char *const kinds[VKF_EMBEDDING_MODULE_COUNT] = {"pooling", "dense", "layer_norm", "normalise"};
    static const char *const activations[VKF_ACTIVATION_COUNT] = {
        [VKF_ACTIVATION_NONE] = "identity",
        [VKF_ACTIVATION_RELU] = "relu",
        [VKF_ACTIVATION_GELU_ERF] = "gelu",
        [VKF_ACTIVATION_SILU] = "silu",
        [VKF_ACTIVATION_TANH] = "tanh",
        [VKF_ACTIVATION_SIGMOID] = "sigmoid",
        [VKF_ACTIVATION_MISH] = "mish",
        [VKF_ACTIVATION_HARD_SWISH] = "hardswish",
        [VKF_ACTIVATION_HARD_SIGMOID] = "hardsigmoid",
    };
    line l = {.used = 0};
    char dim[16];
    add(&l, "", kinds[module->kind]);
    if (module->kind == VKF_EMBEDDING_POOLING)
        add_poolings(&l, module);
    if (module->kind == VKF_EMBEDDING_DENSE)
        add(&l, " ", activations[module->activation]);
    (void)snprintf(dim, sizeof dim, "%u", module->dim);
    add(&l, " ", dim);
    return json_string(l.text);
}

static json_t *describe_prompts(const vkf_inspection *inspection)
{
    json_t *object = json_object();
    const vkf_embed_prompt *prompt;
    for (uint32_t i = 0; (prompt = vkf_inspection_get_prompt(inspection, i)); i++)
        vkf_json_put_string(object, prompt->name, prompt->text);
    return object;
}

json_t *vkf_describe_embedding(const vkf_inspection *inspection, const vkf_inspection_info *info,
                               const vkf_model_config *config)
{
    static const char *const similarities[VKF_SIMILARITY_COUNT] = {"cosine", "dot", "euclidean", "manhattan"};
    bool cut = info->truncate_dim > 0 && info->truncate_dim < config->embedding_dim;
    json_t *object = json_object(), *modules = json_array();
    for (uint32_t i = 0; i < config->embedding_module_count; i++)
        json_array_append_new(modules, describe_module(&config->embedding_modules[i]));
    json_object_set_new(object, "modules", modules);
    vkf_json_put_integer(object, "dim", cut ? info->truncate_dim : config->embedding_dim);
    vkf_json_put_integer(object, "cut_at_tokens", config->truncate_len);
    json_object_set_new(object, "lower_case", json_boolean(config->lower_case));
    vkf_json_put_string(object, "similarity", similarities[info->similarity]);
    json_object_set_new(object, "prompts", describe_prompts(inspection));
    if (info->default_prompt >= 0)
        vkf_json_put_string(object, "default_prompt",
                            vkf_inspection_get_prompt(inspection, (uint32_t)info->default_prompt)->name);
    return object;
}
