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
// together, and none is NULL. The library cannot ask a VkDevice what was enabled on it, so the caller says so here.
// What is said, and is offered by the physical device, is used as on a device of the library's own; nothing else is.
// A feature of an extension that the api_version does not include counts only if the extension is named, too.
typedef struct vkf_external_device {
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device; // NULL only in what vkf_device_setup_create() reads
    // NULL like the device. Of a family with compute; access is serialised with lock_queue and unlock_queue, if given.
    VkQueue queue;
    uint32_t queue_family_index;
    uint32_t api_version;             // what the instance and device were created for; at least VK_API_VERSION_1_1
    bool storage_16bit;               // storageBuffer16BitAccess was enabled; what `features` says counts, too
    void (*lock_queue)(void *user);   // optional, both or none
    void (*unlock_queue)(void *user); // optional
    void *lock_user;
    // Optional: what the device was created with, in structures of extensions or of versions of Vulkan, whichever. Read
    // while the context is made, and not kept.
    const VkPhysicalDeviceFeatures2 *features;
    const char *const *extensions; // optional: names of device extensions, likewise
    uint32_t extension_count;
    uint64_t reserved[16]; // 0; room for members of later versions
} vkf_external_device;

// What a device should be created with so that the library can use all of it.
typedef struct vkf_device_setup vkf_device_setup;

// `desc` is as the context will be made with; its profile, masks, timestamps, counters and statistics decide what is
// wanted. Of desc->external only instance, physical_device and api_version are read, because there is no device yet.
// Ownership: the caller owns the setup and destroys it when the device, or the context on it, has been made; it keeps
// neither. The instance must live until then. desc->message and desc->allocator serve it as they serve a context.
// Statuses: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY, NO_VULKAN, NO_DEVICE, UNSUPPORTED, VULKAN.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_device_setup_create(const vkf_context_desc *desc,
                                                             vkf_device_setup **out_setup);
VKF_API void vkf_device_setup_destroy(vkf_device_setup **setup);

// The features as a chain of a structure for each extension. All of them are offered. The chain lives as long as the
// setup and must not be written to. It serves as vkf_external_device.features, too, if all of it was enabled. NULL if
// `setup` is NULL.
VKF_API const VkPhysicalDeviceFeatures2 *vkf_device_setup_get_features(const vkf_device_setup *setup);
// The names of the device extensions, which live as long as the setup; *out_count is their number.
VKF_API const char *const *vkf_device_setup_get_extensions(const vkf_device_setup *setup, uint32_t *out_count);
// The index of the queue family that suits the library best; UINT32_MAX if `setup` is NULL.
VKF_API uint32_t vkf_device_setup_get_queue_family(const vkf_device_setup *setup);

// Adds to *inout_info what the device should be created with, and takes nothing away:
// - Feature structures that pNext chains already, VkPhysicalDeviceVulkan11Features and its like included, are written
//   to: their switches are set, and none is reset. The others are appended to the chain. So it must not be of const
//   objects.
// - pEnabledFeatures is replaced by a copy with more switches set, unless the chain has a VkPhysicalDeviceFeatures2.
// - Names of extensions that are not there yet are appended in a copy of the list.
// - Queues stay as they are. If there is none, one of vkf_device_setup_get_queue_family() is asked for.
// What *inout_info then points to beside the caller's own lives until the setup is destroyed or fills another one.
// Statuses: INVALID_ARGUMENT (also if pEnabledFeatures and a VkPhysicalDeviceFeatures2 are both given, which Vulkan
// forbids), OUT_OF_HOST_MEMORY.
VKF_API VKF_MUST_CHECK vkf_status vkf_device_setup_fill_create_info(vkf_device_setup *setup,
                                                                    VkDeviceCreateInfo *inout_info);

// The handles that a context works with.
typedef struct vkf_vulkan_handles {
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family_index;
    uint32_t api_version; // that instance and device share
    vkf_get_instance_proc_addr get_instance_proc_addr;
} vkf_vulkan_handles;

// They belong to the context, or to the caller if it was made on an external device, and live as long as the context.
// All are null in a context that only describes a device. A queue of the library's own is shared with the library:
// whoever submits to it holds the lock meanwhile.
VKF_INLINE void vkf_context_get_vulkan(const vkf_context *context, vkf_vulkan_handles *out_handles);
// Take and release the lock that the library holds while it uses the queue; on an external device also lock_queue and
// unlock_queue. No function of the library that submits or waits may be called by the thread that holds it.
VKF_API void vkf_context_lock_queue(vkf_context *context);
VKF_API void vkf_context_unlock_queue(vkf_context *context);

