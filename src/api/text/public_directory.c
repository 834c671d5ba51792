// Public entry points of model directories.
#include <string.h>

#include "api/check.h"
#include "base/sized.h"
#include "io/path.h"
#include "io/token_table.h"
#include "model/directory/module_result.h"
#include "model/directory/quantize.h"
#include "model/family/labels.h"
#include "model/load/adapter.h"
#include "model/text/text_model.h"

struct vkf_inspection {
    vkf__host host;
    vkf__inspection of;
    char **labels; // (label_count)
    uint32_t label_count;
};

static bool is_supported(const vkf_inspection *inspection)
{
    return inspection && inspection->of.supported == VKF_OK;
}

vkf_status vkf_inspection_load_sized(const vkf_inspection_desc *desc, size_t desc_bytes,
                                     vkf_inspection **out_inspection)
{
    vkf__host host;
    vkf_inspection *inspection = NULL;
    if (!desc || !out_inspection)
        return vkf__null_argument(__func__);
    VKF_TAKE_DESC("vkf_inspection_load", vkf_inspection_desc, desc, desc_bytes, &host);
    if (!desc->directory)
        return vkf__null_argument(__func__);
    VKF_ALLOC_OR_RETURN(&host, inspection, 1);
    inspection->host = host;
    const vkf_status status =
        vkf__inspect_model(&inspection->host, desc->directory, desc->adapter_directory, &inspection->of);
    if (status == VKF_OK)
        *out_inspection = inspection;
    else
        vkf__free(&host, inspection);
    return status;
}

static void free_labels(vkf_inspection *inspection)
{
    if (inspection->labels)
        vkf__labels_free(&inspection->host, inspection->labels, inspection->label_count);
    inspection->labels = NULL;
    inspection->label_count = 0;
}

void vkf_inspection_destroy(vkf_inspection **inspection)
{
    if (!inspection || !*inspection)
        return;
    const vkf__host host = (*inspection)->host;
    free_labels(*inspection);
    vkf__inspection_free(&host, &(*inspection)->of);
    vkf__free(&host, *inspection);
    *inspection = NULL;
}

void vkf_inspection_get_info_sized(const vkf_inspection *inspection, vkf_inspection_info *out_info, size_t info_bytes)
{
    if (!inspection || !out_info)
        return;
    const vkf__inspection *of = &inspection->of;
    const vkf__adapter *adapter = of->source.adapter;
    vkf_inspection_info info = {
        .supported = of->supported,
        .has_weights = of->checkpoint != NULL,
        .transformer_directory = of->place.transformer,
        .adapter_directory = of->place.adapter,
        .parameter_count = of->parameter_count,
        .adapter_products = adapter ? (uint32_t)adapter->product_count : 0,
        .adapter_tensors = adapter ? (uint32_t)adapter->saved_count : 0,
    };
    if (is_supported(inspection)) {
        info.model_type = of->model_type;
        info.asked_head = of->asked_head;
        info.embeds = of->embeds;
        info.similarity = of->settings.similarity;
        info.truncate_dim = of->settings.truncate_dim;
        info.default_prompt = of->settings.prompt_count > 0 ? of->settings.default_prompt : -1;
    }
    (void)vkf__give_sized(out_info, info_bytes, &info, sizeof info);
}

void vkf_inspection_get_config(const vkf_inspection *inspection, vkf_model_config *out_config)
{
    if (is_supported(inspection) && out_config)
        *out_config = inspection->of.source.config;
}

bool vkf_inspection_get_stored_sized(const vkf_inspection *inspection, uint32_t index, vkf_stored_type *out_type,
                                     size_t type_bytes)
{
    if (!inspection || !out_type)
        return false;
    const vkf__inspection *of = &inspection->of;
    for (uint32_t i = 0, seen = 0; i < VKF_STORED_COUNT + VKF_DTYPE_COUNT; i++) {
        const bool blocks = i >= VKF_STORED_COUNT;
        const uint32_t at = blocks ? i - VKF_STORED_COUNT : i;
        const vkf_stored_type type = {
            .name = blocks ? vkf_dtype_name((vkf_dtype)at) : vkf__stored_type_name((vkf__stored_type)at),
            .tensor_count = blocks ? of->block_count[at] : of->tensor_count[at],
            .size_bytes = blocks ? of->block_bytes[at] : of->tensor_bytes[at],
        };
        if (type.tensor_count > 0 && seen++ == index)
            return vkf__give_sized(out_type, type_bytes, &type, sizeof type);
    }
    return false;
}

