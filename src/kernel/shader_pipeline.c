// Makes the pipeline of a caller's shader, after checking that the device may run it.
#include "kernel/shader_pipeline.h"

// Capabilities by their numbers in the SPIR-V specification, and what the plan must have enabled for them. Those of
// subgroups are consecutive, in the order of VkSubgroupFeatureFlagBits.
enum { GROUP_NON_UNIFORM = 61, GROUP_NON_UNIFORM_QUAD = 68 };
#define ALWAYS UINT16_MAX

typedef struct capability {
    uint16_t number;
    uint16_t member; // offset of a bool in the plan
} capability;

#define NEEDS(number, member)                      \
    {                                              \
        number, offsetof(vkf__device_plan, member) \
    }
static const capability capabilities[] = {
    {0, ALWAYS},                                    // Matrix
    {1, ALWAYS},                                    // Shader
    NEEDS(9, enabled.shader_float16),               // Float16
    NEEDS(11, enabled.shader_int64),                // Int64
    {43, ALWAYS},                                   // Sampled1D
    {44, ALWAYS},                                   // Image1D
    {46, ALWAYS},                                   // SampledBuffer
    {47, ALWAYS},                                   // ImageBuffer
    {50, ALWAYS},                                   // ImageQuery
    NEEDS(10, enabled.other.float64),               // Float64
    NEEDS(22, enabled.other.int16),                 // Int16
    NEEDS(39, enabled.other.int8),                  // Int8
    NEEDS(4433, enabled.storage_16bit),             // StorageBuffer16BitAccess
    NEEDS(4434, enabled.other.uniform_16bit),       // UniformAndStorageBuffer16BitAccess
    NEEDS(4435, enabled.other.push_16bit),          // StoragePushConstant16
    NEEDS(4448, enabled.other.storage_8bit),        // StorageBuffer8BitAccess
    NEEDS(4449, enabled.other.uniform_8bit),        // UniformAndStorageBuffer8BitAccess
    NEEDS(4450, enabled.other.push_8bit),           // StoragePushConstant8
    NEEDS(5116, enabled.matrix.bfloat16),           // BFloat16TypeKHR
    NEEDS(5118, enabled.matrix.bfloat16),           // BFloat16CooperativeMatrixKHR
    NEEDS(5345, enabled.vulkan_memory_model),       // VulkanMemoryModel
    NEEDS(5346, enabled.vulkan_memory_model),       // VulkanMemoryModelDeviceScope
    NEEDS(5347, enabled.buffer_device_address),     // PhysicalStorageBufferAddresses
    NEEDS(6016, enabled.integer_dot),               // DotProductInputAll
    NEEDS(6017, enabled.integer_dot),               // DotProductInput4x8Bit
    NEEDS(6018, enabled.integer_dot),               // DotProductInput4x8BitPacked
    NEEDS(6019, enabled.integer_dot),               // DotProduct
    NEEDS(6022, enabled.matrix.cooperative_matrix), // CooperativeMatrixKHR
};

static bool takes_subgroups(const vkf__device *device, uint32_t number)
{
    const vkf__caps *caps = &device->plan.caps;
    VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceProperties2 head = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &subgroup};
    device->instance->vkGetPhysicalDeviceProperties2(device->physical, &head);
    VkSubgroupFeatureFlags operations = subgroup.supportedOperations;
    if (!caps->subgroup_arithmetic) // may be masked
        operations &= ~(VkSubgroupFeatureFlags)VK_SUBGROUP_FEATURE_ARITHMETIC_BIT;
    if (!caps->subgroup_shuffle)
        operations &= ~(VkSubgroupFeatureFlags)VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
    return (subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) && (operations >> (number - GROUP_NON_UNIFORM) & 1);
}

bool vkf__device_takes_capability(const vkf__device *device, uint32_t number)
{
    if (number >= GROUP_NON_UNIFORM && number <= GROUP_NON_UNIFORM_QUAD)
        return takes_subgroups(device, number);
    for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++) {
        const capability *c = &capabilities[i];
        if (c->number == number)
            return c->member == ALWAYS || *((const bool *)(const void *)&device->plan + c->member);
    }
    return false;
}

// OpCapability instructions come first in a module.
static vkf_status check_capabilities(const vkf__device *device, const vkf_shader_desc *desc)
{
    enum { HEADER_WORDS = 5, OP_CAPABILITY = 17, CAPABILITY_WORDS = 2 };
    const uint32_t opening = CAPABILITY_WORDS << 16 | OP_CAPABILITY;
    if (desc->word_count < HEADER_WORDS)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT, "%s is no SPIR-V", desc->name);
    VKF_RETURN_IF_ERROR(vkf__device_check_runs(device, desc->name));
    for (size_t i = HEADER_WORDS; i + 1 < desc->word_count && desc->words[i] == opening; i += CAPABILITY_WORDS) {
        if (!vkf__device_takes_capability(device, desc->words[i + 1]))
            return vkf__fail(device->host, VKF_ERROR_UNSUPPORTED,
                             "%s declares SPIR-V's capability %u, which is not enabled on %s", desc->name,
                             desc->words[i + 1], device->plan.caps.name);
    }
    return VKF_OK;
}

