#include "model/model_directory.h"

#include "io/file_map.h"
#include "io/json_file.h"
#include "io/path.h"
#include "model/family.h"
#include "model/pooling.h"

// generation_config.json may know more tokens that end a text than config.json does.
static vkf_status load_generation(const vkf__host *host, const char *directory, vkf_model_config *config)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, "generation_config.json", &path));
    if (!vkf__file_exists(path))
        goto fail;
    VKF_TRY(vkf__json_load(host, path, &root));
    VKF_TRY(vkf__read_eos(host, path, root, config));
fail:
    vkf__free(host, path);
    json_decref(root);
    return status;
}

vkf_status vkf__model_directory_load(const vkf__host *host, const char *directory, vkf__model_source *out_source)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    vkf__model_source source = {0};
    VKF_TRY(vkf__path_join(host, directory, "config.json", &path));
    VKF_TRY(vkf__config_load(host, path, &source.config, &source.family));
    if (source.config.kind == VKF_MODEL_ENCODER)
        VKF_TRY(vkf__pooling_load(host, directory, &source.config));
    if (source.config.kind == VKF_MODEL_DECODER)
        VKF_TRY(load_generation(host, directory, &source.config));
    *out_source = source;
fail:
    vkf__free(host, path);
    return status;
}
