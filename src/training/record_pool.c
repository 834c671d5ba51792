// Pooling on a tape.
#include "op/pool.h"
#include "op/softmax.h"
#include "op/train/pool_grad.h"
#include "training/records.h"

static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__pool_args forward = *(const vkf__pool_args *)vkf__tape_note(tape, node);
    vkf__pool_grad_args args = {
        .label = "pool_grad",
        .x = forward.x,
        .lengths = forward.lengths,
        .dout = vkf__tape_at(tape, node->out)->gradient,
        .batch = forward.batch,
        .len = forward.len,
        .dim = forward.dim,
        .pooling = forward.pooling,
    };
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[0], &args.dx, &args.accumulate));
    return vkf__emit_pool_grad(tape->work, &args);
}

// Pooling takes no length for more than len, so that any large number stands for all of it. Softmax of one column is
// 1.0 whatever x holds, and its bits are such a number.
static vkf_status emit_lengths(vkf__tape *tape, const vkf__tape_value *x, uint32_t batch, vkf__span *out_lengths)
{
    vkf__softmax_args args = {
        .label = "all_of_len", .x = x->span, .batch = batch, .heads = 1, .q_len = 1, .k_len = 1, .masks = {.scale = 1}};
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, batch, &args.out));
    VKF_RETURN_IF_ERROR(vkf__emit_softmax(tape->work, &args));
    *out_lengths = args.out;
    out_lengths->dtype = VKF_DTYPE_I32;
    return VKF_OK;
}

vkf_status vkf__record_pool(vkf__tape *tape, const char *label, vkf__value x, const vkf__span *lengths,
                            vkf_pooling pooling, uint32_t batch, uint32_t len, vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, x);
    vkf__pool_args args = {
        .label = label,
        .x = from.span,
        .lengths = *lengths,
        .batch = batch,
        .len = len,
        .dim = from.cols,
        .pooling = pooling,
    };
    if (!vkf__present(lengths))
        VKF_RETURN_IF_ERROR(emit_lengths(tape, &from, batch, &args.lengths));
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, batch, from.cols, out_value));
    args.out = *vkf__tape_span(tape, *out_value);
    VKF_RETURN_IF_ERROR(vkf__emit_pool(tape->work, &args));
    const vkf__tape_node node = {back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, &args, sizeof args);
}
