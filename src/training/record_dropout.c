// Dropout and sums, whose second term may be dropped, on a tape.
#include "op/train/dropout.h"
#include "training/records.h"

static vkf__dropout_args args_of(const char *label, const vkf__tape_value *x, const vkf__dropout_state *dropout)
{
    return (vkf__dropout_args){
        .label = label,
        .x = x->span,
        .rows = x->rows,
        .dim = x->cols,
        .p = dropout->p,
        .seed = dropout->seed,
        .stream = dropout->stream,
        .step = dropout->step,
    };
}

// The gradient of what was dropped. The same elements of it are dropped.
static vkf_status drop_gradient(vkf__tape *tape, const vkf__tape_node *node, vkf__value x)
{
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    vkf__dropout_args args = args_of("dropout_grad", &out, vkf__tape_note(tape, node));
    bool adds;
    args.x = out.gradient;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, x, &args.out, &adds));
    if (adds)
        args.residual = args.out;
    return vkf__emit_dropout(tape->work, &args);
}

static vkf_status dropout_back(vkf__tape *tape, const vkf__tape_node *node)
{
    return drop_gradient(tape, node, node->operands[0]);
}

vkf_status vkf__record_dropout(vkf__tape *tape, const char *label, vkf__value x, const vkf__dropout_state *dropout,
                               vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, x);
    *out_value = x;
    if (dropout->p == 0.0f)
        return VKF_OK;
    vkf__dropout_args args = args_of(label, &from, dropout);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, from.rows, from.cols, out_value));
    args.out = *vkf__tape_span(tape, *out_value);
    VKF_RETURN_IF_ERROR(vkf__emit_dropout(tape->work, &args));
    const vkf__tape_node node = {dropout_back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, dropout, sizeof *dropout);
}

static vkf_status residual_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__dropout_state *dropout = vkf__tape_note(tape, node);
    const vkf__span gradient = vkf__tape_at(tape, node->out)->gradient;
    const vkf__value a = node->operands[0], b = node->operands[1];
    if (vkf__tape_wants(tape, a))
        VKF_RETURN_IF_ERROR(vkf__tape_pass_on(tape, a, &gradient));
    if (!vkf__tape_wants(tape, b))
        return VKF_OK;
    return dropout->p == 0.0f ? vkf__tape_pass_on(tape, b, &gradient) : drop_gradient(tape, node, b);
}

vkf_status vkf__record_residual(vkf__tape *tape, const char *label, vkf__value a, vkf__value b,
                                const vkf__dropout_state *dropout, vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, b);
    vkf__dropout_args args = args_of(label, &from, dropout);
    args.residual = *vkf__tape_span(tape, a);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, from.rows, from.cols, out_value));
    args.out = *vkf__tape_span(tape, *out_value);
    VKF_RETURN_IF_ERROR(vkf__emit_dropout(tape->work, &args));
    const vkf__tape_node node = {residual_back, *out_value, {a, b}, 0, NULL};
    return vkf__tape_record(tape, &node, dropout, sizeof *dropout);
}

vkf_status vkf__record_sum(vkf__tape *tape, const char *label, vkf__value a, vkf__value b, vkf__value *out_value)
{
    return vkf__record_residual(tape, label, a, b, &(vkf__dropout_state){0}, out_value);
}
