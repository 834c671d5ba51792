// The emitter of the backward pass of token embedding, with two dispatches per slice of the table, and its operator's
// row.
#include "op/train/embed_grad.h"

#include <string.h>

#include "op/cases.h"
#include "op/embed.h"
#include "op/execution.h"
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_embed_grad(work, args);
}

static void add_tokens(const vkf__execution *e, uint64_t row, uint64_t out)
{
    const struct vkf_embed_grad_params *p = e->params;
    const uint32_t begin = vkf__load_word(e, VKF_EMBED_GRAD_BINDING_LISTS, p->starts_first + row);
    const uint32_t end = vkf__load_word(e, VKF_EMBED_GRAD_BINDING_LISTS, p->starts_first + row + 1);
    for (uint64_t col = 0; col < p->dim; col++) {
        double sum = 0;
        for (uint64_t i = begin; i < end; i++) {
            const uint64_t token = vkf__load_word(e, VKF_EMBED_GRAD_BINDING_LISTS, i);
            sum += vkf__load(e, VKF_EMBED_GRAD_BINDING_DOUT, token * p->dim + col);
        }
        vkf__store(e, VKF_EMBED_GRAD_BINDING_DTABLE, out + col,
                   vkf__load(e, VKF_EMBED_GRAD_BINDING_DTABLE, out + col) + (double)p->scale * sum);
    }
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_embed_grad_params *p = e->params;
    for (uint64_t i = 0; p->clears && i < (uint64_t)p->rows * p->dim; i++)
        vkf__store(e, VKF_EMBED_GRAD_BINDING_DTABLE, i, 0);
    for (uint64_t row = 0; !p->clears && row < p->rows; row++) {
        const uint32_t id = vkf__load_word(e, VKF_EMBED_GRAD_BINDING_LISTS, p->ids_first + row);
        if (id >= p->slice_begin && id < p->slice_end)
            add_tokens(e, row, (uint64_t)(id - p->slice_begin) * p->dim);
    }
    return VKF_OK;
}

// What tokens have whose ids lie outside is no number, because it does not count.
static vkf_status list_tokens(vkf__cases *c, const int32_t *ids, vkf__embed_grad_args *args)
{
    uint32_t *scratch = NULL;
    uint8_t *dout = vkf__case_bytes(c, &args->dout);
    const uint64_t row_bytes = args->dout.size_bytes / args->tokens;
    VKF_ALLOC_OR_RETURN(c->host, scratch, args->vocab);
    args->lists = vkf__case_ints(c, 0, 1, vkf__id_order_length(args->tokens));
    args->unique = vkf__id_order(ids, args->tokens, args->vocab, scratch, vkf__case_bytes(c, &args->lists));
    vkf__free(c->host, scratch);
    for (uint32_t i = 0; i < args->tokens; i++)
        if ((uint32_t)ids[i] >= args->vocab)
            memset(dout + i * row_bytes, 0xff, row_bytes);
    return VKF_OK;
}

#define MOST_TOKENS 3000

// One id has more tokens than an iteration takes, one a single token, and some have none. A row is more than one part.
// Drawn vocabularies may have more ids than one dimension of a grid holds workgroups, most of which do not occur.
static vkf_status cases(vkf__cases *c)
{
    static const int32_t usual[] = {4, 0, 4, 4, 99, 4, 4, -1, 4, 4, 2, 4, 4, 4};
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t tokens = vkf__case_size(c, sizeof usual / sizeof usual[0], MOST_TOKENS);
    const bool many = vkf__case_pick(c, 1, 8) == 0;
    int32_t ids[MOST_TOKENS];
    vkf__embed_grad_args args = {
        .label = "embed_grad",
        .tokens = tokens,
        .dim = many ? vkf__case_size(c, 5, 8) : vkf__case_size(c, 131, 1100),
        .vocab = many ? 70001 : vkf__case_size(c, 5, 90),
        .scale = vkf__case_factor(c, 2),
        .accumulate = vkf__case_flip(c, false),
    };
    for (uint32_t i = 0; i < tokens; i++)
        ids[i] = c->draw ? (int32_t)vkf__case_pick(c, 0, args.vocab + 2) - 1 : usual[i];
    args.dout = vkf__case_floats(c, type, (uint64_t)tokens * args.dim);
    args.dtable = vkf__case_floats(c, type, (uint64_t)args.vocab * args.dim);
    vkf__case_extremes(c, &args.dout);
    VKF_RETURN_IF_ERROR(list_tokens(c, ids, &args));
    return vkf__case_run(c, &args, vkf__case_exact(type), "%u tokens of %u ids, dim %u%s", tokens, args.vocab, args.dim,
                         args.accumulate ? ", added" : "");
}

const vkf__op_info vkf__op_embed_grad = {
    .params_bytes = sizeof(struct vkf_embed_grad_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
};
