// Walks chains of feature structures that a program made.
#include "vk/feature_chain.h"

// A switch that stands in a structure of an extension, and in that of a version of Vulkan.
typedef struct aggregate {
    VkStructureType type; // of the latter
    size_t member;        // offset in the latter
    size_t bit;           // offset in vkf__features
} aggregate;

#define TYPE_11 VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES
#define TYPE_12 VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES
#define TYPE_13 VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES

static const aggregate aggregates[] = {
#define ROW(path, version, member) \
    {TYPE_##version, offsetof(VkPhysicalDeviceVulkan##version##Features, member), offsetof(vkf__features, path)},
    VKF_FEATURE_AGGREGATES(ROW)
#undef ROW
};

enum { AGGREGATE_COUNT = sizeof aggregates / sizeof aggregates[0] };

static VkBool32 *switch_at(const void *structure, size_t offset)
{
    return (VkBool32 *)((uintptr_t)structure + offset);
}

// The switches of a structure stand behind its type and link, in a row.
static void merge_switches(void *to, const void *from, size_t begin, size_t end)
{
    for (size_t offset = begin; offset + sizeof(VkBool32) <= end; offset += sizeof(VkBool32))
        if (*switch_at(from, offset))
            *switch_at(to, offset) = VK_TRUE;
}

void vkf__core_features_merge(VkPhysicalDeviceFeatures *to, const VkPhysicalDeviceFeatures *from)
{
    merge_switches(to, from, 0, sizeof *to);
}

// The structure of an extension that has this type; NULL: the table has none.
static const vkf__feature_structure *structure_of(VkStructureType type)
{
    for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++)
        if (vkf__feature_structures[i].type == type)
            return &vkf__feature_structures[i];
    return NULL;
}

static void *place_of(const vkf__features *features, const vkf__feature_structure *structure)
{
    return (void *)((uintptr_t)features + structure->offset);
}

void vkf__feature_chain_read(const void *chain, vkf__features *out_features)
{
    vkf__features_init(out_features);
    for (const VkBaseInStructure *link = chain; link; link = link->pNext) {
        const vkf__feature_structure *structure = structure_of(link->sType);
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2)
            vkf__core_features_merge(&out_features->head.features,
                                     &((const VkPhysicalDeviceFeatures2 *)(const void *)link)->features);
        if (structure)
            merge_switches(place_of(out_features, structure), link, sizeof *link, structure->size);
        for (size_t i = 0; i < AGGREGATE_COUNT; i++)
            if (aggregates[i].type == link->sType && *switch_at(link, aggregates[i].member))
                *switch_at(out_features, aggregates[i].bit) = VK_TRUE;
    }
}

// A bit for the structure of an extension that holds the switch.
static uint32_t bit_of(size_t offset)
{
    uint32_t index = 0;
    while (offset < vkf__feature_structures[index].offset ||
           offset >= vkf__feature_structures[index].offset + vkf__feature_structures[index].size)
        index++;
    return UINT32_C(1) << index;
}

// Returns the structures that stand aside for this link of the chain.
static uint32_t merge_link(VkBaseOutStructure *link, const vkf__features *features)
{
    const vkf__feature_structure *structure = structure_of(link->sType);
    uint32_t served = 0;
    if (structure) {
        merge_switches(link, place_of(features, structure), sizeof *link, structure->size);
        served |= bit_of(structure->offset);
    }
    for (size_t i = 0; i < AGGREGATE_COUNT; i++) {
        if (aggregates[i].type != link->sType)
            continue;
        if (*switch_at(features, aggregates[i].bit))
            *switch_at(link, aggregates[i].member) = VK_TRUE;
        served |= bit_of(aggregates[i].bit);
    }
    return served;
}

uint32_t vkf__feature_chain_merge(void *chain, const vkf__features *features, uint32_t structures, bool *out_head)
{
    bool head = false;
    for (VkBaseOutStructure *link = chain; link; link = link->pNext) {
        if (link->sType == VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2) {
            vkf__core_features_merge(&((VkPhysicalDeviceFeatures2 *)(void *)link)->features, &features->head.features);
            head = true;
        }
        structures &= ~merge_link(link, features);
    }
    *out_head = head;
    return structures;
}
