// The context: one Vulkan device with its kernels, memory and caches.
#ifndef VKFORMER_CONTEXT_H
#define VKFORMER_CONTEXT_H

#include <vkformer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vkf_context vkf_context;

typedef enum vkf_device_type {
    VKF_DEVICE_TYPE_OTHER = 0,
    VKF_DEVICE_TYPE_INTEGRATED = 1,
    VKF_DEVICE_TYPE_DISCRETE = 2,
    VKF_DEVICE_TYPE_VIRTUAL = 3,
    VKF_DEVICE_TYPE_CPU = 4,
} vkf_device_type;

// Limited capabilities: a device is treated as if it could do no more than the profile says, so that every fallback
// can be exercised on any machine.
typedef enum vkf_caps_profile {
    VKF_CAPS_PROFILE_FULL = 0,              // what the device really has
    VKF_CAPS_PROFILE_ANDROID_BASELINE_2022, // Vulkan 1.1, 128 invocations, 16 KiB shared, 4 storage buffers, no fp16
    VKF_CAPS_PROFILE_ANDROID_2025,          // VP_ANDROID_15_minimums-like
    VKF_CAPS_PROFILE_ROADMAP_2026,          // VP_KHR_roadmap_2026-like
    VKF_CAPS_PROFILE_COUNT
} vkf_caps_profile;

VKF_API const char *vkf_caps_profile_name(vkf_caps_profile profile); // "android-baseline-2022"; never NULL
// False when no profile has that name.
VKF_API bool vkf_caps_profile_from_name(const char *name, vkf_caps_profile *out_profile);

// How exactly products are computed. Each value permits what those before it do. Up to VKF_PRECISION_F16 all sums are
// in float32. Operands that are stored in 16 bits are multiplied as they are. One rounding does not depend on the
// precision: where the device accelerates integer dot products, activations that are multiplied by weights in blocks
// are rounded to 8 bits, unless the feature shaderIntegerDotProduct is masked. See docs/quantization.md.
typedef enum vkf_precision {
    VKF_PRECISION_FULL = 0, // in float32
    // Where the other factor is stored in 16 bits (weights, keys, values), activations may be rounded to its type as
    // they are multiplied, so that devices with matrix units can use them. This adds to a sum of products a[i] * b[i]
    // an error of at most 2^-11 times the sum of |a[i] * b[i]| for f16, and 2^-8 times for bf16. In f16 an activation
    // beyond 65,504 in magnitude becomes infinite, and one below 2^-14 is off by up to 2^-25.
    VKF_PRECISION_F16,
    // What VKF_PRECISION_F16 permits; and where both factors are f16, or rounded to it, runs of up to 64 products may
    // be summed in f16, each run's sum being added in float32. This is for devices that multiply halves faster than
    // floats, or matrices faster with sums in f16. A product passes through at most 64 roundings of 2^-11 each. This
    // adds to a sum of products a[i] * b[i], however long it is, an error of at most 65 * 2^-11 times the sum of
    // |a[i] * b[i]|. A product or a sum within a run may also be off by 2^-14 where it is smaller than that. A run
    // that somewhere sums up to more than 65,504 in magnitude becomes infinite, or NaN where infinities cancel.
    VKF_PRECISION_F16_SUMS,
    VKF_PRECISION_COUNT
} vkf_precision;

// How urgent the work of a context is beside that of other processes.
typedef enum vkf_queue_priority {
    VKF_QUEUE_PRIORITY_DEFAULT = 0, // the driver's, mostly that of VKF_QUEUE_PRIORITY_MEDIUM
    VKF_QUEUE_PRIORITY_LOW,         // work that may wait, so that what is drawn does not
    VKF_QUEUE_PRIORITY_MEDIUM,
    VKF_QUEUE_PRIORITY_HIGH, // this and the next are for privileged processes on many systems
    VKF_QUEUE_PRIORITY_REALTIME,
    VKF_QUEUE_PRIORITY_COUNT
} vkf_queue_priority;

