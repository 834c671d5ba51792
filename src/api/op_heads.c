// Public entry points of operators that move elements: the split and merge of heads, and copies.
#include "api/check.h"
#include "op/copy.h"
#include "op/operators.h"
#include "op/permute.h"
#include "op/run_once.h"

static vkf_status permute(vkf_context *context, const char *function, const vkf_tensor *x, const vkf_tensor *out)
{
    if (!context || !x || !out)
        return vkf__null_argument(function);
    vkf_status status = vkf__context_enter(context, function);
    if (status != VKF_OK)
        return status;
    const vkf__checker check = {.host = &context->host, .function = function, .context = context};
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, x, "x"));
    if (x->rank != 4)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: x must be of rank 4", function);
    const uint32_t shape[] = {x->shape[0], x->shape[2], x->shape[1], x->shape[3]};
    VKF_RETURN_IF_ERROR(vkf__check_shape(&check, out, "out", x->dtype, 4, shape));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, out, x, "x"));
    const vkf__permute_args args = {
        .label = "permute",
        .x = vkf__span_of(x),
        .out = vkf__span_of(out),
        .batch = x->shape[0],
        .rows = x->shape[1],
        .cols = x->shape[2],
        .depth = x->shape[3],
    };
    return vkf__run_once(context, "permute", vkf__operator(VKF_OP_PERMUTE)->emit, &args);
}

vkf_status vkf_split_heads(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out)
{
    return permute(context, "vkf_split_heads", x, out);
}

vkf_status vkf_merge_heads(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out)
{
    return permute(context, "vkf_merge_heads", x, out);
}

vkf_status vkf_copy(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out)
{
    if (!context || !x || !out)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    uint64_t count = 0, out_count = 0;
    const vkf__checker check = {.host = &context->host, .function = "vkf_copy", .context = context};
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, out, "out"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, out, x, "x"));
    (void)vkf_tensor_count(x, &count);
    (void)vkf_tensor_count(out, &out_count);
    if (count != out_count)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: x and out differ in size", check.function);
    if (count > UINT32_MAX)
        return vkf__fail(check.host, VKF_ERROR_TOO_LARGE, "%s: more than 2^32 elements", check.function);
    const vkf__copy_args args = {
        .label = "copy",
        .x = vkf__span_of(x),
        .out = vkf__span_of(out),
        .outer = 1,
        .rows = 1,
        .cols = (uint32_t)count,
        .alpha = 1.0f,
    };
    return vkf__run_once(context, "copy", vkf__operator(VKF_OP_COPY)->emit, &args);
}
