// Reads modules.json, the configurations of its modules, and where their weights are.
#include "model/sentence/sentence_modules.h"

#include <stdio.h>
#include <string.h>

#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/sentence/sentence_config.h"

static const struct {
    const char *name;
    vkf__sentence_module_kind kind;
} kinds[] = {
    {"Transformer", VKF_SENTENCE_TRANSFORMER}, {"Pooling", VKF_SENTENCE_POOLING},     {"Dense", VKF_SENTENCE_DENSE},
    {"LayerNorm", VKF_SENTENCE_LAYER_NORM},    {"Normalize", VKF_SENTENCE_NORMALIZE}, {"Dropout", VKF_SENTENCE_DROPOUT},
};

// In "sentence_transformers.models.Pooling" only the last word counts, because the module path changes between
// releases. A type from another package is code of the directory's own, which is not run.
static vkf__sentence_module_kind kind_of(const char *type)
{
    static const char package[] = "sentence_transformers.";
    if (strncmp(type, package, sizeof package - 1) != 0)
        return VKF_SENTENCE_UNKNOWN;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(strrchr(type, '.') + 1, kinds[i].name) == 0)
            return kinds[i].kind;
    return VKF_SENTENCE_UNKNOWN;
}

static vkf_status read_module(const vkf__host *host, const char *path, const json_t *object,
                              vkf__sentence_module *out_module)
{
    const char *type = NULL, *folder = NULL;
    if (!json_is_object(object))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: a module is no object", path);
    VKF_RETURN_IF_ERROR(vkf__json_string(host, path, object, "type", &type));
    VKF_RETURN_IF_ERROR(vkf__json_string(host, path, object, "path", &folder));
    if (!vkf__path_is_name(folder))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: path \"%.200s\" leaves the directory", path, folder);
    if (strlen(folder) >= sizeof out_module->folder)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: path \"%.200s\" has more than %zu bytes", path, folder,
                         sizeof out_module->folder - 1);
    out_module->kind = kind_of(type);
    (void)snprintf(out_module->type, sizeof out_module->type, "%.95s", type);
    memcpy(out_module->folder, folder, strlen(folder) + 1);
    return VKF_OK;
}

static vkf_status read_list(const vkf__host *host, const char *path, vkf__sentence_list *list)
{
    vkf_status status = VKF_OK;
    json_t *root = NULL;
    VKF_TRY(vkf__json_load_array(host, path, &root));
    if (json_array_size(root) > VKF_MAX_SENTENCE_MODULES)
        VKF_TRY(vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: there are %zu modules, supported are %d", path,
                          json_array_size(root), VKF_MAX_SENTENCE_MODULES));
    for (; list->count < json_array_size(root); list->count++)
        VKF_TRY(read_module(host, path, json_array_get(root, list->count), &list->modules[list->count]));
fail:
    json_decref(root);
    return status;
}

// A CrossEncoder is a Transformer with a head and makes no embeddings of its own. Asked for some, it gives the mean of
// the hidden states, like a directory without modules.
static vkf_status read_kind(const vkf__host *host, const char *directory, bool *out_embeds)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, "config_sentence_transformers.json", &path));
    if (vkf__file_is_there(host, path))
        VKF_TRY(vkf__json_load(host, path, &root));
    const char *type = json_string_value(json_object_get(root, "model_type"));
    *out_embeds = !type || strcmp(type, "CrossEncoder") != 0;
    if (type && *out_embeds && strcmp(type, "SentenceTransformer") != 0)
        status = vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                           "%s: model_type \"%.100s\"; supported: SentenceTransformer, CrossEncoder", path, type);
fail:
    vkf__free(host, path);
    json_decref(root);
    return status;
}

vkf_status vkf__sentence_list_load(const vkf__host *host, const char *directory, vkf__sentence_list *out_list)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    vkf__sentence_list list = {.count = 0};
    VKF_TRY(vkf__path_join(host, directory, "modules.json", &path));
    if (vkf__file_is_there(host, path)) {
        VKF_TRY(read_list(host, path, &list));
        VKF_TRY(read_kind(host, directory, &list.embeds));
    }
    *out_list = list;
