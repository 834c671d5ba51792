// Public entry points of drawn weights.
#include "base/sized.h"
#include "model/directory/new_weights.h"
#include "model/family/families.h"

const char *vkf_head_class(const char *model_type, vkf_head head)
{
    const vkf__family *family = model_type ? vkf__family_find(model_type) : NULL;
    const vkf__family_head *found = family ? vkf__family_class(family, model_type, head) : NULL;
    return found ? found->architecture : NULL;
}

vkf_status vkf_draw_weights_sized(const vkf_draw_weights_desc *desc, size_t desc_bytes)
{
    vkf_draw_weights_desc full;
    vkf__host host;
    if (!desc)
        return VKF_ERROR_INVALID_ARGUMENT;
    const bool known = vkf__read_sized(&full, sizeof full, desc, desc_bytes);
    VKF_RETURN_IF_ERROR(vkf__host_init(&host, &full.allocator, full.message, full.message_user, full.min_severity));
    if (!known)
        return vkf__refuse_sized(&host, "vkf_draw_weights", sizeof full, desc, desc_bytes);
    return full.directory ? vkf__new_weights_write(&host, &full) : VKF_ERROR_INVALID_ARGUMENT;
}
