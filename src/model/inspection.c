#include "model/inspection.h"

#include <string.h>

#include "model/model_directory.h"
#include "model/weight_blocks.h"

static bool is_float(vkf__stored_type type)
{
    return type == VKF_STORED_F64 || type == VKF_STORED_F32 || type == VKF_STORED_F16 || type == VKF_STORED_BF16;
}

static void count_tensors(vkf__inspection *inspection)
{
    const vkf__stored_tensor *tensor;
    for (size_t i = 0; (tensor = vkf__checkpoint_at(inspection->checkpoint, i)); i++) {
        inspection->tensor_count[tensor->type]++;
        inspection->tensor_bytes[tensor->type] += tensor->size_bytes;
        inspection->parameter_count += is_float(tensor->type) ? tensor->count : 0;
    }
}

static vkf_status list_slots(const vkf__host *host, vkf__inspection *inspection)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &inspection->source.config;
    vkf__weights weights = {0}; // only where slots would point to
    if (config->num_encoder_layers > 0)
        VKF_ALLOC(host, weights.encoder, config->num_encoder_layers);
    if (config->num_decoder_layers > 0)
        VKF_ALLOC(host, weights.decoder, config->num_decoder_layers);
    inspection->slot_count = vkf__model_slots(&inspection->source, &weights, NULL);
    VKF_ALLOC(host, inspection->slots, inspection->slot_count);
    (void)vkf__model_slots(&inspection->source, &weights, inspection->slots);
    for (size_t i = 0; i < inspection->slot_count; i++)
        inspection->slots[i].target = NULL;
fail:
    vkf__free(host, weights.encoder);
    vkf__free(host, weights.decoder);
    return status;
}

// The first of the slots that a tensor serves; NULL when it serves none.
static const vkf__weight_slot *find_slot(const vkf__inspection *inspection, const char *name)
{
    for (size_t i = 0; i < inspection->slot_count; i++)
        if (strcmp(inspection->slots[i].name, name) == 0)
            return &inspection->slots[i];
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
    vkf_status status = VKF_OK;
    const vkf__stored_tensor *tensor;
    VKF_ALLOC(host, inspection->unused, vkf__checkpoint_count(inspection->checkpoint));
    for (size_t i = 0; (tensor = vkf__checkpoint_at(inspection->checkpoint, i)); i++) {
        const vkf__weight_slot *slot = find_slot(inspection, tensor->name);
        vkf_dtype blocks;
        if (!slot)
            inspection->unused[inspection->unused_count++] = tensor->name;
        else if (vkf__stored_in_blocks(slot, tensor, &blocks))
            count_blocks(inspection, tensor, slot, blocks);
    }
fail:
    return status;
}

vkf_status vkf__inspect_model(const vkf__host *host, const char *directory, vkf__inspection *out_inspection)
{
    vkf_status status = VKF_OK;
    vkf__inspection inspection = {0};
    VKF_TRY(vkf__checkpoint_open(host, directory, &inspection.checkpoint));
    count_tensors(&inspection);
    inspection.supported = vkf__model_directory_load(host, directory, &inspection.source);
    inspection.source.checkpoint = inspection.checkpoint;
    if (inspection.supported == VKF_OK && inspection.source.family)
        vkf__family_untie(inspection.source.family, inspection.checkpoint, &inspection.source.config);
    if (inspection.supported == VKF_OK) {
        VKF_TRY(list_slots(host, &inspection));
        VKF_TRY(match_tensors(host, &inspection));
    }
    *out_inspection = inspection;
    return VKF_OK;
fail:
    vkf__inspection_free(host, &inspection);
    return status;
}

void vkf__inspection_free(const vkf__host *host, vkf__inspection *inspection)
{
    vkf__checkpoint_close(&inspection->checkpoint);
    vkf__free(host, inspection->slots);
    vkf__free(host, inspection->unused);
    *inspection = (vkf__inspection){0};
}
