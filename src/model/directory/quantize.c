// Writes a model directory with the weights of linear layers in blocks, or with an adapter merged into them: tensor by
// tensor, without memory for the whole model.
#include "model/directory/quantize.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directories.h"
#include "base/system_file.h"
#include "io/file.h"
#include "io/json_file.h"
#include "io/new_directory.h"
#include "io/path.h"
#include "io/safetensors.h"
#include "model/directory/inspection.h"
#include "model/load/adapter_merge.h"
#include "model/load/finite.h"
#include "model/load/weight_blocks.h"
#include "model/sentence/sentence_modules.h"
#include "model/sentence/sentence_text.h"
#include "model/text/text_model.h"

#define COPY_BYTES ((size_t)1 << 20)     // how much of a file is copied at once
#define PIECE_ELEMENTS ((size_t)1 << 18) // of a tensor that is converted

// ---- what becomes of each tensor

typedef struct plan {
    const vkf__host *host;
    const vkf_quantize_desc *desc;
    const vkf__inspection *inspection;
    vkf__stored_tensor *tensors; // as they will be stored
    vkf__weight_slot *slots;     // of tensors to be stored in blocks; a slot covers the whole tensor
    vkf__stored_tensor *from;    // as they are, with the adapter, and with the names that they will have
    size_t count, block_count;
    bool untied;     // the adapter has a projection that was the token embedding before
    vkf_dtype dtype; // of the blocks; F32: there will be none
    uint32_t written;
} plan;

static void plan_free(plan *p)
{
    vkf__free(p->host, p->tensors);
    vkf__free(p->host, p->slots);
    vkf__free(p->host, p->from);
}

// What the adapter makes of one of the model's tensors, which may be the tensor itself.
static vkf__stored_tensor adapted(const vkf__inspection *inspection, const vkf__stored_tensor *tensor)
{
    const vkf__model_source *source = &inspection->source;
    const vkf__stored_tensor *saved = vkf__adapter_saved(source->adapter, source->family, tensor->name);
    const vkf__stored_tensor *with = saved ? saved : tensor;
    for (size_t i = 0; i < inspection->found.count; i++) {
        if (vkf__merged_base(inspection->found.stored[i]) != with)
            continue;
        with = inspection->found.stored[i];
        break;
    }
    vkf__stored_tensor out = *with;
    out.name = tensor->name;
    return out;
}

// Whether a slot reads a tensor that the model's own file lacks.
static bool is_new(const vkf__inspection *inspection, size_t slot)
{
    const vkf__weight_slot *s = &inspection->found.slots[slot];
    const vkf__adapter *adapter = inspection->source.adapter;
    bool changed = adapter && (s->checkpoint == adapter->checkpoint ||
                               vkf__merged_base(inspection->found.stored[slot]) != inspection->found.stored[slot]);
    return changed && !s->tied && s->part == 0 && !vkf__adapter_base_has(&inspection->source, s->name);
}

// `type` is that of the model's own tensor, which stays unless the tensor is stored in blocks.
static void plan_tensor(plan *p, vkf__stored_type type)
{
    const vkf__stored_tensor *from = &p->from[p->count];
    vkf__stored_tensor *to = &p->tensors[p->count];
    vkf__weight_slot *slot = &p->slots[p->count++];
    *to = *from;
    if (from->type != type && vkf__stored_is_float(type)) {
        to->type = type;
        to->size_bytes = from->count * vkf__stored_type_size(type);
    }
    if (!vkf__is_blocks(p->dtype) ||
        !vkf__whole_in_blocks(p->inspection->found.slots, p->inspection->found.count, from, slot))
        return;
    to->type = VKF_STORED_U8;
    to->shape[0] = slot->shape[0];
    to->shape[1] = slot->shape[1] / VKF_BLOCK * vkf_dtype_block_bytes(p->dtype);
    to->size_bytes = to->shape[0] * to->shape[1];
    to->data = NULL;
    to->file = NULL;
    p->block_count++;
}

static void plan_tensors(plan *p)
{
    const vkf__inspection *inspection = p->inspection;
    const vkf__stored_tensor *tensor;
    for (size_t i = 0; (tensor = vkf__checkpoint_at(inspection->checkpoint, i)); i++) {
        if (vkf__stored_type_size(tensor->type) == 0) // nothing reads it
            continue;
        p->from[p->count] = adapted(inspection, tensor);
        plan_tensor(p, tensor->type);
    }
    for (size_t i = 0; i < inspection->found.count; i++) {
        if (!is_new(inspection, i))
            continue;
        p->from[p->count] = *inspection->found.stored[i];
        p->from[p->count].name = inspection->found.slots[i].name;
        plan_tensor(p, vkf__merged_base(inspection->found.stored[i])->type);
        p->untied = !inspection->source.config.tie_projection;
    }
}

