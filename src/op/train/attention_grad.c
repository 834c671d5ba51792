// The emitters of attention for training and its gradients. Operands are packed first, so
// that four storage buffers suffice for all that a pass reads and writes. Where a fifth can be bound, gradients of keys
// and values come from one pass, which computes scores once for both. Of long sequences some of the heads are packed at
// a time.
#include "op/train/attention_grad.h"

#include <assert.h>

#include "base/size.h"
#include "op/attention_choice.h"
#include "op/copy.h"
#include "op/operators.h"
#include "op/train/attention_grad_cases.h"
#include "op/train/dropout.h"
#include "op/train/sink_grad.h"
#include "shared/attention_grad.h"

// The widest head that the kernels take: they unroll over it.
#define MAX_WIDTH 256u
#define QUAD 4u
// Iterations of a dispatch's loops: fewer than the 65,535 after which some lavapipe ends them.
#define MAX_ITERATIONS 60000u
// Rows that take more than WHOLE_BYTES are packed in parts of PART_BYTES, or of an eighth where that is more. The two
// passes over a part need no barrier between them, and have some 700 workgroups where heads have 64 elements.
#define WHOLE_BYTES (UINT64_C(48) << 20)
#define PART_BYTES (UINT64_C(12) << 20)

// Where the packed operands lie, at maximum sizes.
typedef struct packed {
    vkf__span whole;       // rows of queries and rows of keys, of one part; row stats and deltas, of all
    uint32_t row_quads;    // of either kind of row
    uint64_t key_heads;    // of a part
    uint64_t parts;        // that all (batch, kv_heads) are in
    uint64_t query_rows;   // (key_heads, q_len, heads / kv_heads)
    uint64_t key_rows;     // (key_heads, k_len)
    uint64_t stats;        // (batch, kv_heads, q_len, heads / kv_heads)
    uint64_t maxima_first; // element; the factors follow, then the deltas
} packed;

static uint32_t quads_of(uint32_t width)
{
    return vkf__div_up_u32(width, QUAD);
}

static uint64_t row_elements(const packed *rows)
{
    return (uint64_t)QUAD * rows->row_quads;
}

static vkf_status check(const vkf__work *work, const char *label, const vkf__attention_args *forward)
{
    assert(!forward->fresh.present && forward->heads % forward->kv_heads == 0);
    if (forward->head_dim > MAX_WIDTH || forward->v_head_dim > MAX_WIDTH)
        return vkf__fail(work->context->device.host, VKF_ERROR_UNSUPPORTED,
                         "%s.%s: heads of %u and %u elements; gradients are for up to %u", work->name, label,
                         forward->head_dim, forward->v_head_dim, MAX_WIDTH);
    return VKF_OK;
}

// How many of `count` key heads are packed at a time, if `elements` is what the rows of all have.
static uint64_t heads_at_once(uint64_t count, uint64_t elements)
{
    const uint64_t bytes = elements * sizeof(float);
    const uint64_t part = bytes / 8 > PART_BYTES ? bytes / 8 : PART_BYTES;
    const uint64_t heads = bytes <= WHOLE_BYTES ? count : count * part / bytes;
    return heads > 0 ? heads : 1;
}

// Counts the rows and elements. False when they are too many for indices of 32 bits.
static bool lay_out(const vkf__attention_args *forward, packed *out, uint64_t *out_count)
{
    const uint64_t count = (uint64_t)forward->batch * forward->kv_heads;
    const uint64_t queries[] = {forward->batch, forward->heads, forward->q_len};
    const uint64_t keys[] = {count, forward->k_len};
    uint64_t key_rows = 0, elements = 0;
    out->row_quads = quads_of(forward->head_dim) + quads_of(forward->v_head_dim);
    if (!vkf__product_u64(queries, 3, &out->stats) || !vkf__product_u64(keys, 2, &key_rows) ||
        out->stats > UINT32_MAX || key_rows > UINT32_MAX ||
        !vkf__mul_u64(out->stats + key_rows, row_elements(out), &elements) || elements + 3 * out->stats > UINT32_MAX)
        return false;
    out->key_heads = heads_at_once(count, elements);
    out->parts = (count + out->key_heads - 1) / out->key_heads;
    out->query_rows = out->key_heads * forward->q_len * (forward->heads / forward->kv_heads);
    out->key_rows = out->key_heads * forward->k_len;
    out->maxima_first = (out->query_rows + out->key_rows) * row_elements(out);
    *out_count = out->maxima_first + 3 * out->stats;
    return true;
}

