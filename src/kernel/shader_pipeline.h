// The pipeline of a shader that is not the library's, made to ask the driver about it.
#ifndef VKF_KERNEL_SHADER_PIPELINE_H
#define VKF_KERNEL_SHADER_PIPELINE_H

#include <vkformer/kernels.h>

#include "kernel/pipeline.h"

#define VKF_SHADER_MAX_SETS 32

typedef struct vkf__shader_pipeline {
    VkDescriptorSetLayout sets[VKF_SHADER_MAX_SETS];
    uint32_t set_count;
    VkPipelineLayout layout;
    VkPipeline handle;
} vkf__shader_pipeline;

// Whether a shader on the device may declare that capability of SPIR-V. False for capabilities not listed here.
bool vkf__device_takes_capability(const vkf__device *device, uint32_t number);

// Whatever the status, give *out_pipeline to vkf__shader_pipeline_destroy(). Statuses: INVALID_ARGUMENT, UNSUPPORTED,
// OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__shader_pipeline_make(vkf__pipelines *pipelines, const vkf_shader_desc *desc,
                                                    vkf__shader_pipeline *out_pipeline);
void vkf__shader_pipeline_destroy(vkf__device *device, vkf__shader_pipeline *pipeline);

#endif
