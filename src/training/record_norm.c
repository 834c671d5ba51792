// Layer and RMS normalisation on a tape.
#include "op/layer_norm.h"
#include "op/train/norm_gradients.h"
#include "training/records.h"

enum { X, WEIGHT, BIAS };

static vkf_status gradient_of(vkf__tape *tape, vkf__value value, vkf__norm_gradient *out_gradient)
{
    if (!vkf__tape_wants(tape, value))
        return VKF_OK;
    return vkf__tape_gradient(tape, value, &out_gradient->out, &out_gradient->accumulate);
}

static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    const vkf__norm_values *norm = vkf__tape_note(tape, node);
    vkf__norm_gradients_args args = {
        .label = "norm_grad",
        .x = *vkf__tape_span(tape, node->operands[X]),
        .weight = norm->weight ? *vkf__tape_span(tape, norm->weight) : (vkf__span){0},
        .dout = out.gradient,
        .rows = out.rows,
        .dim = out.cols,
        .eps = norm->eps,
        .rms = norm->rms,
    };
    VKF_RETURN_IF_ERROR(gradient_of(tape, node->operands[BIAS], &args.dbias));
    VKF_RETURN_IF_ERROR(gradient_of(tape, node->operands[WEIGHT], &args.dweight));
    if (vkf__tape_wants(tape, node->operands[X]))
        VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[X], &args.dx, &args.accumulate));
    return vkf__emit_norm_gradients(tape->work, &args);
}

vkf_status vkf__record_norm(vkf__tape *tape, const char *label, vkf__value x, const vkf__norm_values *norm,
                            vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, x);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, from.rows, from.cols, out_value));
    const vkf__layer_norm_args args = {
        .label = label,
        .x = from.span,
        .out = *vkf__tape_span(tape, *out_value),
        .weight = norm->weight ? *vkf__tape_span(tape, norm->weight) : (vkf__span){0},
        .bias = norm->bias ? *vkf__tape_span(tape, norm->bias) : (vkf__span){0},
        .rows = from.rows,
        .dim = from.cols,
        .eps = norm->eps,
        .rms = norm->rms,
    };
    VKF_RETURN_IF_ERROR(vkf__emit_layer_norm(tape->work, &args));
    const vkf__tape_node node = {back, *out_value, {x, norm->weight, norm->bias}, 0, NULL};
    return vkf__tape_record(tape, &node, norm, sizeof *norm);
}
