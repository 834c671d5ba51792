// The emitter that packs weights into panels, its operator's row, and the choice between panels and rows.
#include "op/pack.h"

#include "base/elements.h"
#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "op/run_once.h"
#include "shared/gemm.h"
#include "shared/pack.h"

uint64_t vkf__packed_elements(uint32_t n, uint32_t k)
{
    return vkf__align_u64(n, VKF_GEMM_PANEL) * k;
}

bool vkf__ranks_panels_first(const vkf__selector *selector, const vkf_dtype types[3], const vkf__problem *panels)
{
    vkf__problem rows = *panels;
    rows.b_layout = VKF_GEMM_B_NK;
    rows.offers = 0;
    return vkf__select_rank(selector, VKF_OP_GEMM, types, panels) <
           vkf__select_rank(selector, VKF_OP_GEMM, types, &rows);
}

bool vkf__wants_panels(const vkf_context *context, const vkf_dtype types[3], uint32_t n, uint32_t k)
{
    // A product of many rows decides: there a wrong choice costs most.
    const vkf__selector selector = vkf__context_selector(context);
    const vkf__problem panels = {.m = 128,
                                 .n = n,
                                 .k = k,
                                 .b_layout = VKF_GEMM_B_PANELS,
                                 .precision = context->precision,
                                 .offers = k % 4 == 0 ? VKF_FORM_QUADS : 0,
                                 .largest = vkf__packed_elements(n, k)};
    if (vkf__is_blocks(types[1]))
        return true;
    return n >= VKF_GEMM_PANEL && vkf__ranks_panels_first(&selector, types, &panels);
}

// Packs columns [first, first + count); first is a multiple of a panel's width.
static vkf_status emit_columns(vkf__work *work, const vkf__pack_args *args, const vkf__span *panels, uint32_t first,
                               uint32_t count)
{
    const bool whole = count == args->n;
    const uint64_t x_first = (uint64_t)first * args->ld, packed = vkf__packed_elements(count, args->k);
    const struct vkf_pack_params params = {
        .count = (uint32_t)packed,
        .cols = count,
        .depth = args->k,
        .panel = VKF_GEMM_PANEL,
        .x_col = args->transposed ? args->ld : 1,
        .x_depth = args->transposed ? 1 : args->ld,
    };
    const uint64_t x_count = (uint64_t)(count - 1) * args->ld + args->k;
    const vkf__span x = whole ? args->x : vkf__span_part(&args->x, x_first, x_count);
    const vkf__span out = whole ? *panels : vkf__span_part(panels, (uint64_t)first * args->k, packed);
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_PACK,
        .types = {args->x.dtype},
        .bindings = {{x, false}, {out, true}},
        .params = &params,
        .count = {vkf__div_up_u32(count, VKF_GEMM_PANEL), VKF_GEMM_PANEL / VKF_PACK_RUN, args->k},
        .factors = 3,
    };
    return vkf__emit_flat(work, &flat);
}

// How many columns, in whole panels, the device can bind both as stored and in panels. All of them where no cut is
// needed, or where none is possible because the columns of (k, n) do not follow each other.
static uint32_t columns_per_slice(const vkf__work *work, const vkf__pack_args *args, const vkf__span *panels)
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    uint64_t slack = caps->storage_buffer_alignment, limit = caps->max_storage_buffer_range - slack;
    uint64_t depth = args->ld > args->k ? args->ld : args->k;
    uint64_t panel_bytes = VKF_GEMM_PANEL * depth * vkf_dtype_size(args->x.dtype);
    if (!args->transposed || (args->x.size_bytes <= limit && panels->size_bytes <= limit) || panel_bytes > limit)
        return args->n;
    return (uint32_t)(limit / panel_bytes * VKF_GEMM_PANEL);
}

vkf_status vkf__emit_pack_into(vkf__work *work, const vkf__pack_args *args, const vkf__span *panels)
{
    if (vkf__packed_elements(args->n, args->k) > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 elements", work->name,
                         args->label);
    uint64_t slice = columns_per_slice(work, args, panels);
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, slice < args->n ? slice : UINT32_MAX, &slice));
    uint32_t first = 0;
    do {
        uint32_t left = args->n - first, count = left < slice ? left : (uint32_t)slice;
        VKF_RETURN_IF_ERROR(emit_columns(work, args, panels, first, count));
        first += count;
    } while (first < args->n);
    return VKF_OK;
}

vkf_status vkf__emit_pack(vkf__work *work, const vkf__pack_args *args, vkf__span *out_panels)
{
    vkf__span panels;
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, args->x.dtype, vkf__packed_elements(args->n, args->k), &panels));
    panels.panels = true;
    VKF_RETURN_IF_ERROR(vkf__emit_pack_into(work, args, &panels));
    *out_panels = panels;
    return VKF_OK;
}

typedef struct pack_job {
    const vkf_tensor *rows;
    vkf__span panels;
} pack_job;

static vkf_status emit_job(vkf__work *work, const void *args)
{
    const pack_job *job = args;
    const vkf__pack_args pack = {
        .label = "pack",
        .x = vkf__span_of(job->rows),
        .n = job->rows->shape[0],
        .k = job->rows->shape[1],
        .ld = job->rows->shape[1],
        .transposed = true,
    };
    return vkf__emit_pack_into(work, &pack, &job->panels);
}

vkf_status vkf__pack(vkf_context *context, const vkf_tensor *rows, const vkf_tensor *panels)
{
    const pack_job job = {.rows = rows, .panels = vkf__span_of(panels)};
    return vkf__run_once(context, "pack", emit_job, &job);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_pack_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    return vkf__account_elementwise(p->count, 0, x, x);
}

// An emission whose panels lie in an operand of the caller's.
typedef struct pack_case {
    vkf__pack_args args;
    vkf__span panels;
} pack_case;

static vkf_status emit_case(vkf__work *work, const void *args)
{
    const pack_case *pack = args;
    return vkf__emit_pack_into(work, &pack->args, &pack->panels);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_pack_params *p = e->params;
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t col = i / ((uint64_t)p->panel * p->depth) * p->panel + i % p->panel, d = i / p->panel % p->depth;
        const double value = col < p->cols ? vkf__load(e, VKF_PACK_BINDING_X, col * p->x_col + d * p->x_depth) : 0;
        vkf__store(e, VKF_PACK_BINDING_OUT, i, value);
    }
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const bool transposed = vkf__case_flip(c, true);
    const uint32_t n = vkf__case_size(c, 37, 300), k = vkf__case_size(c, 13, 300), gap = vkf__case_pick(c, 1, 3);
    const uint32_t ld = (transposed ? k : n) + gap;
    pack_case args = {.args = {.label = "pack", .n = n, .k = k, .ld = ld, .transposed = transposed}};
    args.args.x = vkf__case_floats(c, type, (uint64_t)(transposed ? n : k) * ld);
    args.panels = vkf__case_quads(c, type, vkf__packed_elements(n, k));
    vkf__case_extremes(c, &args.args.x);
    return vkf__case_run(c, &args, 0, "(%u, %u)%s in rows of %u", n, k, transposed ? "" : " as (k, n)", ld);
}

// It writes a weight in another order, and so has no `output`.
const vkf__op_info vkf__op_pack = {
    .params_bytes = sizeof(struct vkf_pack_params),
    .account = account,
    .emit = emit_case,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any_ahead),
};
