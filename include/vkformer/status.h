// Status codes and the message callback.
#ifndef VKFORMER_STATUS_H
#define VKFORMER_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VKF_VERSION_MAJOR 0
#define VKF_VERSION_MINOR 1
#define VKF_VERSION_PATCH 0

// The version of these headers as one number: 0.1.0 is 100, 1.2.3 would be 10203. Before 1.0 a minor version may change
// the interface, and with it the name of the shared library, libvkformer.so.0.1; a patch changes neither.
#define VKF_VERSION (VKF_VERSION_MAJOR * 10000 + VKF_VERSION_MINOR * 100 + VKF_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

#if defined(VKF_SHARED) && defined(_WIN32)
#define VKF_API __declspec(dllimport)
#elif defined(__GNUC__)
#define VKF_API __attribute__((visibility("default")))
#else
#define VKF_API
#endif

// A function that is defined in the headers: it passes the sizes of the caller's structs on to the exported function of
// the same name with _sized behind it, so that these structs may grow (docs/abi.md). Bindings, which do not see inline
// functions, call the exported ones, which <vkformer/sized/...> declares.
#define VKF_INLINE static inline

#if defined(__GNUC__)
#define VKF_MUST_CHECK __attribute__((warn_unused_result))
#else
#define VKF_MUST_CHECK
#endif

// The one list of statuses: X(name, value, text).
#define VKF_STATUS_LIST(X)                                                                       \
    X(VKF_OK, 0, "success")                                                                      \
    X(VKF_ERROR_INVALID_ARGUMENT, 1, "an argument is wrong")                                     \
    X(VKF_ERROR_OUT_OF_HOST_MEMORY, 2, "host memory is exhausted")                               \
    X(VKF_ERROR_OUT_OF_DEVICE_MEMORY, 3, "device memory is exhausted")                           \
    X(VKF_ERROR_NO_VULKAN, 4, "no Vulkan loader or driver was found")                            \
    X(VKF_ERROR_NO_DEVICE, 5, "no suitable Vulkan device was found")                             \
    X(VKF_ERROR_UNSUPPORTED, 6, "it is not supported")                                           \
    X(VKF_ERROR_TOO_LARGE, 7, "a size exceeds what the device or the object was made for")       \
    X(VKF_ERROR_DEVICE_LOST, 8, "the device was lost; destroy the context and create a new one") \
    X(VKF_ERROR_VULKAN, 9, "a Vulkan call failed")                                               \
    X(VKF_ERROR_FILE, 10, "a file could not be read or written")                                 \
    X(VKF_ERROR_FORMAT, 11, "the content of a file or buffer is malformed")                      \
    X(VKF_ERROR_CANCELLED, 12, "the caller cancelled the operation")                             \
    X(VKF_ERROR_SHADER, 13, "a shader did not compile")                                          \
    X(VKF_ERROR_NOT_FINITE, 14, "a result is NaN or infinite; a probe says where that begins")   \
    X(VKF_ERROR_INTERNAL, 15, "the library contradicts itself, which is a defect of its own")

typedef enum vkf_status {
#define VKF_STATUS_ENUM(name, value, text) name = value,
    VKF_STATUS_LIST(VKF_STATUS_ENUM)
#undef VKF_STATUS_ENUM
} vkf_status;

// The version of the loaded library, in the form of VKF_VERSION. A program that opens the library at run time calls
// this first: the library serves programs whose VKF_VERSION agrees with its own in all but the last two digits, as
// docs/abi.md says.
VKF_API uint32_t vkf_version(void);

// Parts of the library, each of which stands on those before it. A build may leave some out (VKF_PARTS): their
// functions are there all the same, and return VKF_ERROR_UNSUPPORTED with a message that names the part. Those that
// return no status do nothing and give zeros, NULL, or -1 for an id.
typedef enum vkf_part {
    VKF_PART_CORE = 0,   // contexts, tensors, operators, layers: always there
    VKF_PART_MODELS = 1, // models and sessions (<vkformer/model.h>) and plans (<vkformer/plan.h>)
    VKF_PART_TEXT = 2,   // tokenizers, embedders and generators
    VKF_PART_TRAIN = 3,  // trainers (<vkformer/train.h>), which stand on models
} vkf_part;

// Whether the loaded library has a part; false for a value that is none.
VKF_API bool vkf_has_part(vkf_part part);

// The English text of a status; never NULL, even for values that are no status. Static storage.
VKF_API const char *vkf_status_text(vkf_status status);

// The enumerator's own name, "VKF_ERROR_FILE"; never NULL. Static storage.
VKF_API const char *vkf_status_name(vkf_status status);

// What a call has said of its failure: the sentence that a message callback gets, too, if there is one. `status` is
// what the call has returned, on the same thread and last of all calls there. So a server tells the errors of its
// threads and calls apart, whatever they share, and needs no callback; vkf_last_limit() has numbers. Each failure puts
// its sentence in the place of the one before it; a call that succeeds may do so, too. It costs 4 KiB of a thread in
// which something fails, or which asks; in Windows of every thread. Never NULL: where nothing was said, as of what the
// caller cancelled, or where memory is exhausted, it is the text of the status. Valid until a call on the same thread.
VKF_API const char *vkf_last_error(vkf_status status);

typedef enum vkf_severity {
    VKF_SEVERITY_DEBUG = 0,
    VKF_SEVERITY_INFO = 1,
    VKF_SEVERITY_WARNING = 2,
    VKF_SEVERITY_ERROR = 3,
    VKF_SEVERITY_VALIDATION = 4, // a message of the Vulkan validation layers
} vkf_severity;

// Receives one message (no trailing newline). May be called from any thread that is inside the library; `text` is
// valid only during the call. It must not call back into the library.
typedef void (*vkf_message_fn)(void *user, vkf_severity severity, const char *text);

// Replaces malloc and free for the library's own host memory of a context. Both or none must be set. `allocate` returns
// memory aligned for any type, or NULL. What others allocate does not come here: the Vulkan driver, and the libraries
// that read JSON (jansson), run the regular expressions of tokenizers (PCRE2), and unpack a kernel before its first use
// (zlib).
typedef struct vkf_allocator {
    void *(*allocate)(void *user, size_t size_bytes);
    void (*release)(void *user, void *memory);
    void *user;
} vkf_allocator;

#ifdef __cplusplus
}
#endif
#endif
