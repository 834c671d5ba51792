// Structs of callers that were compiled for another version of the library: docs/abi.md.
#include "base/sized.h"

#include <vkformer/status.h>

// A larger "size" is no size: it would let memory be read that no struct has.
#define MOST_BYTES 65536u

// Bytes up to the last one that is not 0.
static size_t used_bytes(const unsigned char *bytes, size_t count)
{
    while (count > 0 && bytes[count - 1] == 0)
        count--;
    return count;
}

static bool is_size(size_t bytes)
{
    return bytes > 0 && bytes <= MOST_BYTES;
}

bool vkf__read_sized(void *full, size_t full_bytes, const void *given, size_t given_bytes)
{
    memset(full, 0, full_bytes);
    if (!is_size(given_bytes))
        return false;
    memcpy(full, given, given_bytes < full_bytes ? given_bytes : full_bytes);
    return used_bytes(given, given_bytes) <= full_bytes;
}

vkf_status vkf__refuse_sized(const vkf__host *host, const char *function, size_t full_bytes, const void *given,
                             size_t given_bytes)
{
    VKF_RETURN_IF_ERROR(vkf__check_sized(host, function, given_bytes));
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: the program is compiled for a newer version of the library than this one, %d.%d.%d, and uses "
                     "%zu bytes of a struct of which this library knows %zu; install the newer library, or leave the "
                     "new members 0",
                     function, VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH, used_bytes(given, given_bytes),
                     full_bytes);
}

vkf_status vkf__take_sized(const vkf__host *host, const char *function, void *full, size_t full_bytes,
                           const void *given, size_t given_bytes)
{
    return vkf__read_sized(full, full_bytes, given, given_bytes)
               ? VKF_OK
               : vkf__refuse_sized(host, function, full_bytes, given, given_bytes);
}

bool vkf__give_sized(void *given, size_t given_bytes, const void *full, size_t full_bytes)
{
    if (!is_size(given_bytes))
        return false;
    size_t known = given_bytes < full_bytes ? given_bytes : full_bytes;
    memcpy(given, full, known);
    memset((char *)given + known, 0, given_bytes - known);
    return true;
}

vkf_status vkf__check_sized(const vkf__host *host, const char *function, size_t given_bytes)
{
    if (is_size(given_bytes))
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                     "%s: a struct of %zu bytes; give the sizeof of the caller's own struct", function, given_bytes);
}

void *vkf__sized_at(void *array, size_t index, size_t given_bytes)
{
    return (char *)array + index * given_bytes;
}

vkf_status vkf__check_reserved(const vkf__host *host, const char *function, const char *name, const void *reserved,
                               size_t reserved_bytes)
{
    if (used_bytes(reserved, reserved_bytes) == 0)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: %s.reserved is not 0: start from {0}, or install the newer library that the program is "
                     "compiled for; this one is %d.%d.%d",
                     function, name, VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH);
}
