// The sentence of a part that is not there.
#include "base/missing_part.h"

vkf_status vkf__missing_part(const vkf__host *host, const char *function, const char *part)
{
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                     "%s: this library was built without its part %s; build vkformer with -DVKF_PARTS=%s, or install "
                     "a build that has it",
                     function, part, part);
}

const vkf__host *vkf__missing_part_host(const vkf_allocator *allocator, vkf_message_fn message, void *message_user,
                                        vkf_severity min_severity, vkf__host *out_host)
{
    return vkf__host_init(out_host, allocator, message, message_user, min_severity) == VKF_OK ? out_host : NULL;
}
