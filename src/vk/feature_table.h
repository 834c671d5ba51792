// The features that the library uses where a device has them, one row for each. A row says how a feature is read and
// masked, when a device is made with it, and what has to be enabled for that. Only profiles name features elsewhere.
#ifndef VKF_VK_FEATURE_TABLE_H
#define VKF_VK_FEATURE_TABLE_H

#include <stddef.h>

#include "vk/loader.h"
#include "vk/new_declarations.h"

// X(field, Vulkan's name, wanted, needs, how): features and extensions, as bools of vkf__caps.
//   wanted: when a device is made with it; vkf__wanted without its prefix.
//   needs: another field of vkf__caps, without which this one means nothing; the field itself where there is none.
//   how: BIT(a VkBool32 of vkf__features), BITS(two that only count together), EXTENSION(one to be enabled), or
//   PROPERTY where nothing has to be enabled.
//
// hostVisibleDeviceMemory is not a feature of Vulkan but a property of its memory types; a device on which it is masked
// needs staging. vulkanMemoryModelDeviceScope goes with the memory model: where that is enabled, kernels that do not
// use it still have atomics of device scope. integerDotProduct4x8BitPackedSignedAccelerated is a property of Vulkan's:
// without it the kernels that use integer dot products still run, but are not chosen. shaderRoundingModeRTEFloat16 is
// one, too, of VK_KHR_shader_float_controls, and means that 16 bits alone can be told how to round.
// VK_KHR_global_priority stands for VK_EXT_global_priority, too.
// VK_EXT_calibrated_timestamps stands for VK_KHR_calibrated_timestamps, too, and means that the device's clock can be
// read together with CLOCK_MONOTONIC.
// VK_EXT_queue_family_foreign is used by nothing here, but Android's hardware buffers may not be enabled without it.
// clang-format off
#define VKF_CAPS_FEATURES(X)                                                                                           \
    X(storage_16bit, "storageBuffer16BitAccess", ALWAYS, storage_16bit, BIT(storage_16bit.storageBuffer16BitAccess))   \
    X(shader_float16, "shaderFloat16", ALWAYS, shader_float16, BIT(float16.shaderFloat16))                             \
    X(shader_int64, "shaderInt64", ALWAYS, shader_int64, BIT(head.features.shaderInt64))                               \
    X(round_to_even_16, "shaderRoundingModeRTEFloat16", ALWAYS, round_to_even_16,                                      \
      EXTENSION(KHR_SHADER_FLOAT_CONTROLS))                                                                            \
    X(subgroup_arithmetic, "subgroupArithmetic", ALWAYS, subgroup_arithmetic, PROPERTY)                                \
    X(subgroup_shuffle, "subgroupShuffle", ALWAYS, subgroup_shuffle, PROPERTY)                                         \
    X(buffer_device_address, "bufferDeviceAddress", FOR_ADDRESSES, buffer_device_address,                              \
      BIT(address.bufferDeviceAddress))                                                                                \
    X(vulkan_memory_model, "vulkanMemoryModel", FOR_MATRICES, vulkan_memory_model,                                     \
      BITS(memory_model.vulkanMemoryModel, memory_model.vulkanMemoryModelDeviceScope))                                 \
    X(maintenance4, "maintenance4", FOR_MATRICES, maintenance4, BIT(maintenance4.maintenance4))                        \
    X(integer_dot, "shaderIntegerDotProduct", ALWAYS, integer_dot, BIT(integer_dot.shaderIntegerDotProduct))           \
    X(integer_dot_accelerated, "integerDotProduct4x8BitPackedSignedAccelerated", ALWAYS, integer_dot, PROPERTY)        \
    X(compute_full_subgroups, "computeFullSubgroups", FOR_MATRICES, compute_full_subgroups,                            \
      BIT(subgroup_size.computeFullSubgroups))                                                                         \
    X(subgroup_size_control, "subgroupSizeControl", FOR_MATRICES, subgroup_size_control,                               \
      BIT(subgroup_size.subgroupSizeControl))                                                                          \
    X(pipeline_executable_info, "pipelineExecutableInfo", FOR_STATISTICS, pipeline_executable_info,                    \
      BIT(executable.pipelineExecutableInfo))                                                                          \
    X(memory_budget, "VK_EXT_memory_budget", ALWAYS, memory_budget, EXTENSION(EXT_MEMORY_BUDGET))                      \
    X(timestamps, "timestampComputeAndGraphics", FOR_TIMESTAMPS, timestamps, PROPERTY)                                 \
    X(calibrated_timestamps, "VK_EXT_calibrated_timestamps", FOR_TIMESTAMPS, timestamps,                               \
      EXTENSION(EXT_CALIBRATED_TIMESTAMPS))                                                                            \
    X(statistics_queries, "pipelineStatisticsQuery", FOR_COUNTERS, statistics_queries,                                 \
      BIT(head.features.pipelineStatisticsQuery))                                                                      \
    X(performance_queries, "performanceCounterQueryPools", FOR_COUNTERS, performance_queries,                          \
      BITS(performance.performanceCounterQueryPools, query_reset.hostQueryReset))                                      \
    X(external_fd, "VK_KHR_external_memory_fd", FOR_EXTERNAL_MEMORY, external_fd, EXTENSION(KHR_EXTERNAL_MEMORY_FD))   \
    X(external_dma_buf, "VK_EXT_external_memory_dma_buf", FOR_EXTERNAL_MEMORY, external_fd,                            \
      EXTENSION(EXT_EXTERNAL_MEMORY_DMA_BUF))                                                                          \
    X(external_host, "VK_EXT_external_memory_host", FOR_EXTERNAL_MEMORY, external_host,                                \
      EXTENSION(EXT_EXTERNAL_MEMORY_HOST))                                                                             \
    X(foreign_queues, "VK_EXT_queue_family_foreign", FOR_EXTERNAL_MEMORY, foreign_queues,                              \
      EXTENSION(EXT_QUEUE_FAMILY_FOREIGN))                                                                             \
    X(external_hardware_buffer, "VK_ANDROID_external_memory_android_hardware_buffer", FOR_EXTERNAL_MEMORY,             \
      foreign_queues, EXTENSION(ANDROID_EXTERNAL_MEMORY_ANDROID_HARDWARE_BUFFER))                                      \
    X(global_priority, "VK_KHR_global_priority", FOR_PRIORITY, global_priority, EXTENSION(KHR_GLOBAL_PRIORITY))        \
    X(mapped_device_memory, "hostVisibleDeviceMemory", ALWAYS, mapped_device_memory, PROPERTY)