static vkf_status check_plan(const plan *p)
{
    const char *path = vkf__checkpoint_path(p->inspection->checkpoint);
    if (p->inspection->source.adapter && vkf__is_blocks(p->inspection->found.blocks))
        return vkf__fail(p->host, VKF_ERROR_UNSUPPORTED,
                         "%s: its weights are in blocks; merge the adapter into the model that they were made from",
                         path);
    if (p->block_count == 0 && vkf__is_blocks(p->dtype))
        return vkf__fail(p->host, VKF_ERROR_UNSUPPORTED,
                         "%s: no weight in it can be put into blocks: they are in blocks already, or their depth is "
                         "no multiple of 32",
                         path);
    return VKF_OK;
}

static vkf_status make_plan(const vkf__host *host, const vkf__inspection *inspection, const vkf_quantize_desc *desc,
                            plan *out)
{
    static const vkf_dtype dtypes[] = {[VKF_QUANTIZATION_NONE] = VKF_DTYPE_F32,
                                       [VKF_QUANTIZATION_Q8] = VKF_DTYPE_Q8,
                                       [VKF_QUANTIZATION_Q4] = VKF_DTYPE_Q4};
    vkf_status status = VKF_OK;
    plan p = {.host = host, .desc = desc, .inspection = inspection, .dtype = dtypes[desc->quantization]};
    size_t most = vkf__checkpoint_count(inspection->checkpoint) + inspection->found.count;
    VKF_ALLOC(host, p.tensors, most);
    VKF_ALLOC(host, p.slots, most);
    VKF_ALLOC(host, p.from, most);
    plan_tensors(&p);
    VKF_TRY(check_plan(&p));
fail:
    if (status == VKF_OK)
        *out = p;
    else
        plan_free(&p);
    return status;
}

// ---- the weights

static vkf_status write_blocks(const plan *p, size_t index, vkf__new_file *file)
{
    vkf_status status = VKF_OK;
    const vkf__weight_slot *slot = &p->slots[index];
    const vkf__block_source source = {p->host, p->inspection->checkpoint, &p->from[index], slot, p->dtype};
    size_t row_bytes = (size_t)p->tensors[index].shape[1];
    float *values = NULL;
    uint8_t *blocks = NULL;
    uint32_t most = vkf__block_rows_at_once(slot->shape[0], slot->shape[1]);
    VKF_ALLOC(p->host, values, (size_t)most * slot->shape[1]);
    VKF_ALLOC(p->host, blocks, most * row_bytes);
    for (uint32_t row = 0; row < slot->shape[0]; row += most) {
        uint32_t left = slot->shape[0] - row, count = left < most ? left : most;
        VKF_TRY(vkf__rows_to_blocks(&source, row, count, values, blocks));
        VKF_TRY(vkf__new_file_write(file, blocks, count * row_bytes));
    }
fail:
    vkf__free(p->host, values);
    vkf__free(p->host, blocks);
    return status;
}

// Writes a tensor in another type than it has.
static vkf_status write_converted(const plan *p, size_t index, vkf__new_file *file)
{
    vkf_status status = VKF_OK;
    const vkf__stored_tensor *from = &p->from[index], *to = &p->tensors[index];
    const vkf_dtype dtype = to->type == VKF_STORED_F16    ? VKF_DTYPE_F16
                            : to->type == VKF_STORED_BF16 ? VKF_DTYPE_BF16
                                                          : VKF_DTYPE_F32;
    uint8_t *piece = NULL;
    VKF_ALLOC(p->host, piece, PIECE_ELEMENTS * vkf_dtype_size(dtype));
    for (uint64_t done = 0; done < from->count; done += PIECE_ELEMENTS) {
        uint64_t left = from->count - done, part = left < PIECE_ELEMENTS ? left : PIECE_ELEMENTS;
        VKF_TRY(vkf__stored_convert(p->host, from, done, part, dtype, piece));
        uint64_t bad = vkf__first_not_finite(dtype, piece, part);
        if (bad < part)
            VKF_TRY(vkf__fail(p->host, VKF_ERROR_FORMAT, "%s: element %" PRIu64 " of tensor %s is not finite in %s",
                              file->path, done + bad, to->name, vkf_dtype_name(dtype)));
        VKF_TRY(vkf__new_file_write(file, piece, (size_t)part * vkf_dtype_size(dtype)));
    }
fail:
    vkf__free(p->host, piece);
    return status;
}