const char *vkf_inspection_get_unread(const vkf_inspection *inspection, uint32_t index)
{
    return inspection && index < inspection->of.unused_count ? inspection->of.unused[index] : NULL;
}

const char *vkf_inspection_get_tensor(const vkf_inspection *inspection, uint32_t index)
{
    if (!is_supported(inspection) || index >= inspection->of.found.count)
        return NULL;
    const vkf__weight_resolution *found = &inspection->of.found;
    return found->stored ? found->stored[index]->name : found->slots[index].name;
}

vkf_status vkf_inspection_load_labels(vkf_inspection *inspection, uint32_t *out_count)
{
    if (!inspection || !out_count)
        return vkf__null_argument(__func__);
    char **labels = NULL;
    uint32_t count = 0;
    VKF_RETURN_IF_ERROR(vkf__labels_load(&inspection->host, inspection->of.place.transformer, &labels, &count));
    free_labels(inspection);
    inspection->labels = labels;
    *out_count = inspection->label_count = count;
    return VKF_OK;
}

const char *vkf_inspection_get_label(const vkf_inspection *inspection, uint32_t index)
{
    return inspection && index < inspection->label_count ? inspection->labels[index] : NULL;
}

const vkf_embed_prompt *vkf_inspection_get_prompt(const vkf_inspection *inspection, uint32_t index)
{
    return is_supported(inspection) && index < inspection->of.settings.prompt_count
               ? &inspection->of.settings.prompts[index]
               : NULL;
}

static vkf_status try_vocabulary(const vkf__host *host, const char *directory)
{
    vkf__token_tables tables = {0};
    char *path = NULL;
    VKF_RETURN_IF_ERROR(vkf__path_join(host, directory, "vocabulary.json", &path));
    const vkf_status status = vkf__token_tables_load(host, path, &tables);
    if (status == VKF_OK)
        vkf__token_tables_free(&tables);
    vkf__free(host, path);
    return status;
}

vkf_status vkf_inspection_try_texts(const vkf_inspection *inspection)
{
    if (!inspection)
        return vkf__null_argument(__func__);
    const vkf__inspection *of = &inspection->of;
    VKF_RETURN_IF_ERROR(of->supported);
    return of->source.family ? vkf__text_files_try(&inspection->host, &of->place, &of->source.config)
                             : try_vocabulary(&inspection->host, of->place.transformer);
}

bool vkf_inspection_get_module_sized(const vkf_inspection *inspection, const char *part, const char *label,
                                     vkf_module_result *out_result, size_t result_bytes)
{
    vkf_module_result result;
    return is_supported(inspection) && part && label && out_result &&
           vkf__module_result_of(&inspection->of, part, label, &result) &&
           vkf__give_sized(out_result, result_bytes, &result, sizeof result);
}

vkf_status vkf_read_adapter_base_sized(const vkf_inspection_desc *desc, size_t desc_bytes, size_t *inout_bytes,
                                       char *out_name)
{
    static const char function[] = "vkf_read_adapter_base";
    vkf__host host;
    char *name = NULL, *path = NULL;
    if (!desc || !inout_bytes)
        return vkf__null_argument(__func__);
    VKF_TAKE_DESC(function, vkf_inspection_desc, desc, desc_bytes, &host);
    if (!desc->directory)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__lone_adapter_base(&host, desc->directory, &name, &path));
    const char *wanted = name && !path ? name : "";
    const vkf_status status = vkf__give_text(&host, function, wanted, strlen(wanted), inout_bytes, out_name);
    vkf__free(&host, name);
    vkf__free(&host, path);
    return status;
}

vkf_status vkf_quantize_sized(const vkf_quantize_desc *desc, size_t desc_bytes, vkf_quantize_result *out_result,
                              size_t result_bytes)
{
    static const char function[] = "vkf_quantize";
    vkf_quantize_result result;
    vkf__host host;
    if (!desc || !out_result)
        return vkf__null_argument(__func__);
    VKF_TAKE_DESC(function, vkf_quantize_desc, desc, desc_bytes, &host);
    VKF_RETURN_IF_ERROR(vkf__check_sized(&host, function, result_bytes));
    if (!desc->directory || !desc->out_directory)
        return vkf__null_argument(__func__);
    if ((unsigned)desc->quantization >= (unsigned)VKF_QUANTIZATION_COUNT)
        return vkf__fail(&host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown quantization %d", function,
                         (int)desc->quantization);
    VKF_RETURN_IF_ERROR(vkf__quantize(&host, desc, &result));
    (void)vkf__give_sized(out_result, result_bytes, &result, sizeof result);
    return VKF_OK;
}
