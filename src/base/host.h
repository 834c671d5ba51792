// What the caller gives to every floor: where host memory comes from, and where messages go.
#ifndef VKF_BASE_HOST_H
#define VKF_BASE_HOST_H

#include <stdarg.h>
#include <string.h>

#include <vkformer/status.h>

// What a TOO_LARGE was about.
typedef struct vkf__limit {
    const char *what; // NULL: there was none
    uint64_t asked, allowed;
} vkf__limit;

typedef struct vkf__host {
    vkf_allocator allocator; // both functions set
    vkf_message_fn message;  // may be NULL
    void *message_user;
    vkf_severity min_severity;
    // While something is loaded from a caller's files: see io/source_file.h. NULL: the file system's.
    const struct vkf_file_source *files;
    const char *files_directory;
} vkf__host;

// Uses malloc and free where the caller gave no allocator. INVALID_ARGUMENT when only one function is set.
VKF_MUST_CHECK vkf_status vkf__host_init(vkf__host *host, const vkf_allocator *allocator, vkf_message_fn message,
                                         void *message_user, vkf_severity min_severity);

#if defined(__MINGW32__) && !defined(__clang__)
// The build takes the printf() of C99 from mingw-w64's two kinds.
#define VKF_PRINTF(format_at, args_at) __attribute__((format(gnu_printf, format_at, args_at)))
#elif defined(__GNUC__)
#define VKF_PRINTF(format_at, args_at) __attribute__((format(printf, format_at, args_at)))
#else
#define VKF_PRINTF(format_at, args_at)
#endif

void vkf__log(const vkf__host *host, vkf_severity severity, const char *format, ...) VKF_PRINTF(3, 4);

// Reports an error message, keeps it for vkf_last_error(), and returns the status, so that a failure is one line:
// return vkf__fail(host, ...). Without a host it is only kept.
vkf_status vkf__fail(const vkf__host *host, vkf_status status, const char *format, ...) VKF_PRINTF(3, 4);

// INVALID_ARGUMENT of a public function, or of its form with sizes: something is NULL. No message tells of it, because
// there may be nobody to tell.
vkf_status vkf__null_argument(const char *function);

// Notes what a TOO_LARGE is about, and returns the host: vkf__fail(vkf__limited(host, "max_batch", batch, most),
// VKF_ERROR_TOO_LARGE, ...). `what` is a literal.
const vkf__host *vkf__limited(const vkf__host *host, const char *what, uint64_t asked, uint64_t allowed);
// What the calling thread's last failure was about.
vkf__limit vkf__last_limit(void);

// Zero-filled memory. NULL when memory is exhausted, count is 0 or count * size overflows. Reports no message.
void *vkf__alloc(const vkf__host *host, size_t count, size_t size_bytes);
// The same, but a count of 0 gives memory for one element: an empty array is no failure.
void *vkf__alloc_array(const vkf__host *host, size_t count, size_t size_bytes);
void vkf__free(const vkf__host *host, void *memory);

// A copy of a string; NULL when memory is exhausted. Reports no message.
char *vkf__strdup(const vkf__host *host, const char *text);

// Makes room for `needed` elements in a growing array: at least doubles *capacity and moves the content. On failure the
// status is OUT_OF_HOST_MEMORY and the array stays as it was.
VKF_MUST_CHECK vkf_status vkf__grow(const vkf__host *host, void **array, size_t element_bytes, size_t count,
                                    size_t *capacity, size_t needed);

// For functions that have nothing to release: returns a status that is not OK.
#define VKF_RETURN_IF_ERROR(expression)      \
    do {                                     \
        vkf_status returned_ = (expression); \
        if (returned_ != VKF_OK)             \
            return returned_;                \
    } while (0)

// For functions that have something to release: puts the status into `vkf_status status` and goes to the label `fail:`.
#define VKF_TRY(expression)    \
    do {                       \
        status = (expression); \
        if (status != VKF_OK)  \
            goto fail;         \
    } while (0)

// Reports a message and returns OUT_OF_HOST_MEMORY.
vkf_status vkf__no_memory(const vkf__host *host, const char *function, size_t count, size_t size_bytes);

// Allocates into a pointer, and is the status: an expression.
#define VKF_ALLOC_STATUS(host, pointer, count)                                  \
    (((pointer) = vkf__alloc_array((host), (count), sizeof *(pointer))) != NULL \
         ? VKF_OK                                                               \
         : vkf__no_memory((host), __func__, (size_t)(count), sizeof *(pointer)))

// Allocates into a pointer, which is then never NULL. On failure reports what was wanted and goes to fail, or returns.
#define VKF_ALLOC(host, pointer, count) VKF_TRY(VKF_ALLOC_STATUS(host, pointer, count))
#define VKF_ALLOC_OR_RETURN(host, pointer, count) VKF_RETURN_IF_ERROR(VKF_ALLOC_STATUS(host, pointer, count))

// Copies a string into a pointer in the same ways.
#define VKF_STRDUP_STATUS(host, pointer, text) \
    (((pointer) = vkf__strdup((host), (text))) != NULL ? VKF_OK : vkf__no_memory((host), __func__, strlen(text) + 1, 1))
#define VKF_STRDUP(host, pointer, text) VKF_TRY(VKF_STRDUP_STATUS(host, pointer, text))
#define VKF_STRDUP_OR_RETURN(host, pointer, text) VKF_RETURN_IF_ERROR(VKF_STRDUP_STATUS(host, pointer, text))

#endif