#define VKF_UUID_SIZE 16

typedef enum vkf_device_choice_kind {
    // Discrete, then integrated, then virtual, then CPU; of one type that with the most usable kernels, and of equals
    // that with the most memory.
    VKF_CHOOSE_BEST = 0,
    VKF_CHOOSE_INDEX,
    VKF_CHOOSE_NAME, // a case-insensitive part of the device's name; must match exactly one kind of name
    VKF_CHOOSE_UUID,
    VKF_CHOOSE_TYPE,
    // None of the machine's, and no driver: dispatches run on the host by the scalar references of the operators, in
    // double precision and slowly. It tells whether a wrong result is a kernel's.
    VKF_CHOOSE_REFERENCE,
} vkf_device_choice_kind;

typedef struct vkf_device_choice {
    vkf_device_choice_kind kind;
    uint32_t index;
    const char *name; // for VKF_CHOOSE_NAME, else NULL
    uint8_t uuid[VKF_UUID_SIZE];
    vkf_device_type type;
    uint32_t reserved[8]; // 0; room for members of later versions
} vkf_device_choice;

// Keeps small blobs between runs (pipeline cache, verdicts of the self-test, tuned data). `key` is made of letters,
// digits, '-' and '.' alone.
// load returns the blob's size, or 0 when there is none, and copies it when `data` is not NULL and `capacity` suffices.
// The library validates what it gets and ignores a corrupt or foreign blob with a message. save is best effort. A blob
// of size 0 is as good as none.
// While a kernel is tested for the first time, the blob whose key begins with "testing-" says so, in case that the
// driver brings down the process. A process that something else ends meanwhile, as a signal does, removes that blob
// before it goes, or the kernel gets a strike that is not its fault, see skip_self_test.
// Either may be NULL: without load nothing is known from before, and without save nothing is kept.
typedef struct vkf_cache_callbacks {
    size_t (*load)(void *user, const char *key, void *data, size_t capacity);       // optional
    void (*save)(void *user, const char *key, const void *data, size_t size_bytes); // optional
    void *user;
} vkf_cache_callbacks;

// A generic function pointer as vkGetInstanceProcAddr returns it, so that this header needs no Vulkan header.
typedef void (*vkf_void_function)(void);
typedef vkf_void_function (*vkf_get_instance_proc_addr)(void *instance, const char *name);

// Is told how far a call has come; returns false to cancel it, which gives VKF_ERROR_CANCELLED.
typedef bool (*vkf_progress_fn)(void *user, uint32_t done, uint32_t total, const char *what);

struct vkf_external_device;    // <vkformer/vulkan.h>
struct vkf_device_description; // <vkformer/plan.h>

