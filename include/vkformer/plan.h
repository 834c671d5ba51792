// Plans without a device: what a device can do, read from a file, and the dispatches that a model would make there.
#ifndef VKFORMER_PLAN_H
#define VKFORMER_PLAN_H

#include <vkformer/model.h>

#ifdef __cplusplus
extern "C" {
#endif

// What a device can do, as a file of the Vulkan Profiles schema says it: capabilities with features, properties and
// extensions, and profiles that are made of them. What the file does not say is as Vulkan requires it at least:
// features are off, and limits are the least. The schema has no place for the memory of a device and for the shapes of
// its cooperative matrices. So an object "vkformer" beside "profiles" may have them, under Vulkan's names:
// VkPhysicalDeviceMemoryProperties (memoryHeaps, memoryTypes), VkCooperativeMatrixPropertiesKHR and
// VkCooperativeMatrixFlexibleDimensionsPropertiesNV (lists of structures). Without memory there is one heap for
// everything, of unknown size (0).
typedef struct vkf_device_description vkf_device_description;

typedef struct vkf_device_description_desc {
    const char *path; // optional: the file; with `text` it only serves the messages
    const char *text; // optional: the content of such a file
    size_t text_bytes;
    const char *profile;    // which of the file's profiles; NULL: its only one
    vkf_message_fn message; // NULL: no messages
    void *message_user;
    vkf_severity min_severity; // 0: all messages
    vkf_allocator allocator;
} vkf_device_description_desc;

// The description belongs to the caller. Contexts that are made with it keep a copy of what they need.
// Statuses: INVALID_ARGUMENT (neither path nor text), FILE, FORMAT (the message names the key), OUT_OF_HOST_MEMORY.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_device_description_create(const vkf_device_description_desc *desc,
                                                                   vkf_device_description **out_description);
VKF_API void vkf_device_description_destroy(vkf_device_description **description);

// A dispatch as a session would record it, for the largest sizes that its descriptor asks for.
typedef struct vkf_planned_dispatch {
    const char *run;    // what is submitted at once: "encoder", "decoder" or "step"
    const char *part;   // "decoder.0", "step.head"
    const char *label;  // "self_attn.q_proj"
    const char *op;     // "gemm"
    const char *kernel; // "gemm_tile.f32_f16_f32"
    const char *config; // "large"
    uint32_t workgroups[3];
    uint32_t local_size;   // invocations of a workgroup
    uint32_t shared_bytes; // shared memory of a workgroup
    // The problem that the kernel was chosen for: rows, columns and depth of a product; queries, keys and width of
    // attention. Zeros where no problem decides.
    uint32_t m, n, k;
    uint32_t type_count;
    vkf_dtype types[3];                      // that the kernel was chosen for: of a product's factors and its result
    bool tensor_math;                        // it multiplies on cooperative matrices
    bool integer_dot;                        // it multiplies by integer dot products
    bool half_sums;                          // it sums short runs of products in f16
    bool after_barrier;                      // a barrier stands before it: it begins when what ran before has ended
    double flops, bytes_read, bytes_written; // as in vkf_dispatch_profile
    // What a workgroup asks for at once, and then waits for: the part of its operands that one step of its loop reads.
    double step_bytes;
} vkf_planned_dispatch;

// The pointers are valid during the call. It must not call functions of the context.
typedef void (*vkf_planned_dispatch_fn)(void *user, const vkf_planned_dispatch *dispatch);

// Plans a session of a model of which nothing is loaded, and calls `visit` for each of its dispatches in order. It
// touches no device. The context may be one that describes a device; the model's directory then needs no weights: the
// parameters are taken to be what config.json asks for.
// Statuses: as vkf_model_plan_session().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_plan_dispatches(vkf_context *context, const vkf_model_desc *desc,
                                                               const vkf_session_desc *session,
                                                               vkf_planned_dispatch_fn visit, void *user);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/plan.h>

#endif
