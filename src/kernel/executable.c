// Reads what a driver reports about the executables of a pipeline.
#include <stdio.h>
#include <string.h>

#include "kernel/statistics.h"

static double value_of(const VkPipelineExecutableStatisticKHR *statistic)
{
    switch (statistic->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        return statistic->value.b32 != VK_FALSE;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return (double)statistic->value.i64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
        return (double)statistic->value.u64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
        return statistic->value.f64;
    default:
        return 0;
    }
}

typedef struct growing_list {
    void *items;
    size_t count;
    size_t capacity;
} growing_list;

static vkf_status append(const vkf__host *host, const VkPipelineExecutableStatisticKHR *from, uint32_t count,
                         growing_list *list)
{
    VKF_RETURN_IF_ERROR(
        vkf__grow(host, &list->items, sizeof(vkf_statistic), list->count, &list->capacity, list->count + count));
    vkf_statistic *items = list->items;
    for (uint32_t i = 0; i < count; i++) {
        vkf_statistic *item = &items[list->count++];
        (void)snprintf(item->name, sizeof item->name, "%.*s", (int)sizeof item->name - 1, from[i].name);
        item->value = value_of(&from[i]);
    }
    return VKF_OK;
}

static vkf_status read_executable(vkf__device *device, VkPipeline pipeline, uint32_t index, growing_list *list)
{
    vkf_status status = VKF_OK;
    VkPipelineExecutableStatisticKHR *statistics = NULL;
    const VkPipelineExecutableInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
        .pipeline = pipeline,
        .executableIndex = index,
    };
    uint32_t count = 0;
    VKF_VK(device, device->vk.vkGetPipelineExecutableStatisticsKHR(device->handle, &info, &count, NULL));
    if (count == 0)
        goto fail;
    VKF_ALLOC(device->host, statistics, count);
    for (uint32_t i = 0; i < count; i++)
        statistics[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    VKF_VK(device, device->vk.vkGetPipelineExecutableStatisticsKHR(device->handle, &info, &count, statistics));
    VKF_TRY(append(device->host, statistics, count, list));
fail:
    vkf__free(device->host, statistics);
    return status;
}

