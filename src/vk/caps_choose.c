// Finds the device that a caller's choice means.
#include "vk/caps.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LIST_TEXT_SIZE 1024

static const char *type_name(vkf_device_type type)
{
    static const char *const names[] = {
        [VKF_DEVICE_TYPE_OTHER] = "other",       [VKF_DEVICE_TYPE_INTEGRATED] = "integrated",
        [VKF_DEVICE_TYPE_DISCRETE] = "discrete", [VKF_DEVICE_TYPE_VIRTUAL] = "virtual",
        [VKF_DEVICE_TYPE_CPU] = "CPU",
    };
    return (size_t)type < sizeof names / sizeof names[0] ? names[type] : "unknown";
}

// "0: GeForce (discrete), 1: llvmpipe (CPU)"; cut short where it does not fit.
static const char *list_text(const vkf__caps *candidates, uint32_t count, char text[LIST_TEXT_SIZE])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < count && used < LIST_TEXT_SIZE; i++) {
        int length = snprintf(text + used, LIST_TEXT_SIZE - used, "%s%u: %s (%s)", i ? ", " : "", i, candidates[i].name,
                              type_name(candidates[i].type));
        if (length < 0)
            break;
        used += (size_t)length;
    }
    return text;
}

static bool usable(const vkf__caps *caps)
{
    return caps->api_version >= VK_API_VERSION_1_1 && caps->queue_family_index != UINT32_MAX;
}

static int type_rank(vkf_device_type type)
{
    static const int ranks[] = {
        [VKF_DEVICE_TYPE_DISCRETE] = 5, [VKF_DEVICE_TYPE_INTEGRATED] = 4, [VKF_DEVICE_TYPE_VIRTUAL] = 3,
        [VKF_DEVICE_TYPE_CPU] = 2,      [VKF_DEVICE_TYPE_OTHER] = 1,
    };
    return (size_t)type < sizeof ranks / sizeof ranks[0] ? ranks[type] : 0;
}

// Letters outside ASCII compare as bytes: names are UTF-8, and a library must not depend on the program's locale.
static bool contains_ignoring_case(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; strlen(text) >= length; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static uint64_t device_memory(const vkf__caps *caps)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < caps->memory.memoryHeapCount; i++)
        bytes +=
            caps->memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT ? caps->memory.memoryHeaps[i].size : 0;
    return bytes;
}

static bool better(const vkf__caps *candidates, const uint32_t *kernels, uint32_t one, uint32_t other)
{
    const int rank = type_rank(candidates[one].type), other_rank = type_rank(candidates[other].type);
    if (rank != other_rank)
        return rank > other_rank;
    if (kernels && kernels[one] != kernels[other])
        return kernels[one] > kernels[other];
    return device_memory(&candidates[one]) > device_memory(&candidates[other]);
}

// The best of `type` (NULL: of any); UINT32_MAX where none can be used. Of equals it is the first.
static uint32_t find_best(const vkf__caps *candidates, const uint32_t *kernels, uint32_t count,
                          const vkf_device_type *type)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (usable(&candidates[i]) && (!type || candidates[i].type == *type) &&
            (best == UINT32_MAX || better(candidates, kernels, i, best)))
            best = i;
    return best;
}

static vkf_status choose_best(const vkf__host *host, const vkf__caps *candidates, const uint32_t *kernels,
                              uint32_t count, uint32_t *out_index)
{
    char text[LIST_TEXT_SIZE];
    const uint32_t best = find_best(candidates, kernels, count, NULL);
    if (best == UINT32_MAX)
        return vkf__fail(host, VKF_ERROR_NO_DEVICE,
                         "no device has Vulkan 1.1 and a compute queue: update the driver; there is %s",
                         list_text(candidates, count, text));
    *out_index = best;
    return VKF_OK;
}

