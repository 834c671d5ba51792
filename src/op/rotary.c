// The emitter of rotary position embedding, and its operator's row.
#include "op/rotary.h"

#include <assert.h>
#include <math.h>

#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "op/rows.h"
#include "shared/rotary.h"

static uint32_t weight_flag(const vkf__span *weight)
{
    if (!vkf__present(weight))
        return VKF_ROTARY_WEIGHT_NONE;
    return weight->dtype == VKF_DTYPE_F16    ? VKF_ROTARY_WEIGHT_F16
           : weight->dtype == VKF_DTYPE_BF16 ? VKF_ROTARY_WEIGHT_BF16
                                             : VKF_ROTARY_WEIGHT_F32;
}

static uint32_t positions_flag(const vkf__rotary_positions *positions)
{
    return !vkf__present(&positions->span) ? VKF_ROTARY_POSITIONS_FIRST
           : positions->section_count < 2  ? VKF_ROTARY_POSITIONS_EACH
           : positions->in_turns           ? VKF_ROTARY_POSITIONS_TURNS
                                           : VKF_ROTARY_POSITIONS_SECTIONS;
}

static void add_positions(const vkf__rotary_args *args, struct vkf_rotary_params *params)
{
    const vkf__rotary_positions *positions = &args->positions;
    if (!vkf__present(&positions->span))
        return;
    params->position_share = positions->share;
    params->table_rows = positions->table_rows;
    params->section_stride = args->batch / positions->share * args->len;
    if (positions->section_count < 2)
        return;
    params->section_0 = positions->sections[0];
    params->section_1 = positions->sections[1];
    params->section_2 = positions->sections[2];
    params->section_3 = positions->sections[3];
    params->section_rest = positions->section_count > 3 ? 3 : 0;
}

vkf_status vkf__emit_rotary(vkf__work *work, const vkf__rotary_args *args)
{
    vkf__variant variant;
    uint64_t rows = 0;
    const uint32_t heads = args->q_heads + args->k_heads + args->v_heads;
    assert(!(args->inverse || vkf__present(&args->positions.span)) || !vkf__present(&args->weight));
    assert(args->rotary_dim % 2 == 0 && args->rotary_dim <= args->head_dim);
    if (!vkf__product_u64((const uint64_t[]){args->batch, args->len, heads}, 3, &rows) || rows > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 rows", work->name,
                         args->label);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype,
                                                   vkf__present(&args->out) ? args->out.dtype : args->x.dtype};
    const vkf__problem problem = {.m = (uint32_t)rows, .n = args->head_dim};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_ROTARY, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ROTARY_SPEC_WEIGHT] = weight_flag(&args->weight),
        [VKF_ROTARY_SPEC_HAS_TABLE] = vkf__present(&args->table),
        [VKF_ROTARY_SPEC_POSITIONS] = positions_flag(&args->positions),
        [VKF_ROTARY_SPEC_INTERLEAVED] = args->interleaved,
    };
    struct vkf_rotary_params params = {
        .rows = (uint32_t)rows,
        .len = args->len,
        .heads = heads,
        .q_heads = args->q_heads,
        .k_heads = args->k_heads,
        .head_dim = args->head_dim,
        .rotary_dim = args->rotary_dim,
        .first_position = args->first_position,
        .x_first = args->x_first,
        .x_batch = args->x_batch,
        .x_row = args->x_row,
        .k_first = args->k_first,
        .v_first = args->v_first,
        .out_batch = args->out_batch,
        .out_row = args->out_row,
        .k_weight = args->k_weight,
        .eps = args->eps,
        .sine_factor = args->inverse ? -1.0f : 1.0f,
        .position_share = 1,
        .section_0 = 1,
    };
    add_positions(args, &params);
    const vkf__span fourth = vkf__present(&args->weight) ? args->weight : args->positions.span;
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        // Without queries nothing is written to x, but validation layers go by what the kernel might do.
        .bindings = {{args->x, true}, {args->out, true}, {args->table, false}, {fourth, false}},
        .params = &params,
    };
    vkf__grid_rows(work, &variant, rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

void vkf_rotary_table(uint32_t len, uint32_t rotary_dim, double base, const double *factors, double magnitude,
                      float *out_values)
{
    const uint32_t half = rotary_dim / 2;
    const double theta = base == 0 ? 10000 : base, scale = magnitude == 0 ? 1 : magnitude;
    for (uint32_t i = 0; out_values && i < half; i++) {
        const double frequency = pow(theta, -2.0 * i / rotary_dim) / (factors ? factors[i] : 1);
        for (uint32_t t = 0; t < len; t++) {
            float *row = out_values + (size_t)t * rotary_dim;
            row[i] = (float)(scale * cos(t * frequency));
            row[half + i] = (float)(scale * sin(t * frequency));
        }
    }
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_rotary_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    return vkf__account_elementwise((double)p->rows * p->head_dim, 3, types[0], types[1]);
}

// The queries or, without any, the keys.
static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_rotary_params *p = dispatched->params;
    const uint32_t plane = p->len * p->heads, batch = plane > 0 ? p->rows / plane : 0;
    const bool queries = p->q_heads > 0;
    *out_extent = (vkf__extent){
        .operand = (queries ? VKF_ROTARY_BINDING_X : VKF_ROTARY_BINDING_OUT) - 1,
        .dtype = dispatched->kernel->types[queries ? 0 : 1],
        .first = queries ? p->x_first : p->k_first,
        .counts = {batch, p->len, queries ? p->q_heads : p->k_heads, p->head_dim},
        .strides = {queries ? p->x_batch : p->out_batch, queries ? p->x_row : p->out_row, p->head_dim, 1},
    };
    return true;
}