fail:
    vkf__free(host, path);
    return status;
}

vkf_status vkf__transformer_directory(const vkf__host *host, const char *directory, char **out_path)
{
    vkf__sentence_list list;
    const char *folder = "";
    VKF_RETURN_IF_ERROR(vkf__sentence_list_load(host, directory, &list));
    for (uint32_t i = list.count; i-- > 0;)
        if (list.modules[i].kind == VKF_SENTENCE_TRANSFORMER)
            folder = list.modules[i].folder;
    if (*folder)
        return vkf__path_join(host, directory, folder, out_path);
    VKF_STRDUP_OR_RETURN(host, *out_path, directory);
    return VKF_OK;
}

// ---- the modules and their directories

// Reads "directory/folder/config.json". Normalize needs no such file, as it has nothing to configure.
static vkf_status load_config(const vkf__host *host, const char *directory, const vkf__sentence_module *module,
                              uint32_t in_dim, vkf_embedding_module *out_module)
{
    vkf_status status = VKF_OK;
    char *within = NULL, *path = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, *module->folder ? module->folder : ".", &within));
    VKF_TRY(vkf__path_join(host, within, "config.json", &path));
    if (module->kind != VKF_SENTENCE_NORMALIZE || (*module->folder && vkf__file_is_there(host, path)))
        VKF_TRY(vkf__json_load(host, path, &root));
    VKF_TRY(vkf__sentence_config_read(host, path, root, module->kind, in_dim, out_module));
fail:
    vkf__free(host, within);
    vkf__free(host, path);
    json_decref(root);
    return status;
}

static vkf_status add_module(const vkf__host *host, const char *directory, const vkf__sentence_module *module,
                             vkf__model_source *source)
{
    vkf_model_config *config = &source->config;
    uint32_t index = config->embedding_module_count;
    if (index == VKF_MAX_EMBEDDING_MODULES)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s/modules.json: more than %d modules behind the Transformer",
                         directory, VKF_MAX_EMBEDDING_MODULES);
    if ((index == 0) != (module->kind == VKF_SENTENCE_POOLING))
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "%s/modules.json: module \"%s\"; Pooling stands once, behind the Transformer", directory,
                         module->type);
    vkf_embedding_module *made = &config->embedding_modules[index];
    VKF_RETURN_IF_ERROR(load_config(host, directory, module, index > 0 ? made[-1].dim : config->d_model, made));
    memcpy(source->modules[index].folder, module->folder, sizeof module->folder);
    config->embedding_module_count++;
    config->embedding_dim = made->dim;
    return VKF_OK;
}

static vkf_status add_modules(const vkf__host *host, const char *directory, const vkf__sentence_list *list,
                              vkf__model_source *source)
{
    vkf_status status = VKF_OK;
    for (uint32_t i = 0; i < list->count; i++) {
        const vkf__sentence_module *module = &list->modules[i];
        if (module->kind == VKF_SENTENCE_UNKNOWN || (i == 0) != (module->kind == VKF_SENTENCE_TRANSFORMER))
            return vkf__fail(
                host, VKF_ERROR_UNSUPPORTED,
                "%s/modules.json: module \"%s\"; supported: sentence_transformers' Transformer, first, and "
                "Pooling, Dense, LayerNorm, Normalize, Dropout",
                directory, module->type);
        if (module->kind != VKF_SENTENCE_TRANSFORMER && module->kind != VKF_SENTENCE_DROPOUT)
            VKF_RETURN_IF_ERROR(add_module(host, directory, module, source));
    }
    if (source->config.embedding_module_count == 0)
        status = vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s/modules.json: there is no Pooling", directory);
    return status;
}