// X(field, Vulkan's name, wanted, how): features of VK_KHR_cooperative_matrix, VK_KHR_shader_bfloat16 and
// VK_NV_cooperative_matrix2, as bools of vkf__caps.matrix. All of them need the first.
#define VKF_MATRIX_FEATURES(X)                                                                                         \
    X(cooperative_matrix, "cooperativeMatrix", FOR_MATRICES, BIT(matrix.cooperativeMatrix))                            \
    X(bfloat16, "shaderBFloat16CooperativeMatrix", FOR_MATRICES,                                                       \
      BITS(bfloat16.shaderBFloat16CooperativeMatrix, bfloat16.shaderBFloat16Type))                                     \
    X(workgroup_scope, "cooperativeMatrixWorkgroupScope", FOR_FLEXIBLE_MATRICES,                                       \
      BIT(matrix2.cooperativeMatrixWorkgroupScope))                                                                    \
    X(flexible_dimensions, "cooperativeMatrixFlexibleDimensions", FOR_FLEXIBLE_MATRICES,                               \
      BIT(matrix2.cooperativeMatrixFlexibleDimensions))                                                                \
    X(reductions, "cooperativeMatrixReductions", FOR_MATRICES, BIT(matrix2.cooperativeMatrixReductions))               \
    X(conversions, "cooperativeMatrixConversions", FOR_MATRICES, BIT(matrix2.cooperativeMatrixConversions))            \
    X(per_element_operations, "cooperativeMatrixPerElementOperations", FOR_MATRICES,                                   \
      BIT(matrix2.cooperativeMatrixPerElementOperations))                                                              \
    X(tensor_addressing, "cooperativeMatrixTensorAddressing", FOR_FLEXIBLE_MATRICES,                                   \
      BIT(matrix2.cooperativeMatrixTensorAddressing))                                                                  \
    X(block_loads, "cooperativeMatrixBlockLoads", FOR_FLEXIBLE_MATRICES, BIT(matrix2.cooperativeMatrixBlockLoads))

