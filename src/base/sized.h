// Structs of callers that were compiled for another version of the library: docs/abi.md.
#ifndef VKF_BASE_SIZED_H
#define VKF_BASE_SIZED_H

#include "base/host.h"

// Copies a caller's struct of `given_bytes` bytes into one of `full_bytes`. Of an older, shorter struct the members
// that the caller does not know become 0. False in two cases: the size is 0 or beyond all reason, and then `full` is
// all 0; or a newer, longer struct uses members that this library does not know, and then `full` has the others.
bool vkf__read_sized(void *full, size_t full_bytes, const void *given, size_t given_bytes);
// What to say of a struct that vkf__read_sized() did not take: UNSUPPORTED or INVALID_ARGUMENT, with a message.
vkf_status vkf__refuse_sized(const vkf__host *host, const char *function, size_t full_bytes, const void *given,
                             size_t given_bytes);

// Both at once.
VKF_MUST_CHECK vkf_status vkf__take_sized(const vkf__host *host, const char *function, void *full, size_t full_bytes,
                                          const void *given, size_t given_bytes);

// Lets `pointer`, which is a caller's struct of `bytes` bytes or NULL, point to a full one that lives as long as the
// block. Returns from the function if it cannot.
#define VKF_TAKE_SIZED(host, function, type, pointer, bytes)                                                  \
    type full_##pointer;                                                                                      \
    if (pointer) {                                                                                            \
        VKF_RETURN_IF_ERROR(                                                                                  \
            vkf__take_sized((host), (function), &full_##pointer, sizeof full_##pointer, (pointer), (bytes))); \
        (pointer) = &full_##pointer;                                                                          \
    }

// The same for a descriptor with a host's members (allocator, message, message_user, min_severity), which is not NULL:
// makes *host of them, and returns from the function if it cannot.
#define VKF_TAKE_DESC(function, type, pointer, bytes, host)                                                   \
    type full_##pointer;                                                                                      \
    const bool known_##pointer = vkf__read_sized(&full_##pointer, sizeof full_##pointer, (pointer), (bytes)); \
    VKF_RETURN_IF_ERROR(vkf__host_init((host), &full_##pointer.allocator, full_##pointer.message,             \
                                       full_##pointer.message_user, full_##pointer.min_severity));            \
    if (!known_##pointer)                                                                                     \
        return vkf__refuse_sized((host), (function), sizeof full_##pointer, (pointer), (bytes));              \
    (pointer) = &full_##pointer

// Writes a result into a caller's struct of `given_bytes` bytes: of a shorter one as much as it has, of a longer one
// zeros for what this library does not know. False, and nothing is written, if the size is 0 or beyond all reason.
bool vkf__give_sized(void *given, size_t given_bytes, const void *full, size_t full_bytes);
// Whether vkf__give_sized() writes a struct of so many bytes; if not, INVALID_ARGUMENT with a message.
VKF_MUST_CHECK vkf_status vkf__check_sized(const vkf__host *host, const char *function, size_t given_bytes);

// Element `index` of a caller's array whose elements have `given_bytes` bytes.
void *vkf__sized_at(void *array, size_t index, size_t given_bytes);

// Room for members of later versions, in structs whose sizes do not change. It has to be 0: UNSUPPORTED otherwise, with
// a message that names the struct.
VKF_MUST_CHECK vkf_status vkf__check_reserved(const vkf__host *host, const char *function, const char *name,
                                              const void *reserved, size_t reserved_bytes);

#endif
