// The rows of features and of Vulkan's feature structures, and access to the bools that they name.
#include "vk/feature_table.h"

#include <vulkan/vulkan_android.h>

#include "vk/caps.h"

#define BIT(path) BITS(path, path)
#define BITS(path, other_path) .bit = offsetof(vkf__features, path), .with = offsetof(vkf__features, other_path)
#define EXTENSION(name) .extension = VK_##name##_EXTENSION_NAME
#define PROPERTY .bit = 0

const vkf__feature vkf__feature_table[VKF_FEATURE_COUNT] = {
#define ROW(field, vulkan_name, when, needed, ...) \
    {.name = (vulkan_name),                        \
     .wanted = VKF_WANTED_##when,                  \
     .caps = offsetof(vkf__caps, field),           \
     .needs = offsetof(vkf__caps, needed),         \
     .enabled = offsetof(vkf__enabled, field),     \
     __VA_ARGS__},
#define MATRIX_ROW(field, vulkan_name, when, how) ROW(matrix.field, vulkan_name, when, matrix.cooperative_matrix, how)
#define OTHER_ROW(field, vulkan_name, needed, how) ROW(other.field, vulkan_name, FOR_OTHER_SHADERS, needed, how)
    VKF_CAPS_FEATURES(ROW) VKF_MATRIX_FEATURES(MATRIX_ROW) VKF_OTHER_FEATURES(OTHER_ROW)
#undef OTHER_ROW
#undef MATRIX_ROW
#undef ROW
};

#undef EXTENSION
#define EXTENSION(name) .core = UINT32_MAX, .extension = VK_##name##_EXTENSION_NAME
#define CORE(version) .core = VK_API_VERSION_##version
#define CORE_OR(version, name) .core = VK_API_VERSION_##version, .extension = VK_##name##_EXTENSION_NAME

const vkf__feature_structure vkf__feature_structures[VKF_FEATURE_STRUCTURE_COUNT] = {
#define ROW(member, name, structure_type, offered)               \
    {.offset = offsetof(vkf__features, member),                  \
     .size = sizeof(VkPhysicalDevice##name),                     \
     .type = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##structure_type, \
     offered},
    VKF_FEATURE_STRUCTURES(ROW)
#undef ROW
};

static bool *caps_field(const vkf__caps *caps, size_t offset)
{
    return (bool *)(void *)((uintptr_t)caps + offset);
}

bool vkf__feature_in_caps(const vkf__feature *feature, const vkf__caps *caps)
{
    return *caps_field(caps, feature->caps);
}

void vkf__feature_set_in_caps(const vkf__feature *feature, vkf__caps *caps, bool there)
{
    *caps_field(caps, feature->caps) = there;
}

bool vkf__feature_has_needs(const vkf__feature *feature, const vkf__caps *caps)
{
    return feature->needs == feature->caps || *caps_field(caps, feature->needs);
}

bool vkf__feature_is_switched(const vkf__feature *feature)
{
    return feature->bit > 0 || feature->extension;
}

static void *at(const vkf__features *features, size_t offset)
{
    return (void *)((uintptr_t)features + offset);
}

void vkf__features_init(vkf__features *features)
{
    *features = (vkf__features){.head.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++)
        ((VkBaseOutStructure *)at(features, vkf__feature_structures[i].offset))->sType =
            vkf__feature_structures[i].type;
}

bool vkf__features_has(const vkf__features *features, const vkf__feature *feature)
{
    return *(const VkBool32 *)at(features, feature->bit) && *(const VkBool32 *)at(features, feature->with);
}

// A bit for the structure that holds the VkBool32 at this offset; 0: the head holds it.
static uint32_t structure_of(size_t bit)
{
    for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++) {
        const vkf__feature_structure *structure = &vkf__feature_structures[i];
        if (bit >= structure->offset && bit < structure->offset + structure->size)
            return UINT32_C(1) << i;
    }
    return 0;
}

uint32_t vkf__feature_structure_bits(const vkf__feature *feature)
{
    return feature->bit == 0 ? 0 : structure_of(feature->bit) | structure_of(feature->with);
}

uint32_t vkf__features_enable(vkf__features *features, const vkf__feature *feature)
{
    if (feature->bit == 0)
        return 0;
    *(VkBool32 *)at(features, feature->bit) = VK_TRUE;
    *(VkBool32 *)at(features, feature->with) = VK_TRUE;
    return vkf__feature_structure_bits(feature);
}

void *vkf__features_chain(vkf__features *features, uint32_t structures)
{
    VkBaseOutStructure *first = NULL;
    for (uint32_t i = VKF_FEATURE_STRUCTURE_COUNT; i-- > 0;) {
        if (!(structures >> i & 1))
            continue;
        VkBaseOutStructure *structure = at(features, vkf__feature_structures[i].offset);
        structure->pNext = first;
        first = structure;
    }
    return first;
}

_Static_assert(VKF_FEATURE_STRUCTURE_COUNT <= 32, "a set of structures has a bit for each");
