// Opens a model directory as loading does, and counts and matches its tensors.
#include "model/directory/inspection.h"

#include <stdlib.h>

#include "io/json_file.h"
#include "io/path.h"
#include "model/load/adapter_merge.h"
#include "model/load/model_directory.h"
#include "model/load/weight_blocks.h"
#include "model/sentence/sentence_modules.h"

static void count_tensors(vkf__inspection *inspection)
{
    const vkf__stored_tensor *tensor;
    for (size_t i = 0; (tensor = vkf__checkpoint_at(inspection->checkpoint, i)); i++) {
        inspection->tensor_count[tensor->type]++;
        inspection->tensor_bytes[tensor->type] += tensor->size_bytes;
        inspection->parameter_count += vkf__stored_is_float(tensor->type) ? tensor->count : 0;
    }
}

// A tensor that is read, and the slot that reads it.
typedef struct reading {
    uintptr_t tensor;
    size_t slot;
} reading;

static int compare_readings(const void *a, const void *b)
{
    const reading *left = a, *right = b;
    if (left->tensor != right->tensor)
        return left->tensor < right->tensor ? -1 : 1;
    return (left->slot > right->slot) - (left->slot < right->slot);
}

static int compare_tensors(const void *a, const void *b)
{
    const reading *left = a, *right = b;
    return (left->tensor > right->tensor) - (left->tensor < right->tensor);
}

static void list_readings(const vkf__weight_resolution *found, reading *out_readings)
{
    for (size_t i = 0; i < found->count; i++)
        out_readings[i] = (reading){(uintptr_t)vkf__merged_base(found->stored[i]), i};
    qsort(out_readings, found->count, sizeof *out_readings, compare_readings);
}

// The first slot that reads a tensor; NULL when none does.
static const vkf__weight_slot *find_slot(const vkf__weight_resolution *found, const reading *readings,
                                         const vkf__stored_tensor *tensor)
{
    const reading wanted = {.tensor = (uintptr_t)tensor};
    const reading *at = bsearch(&wanted, readings, found->count, sizeof *readings, compare_tensors);
    while (at && at > readings && at[-1].tensor == at->tensor)
        at--;
    return at ? &found->slots[at->slot] : NULL;
}

static void count_blocks(vkf__inspection *inspection, const vkf__stored_tensor *tensor, const vkf__weight_slot *slot,
                         vkf_dtype dtype)
{
    inspection->tensor_count[tensor->type]--;
    inspection->tensor_bytes[tensor->type] -= tensor->size_bytes;
    inspection->block_count[dtype]++;
    inspection->block_bytes[dtype] += tensor->size_bytes;
    inspection->parameter_count += tensor->shape[0] * slot->shape[1];
}

static vkf_status match_tensors(const vkf__host *host, vkf__inspection *inspection)
{
    vkf_status status = VKF_OK;
    const vkf__stored_tensor *tensor;
    reading *readings = NULL;
    VKF_ALLOC(host, inspection->unused, vkf__checkpoint_count(inspection->checkpoint));
    VKF_ALLOC(host, readings, inspection->found.count);
    list_readings(&inspection->found, readings);
    for (size_t i = 0; (tensor = vkf__checkpoint_at(inspection->checkpoint, i)); i++) {
        const vkf__weight_slot *slot = find_slot(&inspection->found, readings, tensor);
        vkf_dtype blocks;
        if (!slot && !vkf__adapter_saved(inspection->source.adapter, inspection->source.family, tensor->name))
            inspection->unused[inspection->unused_count++] = tensor->name;
        else if (slot && vkf__stored_in_blocks(slot, tensor, &blocks))
            count_blocks(inspection, tensor, slot, blocks);
    }
fail:
    vkf__free(host, readings);
    return status;
}

static vkf_status read_type(const vkf__host *host, vkf__inspection *inspection)
{
    vkf_status status = VKF_OK;
    const char *type = NULL;
    char *path = NULL;
    json_t *root = NULL;
    VKF_TRY(vkf__path_join(host, inspection->place.transformer, "config.json", &path));
    VKF_TRY(vkf__json_load(host, path, &root));
    VKF_TRY(vkf__json_string(host, path, root, "model_type", &type));
    VKF_STRDUP(host, inspection->model_type, type);
fail:
    json_decref(root);
    vkf__free(host, path);
    return status;
}

