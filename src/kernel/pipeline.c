#include "kernel/pipeline.h"

#include <stdio.h>
#include <string.h>

#include "kernel/glsl.h"
#include "kernel/shader_table.h"
#include "shared/types.h"

vkf_status vkf__pipelines_init(vkf__pipelines *pipelines, vkf__device *device, VkPipelineCache cache,
                               const char *shader_dir)
{
    vkf_status status = VKF_OK;
    *pipelines = (vkf__pipelines){.device = device, .cache = cache};
    if (pthread_mutex_init(&pipelines->lock, NULL) != 0) {
        status = vkf__fail(device->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "pipelines: the system has no mutex left");
        goto fail;
    }
    pipelines->lock_ready = true;
    if (shader_dir && !vkf__glsl_available()) {
        status =
            vkf__fail(device->host, VKF_ERROR_UNSUPPORTED,
                      "shader_dir %s: this build has no GLSL compiler; configure with VKF_RUNTIME_GLSL=ON", shader_dir);
        goto fail;
    }
    if (shader_dir) {
        pipelines->shader_dir = vkf__strdup(device->host, shader_dir);
        if (!pipelines->shader_dir) {
            status = vkf__fail(device->host, VKF_ERROR_OUT_OF_HOST_MEMORY, "pipelines: no host memory");
            goto fail;
        }
    }
    return VKF_OK;
fail:
    vkf__pipelines_finish(pipelines);
    return status;
}

void vkf__pipelines_finish(vkf__pipelines *pipelines)
{
    vkf__device *device = pipelines->device;
    if (!device)
        return;
    for (size_t i = 0; i < pipelines->count; i++) {
        device->vk.vkDestroyPipeline(device->handle, pipelines->entries[i]->handle, NULL);
        vkf__free(device->host, pipelines->entries[i]);
    }
    vkf__free(device->host, pipelines->entries);
    for (size_t i = 0; i <= VKF_KERNEL_MAX_STORAGE; i++) {
        if (pipelines->layouts[i] != VK_NULL_HANDLE)
            device->vk.vkDestroyPipelineLayout(device->handle, pipelines->layouts[i], NULL);
        if (pipelines->set_layouts[i] != VK_NULL_HANDLE)
            device->vk.vkDestroyDescriptorSetLayout(device->handle, pipelines->set_layouts[i], NULL);
    }
    if (pipelines->cache != VK_NULL_HANDLE)
        device->vk.vkDestroyPipelineCache(device->handle, pipelines->cache, NULL);
    vkf__free(device->host, pipelines->shader_dir);
    if (pipelines->lock_ready)
        pthread_mutex_destroy(&pipelines->lock);
    *pipelines = (vkf__pipelines){0};
}

void vkf__config_spec(const vkf__kernel *kernel, const vkf__config *config, const uint32_t *flags, uint32_t *out_spec)
{
    out_spec[VKF_SPEC_LOCAL_SIZE] = config->local_size;
    for (uint32_t i = 0; i < kernel->tile_count; i++)
        out_spec[1 + i] = config->tile[i];
    for (uint32_t i = 1 + kernel->tile_count; i < kernel->spec_count; i++)
        out_spec[i] = flags[i - 1 - kernel->tile_count];
}

// Kernels with the same number of storage buffers share one layout: params at binding 0, storage from 1, and a push
// constant per storage buffer.
static vkf_status make_layout(vkf__pipelines *pipelines, uint32_t storage_count)
{
    vkf__device *device = pipelines->device;
    vkf_status status = VKF_OK;
    if (pipelines->layouts[storage_count] != VK_NULL_HANDLE)
        return VKF_OK;
    VkDescriptorSetLayoutBinding bindings[VKF_KERNEL_MAX_STORAGE + 1] = {0};
    for (uint32_t i = 0; i <= storage_count; i++) {
        bindings[i] = (VkDescriptorSetLayoutBinding){
            .binding = i,
            .descriptorType =
                i == VKF_BINDING_PARAMS ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        };
    }
    VkDescriptorSetLayoutCreateInfo set_info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = storage_count + 1,
        .pBindings = bindings,
    };
    VkDescriptorSetLayout *set_layout = &pipelines->set_layouts[storage_count];
    if (*set_layout == VK_NULL_HANDLE)
        VKF_VK_CREATE(device, device->vk.vkCreateDescriptorSetLayout(device->handle, &set_info, NULL, set_layout),
                      set_layout);
    VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 4 * storage_count};
    VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = set_layout,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push,
    };
    VkPipelineLayout *layout = &pipelines->layouts[storage_count];
    VKF_VK_CREATE(device, device->vk.vkCreatePipelineLayout(device->handle, &info, NULL, layout), layout);
    vkf__device_name(device, VK_OBJECT_TYPE_PIPELINE_LAYOUT, (uint64_t)pipelines->layouts[storage_count],
                     "vkformer layout");
    vkf__device_name(device, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, (uint64_t)*set_layout, "vkformer set layout");
