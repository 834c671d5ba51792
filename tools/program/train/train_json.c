// Writes JSON files.
#include "train/train_json.h"

#include <stdlib.h>

#include "base/new_file.h"
#include "io/path.h"

// With as few digits as give the same numbers when they are read again. free() releases it.
static char *text_of(const json_t *root)
{
    static const size_t digits[] = {9, 15, 17};
    char *text = NULL;
    for (size_t i = 0; i < sizeof digits / sizeof digits[0]; i++) {
        free(text);
        text = json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(digits[i]));
        json_t *again = text ? json_loads(text, 0, NULL) : NULL;
        const bool same = json_equal(root, again);
        json_decref(again);
        if (same)
            break;
    }
    return text;
}

vkf_status vkf_train_json_write(const vkf__host *host, json_t *root, const char *directory, const char *name)
{
    vkf_status status = VKF_OK;
    char *text = root ? text_of(root) : NULL, *path = NULL;
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
