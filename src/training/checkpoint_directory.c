// Makes the directory of a checkpoint, at once.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/new_file.h"
#include "base/system_file.h"
#include "io/file.h"
#include "io/json_file.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "model/sentence/sentence_modules.h"
#include "training/train_checkpoint.h"

#define MAX_COPIED_BYTES ((size_t)256 << 20) // of a tokenizer's file

// ---- the files of a model beside its weights

// Whether a file belongs to a model, by its name: what is read here or by transformers. Indices are those of weights
// in several files, which become one.
static bool is_models(const char *name)
{
    static const char *const endings[] = {".json", ".txt", ".model", ".spm", ".jinja", ".md"};
    const char *dot = strrchr(name, '.');
    if (strstr(name, ".index.json") || name[0] == '.')
        return false;
    for (size_t i = 0; dot && i < sizeof endings / sizeof endings[0]; i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return strcmp(name, "LICENSE") == 0;
}

static vkf_status copy_file(const vkf__host *host, const char *from_directory, const char *name,
                            const char *to_directory)
{
    vkf_status status = VKF_OK;
    char *from = NULL, *to = NULL;
    vkf__file_bytes bytes = {0};
    vkf__file_info info;
    VKF_TRY(vkf__path_join(host, from_directory, name, &from));
    VKF_TRY(vkf__path_join(host, to_directory, name, &to));
    if (vkf__path_info(from, &info) && info.kind == VKF_FILE_REGULAR) {
        VKF_TRY(vkf__file_read(host, from, MAX_COPIED_BYTES, &bytes));
        VKF_TRY(vkf__file_write(host, to, bytes.data, bytes.size_bytes));
    }
fail:
    vkf__file_bytes_free(host, &bytes);
    vkf__free(host, from);
    vkf__free(host, to);
    return status;
}

// Weights that were in 16 bits are in f32 now, which config.json says, too: transformers may round to what it says.
static vkf_status settle_dtype(const vkf__host *host, const char *directory)
{
    static const char *const keys[] = {"torch_dtype", "dtype"};
    vkf_status status = VKF_OK;
    char *path = NULL, *text = NULL;
    json_t *root = NULL;
    bool other = false;
    VKF_TRY(vkf__path_join(host, directory, "config.json", &path));
    if (vkf__file_exists(path))
        VKF_TRY(vkf__json_load_as_written(host, path, &root));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const char *said = json_string_value(json_object_get(root, keys[i]));
        if (said && strcmp(said, "float32") != 0)
            other = json_object_set_new(root, keys[i], json_string("float32")) == 0 || other;
    }
    if (!other)
        goto fail;
    text = json_dumps(root, JSON_INDENT(2));
    status = text ? vkf__file_write(host, path, text, strlen(text))
                  : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for its text", path);
fail:
    free(text); // jansson's own
    vkf__free(host, path);
    json_decref(root);
    return status;
}

static vkf_status copy_files(const vkf__host *host, const char *from, const char *to)
{
    vkf_status status = VKF_OK;
    vkf__listing *listing = vkf__listing_open(from);
    if (!listing)
        return vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be read: %s", from, strerror(errno));
    for (const char *name; status == VKF_OK && (name = vkf__listing_next(listing));)
        if (is_models(name))
            status = copy_file(host, from, name, to);
    vkf__listing_close(listing);
    return status;
}

// ---- a model's directory

// Writes what the model's directory has in `folder`: "" is the directory itself. `module`: as vkf__write_module(), and
// UINT32_MAX where no weights are there.
static vkf_status write_folder(vkf_model *model, const char *folder, uint32_t module, const char *to_root)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &model->context->host;
    vkf__checkpoint *source = NULL;
    char *from = NULL, *to = NULL, *file = NULL;
    VKF_TRY(vkf__path_join(host, model->directory, *folder ? folder : ".", &from));
    VKF_TRY(vkf__path_join(host, to_root, *folder ? folder : ".", &to));
    if (*folder && vkf__file_exists(from) && vkf__directory_make(to, 0777) != 0 && !vkf__file_exists(to))
        VKF_TRY(vkf__fail(host, VKF_ERROR_FILE, "%s: cannot be made", to));
    if (vkf__file_exists(from)) // Normalize has no directory
        VKF_TRY(copy_files(host, from, to));
    if (module == 0)
        VKF_TRY(settle_dtype(host, to));
    if (module != UINT32_MAX) {
        VKF_TRY(vkf__checkpoint_open(host, from, &source));
        VKF_TRY(vkf__path_join(host, to, "model.safetensors", &file));
        VKF_TRY(vkf__write_module(model, module, source, file));
    }
fail:
    vkf__checkpoint_close(&source);
    vkf__free(host, from);
    vkf__free(host, to);
    vkf__free(host, file);
    return status;
}

// The number of the embedding module with weights in a folder, as vkf__trainable counts; UINT32_MAX: there is none.
static uint32_t module_in(const vkf__model_source *source, const char *folder)
{
    for (uint32_t i = 0; i < source->config.embedding_module_count; i++)
        if (source->modules[i].checkpoint && strcmp(source->modules[i].folder, folder) == 0)
            return i + 1;
    return UINT32_MAX;
}

static vkf_status write_modules(vkf_model *model, const char *to)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &model->context->host;
    vkf__sentence_list list;
    vkf__model_source source = {.config = model->config};
    const char *own = "";
    VKF_RETURN_IF_ERROR(vkf__sentence_list_load(host, model->directory, &list));
    VKF_RETURN_IF_ERROR(vkf__sentence_modules_load(host, model->directory, &list, &source));
    VKF_TRY(vkf__sentence_weights_open(host, model->directory, &source));
    for (uint32_t i = list.count; i-- > 0;)
        if (list.modules[i].kind == VKF_SENTENCE_TRANSFORMER)
            own = list.modules[i].folder;
    VKF_TRY(write_folder(model, own, 0, to));
    if (*own)
        VKF_TRY(write_folder(model, "", UINT32_MAX, to));
    for (uint32_t i = 0; i < list.count; i++)
        if (list.modules[i].kind != VKF_SENTENCE_TRANSFORMER && *list.modules[i].folder)
            VKF_TRY(write_folder(model, list.modules[i].folder, module_in(&source, list.modules[i].folder), to));
fail:
    vkf__sentence_weights_close(&source);
    return status;
}

static vkf_status write_model(vkf_model *model, const char *to)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &model->context->host;
    char *file = NULL;
    if (model->directory)
        return vkf__facts_of(&model->config)->pools ? write_modules(model, to) : write_folder(model, "", 0, to);
    VKF_RETURN_IF_ERROR(vkf__path_join(host, to, "model.safetensors", &file));
    status = vkf__write_module(model, 0, NULL, file);
    vkf__free(host, file);
    return status;
}

vkf_status vkf__checkpoint_save(vkf_model *model, const vkf__lora *adapter, const vkf__parameters *parameters,
                                const vkf__train_state *state, const char *path)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &model->context->host;
    vkf__new_directory directory = {0};
    char *file = NULL;
    VKF_TRY(vkf__new_directory_open(host, path, &directory));
    VKF_TRY(adapter ? vkf__lora_save(adapter, directory.temporary) : write_model(model, directory.temporary));
    if (parameters) {
        VKF_TRY(vkf__path_join(host, directory.temporary, VKF_CHECKPOINT_FILE, &file));
        VKF_TRY(vkf__checkpoint_save_state(parameters, state, file));
    }
    status = vkf__new_directory_commit(&directory);
fail:
    vkf__new_directory_discard(&directory);
    vkf__free(host, file);
    return status;
}
