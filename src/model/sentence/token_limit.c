// Reads the limit on tokens from tokenizer_config.json.
#include "model/sentence/token_limit.h"

#include "io/file.h"
#include "io/path.h"

vkf_status vkf__model_json_load(const vkf__host *host, const char *directory, const char *name, json_t **out_root)
{
    vkf_status status = VKF_OK;
    char *path = NULL;
    VKF_TRY(vkf__path_join(host, directory, name, &path));
    if (vkf__file_is_there(host, path))
        VKF_TRY(vkf__json_load(host, path, out_root));
fail:
    vkf__free(host, path);
    return status;
}

// A file without a limit has a huge number here. Older files call the key max_len.
uint32_t vkf__token_limit_of(const json_t *config)
{
    const json_t *given = json_object_get(config, "model_max_length");
    if (!given)
        given = json_object_get(config, "max_len");
    double length = json_number_value(given);
    return length >= 1 && length < (double)UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

vkf_status vkf__token_limit_load(const vkf__host *host, const char *directory, uint32_t *out_limit)
{
    json_t *config = NULL;
    vkf_status status = vkf__model_json_load(host, directory, "tokenizer_config.json", &config);
    if (status == VKF_OK)
        *out_limit = vkf__token_limit_of(config);
    json_decref(config);
    return status;
}