static vkf_status make_room(vkf__work *work, const char *label, const vkf__attention_args *forward, packed *out)
{
    uint64_t count = 0;
    VKF_RETURN_IF_ERROR(check(work, label, forward));
    if (!lay_out(forward, out, &count))
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 elements", work->name,
                         label);
    uint64_t *const decided[] = {&out->key_heads,    &out->parts, &out->query_rows, &out->key_rows, &out->stats,
                                 &out->maxima_first, &count};
    for (size_t i = 0; i < sizeof decided / sizeof decided[0]; i++)
        VKF_RETURN_IF_ERROR(vkf__work_decide(work, *decided[i], decided[i]));
    return vkf__work_temp(work, VKF_DTYPE_F32, count, &out->whole);
}

// Rows of all heads in this run: so many maxima there are, and as many factors right behind them.
static uint32_t count_queries(const vkf__attention_args *forward)
{
    return forward->batch * forward->heads * forward->q_len;
}

static vkf__span query_rows(const packed *rows)
{
    return vkf__span_part(&rows->whole, 0, rows->query_rows * row_elements(rows));
}

static vkf__span key_rows(const packed *rows)
{
    return vkf__span_part(&rows->whole, rows->query_rows * row_elements(rows), rows->key_rows * row_elements(rows));
}

static vkf__span row_stats(const packed *rows)
{
    return vkf__span_part(&rows->whole, rows->maxima_first, 2 * rows->stats);
}

static vkf__span deltas(const packed *rows)
{
    return vkf__span_part(&rows->whole, rows->maxima_first + 2 * rows->stats, rows->stats);
}

// What is done at a time. Runs smaller than planned have parts without any key heads.
typedef struct subject {
    const vkf__attention_args *forward;
    const vkf__attention_dropout *dropout;
    packed rows;
    uint64_t first_key_head, key_heads; // which are packed in this run
} subject;

static void take_part(subject *of, uint64_t part)
{
    const uint64_t all = (uint64_t)of->forward->batch * of->forward->kv_heads, first = part * of->rows.key_heads;
    of->first_key_head = first < all ? first : all;
    of->key_heads = all - of->first_key_head < of->rows.key_heads ? all - of->first_key_head : of->rows.key_heads;
}

// An operand on its way into rows. With `out` its products with that are summed into `deltas`, else these are the rows,
// so that what is bound in their place is written anyway.
typedef struct packing {
    const char *label;
    const vkf__heads_span *x, *out;
    vkf__span rows, deltas;
    uint32_t length, group, width, first_quad;
} packing;

