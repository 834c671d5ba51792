// Finds a model's files, as transformers' from_pretrained() does where adapters are.
#include "model/load/model_place.h"

#include "base/system_file.h"
#include "io/checkpoint.h"
#include "io/directory.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/load/adapter.h"
#include "model/sentence/sentence_modules.h"

static vkf_status has(const vkf__host *host, const char *directory, const char *name, bool *out_has)
{
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, name, &path));
    *out_has = vkf__file_is_there(host, path);
    vkf__free(host, path);
    return VKF_OK;
}

static vkf_status has_model(const vkf__host *host, const char *directory, bool *out_has)
{
    VKF_RETURN_IF_ERROR(has(host, directory, "config.json", out_has));
    return *out_has ? vkf__checkpoint_is_there(host, directory, out_has) : VKF_OK;
}

// ---- an adapter's model

static bool is_directory(const char *path)
{
    vkf__file_info info;
    return vkf__path_info(path, &info) && info.kind == VKF_FILE_DIRECTORY;
}

static vkf_status read_name(const vkf__host *host, const char *directory, char **out_name)
{
    vkf_status status = VKF_OK;
    const char *name = NULL;
    char *path = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, VKF_ADAPTER_CONFIG, &path));
    VKF_TRY(vkf__json_load(host, path, &root));
    if (vkf__json_has(root, "base_model_name_or_path"))
        VKF_TRY(vkf__json_string(host, path, root, "base_model_name_or_path", &name));
    VKF_STRDUP(host, *out_name, name ? name : "");
fail:
    json_decref(root);
    vkf__free(host, path);
    return status;
}

// A path that is not absolute counts from the adapter's directory, or from the current one. A source of files has no
// directories.
static vkf_status find_path(const vkf__host *host, const char *directory, const char *name, char **out_path)
{
    vkf_status status = VKF_OK;
    char *beside = NULL;
    *out_path = NULL;
    if (host->files || !*name)
        return VKF_OK;
    if (!vkf__is_slash(*name))
        VKF_TRY(vkf__path_join(host, directory, name, &beside));
    if (beside && is_directory(beside)) {
        *out_path = beside;
        beside = NULL;
    } else if (is_directory(name)) {
        VKF_STRDUP(host, *out_path, name);
    }
fail:
    vkf__free(host, beside);
    return status;
}

// Whether the Transformer's directory has an adapter, and no model.
static vkf_status is_lone(const vkf__host *host, const char *transformer, bool *out_lone)
{
    bool whole = false;
    VKF_RETURN_IF_ERROR(has(host, transformer, VKF_ADAPTER_CONFIG, out_lone));
    if (*out_lone)
        VKF_RETURN_IF_ERROR(has_model(host, transformer, &whole));
    *out_lone = *out_lone && !whole;
    return VKF_OK;
}

vkf_status vkf__lone_adapter_base(const vkf__host *host, const char *directory, char **out_name, char **out_path)
{
    vkf_status status = VKF_OK;
    char *transformer = NULL, *name = NULL;
    bool lone = false;
    *out_name = *out_path = NULL;
    VKF_TRY(vkf__transformer_directory(host, directory, &transformer));
    VKF_TRY(is_lone(host, transformer, &lone));
    if (lone) {
        VKF_TRY(read_name(host, transformer, &name));
        VKF_TRY(find_path(host, transformer, name, out_path));
        *out_name = name;
        name = NULL;
    }
fail:
    vkf__free(host, transformer);
    vkf__free(host, name);
    return status;
}

static vkf_status fail_base(const vkf__host *host, const char *directory, const char *name)
{
    if (!*name)
        return vkf__fail(host, VKF_ERROR_FILE,
                         "%s: this is an adapter, and %s does not say of which model: name the model's directory, and "
                         "this one as its adapter (--adapter, adapter_directory)",
                         directory, VKF_ADAPTER_CONFIG);
    return vkf__fail(
        host, VKF_ERROR_FILE,
        "%s: this is an adapter of %.400s, which is no directory here: get that model, name its directory, "
        "and this one as its adapter (--adapter, adapter_directory)",
        directory, name);
}

// ---- places