// X(field, Vulkan's name, needs, how): number types, and storage for them, that only a caller's shaders use. They are
// bools of vkf__caps.other and cannot be masked.
#define VKF_OTHER_FEATURES(X)                                                                                          \
    X(float64, "shaderFloat64", other.float64, BIT(head.features.shaderFloat64))                                       \
    X(int16, "shaderInt16", other.int16, BIT(head.features.shaderInt16))                                               \
    X(int8, "shaderInt8", other.int8, BIT(float16.shaderInt8))                                                         \
    X(storage_8bit, "storageBuffer8BitAccess", other.storage_8bit, BIT(storage_8bit.storageBuffer8BitAccess))          \
    X(uniform_8bit, "uniformAndStorageBuffer8BitAccess", other.uniform_8bit,                                           \
      BIT(storage_8bit.uniformAndStorageBuffer8BitAccess))                                                             \
    X(push_8bit, "storagePushConstant8", other.push_8bit, BIT(storage_8bit.storagePushConstant8))                      \
    X(uniform_16bit, "uniformAndStorageBuffer16BitAccess", storage_16bit,                                              \
      BIT(storage_16bit.uniformAndStorageBuffer16BitAccess))                                                           \
    X(push_16bit, "storagePushConstant16", storage_16bit, BIT(storage_16bit.storagePushConstant16))

// X(member, type, VkStructureType, offered): the structures of vkf__features, and when they may be chained: from
// CORE(version of Vulkan) on, with EXTENSION(name), or CORE_OR(either). Names are without Vulkan's prefixes.
#define VKF_FEATURE_STRUCTURES(X)                                                                                      \
    X(storage_16bit, 16BitStorageFeatures, 16BIT_STORAGE_FEATURES, CORE(1_1))                                          \
    X(storage_8bit, 8BitStorageFeatures, 8BIT_STORAGE_FEATURES, CORE(1_2))                                             \
    X(float16, ShaderFloat16Int8Features, SHADER_FLOAT16_INT8_FEATURES, CORE_OR(1_2, KHR_SHADER_FLOAT16_INT8))         \
    X(address, BufferDeviceAddressFeatures, BUFFER_DEVICE_ADDRESS_FEATURES, CORE_OR(1_2, KHR_BUFFER_DEVICE_ADDRESS))   \
    X(memory_model, VulkanMemoryModelFeatures, VULKAN_MEMORY_MODEL_FEATURES, CORE_OR(1_2, KHR_VULKAN_MEMORY_MODEL))    \
    X(subgroup_size, SubgroupSizeControlFeatures, SUBGROUP_SIZE_CONTROL_FEATURES,                                      \
      CORE_OR(1_3, EXT_SUBGROUP_SIZE_CONTROL))                                                                         \
    X(maintenance4, Maintenance4Features, MAINTENANCE_4_FEATURES, CORE(1_3))                                           \
    X(integer_dot, ShaderIntegerDotProductFeatures, SHADER_INTEGER_DOT_PRODUCT_FEATURES,                               \
      CORE_OR(1_3, KHR_SHADER_INTEGER_DOT_PRODUCT))                                                                    \
    X(executable, PipelineExecutablePropertiesFeaturesKHR, PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,                \
      EXTENSION(KHR_PIPELINE_EXECUTABLE_PROPERTIES))                                                                   \
    X(query_reset, HostQueryResetFeatures, HOST_QUERY_RESET_FEATURES, CORE(1_2))                                       \
    X(performance, PerformanceQueryFeaturesKHR, PERFORMANCE_QUERY_FEATURES_KHR, EXTENSION(KHR_PERFORMANCE_QUERY))      \
    X(matrix, CooperativeMatrixFeaturesKHR, COOPERATIVE_MATRIX_FEATURES_KHR, EXTENSION(KHR_COOPERATIVE_MATRIX))        \
    X(bfloat16, ShaderBfloat16FeaturesKHR, SHADER_BFLOAT16_FEATURES_KHR, EXTENSION(KHR_SHADER_BFLOAT16))               \
    X(matrix2, CooperativeMatrix2FeaturesNV, COOPERATIVE_MATRIX_2_FEATURES_NV, EXTENSION(NV_COOPERATIVE_MATRIX_2))

