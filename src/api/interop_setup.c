// Says what a program's own device should be created with: vkf_device_setup of <vkformer/vulkan.h>.
#include "api/check.h"

#include <string.h>

#include <vkformer/vulkan.h>

#include "vk/feature_chain.h"

struct vkf_device_setup {
    vkf__host host;
    vkf__device device;     // only described
    vkf__features required; // chained
    // What the last VkDeviceCreateInfo was filled with.
    vkf__features added;
    VkPhysicalDeviceFeatures core;
    const char **extensions;
    VkDeviceQueueCreateInfo queue;
    float priority;
};

vkf_status vkf_device_setup_create_sized(const vkf_context_desc *desc, size_t desc_bytes, vkf_device_setup **out_setup)
{
    vkf_status status = VKF_OK;
    vkf_context_desc full;
    vkf_device_setup *setup = NULL;
    vkf__host host;
    if (!desc || !out_setup)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__take_context_desc("vkf_device_setup_create", desc, desc_bytes, &full));
    VKF_RETURN_IF_ERROR(vkf__context_host(&full, &host));
    VKF_ALLOC(&host, setup, 1);
    setup->host = host;
    setup->priority = 1.0f;
    VKF_TRY(vkf__context_plan_device(&full, &setup->host, &setup->device));
    setup->required = setup->device.plan.features;
    setup->required.head.pNext = vkf__features_chain(&setup->required, setup->device.plan.feature_structures);
    *out_setup = setup;
    return VKF_OK;
fail:
    vkf_device_setup_destroy(&setup);
    return status;
}

void vkf_device_setup_destroy(vkf_device_setup **setup)
{
    if (!setup || !*setup)
        return;
    vkf__host host = (*setup)->host;
    vkf__device_finish(&(*setup)->device);
    vkf__free(&host, (*setup)->extensions);
    vkf__free(&host, *setup);
    *setup = NULL;
}

const VkPhysicalDeviceFeatures2 *vkf_device_setup_get_features(const vkf_device_setup *setup)
{
    return setup ? &setup->required.head : NULL;
}

const char *const *vkf_device_setup_get_extensions(const vkf_device_setup *setup, uint32_t *out_count)
{
    if (!setup || !out_count)
        return NULL;
    *out_count = setup->device.plan.extension_count;
    return setup->device.plan.extensions;
}

uint32_t vkf_device_setup_get_queue_family(const vkf_device_setup *setup)
{
    return setup ? setup->device.plan.caps.queue_family_index : UINT32_MAX;
}

static bool is_listed(const char *const *names, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static vkf_status check_info(const vkf_device_setup *setup, const VkDeviceCreateInfo *info)
{
    bool head = false;
    for (const VkBaseInStructure *link = info->pNext; link; link = link->pNext)
        head = head || link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    if (head && info->pEnabledFeatures)
        return vkf__fail(
            &setup->host, VKF_ERROR_INVALID_ARGUMENT,
            "vkf_device_setup_fill_create_info: there are pEnabledFeatures and a VkPhysicalDeviceFeatures2, of "
            "which Vulkan allows one");
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++)
        if (!info->ppEnabledExtensionNames || !info->ppEnabledExtensionNames[i])
            return vkf__fail(
                &setup->host, VKF_ERROR_INVALID_ARGUMENT,
                "vkf_device_setup_fill_create_info: enabledExtensionCount is %u, but ppEnabledExtensionNames or "
                "one of them is NULL",
                info->enabledExtensionCount);
    return VKF_OK;
}

static vkf_status fill_extensions(vkf_device_setup *setup, VkDeviceCreateInfo *info)
{
    const vkf__device_plan *plan = &setup->device.plan;
    const char **names = NULL;
    uint32_t count = info->enabledExtensionCount;
    VKF_ALLOC_OR_RETURN(&setup->host, names, (size_t)count + plan->extension_count + 1);
    for (uint32_t i = 0; i < count; i++)
        names[i] = info->ppEnabledExtensionNames[i];
    for (uint32_t i = 0; i < plan->extension_count; i++)
        if (!is_listed(names, count, plan->extensions[i]))
            names[count++] = plan->extensions[i];
    vkf__free(&setup->host, setup->extensions);
    setup->extensions = names;
    info->ppEnabledExtensionNames = names;
    info->enabledExtensionCount = count;
    return VKF_OK;
}

// Behind what is there, so that a VkPhysicalDeviceFeatures2 remains the first.
static void append_structures(vkf_device_setup *setup, VkDeviceCreateInfo *info, uint32_t structures)
{
    setup->added = setup->device.plan.features;
    void *first = vkf__features_chain(&setup->added, structures);
    VkBaseOutStructure *last = (VkBaseOutStructure *)(uintptr_t)info->pNext;
    while (last && last->pNext)
        last = last->pNext;
    if (last)
        last->pNext = first;
    else
        info->pNext = first;
}

static void fill_features(vkf_device_setup *setup, VkDeviceCreateInfo *info)
{
    const vkf__device_plan *plan = &setup->device.plan;
    bool head = false;
    // Vulkan has the chain const, but this function's description says that it is written to.
    void *chain = (void *)(uintptr_t)info->pNext;
    uint32_t missing = vkf__feature_chain_merge(chain, &plan->features, plan->feature_structures, &head);
    if (missing)
        append_structures(setup, info, missing);
    if (head)
        return;
    setup->core = plan->features.head.features;
    if (info->pEnabledFeatures)
        vkf__core_features_merge(&setup->core, info->pEnabledFeatures);
    info->pEnabledFeatures = &setup->core;
}

vkf_status vkf_device_setup_fill_create_info(vkf_device_setup *setup, VkDeviceCreateInfo *inout_info)
{
    if (!setup || !inout_info)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(check_info(setup, inout_info));
    VKF_RETURN_IF_ERROR(fill_extensions(setup, inout_info));
    fill_features(setup, inout_info);
    if (inout_info->queueCreateInfoCount > 0)
        return VKF_OK;
    setup->queue = (VkDeviceQueueCreateInfo){
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = vkf_device_setup_get_queue_family(setup),
        .queueCount = 1,
        .pQueuePriorities = &setup->priority,
    };
    inout_info->queueCreateInfoCount = 1;
    inout_info->pQueueCreateInfos = &setup->queue;
    return VKF_OK;
}
