// What the public functions of a part say that this library was built without (tools/cmake/VkfParts.cmake).
#ifndef VKF_BASE_MISSING_PART_H
#define VKF_BASE_MISSING_PART_H

#include "base/host.h"

// UNSUPPORTED; `host` may be NULL.
vkf_status vkf__missing_part(const vkf__host *host, const char *function, const char *part);

// Makes a host of a descriptor's callbacks. NULL where they cannot serve.
const vkf__host *vkf__missing_part_host(const vkf_allocator *allocator, vkf_message_fn message, void *message_user,
                                        vkf_severity min_severity, vkf__host *out_host);

#endif