// X(path in vkf__features, version, member): switches that a program may also set in VkPhysicalDeviceVulkan<version>
// Features. Where that structure is chained, those of the extensions that it took over may not be.
#define VKF_FEATURE_AGGREGATES(X)                                                                                      \
    X(storage_16bit.storageBuffer16BitAccess, 11, storageBuffer16BitAccess)                                            \
    X(storage_16bit.uniformAndStorageBuffer16BitAccess, 11, uniformAndStorageBuffer16BitAccess)                        \
    X(storage_16bit.storagePushConstant16, 11, storagePushConstant16)                                                  \
    X(storage_8bit.storageBuffer8BitAccess, 12, storageBuffer8BitAccess)                                               \
    X(storage_8bit.uniformAndStorageBuffer8BitAccess, 12, uniformAndStorageBuffer8BitAccess)                           \
    X(storage_8bit.storagePushConstant8, 12, storagePushConstant8)                                                     \
    X(float16.shaderFloat16, 12, shaderFloat16)                                                                        \
    X(float16.shaderInt8, 12, shaderInt8)                                                                              \
    X(address.bufferDeviceAddress, 12, bufferDeviceAddress)                                                            \
    X(memory_model.vulkanMemoryModel, 12, vulkanMemoryModel)                                                           \
    X(memory_model.vulkanMemoryModelDeviceScope, 12, vulkanMemoryModelDeviceScope)                                     \
    X(query_reset.hostQueryReset, 12, hostQueryReset)                                                                  \
    X(subgroup_size.computeFullSubgroups, 13, computeFullSubgroups)                                                    \
    X(subgroup_size.subgroupSizeControl, 13, subgroupSizeControl)                                                      \
    X(maintenance4.maintenance4, 13, maintenance4)                                                                     \
    X(integer_dot.shaderIntegerDotProduct, 13, shaderIntegerDotProduct)
// clang-format on

typedef enum vkf__wanted {
    VKF_WANTED_ALWAYS = 0,
    VKF_WANTED_FOR_TIMESTAMPS, // this and the next five: where vkf__plan_wishes asks for it
    VKF_WANTED_FOR_STATISTICS,
    VKF_WANTED_FOR_COUNTERS,
    VKF_WANTED_FOR_EXTERNAL_MEMORY,
    VKF_WANTED_FOR_PRIORITY,
    VKF_WANTED_FOR_ADDRESSES,     // also for kernels on processors, for matrices in blocks, and for all statistics
    VKF_WANTED_FOR_OTHER_SHADERS, // for shaders of the caller's, with statistics, from Vulkan 1.2 on
    VKF_WANTED_FOR_MATRICES,      // where kernels on cooperative matrices run; nothing else uses these
    VKF_WANTED_FOR_FLEXIBLE_MATRICES
} vkf__wanted;

