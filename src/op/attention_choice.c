// What kernel attention is for: the problem that it states to the selection, and into how many parts its keys are
// divided where there are too few queries to fill the device.
#include "op/attention_choice.h"

#include "base/blocks.h"
#include "base/elements.h"
#include "base/size.h"
#include "shared/attention.h"

// With fewer rows than this, the keys of a row are divided among several workgroups. A processor has few cores to fill.
#define ROWS_TO_FILL_A_DEVICE 256u
#define ROWS_TO_FILL_A_PROCESSOR 32u
// Up to this many queries are those of decoding, where nothing but the keys keeps a GPU busy. Then each core gets four
// workgroups, so that some wait for memory while others work, as long as the parts of a row are not too many to be put
// together: on an H200 a query of 32 heads of width 64 over 8 key heads took 29 us over 4096 keys in 16 parts, 34 us in
// 32 and 52 us in 64; over 16384 keys 79, 81 and 97 us (as below, before slots were joined by shuffles).
#define FEW_QUERIES 8u
#define GROUPS_OF_A_CORE 4u
#define MAX_DECODE_PARTS 16u
// Rows of heads that share keys, which a workgroup takes at once, roughly.
#define ROWS_OF_A_GROUP 16u
// The widest head that the kernels take: they unroll over it, and attention_tiled has shared memory for no more.
#define MAX_WIDTH 256u
// Each part has at least this many keys, or it would not be worth the pass that combines the parts.
#define MIN_KEYS_PER_SPLIT 128u
// The same in decoding on a GPU: over 544 keys the query above took 15.8 us in 4 parts, 13.6 us in 8 and 14.9 us in 16;
// over 1024 keys 15.2 us in 8, 15.8 us in 16 and 21.6 us in 32.
#define MIN_KEYS_PER_DECODE_SPLIT 64u

static uint64_t elements(const vkf__span *span)
{
    return vkf__elements_in(span->dtype, span->size_bytes);
}

static bool has_quads(const vkf__heads_span *x, uint32_t width)
{
    uint64_t offset = x->span.offset_bytes / vkf__unit_bytes(x->span.dtype);
    return offset % 4 == 0 && x->row_stride % 4 == 0 && x->head_stride % 4 == 0 && width % 4 == 0;
}

// Whether every row of keys or values is a whole number of vectors of 16 bytes, or of blocks, and begins at one.
static bool has_vectors(const vkf__heads_span *x, uint32_t width)
{
    const vkf_dtype dtype = x->span.dtype;
    const uint32_t vector = vkf__is_blocks(dtype) ? VKF_BLOCK : 16 / (uint32_t)vkf_dtype_size(dtype);
    return x->span.offset_bytes % 16 == 0 && x->batch_stride % vector == 0 && x->row_stride % vector == 0 &&
           x->head_stride % vector == 0 && width % vector == 0;
}

static vkf__problem problem_of(const vkf_context *context, const vkf__attention_args *args)
{
    uint64_t q = elements(&args->q.span), k = elements(&args->k.span), v = elements(&args->v.span);
    uint64_t largest = q > k ? q : k;
    const bool quads = has_quads(&args->q, args->head_dim) && has_quads(&args->k, args->head_dim) &&
                       has_quads(&args->v, args->v_head_dim);
    const bool vectors = has_vectors(&args->k, args->head_dim) && has_vectors(&args->v, args->v_head_dim);
    return (vkf__problem){
        .m = args->q_len,
        .n = args->k_len,
        .k = args->head_dim > args->v_head_dim ? args->head_dim : args->v_head_dim,
        .precision = context->precision,
        .wants = args->fresh.present ? VKF_FORM_FRESH : 0,
        .offers = (quads ? VKF_FORM_QUADS : 0u) | (vectors ? VKF_FORM_VECTORS : 0u),
        .largest = largest > v ? largest : v,
    };
}

static bool is_for_kernels(const vkf__attention_args *args)
{
    if (args->head_dim > MAX_WIDTH || args->v_head_dim > MAX_WIDTH)
        return false;
    const vkf__span *spans[] = {&args->q.span, &args->k.span, &args->v.span, &args->out.span};
    for (size_t i = 0; i < 4; i++) {
        if (elements(spans[i]) > UINT32_MAX)
            return false;
    }
    return args->heads % args->kv_heads == 0 && args->k.span.dtype == args->v.span.dtype;
}

static uint64_t at_least_one(uint64_t count)
{
    return count > 0 ? count : 1;
}

// How many parts of the keys fill the device.
static uint64_t splits_to_fill(const vkf_context *context, const vkf__attention_args *args)
{
    const vkf__selector selector = vkf__context_selector(context);
    const bool processor = selector.caps->traits.processor;
    const uint64_t rows = (uint64_t)args->batch * args->heads * args->q_len;
    if (processor || args->q_len > FEW_QUERIES) {
        const uint64_t enough = processor ? ROWS_TO_FILL_A_PROCESSOR : ROWS_TO_FILL_A_DEVICE;
        return (enough + rows - 1) / rows;
    }
    const uint64_t rows_of_keys = (uint64_t)args->heads / args->kv_heads * args->q_len;
    const uint64_t groups =
        (uint64_t)args->batch * args->kv_heads * ((rows_of_keys + ROWS_OF_A_GROUP - 1) / ROWS_OF_A_GROUP);
    const uint64_t parts = ((uint64_t)GROUPS_OF_A_CORE * vkf__selector_cores(&selector) + groups - 1) / groups;
    return parts < MAX_DECODE_PARTS ? parts : MAX_DECODE_PARTS;
}