typedef struct vkf_context_desc {
    vkf_device_choice device;
    vkf_caps_profile profile;
    // Single features or limits to mask on top of the profile: "shaderFloat16" switches a feature off,
    // "maxComputeWorkGroupInvocations=64" lowers a limit. Names are Vulkan's own.
    const char *const *masks;
    uint32_t mask_count;
    vkf_message_fn message; // NULL: no messages
    void *message_user;
    vkf_severity min_severity; // 0: all messages
    vkf_allocator allocator;
    vkf_cache_callbacks cache;
    // Folder of GLSL that overrides the embedded kernels; NULL: none. It needs the plug-in libvkformer-glsl.so, which a
    // build with VKF_RUNTIME_GLSL has, beside the library or where the system looks for libraries; else UNSUPPORTED.
    const char *shader_dir;
    // Optional: a kernel's name or its beginning, as "gemm_tile" or "gemm_tile.f32_f32_f32/small"; a whole name means
    // no other one. This kernel is taken before any other wherever it can serve the problem. INVALID_ARGUMENT if no
    // kernel's name begins so. NULL: the kernel that was fastest when measured on the device, or else the default for
    // the device's traits.
    const char *variant;
    // A kernel variant that is about to be used for the first time on this device and driver is run on small shapes and
    // compared with a reference: a wrong or slow one is reported (VKF_SEVERITY_WARNING) and not used. Verdicts are kept
    // through `cache`, see vkf_context_visit_verdicts(). Of one that was slow, or whose test the process did not come
    // back from, that is a strike: at the next start it is tested again, and with two strikes it is left out until
    // driver or library are others or nothing better is left, of which the least slow is taken. Times are those of the
    // device's clock or, where it has none, those beyond an empty submission's, so that a busy device is no strike.
    // true: variants are trusted untested, but those that are quarantined stay so.
    bool skip_self_test;
    // Measure the kernels for a weight's shape when it is first loaded or used, see <vkformer/tune.h>. It takes up to
    // 20 s in the life of a context, inside the calls that load and create; what it finds is kept through `cache`.
    bool tune_on_first_use;
    vkf_precision precision; // 0: full
    bool validation;         // switch the Vulkan validation layers on (synchronisation validation included)
    bool timestamps;         // measure every dispatch on the GPU, see vkf_layer_get_timings()
    // Count what happens during dispatches, see vkf_context_get_counters(): names of counters, or their beginnings,
    // separated by commas; "all" stands for as many as one run can count. NULL: nothing is counted. If the device has
    // no counters, a warning says so.
    const char *counters;
    // Keep what the driver's compiler says about kernels, see <vkformer/kernels.h>. If it says nothing, a warning does.
    // From Vulkan 1.2 on this also enables types of numbers that only the caller's own shaders use.
    bool pipeline_statistics;
    // Keep also the forms that kernels take inside the driver's compiler: its intermediate code, assembly.
    bool pipeline_representations;
    // The Vulkan loader's vkGetInstanceProcAddr; NULL: the library opens the system's libvulkan itself.
    vkf_get_instance_proc_addr get_instance_proc_addr;
    // A device that the caller created and keeps; NULL: the library creates its own.
    const struct vkf_external_device *external;
    // Optional: the context describes this device and has none. No Vulkan loader is opened. Everything can be planned
    // there; what would run or allocate on the device gives NO_DEVICE. Profile and masks limit the described device;
    // choice, cache, shader_dir, counters and validation have no part in it.
    const struct vkf_device_description *described;
    // Optional: a device is treated as no better than the described one. Features that the description lacks are off,
    // and limits are lowered to its own.
    const struct vkf_device_description *limits;
    // Make the device with what vkf_buffer_create_exportable() and vkf_buffer_import() need, where it has that.
    bool external_memory;
    // For the library's own device, by VK_KHR_global_priority or VK_EXT_global_priority. A warning says where the
    // device has neither or the system does not permit it; the priority is the default then.
    vkf_queue_priority queue_priority;
    // The most that vkf_memory_usage.reserved_bytes may come to, all heaps together; 0: what the device has. What would
    // be beyond it gives OUT_OF_DEVICE_MEMORY. Some drivers, lavapipe among them, promise more memory than there is.
    uint64_t device_memory_limit_bytes;
    // Optional: is told what a call does before it uses kernels for the first time, which on a new device or driver may
    // take many seconds. `what` is "compiling kernels" (several times a second), "testing kernels on this device, once"
    // (before each) or "measuring kernels on this device, once" (the same, with tune_on_first_use); done == total says
    // that this has ended. It is called on the thread of the call, and must not use the context. Where it returns false
    // the call, vkf_context_create() too, gives CANCELLED; what was compiled and tested until then is kept.
    vkf_progress_fn progress;
    void *progress_user;
    // Optional, in the place of `cache`: a directory in which the library keeps a file for each key, written whole or
    // not at all, whoever reads and writes beside. It is made when something is saved. "" is where the program vkformer
    // keeps it for the user: $XDG_CACHE_HOME/vkformer or ~/.cache/vkformer, in Windows %LOCALAPPDATA%\vkformer. What
    // cannot be read is not there, and what cannot be written is lost, with one warning. INVALID_ARGUMENT beside
    // `cache`.
    const char *cache_directory;
} vkf_context_desc;