static vkf_status place_lone(const vkf__host *host, const char *directory, vkf__model_place *place)
{
    vkf_status status = VKF_OK;
    char *name = NULL, *base = NULL;
    bool modules = false;
    VKF_TRY(vkf__lone_adapter_base(host, directory, &name, &base));
    if (!base)
        VKF_TRY(fail_base(host, directory, name));
    place->kind = VKF_ADAPTER_ALONE;
    VKF_TRY(vkf__transformer_directory(host, base, &place->transformer));
    VKF_TRY(has(host, directory, "modules.json", &modules));
    VKF_STRDUP(host, place->modules, modules ? directory : base);
fail:
    vkf__free(host, name);
    vkf__free(host, base);
    return status;
}

static vkf_status place_own(const vkf__host *host, const char *directory, vkf__model_place *place)
{
    vkf_status status = VKF_OK;
    char *transformer = NULL;
    bool adapter = false, lone = false;
    VKF_TRY(vkf__transformer_directory(host, directory, &transformer));
    VKF_TRY(has(host, transformer, VKF_ADAPTER_CONFIG, &adapter));
    VKF_TRY(is_lone(host, transformer, &lone));
    if (adapter)
        VKF_STRDUP(host, place->adapter, transformer);
    if (lone) {
        VKF_TRY(place_lone(host, directory, place));
    } else {
        place->kind = VKF_ADAPTER_BESIDE;
        VKF_STRDUP(host, place->modules, directory);
        place->transformer = transformer;
        transformer = NULL;
    }
fail:
    vkf__free(host, transformer);
    return status;
}

static bool is_same(const char *directory, const char *other)
{
    vkf__file_info a, b;
    return vkf__path_info(directory, &a) && vkf__path_info(other, &b) && a.device == b.device && a.number == b.number;
}

static vkf_status place_asked(const vkf__host *host, const char *directory, const char *adapter,
                              vkf__model_place *place)
{
    vkf_status status = VKF_OK;
    bool modules = false, own = false;
    VKF_TRY(vkf__transformer_directory(host, directory, &place->transformer));
    VKF_TRY(vkf__transformer_directory(host, adapter, &place->adapter));
    VKF_TRY(has(host, adapter, "modules.json", &modules));
    VKF_STRDUP(host, place->modules, modules ? adapter : directory);
    if (!host->files) // a source has the files of one adapter at most
        VKF_TRY(has(host, place->transformer, VKF_ADAPTER_CONFIG, &own));
    place->other_adapter = own && !is_same(place->transformer, place->adapter);
fail:
    return status;
}

vkf_status vkf__model_place_find(const vkf__host *host, const char *directory, const char *adapter_directory,
                                 vkf__model_place *out_place)
{
    vkf__model_place place = {.kind = VKF_ADAPTER_ASKED_FOR};
    VKF_RETURN_IF_ERROR(vkf__directory_check(host, directory));
    const vkf_status status = adapter_directory ? place_asked(host, directory, adapter_directory, &place)
                                                : place_own(host, directory, &place);
    if (status == VKF_OK)
        *out_place = place;
    else
        vkf__model_place_free(host, &place);
    return status;
}

void vkf__model_place_free(const vkf__host *host, vkf__model_place *place)
{
    vkf__free(host, place->transformer);
    vkf__free(host, place->modules);
    vkf__free(host, place->adapter);
    *place = (vkf__model_place){0};
}

void vkf__model_place_tell(const vkf__host *host, const vkf__model_place *place)
{
    if (place->other_adapter)
        vkf__log(host, VKF_SEVERITY_WARNING, "%s: the adapter in this directory is left out, as another one is added",
                 place->transformer);
    else if (place->adapter && place->kind == VKF_ADAPTER_BESIDE)
        vkf__log(host, VKF_SEVERITY_WARNING,
                 "%s: the adapter beside the model is added to its weights, as transformers does", place->adapter);
    else if (place->adapter && place->kind == VKF_ADAPTER_ALONE)
        vkf__log(host, VKF_SEVERITY_INFO, "%s: an adapter, which is added to the weights of %s", place->adapter,
                 place->transformer);
}
