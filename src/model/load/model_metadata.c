// Keeps what a model's files say of it, and finds it by key.
#include "model/load/model_metadata.h"

#include <string.h>

#include "io/json_file.h"
#include "io/path.h"
#include "model/load/model_place.h"

static vkf_status load_config(const vkf__host *host, const char *directory, json_t **out_root)
{
    vkf_status status = VKF_OK;
    vkf__model_place place;
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf__model_place_find(host, directory, NULL, &place));
    VKF_TRY(vkf__path_join(host, place.transformer, "config.json", &path));
    VKF_TRY(vkf__json_load(host, path, out_root));
fail:
    vkf__model_place_free(host, &place);
    vkf__free(host, path);
    return status;
}

vkf_status vkf__model_metadata_load(const vkf__host *host, const char *directory, const vkf__checkpoint *checkpoint,
                                    vkf__model_metadata *out_metadata)
{
    *out_metadata = (vkf__model_metadata){0};
    if (directory)
        VKF_RETURN_IF_ERROR(load_config(host, directory, &out_metadata->config));
    out_metadata->weights = vkf__checkpoint_metadata(checkpoint);
    return out_metadata->weights
               ? VKF_OK
               : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory for a model's metadata");
}

void vkf__model_metadata_free(vkf__model_metadata *metadata)
{
    json_decref(metadata->config);
    json_decref(metadata->weights);
    *metadata = (vkf__model_metadata){0};
}

// A member, or one of a member that is an object: each dot of the key may be part of a name or stand between two.
static const json_t *find(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    for (const char *dot = strchr(key, '.'); !value && dot; dot = strchr(dot + 1, '.')) {
        const json_t *inner = json_object_getn(object, key, (size_t)(dot - key));
        value = inner ? find(inner, dot + 1) : NULL;
    }
    return value;
}

const json_t *vkf__model_metadata_find(const vkf__model_metadata *metadata, const char *key)
{
    const json_t *value = find(metadata->config, key);
    return value ? value : json_object_get(metadata->weights, key);
}
