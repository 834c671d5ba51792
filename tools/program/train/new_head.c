// Makes the directory of a model with a head that its own directory lacks.
#include <stdio.h>
#include <string.h>

#include "io/json_file.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "train/new_files.h"
#include "train/new_model.h"
#include "train/train_json.h"

// ---- config.json

static bool add_class(json_t *names, json_t *ids, const char *name, uint32_t number)
{
    char key[16];
    (void)snprintf(key, sizeof key, "%u", number);
    return json_object_set_new(names, key, json_string(name)) == 0 &&
           json_object_set_new(ids, name, json_integer(number)) == 0;
}

static bool set_classes(json_t *root, const vkf_train_classes *classes)
{
    json_t *names = json_object(), *ids = json_object();
    bool set = names && ids;
    for (uint32_t i = 0; set && i < classes->count; i++)
        set = add_class(names, ids, classes->names[i], i);
    set = json_object_set_new(root, "id2label", names) == 0 && set;
    set = json_object_set_new(root, "label2id", ids) == 0 && set;
    (void)json_object_del(root, "num_labels"); // which transformers takes from id2label
    return set;
}

// Reads a config.json, and makes it that of a class with the head.
static vkf_status make_config(const vkf__host *host, const char *path, const vkf_train_goal *goal, json_t **out_root)
{
    json_t *root = NULL;
    const char *type = NULL;
    VKF_RETURN_IF_ERROR(vkf__json_load_as_written(host, path, &root));
    vkf_status status = vkf__json_string(host, path, root, "model_type", &type);
    const char *class = status == VKF_OK ? vkf_head_class(type, goal->drawn) : NULL;
    if (status == VKF_OK && !class)
        status = vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: a \"%s\" gets no head for classes here", path, type);
    bool set = class && json_object_set_new(root, "architectures", json_pack("[s]", class)) == 0;
    if (set && goal->classes.count > 0)
        set = set_classes(root, &goal->classes);
    if (set && goal->drawn == VKF_HEAD_SEQUENCE_CLASSIFICATION)
        set = json_object_set_new(root, "problem_type", json_string("single_label_classification")) == 0;
    if (status == VKF_OK && !set)
        status = vkf__no_memory(host, __func__, 1, 1);
    if (status == VKF_OK)
        *out_root = root;
    else
        json_decref(root);
    return status;
}

// ---- the directory

static vkf_status copy_tokens(const vkf__host *host, const char *from, const char *to)
{
    static const char *const names[] = {
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "vocab.txt",
        "vocab.json",
        "merges.txt",
        "sentencepiece.bpe.model",
        "spiece.model",
        "tokenizer.model",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        VKF_RETURN_IF_ERROR(vkf_new_file_copy(host, from, names[i], to, NULL));
    return VKF_OK;
}

static vkf_status write_files(const vkf__host *host, const vkf_train_config *config, const vkf_train_goal *goal,
                              const char *to)
{
    vkf_status status = VKF_OK;
    const char *from = goal->transformer;
    char *path = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, from, "config.json", &path));
    VKF_TRY(make_config(host, path, goal, &root));
    VKF_TRY(vkf_train_json_write(host, root, to, "config.json")); // releases it
    VKF_TRY(copy_tokens(host, from, to));
    VKF_TRY(vkf_new_weights_write(host, config, from, to));
fail:
    vkf__free(host, path);
    return status;
}

vkf_status vkf_new_head_write(const vkf__host *host, const vkf_train_config *config, const vkf_train_goal *goal,
                              const char *path)
{
    vkf_status status = VKF_OK;
    vkf__new_directory out = {0};
    VKF_TRY(vkf__new_directory_open(host, path, &out));
    VKF_TRY(write_files(host, config, goal, out.temporary));
    VKF_TRY(vkf__new_directory_commit(&out));
fail:
    vkf__new_directory_discard(&out);
    return status;
}
