// Rotary embedding of heads on a tape.
#include "op/rotary.h"
#include "training/records.h"

// Turns all heads of x, which the operator takes for keys; they are written to another place.
static vkf_status emit_turn(vkf__tape *tape, const vkf__rotary_args *turn, const vkf__span *x, const vkf__span *out)
{
    vkf__rotary_args args = *turn;
    args.x = *x;
    args.out = *out;
    return vkf__emit_rotary(tape->work, &args);
}

// A rotation's gradient is turned back. The operator does not add.
static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    vkf__rotary_args turn = *(const vkf__rotary_args *)vkf__tape_note(tape, node);
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    vkf__span dx;
    turn.label = "rotary_grad";
    turn.inverse = true;
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, out.count, &dx));
    VKF_RETURN_IF_ERROR(emit_turn(tape, &turn, &out.gradient, &dx));
    return vkf__tape_pass_on(tape, node->operands[0], &dx);
}

vkf_status vkf__record_rotary(vkf__tape *tape, const char *label, vkf__value x, const vkf__span *rotary,
                              uint32_t rotary_dim, uint32_t batch, uint32_t len, uint32_t heads, uint32_t head_dim,
                              vkf__value *out_value)
{
    const uint32_t row = heads * head_dim;
    const vkf__rotary_args turn = {
        .label = label,
        .table = *rotary,
        .batch = batch,
        .len = len,
        .k_heads = heads,
        .head_dim = head_dim,
        .rotary_dim = rotary_dim,
        .x_batch = len * row,
        .x_row = row,
        .out_batch = len * row,
        .out_row = row,
    };
    const vkf__span from = *vkf__tape_span(tape, x);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, batch * len, row, out_value));
    VKF_RETURN_IF_ERROR(emit_turn(tape, &turn, &from, vkf__tape_span(tape, *out_value)));
    const vkf__tape_node node = {back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, &turn, sizeof turn);
}
