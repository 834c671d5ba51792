// A plugin that has the library linked into it: test_two_copies.c loads two of them.
#include <stdlib.h>

#include <vkformer/vkformer.h>

#include "copy_module.h"

struct copy_module {
    vkf_context *context;
    vkf_tensor x, out;
};

static vkf_status open_all(copy_module *copy)
{
    const uint32_t shape[] = {1, COPY_MODULE_COUNT};
    const vkf_context_desc desc = {.skip_self_test = true};
    vkf_status status = vkf_context_create(&desc, &copy->context);
    if (status == VKF_OK)
        status = vkf_tensor_create(copy->context, VKF_DTYPE_F32, 2, shape, "x", &copy->x);
    if (status == VKF_OK)
        status = vkf_tensor_create(copy->context, VKF_DTYPE_F32, 2, shape, "out", &copy->out);
    return status;
}

copy_module *copy_module_open(void)
{
    copy_module *copy = calloc(1, sizeof *copy);
    if (copy && open_all(copy) != VKF_OK)
        copy_module_close(copy);
    return copy && copy->context ? copy : NULL;
}

bool copy_module_run(copy_module *copy, float *out_values)
{
    const vkf_softmax_desc desc = {.x = copy->x, .out = copy->out};
    return vkf_softmax(copy->context, &desc) == VKF_OK &&
           vkf_tensor_read(&copy->out, out_values, COPY_MODULE_COUNT * sizeof *out_values) == VKF_OK;
}

void copy_module_close(copy_module *copy)
{
    vkf_tensor_destroy(&copy->x);
    vkf_tensor_destroy(&copy->out);
    vkf_context_destroy(&copy->context);
    free(copy);
}