// Records the layer's dispatches into the caller's command buffer, which must be in the recording state and belong to
// the context's queue family. The layer records the barriers that it needs: the first dispatch waits for earlier
// transfer and compute writes, and after the last one the layer's writes are visible to later compute, transfer and
// host reads. The layer binds pipelines and descriptor set 0 for compute, with layouts of its own, and writes push
// constants; the caller must bind its own again afterwards. Bindings for graphics stay. Sizes are those last set with
// vkf_layer_set_sizes() and may be set again between submissions, not during one. docs/command-buffers.md has an
// example. A layer may be recorded once for each of its frames, so that several sizes are under way at once. Statuses:
// INVALID_ARGUMENT (also: no such frame), VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_layer_record(vkf_layer *layer, uint32_t frame, VkCommandBuffer command_buffer);

// A semaphore to wait for, or to signal.
typedef struct vkf_semaphore_value {
    VkSemaphore semaphore;
    uint64_t value; // of a timeline semaphore, above 0; 0: the semaphore is binary
} vkf_semaphore_value;

#define VKF_MAX_SEMAPHORES 16u

typedef struct vkf_layer_submit_desc {
    uint32_t frame; // below the layer's frames_in_flight
    vkf_layer_sizes sizes;
    // The run begins when all of `waits` are signalled, and signals `signals` when it has ended, VKF_MAX_SEMAPHORES of
    // each at most. A timeline semaphore needs a device that the caller made with that feature.
    const vkf_semaphore_value *waits; // optional
    uint32_t wait_count;
    const vkf_semaphore_value *signals; // optional
    uint32_t signal_count;
} vkf_layer_submit_desc;

// Writes the sizes, submits the frame's command buffer to the context's queue and returns: vkf_layer_wait() waits for
// its end. A run that the frame has under way is waited for first, so that a layer with N frames in flight stays N runs
// ahead at most. Runs of the same context begin in the order of their submission, and each sees what the ones before it
// wrote; what the caller does elsewhere with the ports is ordered by the semaphores. Such a
// run is not shown to a probe (vkf_context_set_probe()).
// Statuses: as vkf_layer_run(), and INVALID_ARGUMENT for a frame or semaphores as above.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_layer_submit(vkf_layer *layer, const vkf_layer_submit_desc *desc);

// ---- a model's runs between the caller's own
//
// An encoder's run, a DECODER's prompt and its step, submitted without waiting; encoder and step also recorded into a
// command buffer of the caller's.
// Results stay on the device: see vkf_session_get_tensor(). Nobody checks whether they are finite. Sessions with
// attention_weights are refused, because the host gathers these, and so are those of a part of a model, whose hidden
// states it passes on. A probe is not shown such runs.

typedef struct vkf_session_submit_desc {
    // As in vkf_layer_submit_desc.
    const vkf_semaphore_value *waits; // optional
    uint32_t wait_count;
    const vkf_semaphore_value *signals; // optional
    uint32_t signal_count;
} vkf_session_submit_desc;

// Writes the arguments, submits the run and returns: vkf_session_wait() waits for its end. A run that
// is under way is waited for first. Outputs are NULL. source_ids may be NULL where the host needs none; then
// VKF_SESSION_SOURCE_IDS holds them when `waits` are signalled, and source_lengths are given and source_types are not.
// The host needs the ids of models whose positions are counted without padding (RoBERTa), and of causal classifiers. An
// id outside the vocabulary is not found out, but reads no memory outside the table. A TRANSFORMER's source may be NULL
// in the same way: VKF_SESSION_MEMORY holds it.
// Statuses: as vkf_session_encode() but NOT_FINITE, and INVALID_ARGUMENT for semaphores as in vkf_layer_submit().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_submit_encode(vkf_session *session, const vkf_encode_args *args,
                                                               const vkf_session_submit_desc *desc);