// Ownership: the caller owns the context and gives it back with vkf_context_destroy(). Everything made from a context
// keeps it alive. If a buffer, layer, model, session, generator, embedder or vocabulary still lives when its context is
// destroyed, a warning counts them, and the context is freed with the last of them. Until then its callbacks are called
// and its external device is used. Its allocator is used even longer where results live on: a vkf_encoding,
// vkf_prediction or vkf_continuation keeps no context, but its memory is given back to the allocator.
// A child of fork() cannot use its parent's context. There, every function that would touch the device or a lock
// returns INVALID_ARGUMENT, or does nothing if it returns no status; destroying what was inherited only nulls the
// handle. A context that the child makes is its own.
// `desc` may be NULL: all defaults.
// Statuses: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, NO_VULKAN, NO_DEVICE, UNSUPPORTED,
// DEVICE_LOST, VULKAN.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_context_create(const vkf_context_desc *desc, vkf_context **out_context);
VKF_API void vkf_context_destroy(vkf_context **context);

// Saves the pipeline cache, verdicts and tuned data through the cache callbacks; destroy does so too.
VKF_API VKF_MUST_CHECK vkf_status vkf_context_save_cache(vkf_context *context);

#define VKF_MAX_MEMORY_HEAPS 16

// What a device can do after profile and masks were applied.
typedef struct vkf_device_info {
    uint32_t index;
    char name[256];
    char driver_name[256];
    char driver_info[256];
    vkf_device_type type;
    uint32_t api_version; // as VK_MAKE_API_VERSION packs it
    uint32_t driver_version;
    uint32_t vendor_id;
    uint32_t device_id;
    uint8_t uuid[VKF_UUID_SIZE];
    uint8_t driver_uuid[VKF_UUID_SIZE];
    uint32_t subgroup_size;
    uint32_t max_workgroup_invocations;
    uint32_t max_shared_memory_bytes;
    uint32_t max_storage_buffers;
    uint64_t max_storage_buffer_range_bytes;
    uint32_t max_push_constant_bytes;
    bool storage_16bit;
    bool shader_float16;
    bool timestamps;
    bool unified_memory;
    uint32_t heap_count;
    uint64_t heap_size_bytes[VKF_MAX_MEMORY_HEAPS];
    bool heap_device_local[VKF_MAX_MEMORY_HEAPS];
    bool integer_dot_accelerated; // of 8-bit integers, packed in words
    bool cooperative_matrix;      // VK_KHR_cooperative_matrix
    bool flexible_matrix;         // VK_NV_cooperative_matrix2: workgroups' matrices, tensor addressing and block loads
} vkf_device_info;

// Lists the devices that the descriptor's loader shows; `desc` may be NULL. Its choice of a device is ignored.
// *inout_count is the capacity of `out_infos` on entry and the number of devices on return; with out_infos == NULL only
// the number is given.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_enumerate_devices(const vkf_context_desc *desc, uint32_t *inout_count,
                                                           vkf_device_info *out_infos);
VKF_INLINE void vkf_context_get_device_info(const vkf_context *context, vkf_device_info *out_info);

// What a VKF_ERROR_TOO_LARGE was about, as numbers.
typedef struct vkf_limit {
    const char *what; // the name of the field or argument that limits: "max_target_len", "max_batch"
    uint64_t asked;   // in its units
    uint64_t allowed;
} vkf_limit;
// The numbers of the calling thread's last failure (vkf_last_error()), if that was a TOO_LARGE in which the size of a
// session, a model or a buffer was exceeded. False, with nothing written, where it was not; other sizes overflow
// without a limit that has a name. For a prompt and its continuation that do not fit, `what` is "max_target_len", and
// `asked` counts both.
VKF_INLINE bool vkf_last_limit(vkf_limit *out_limit);

