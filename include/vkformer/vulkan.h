// Interop with a program that has its own Vulkan device: the one public header that names Vulkan types.
#ifndef VKFORMER_VULKAN_H
#define VKFORMER_VULKAN_H

#include <vulkan/vulkan_core.h>

#include <vkformer/vkformer.h>

#ifdef __cplusplus
extern "C" {
#endif

// A device that the caller owns. All handles must stay valid until the context is freed, which happens with the last
// object that was made from it; the library destroys none of them. Instance, physical device, device and queue belong
// together, and none is NULL. The library cannot ask a VkDevice what was enabled on it, so the caller says which
// optional features it may rely on.
typedef struct vkf_external_device {
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    VkQueue queue; // of a family with compute; access is serialised with lock_queue/unlock_queue when these are given
    uint32_t queue_family_index;
    uint32_t api_version;             // what the instance and device were created for; at least VK_API_VERSION_1_1
    bool storage_16bit;               // storageBuffer16BitAccess was enabled
    void (*lock_queue)(void *user);   // optional, both or none
    void (*unlock_queue)(void *user); // optional
    void *lock_user;
    uint64_t reserved[16]; // 0; room for members of later versions
} vkf_external_device;

// Records the layer's dispatches into the caller's command buffer, which must be in the recording state and belong to
// the context's queue family. The layer records the barriers that it needs: the first dispatch waits for earlier
// transfer and compute writes, and after the last one the layer's writes are visible to later compute, transfer and
// host reads. The layer binds pipelines and descriptor set 0 for compute, with layouts of its own, and writes push
// constants; the caller must bind its own again afterwards. Bindings for graphics stay. Sizes are those last set with
// vkf_layer_set_sizes() and may be set again between submissions, not during one. docs/command-buffers.md has an
// example. Statuses: INVALID_ARGUMENT, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_layer_record(vkf_layer *layer, VkCommandBuffer command_buffer);

// The VkBuffer behind a buffer, and where in it the buffer's bytes begin. Its usage is storage, uniform, uniform texel
// and indirect buffer, source and destination of transfers, and a shader's device address where the context uses these;
// its sharing mode is exclusive, to the context's queue family. It lives as long as the buffer.
VKF_API void vkf_buffer_vulkan(const vkf_buffer *buffer, VkBuffer *out_buffer, VkDeviceSize *out_offset);

#ifdef __cplusplus
}
#endif
#endif