static vkf_status emit_pack(vkf__work *work, const subject *of, const packing *job)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {job->x->span.dtype};
    const uint64_t count = of->key_heads * job->length * job->group;
    const vkf__problem problem = {.m = (uint32_t)count, .n = job->width};
    const vkf__heads_span none = {0}, *out = job->out ? job->out : &none;
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_ATTENTION_GRAD_PACK_SPEC_DELTAS] = job->out != NULL};
    const struct vkf_attention_grad_pack_params params = {
        .rows = (uint32_t)count,
        .len = job->length,
        .kv_heads = of->forward->kv_heads,
        .group = job->group,
        .first_key_head = (uint32_t)of->first_key_head,
        .width = job->width,
        .first_quad = job->first_quad,
        .row_quads = of->rows.row_quads,
        .x_batch = job->x->batch_stride,
        .x_row = job->x->row_stride,
        .x_head = job->x->head_stride,
        .out_batch = out->batch_stride,
        .out_row = out->row_stride,
        .out_head = out->head_stride,
    };
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_ATTENTION_GRAD_PACK, types, &problem, &variant));
    vkf__dispatch dispatch = {
        .label = job->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{job->x->span, false}, {job->rows, true}, {out->span, false}, {job->deltas, true}},
        .params = &params,
    };
    const uint32_t rows_each = variant.config->local_size / variant.config->tile.attention_grad.each;
    vkf__grid_flat(work, (count + rows_each - 1) / rows_each, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

// The first `count` of query, key, value, and the gradient of the output.
static vkf_status pack(vkf__work *work, const subject *of, const vkf__heads_span *dout, size_t count)
{
    const vkf__attention_args *f = of->forward;
    const packed *rows = &of->rows;
    const uint32_t second = quads_of(f->head_dim), group = f->heads / f->kv_heads;
    const vkf__span queries = query_rows(rows), keys = key_rows(rows);
    const packing jobs[] = {
        {"pack_query", &f->q, NULL, queries, queries, f->q_len, group, f->head_dim, 0},
        {"pack_key", &f->k, NULL, keys, keys, f->k_len, 1, f->head_dim, 0},
        {"pack_value", &f->v, NULL, keys, keys, f->k_len, 1, f->v_head_dim, second},
        {"pack_gradient", dout, &f->out, queries, deltas(rows), f->q_len, group, f->v_head_dim, second},
    };
    for (size_t i = 0; i < count; i++)
        VKF_RETURN_IF_ERROR(emit_pack(work, of, &jobs[i]));
    return VKF_OK;
}

// One pass over all pairs of queries and keys.
typedef struct pass {
    const char *label;
    uint32_t gives; // VKF_ATTENTION_GRAD_*
    vkf__heads_span out, value_out;
    bool adds, value_adds;
} pass;

// Rows of one key head.
static uint64_t own_rows(const vkf__attention_args *forward, uint32_t gives)
{
    return vkf__attention_grad_owns_keys(gives) ? forward->k_len
                                                : (uint64_t)forward->q_len * (forward->heads / forward->kv_heads);
}

static uint64_t other_rows(const vkf__attention_args *forward, uint32_t gives)
{
    return own_rows(forward, vkf__attention_grad_owns_keys(gives) ? VKF_ATTENTION_GRAD_QUERY : VKF_ATTENTION_GRAD_KEY);
}

// At least as many iterations as the loops of a step make in one invocation: those over the depth of both halves, those
// over the rows that are added, which have four at least in shared memory at a time, and those that draw for dropout.
static uint32_t step_iterations(const vkf__attention_args *forward, const vkf__attention_grad_tile *tile)
{
    const uint32_t depth = tile->depth / QUAD, first = quads_of(forward->head_dim),
                   second = quads_of(forward->v_head_dim);
    const uint32_t multiplying = first + second + vkf__div_up_u32(first, depth) + vkf__div_up_u32(second, depth);
    const uint32_t drawing = 1 + tile->each * (tile->step / QUAD + 1) / tile->lanes;
    return 1 + multiplying + 2 * (2 * tile->step / QUAD) + drawing;
}

// Into how many dispatches the other rows are divided. They are in two ranges, each of which may end in a part of a
// step. For a bias the batch is divided, with a step in each entry.
static uint64_t count_slices(const vkf__attention_args *forward, uint32_t gives, const vkf__config *config)
{
    const vkf__attention_grad_tile *tile = &config->tile.attention_grad;
    const uint64_t steps =
        gives == VKF_ATTENTION_GRAD_BIAS ? forward->batch : other_rows(forward, gives) / tile->step + 2;
    const uint64_t steps_each = MAX_ITERATIONS / step_iterations(forward, tile);
    return (steps + steps_each - 1) / steps_each;
}

static struct vkf_attention_grad_params params_of(const subject *of, const pass *job)
{
    const vkf__attention_args *forward = of->forward;
    const packed *rows = &of->rows;
    return (struct vkf_attention_grad_params){
        .batch = forward->batch,
        .heads = forward->heads,
        .kv_heads = forward->kv_heads,
        .q_len = forward->q_len,
        .k_len = forward->k_len,
        .first_key_head = (uint32_t)of->first_key_head,
        .key_heads = (uint32_t)of->key_heads,
        .keys_first = (uint32_t)rows->query_rows,
        .maxima_first = (uint32_t)rows->maxima_first,
        .factors_first = (uint32_t)rows->maxima_first + count_queries(forward),
        .deltas_first = (uint32_t)(rows->maxima_first + 2 * rows->stats),
        .adds = job->adds,
        .value_adds = job->value_adds,
        .out_batch = job->out.batch_stride,
        .out_row = job->out.row_stride,
        .out_head = job->out.head_stride,
        .value_out_batch = job->value_out.batch_stride,
        .value_out_row = job->value_out.row_stride,
        .value_out_head = job->value_out.head_stride,
        VKF_MASK_PARAMS(&forward->masks, forward->k_len),
        .fully_masked = (uint32_t)forward->masks.fully_masked,
        .threshold = vkf__dropout_threshold(of->dropout->p),
        .stream = of->dropout->stream,
        .step = of->dropout->step,
        .seed_low = (uint32_t)of->dropout->seed,
        .seed_high = (uint32_t)(of->dropout->seed >> 32),
        .keep_scale = vkf__dropout_scale(of->dropout->p),
    };
}

static vkf_status emit_slice(vkf__work *work, const subject *of, const pass *job, const vkf__variant *variant,
                             const struct vkf_attention_grad_params *params)
{
    const vkf__attention_args *forward = of->forward;
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ATTENTION_GRAD_SPEC_HEAD_DIM] = forward->head_dim,
        [VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM] = forward->v_head_dim,
        VKF_MASK_FLAGS(ATTENTION_GRAD, &forward->masks),
        [VKF_ATTENTION_GRAD_SPEC_GIVES] = job->gives,
        [VKF_ATTENTION_GRAD_SPEC_DROPOUT] = of->dropout->p > 0,
    };
    // A kernel of two gradients that gives one is still taken for writing the other.
    const vkf__span *second = vkf__present(&job->value_out.span) ? &job->value_out.span : &job->out.span;
    vkf__dispatch dispatch = {
        .label = job->label,
        .variant = *variant,
        .flags = flags,
        .bindings = {{of->rows.whole, vkf__attention_grad_trains(job->gives)},
                     {job->out.span, true},
                     VKF_MASK_BINDINGS(&forward->masks),
                     {*second, true}},
        .params = params,
    };
    const vkf__config *config = variant->config;
    const vkf__attention_grad_tile *tile = &config->tile.attention_grad;
    const uint64_t rows_each = tile->each * config->local_size / tile->lanes;
    const uint64_t blocks = (own_rows(forward, job->gives) + rows_each - 1) / rows_each;
    const uint64_t times = job->gives == VKF_ATTENTION_GRAD_BIAS
                               ? (uint64_t)forward->kv_heads * vkf__div_up_u32(forward->masks.cols, tile->step)
                               : of->key_heads;
    vkf__grid_flat(work, blocks * times, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__problem problem_of(const subject *of, uint32_t gives)
{
    const vkf__attention_args *forward = of->forward;
    return (vkf__problem){
        .m = (uint32_t)own_rows(forward, gives),
        .n = (uint32_t)other_rows(forward, gives),
        .k = forward->head_dim > forward->v_head_dim ? forward->head_dim : forward->v_head_dim,
        .wants = gives == VKF_ATTENTION_GRAD_BIAS ? VKF_FORM_BIASED : 0,
        .largest = of->rows.whole.size_bytes / sizeof(float),
    };
}

static vkf_status emit_pass(vkf__work *work, const subject *of, const pass *job)
{
    vkf__variant variant;
    uint64_t slices = 0;
    const vkf__op op = vkf__attention_grad_trains(job->gives)           ? VKF_OP_ATTENTION_TRAIN
                       : job->gives == VKF_ATTENTION_GRAD_KEY_AND_VALUE ? VKF_OP_ATTENTION_GRAD_PAIR
                                                                        : VKF_OP_ATTENTION_GRAD;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32};
    const vkf__problem problem = problem_of(of, job->gives);
    VKF_RETURN_IF_ERROR(vkf__work_select(work, op, types, &problem, &variant));
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, count_slices(of->forward, job->gives, variant.config), &slices));
    struct vkf_attention_grad_params params = params_of(of, job);
    params.slices = (uint32_t)slices;
    for (params.slice = 0; params.slice < params.slices; params.slice++) {
        VKF_RETURN_IF_ERROR(emit_slice(work, of, job, &variant, &params));
        params.adds = params.value_adds =
            !vkf__attention_grad_trains(job->gives); // which goes on from its sums by itself
    }
    return VKF_OK;
}