static vkf_status check_limits(const vkf__device *device, const vkf_shader_desc *desc)
{
    VkPhysicalDeviceProperties properties;
    device->instance->vkGetPhysicalDeviceProperties(device->physical, &properties);
    bool fits = desc->push_bytes <= device->plan.caps.max_push_constant_bytes &&
                desc->binding_count <= VKF_SHADER_MAX_BINDINGS && desc->spec_count <= VKF_SHADER_MAX_CONSTANTS;
    for (uint32_t i = 0; i < desc->binding_count && fits; i++)
        fits = desc->bindings[i].set < properties.limits.maxBoundDescriptorSets &&
               desc->bindings[i].set < VKF_SHADER_MAX_SETS;
    if (fits)
        return VKF_OK;
    return vkf__fail(device->host, VKF_ERROR_UNSUPPORTED,
                     "%s has more descriptor sets, bindings, constants or push constants than %s takes", desc->name,
                     device->plan.caps.name);
}

static vkf_status make_set(vkf__device *device, const vkf_shader_desc *desc, uint32_t set,
                           VkDescriptorSetLayout *out_set)
{
    vkf_status status = VKF_OK;
    VkDescriptorSetLayoutBinding bindings[VKF_SHADER_MAX_BINDINGS];
    VkDescriptorSetLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .pBindings = bindings,
    };
    for (uint32_t i = 0; i < desc->binding_count; i++) {
        const vkf_shader_binding *from = &desc->bindings[i];
        if (from->set == set)
            bindings[info.bindingCount++] = (VkDescriptorSetLayoutBinding){
                .binding = from->binding,
                .descriptorType = (VkDescriptorType)from->descriptor_type,
                .descriptorCount = from->count,
                .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
            };
    }
    VKF_VK_CREATE(device, device->vk.vkCreateDescriptorSetLayout(device->handle, &info, NULL, out_set), out_set);
fail:
    return status;
}

static vkf_status make_layout(vkf__device *device, const vkf_shader_desc *desc, vkf__shader_pipeline *pipeline)
{
    vkf_status status = VKF_OK;
    uint32_t set_count = 0;
    const VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = (desc->push_bytes + 3) & ~3U};
    for (uint32_t i = 0; i < desc->binding_count; i++)
        set_count = desc->bindings[i].set >= set_count ? desc->bindings[i].set + 1 : set_count;
    for (; pipeline->set_count < set_count; pipeline->set_count++)
        VKF_TRY(make_set(device, desc, pipeline->set_count, &pipeline->sets[pipeline->set_count]));
    const VkPipelineLayoutCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = set_count,
        .pSetLayouts = pipeline->sets,
        .pushConstantRangeCount = push.size > 0,
        .pPushConstantRanges = &push,
    };
    VKF_VK_CREATE(device, device->vk.vkCreatePipelineLayout(device->handle, &info, NULL, &pipeline->layout),
                  &pipeline->layout);
fail:
    return status;
}

vkf_status vkf__shader_pipeline_make(vkf__pipelines *pipelines, const vkf_shader_desc *desc,
                                     vkf__shader_pipeline *out_pipeline)
{
    vkf__device *device = pipelines->device;
    vkf_status status = VKF_OK;
    VkShaderModule module = VK_NULL_HANDLE;
    VkSpecializationMapEntry entries[VKF_SHADER_MAX_CONSTANTS];
    *out_pipeline = (vkf__shader_pipeline){0};
    VKF_TRY(check_capabilities(device, desc));
    VKF_TRY(check_limits(device, desc));
    VKF_TRY(make_layout(device, desc, out_pipeline));
    VKF_TRY(vkf__module_make(device, desc->words, 4 * desc->word_count, desc->name, &module));
    for (uint32_t i = 0; i < desc->spec_count; i++)
        entries[i] = (VkSpecializationMapEntry){
            .constantID = desc->spec[i].id,
            .offset = (uint32_t)(i * sizeof *desc->spec + offsetof(vkf_shader_constant, value)),
            .size = desc->spec[i].size_bytes,
        };
    const VkSpecializationInfo specialization = {
        .mapEntryCount = desc->spec_count,
        .pMapEntries = entries,
        .dataSize = desc->spec_count * sizeof *desc->spec,
        .pData = desc->spec,
    };
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = vkf__pipelines_flags(pipelines),
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = desc->entry_point ? desc->entry_point : "main",
                  .pSpecializationInfo = &specialization},
        .layout = out_pipeline->layout,
    };
    // Does not use the pipeline cache, which is kept between runs: a shader under development would fill it.
    VKF_VK_CREATE(
        device,
        device->vk.vkCreateComputePipelines(device->handle, VK_NULL_HANDLE, 1, &info, NULL, &out_pipeline->handle),
        &out_pipeline->handle);
fail:
    if (module != VK_NULL_HANDLE)
        device->vk.vkDestroyShaderModule(device->handle, module, NULL);
    return status;
}

void vkf__shader_pipeline_destroy(vkf__device *device, vkf__shader_pipeline *pipeline)
{
    if (pipeline->handle != VK_NULL_HANDLE)
        device->vk.vkDestroyPipeline(device->handle, pipeline->handle, NULL);
    if (pipeline->layout != VK_NULL_HANDLE)
        device->vk.vkDestroyPipelineLayout(device->handle, pipeline->layout, NULL);
    for (uint32_t i = 0; i < pipeline->set_count; i++)
        device->vk.vkDestroyDescriptorSetLayout(device->handle, pipeline->sets[i], NULL);
    *pipeline = (vkf__shader_pipeline){0};
}
