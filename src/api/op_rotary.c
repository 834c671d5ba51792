// Public entry point of rotary position embedding.
#include "op/rotary.h"

#include <string.h>

#include "api/op_check.h"
#include "op/operators.h"

// The dimensions of x in either order.
typedef struct rotary_shape {
    uint32_t batch, heads, len, head_dim;
} rotary_shape;

static bool has_sections(const vkf_rotary_desc *desc)
{
    static const uint32_t none[VKF_ROTARY_MAX_SECTIONS] = {0};
    return memcmp(desc->sections, none, sizeof none) != 0;
}

static vkf_status check_sections(const vkf__checker *check, const vkf_rotary_desc *desc, uint32_t count)
{
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < VKF_ROTARY_MAX_SECTIONS; i++) {
        if (i >= count && desc->sections[i] > 0)
            return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                             "%s: sections[%u] has pairs, and positions only %u rows", check->function, i, count);
        pairs += desc->sections[i];
    }
    if (pairs > UINT32_MAX / 3)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: sections of more than 2^32 / 3 pairs",
                         check->function);
    if (desc->sections_in_turns && count < 3)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: sections in turns take three or four rows of positions, not %u", check->function, count);
    return VKF_OK;
}

static vkf_status check_positions(const vkf__checker *check, const vkf_rotary_desc *desc, const rotary_shape *s)
{
    const vkf_tensor *positions = &desc->positions;
    const bool sections = has_sections(desc);
    if (positions->rank == 0 && (sections || desc->sections_in_turns))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: sections without positions", check->function);
    if (positions->rank == 0) {
        if ((uint64_t)desc->first_position + s->len <= desc->table.shape[0])
            return VKF_OK;
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: positions %u to %llu, the table has %u",
                         check->function, desc->first_position, (unsigned long long)desc->first_position + s->len - 1,
                         desc->table.shape[0]);
    }
    const uint32_t rank = sections ? 3 : 2, count = sections ? positions->shape[0] : 1;
    const uint32_t *rows = positions->shape + (sections ? 1 : 0);
    const uint32_t shape[] = {count, rows[0] == 1 ? 1 : s->batch, s->len};
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, positions, "positions", VKF_DTYPE_I32, rank, shape + (3 - rank)));
    if (count > VKF_ROTARY_MAX_SECTIONS || desc->first_position > 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         count > VKF_ROTARY_MAX_SECTIONS ? "%s: positions have more than four sections"
                                                         : "%s: first_position is for calls without positions",
                         check->function);
    return check_sections(check, desc, count);
}

static vkf_status check_rotary(const vkf__checker *check, const vkf_rotary_desc *desc, rotary_shape *out_shape)
{
    const vkf_tensor *x = &desc->x, *table = &desc->table;
    VKF_RETURN_IF_ERROR(vkf__check_float(check, x, "x"));
    if (x->rank != 4)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: x must be of rank 4", check->function);
    const rotary_shape s = {x->shape[0], x->shape[desc->merged ? 2 : 1], x->shape[desc->merged ? 1 : 2], x->shape[3]};
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", x->dtype, 4, x->shape));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, table, "table", VKF_DTYPE_F32, 2, table->shape));
    if (table->shape[1] % 2 != 0 || table->shape[1] > s.head_dim)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: the table turns %u elements of heads of %u; it must be an even number up to that",
                         check->function, table->shape[1], s.head_dim);
    if (vkf__is_empty(table) && !vkf__is_empty(x))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: the table is empty, and x is not",
                         check->function);
    VKF_RETURN_IF_ERROR(check_positions(check, desc, &s));
    if (!vkf__same_tensor(&desc->out, x))
        VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, table, "table"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->positions, "positions"));
    uint32_t count = 0;
    *out_shape = s;
    return vkf__check_elements(check, x, &count);
}

// Heads that lie apart are entries of the batch, each with a single head.
static vkf__rotary_args args_of(const vkf_rotary_desc *desc, const rotary_shape *s)
{
    const uint32_t apart = desc->merged ? 1 : s->heads, heads = desc->merged ? s->heads : 1;
    const uint32_t row = heads * s->head_dim, batch = s->batch * apart;
    const vkf_tensor *positions = &desc->positions;
    vkf__rotary_args args = {
        .label = "rotary",
        .x = vkf__span_of(&desc->x),
        .out = vkf__span_of(&desc->out),
        .table = vkf__span_of(&desc->table),
        .batch = batch,
        .len = s->len,
        .k_heads = heads,
        .head_dim = s->head_dim,
        .rotary_dim = desc->table.shape[1],
        .first_position = desc->first_position,
        .x_batch = s->len * row,
        .x_row = row,
        .out_batch = s->len * row,
        .out_row = row,
        .interleaved = desc->interleaved,
        .inverse = desc->inverse,
    };
    if (positions->rank == 0)
        return args;
    args.positions = (vkf__rotary_positions){
        .span = vkf__span_of(positions),
        .share = positions->shape[positions->rank - 2] == 1 ? batch : apart,
        .table_rows = desc->table.shape[0],
        .section_count = positions->rank == 3 ? positions->shape[0] : 1,
        .in_turns = desc->sections_in_turns,
    };
    memcpy(args.positions.sections, desc->sections, sizeof args.positions.sections);
    return args;
}

vkf_status vkf_rotary_sized(vkf_context *context, const vkf_rotary_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_rotary");
    if (status != VKF_OK)
        return status;
    rotary_shape shape = {0};
    VKF_TAKE_SIZED(&context->host, "vkf_rotary", vkf_rotary_desc, desc, desc_bytes);
    const vkf__checker check = vkf__operator_checker(context, "vkf_rotary");
    VKF_RETURN_IF_ERROR(check_rotary(&check, desc, &shape));
    const vkf__rotary_args args = args_of(desc, &shape);
    return vkf__run_operator(&check, &desc->out, "rotary", vkf__operator(VKF_OP_ROTARY)->emit, &args);
}
