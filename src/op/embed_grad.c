// The emitter of the backward pass of token embedding, with two dispatches per slice of the table, and its operator's
// row.
#include "op/embed_grad.h"

#include "op/embed.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/embed_grad.h"

_Static_assert(VKF_PART_EACH == 4, "an invocation has the columns of its sums in a vector");

// Rows `begin` .. `begin` + `count` of the table become zeros, or get the sums of their ids.
static vkf_status emit_slice(vkf__work *work, const vkf__embed_grad_args *args, uint32_t begin, uint32_t count,
                             bool clears)
{
    const struct vkf_embed_grad_params params = {
        .rows = clears ? (args->accumulate ? 0 : count) : args->unique,
        .dim = args->dim,
        .starts_first = vkf__id_order_starts(args->tokens),
        .ids_first = vkf__id_order_ids(args->tokens),
        .slice_begin = begin,
        .slice_end = begin + count,
        .clears = clears,
        .scale = args->scale,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_EMBED_GRAD,
        .types = {args->dout.dtype},
        .bindings = {{args->dout, false},
                     {args->lists, false},
                     {vkf__span_part(&args->dtable, (uint64_t)begin * args->dim, (uint64_t)count * args->dim), true}},
        .params = &params,
        .count = {params.rows, args->dim},
        .factors = 2,
        .parts = true,
    };
    return vkf__emit_flat(work, &flat);
}

vkf_status vkf__emit_embed_grad(vkf__work *work, const vkf__embed_grad_args *args)
{
    const uint32_t most = 65534 * VKF_EMBED_GRAD_UNROLL;
    const uint32_t rows = vkf__embed_rows_per_slice(work, &args->dtable, args->vocab, args->dim);
    if (args->tokens > most)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than %u tokens", work->name,
                         args->label, most);
    for (uint64_t begin = 0; begin < args->vocab; begin += rows) {
        const uint32_t left = args->vocab - (uint32_t)begin, count = left < rows ? left : rows;
        VKF_RETURN_IF_ERROR(emit_slice(work, args, (uint32_t)begin, count, true));
        VKF_RETURN_IF_ERROR(emit_slice(work, args, (uint32_t)begin, count, false));
    }
    return VKF_OK;
}

// Every token's row is taken for one that is read; how many an id has, the parameters do not tell.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_embed_grad_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    const double written = (double)p->rows * p->dim, read = (double)p->starts_first * p->dim;
    if (p->clears)
        return (vkf__account){.bytes_written = vkf__stored_bytes(written, x)};
    return (vkf__account){
        .flops = read + 2 * written,
        .bytes_read = vkf__stored_bytes(read + written, x) + 4.0 * p->starts_first,
        .bytes_written = vkf__stored_bytes(written, x),
    };
}

// The slice as a whole, because the lists alone tell which of its rows were written.
static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_embed_grad_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_EMBED_GRAD_BINDING_DTABLE, dispatched->kernel->types[0],
                                   p->slice_end - p->slice_begin, p->dim, p->dim);
    return true;
}

// No pipeline is made ahead, because only training asks for it.
static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}}};

const vkf__op_info vkf__op_embed_grad = {
    .params_bytes = sizeof(struct vkf_embed_grad_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};
