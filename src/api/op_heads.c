// Public entry points of operators that move elements: the split and merge of heads, copies, and tensors side by side.
#include <inttypes.h>
#include <stdio.h>

#include "api/op_check.h"
#include "base/sized.h"
#include "op/copy.h"
#include "op/operators.h"
#include "op/permute.h"

static vkf_status permute(vkf_context *context, const char *function, const vkf_tensor *x, const vkf_tensor *out)
{
    if (!context || !x || !out)
        return vkf__null_argument(function);
    vkf_status status = vkf__context_enter(context, function);
    if (status != VKF_OK)
        return status;
    const vkf__checker check = vkf__operator_checker(context, function);
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
    return vkf__run_operator(&check, out, "permute", vkf__operator(VKF_OP_PERMUTE)->emit, &args);
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
    uint32_t count = 0, out_count = 0;
    const vkf__checker check = vkf__operator_checker(context, "vkf_copy");
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, out, "out"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, out, x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_elements(&check, x, &count));
    VKF_RETURN_IF_ERROR(vkf__check_elements(&check, out, &out_count));
    if (count != out_count)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: x and out differ in size", check.function);
    const vkf__copy_args args = vkf__copy_all("copy", vkf__span_of(x), vkf__span_of(out), count);
    return vkf__run_operator(&check, out, "copy", vkf__operator(VKF_OP_COPY)->emit, &args);
}

typedef struct concat_job {
    const vkf_concat_desc *desc;
    uint32_t outer, inner; // the elements ahead of the dimension and behind it
    uint32_t dim;
} concat_job;

static vkf_status emit_concat(vkf__work *work, const void *args)
{
    const concat_job *job = args;
    const vkf_concat_desc *desc = job->desc;
    const vkf__span out = vkf__span_of(&desc->out);
    uint32_t first = 0;
    for (uint32_t i = 0; i < desc->input_count; i++) {
        const uint32_t cols = desc->inputs[i].shape[job->dim] * job->inner;
        if (cols == 0)
            continue;
        // The place of one that lies in one piece is all that it writes, so that copies need not wait for each other.
        const bool whole = job->outer == 1;
        const vkf__copy_args copy = {
            .label = "concat",
            .x = vkf__span_of(&desc->inputs[i]),
            .out = whole ? vkf__span_part(&out, first, cols) : out,
            .outer = 1,
            .rows = job->outer,
            .cols = cols,
            .x_row = cols,
            .out_first = whole ? 0 : first,
            .out_row = desc->out.shape[job->dim] * job->inner,
            .alpha = 1.0f,
        };
        VKF_RETURN_IF_ERROR(vkf__emit_copy(work, &copy));
        first += cols;
    }
    return VKF_OK;
}

static vkf_status check_concat(const vkf__checker *check, const vkf_concat_desc *desc, concat_job *job)
{
    const vkf_tensor *out = &desc->out;
    uint64_t along = 0;
    uint32_t count = 0;
    VKF_RETURN_IF_ERROR(vkf__check_float(check, out, "out"));
    VKF_RETURN_IF_ERROR(vkf__check_dim(check, out, desc->dim, &job->dim));
    VKF_RETURN_IF_ERROR(vkf__check_elements(check, out, &count));
    if (!desc->inputs || desc->input_count == 0 || desc->input_count > VKF_MAX_CONCAT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: there are %u inputs, and 1 to %d are possible",
                         check->function, desc->inputs ? desc->input_count : 0, VKF_MAX_CONCAT);
    for (uint32_t i = 0; i < desc->input_count; i++) {
        const vkf_tensor *input = &desc->inputs[i];
        vkf_tensor expected = *out;
        char name[32];
        (void)snprintf(name, sizeof name, "inputs[%u]", i);
        expected.shape[job->dim] = input->rank == out->rank ? input->shape[job->dim] : 0;
        VKF_RETURN_IF_ERROR(vkf__check_shape(check, input, name, out->dtype, out->rank, expected.shape));
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, out, input, name));
        along += input->shape[job->dim];
    }
    if (along != out->shape[job->dim])
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: the inputs have %" PRIu64 " along dimension %u, and out has %u", check->function, along,
                         job->dim, out->shape[job->dim]);
    return VKF_OK;
}

vkf_status vkf_concat_sized(vkf_context *context, const vkf_concat_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_concat");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_concat", vkf_concat_desc, desc, desc_bytes);
    concat_job job = {.desc = desc, .outer = 1, .inner = 1};
    const vkf__checker check = vkf__operator_checker(context, "vkf_concat");
    VKF_RETURN_IF_ERROR(check_concat(&check, desc, &job));
    for (uint32_t i = 0; i < desc->out.rank; i++) {
        job.outer *= i < job.dim ? desc->out.shape[i] : 1;
        job.inner *= i > job.dim ? desc->out.shape[i] : 1;
    }
    return vkf__run_operator(&check, &desc->out, "concat", emit_concat, &job);
}
