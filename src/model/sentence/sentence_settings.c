// Reads prompts, similarity and truncation from config_sentence_transformers.json.
#include "model/sentence/sentence_settings.h"

#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/sentence/sentence_modules.h"

void vkf__sentence_settings_free(const vkf__host *host, vkf__sentence_settings *settings)
{
    for (uint32_t i = 0; i < settings->prompt_count; i++) {
        vkf__free(host, (char *)settings->prompts[i].name);
        vkf__free(host, (char *)settings->prompts[i].text);
    }
    vkf__free(host, settings->prompts);
    *settings = (vkf__sentence_settings){0};
}

const vkf_embed_prompt *vkf__sentence_prompt(const vkf__sentence_settings *settings, const char *name)
{
    for (uint32_t i = 0; i < settings->prompt_count; i++)
        if (strcmp(settings->prompts[i].name, name) == 0)
            return &settings->prompts[i];
    return NULL;
}

static vkf_status add_prompt(const vkf__host *host, const char *name, const char *text,
                             vkf__sentence_settings *settings)
{
    vkf_embed_prompt *prompt = &settings->prompts[settings->prompt_count++];
    VKF_STRDUP_OR_RETURN(host, prompt->name, name);
    VKF_STRDUP_OR_RETURN(host, prompt->text, text);
    return VKF_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const vkf_embed_prompt *)a)->name, ((const vkf_embed_prompt *)b)->name);
}

// A prompt may be null, which is read as an empty one.
static vkf_status read_prompts(const vkf__host *host, const char *path, const json_t *root,
                               vkf__sentence_settings *settings)
{
    static const char *const usual[] = {"query", "document"};
    json_t *prompts = json_object_get(root, "prompts"), *value;
    const char *name;
    if (prompts && !json_is_object(prompts))
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: prompts is no object", path);
    VKF_ALLOC_OR_RETURN(host, settings->prompts, json_object_size(prompts) + 2);
    json_object_foreach(prompts, name, value)
    {
        if (!json_is_string(value) && !json_is_null(value))
            return vkf__fail(host, VKF_ERROR_FORMAT, "%s: the prompt \"%.100s\" is no string", path, name);
        VKF_RETURN_IF_ERROR(add_prompt(host, name, json_is_string(value) ? json_string_value(value) : "", settings));
    }
    for (size_t i = 0; i < 2; i++)
        if (!vkf__sentence_prompt(settings, usual[i]))
            VKF_RETURN_IF_ERROR(add_prompt(host, usual[i], "", settings));
    qsort(settings->prompts, settings->prompt_count, sizeof *settings->prompts, by_name);
    return VKF_OK;
}

static vkf_status read_default(const vkf__host *host, const char *path, const json_t *root,
                               vkf__sentence_settings *settings)
{
    const char *name = NULL;
    settings->default_prompt = -1;
    if (!vkf__json_has(root, "default_prompt_name"))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__json_string(host, path, root, "default_prompt_name", &name));
    const vkf_embed_prompt *prompt = vkf__sentence_prompt(settings, name);
    if (!prompt)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: default_prompt_name \"%.100s\" is none of its prompts", path,
                         name);
    settings->default_prompt = (int32_t)(prompt - settings->prompts);
    return VKF_OK;
}

static vkf_status read_similarity(const vkf__host *host, const char *path, const json_t *root,
                                  vkf_similarity *out_similarity)
{
    static const char *const names[VKF_SIMILARITY_COUNT] = {"cosine", "dot", "euclidean", "manhattan"};
    const char *name = NULL;
    *out_similarity = VKF_SIMILARITY_COSINE;
    if (!vkf__json_has(root, "similarity_fn_name"))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__json_string(host, path, root, "similarity_fn_name", &name));
    for (int i = 0; i < VKF_SIMILARITY_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out_similarity = (vkf_similarity)i;
            return VKF_OK;
        }
    }
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: similarity_fn_name \"%.100s\"; supported: cosine, dot, euclidean, manhattan", path, name);
    return VKF_OK;
}

static vkf_status read(const vkf__host *host, const char *path, const json_t *root, vkf__sentence_settings *settings)
{
    VKF_RETURN_IF_ERROR(read_prompts(host, path, root, settings));
    VKF_RETURN_IF_ERROR(read_default(host, path, root, settings));
    VKF_RETURN_IF_ERROR(read_similarity(host, path, root, &settings->similarity));
    if (vkf__json_has(root, "truncate_dim"))
        VKF_RETURN_IF_ERROR(vkf__json_u32(host, path, root, "truncate_dim", 1, UINT32_MAX, &settings->truncate_dim));
    return VKF_OK;
}

vkf_status vkf__sentence_settings_load(const vkf__host *host, const char *directory,
                                       vkf__sentence_settings *out_settings)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    json_t *root = NULL;
    vkf__sentence_list list;
    vkf__sentence_settings settings = {0};
    VKF_TRY(vkf__sentence_list_load(host, directory, &list));
    VKF_TRY(vkf__path_join(host, directory, "config_sentence_transformers.json", &path));
    if (list.embeds && vkf__file_is_there(host, path))
        VKF_TRY(vkf__json_load(host, path, &root));
    VKF_TRY(read(host, path, root, &settings));
    *out_settings = settings;
    settings = (vkf__sentence_settings){0};
fail:
    vkf__sentence_settings_free(host, &settings);
    vkf__free(host, path);
    json_decref(root);
    return status;
}
