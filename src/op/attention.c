// Emits attention: fused where a kernel serves it, and with the keys divided among workgroups where there are too few
// queries to fill the device.
#include "op/attention.h"

#include "base/elements.h"
#include "base/size.h"
#include "op/attention_cases.h"
#include "op/attention_choice.h"
#include "op/copy.h"
#include "op/operators.h"
#include "shared/attention.h"

// Whether a kernel of this device serves the problem, decided at maximum sizes.
static vkf_status fused_available(vkf__work *work, const vkf__attention_args *args, bool *out_available)
{
    uint64_t available = work->mode == VKF_WORK_PLAN && vkf__attention_is_served(work, args);
    vkf_status status = vkf__work_decide(work, available, &available);
    *out_available = available != 0;
    return status;
}

static struct vkf_attention_params params_of(const vkf__attention_args *args, uint32_t splits)
{
    return (struct vkf_attention_params){
        .batch = args->batch,
        .heads = args->heads,
        .kv_heads = args->kv_heads,
        .q_len = args->q_len,
        .k_len = args->k_len,
        .splits = splits,
        .q_batch = args->q.batch_stride,
        .q_row = args->q.row_stride,
        .q_head = args->q.head_stride,
        .k_batch = args->k.batch_stride,
        .k_row = args->k.row_stride,
        .k_head = args->k.head_stride,
        .v_batch = args->v.batch_stride,
        .v_row = args->v.row_stride,
        .v_head = args->v.head_stride,
        .out_batch = args->out.batch_stride,
        .out_row = args->out.row_stride,
        .out_head = args->out.head_stride,
        VKF_MASK_PARAMS(&args->masks, args->k_len),
        .k_fresh = args->fresh.k_first,
        .v_fresh = args->fresh.v_first,
        .fresh_first = args->fresh.past,
        .first_position = args->fresh.first_position,
        .rotary_dim = args->fresh.rotary_dim,
    };
}

// How many parts of the keys one workgroup takes at once.
static uint32_t splits_per_group(const vkf__variant *variant)
{
    return variant->kernel->shares_rows ? variant->config->tile.attention.lanes : 1;
}

// Elements of queries, and of sums, that an invocation of attention_decode keeps in registers.
#define ELEMENTS_IN_REGISTERS 32u

// How many of `wanted` rows of this width a workgroup of attention_decode takes: a power of two.
static uint32_t decode_rows(const vkf__config *config, uint64_t wanted, uint32_t width)
{
    const uint32_t elements_each = vkf__div_up_u32(width, config->tile.attention_decode.lanes);
    uint32_t rows = 1;
    while (rows < wanted && rows < config->tile.attention_decode.rows &&
           2 * rows * elements_each <= ELEMENTS_IN_REGISTERS)
        rows *= 2;
    return rows;
}

// How many rows one workgroup takes: those of all its invocations or, on cooperative matrices, of all its subgroups.
static uint32_t rows_per_group(const vkf__attention_args *args, const vkf__variant *variant)
{
    const vkf__config *config = variant->config;
    if (variant->kernel->wants & VKF_FORM_VECTORS)
        return decode_rows(config, (uint64_t)args->q_len * (args->heads / args->kv_heads),
                           args->head_dim > args->v_head_dim ? args->head_dim : args->v_head_dim);
    if (config->subgroups > 0)
        return config->tile.attention_coopmat.rows * config->subgroups;
    return config->tile.attention.queries * config->local_size / config->tile.attention.lanes;
}

// The last constant of several kernels. Those on matrices have another one of this id, which is not taken from here.
#define LAST_FLAG VKF_ATTENTION_SPEC_COUNT
_Static_assert(VKF_ATTENTION_SPEC_TEXEL_WIDTH == LAST_FLAG && VKF_ATTENTION_DECODE_SPEC_ROWS == LAST_FLAG,
               "the last constants have one id");

static uint32_t last_flag(const vkf__kernel *kernel, uint32_t rows)
{
    if (kernel->wants & VKF_FORM_VECTORS)
        return rows;
    return kernel->operands[0] == VKF_OPERAND_TEXEL4 ? 4 : 1;
}

// How the rows and keys are divided among workgroups.
typedef struct division {
    vkf__variant variant;
    uint32_t rows;        // of a workgroup
    uint64_t most_blocks; // of rows, at maximum sizes
    uint32_t most_splits; // of the keys, at maximum sizes; with more than one, there are parts of the sums
    uint32_t splits;      // now
    uint32_t fresh;       // keys, at maximum sizes
} division;