// Lists the executables in the driver's order, all stages among them. None, and VKF_OK, where the driver lists nothing.
static vkf_status list_executables(vkf__device *device, VkPipeline pipeline,
                                   VkPipelineExecutablePropertiesKHR **out_list, uint32_t *out_count)
{
    vkf_status status = VKF_OK;
    VkPipelineExecutablePropertiesKHR *executables = NULL;
    const VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
    uint32_t count = 0;
    if (device->plan.enabled.pipeline_executable_info && device->vk.vkGetPipelineExecutablePropertiesKHR)
        VKF_VK(device, device->vk.vkGetPipelineExecutablePropertiesKHR(device->handle, &info, &count, NULL));
    if (count > 0)
        VKF_ALLOC(device->host, executables, count);
    for (uint32_t i = 0; i < count; i++)
        executables[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
    if (count > 0)
        VKF_VK(device, device->vk.vkGetPipelineExecutablePropertiesKHR(device->handle, &info, &count, executables));
    *out_list = executables;
    *out_count = count;
    return VKF_OK;
fail:
    vkf__free(device->host, executables);
    return status;
}

vkf_status vkf__statistics_read(vkf__device *device, VkPipeline pipeline, vkf_statistic **out_list, uint32_t *out_count)
{
    vkf_status status = VKF_OK;
    VkPipelineExecutablePropertiesKHR *executables = NULL;
    growing_list list = {0};
    uint32_t count = 0;
    if (device->vk.vkGetPipelineExecutableStatisticsKHR)
        VKF_TRY(list_executables(device, pipeline, &executables, &count));
    for (uint32_t i = 0; i < count; i++) {
        if (executables[i].stages & VK_SHADER_STAGE_COMPUTE_BIT)
            VKF_TRY(read_executable(device, pipeline, i, &list));
    }
    *out_list = list.items;
    *out_count = (uint32_t)list.count;
    list.items = NULL;
fail:
    vkf__free(device->host, list.items);
    vkf__free(device->host, executables);
    return status;
}

static vkf_status append_representation(const vkf__host *host, const char *executable,
                                        const VkPipelineExecutableInternalRepresentationKHR *from, growing_list *list)
{
    VKF_RETURN_IF_ERROR(
        vkf__grow(host, &list->items, sizeof(vkf_representation), list->count, &list->capacity, list->count + 1));
    vkf_representation *item = (vkf_representation *)list->items + list->count++;
    *item = (vkf_representation){.is_text = from->isText, .size_bytes = from->dataSize};
    (void)snprintf(item->executable, sizeof item->executable, "%.*s", (int)sizeof item->executable - 1, executable);
    (void)snprintf(item->name, sizeof item->name, "%.*s", (int)sizeof item->name - 1, from->name);
    // One byte more, in case the text is not terminated.
    char *data = NULL;
    VKF_ALLOC_OR_RETURN(host, data, from->dataSize + 1);
    item->data = data;
    return VKF_OK;
}

// The driver is asked three times: for the number of representations, for their lengths, and for their contents.
static vkf_status read_representations(vkf__device *device, const VkPipelineExecutableInfoKHR *info,
                                       const char *executable, growing_list *list)
{
    vkf_status status = VKF_OK;
    VkPipelineExecutableInternalRepresentationKHR *entries = NULL;
    const PFN_vkGetPipelineExecutableInternalRepresentationsKHR get =
        device->vk.vkGetPipelineExecutableInternalRepresentationsKHR;
    const size_t first = list->count;
    uint32_t count = 0;
    VKF_VK(device, get(device->handle, info, &count, NULL));
    if (count == 0)
        goto fail;
    VKF_ALLOC(device->host, entries, count);
    for (uint32_t i = 0; i < count; i++)
        entries[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
    VKF_VK(device, get(device->handle, info, &count, entries));
    for (uint32_t i = 0; i < count; i++) {
        VKF_TRY(append_representation(device->host, executable, &entries[i], list));
        entries[i].pData = (void *)(uintptr_t)((vkf_representation *)list->items)[list->count - 1].data;
    }
    VKF_VK(device, get(device->handle, info, &count, entries));
    for (uint32_t i = 0; i < count; i++) {
        vkf_representation *item = (vkf_representation *)list->items + first + i;
        const size_t size = entries[i].dataSize < item->size_bytes ? entries[i].dataSize : item->size_bytes;
        item->size_bytes = item->is_text ? strnlen(item->data, size) : size;
    }
fail:
    vkf__free(device->host, entries);
    return status;
}

static vkf_status read_all_representations(vkf__device *device, VkPipeline pipeline, growing_list *list)
{
    vkf_status status = VKF_OK;
    VkPipelineExecutablePropertiesKHR *executables = NULL;
    uint32_t count = 0;
    if (device->vk.vkGetPipelineExecutableInternalRepresentationsKHR)
        VKF_TRY(list_executables(device, pipeline, &executables, &count));
    for (uint32_t i = 0; i < count; i++) {
        const VkPipelineExecutableInfoKHR info = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline, .executableIndex = i};
        if (executables[i].stages & VK_SHADER_STAGE_COMPUTE_BIT)
            VKF_TRY(read_representations(device, &info, executables[i].name, list));
    }
fail:
    vkf__free(device->host, executables);
    return status;
}

vkf_status vkf__findings_read(vkf__pipelines *pipelines, VkPipeline pipeline, vkf_kernel_report *report)
{
    vkf__device *device = pipelines->device;
    vkf_status status = VKF_OK;
    vkf_statistic *raw = NULL;
    growing_list representations = {0};
    VKF_RETURN_IF_ERROR(vkf__statistics_read(device, pipeline, &raw, &report->raw_count));
    report->raw = raw;
    report->has_statistics = report->raw_count > 0;
    vkf__statistics_normalise(&device->plan.caps, raw, report->raw_count, &report->statistics);
    if (pipelines->capture_representations)
        status = read_all_representations(device, pipeline, &representations);
    report->representations = representations.items;
    report->representation_count = (uint32_t)representations.count;
    return status;
}

void vkf__findings_free(const vkf__host *host, vkf_kernel_report *report)
{
    for (uint32_t i = 0; i < report->representation_count; i++)
        vkf__free(host, (void *)(uintptr_t)report->representations[i].data);
    vkf__free(host, (void *)(uintptr_t)report->representations);
    vkf__free(host, (void *)(uintptr_t)report->raw);
}