fail:
    return status;
}

static vkf_status make_module(vkf__pipelines *pipelines, const vkf__kernel *kernel, VkShaderModule *out_module)
{
    vkf__device *device = pipelines->device;
    vkf_status status = VKF_OK;
    uint32_t *compiled = NULL;
    const vkf__shader *shader = vkf__shader_find(kernel->name);
    if (!shader)
        return vkf__fail(device->host, VKF_ERROR_UNSUPPORTED, "kernel %s is not in this build", kernel->name);
    VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = (size_t)shader->word_count * 4,
        .pCode = shader->words,
    };
    if (pipelines->shader_dir) {
        VKF_TRY(vkf__glsl_compile(device->host, pipelines->shader_dir, shader->source, shader->defines, &compiled,
                                  &info.codeSize));
        info.pCode = compiled;
    }
    VkShaderModule module = VK_NULL_HANDLE;
    VKF_VK(device, device->vk.vkCreateShaderModule(device->handle, &info, NULL, &module));
    vkf__device_name(device, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)module, kernel->name);
    *out_module = module;
fail:
    vkf__free(device->host, compiled);
    return status;
}

static vkf_status make_pipeline(vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec,
                                VkPipeline *out_handle)
{
    vkf__device *device = pipelines->device;
    vkf_status status = VKF_OK;
    VkShaderModule module = VK_NULL_HANDLE;
    VKF_TRY(make_layout(pipelines, kernel->storage_count));
    VKF_TRY(make_module(pipelines, kernel, &module));
    VkSpecializationMapEntry entries[VKF_KERNEL_MAX_SPEC];
    for (uint32_t i = 0; i < kernel->spec_count; i++)
        entries[i] = (VkSpecializationMapEntry){.constantID = i, .offset = 4 * i, .size = 4};
    VkSpecializationInfo specialization = {
        .mapEntryCount = kernel->spec_count,
        .pMapEntries = entries,
        .dataSize = (size_t)4 * kernel->spec_count,
        .pData = spec,
    };
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &specialization},
        .layout = pipelines->layouts[kernel->storage_count],
    };
    VKF_VK(device, device->vk.vkCreateComputePipelines(device->handle, pipelines->cache, 1, &info, NULL, out_handle));
    vkf__device_name(device, VK_OBJECT_TYPE_PIPELINE, (uint64_t)*out_handle, kernel->name);
fail:
    if (module != VK_NULL_HANDLE)
        device->vk.vkDestroyShaderModule(device->handle, module, NULL);
    return status;
}

static vkf_status get_locked(vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec,
                             const vkf__pipeline **out_pipeline)
{
    const vkf__host *host = pipelines->device->host;
    vkf_status status = VKF_OK;
    vkf__pipeline *entry = NULL;
    for (size_t i = 0; i < pipelines->count; i++) {
        entry = pipelines->entries[i];
        if (entry->kernel == kernel && memcmp(entry->spec, spec, 4 * (size_t)kernel->spec_count) == 0) {
            *out_pipeline = entry;
            return VKF_OK;
        }
    }
    void *entries = pipelines->entries;
    entry = NULL;
    VKF_TRY(vkf__grow(host, &entries, sizeof *pipelines->entries, pipelines->count, &pipelines->capacity,
                      pipelines->count + 1));
    pipelines->entries = entries;
    VKF_ALLOC(host, entry, 1);
    entry->kernel = kernel;
    memcpy(entry->spec, spec, 4 * (size_t)kernel->spec_count);
    VKF_TRY(make_pipeline(pipelines, kernel, spec, &entry->handle));
    pipelines->entries[pipelines->count++] = entry;
    *out_pipeline = entry;
    return VKF_OK;
fail:
    vkf__free(host, entry);
    return status;
}

vkf_status vkf__pipelines_get(vkf__pipelines *pipelines, const vkf__kernel *kernel, const uint32_t *spec,
                              const vkf__pipeline **out_pipeline)
{
    pthread_mutex_lock(&pipelines->lock);
    vkf_status status = get_locked(pipelines, kernel, spec, out_pipeline);
    pthread_mutex_unlock(&pipelines->lock);
    return status;
}