// Blocks of rows of all key heads. The workgroups of one divide its keys.
static uint64_t row_blocks(const vkf__attention_args *args, const division *d)
{
    const uint64_t rows = (uint64_t)args->q_len * (args->heads / args->kv_heads);
    return (rows + d->rows - 1) / d->rows * args->kv_heads * args->batch;
}

// A trial runs its own kernel, or the one that leaves what its own puts together.
static bool joins_here(const vkf__work *work, const vkf__attention_args *args, uint64_t splits)
{
    if (work->trial)
        return splits > 1 && (work->trial->kernel->offers & VKF_FORM_JOINED);
    return vkf__attention_joins(work->context, args, splits);
}

static vkf_status divide(vkf__work *work, const vkf__attention_args *args, division *out)
{
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    uint64_t most = 0, rows = 0, fresh = 0, joined = 0;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, vkf__attention_splits(work->context, args), &most));
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, work->mode == VKF_WORK_PLAN && joins_here(work, args, most), &joined));
    const vkf__problem problem = vkf__attention_parts_problem(work->context, args, most, joined, types);
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_ATTENTION, types, &problem, &out->variant));
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, rows_per_group(args, &out->variant), &rows));
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, args->fresh.present ? args->q_len : 0, &fresh));
    const uint64_t now = vkf__attention_splits_worth_it(work->context, args);
    out->rows = (uint32_t)rows;
    out->fresh = (uint32_t)fresh;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, row_blocks(args, out), &out->most_blocks));
    out->most_splits = (uint32_t)vkf__align_u64(most, splits_per_group(&out->variant));
    out->splits = (uint32_t)vkf__align_u64(now < most ? now : most, splits_per_group(&out->variant));
    return VKF_OK;
}

static vkf_status emit_parts(vkf__work *work, const vkf__attention_args *args, const division *d, const vkf__span *out,
                             const vkf__span *parts)
{
    vkf__span counters = {0};
    const vkf__variant *variant = &d->variant;
    const struct vkf_attention_params params = params_of(args, d->splits);
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ATTENTION_SPEC_HEAD_DIM] = args->head_dim,
        [VKF_ATTENTION_SPEC_V_HEAD_DIM] = args->v_head_dim,
        VKF_MASK_FLAGS(ATTENTION, &args->masks),
        [VKF_ATTENTION_SPEC_FULLY_MASKED] = (uint32_t)args->masks.fully_masked,
        [VKF_ATTENTION_SPEC_PARTIAL] = d->most_splits > 1,
        [LAST_FLAG] = last_flag(variant->kernel, d->rows),
        [VKF_ATTENTION_DECODE_SPEC_FRESH] = d->fresh,
    };
    if (variant->kernel->offers & VKF_FORM_JOINED)
        VKF_RETURN_IF_ERROR(vkf__work_counters(work, (uint32_t)d->most_blocks, &counters));
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = *variant,
        .flags = flags,
        .bindings = {{args->q.span, false},
                     {args->k.span, args->fresh.present},
                     {args->v.span, args->fresh.present},
                     {*out, true},
                     VKF_MASK_BINDINGS(&args->masks),
                     {args->fresh.table, false},
                     {*parts, true},
                     {counters, true}},
        .params = &params,
    };
    vkf__grid_flat(work, row_blocks(args, d) * (d->splits / splits_per_group(variant)), dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf_status emit_reduce(vkf__work *work, const vkf__attention_args *args, const vkf__span *parts,
                              const division *d)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->out.span.dtype};
    const vkf__problem problem = vkf__attention_reduce_problem(args, d->most_splits);
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ATTENTION_REDUCE_SPEC_FULLY_MASKED] = (uint32_t)args->masks.fully_masked,
    };
    const struct vkf_attention_reduce_params params = {
        .rows = problem.m,
        .heads = args->heads,
        .q_len = args->q_len,
        .k_len = args->k_len,
        .splits = d->splits,
        .v_head_dim = args->v_head_dim,
        .out_batch = args->out.batch_stride,
        .out_row = args->out.row_stride,
        .out_head = args->out.head_stride,
    };
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_ATTENTION_REDUCE, types, &problem, &variant));
    vkf__dispatch dispatch = {
        .label = "attention_reduce",
        .variant = variant,
        .flags = flags,
        .bindings = {{*parts, false}, {args->out.span, true}},
        .params = &params,
    };
    vkf__grid_flat(work, problem.m, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf_status emit_fused(vkf__work *work, const vkf__attention_args *args)
{
    division d;
    vkf__span parts; // (batch, heads, q_len, splits, v_head_dim + 2) f32
    VKF_RETURN_IF_ERROR(divide(work, args, &d));
    if (d.most_splits == 1)
        return emit_parts(work, args, &d, &args->out.span, &(vkf__span){0});
    const uint64_t factors[] = {args->batch, args->heads, args->q_len, d.most_splits, (uint64_t)args->v_head_dim + 2};
    uint64_t count = UINT64_MAX;
    (void)vkf__product_u64(factors, 5, &count);
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, count, &parts));
    if (d.variant.kernel->offers & VKF_FORM_JOINED)
        return emit_parts(work, args, &d, &args->out.span, &parts);
    VKF_RETURN_IF_ERROR(emit_parts(work, args, &d, &parts, &(vkf__span){0}));
    return emit_reduce(work, args, &parts, &d);
}

