// Writes JSON files.
#include "train/train_json.h"

#include <stdlib.h>

#include "io/new_file.h"
#include "io/path.h"

vkf_status vkf_train_json_write(const vkf__host *host, json_t *root, const char *directory, const char *name)
{
    vkf_status status = VKF_OK;
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL, *path = NULL;
    if (!text)
        VKF_TRY(vkf__no_memory(host, __func__, 1, 1));
    VKF_TRY(vkf__path_join(host, directory, name, &path));
    VKF_TRY(vkf__file_write(host, path, text, strlen(text)));
fail:
    vkf__free(host, path);
    free(text); // jansson's own
    json_decref(root);
    return status;
}
