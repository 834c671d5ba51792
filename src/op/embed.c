// The emitter of token embedding, with one dispatch per slice of the table, and its operator's row.
#include "op/embed.h"

#include <math.h>

#include "op/cases.h"
#include "op/execution.h"
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_embed(work, args);
}

// The row of the position's embedding that token t of sequence b gets.
static uint64_t position_of(const vkf__execution *e, uint64_t b, uint64_t t)
{
    const struct vkf_embed_params *p = e->params;
    const uint64_t row = b * p->ids_stride;
    if (p->position_ids > 0)
        return vkf__load_word(e, VKF_EMBED_BINDING_IDS, p->position_ids + row + p->ids_first + t);
    const uint64_t padding = e->spec[VKF_EMBED_SPEC_PADDING_LEADS] ? vkf__load_word(e, VKF_EMBED_BINDING_IDS, row) : 0;
    return p->first_position + t > padding ? p->first_position + t - padding : 0;
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_embed_params *p = e->params;
    for (uint64_t token = 0; token < (uint64_t)p->batch * p->len; token++) {
        const uint64_t b = token / p->len, t = token % p->len;
        const uint32_t id = vkf__load_word(e, VKF_EMBED_BINDING_IDS, b * p->ids_stride + p->ids_first + t);
        const bool here = id >= p->slice_begin && id < p->slice_end;
        if (!here && !(p->owns_invalid && id >= p->vocab))
            continue;
        for (uint64_t i = 0; i < p->dim; i++) {
            const uint64_t row = id - p->slice_begin;
            double value = here ? p->scale * vkf__load(e, VKF_EMBED_BINDING_TABLE, row * p->dim + i) : 0;
            if (e->spec[VKF_EMBED_SPEC_HAS_POSITIONS])
                value += vkf__load(e, VKF_EMBED_BINDING_POSITIONS, position_of(e, b, t) * p->dim + i);
            vkf__store(e, VKF_EMBED_BINDING_OUT, token * p->dim + i, value);
        }
    }
    return VKF_OK;
}

// Ids of a batch, some of them outside of the table; then position ids, or the rows' padding, where these are wanted.
static vkf__span ids_of(vkf__cases *c, vkf__embed_args *args, bool position_ids)
{
    const uint32_t rows = args->batch * args->ids_stride;
    const vkf__span ids = vkf__case_ints(c, -1, (int32_t)args->vocab + 1, (uint64_t)rows * (position_ids ? 2 : 1));
    int32_t *values = vkf__case_bytes(c, &ids);
    for (uint32_t b = 0; args->padding_leads && b < args->batch; b++)
        values[b * args->ids_stride] = (int32_t)vkf__case_pick(c, 1, args->len + 1);
    for (uint32_t i = rows; position_ids && i < 2 * rows; i++)
        values[i] = (int32_t)vkf__case_pick(c, i % args->len, args->len + 1);
    args->position_ids = position_ids ? rows : 0;
    return ids;
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype *types = c->variant->kernel->types;
    const bool leads = vkf__case_flip(c, false), flags = vkf__case_flip(c, true);
    const uint32_t len = vkf__case_size(c, 3, 20), first = vkf__case_pick(c, 0, 2) + leads;
    vkf__embed_args args = {
        .label = "embed",
        .batch = vkf__case_size(c, 2, 4),
        .len = len,
        .dim = vkf__case_size(c, 13, 600),
        .vocab = vkf__case_size(c, 5, 90),
        .ids_stride = len + first + vkf__case_pick(c, 0, 2),
        .ids_first = first,
        .padding_leads = vkf__case_constant(c, VKF_EMBED_SPEC_PADDING_LEADS, leads) > 0,
        .first_position = 1,
        .scale = vkf__case_factor(c, 2),
    };
    args.ids = ids_of(c, &args, vkf__case_flip(c, false));
    args.table = vkf__case_floats(c, types[0], (uint64_t)args.vocab * args.dim);
    if (vkf__case_constant(c, VKF_EMBED_SPEC_HAS_POSITIONS, flags))
        args.positions = vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)(len + 1) * args.dim);
    args.out = vkf__case_floats(c, types[1], (uint64_t)args.batch * len * args.dim);
    vkf__case_extremes(c, &args.table);
    return vkf__case_run(c, &args, vkf__case_exact(types[1]), "(%u, %u) ids of %u, dim %u%s%s", args.batch, len,
                         args.vocab, args.dim, args.padding_leads ? ", behind padding" : "",
                         args.position_ids > 0 ? ", with position ids" : "");
}

const vkf__op_info vkf__op_embed = {
    .params_bytes = sizeof(struct vkf_embed_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any_ahead),
    .usual = {{VKF_EMBED_SPEC_HAS_POSITIONS, 1}},
};
