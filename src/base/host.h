// What every floor gets from the caller: where host memory comes from and where messages go.
#ifndef VKF_BASE_HOST_H
#define VKF_BASE_HOST_H

#include <stdarg.h>
#include <string.h>

#include <vkformer/status.h>

typedef struct vkf__host {
    vkf_allocator allocator; // both functions set
    vkf_message_fn message;  // may be NULL
    void *message_user;
    vkf_severity min_severity;
} vkf__host;

// Fills in malloc/free where the caller gave no allocator. INVALID_ARGUMENT when only one function is set.
VKF_MUST_CHECK vkf_status vkf__host_init(vkf__host *host, const vkf_allocator *allocator, vkf_message_fn message,
                                         void *message_user, vkf_severity min_severity);

#if defined(__GNUC__)
#define VKF_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define VKF_PRINTF(format_at, args_at)
#endif

void vkf__log(const vkf__host *host, vkf_severity severity, const char *format, ...) VKF_PRINTF(3, 4);

// Reports an error message and hands the status back, so that a failure is one line: return vkf__fail(host, ...).
vkf_status vkf__fail(const vkf__host *host, vkf_status status, const char *format, ...) VKF_PRINTF(3, 4);

// Zero-filled memory, or NULL when it is exhausted, count is 0 or count * size overflows. No message.
void *vkf__alloc(const vkf__host *host, size_t count, size_t size_bytes);
// The same, but of count 0 memory for one element: an empty array is no failure.
void *vkf__alloc_array(const vkf__host *host, size_t count, size_t size_bytes);
void vkf__free(const vkf__host *host, void *memory);

// A copy of a string; NULL when memory is exhausted. No message.
char *vkf__strdup(const vkf__host *host, const char *text);

// Makes room for `needed` elements in a growing array: doubles *capacity and moves the content. On failure the array is
// as before and the status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__grow(const vkf__host *host, void **array, size_t element_bytes, size_t count,
                                    size_t *capacity, size_t needed);

// In a function that has nothing to release: returns a status that is not OK.
#define VKF_RETURN_IF_ERROR(expression)      \
    do {                                     \
        vkf_status returned_ = (expression); \
        if (returned_ != VKF_OK)             \
            return returned_;                \
    } while (0)

// In one that has: goes to its label `fail:` with the status in `vkf_status status`.
#define VKF_TRY(expression)    \
    do {                       \
        status = (expression); \
        if (status != VKF_OK)  \
            goto fail;         \
    } while (0)

// OUT_OF_HOST_MEMORY, with a message.
vkf_status vkf__no_memory(const vkf__host *host, const char *function, size_t count, size_t size_bytes);

// Allocates into a pointer, never NULL, or goes to fail with a message that names what was wanted.
#define VKF_ALLOC(host, pointer, count)                                                    \
    do {                                                                                   \
        (pointer) = vkf__alloc_array((host), (count), sizeof *(pointer));                  \
        if (!(pointer)) {                                                                  \
            status = vkf__no_memory((host), __func__, (size_t)(count), sizeof *(pointer)); \
            goto fail;                                                                     \
        }                                                                                  \
    } while (0)

// Copies a string into a pointer in the same way.
#define VKF_STRDUP(host, pointer, text)                                     \
    do {                                                                    \
        (pointer) = vkf__strdup((host), (text));                            \
        if (!(pointer)) {                                                   \
            status = vkf__no_memory((host), __func__, strlen(text) + 1, 1); \
            goto fail;                                                      \
        }                                                                   \
    } while (0)

#endif
