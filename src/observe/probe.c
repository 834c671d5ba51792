// Runs one dispatch at a time, and reads its output back as floats.
#include "observe/probe.h"

#include "base/half.h"
#include "observe/profile.h"
#include "op/operators.h"

static uint64_t count_of(const vkf__extent *extent)
{
    uint64_t count = 1;
    for (size_t i = 0; i < VKF_EXTENT_RANK; i++)
        count *= extent->counts[i];
    return count;
}

// Elements from the first to the last, gaps between rows included.
static uint64_t reach_of(const vkf__extent *extent)
{
    uint64_t last = 0;
    for (size_t i = 0; i < VKF_EXTENT_RANK; i++)
        last += (extent->counts[i] - 1) * extent->strides[i];
    return last + 1;
}

// Copies the elements of an extent side by side, as floats.
static void gather(const vkf__extent *extent, const void *stored, float *out_values)
{
    const uint32_t *n = extent->counts;
    const uint64_t *stride = extent->strides;
    for (uint32_t a = 0; a < n[0]; a++)
        for (uint32_t b = 0; b < n[1]; b++)
            for (uint32_t c = 0; c < n[2]; c++)
                for (uint32_t d = 0; d < n[3]; d++) {
                    uint64_t at = a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
                    *out_values++ = extent->dtype == VKF_DTYPE_F16
                                        ? vkf__float_from_half(((const uint16_t *)stored)[at])
                                        : ((const float *)stored)[at];
                }
}

// A dispatch that combines parts follows the one that made them, whose label says what they are parts of.
static const char *label_of(const vkf__node *node)
{
    return vkf__operator(node->kernel->op)->sums_parts ? (node - 1)->label : node->label;
}

static vkf_probe_output describe(const vkf__work *work, const vkf__node *node, const char *name,
                                 const vkf__extent *extent, const float *values)
{
    vkf_probe_output output = {
        .submission = name,
        .part = work->name,
        .label = label_of(node),
        .kernel = node->kernel->name,
        .values = values,
        .count = count_of(extent),
    };
    for (size_t i = 0; i < VKF_EXTENT_RANK; i++)
        if (output.rank > 0 || extent->counts[i] > 1 || i + 1 == VKF_EXTENT_RANK)
            output.shape[output.rank++] = extent->counts[i];
    return output;
}

// Shows what dispatch `index` has written. *inout_shown counts the outputs of the submission.
static vkf_status show(vkf_context *context, const vkf__work *work, uint32_t index, const char *name,
                       uint32_t *inout_shown)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &context->host;
    const vkf__node *node = &work->built.nodes[index];
    vkf__extent extent;
    float *stored = NULL, *values = NULL; // the output as stored, with its gaps and of any type; and compact, as floats
    const vkf__dispatched dispatched = {node->kernel, node->pipeline->spec, vkf__work_params(work, index)};
    if (!vkf__output_of(&dispatched, &extent) || count_of(&extent) == 0)
        return VKF_OK;
    uint64_t element = vkf_dtype_size(extent.dtype), bytes = reach_of(&extent) * element;
    VKF_ALLOC(host, stored, (size_t)(bytes / sizeof *stored + 1));
    VKF_ALLOC(host, values, (size_t)count_of(&extent));
    vkf_buffer *buffer = node->buffers[extent.operand];
    const uint64_t begin = node->accesses[extent.operand].begin - buffer->begin;
    VKF_TRY(vkf_buffer_read(buffer, begin + extent.first * element, stored, bytes));
    gather(&extent, stored, values);
    vkf_probe_output output = describe(work, node, name, &extent, values);
    output.index = (*inout_shown)++;
    if (!context->probe(context->probe_user, &output))
        status = VKF_ERROR_CANCELLED;
fail:
    vkf__free(host, values);
    vkf__free(host, stored);
    return status;
}

vkf_status vkf__probe_run(vkf_context *context, vkf__submission *submission, const char *name, vkf__work *const *works,
                          size_t count)
{
    uint32_t shown = 0;
    for (size_t w = 0; w < count; w++)
        for (uint32_t i = 0; i < works[w]->plan.node_count; i++) {
            if (!vkf__dispatch_works(works[w], i))
                continue;
            VKF_RETURN_IF_ERROR(vkf__work_run_node(works[w], submission, i));
            VKF_RETURN_IF_ERROR(show(context, works[w], i, name, &shown));
        }
    return VKF_OK;
}