// Takes the steps of loading up to the point where a device is needed. Without weights the configuration alone tells.
static vkf_status resolve(const vkf__host *host, vkf__inspection *inspection)
{
    vkf__model_source *source = &inspection->source;
    vkf__sentence_list list = {0};
    VKF_RETURN_IF_ERROR(vkf__model_place_load(host, &inspection->place, source));
    inspection->asked_head = source->config.head;
    if (source->family)
        VKF_RETURN_IF_ERROR(read_type(host, inspection));
    if (inspection->place.adapter)
        VKF_RETURN_IF_ERROR(vkf__adapter_open(host, inspection->place.adapter, &source->adapter));
    source->checkpoint = inspection->checkpoint;
    if (inspection->checkpoint)
        VKF_RETURN_IF_ERROR(vkf__sentence_weights_open(host, inspection->place.modules, source));
    if (vkf__facts_of(&source->config)->pools) {
        VKF_RETURN_IF_ERROR(vkf__sentence_settings_load(host, inspection->place.modules, &inspection->settings));
        VKF_RETURN_IF_ERROR(vkf__sentence_list_load(host, inspection->place.modules, &list));
        inspection->embeds = list.embeds;
    }
    if (inspection->checkpoint)
        vkf__source_settle(host, source);
    return vkf__weights_resolve(host, source, &inspection->found);
}

// The parameters that the configuration asks for. A second slot of the same tensor has none of its own.
static uint64_t count_slots(const vkf__weight_resolution *found)
{
    uint64_t count = 0;
    for (size_t i = 0; i < found->count; i++)
        if (!found->slots[i].tied)
            count += (uint64_t)found->slots[i].shape[0] * (found->slots[i].rank == 2 ? found->slots[i].shape[1] : 1);
    return count;
}

static vkf_status open_weights(const vkf__host *host, vkf__inspection *inspection)
{
    const char *directory = inspection->place.transformer;
    char *path = NULL;
    bool there = false;
    VKF_RETURN_IF_ERROR(vkf__checkpoint_is_there(host, directory, &there));
    VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, "config.json", &path));
    const bool described = vkf__file_is_there(host, path);
    vkf__free(host, path);
    if (there || !described) // which fails, and says what is missing
        VKF_RETURN_IF_ERROR(vkf__checkpoint_open(host, directory, &inspection->checkpoint));
    if (there)
        count_tensors(inspection);
    return VKF_OK;
}

vkf_status vkf__inspect_model(const vkf__host *host, const char *directory, const char *adapter_directory,
                              vkf__inspection *out_inspection)
{
    vkf_status status = VKF_OK;
    vkf__inspection *inspection = out_inspection;
    *inspection = (vkf__inspection){0};
    VKF_TRY(vkf__model_place_find(host, directory, adapter_directory, &inspection->place));
    VKF_TRY(open_weights(host, inspection));
    inspection->supported = resolve(host, inspection);
    if (inspection->supported == VKF_ERROR_OUT_OF_HOST_MEMORY) // this says nothing about the model
        VKF_TRY(inspection->supported);
    if (inspection->supported == VKF_OK && inspection->checkpoint)
        VKF_TRY(match_tensors(host, inspection));
    else if (inspection->supported == VKF_OK)
        inspection->parameter_count = count_slots(&inspection->found);
    return VKF_OK;
fail:
    vkf__inspection_free(host, inspection);
    return status;
}

void vkf__inspection_free(const vkf__host *host, vkf__inspection *inspection)
{
    vkf__checkpoint_close(&inspection->checkpoint);
    vkf__model_place_free(host, &inspection->place);
    vkf__adapter_close(&inspection->source.adapter);
    vkf__sentence_weights_close(&inspection->source);
    vkf__sentence_settings_free(host, &inspection->settings);
    vkf__weight_resolution_free(host, &inspection->found);
    vkf__free(host, inspection->unused);
    vkf__free(host, inspection->model_type);
    *inspection = (vkf__inspection){0};
}
