// Reads the vendors' extensions that tell the number of cores.
#include "vk/caps_cores.h"

// Streaming multiprocessors.
static void read_nvidia(const vkf__instance *instance, VkPhysicalDevice device, vkf__caps *caps)
{
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV builtins = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    VkPhysicalDeviceProperties2 head = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &builtins};
    instance->vkGetPhysicalDeviceProperties2(device, &head);
    caps->shader_cores = builtins.shaderSMCount;
    caps->core_subgroups = builtins.shaderWarpsPerSM;
}

// Compute units. Some of them may be switched off, which the second extension tells.
static void read_amd(const vkf__instance *instance, VkPhysicalDevice device, bool second, vkf__caps *caps)
{
    VkPhysicalDeviceShaderCoreProperties2AMD core2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD};
    VkPhysicalDeviceShaderCorePropertiesAMD core = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD, .pNext = second ? &core2 : NULL};
    VkPhysicalDeviceProperties2 head = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &core};
    instance->vkGetPhysicalDeviceProperties2(device, &head);
    uint32_t all = core.shaderEngineCount * core.shaderArraysPerEngineCount * core.computeUnitsPerShaderArray;
    caps->shader_cores = core2.activeComputeUnitCount > 0 ? core2.activeComputeUnitCount : all;
    caps->core_subgroups = core.simdPerComputeUnit * core.wavefrontsPerSimd;
}

static void read_arm(const vkf__instance *instance, VkPhysicalDevice device, vkf__caps *caps)
{
    VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM builtins = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM};
    VkPhysicalDeviceProperties2 head = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &builtins};
    instance->vkGetPhysicalDeviceProperties2(device, &head);
    caps->shader_cores = builtins.shaderCoreCount;
    caps->core_subgroups = builtins.shaderWarpsPerCore;
}

void vkf__caps_cores_read(const vkf__instance *instance, VkPhysicalDevice device, const vkf__extension_list *extensions,
                          vkf__caps *inout_caps)
{
    if (vkf__extension_listed(extensions, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
        read_nvidia(instance, device, inout_caps);
    else if (vkf__extension_listed(extensions, VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME))
        read_amd(instance, device, vkf__extension_listed(extensions, VK_AMD_SHADER_CORE_PROPERTIES_2_EXTENSION_NAME),
                 inout_caps);
    else if (vkf__extension_listed(extensions, VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME))
        read_arm(instance, device, inout_caps);
}