static vkf_status choose_index(const vkf__host *host, const vkf__caps *candidates, uint32_t count, uint32_t index,
                               uint32_t *out_index)
{
    char text[LIST_TEXT_SIZE];
    if (index >= count)
        return vkf__fail(host, VKF_ERROR_NO_DEVICE, "there is no device with index %u; there is %s", index,
                         list_text(candidates, count, text));
    *out_index = index;
    return VKF_OK;
}

static vkf_status choose_name(const vkf__host *host, const vkf__caps *candidates, uint32_t count, const char *name,
                              uint32_t *out_index)
{
    char text[LIST_TEXT_SIZE];
    uint32_t found = UINT32_MAX;
    if (!name || !*name)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "a device is chosen by name, but the name is empty");
    for (uint32_t i = 0; i < count; i++) {
        if (!contains_ignoring_case(candidates[i].name, name))
            continue;
        if (found == UINT32_MAX)
            found = i;
        else if (strcmp(candidates[i].name, candidates[found].name) != 0)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "\"%s\" is part of more than one device's name: write more of it; there is %s", name,
                             list_text(candidates, count, text));
    }
    if (found == UINT32_MAX)
        return vkf__fail(host, VKF_ERROR_NO_DEVICE, "no device has \"%s\" in its name; there is %s", name,
                         list_text(candidates, count, text));
    *out_index = found;
    return VKF_OK;
}

static vkf_status choose_uuid(const vkf__host *host, const vkf__caps *candidates, uint32_t count,
                              const uint8_t uuid[VKF_UUID_SIZE], uint32_t *out_index)
{
    char text[LIST_TEXT_SIZE];
    char digits[2 * VKF_UUID_SIZE + 1];
    for (uint32_t i = 0; i < count; i++) {
        if (memcmp(candidates[i].device_uuid, uuid, VKF_UUID_SIZE) == 0) {
            *out_index = i;
            return VKF_OK;
        }
    }
    for (size_t i = 0; i < VKF_UUID_SIZE; i++)
        (void)snprintf(digits + 2 * i, 3, "%02x", uuid[i]);
    return vkf__fail(host, VKF_ERROR_NO_DEVICE, "no device has the UUID %s; there is %s", digits,
                     list_text(candidates, count, text));
}

static vkf_status choose_type(const vkf__host *host, const vkf__caps *candidates, const uint32_t *kernels,
                              uint32_t count, vkf_device_type type, uint32_t *out_index)
{
    char text[LIST_TEXT_SIZE];
    if (type_rank(type) == 0)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%d is no device type", (int)type);
    const uint32_t best = find_best(candidates, kernels, count, &type);
    if (best == UINT32_MAX)
        return vkf__fail(host, VKF_ERROR_NO_DEVICE,
                         "no device of type %s has Vulkan 1.1 and a compute queue; there is %s", type_name(type),
                         list_text(candidates, count, text));
    *out_index = best;
    return VKF_OK;
}

vkf_status vkf__caps_choose(const vkf__host *host, const vkf__caps *candidates, const uint32_t *kernels, uint32_t count,
                            const vkf_device_choice *choice, uint32_t *out_index)
{
    if (count == 0)
        return vkf__fail(host, VKF_ERROR_NO_DEVICE,
                         "the Vulkan loader knows no device: install a driver (for example mesa-vulkan-drivers), and "
                         "check that this user may open the GPU");
    switch (choice->kind) {
    case VKF_CHOOSE_BEST:
    case VKF_CHOOSE_REFERENCE: // the only one of its instance
        return choose_best(host, candidates, kernels, count, out_index);
    case VKF_CHOOSE_INDEX:
        return choose_index(host, candidates, count, choice->index, out_index);
    case VKF_CHOOSE_NAME:
        return choose_name(host, candidates, count, choice->name, out_index);
    case VKF_CHOOSE_UUID:
        return choose_uuid(host, candidates, count, choice->uuid, out_index);
    case VKF_CHOOSE_TYPE:
        return choose_type(host, candidates, kernels, count, choice->type, out_index);
    }
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%d is no way of choosing a device", (int)choice->kind);
}
