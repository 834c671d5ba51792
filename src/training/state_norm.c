// Layer and RMS normalisation on a tape.
#include "op/column_sum.h"
#include "op/layer_norm.h"
#include "op/layer_norm_grad.h"
#include "training/statements.h"

enum { X, WEIGHT, BIAS };

static vkf_status emit_bias(vkf__tape *tape, const vkf__tape_node *node, const vkf__tape_value *out)
{
    vkf__column_sum_args sum = {"norm_bias_grad", .x = out->gradient, .rows = out->rows, .cols = out->cols};
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[BIAS], &sum.out, &sum.accumulate));
    return vkf__emit_column_sum(tape->work, &sum);
}

static vkf_status emit_weight(vkf__tape *tape, const vkf__tape_node *node, const vkf__tape_value *out,
                              const vkf__span *stats)
{
    vkf__column_sum_args sum = {
        .label = "norm_weight_grad",
        .x = out->gradient,
        .normed = *vkf__tape_span(tape, node->operands[X]),
        .stats = *stats,
        .rows = out->rows,
        .cols = out->cols,
    };
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[WEIGHT], &sum.out, &sum.accumulate));
    return vkf__emit_column_sum(tape->work, &sum);
}

// The gradient of x, and the moments of its rows, which that of the weight takes. Where nobody asks for the former, it
// goes to a temporary.
static vkf_status emit_input(vkf__tape *tape, const vkf__tape_node *node, const vkf__tape_value *out,
                             vkf__span *out_stats)
{
    const vkf__norm_values *norm = vkf__tape_note(tape, node);
    vkf__layer_norm_grad_args args = {
        .label = "norm_grad",
        .x = *vkf__tape_span(tape, node->operands[X]),
        .weight = norm->weight ? *vkf__tape_span(tape, norm->weight) : (vkf__span){0},
        .dout = out->gradient,
        .rows = out->rows,
        .dim = out->cols,
        .eps = norm->eps,
        .rms = norm->rms,
    };
    if (vkf__tape_wants(tape, node->operands[WEIGHT]))
        VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, 2 * (uint64_t)out->rows, &args.stats));
    if (vkf__tape_wants(tape, node->operands[X]))
        VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[X], &args.dx, &args.accumulate));
    else
        VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, out->count, &args.dx));
    *out_stats = args.stats;
    return vkf__emit_layer_norm_grad(tape->work, &args);
}

static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    if (vkf__tape_wants(tape, node->operands[BIAS]))
        VKF_RETURN_IF_ERROR(emit_bias(tape, node, &out));
    if (!vkf__tape_wants(tape, node->operands[X]) && !vkf__tape_wants(tape, node->operands[WEIGHT]))
        return VKF_OK;
    vkf__span stats;
    VKF_RETURN_IF_ERROR(emit_input(tape, node, &out, &stats));
    return vkf__tape_wants(tape, node->operands[WEIGHT]) ? emit_weight(tape, node, &out, &stats) : VKF_OK;
}

vkf_status vkf__state_norm(vkf__tape *tape, const char *label, vkf__value x, const vkf__norm_values *norm,
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
    return vkf__tape_state(tape, &node, norm, sizeof *norm);
}