// The structures that vkGetPhysicalDeviceFeatures2 fills in and vkCreateDevice takes.
typedef struct vkf__features {
    VkPhysicalDeviceFeatures2 head;
#define VKF_MEMBER(member, type, structure_type, offered) VkPhysicalDevice##type member;
    VKF_FEATURE_STRUCTURES(VKF_MEMBER)
#undef VKF_MEMBER
} vkf__features;

typedef struct vkf__other_types {
#define VKF_MEMBER(field, ...) bool field;
    VKF_OTHER_FEATURES(VKF_MEMBER)
#undef VKF_MEMBER
} vkf__other_types;

// What a device was made with.
typedef struct vkf__enabled {
#define VKF_MEMBER(field, ...) bool field;
    VKF_CAPS_FEATURES(VKF_MEMBER)
    struct {
        VKF_MATRIX_FEATURES(VKF_MEMBER)
    } matrix;
#undef VKF_MEMBER
    vkf__other_types other;
} vkf__enabled;

typedef struct vkf__feature {
    const char *name;
    vkf__wanted wanted;
    size_t caps;           // offset of its bool in vkf__caps
    size_t needs;          // offset of the bool that it needs, of an earlier row; its own: it needs none
    size_t enabled;        // offset of its bool in vkf__enabled
    size_t bit;            // offset of its VkBool32 in vkf__features; 0: it has none
    size_t with;           // offset of a second one that must be set, too; its own: there is none
    const char *extension; // NULL: none beside its structure's
} vkf__feature;

typedef struct vkf__feature_structure {
    size_t offset; // in vkf__features
    size_t size;
    VkStructureType type;
    uint32_t core;         // the version of Vulkan that includes it; UINT32_MAX: none does
    const char *extension; // that offers it in older versions; NULL: none
} vkf__feature_structure;

enum {
#define VKF_ONE(...) +1
    VKF_MASKABLE_COUNT = 0 VKF_CAPS_FEATURES(VKF_ONE) VKF_MATRIX_FEATURES(VKF_ONE),
    VKF_FEATURE_COUNT = VKF_MASKABLE_COUNT VKF_OTHER_FEATURES(VKF_ONE),
#undef VKF_ONE
};

enum {
#define VKF_INDEX(member, ...) VKF_FEATURE_STRUCTURE_##member,
    VKF_FEATURE_STRUCTURES(VKF_INDEX) VKF_FEATURE_STRUCTURE_COUNT
#undef VKF_INDEX
};

// A structure's bit in a set of structures.
#define VKF_FEATURE_STRUCTURE_BIT(member) (UINT32_C(1) << VKF_FEATURE_STRUCTURE_##member)

// The features that a mask may name come first.
extern const vkf__feature vkf__feature_table[VKF_FEATURE_COUNT];
extern const vkf__feature_structure vkf__feature_structures[VKF_FEATURE_STRUCTURE_COUNT];

struct vkf__caps;

bool vkf__feature_in_caps(const vkf__feature *feature, const struct vkf__caps *caps);
void vkf__feature_set_in_caps(const vkf__feature *feature, struct vkf__caps *caps, bool there);
// Whether the caps have the feature that this one needs.
bool vkf__feature_has_needs(const vkf__feature *feature, const struct vkf__caps *caps);
// Whether a device has to be made with the feature. Any other feature is there without being enabled.
bool vkf__feature_is_switched(const vkf__feature *feature);

// Switches everything off, with nothing chained.
void vkf__features_init(vkf__features *features);
bool vkf__features_has(const vkf__features *features, const vkf__feature *feature);
// Switches a feature on. Returns a bit for each structure that must be chained for it; 0: the head alone.
uint32_t vkf__features_enable(vkf__features *features, const vkf__feature *feature);
// Chains these structures and returns the first. The head stays as it is.
void *vkf__features_chain(vkf__features *features, uint32_t structures);
// A bit for each structure that holds a switch of the feature; 0: the head alone, or none.
uint32_t vkf__feature_structure_bits(const vkf__feature *feature);

#endif