vkf_status vkf__sentence_modules_load(const vkf__host *host, const char *directory, const vkf__sentence_list *list,
                                      vkf__model_source *source)
{
    vkf__model_source found = *source;
    vkf_model_config *config = &found.config;
    config->embedding_module_count = 0;
    if (list->embeds) {
        VKF_RETURN_IF_ERROR(add_modules(host, directory, list, &found));
    } else {
        config->embedding_modules[0] = (vkf_embedding_module){.dim = config->d_model, .pooling_count = 1};
        config->embedding_module_count = 1;
        config->embedding_dim = config->d_model;
    }
    *source = found;
    return VKF_OK;
}

// ---- their weights

// The names of a module's weight and bias; NULL where its kind has no weights.
static const char *const *names_of(vkf_embedding_module_kind kind)
{
    static const char *const names[VKF_EMBEDDING_MODULE_COUNT][2] = {
        [VKF_EMBEDDING_DENSE] = {"linear.weight", "linear.bias"},
        [VKF_EMBEDDING_LAYER_NORM] = {"norm.weight", "norm.bias"},
    };
    return names[kind];
}

static vkf_status check_names(const vkf__host *host, const vkf__checkpoint *checkpoint,
                              const vkf_embedding_module *module)
{
    const char *const *names = names_of(module->kind);
    const vkf__stored_tensor *tensor;
    for (size_t i = 0; (tensor = vkf__checkpoint_at(checkpoint, i)); i++)
        if (strcmp(tensor->name, names[0]) != 0 && (!module->bias || strcmp(tensor->name, names[1]) != 0))
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: tensor %s is none of the module's",
                             vkf__checkpoint_path(checkpoint), tensor->name);
    return VKF_OK;
}

vkf_status vkf__sentence_weights_open(const vkf__host *host, const char *directory, vkf__model_source *source)
{
    vkf_status status = VKF_OK;
    char *within = NULL;
    for (uint32_t i = 0; i < source->config.embedding_module_count; i++) {
        const vkf_embedding_module *module = &source->config.embedding_modules[i];
        vkf__module_source *from = &source->modules[i];
        if (!names_of(module->kind)[0])
            continue;
        vkf__free(host, within);
        within = NULL;
        VKF_TRY(vkf__path_join(host, directory, *from->folder ? from->folder : ".", &within));
        VKF_TRY(vkf__checkpoint_open(host, within, &from->checkpoint));
        VKF_TRY(check_names(host, from->checkpoint, module));
    }
fail:
    vkf__free(host, within);
    return status;
}

void vkf__sentence_weights_close(vkf__model_source *source)
{
    for (uint32_t i = 0; i < VKF_MAX_EMBEDDING_MODULES; i++)
        vkf__checkpoint_close(&source->modules[i].checkpoint);
}

// The slot of a module's tensor. These are small compared to the model, so they are kept in f32 whatever its precision.
static vkf__weight_slot slot_of(const vkf__module_source *from, const char *name, uint32_t rows, uint32_t cols,
                                vkf_tensor *target)
{
    vkf__weight_slot slot = {
        .rank = cols > 0 ? 2 : 1,
        .shape = {rows, cols},
        .f32 = true,
        .target = target,
        .checkpoint = from->checkpoint,
    };
    (void)snprintf(slot.name, sizeof slot.name, "%s", name);
    return slot;
}

size_t vkf__sentence_slots(const vkf__model_source *source, vkf__weights *weights, vkf__weight_slot *slots)
{
    size_t count = 0;
    for (uint32_t i = 0; i < source->config.embedding_module_count; i++) {
        const vkf_embedding_module *module = &source->config.embedding_modules[i];
        const char *const *names = names_of(module->kind);
        const vkf__module_source *from = &source->modules[i];
        uint32_t in = module->kind == VKF_EMBEDDING_DENSE ? module[-1].dim : 0;
        if (names[0] && slots)
            slots[count] = slot_of(from, names[0], module->dim, in, &weights->modules[i].weight);
        if (names[0] && module->bias && slots)
            slots[count + 1] = slot_of(from, names[1], module->dim, 0, &weights->modules[i].bias);
        count += names[0] ? 1 + (size_t)module->bias : 0;
    }
    return count;
}
