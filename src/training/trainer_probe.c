// Finds what is not finite, where a loss is not.
#include <math.h>

#include "training/trainer.h"

#define CHUNK 16384u

// Whether all floats of a range of a buffer are finite.
static vkf_status read_finite(vkf_trainer *t, const vkf_buffer *buffer, uint64_t begin, uint64_t end, bool *out_finite)
{
    vkf_status status = VKF_OK;
    float *values = NULL;
    VKF_ALLOC_OR_RETURN(&t->context->host, values, CHUNK);
    *out_finite = true;
    for (uint64_t at = begin; at < end && *out_finite; at += CHUNK * sizeof *values) {
        const uint64_t bytes = end - at < CHUNK * sizeof *values ? end - at : CHUNK * sizeof *values;
        VKF_TRY(vkf_buffer_read((vkf_buffer *)buffer, at, values, bytes));
        for (uint64_t i = 0; i < bytes / sizeof *values; i++)
            *out_finite = *out_finite && isfinite(values[i]);
    }
fail:
    vkf__free(&t->context->host, values);
    return status;
}

static vkf_status find_parameter(vkf_trainer *t, const char **out_name)
{
    for (size_t i = 0; i < t->parameters.count && !*out_name; i++) {
        const vkf__parameter *item = &t->parameters.items[i];
        const vkf__span span = vkf__span_of(&item->value);
        bool finite;
        VKF_RETURN_IF_ERROR(
            read_finite(t, span.buffer, span.offset_bytes, span.offset_bytes + span.size_bytes, &finite));
        if (!finite)
            *out_name = item->name;
    }
    return VKF_OK;
}

static vkf_status finite_after(vkf_trainer *t, const vkf__node *node, bool *out_finite)
{
    *out_finite = true;
    for (uint32_t i = 0; i < node->kernel->operand_count && *out_finite; i++)
        if (node->accesses[i].write)
            VKF_RETURN_IF_ERROR(
                read_finite(t, node->buffers[i], node->accesses[i].begin, node->accesses[i].end, out_finite));
    return VKF_OK;
}

static vkf_status find_dispatch(vkf_trainer *t, const char **out_label)
{
    // What the run before left in it.
    if (t->arena)
        VKF_RETURN_IF_ERROR(vkf__buffer_clear(t->arena));
    for (uint32_t i = 0; i < t->pass.plan.node_count && !*out_label; i++) {
        bool finite;
        VKF_RETURN_IF_ERROR(vkf__work_run_node(&t->pass, &t->submission, i));
        VKF_RETURN_IF_ERROR(finite_after(t, &t->pass.built.nodes[i], &finite));
        if (!finite)
            *out_label = t->pass.built.nodes[i].label;
    }
    return VKF_OK;
}

vkf_status vkf__trainer_find_not_finite(vkf_trainer *t, const char *function)
{
    const vkf__host *host = &t->context->host;
    const unsigned long long step = t->state.step + 1;
    const char *name = NULL;
    VKF_RETURN_IF_ERROR(find_parameter(t, &name));
    if (name)
        return vkf__fail(host, VKF_ERROR_NOT_FINITE,
                         "%s: in step %llu the loss is not finite, because the parameter %s is not", function, step,
                         name);
    VKF_RETURN_IF_ERROR(find_dispatch(t, &name));
    return vkf__fail(host, VKF_ERROR_NOT_FINITE,
                     "%s: in step %llu the loss is not finite; the first result that is not is that of %s; a lower "
                     "rate, a longer warm-up or a max_norm may help",
                     function, step, name ? name : "the sum of the losses");
}