// No pipeline is made ahead, because only a layer tells whether heads are normalised and rotated.
static const vkf__typical_problem problems[] = {
    {.label = "heads of 64", .problem = {.m = 512, .n = 64}},
    {.label = "128", .problem = {.m = 512, .n = 128}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_rotary(work, args);
}

// The head's elements as they are turned, but for their place: normalised where there is a weight, which begins at
// `weight`.
static void load_head(const vkf__execution *e, uint64_t first, uint64_t weight, bool normalised, double *out)
{
    const struct vkf_rotary_params *p = e->params;
    double squares = 0;
    for (uint32_t i = 0; i < p->head_dim; i++) {
        out[i] = vkf__load(e, VKF_ROTARY_BINDING_X, first + i);
        squares += out[i] * out[i];
    }
    const double scale = 1 / sqrt(squares / p->head_dim + (double)p->eps);
    for (uint32_t i = 0; normalised && i < p->head_dim; i++)
        out[i] *= scale * vkf__load(e, VKF_ROTARY_BINDING_WEIGHT, weight + i);
}

// The row of the positions that a pair reads.
static uint32_t section_of(const vkf__execution *e, uint32_t pair)
{
    const struct vkf_rotary_params *p = e->params;
    const uint32_t sections[] = {p->section_0, p->section_1, p->section_2, p->section_3};
    uint32_t section = 0, j = pair % (sections[0] + sections[1] + sections[2] + sections[3]);
    if (e->spec[VKF_ROTARY_SPEC_POSITIONS] == VKF_ROTARY_POSITIONS_TURNS)
        return j / 3 < sections[j % 3] ? j % 3 : p->section_rest;
    while (j >= sections[section])
        j -= sections[section++];
    return section;
}

// The position of a pair at (b, t); false where the table has none.
static bool find_position(const vkf__execution *e, uint64_t b, uint64_t t, uint32_t pair, uint64_t *out_position)
{
    const struct vkf_rotary_params *p = e->params;
    const uint32_t kind = e->spec[VKF_ROTARY_SPEC_POSITIONS];
    *out_position = p->first_position + t;
    if (kind == VKF_ROTARY_POSITIONS_FIRST)
        return true;
    const uint64_t section = kind == VKF_ROTARY_POSITIONS_EACH ? 0 : section_of(e, pair);
    *out_position =
        vkf__load_word(e, VKF_ROTARY_BINDING_WEIGHT, section * p->section_stride + b / p->position_share * p->len + t);
    return *out_position < p->table_rows;
}

static void turn(const vkf__execution *e, uint64_t b, uint64_t t, double *head)
{
    const struct vkf_rotary_params *p = e->params;
    const uint32_t half = p->rotary_dim / 2;
    const bool interleaved = e->spec[VKF_ROTARY_SPEC_INTERLEAVED];
    for (uint32_t i = 0; i < half; i++) {
        double *low = &head[interleaved ? 2 * i : i], *high = &head[interleaved ? 2 * i + 1 : i + half];
        const double x = *low, y = *high;
        double cosine = 0, sine = 0;
        uint64_t position;
        if (find_position(e, b, t, i, &position)) {
            cosine = vkf__load(e, VKF_ROTARY_BINDING_TABLE, position * p->rotary_dim + i);
            sine = p->sine_factor * vkf__load(e, VKF_ROTARY_BINDING_TABLE, position * p->rotary_dim + half + i);
        }
        *low = x * cosine - y * sine;
        *high = y * cosine + x * sine;
    }
}

static void execute_row(const vkf__execution *e, uint64_t row, double *head)
{
    const struct vkf_rotary_params *p = e->params;
    const uint64_t h = row % p->heads, t = row / p->heads % p->len, b = row / p->heads / p->len;
    const bool query = h < p->q_heads, value = h >= (uint64_t)p->q_heads + p->k_heads;
    const uint64_t from = p->x_first + b * p->x_batch + t * p->x_row + h * p->head_dim;
    const uint64_t other =
        value ? p->v_first + (h - p->q_heads - p->k_heads) * p->head_dim : p->k_first + (h - p->q_heads) * p->head_dim;
    const uint64_t to = query ? from : other + b * p->out_batch + t * p->out_row;
    load_head(e, from, query ? 0 : p->k_weight, e->spec[VKF_ROTARY_SPEC_WEIGHT] && !value, head);
    if (e->spec[VKF_ROTARY_SPEC_HAS_TABLE] && !value)
        turn(e, b, t, head);
    for (uint32_t i = 0; i < p->head_dim; i++)
        vkf__store(e, query ? VKF_ROTARY_BINDING_X : VKF_ROTARY_BINDING_OUT, to + i, head[i]);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_rotary_params *p = e->params;
    double *head = NULL;
    VKF_ALLOC_OR_RETURN(e->host, head, p->head_dim);
    for (uint64_t row = 0; row < p->rows; row++)
        execute_row(e, row, head);
    vkf__free(e->host, head);
    return VKF_OK;
}

// Heads around the workgroup's size, of an odd number of elements, rotated in part, in rows that lie apart, and with
// every type of weight.
typedef struct rotary_shape {
    uint32_t head_dim, rotary_dim;
    bool table, weight;
    vkf_dtype weight_type;
    bool inverse, interleaved;
    uint32_t positions; // VKF_ROTARY_POSITIONS_*
} rotary_shape;

// Positions within the table and beyond both of its ends. Any section but the second may be empty.
static void add_case_positions(vkf__cases *c, uint32_t kind, vkf__rotary_args *args)
{
    vkf__rotary_positions *positions = &args->positions;
    const uint32_t count = 3 + vkf__case_pick(c, 1, 2);
    positions->share = 1 + vkf__case_pick(c, 1, 2);
    args->batch *= positions->share;
    positions->section_count = kind == VKF_ROTARY_POSITIONS_EACH ? 1 : count;
    positions->in_turns = kind == VKF_ROTARY_POSITIONS_TURNS;
    positions->table_rows = args->first_position + args->len;
    for (uint32_t i = 0; i < count && kind != VKF_ROTARY_POSITIONS_EACH; i++)
        positions->sections[i] = vkf__case_pick(c, i, 5) + (i == 1);
    positions->span = vkf__case_ints(c, -1, (int32_t)positions->table_rows + 1,
                                     (uint64_t)positions->section_count * args->batch / positions->share * args->len);
}

static void add_case_rows(vkf__cases *c, vkf__rotary_args *args)
{
    const vkf_dtype *types = c->variant->kernel->types;
    args->x_row = (args->q_heads + args->k_heads + args->v_heads) * args->head_dim + vkf__case_pick(c, 2, 4);
    args->x_batch = args->len * args->x_row;
    args->v_first = args->k_first + args->k_heads * args->head_dim;
    args->out_row = (args->k_heads + args->v_heads) * args->head_dim + vkf__case_pick(c, 2, 4);
    args->out_batch = args->len * args->out_row;
    args->k_weight = args->q_heads > 0 ? args->head_dim + vkf__case_pick(c, 0, 2) : 0;
    args->x = vkf__case_floats(c, types[0], args->x_first + (uint64_t)args->batch * args->x_batch);
    args->out = vkf__case_floats(c, types[1], args->k_first + (uint64_t)args->batch * args->out_batch);
}

static vkf_status run_shape(vkf__cases *c, const rotary_shape *s)
{
    static const vkf_dtype weights[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_BF16};
    vkf__rotary_args args = {
        .label = "rotary",
        .batch = vkf__case_size(c, 2, 3),
        .len = vkf__case_size(c, 3, 7),
        .q_heads = vkf__case_pick(c, 0, 3),
        .k_heads = 1 + vkf__case_pick(c, 1, 2),
        .v_heads = vkf__case_pick(c, 0, 2),
        .head_dim = vkf__case_size(c, s->head_dim, 600),
        .first_position = vkf__case_pick(c, 5, 9),
        .x_first = vkf__case_pick(c, 1, 3),
        .k_first = vkf__case_pick(c, 2, 3),
        .eps = 1e-5f,
    };
    const bool weight = vkf__case_flip(c, s->weight), table = vkf__case_flip(c, s->table);
    args.rotary_dim = c->draw ? vkf__case_pick(c, 0, args.head_dim / 2 + 1) * 2 : s->rotary_dim;
    args.inverse = vkf__case_flip(c, s->inverse) && !weight;
    args.interleaved = vkf__case_constant(c, VKF_ROTARY_SPEC_INTERLEAVED, vkf__case_flip(c, s->interleaved));
    const uint32_t kind = vkf__case_constant(c, VKF_ROTARY_SPEC_POSITIONS, vkf__case_pick(c, s->positions, 4));
    if (kind != VKF_ROTARY_POSITIONS_FIRST && table && !weight)
        add_case_positions(c, kind, &args);
    add_case_rows(c, &args);
    if (table)
        args.table =
            vkf__case_floats(c, VKF_DTYPE_F32, (uint64_t)(args.first_position + args.len) * (args.rotary_dim + 1));
    if (weight)
        args.weight = vkf__case_floats(c, weights[vkf__case_pick(c, s->weight_type, 3) % 3],
                                       (uint64_t)args.k_weight + args.head_dim);
    return vkf__case_run(c, &args, vkf__case_close(args.out.dtype),
                         "(%u, %u, %u + %u + %u, %u), %u turned%s, pairs %u, positions %u, weight %u", args.batch,
                         args.len, args.q_heads, args.k_heads, args.v_heads, args.head_dim, table ? args.rotary_dim : 0,
                         args.inverse ? " back" : "", args.interleaved, positions_flag(&args.positions),
                         weight_flag(&args.weight));
}

static vkf_status cases(vkf__cases *c)
{
    const uint32_t size = c->variant->config->local_size;
    const rotary_shape shapes[] = {
        {64, 64, true, false, VKF_DTYPE_F32, false, false, VKF_ROTARY_POSITIONS_FIRST},
        {13, 6, true, false, VKF_DTYPE_F32, false, true, VKF_ROTARY_POSITIONS_EACH},
        {2 * size + 3, 2 * size, true, true, VKF_DTYPE_F32, false, false, VKF_ROTARY_POSITIONS_FIRST},
        {size - 1, 2, true, true, VKF_DTYPE_F16, false, false, VKF_ROTARY_POSITIONS_FIRST},
        {3 * size + 7, 10, true, true, VKF_DTYPE_BF16, false, true, VKF_ROTARY_POSITIONS_FIRST},
        {13, 0, false, true, VKF_DTYPE_F32, false, false, VKF_ROTARY_POSITIONS_FIRST},
        {13, 6, true, false, VKF_DTYPE_F32, true, false, VKF_ROTARY_POSITIONS_FIRST},
        {2 * size + 3, 2 * size, true, false, VKF_DTYPE_F32, false, false, VKF_ROTARY_POSITIONS_SECTIONS},
        {64, 62, true, false, VKF_DTYPE_F32, true, false, VKF_ROTARY_POSITIONS_TURNS},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(run_shape(c, &shapes[i]));
    return VKF_OK;
}

const vkf__op_info vkf__op_rotary = {
    .params_bytes = sizeof(struct vkf_rotary_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_ROTARY_SPEC_HAS_TABLE, 1}},
};