static vkf_status copy_row_stats(vkf__work *work, const vkf__attention_args *forward, const vkf__span *from,
                                 const vkf__span *to)
{
    const vkf__copy_args copy = vkf__copy_all("row_stats", *from, *to, 2 * count_queries(forward));
    return vkf__emit_copy(work, &copy);
}

// A processor's own kernel of attention is so much faster that row stats go by themselves, unless the kernel for both
// is asked for or on trial: they took 5.6 ms and 23 ms, and both at once 42 ms (2 sequences of 128, 12 heads of 64, one
// thread of lavapipe, Mesa 22.3.6).
static bool takes_two_ways(const vkf__work *work, const subject *of)
{
    const vkf__selector selector = vkf__work_selector(work);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {VKF_DTYPE_F32};
    const vkf__problem problem = problem_of(of, VKF_ATTENTION_GRAD_ROW_STATS);
    return of->dropout->p == 0 && selector.caps->traits.processor && !work->trial &&
           vkf__attention_is_served(work, of->forward) &&
           vkf__select_rank(&selector, VKF_OP_ATTENTION_TRAIN, types, &problem) != 0;
}

static const pass row_stats_alone = {.label = "row_stats", .gives = VKF_ATTENTION_GRAD_ROW_STATS};

// Pairs of a query and a key for each row that is packed, up to which packing takes longer than the row stats of all
// pairs (lavapipe, Mesa 26.2.6: 0.50 and 0.21 ms with 16 keys, 2.5 and 2.4 ms with 128).
#define SHORT_PAIRS 64u