uint64_t vkf__attention_splits_worth_it(const vkf_context *context, const vkf__attention_args *args)
{
    const bool decoding = !vkf__context_selector(context).caps->traits.processor && args->q_len <= FEW_QUERIES;
    return at_least_one(args->k_len / (decoding ? MIN_KEYS_PER_DECODE_SPLIT : MIN_KEYS_PER_SPLIT));
}

uint32_t vkf__attention_splits(const vkf_context *context, const vkf__attention_args *args)
{
    const uint64_t rows = (uint64_t)args->batch * args->heads * args->q_len;
    const uint64_t by_keys = vkf__attention_splits_worth_it(context, args),
                   by_device = rows == 0 ? 1 : splits_to_fill(context, args);
    return (uint32_t)(by_keys < by_device ? by_keys : by_device);
}

vkf__problem vkf__attention_parts_problem(const vkf_context *context, const vkf__attention_args *args, uint64_t splits,
                                          bool joined, vkf_dtype out_types[VKF_KERNEL_MAX_TYPES])
{
    vkf__problem problem = problem_of(context, args);
    problem.wants |= (splits > 1 ? VKF_FORM_SPLIT : 0u) | (joined ? VKF_FORM_JOINED : 0u);
    out_types[0] = args->q.span.dtype;
    out_types[1] = args->k.span.dtype;
    // Parts are sums in f32, whatever the type of the output.
    out_types[2] = splits > 1 && !joined ? VKF_DTYPE_F32 : args->out.span.dtype;
    return problem;
}

vkf__problem vkf__attention_reduce_problem(const vkf__attention_args *args, uint64_t splits)
{
    return (vkf__problem){.m = args->batch * args->heads * args->q_len, .n = args->v_head_dim, .k = (uint32_t)splits};
}

bool vkf__attention_joins(const vkf_context *context, const vkf__attention_args *args, uint64_t splits)
{
    const vkf__selector selector = vkf__context_selector(context);
    const vkf_dtype reduced[VKF_KERNEL_MAX_TYPES] = {args->out.span.dtype};
    const vkf__problem reduce = vkf__attention_reduce_problem(args, splits);
    vkf_dtype types[VKF_KERNEL_MAX_TYPES], part_types[VKF_KERNEL_MAX_TYPES];
    const vkf__problem whole = vkf__attention_parts_problem(context, args, splits, true, types);
    const vkf__problem parts = vkf__attention_parts_problem(context, args, splits, false, part_types);
    if (splits <= 1 || args->q_len > FEW_QUERIES || !selector.caps->traits.counts_in_mapped_memory ||
        vkf__select_rank(&selector, VKF_OP_ATTENTION_REDUCE, reduced, &reduce) == 0) // which was asked for
        return false;
    const uint32_t rank = vkf__select_rank(&selector, VKF_OP_ATTENTION, types, &whole);
    return rank != UINT32_MAX && rank <= vkf__select_rank(&selector, VKF_OP_ATTENTION, part_types, &parts);
}

vkf__problem vkf__attention_problem(const vkf_context *context, const vkf__attention_args *args,
                                    vkf_dtype out_types[VKF_KERNEL_MAX_TYPES])
{
    const uint32_t splits = vkf__attention_splits(context, args);
    return vkf__attention_parts_problem(context, args, splits, vkf__attention_joins(context, args, splits), out_types);
}

bool vkf__attention_is_served(const vkf__work *work, const vkf__attention_args *args)
{
    const vkf__selector selector = vkf__work_selector(work);
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    const vkf__problem problem = vkf__attention_problem(work->context, args, types);
    return is_for_kernels(args) && vkf__select_rank(&selector, VKF_OP_ATTENTION, types, &problem) != UINT32_MAX;
}

// Angles are read in quads, as heads are.
static bool reads_quads(const vkf__fresh_keys *fresh)
{
    const uint32_t quad = 4;
    return fresh->rotary_dim % (2 * quad) == 0 && fresh->k_first % quad == 0 && fresh->v_first % quad == 0 &&
           fresh->table.offset_bytes % (quad * sizeof(float)) == 0;
}

bool vkf__attention_takes_fresh(const vkf__work *work, const vkf__attention_args *args)
{
    const vkf__selector selector = vkf__work_selector(work);
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    vkf__problem problem = vkf__attention_problem(work->context, args, types);
    vkf__variant with = {0}, without = {0};
    if (vkf__present(&args->weights) || !is_for_kernels(args) || !reads_quads(&args->fresh) ||
        args->q_len > VKF_ATTENTION_DECODE_MAX_ROWS)
        return false;
    problem.wants |= VKF_FORM_FRESH;
    const bool served = vkf__select(&selector, VKF_OP_ATTENTION, types, &problem, &with, NULL);
    problem.wants &= ~(uint32_t)VKF_FORM_FRESH;
    return served && vkf__select(&selector, VKF_OP_ATTENTION, types, &problem, &without, NULL) &&
           with.kernel == without.kernel && with.config == without.config;
}
