// The shapes of cooperative matrices that a device lists, as plain data that a test can also write.
#ifndef VKF_VK_CAPS_MATRIX_H
#define VKF_VK_CAPS_MATRIX_H

#include "vk/feature_table.h"

#define VKF_MATRIX_MAX_SHAPES 64

// Component types have the values of VkComponentTypeKHR, and scopes those of VkScopeKHR.
typedef struct vkf__matrix_shape {
    uint32_t m; // of a flexible shape: its granularity, of which sizes are multiples
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
#define VKF_MEMBER(field, ...) bool field;
    VKF_MATRIX_FEATURES(VKF_MEMBER)
#undef VKF_MEMBER
    uint32_t shape_count; // entries of a driver's list beyond the maximum are dropped
    vkf__matrix_shape shapes[VKF_MATRIX_MAX_SHAPES];
    uint32_t flexible_count;
    vkf__matrix_shape flexible[VKF_MATRIX_MAX_SHAPES];
    uint32_t flexible_max_dimension;
    uint32_t workgroup_scope_max_invocations;
    uint32_t workgroup_scope_reserved_bytes; // of shared memory
} vkf__caps_matrix;

// Reads the shapes that a device of Vulkan 1.1 or newer lists; the features are in `inout_caps` already. Leaves all
// zeros without cooperative_matrix or where compute shaders may not use matrices, and no shapes where the driver fails
// to list them. The kernels that need them are then not chosen.
void vkf__caps_matrix_read(const vkf__instance *instance, VkPhysicalDevice device, vkf__caps_matrix *inout_caps);

// The largest shape of subgroup scope for a product with factors of `type` and sums of type `sums`, without saturation,
// whose sizes are multiples of 8 and divide a tile of m x n x k. Zeros stand for tiles that everything divides. The
// first of equals is taken; NULL: there is none.
const vkf__matrix_shape *vkf__matrix_find(const vkf__caps_matrix *caps, VkComponentTypeKHR type,
                                          VkComponentTypeKHR sums, uint32_t m, uint32_t n, uint32_t k);

// The flexible shape for tiles of m x n x k with factors and sums of those types, that scope and, for workgroup scope,
// that local size. Its granularity divides the tile. NULL: there is none, or the tile is larger than the device allows.
const vkf__matrix_shape *vkf__matrix_find_flexible(const vkf__caps_matrix *caps, VkComponentTypeKHR type,
                                                   VkComponentTypeKHR sums, VkScopeKHR scope, uint32_t local_size,
                                                   uint32_t m, uint32_t n, uint32_t k);

#endif