// Products take no blocks in rows.
static vkf_status emit_widened(vkf__work *work, const vkf__attention_args *args)
{
    vkf__attention_args widened = *args;
    VKF_RETURN_IF_ERROR(vkf__emit_widened(work, "key", &widened.k.span));
    VKF_RETURN_IF_ERROR(vkf__emit_widened(work, "value", &widened.v.span));
    return vkf__emit_attention(work, &widened);
}

vkf_status vkf__emit_attention(vkf__work *work, const vkf__attention_args *args)
{
    bool fused = !vkf__present(&args->weights);
    if (fused)
        VKF_RETURN_IF_ERROR(fused_available(work, args, &fused));
    if (fused)
        return emit_fused(work, args);
    return vkf__is_blocks(args->k.span.dtype) ? emit_widened(work, args) : vkf__emit_unfused_attention(work, args);
}

double vkf__visible_keys(uint32_t q_len, uint32_t k_len, uint32_t causal, int32_t causal_offset, uint32_t window)
{
    const int64_t first = causal_offset + (causal == VKF_SHADER_CAUSAL_LENGTHS ? (int64_t)k_len : 0);
    double keys = 0;
    for (uint32_t query = 0; query < q_len; query++) {
        int64_t end = query + first + 1;
        end = end < 0 ? 0 : end > k_len ? k_len : end;
        int64_t begin = window > 0 ? query + first + 1 - window : 0;
        begin = begin < 0 ? 0 : begin > end ? end : begin;
        keys += (double)(end - begin);
    }
    return keys;
}

// Two products, and five operations on each score: scale, maximum, difference, exp() and sum.
static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_attention_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    const double width = dispatched->spec[VKF_ATTENTION_SPEC_HEAD_DIM];
    const double v_width = dispatched->spec[VKF_ATTENTION_SPEC_V_HEAD_DIM];
    const double queries = (double)p->batch * p->heads * p->q_len;
    const uint32_t causal = dispatched->spec[VKF_ATTENTION_SPEC_CAUSAL];
    const double keys_seen = vkf__visible_keys(p->q_len, p->k_len, causal, p->causal_offset, p->window);
    const double keys = p->q_len > 0 ? (double)p->batch * p->kv_heads * p->k_len : 0;
    const bool joins = dispatched->kernel->offers & VKF_FORM_JOINED, in_parts = joins || p->splits > 1;
    const double parts = in_parts ? vkf__stored_bytes(queries * p->splits * (v_width + 2), VKF_DTYPE_F32) : 0;
    return (vkf__account){
        .flops = (double)p->batch * p->heads * keys_seen * (2 * (width + v_width) + 5),
        .bytes_read = vkf__stored_bytes(queries * width, types[0]) +
                      vkf__stored_bytes(keys * (width + v_width), types[1]) + (joins ? parts : 0),
        .bytes_written = parts + (in_parts && !joins ? 0 : vkf__stored_bytes(queries * v_width, types[2])),
    };
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_attention_params *p = dispatched->params;
    *out_extent = (vkf__extent){
        .operand = VKF_ATTENTION_BINDING_OUT - 1,
        .dtype = dispatched->kernel->types[2],
        .counts = {p->batch, p->q_len, p->heads, dispatched->spec[VKF_ATTENTION_SPEC_V_HEAD_DIM]},
        .strides = {p->out_batch, p->out_row, p->out_head, 1},
    };
    return p->splits <= 1 || (dispatched->kernel->offers & VKF_FORM_JOINED);
}

static vkf__account reduce_account(const vkf__dispatched *dispatched)
{
    const struct vkf_attention_reduce_params *p = dispatched->params;
    const double elements = (double)p->rows * p->v_head_dim;
    const double parts = (double)p->rows * p->splits * (p->v_head_dim + 2.0);
    return (vkf__account){2 * parts, vkf__stored_bytes(parts, VKF_DTYPE_F32),
                          vkf__stored_bytes(elements, dispatched->kernel->types[0])};
}

