// The emitter of token embedding, with one dispatch per slice of the table, and its operator's row.
#include "op/embed.h"

#include <math.h>

#include "op/flat.h"
#include "op/operators.h"
#include "shared/embed.h"

uint32_t vkf__embed_rows_per_slice(const vkf__work *work, const vkf__span *table, uint32_t vocab, uint32_t dim)
{
    uint64_t slack = work->context->device.plan.caps.storage_buffer_alignment;
    uint64_t limit = work->context->device.plan.caps.max_storage_buffer_range - slack;
    uint64_t row_bytes = (uint64_t)dim * vkf_dtype_size(table->dtype);
    if (table->size_bytes <= limit || 2 * row_bytes > limit)
        return vocab;
    return (uint32_t)(limit / row_bytes / 2 * 2);
}

static vkf_status emit_slice(vkf__work *work, const vkf__embed_args *args, uint32_t begin, uint32_t count)
{
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_EMBED_SPEC_HAS_POSITIONS] = vkf__present(&args->positions),
        [VKF_EMBED_SPEC_PADDING_LEADS] = args->padding_leads,
    };
    vkf__span slice = vkf__span_part(&args->table, (uint64_t)begin * args->dim, (uint64_t)count * args->dim);
    struct vkf_embed_params params = {
        .batch = args->batch,
        .len = args->len,
        .dim = args->dim,
        .ids_stride = args->ids_stride,
        .ids_first = args->ids_first,
        .vocab = args->vocab,
        .slice_begin = begin,
        .slice_end = begin + count,
        .owns_invalid = begin == 0,
        .first_position = args->first_position,
        .position_ids = args->position_ids,
        .scale = args->scale,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_EMBED,
        .types = {args->table.dtype, args->out.dtype},
        .bindings = {{args->ids, false}, {slice, false}, {args->positions, false}, {args->out, true}},
        .flags = flags,
        .params = &params,
        .count = {args->batch, args->len, args->dim},
        .factors = 3,
        .parts = true,
    };
    return vkf__emit_flat(work, &flat);
}

vkf_status vkf__emit_embed(vkf__work *work, const vkf__embed_args *args)
{
    uint32_t rows = vkf__embed_rows_per_slice(work, &args->table, args->vocab, args->dim);
    for (uint64_t begin = 0; begin < args->vocab; begin += rows) {
        uint32_t left = args->vocab - (uint32_t)begin;
        VKF_RETURN_IF_ERROR(emit_slice(work, args, (uint32_t)begin, left < rows ? left : rows));
    }
    return VKF_OK;
}

void vkf_sinusoidal_positions(uint32_t len, uint32_t dim, float *out_values)
{
    for (uint32_t p = 0; out_values && p < len; p++) {
        for (uint32_t i = 0; i < dim; i++) {
            double angle = (double)p * exp((double)(i / 2 * 2) * (-log(10000.0) / (double)dim));
            out_values[(size_t)p * dim + i] = (float)(i % 2 == 0 ? sin(angle) : cos(angle));
        }
    }
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_embed_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    const double tokens = (double)p->batch * p->len;
    vkf__account embedded = vkf__account_elementwise(tokens * p->dim, 2, types[0], types[1]);
    embedded.bytes_read += 4 * tokens;
    return embedded;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_embed_params *p = dispatched->params;
    *out_extent = (vkf__extent){
        .operand = VKF_EMBED_BINDING_OUT - 1,
        .dtype = dispatched->kernel->types[1],
        .counts = {1, p->batch, p->len, p->dim},
        .strides = {0, (uint64_t)p->len * p->dim, p->dim, 1},
    };
    return true;
}

static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}, .ahead = true}};

const vkf__op_info vkf__op_embed = {
    .params_bytes = sizeof(struct vkf_embed_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_EMBED_SPEC_HAS_POSITIONS, 1}},
};
