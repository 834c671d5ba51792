// Parts of values on a tape.
#include "op/copy.h"
#include "training/statements.h"

// What no part has contributed to is 0.
static vkf_status emit_zeros(vkf__tape *tape, const vkf__tape_value *of, const vkf__span *gradient)
{
    const vkf__copy_args zeros = {"zeros",          .x = *gradient,   .out = *gradient,   .outer = 1,
                                  .rows = of->rows, .cols = of->cols, .out_row = of->cols};
    return vkf__emit_copy(tape->work, &zeros);
}

static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__tape_value part = *vkf__tape_at(tape, node->out), whole = *vkf__tape_at(tape, node->operands[0]);
    const uint32_t *first = vkf__tape_note(tape, node);
    vkf__copy_args copy = {
        .label = "part_grad",
        .x = part.gradient,
        .outer = 1,
        .rows = part.rows,
        .cols = part.cols,
        .x_row = part.cols,
        .out_first = *first,
        .out_row = whole.cols,
        .alpha = 1,
        .beta = 1,
    };
    bool adds;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[0], &copy.out, &adds));
    if (!adds)
        VKF_RETURN_IF_ERROR(emit_zeros(tape, &whole, &copy.out));
    return vkf__emit_copy(tape->work, &copy);
}

// rows x cols of x from its element `first` on.
static vkf_status state_part(vkf__tape *tape, const char *label, vkf__value x, uint32_t first, uint32_t rows,
                             uint32_t cols, vkf__value *out_value)
{
    const vkf__tape_value from = *vkf__tape_at(tape, x);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, rows, cols, out_value));
    const vkf__copy_args copy = {
        .label = label,
        .x = from.span,
        .out = *vkf__tape_span(tape, *out_value),
        .outer = 1,
        .rows = rows,
        .cols = cols,
        .x_first = first,
        .x_row = from.cols,
        .out_row = cols,
        .alpha = 1,
    };
    VKF_RETURN_IF_ERROR(vkf__emit_copy(tape->work, &copy));
    const vkf__tape_node node = {back, *out_value, {x}, 0};
    return vkf__tape_state(tape, &node, &first, sizeof first);
}

vkf_status vkf__state_columns(vkf__tape *tape, const char *label, vkf__value x, uint32_t first, uint32_t cols,
                              vkf__value *out_value)
{
    return state_part(tape, label, x, first, vkf__tape_at(tape, x)->rows, cols, out_value);
}

vkf_status vkf__state_rows(vkf__tape *tape, const char *label, vkf__value x, uint32_t first, uint32_t rows,
                           vkf__value *out_value)
{
    const uint32_t cols = vkf__tape_at(tape, x)->cols;
    return state_part(tape, label, x, first * cols, rows, cols, out_value);
}
