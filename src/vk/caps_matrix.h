// Cooperative matrices: the shapes that a device lists, as plain data that a test can also write.
#ifndef VKF_VK_CAPS_MATRIX_H
#define VKF_VK_CAPS_MATRIX_H

#include "vk/loader.h"
#include "vk/new_declarations.h"

#define VKF_MATRIX_MAX_SHAPES 64

// X(field, Vulkan's name): single features, of VK_KHR_cooperative_matrix, VK_KHR_shader_bfloat16 and
// VK_NV_cooperative_matrix2. No field is set without the first.
#define VKF_MATRIX_FEATURES(X)                                         \
    X(cooperative_matrix, "cooperativeMatrix")                         \
    X(bfloat16, "shaderBFloat16CooperativeMatrix")                     \
    X(workgroup_scope, "cooperativeMatrixWorkgroupScope")              \
    X(flexible_dimensions, "cooperativeMatrixFlexibleDimensions")      \
    X(reductions, "cooperativeMatrixReductions")                       \
    X(conversions, "cooperativeMatrixConversions")                     \
    X(per_element_operations, "cooperativeMatrixPerElementOperations") \
    X(tensor_addressing, "cooperativeMatrixTensorAddressing")          \
    X(block_loads, "cooperativeMatrixBlockLoads")

// Component types have the values of VkComponentTypeKHR, scopes those of VkScopeKHR.
typedef struct vkf__matrix_shape {
    uint32_t m; // of a flexible shape: what the sizes are multiples of
    uint32_t n;
    uint32_t k;
    uint32_t a_type;
    uint32_t b_type;
    uint32_t c_type;
    uint32_t result_type;
    uint32_t scope;
    bool saturating;
    uint32_t workgroup_invocations; // of a flexible shape of workgroup scope; else 0
} vkf__matrix_shape;

typedef struct vkf__caps_matrix {
#define VKF_MEMBER(field, name) bool field;
    VKF_MATRIX_FEATURES(VKF_MEMBER)
#undef VKF_MEMBER
    uint32_t shape_count; // a driver's list beyond the maximum is cut
    vkf__matrix_shape shapes[VKF_MATRIX_MAX_SHAPES];
    uint32_t flexible_count;
    vkf__matrix_shape flexible[VKF_MATRIX_MAX_SHAPES];
    uint32_t flexible_max_dimension;
    uint32_t workgroup_scope_max_invocations;
    uint32_t workgroup_scope_reserved_bytes; // of shared memory
} vkf__caps_matrix;

// Which of the extensions a device offers.
typedef struct vkf__matrix_extensions {
    bool cooperative_matrix;
    bool shader_bfloat16;
    bool cooperative_matrix2;
} vkf__matrix_extensions;

// The feature structures of what is asked of a device: read by vkGetPhysicalDeviceFeatures2, or switched on by
// vkCreateDevice.
typedef struct vkf__matrix_features {
    VkPhysicalDeviceCooperativeMatrixFeaturesKHR matrix;
    VkPhysicalDeviceShaderBfloat16FeaturesKHR bfloat16;
    VkPhysicalDeviceCooperativeMatrix2FeaturesNV matrix2;
} vkf__matrix_features;

// Reads what a device of Vulkan 1.1 or newer can do. All zeros without the extension, and no shapes where a driver
// fails to tell them: the kernels that would want them are then not chosen.
void vkf__caps_matrix_read(const vkf__instance *instance, VkPhysicalDevice device,
                           const vkf__matrix_extensions *extensions, vkf__caps_matrix *out_caps);

// Fills in `features` with what `caps` has and puts those structures that are needed in front of *inout_next, the
// pNext of VkDeviceCreateInfo or of a structure of its chain. Adds the extensions' names to out_names, which has room
// for three, and returns how many. The memory model and 16-bit floats, which the kernels need too, are the caller's
// to switch on.
uint32_t vkf__matrix_features_enable(const vkf__caps_matrix *caps, vkf__matrix_features *features,
                                     const void **inout_next, const char *out_names[3]);

// The largest shape of subgroup scope for a product of `type` (both factors) summed in float32, its sizes multiples
// of 8, without saturation; the first among equals. NULL: none.
const vkf__matrix_shape *vkf__matrix_find(const vkf__caps_matrix *caps, VkComponentTypeKHR type);

// The flexible shape for tiles of m x n x k with that type, scope and, for workgroup scope, local size: the one whose
// granularity divides them. NULL: none, or the tile is larger than the device takes.
const vkf__matrix_shape *vkf__matrix_find_flexible(const vkf__caps_matrix *caps, VkComponentTypeKHR type,
                                                   VkScopeKHR scope, uint32_t local_size, uint32_t m, uint32_t n,
                                                   uint32_t k);

#endif
