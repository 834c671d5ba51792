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
    vkf__host host;
    if (!desc)
        return vkf__null_argument(__func__);
    VKF_TAKE_DESC("vkf_draw_weights", vkf_draw_weights_desc, desc, desc_bytes, &host);
    return desc->directory ? vkf__new_weights_write(&host, desc) : vkf__null_argument(__func__);
}