// The same for a step of a DECODER, with out_logits NULL. The rows have the tokens at once
// (vkf_session_get_position()). Where a row has to run more than its last position (see vkf_session_prefill()), those
// before it run first, without regard to `waits`, and are waited for.
// Statuses: as vkf_session_step(), and INVALID_ARGUMENT for semaphores as in vkf_layer_submit().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_submit_step(vkf_session *session, const vkf_step_args *args,
                                                             const vkf_session_submit_desc *desc);

// The same for a prompt, with out_logits and out_all_logits NULL. A prompt whose rows run no more than max_prompt_len
// positions is one run. Of a longer one the parts before the last run first, without regard to `waits`, and are waited
// for. Statuses: as vkf_session_prefill(), and INVALID_ARGUMENT for semaphores as in vkf_layer_submit().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_submit_prefill(vkf_session *session, const vkf_prefill_args *args,
                                                                const vkf_session_submit_desc *desc);

// Record an encoder's run, or a DECODER's step, into the caller's command buffer, with the barriers and bindings of
// vkf_layer_record(). The recording is that for the session's maximum sizes, in which all smaller runs can run; it can
// be submitted again and again while the session lives. Statuses: INVALID_ARGUMENT (also: the session has no such run),
// OUT_OF_HOST_MEMORY, and those of vkf_session_wait().
VKF_API VKF_MUST_CHECK vkf_status vkf_session_record_encode(vkf_session *session, VkCommandBuffer command_buffer);
VKF_API VKF_MUST_CHECK vkf_status vkf_session_record_step(vkf_session *session, VkCommandBuffer command_buffer);

// Write the arguments for the next submission of such a recording, as submit_encode and submit_step do. The caller then
// submits it once; for the session the run counts as done. From prepare until the submission has ended, only the calls
// that do not wait (see vkf_session_wait()) are allowed for the session, and for a recording that was prepared and not
// submitted, whatever runs next overwrites the arguments. Statuses: as submit_encode and submit_step.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_prepare_encode(vkf_session *session, const vkf_encode_args *args);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_prepare_step(vkf_session *session, const vkf_step_args *args);

// A range of a VkBuffer of the caller's, on the context's device.
typedef struct vkf_wrapped_buffer_desc {
    VkBuffer buffer;
    VkDeviceSize offset_bytes; // a multiple of 16
    VkDeviceSize size_bytes;   // a multiple of 16, and within the buffer
    // What the VkBuffer was created with. VK_BUFFER_USAGE_STORAGE_BUFFER_BIT is necessary.
    // VK_BUFFER_USAGE_TRANSFER_SRC_BIT and _DST_BIT are for vkf_buffer_read() and vkf_buffer_write(). Kernels that read
    // texels are chosen only with VK_BUFFER_USAGE_UNIFORM_TEXEL_BUFFER_BIT, and those that read by address only with
    // VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT; with both, the same kernels run as on buffers of the library's own.
    // Attention's slopes and sinks are always texels.
    VkBufferUsageFlags usage;
} vkf_wrapped_buffer_desc;

// Makes a buffer of that range without a copy, for tensors that serve as operands, as weights, and as ports of layers.
// Nothing is cleared. The host reads and writes it through staging buffers, so while this submits, nobody else may use
// the range. Its memory does not count in vkf_memory_usage. The VkBuffer is exclusive to the context's queue family, or
// concurrent. Several ranges may be wrapped of one VkBuffer; two VkBuffers on the same memory are not known to overlap.
// Ownership: as vkf_buffer_create(); the VkBuffer stays the caller's and is never destroyed here. It and its memory
// must live until the buffer and every layer that was given a tensor of it are destroyed.
// Statuses: INVALID_ARGUMENT (a null handle, a range or usage as above; a message says which), OUT_OF_HOST_MEMORY,
// NO_DEVICE.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_buffer_wrap(vkf_context *context, const vkf_wrapped_buffer_desc *desc,
                                                     vkf_buffer **out_buffer);

// The VkBuffer behind a buffer, and where in it the buffer's bytes begin. Unless the caller wrapped it, its usage is
// storage, uniform, uniform texel and indirect buffer, source and destination of transfers, and a shader's device
// address where the context uses these; its sharing mode is exclusive, to the context's queue family. It lives as long
// as the buffer.
VKF_API void vkf_buffer_get_vulkan(const vkf_buffer *buffer, VkBuffer *out_buffer, VkDeviceSize *out_offset);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/vulkan.h>

#endif
