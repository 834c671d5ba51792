// Compute pipelines of one device, created on first use and found again by kernel and specialisation constants.
#ifndef VKF_KERNEL_PIPELINE_H
#define VKF_KERNEL_PIPELINE_H

#include "kernel/glsl.h"
#include "kernel/select.h"
#include "vk/device.h"

// Kernels whose operands are bound in the same way share a layout: params at binding 0, operands from binding 1, and
// the push constants of vkf__kernel_push_words().
typedef struct vkf__layout {
    uint32_t operand_count;
    uint8_t operands[VKF_KERNEL_MAX_OPERANDS];
    VkDescriptorSetLayout set;
    VkPipelineLayout handle;
} vkf__layout;

typedef struct vkf__pipeline {
    const vkf__kernel *kernel;
    const vkf__layout *layout;
    uint32_t spec[VKF_KERNEL_MAX_SPEC];
    uint32_t spirv_bytes; // of the module that the pipeline was made from
    uint64_t spirv_hash;  // of the module's words
    // The config under which a work last took this pipeline; trials do not count. NULL if none did. Whoever watches a
    // context may clear it.
    const vkf__config *taken;
    VkPipeline handle;
} vkf__pipeline;

// A pipeline that will be asked for.
typedef struct vkf__pipeline_want {
    const vkf__kernel *kernel;
    uint32_t spec[VKF_KERNEL_MAX_SPEC];
} vkf__pipeline_want;

// A list of them, which grows; `list` is released with vkf__free().
typedef struct vkf__pipeline_wants {
    vkf__pipeline_want *list;
    size_t count, capacity;
} vkf__pipeline_wants;

// `spec` holds VKF_KERNEL_MAX_SPEC values. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pipelines_add_want(const vkf__host *host, vkf__pipeline_wants *wants,
                                                  const vkf__kernel *kernel, const uint32_t *spec);

#define VKF_MAX_LAYOUTS 24

typedef struct vkf__pipelines {
    vkf__device *device;
    VkPipelineCache cache;
    char *shader_dir; // folder of GLSL that replaces the embedded modules; NULL: none
    vkf__glsl glsl;   // open where there is a shader_dir
    vkf__layout layouts[VKF_MAX_LAYOUTS];
    size_t layout_count;
    vkf__pipeline **entries;
    size_t count;
    size_t capacity;
    pthread_mutex_t lock;
    bool lock_ready;
    bool capture_representations; // where the device has pipelineExecutableInfo
    vkf_progress_fn progress;     // of the context; may be NULL
    void *progress_user;
} vkf__pipelines;

// Tells the context's progress function. Status CANCELLED where it says no.
VKF_MUST_CHECK vkf_status vkf__pipelines_tell(const vkf__pipelines *pipelines, size_t done, size_t total,
                                              const char *what);

// The pipelines take ownership of `cache`, on failure too. Statuses: OUT_OF_HOST_MEMORY, UNSUPPORTED (shader_dir
// without the plug-in that compiles it), DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__pipelines_init(vkf__pipelines *pipelines, vkf__device *device, VkPipelineCache cache,
                                              const char *shader_dir);
void vkf__pipelines_finish(vkf__pipelines *pipelines);

// `spec` holds kernel->spec_count values. `taken` (may be NULL) is the config that they belong to, and is kept in the
// pipeline. The result lives as long as the pipelines.
// Statuses: SHADER (also where the driver's compiler fails), OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST,
// VULKAN, CANCELLED.
VKF_MUST_CHECK vkf_status vkf__pipelines_get(vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec,
                                             const vkf__config *taken, const vkf__pipeline **out_pipeline);

// Whether that one is there. `spec` as above.
bool vkf__pipelines_have(vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec);

// Makes those that are not there yet, several at once: the driver compiles them on up to VKF_PARALLEL_THREADS threads.
// The statuses are those of vkf__pipelines_get(), of the first in the list that could not be made, which is
// *out_failed (may be NULL); all others are kept.
VKF_MUST_CHECK vkf_status vkf__pipelines_make(vkf__pipelines *pipelines, const vkf__pipeline_want *wants, size_t count,
                                              size_t *out_failed);

// Whether a status of vkf__pipelines_get() means that the driver does not take the kernel. With a shader_dir the kernel
// may be at fault, so that nothing is learned about the driver.
bool vkf__pipelines_refused(const vkf__pipelines *pipelines, vkf_status status);

// The flags with which a pipeline is created so that the driver reports what the context wants to know.
VkPipelineCreateFlags vkf__pipelines_flags(const vkf__pipelines *pipelines);

// Makes a shader module, which the caller destroys. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, VULKAN.
VKF_MUST_CHECK vkf_status vkf__module_make(vkf__device *device, const uint32_t *words, size_t size_bytes,
                                           const char *name, VkShaderModule *out_module);

#endif
