// Functions of Vulkan by their names, for what stands in a driver's place.
#ifndef VKF_VK_NAMED_FUNCTION_H
#define VKF_VK_NAMED_FUNCTION_H

#include <stddef.h>
#include <string.h>

#include <vulkan/vulkan_core.h>

typedef struct vkf__named_function {
    const char *name;
    PFN_vkVoidFunction function;
} vkf__named_function;

#define VKF_NAMED_FUNCTION(name, function)   \
    {                                        \
        name, (PFN_vkVoidFunction)(function) \
    }

// NULL where none has the name.
static inline PFN_vkVoidFunction vkf__find_function(const vkf__named_function *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].function;
    return NULL;
}

#define VKF_FIND_FUNCTION(list, name) vkf__find_function(list, sizeof(list) / sizeof(list)[0], name)

#endif
