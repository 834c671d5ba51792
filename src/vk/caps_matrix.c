// Reads the shapes of cooperative matrices that a device lists, and finds the one that a kernel wants.
#include "vk/caps_matrix.h"

// Reads the limits of flexible matrices. False where compute shaders may not use matrices at all.
static bool read_properties(const vkf__instance *instance, VkPhysicalDevice device, vkf__caps_matrix *caps)
{
    VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrix = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
    VkPhysicalDeviceCooperativeMatrix2PropertiesNV matrix2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV};
    VkPhysicalDeviceProperties2 head = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &matrix};
    if (caps->flexible_dimensions || caps->workgroup_scope)
        matrix.pNext = &matrix2;
    instance->vkGetPhysicalDeviceProperties2(device, &head);
    caps->flexible_max_dimension = matrix2.cooperativeMatrixFlexibleDimensionsMaxDimension;
    caps->workgroup_scope_max_invocations = matrix2.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize;
    caps->workgroup_scope_reserved_bytes = matrix2.cooperativeMatrixWorkgroupScopeReservedSharedMemory;
    return matrix.cooperativeMatrixSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT;
}

// Reads the fixed shapes. VK_INCOMPLETE means that the device lists more than fit, and those that fit will do.
static void read_shapes(const vkf__instance *instance, VkPhysicalDevice device, vkf__caps_matrix *caps)
{
    VkCooperativeMatrixPropertiesKHR items[VKF_MATRIX_MAX_SHAPES];
    uint32_t count = VKF_MATRIX_MAX_SHAPES;
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(void (*)(void))instance->get_proc(
            instance->handle, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    for (uint32_t i = 0; i < VKF_MATRIX_MAX_SHAPES; i++)
        items[i] = (VkCooperativeMatrixPropertiesKHR){.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
    if (get == NULL || get(device, &count, items) < VK_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < VKF_MATRIX_MAX_SHAPES; i++) {
        caps->shapes[i] = (vkf__matrix_shape){
            .m = items[i].MSize,
            .n = items[i].NSize,
            .k = items[i].KSize,
            .a_type = (uint32_t)items[i].AType,
            .b_type = (uint32_t)items[i].BType,
            .c_type = (uint32_t)items[i].CType,
            .result_type = (uint32_t)items[i].ResultType,
            .scope = (uint32_t)items[i].scope,
            .saturating = items[i].saturatingAccumulation,
        };
        caps->shape_count = i + 1;
    }
}

static void read_flexible(const vkf__instance *instance, VkPhysicalDevice device, vkf__caps_matrix *caps)
{
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV items[VKF_MATRIX_MAX_SHAPES];
    uint32_t count = VKF_MATRIX_MAX_SHAPES;
    PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)(void (*)(void))instance->get_proc(
            instance->handle, "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV");
    for (uint32_t i = 0; i < VKF_MATRIX_MAX_SHAPES; i++)
        items[i] = (VkCooperativeMatrixFlexibleDimensionsPropertiesNV){
            .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV};
    if (get == NULL || get(device, &count, items) < VK_SUCCESS)
        return;
    for (uint32_t i = 0; i < count && i < VKF_MATRIX_MAX_SHAPES; i++) {
        caps->flexible[i] = (vkf__matrix_shape){
            .m = items[i].MGranularity,
            .n = items[i].NGranularity,
            .k = items[i].KGranularity,
            .a_type = (uint32_t)items[i].AType,
            .b_type = (uint32_t)items[i].BType,
            .c_type = (uint32_t)items[i].CType,
            .result_type = (uint32_t)items[i].ResultType,
            .scope = (uint32_t)items[i].scope,
            .saturating = items[i].saturatingAccumulation,
            .workgroup_invocations = items[i].workgroupInvocations,
        };
        caps->flexible_count = i + 1;
    }
}

void vkf__caps_matrix_read(const vkf__instance *instance, VkPhysicalDevice device, vkf__caps_matrix *inout_caps)
{
    // Drivers list shapes even on devices where the feature is off.
    if (!inout_caps->cooperative_matrix || !read_properties(instance, device, inout_caps)) {
        *inout_caps = (vkf__caps_matrix){0};
        return;
    }
    read_shapes(instance, device, inout_caps);
    if (inout_caps->flexible_dimensions)
        read_flexible(instance, device, inout_caps);
}

static bool multiplies(const vkf__matrix_shape *shape, VkComponentTypeKHR type, VkComponentTypeKHR sums,
                       VkScopeKHR scope)
{
    return shape->a_type == (uint32_t)type && shape->b_type == (uint32_t)type && shape->c_type == (uint32_t)sums &&
           shape->result_type == (uint32_t)sums && shape->scope == (uint32_t)scope && !shape->saturating &&
           shape->m > 0 && shape->n > 0 && shape->k > 0;
}

const vkf__matrix_shape *vkf__matrix_find(const vkf__caps_matrix *caps, VkComponentTypeKHR type,
                                          VkComponentTypeKHR sums, uint32_t m, uint32_t n, uint32_t k)
{
    const vkf__matrix_shape *best = NULL;
    for (uint32_t i = 0; i < caps->shape_count; i++) {
        const vkf__matrix_shape *shape = &caps->shapes[i];
        bool fits = multiplies(shape, type, sums, VK_SCOPE_SUBGROUP_KHR) && (shape->m | shape->n | shape->k) % 8 == 0 &&
                    m % shape->m == 0 && n % shape->n == 0 && k % shape->k == 0;
        if (fits && (best == NULL || (uint64_t)shape->m * shape->n * shape->k > (uint64_t)best->m * best->n * best->k))
            best = shape;
    }
    return best;
}

const vkf__matrix_shape *vkf__matrix_find_flexible(const vkf__caps_matrix *caps, VkComponentTypeKHR type,
                                                   VkComponentTypeKHR sums, VkScopeKHR scope, uint32_t local_size,
                                                   uint32_t m, uint32_t n, uint32_t k)
{
    const uint32_t limit = caps->flexible_max_dimension;
    if (m > limit || n > limit || k > limit)
        return NULL;
    for (uint32_t i = 0; i < caps->flexible_count; i++) {
        const vkf__matrix_shape *shape = &caps->flexible[i];
        bool local_fits = scope != VK_SCOPE_WORKGROUP_KHR || shape->workgroup_invocations == local_size;
        if (multiplies(shape, type, sums, scope) && local_fits && m % shape->m == 0 && n % shape->n == 0 &&
            k % shape->k == 0)
            return shape;
    }
    return NULL;
}