// Device memory in use by live buffers, and reserved for them in slabs, per heap.
typedef struct vkf_memory_usage {
    uint32_t heap_count;
    uint64_t used_bytes[VKF_MAX_MEMORY_HEAPS];
    uint64_t peak_bytes[VKF_MAX_MEMORY_HEAPS]; // the most that was in use at once, operators' temporaries included
    uint64_t reserved_bytes[VKF_MAX_MEMORY_HEAPS];
} vkf_memory_usage;
VKF_INLINE void vkf_context_get_memory_usage(vkf_context *context, vkf_memory_usage *out_usage);
// Starts peak_bytes anew from what is in use now.
VKF_API void vkf_context_reset_memory_peak(vkf_context *context);

// Bytes that an object needs, known before anything is allocated. The sum over the kinds equals the growth of
// vkf_memory_usage.used_bytes when the object is created.
typedef struct vkf_memory_plan {
    uint64_t weights_bytes;     // parameters
    uint64_t activations_bytes; // inputs, outputs and intermediate results, from lifetimes
    uint64_t cache_bytes;       // keys and values kept between steps
    uint64_t control_bytes;     // parameter and indirect buffers, host-visible
    uint64_t staging_bytes;     // host-visible transfer memory of its own; 0 so far: the context's two halves serve all
    uint32_t heap_count;
    uint64_t heap_bytes[VKF_MAX_MEMORY_HEAPS]; // the same bytes by heap
} vkf_memory_plan;

// Creates the pipelines that this device takes for common problems. Those of attention depend on the widths of heads
// and are made with the layers. `progress` (may be NULL) is called before each pipeline and returns false to cancel,
// which gives VKF_ERROR_CANCELLED; pipelines that it was called for before are made and kept. As many are made at once
// as the machine has processors, up to eight.
VKF_API VKF_MUST_CHECK vkf_status vkf_context_create_pipelines(vkf_context *context, vkf_progress_fn progress,
                                                               void *user);

// GPU time of the last operator that was called by itself (vkf_gemm() and its like) in a context with `timestamps`, in
// nanoseconds, and the name of its main kernel. Negative and NULL while there is none.
VKF_API double vkf_context_get_last_op_ns(const vkf_context *context);
VKF_API const char *vkf_context_get_last_op_kernel(const vkf_context *context);

// One line per kernel of the registry: its name, whether this device may use it, and why (not). The callback gets
// static or call-lifetime strings.
typedef void (*vkf_kernel_fn)(void *user, const char *kernel, bool usable, const char *why);
VKF_API void vkf_context_visit_kernels(vkf_context *context, vkf_kernel_fn visit, void *user);

// What was found out about a kernel's variant on this device. Strings live as long as the call.
typedef struct vkf_verdict {
    const char *variant; // "gemm_tile.f32_f32_f32/large"
    // From the self-test: "passed", "proven" (often), "wrong", "slow", "uncompiled" or "started" (it never ended). Of a
    // race against a kernel without matrix units: "faster" or "slower".
    const char *verdict;
    bool left_out;      // not used while anything better serves
    uint32_t strikes;   // of "slow" and "started"; 0: it was foretold, and is left out in this context alone
    int64_t date;       // seconds since 1970
    const char *reason; // "" where there is none
} vkf_verdict;

// Visits all that is known, from the cache or found here. The callback must not call functions of the context.
// Status INVALID_ARGUMENT.
typedef void (*vkf_verdict_fn)(void *user, const vkf_verdict *verdict);
VKF_API VKF_MUST_CHECK vkf_status vkf_context_visit_verdicts(vkf_context *context, vkf_verdict_fn visit, void *user);

// Forgets all verdicts, here and in the cache, so that every variant is tested again before its next use. What exists
// keeps its kernels, and other contexts keep what they know. Status INVALID_ARGUMENT.
VKF_API VKF_MUST_CHECK vkf_status vkf_context_forget_verdicts(vkf_context *context);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/context.h>

#endif