static bool reduce_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_attention_reduce_params *p = dispatched->params;
    const uint32_t plane = p->heads * p->q_len;
    *out_extent = (vkf__extent){
        .operand = VKF_ATTENTION_REDUCE_BINDING_OUT - 1,
        .dtype = dispatched->kernel->types[0],
        .counts = {plane > 0 ? p->rows / plane : 0, p->q_len, p->heads, p->v_head_dim},
        .strides = {p->out_batch, p->out_row, p->out_head, 1},
    };
    return true;
}

// Whether the config never writes anything but parts first: its invocations share a row, or it puts them together.
static bool leaves_parts(const vkf__kernel *kernel, const vkf__config *config)
{
    return (kernel->offers & VKF_FORM_JOINED) || (kernel->shares_rows && config->tile.attention.lanes > 1);
}

// Query heads that share a key head, in most models of today.
#define TYPICAL_ROWS 4u

static void typical_flags(const vkf__kernel *kernel, const vkf__config *config, uint32_t head_dim, uint32_t *out_flags)
{
    vkf__typical_flag_set(kernel, VKF_ATTENTION_SPEC_HEAD_DIM, head_dim, out_flags);
    vkf__typical_flag_set(kernel, VKF_ATTENTION_SPEC_V_HEAD_DIM, head_dim, out_flags);
    vkf__typical_flag_set(kernel, VKF_ATTENTION_SPEC_PARTIAL, leaves_parts(kernel, config), out_flags);
    if (kernel->operands[0] == VKF_OPERAND_TEXEL || kernel->operands[0] == VKF_OPERAND_TEXEL4 ||
        (kernel->wants & VKF_FORM_VECTORS))
        vkf__typical_flag_set(kernel, LAST_FLAG, last_flag(kernel, decode_rows(config, TYPICAL_ROWS, head_dim)),
                              out_flags);
}

#define QUERIES(count, head_dim) \
    .problem = {                 \
        .m = (count), .n = 512, .k = (head_dim), .offers = VKF_FORM_QUADS | VKF_FORM_VECTORS, .largest = 1u << 22}
// One query with so many keys that they are divided among workgroups.
#define DECODING(head_dim, joined_)                          \
    .problem = {.m = 1,                                      \
                .n = 512,                                    \
                .k = (head_dim),                             \
                .offers = VKF_FORM_QUADS | VKF_FORM_VECTORS, \
                .wants = VKF_FORM_SPLIT | (joined_),         \
                .largest = 1u << 22}

// No pipeline is made ahead: the width of a head is one of its constants, and only a layer tells it.
static const vkf__typical_problem problems[] = {
    {.label = "512 queries", QUERIES(512, 64)},
    {.label = "1 query", QUERIES(1, 64)},
    {.label = "1 query in parts", DECODING(64, 0u)},
    {.label = "1 query in joined parts", DECODING(64, VKF_FORM_JOINED)},
    {.label = "512 queries", QUERIES(512, 128)},
    {.label = "1 query", QUERIES(1, 128)},
    {.label = "1 query in parts", DECODING(128, 0u)},
    {.label = "1 query in joined parts", DECODING(128, VKF_FORM_JOINED)},
    {.label = "512 queries", QUERIES(512, 256)},
    {.label = "1 query", QUERIES(1, 256)},
    {.label = "1 query in parts", DECODING(256, 0u)},
    {.label = "1 query in joined parts", DECODING(256, VKF_FORM_JOINED)},
};

// The keys of one query in a few parts, and in as many as fill a device.
static const vkf__typical_problem reduce_problems[] = {
    {.label = "few parts", .problem = {.m = 1u << 16, .n = 128, .k = 2}, .ahead = true},
    {.label = "many parts", .problem = {.m = 32, .n = 128, .k = 32}, .ahead = true},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_attention(work, args);
}

const vkf__op_info vkf__op_attention = {
    .params_bytes = sizeof(struct vkf_attention_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = vkf__attention_reference,
    .cases = vkf__attention_cases,
    VKF_OP_PROBLEMS(problems),
    .per_head_dim = true,
    .typical_flags = typical_flags,
};

const vkf__op_info vkf__op_attention_reduce = {
    .params_bytes = sizeof(struct vkf_attention_reduce_params),
    .account = reduce_account,
    .output = reduce_output,
    .reference = vkf__attention_reduce_reference,
    VKF_OP_PROBLEMS(reduce_problems),
    .sums_parts = true,
};
