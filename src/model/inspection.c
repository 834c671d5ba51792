// Opens a model directory as loading does, and counts and matches its tensors.
#include "model/inspection.h"

#include "model/adapter_merge.h"
#include "model/model_directory.h"
#include "model/sentence_modules.h"
#include "model/weight_blocks.h"

static void count_tensors(vkf__inspection *inspection)
{
    const vkf__stored_tensor *tensor;
    for (size_t i = 0; (tensor = vkf__checkpoint_at(inspection->checkpoint, i)); i++) {
        inspection->tensor_count[tensor->type]++;
        inspection->tensor_bytes[tensor->type] += tensor->size_bytes;
        inspection->parameter_count += vkf__stored_is_float(tensor->type) ? tensor->count : 0;
    }
}

// The first slot that reads a tensor; NULL when none does.
static const vkf__weight_slot *find_slot(const vkf__weight_resolution *found, const vkf__stored_tensor *tensor)
{
    for (size_t i = 0; i < found->count; i++)
        if (vkf__merged_base(found->stored[i]) == tensor)
            return &found->slots[i];
    return NULL;
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
    const vkf__stored_tensor *tensor;
    VKF_ALLOC_OR_RETURN(host, inspection->unused, vkf__checkpoint_count(inspection->checkpoint));
    for (size_t i = 0; (tensor = vkf__checkpoint_at(inspection->checkpoint, i)); i++) {
        const vkf__weight_slot *slot = find_slot(&inspection->found, tensor);
        vkf_dtype blocks;
        if (!slot)
            inspection->unused[inspection->unused_count++] = tensor->name;
        else if (vkf__stored_in_blocks(slot, tensor, &blocks))
            count_blocks(inspection, tensor, slot, blocks);
    }
    return VKF_OK;
}

// Takes the steps of loading up to the point where a device is needed.
static vkf_status resolve(const vkf__host *host, const char *directory, const char *adapter_directory,
                          vkf__inspection *inspection)
{
    VKF_RETURN_IF_ERROR(vkf__model_directory_load(host, directory, &inspection->source));
    if (adapter_directory)
        VKF_RETURN_IF_ERROR(vkf__adapter_open(host, adapter_directory, &inspection->source.adapter));
    inspection->source.checkpoint = inspection->checkpoint;
    VKF_RETURN_IF_ERROR(vkf__sentence_weights_open(host, directory, &inspection->source));
    if (vkf__facts_of(&inspection->source.config)->pools)
        VKF_RETURN_IF_ERROR(vkf__sentence_settings_load(host, directory, &inspection->settings));
    vkf__source_settle(host, &inspection->source);
    VKF_RETURN_IF_ERROR(vkf__weights_resolve(host, &inspection->source, &inspection->found));
    for (size_t i = 0; i < inspection->found.count; i++) {
        inspection->found.slots[i].target = NULL; // it points into this inspection, which is copied to the caller
        inspection->found.slots[i].layer = NULL;
    }
    return VKF_OK;
}

vkf_status vkf__inspect_model(const vkf__host *host, const char *directory, const char *adapter_directory,
                              vkf__inspection *out_inspection)
{
    vkf_status status = VKF_OK;
    vkf__inspection inspection = {0};
    char *transformer = NULL;
    VKF_TRY(vkf__transformer_directory(host, directory, &transformer));
    VKF_TRY(vkf__checkpoint_open(host, transformer, &inspection.checkpoint));
    count_tensors(&inspection);
    inspection.supported = resolve(host, directory, adapter_directory, &inspection);
    if (inspection.supported == VKF_ERROR_OUT_OF_HOST_MEMORY) // this says nothing about the model
        VKF_TRY(inspection.supported);
    if (inspection.supported == VKF_OK)
        VKF_TRY(match_tensors(host, &inspection));
    *out_inspection = inspection;
    inspection = (vkf__inspection){0};
fail:
    vkf__free(host, transformer);
    vkf__inspection_free(host, &inspection);
    return status;
}

void vkf__inspection_free(const vkf__host *host, vkf__inspection *inspection)
{
    vkf__checkpoint_close(&inspection->checkpoint);
    vkf__adapter_close(&inspection->source.adapter);
    vkf__sentence_weights_close(&inspection->source);
    vkf__sentence_settings_free(host, &inspection->settings);
    vkf__weight_resolution_free(host, &inspection->found);
    vkf__free(host, inspection->unused);
    *inspection = (vkf__inspection){0};
}