static vkf_status write_tensor(void *user, size_t index, vkf__new_file *file)
{
    plan *p = user;
    const vkf__stored_tensor *tensor = &p->tensors[index];
    const uint32_t written = p->written++;
    if (p->desc->progress && !p->desc->progress(p->desc->progress_user, written, (uint32_t)p->count, tensor->name))
        return VKF_ERROR_CANCELLED;
    if (p->slots[index].rank > 0)
        return write_blocks(p, index, file);
    if (tensor->type != p->from[index].type)
        return write_converted(p, index, file);
    return vkf__new_file_write_tensor(file, tensor);
}

static vkf_status write_weights(plan *p, const char *path)
{
    VKF_RETURN_IF_ERROR(vkf__safetensors_write_made(p->host, path, p->tensors, p->count, NULL, write_tensor, p));
    return vkf__checkpoint_check_unchanged(p->inspection->checkpoint);
}

// ---- the other files of a directory

// Adds the key under which transformers describes a quantisation, so that a program that cannot read this one says so.
static vkf_status write_config(const plan *p, const char *from, const char *to)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = p->host;
    json_t *root = NULL;
    char *text = NULL;
    bool done = true;
    VKF_TRY(vkf__json_load_as_written(host, from, &root));
    if (vkf__is_blocks(p->dtype))
        done = json_object_set_new(root, "quantization_config",
                                   json_pack("{s:s, s:s, s:i}", "quant_method", "vkformer", "type",
                                             vkf_dtype_name(p->dtype), "group_size", VKF_BLOCK)) == 0;
    if (p->untied)
        done = json_object_set_new(root, "tie_word_embeddings", json_false()) == 0 && done;
    if (done)
        text = json_dumps(root, JSON_INDENT(2));
    status = text ? vkf__file_write(host, to, text, strlen(text))
                  : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for its text", to);
fail:
    free(text);
    json_decref(root);
    return status;
}

static vkf_status copy_file(const vkf__host *host, const char *from, const char *to)
{
    vkf_status status = VKF_OK;
    vkf__file *source = NULL;
    vkf__new_file copy = {0};
    uint8_t *piece = NULL;
    VKF_TRY(vkf__file_open(host, from, &source));
    VKF_ALLOC(host, piece, COPY_BYTES);
    VKF_TRY(vkf__new_file_open(host, to, &copy));
    uint64_t size_bytes = vkf__file_size(source);
    for (uint64_t done = 0; done < size_bytes;) {
        size_t part = size_bytes - done < COPY_BYTES ? (size_t)(size_bytes - done) : COPY_BYTES;
        VKF_TRY(vkf__file_read_at(source, done, piece, part));
        VKF_TRY(vkf__new_file_write(&copy, piece, part));
        done += part;
    }
    VKF_TRY(vkf__file_check_unchanged(source));
    status = vkf__new_file_commit(&copy);
fail:
    vkf__new_file_discard(&copy);
    vkf__file_close(&source);
    vkf__free(host, piece);
    return status;
}

// The files that readers of model directories look for beside the weights, and vkf__sentence_text_files.
static const char *const text_files[] = {
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "vocabulary.json",
    "merges.txt",
    "source.spm",
    "target.spm",
    "spiece.model",
    "tokenizer.model",
    "sentencepiece.bpe.model",
    "chat_template.jinja",
    NULL,
};
static const char *const module_list_files[] = {"modules.json", "config_sentence_transformers.json", NULL};
// The configuration comes last, because without it a directory is not a model.
static const char *const model_files[] = {
    "generation_config.json", "README.md", "LICENSE", "model.safetensors", "config.json", NULL,
};

static vkf_status write_one(plan *p, const char *directory, const char *out, const char *name)
{
    vkf_status status = VKF_OK;
    char *from = NULL, *to = NULL;
    VKF_TRY(vkf__path_join(p->host, directory, name, &from));
    VKF_TRY(vkf__path_join(p->host, out, name, &to));
    if (strcmp(name, "model.safetensors") == 0)
        status = write_weights(p, to);
    else if (strcmp(name, "config.json") == 0)
        status = write_config(p, from, to);
    else if (vkf__file_exists(from))
        status = copy_file(p->host, from, to);
fail:
    vkf__free(p->host, from);
    vkf__free(p->host, to);
    return status;
}

// ---- the modules of sentence-transformers, which are copied unchanged

static const char *const module_files[] = {"config.json", "model.safetensors", "pytorch_model.bin"};

