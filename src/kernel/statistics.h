// What the driver's compiler reports about a pipeline, as plain data and under names that all drivers share.
#ifndef VKF_KERNEL_STATISTICS_H
#define VKF_KERNEL_STATISTICS_H

#include <vkformer/kernels.h>

#include "kernel/pipeline.h"

// Reads all statistics of a compute pipeline's executables, in the driver's order. None, and VKF_OK, on a device
// without pipelineExecutableInfo. *out_list is released with vkf__free().
// Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__statistics_read(vkf__device *device, VkPipeline pipeline, vkf_statistic **out_list,
                                               uint32_t *out_count);

// Fills in what the driver reports about a pipeline: raw and normalised statistics, and the representations where the
// pipelines capture them. Whatever the status, give the report to vkf__findings_free(). Statuses as above.
VKF_MUST_CHECK vkf_status vkf__findings_read(vkf__pipelines *pipelines, VkPipeline pipeline, vkf_kernel_report *report);
void vkf__findings_free(const vkf__host *host, vkf_kernel_report *report);

// Pure. Uses the caps' driver and subgroup size. For a driver that is not in the table everything stays unknown.
void vkf__statistics_normalise(const vkf__caps *caps, const vkf_statistic *list, uint32_t count,
                               vkf_kernel_statistics *out_statistics);

#endif
