// Activations, gates and rows behind others on a tape.
#include <assert.h>

#include "op/activation.h"
#include "op/copy.h"
#include "op/gate.h"
#include "op/train/activation_grad.h"
#include "op/train/column_sum.h"
#include "op/train/gate_grad.h"
#include "training/records.h"

static vkf_status activation_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    const vkf_activation *activation = vkf__tape_note(tape, node);
    vkf__activation_grad_args args = {
        .label = "activation_grad",
        .x = *vkf__tape_span(tape, node->operands[0]),
        .dout = out.gradient,
        .rows = out.rows,
        .dim = out.cols,
        .activation = *activation,
    };
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[0], &args.dx, &args.accumulate));
    return vkf__emit_activation_grad(tape->work, &args);
}

vkf_status vkf__record_activation(vkf__tape *tape, const char *label, vkf__value x, vkf_activation activation,
                                  vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, x);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, from.rows, from.cols, out_value));
    const vkf__activation_args args = {label,      from.span, *vkf__tape_span(tape, *out_value), from.rows, from.cols,
                                       activation, 0};
    VKF_RETURN_IF_ERROR(vkf__emit_activation(tape->work, &args));
    const vkf__tape_node node = {activation_back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, &activation, sizeof activation);
}

static vkf_status gate_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    const vkf_activation *activation = vkf__tape_note(tape, node);
    vkf__gate_grad_args args = {
        .label = "gate_grad",
        .x = *vkf__tape_span(tape, node->operands[0]),
        .dout = out.gradient,
        .rows = out.rows,
        .dim = out.cols,
        .activation = *activation,
    };
    // Nothing else reads what is gated.
    bool adds;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[0], &args.dx, &adds));
    assert(!adds);
    return vkf__emit_gate_grad(tape->work, &args);
}

vkf_status vkf__record_gate(vkf__tape *tape, const char *label, vkf__value x, vkf_activation activation,
                            vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, x);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, from.rows, from.cols / 2, out_value));
    const vkf__gate_args args = {label,         from.span, *vkf__tape_span(tape, *out_value), 0, from.rows,
                                 from.cols / 2, activation};
    VKF_RETURN_IF_ERROR(vkf__emit_gate(tape->work, &args));
    const vkf__tape_node node = {gate_back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, &activation, sizeof activation);
}

static uint32_t longer(const vkf__extra_rows *extra)
{
    return extra->len + (extra->row ? 1u : 0u) + extra->zeros;
}

// The rows of x as they lie among the longer ones, either way.
static vkf__copy_args rows_of_x(const vkf__extra_rows *extra, uint32_t cols, bool out)
{
    const uint32_t compact = extra->len * cols, spread = longer(extra) * cols;
    return (vkf__copy_args){
        .label = "rows",
        .outer = extra->batch,
        .rows = extra->len,
        .cols = cols,
        .x_outer = out ? compact : spread,
        .out_outer = out ? spread : compact,
        .x_row = cols,
        .out_row = cols,
        .alpha = 1,
    };
}

// The extra row's gradients are the rows behind each batch entry's, brought together and summed.
static vkf_status extra_row_back(vkf__tape *tape, const vkf__tape_node *node, const vkf__extra_rows *extra,
                                 const vkf__tape_value *out)
{
    vkf__copy_args copy = rows_of_x(extra, out->cols, false);
    copy.label = "extra_rows";
    copy.x = out->gradient;
    copy.rows = 1;
    copy.x_first = extra->len * out->cols;
    copy.out_outer = out->cols;
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, (uint64_t)extra->batch * out->cols, &copy.out));
    VKF_RETURN_IF_ERROR(vkf__emit_copy(tape->work, &copy));
    vkf__column_sum_args sum = {"extra_row_grad", .x = copy.out, .rows = extra->batch, .cols = out->cols};
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[1], &sum.out, &sum.accumulate));
    return vkf__emit_column_sum(tape->work, &sum);
}

static vkf_status extra_rows_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    const vkf__extra_rows *extra = vkf__tape_note(tape, node);
    if (vkf__tape_wants(tape, node->operands[0])) {
        vkf__copy_args copy = rows_of_x(extra, out.cols, false);
        bool adds;
        copy.x = out.gradient;
        VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[0], &copy.out, &adds));
        copy.beta = adds ? 1.0f : 0.0f;
        VKF_RETURN_IF_ERROR(vkf__emit_copy(tape->work, &copy));
    }
    return vkf__tape_wants(tape, node->operands[1]) ? extra_row_back(tape, node, extra, &out) : VKF_OK;
}

static vkf_status emit_extra(vkf__tape *tape, const char *label, const vkf__extra_rows *extra, vkf__value out,
                             uint32_t position, vkf__value row)
{
    const vkf__tape_value *to = vkf__tape_at(tape, out);
    const vkf__copy_args copy = {
        .label = label,
        .x = row ? *vkf__tape_span(tape, row) : to->span,
        .out = to->span,
        .outer = extra->batch,
        .rows = 1,
        .cols = to->cols,
        .out_first = position * to->cols,
        .out_outer = longer(extra) * to->cols,
        .alpha = row ? 1.0f : 0.0f,
    };
    return vkf__emit_copy(tape->work, &copy);
}

vkf_status vkf__record_extra_rows(vkf__tape *tape, const char *label, vkf__value x, const vkf__extra_rows *extra,
                                  vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, x);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, extra->batch * longer(extra), from.cols, out_value));
    vkf__copy_args copy = rows_of_x(extra, from.cols, true);
    copy.label = label;
    copy.x = from.span;
    copy.out = *vkf__tape_span(tape, *out_value);
    VKF_RETURN_IF_ERROR(vkf__emit_copy(tape->work, &copy));
    uint32_t position = extra->len;
    if (extra->row)
        VKF_RETURN_IF_ERROR(emit_extra(tape, label, extra, *out_value, position++, extra->row));
    for (uint32_t i = 0; i < extra->zeros; i++)
        VKF_RETURN_IF_ERROR(emit_extra(tape, label, extra, *out_value, position++, 0));
    const vkf__tape_node node = {extra_rows_back, *out_value, {x, extra->row}, 0, NULL};
    return vkf__tape_record(tape, &node, extra, sizeof *extra);
}