// The directory of a module; NULL where it is the model's own, or that of an earlier module.
static const char *folder_of(const vkf__inspection *inspection, uint32_t module)
{
    const vkf__module_source *modules = inspection->source.modules;
    for (uint32_t i = 0; i < module; i++)
        if (strcmp(modules[i].folder, modules[module].folder) == 0)
            return NULL;
    return *modules[module].folder ? modules[module].folder : NULL;
}

typedef char module_path[VKF_MODULE_FOLDER_MAX + 32];

static void name_module_file(const char *folder, size_t file, module_path path)
{
    (void)snprintf(path, sizeof(module_path), "%s/%s", folder, module_files[file]);
}

static vkf_status write_module(plan *p, const char *out, const char *folder)
{
    vkf_status status = VKF_OK;
    char *from = NULL, *to = NULL;
    module_path name;
    VKF_TRY(vkf__path_join(p->host, p->inspection->place.modules, folder, &from));
    VKF_TRY(vkf__path_join(p->host, out, folder, &to));
    const int error = vkf__file_exists(from) ? vkf__directory_make(to, 0777) : 0;
    if (error != 0)
        VKF_TRY(vkf__fail(p->host, VKF_ERROR_FILE, "%s: cannot be made: %s", to, strerror(error)));
    for (size_t i = 0; i < sizeof module_files / sizeof module_files[0]; i++) {
        name_module_file(folder, i, name);
        VKF_TRY(write_one(p, p->inspection->place.modules, out, name));
    }
fail:
    vkf__free(p->host, from);
    vkf__free(p->host, to);
    return status;
}

static vkf_status write_list(plan *p, const char *directory, const char *out, const char *const *names)
{
    for (; *names; names++)
        VKF_RETURN_IF_ERROR(write_one(p, directory, out, *names));
    return VKF_OK;
}

// The modules' Transformer and the tokenizer may have come with an adapter.
static vkf_status write_directory(plan *p, const char *out)
{
    const vkf__model_place *place = &p->inspection->place;
    char *texts = NULL;
    for (uint32_t m = 0; m < p->inspection->source.config.embedding_module_count; m++)
        if (folder_of(p->inspection, m))
            VKF_RETURN_IF_ERROR(write_module(p, out, folder_of(p->inspection, m)));
    VKF_RETURN_IF_ERROR(vkf__text_directory(p->host, place, &texts));
    vkf_status status = write_list(p, texts, out, text_files);
    vkf__free(p->host, texts);
    if (status == VKF_OK)
        status = write_list(p, place->modules, out, vkf__sentence_text_files);
    if (status == VKF_OK)
        status = write_list(p, place->modules, out, module_list_files);
    return status == VKF_OK ? write_list(p, place->transformer, out, model_files) : status;
}

// The output goes beside modules.json, so the Transformer must be there, too.
static vkf_status check_layout(const vkf__host *host, const vkf__model_place *place)
{
    char *transformer = NULL;
    vkf_status status = vkf__transformer_directory(host, place->modules, &transformer);
    if (status == VKF_OK && strcmp(transformer, place->modules) != 0)
        status = vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                           "%s: the Transformer stands in a directory of its own, as only old versions of "
                           "sentence-transformers write it; load and save it with a newer one first",
                           transformer);
    vkf__free(host, transformer);
    return status;
}

vkf_status vkf__quantize(const vkf__host *host, const vkf_quantize_desc *desc, vkf_quantize_result *out_result)
{
    vkf_status status = VKF_OK;
    vkf__inspection inspection = {0};
    vkf__new_directory out = {0};
    plan p = {.host = host};
    VKF_TRY(vkf__new_directory_open(host, desc->out_directory, &out));
    VKF_TRY(vkf__inspect_model(host, desc->directory, desc->adapter_directory, &inspection));
    VKF_TRY(inspection.supported);
    VKF_TRY(check_layout(host, &inspection.place));
    if (!inspection.checkpoint)
        VKF_TRY(
            vkf__checkpoint_open(host, inspection.place.transformer, &inspection.checkpoint)); // says what is missing
    vkf__model_place_tell(host, &inspection.place);
    VKF_TRY(make_plan(host, &inspection, desc, &p));
    VKF_TRY(write_directory(&p, out.temporary));
    VKF_TRY(vkf__new_directory_commit(&out));
    *out_result = (vkf_quantize_result){p.count, p.block_count};
fail:
    vkf__new_directory_discard(&out);
    plan_free(&p);
    vkf__inspection_free(host, &inspection);
    return status;
}