static bool are_short(const vkf__attention_args *forward)
{
    return (uint64_t)forward->q_len * forward->k_len < SHORT_PAIRS * ((uint64_t)forward->q_len + forward->k_len);
}

vkf_status vkf__attention_sums_later(vkf__work *work, const vkf__attention_train_args *args, bool *out_later)
{
    subject of = {.forward = &args->forward, .dropout = &args->dropout};
    uint64_t count = 0, later = 0;
    if (work->mode == VKF_WORK_PLAN && are_short(of.forward) && lay_out(of.forward, &of.rows, &count)) {
        of.rows.whole.size_bytes = count * sizeof(float);
        later = takes_two_ways(work, &of);
    }
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, later, &later));
    *out_later = later != 0;
    return VKF_OK;
}

vkf_status vkf__emit_attention_train(vkf__work *work, const vkf__attention_train_args *args)
{
    uint64_t apart = 0;
    subject of = {.forward = &args->forward, .dropout = &args->dropout};
    const vkf__attention_args *forward = of.forward;
    const pass both = {.label = forward->label, .gives = VKF_ATTENTION_GRAD_OUTPUT, .out = forward->out};
    assert(!vkf__present(&forward->weights));
    VKF_RETURN_IF_ERROR(make_room(work, forward->label, forward, &of.rows));
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, work->mode == VKF_WORK_PLAN && takes_two_ways(work, &of), &apart));
    if (apart)
        VKF_RETURN_IF_ERROR(vkf__emit_attention(work, forward));
    for (uint64_t i = 0; i < of.rows.parts; i++) {
        take_part(&of, i);
        VKF_RETURN_IF_ERROR(pack(work, &of, NULL, apart ? 2 : 3));
        VKF_RETURN_IF_ERROR(emit_pass(work, &of, apart ? &row_stats_alone : &both));
    }
    const vkf__span sums = row_stats(&of.rows);
    return copy_row_stats(work, forward, &sums, &args->row_stats);
}

// Whether one kernel gives both gradients. A trial of the one that gives each by itself has it do so.
static bool pairs(const vkf__work *work, const vkf__attention_grad_args *args, const subject *of)
{
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->dk.span.dtype};
    const vkf__problem problem = problem_of(of, VKF_ATTENTION_GRAD_KEY_AND_VALUE);
    if (work->trial && work->trial->kernel->op == VKF_OP_ATTENTION_GRAD)
        return false;
    return vkf__present(&args->dk.span) && vkf__present(&args->dv.span) && args->dk.span.dtype == args->dv.span.dtype &&
           vkf__work_has_kernel(work, VKF_OP_ATTENTION_GRAD_PAIR, types, &problem);
}

