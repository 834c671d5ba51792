// Compute pipelines of one device: created on first use, kept by kernel and specialisation constants.
#ifndef VKF_KERNEL_PIPELINE_H
#define VKF_KERNEL_PIPELINE_H

#include "kernel/select.h"
#include "vk/device.h"

typedef struct vkf__pipeline {
    const vkf__kernel *kernel;
    uint32_t spec[VKF_KERNEL_MAX_SPEC];
    VkPipeline handle;
} vkf__pipeline;

typedef struct vkf__pipelines {
    vkf__device *device;
    VkPipelineCache cache;
    char *shader_dir; // GLSL that overrides the embedded modules; NULL: none
    VkDescriptorSetLayout set_layouts[VKF_KERNEL_MAX_STORAGE + 1]; // by number of storage buffers
    VkPipelineLayout layouts[VKF_KERNEL_MAX_STORAGE + 1];
    vkf__pipeline **entries;
    size_t count;
    size_t capacity;
    pthread_mutex_t lock;
    bool lock_ready;
} vkf__pipelines;

// `cache` becomes the pipelines' own, also on failure. Statuses: OUT_OF_HOST_MEMORY, UNSUPPORTED (shader_dir in a build
// without VKF_RUNTIME_GLSL), DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__pipelines_init(vkf__pipelines *pipelines, vkf__device *device, VkPipelineCache cache,
                                              const char *shader_dir);
void vkf__pipelines_finish(vkf__pipelines *pipelines);

// `spec` holds kernel->spec_count values. The result lives as long as the pipelines.
// Statuses: SHADER, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__pipelines_get(vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec,
                                             const vkf__pipeline **out_pipeline);

// Fills in workgroup size and tile from a config; flags follow from spec id 1 + tile_count.
void vkf__config_spec(const vkf__kernel *kernel, const vkf__config *config, const uint32_t *flags, uint32_t *out_spec);

#endif
