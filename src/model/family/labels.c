// Reads the names of a classifier's classes from id2label of config.json.
#include "model/family/labels.h"

#include <stdio.h>

#include "io/json_file.h"
#include "io/path.h"
#include "model/family/config.h"

uint32_t vkf__label_count(const json_t *root)
{
    size_t names = json_object_size(json_object_get(root, "id2label"));
    json_int_t number = json_integer_value(json_object_get(root, "num_labels")); // 0 where there is none
    if (names > 0)
        return names <= VKF_MAX_VOCAB ? (uint32_t)names : 2;
    return number > 0 && number <= (json_int_t)VKF_MAX_VOCAB ? (uint32_t)number : 2;
}

// Keys are numbers written as strings. A class without a name gets the one that transformers would give it.
static vkf_status fill_labels(const vkf__host *host, const json_t *names, char **labels, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char key[16], name[24];
        (void)snprintf(key, sizeof key, "%u", i);
        (void)snprintf(name, sizeof name, "LABEL_%u", i);
        const char *given = json_string_value(json_object_get(names, key));
        VKF_STRDUP_OR_RETURN(host, labels[i], given ? given : name);
    }
    return VKF_OK;
}

vkf_status vkf__labels_load(const vkf__host *host, const char *directory, char ***out_labels, uint32_t *out_count)
{
    vkf_status status = VKF_OK;
    char *path = NULL, **labels = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, directory, "config.json", &path));
    VKF_TRY(vkf__json_load(host, path, &root));
    const json_t *names = json_object_get(root, "id2label");
    uint32_t count = vkf__label_count(root);
    VKF_ALLOC(host, labels, count);
    status = fill_labels(host, names, labels, count);
    if (status != VKF_OK) {
        vkf__labels_free(host, labels, count);
        goto fail;
    }
    *out_labels = labels;
    *out_count = count;
fail:
    vkf__free(host, path);
    json_decref(root);
    return status;
}

void vkf__labels_free(const vkf__host *host, char **labels, uint32_t count)
{
    for (uint32_t i = 0; labels && i < count; i++)
        vkf__free(host, labels[i]);
    vkf__free(host, labels);
}