static vkf_status emit_keys_and_values(vkf__work *work, const vkf__attention_grad_args *args, const subject *of)
{
    const pass both = {"grad_key_value",  VKF_ATTENTION_GRAD_KEY_AND_VALUE, args->dk, args->dv, args->accumulate_k,
                       args->accumulate_v};
    const pass key = {"grad_key", VKF_ATTENTION_GRAD_KEY, .out = args->dk, .adds = args->accumulate_k};
    const pass value = {"grad_value", VKF_ATTENTION_GRAD_VALUE, .out = args->dv, .adds = args->accumulate_v};
    uint64_t paired = 0;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, work->mode == VKF_WORK_PLAN && pairs(work, args, of), &paired));
    if (paired)
        return emit_pass(work, of, &both);
    if (vkf__present(&args->dk.span))
        VKF_RETURN_IF_ERROR(emit_pass(work, of, &key));
    return vkf__present(&args->dv.span) ? emit_pass(work, of, &value) : VKF_OK;
}

// A bias takes something of each part.
static vkf_status emit_part(vkf__work *work, const vkf__attention_grad_args *args, const subject *of, bool first)
{
    const pass query = {"grad_query", VKF_ATTENTION_GRAD_QUERY, .out = args->dq, .adds = args->accumulate_q};
    const pass bias = {"grad_bias", VKF_ATTENTION_GRAD_BIAS, .out = args->dbias,
                       .adds = args->accumulate_bias || !first};
    VKF_RETURN_IF_ERROR(pack(work, of, &args->dout, 4));
    if (!vkf__present(&args->row_stats))
        VKF_RETURN_IF_ERROR(emit_pass(work, of, &row_stats_alone));
    if (vkf__present(&args->dq.span))
        VKF_RETURN_IF_ERROR(emit_pass(work, of, &query));
    if (vkf__present(&args->dbias.span))
        VKF_RETURN_IF_ERROR(emit_pass(work, of, &bias));
    return emit_keys_and_values(work, args, of);
}

static vkf_status emit_sinks(vkf__work *work, const vkf__attention_grad_args *args, const packed *rows)
{
    const vkf__attention_args *forward = &args->forward;
    const vkf__sink_grad_args sinks = {
        .label = "grad_sinks",
        .stats = row_stats(rows),
        .deltas = deltas(rows),
        .sinks = forward->masks.sinks,
        .out = args->dsinks,
        .batch = forward->batch,
        .heads = forward->heads,
        .kv_heads = forward->kv_heads,
        .q_len = forward->q_len,
        .accumulate = args->accumulate_sinks,
    };
    return vkf__present(&args->dsinks) ? vkf__emit_sink_grad(work, &sinks) : VKF_OK;
}

vkf_status vkf__emit_attention_grad(vkf__work *work, const vkf__attention_grad_args *args)
{
    vkf__attention_grad_args full = *args;
    subject of = {.forward = &full.forward, .dropout = &args->dropout};
    if (full.forward.k.span.dtype == VKF_DTYPE_BF16) {
        VKF_RETURN_IF_ERROR(vkf__emit_widened(work, "key", &full.forward.k.span));
        VKF_RETURN_IF_ERROR(vkf__emit_widened(work, "value", &full.forward.v.span));
    }
    VKF_RETURN_IF_ERROR(make_room(work, args->label, of.forward, &of.rows));
    const vkf__span sums = row_stats(&of.rows);
    if (vkf__present(&args->row_stats))
        VKF_RETURN_IF_ERROR(copy_row_stats(work, of.forward, &args->row_stats, &sums));
    for (uint64_t i = 0; i < of.rows.parts; i++) {
        take_part(&of, i);
        VKF_RETURN_IF_ERROR(emit_part(work, &full, &of, i == 0));
    }
    return emit_sinks(work, args, &of.rows);
}
