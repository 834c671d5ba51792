// Parts of values on a tape, values side by side, and values in another shape.
#include "op/copy.h"
#include "training/records.h"

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
    VKF_RETURN_IF_ERROR(vkf__tape_zeroed_gradient(tape, node->operands[0], &copy.out));
    return vkf__emit_copy(tape->work, &copy);
}

// rows x cols of x from its element `first` on.
static vkf_status record_part(vkf__tape *tape, const char *label, vkf__value x, uint32_t first, uint32_t rows,
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
    const vkf__tape_node node = {back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, &first, sizeof first);
}

vkf_status vkf__record_columns(vkf__tape *tape, const char *label, vkf__value x, uint32_t first, uint32_t cols,
                               vkf__value *out_value)
{
    return record_part(tape, label, x, first, vkf__tape_at(tape, x)->rows, cols, out_value);
}

vkf_status vkf__record_rows(vkf__tape *tape, const char *label, vkf__value x, uint32_t first, uint32_t rows,
                            vkf__value *out_value)
{
    const uint32_t cols = vkf__tape_at(tape, x)->cols;
    return record_part(tape, label, x, first * cols, rows, cols, out_value);
}

static vkf_status view_back(vkf__tape *tape, const vkf__tape_node *node)
{
    return vkf__tape_pass_on(tape, node->operands[0], &vkf__tape_at(tape, node->out)->gradient);
}

vkf_status vkf__record_view(vkf__tape *tape, vkf__value x, uint32_t rows, uint32_t cols, vkf__value *out_value)
{
    VKF_RETURN_IF_ERROR(vkf__tape_view(tape, x, rows, cols, out_value));
    const vkf__tape_node node = {view_back, *out_value, {x}, 0, NULL};
    return vkf__tape_record(tape, &node, NULL, 0);
}

// Between `part` and its columns of `whole`, from `first` on.
static vkf_status emit_columns(vkf__tape *tape, const char *label, const vkf__tape_value *part, const vkf__span *from,
                               const vkf__span *to, uint32_t whole_cols, uint32_t first, bool out_of, float beta)
{
    const vkf__copy_args copy = {
        .label = label,
        .x = *from,
        .out = *to,
        .outer = 1,
        .rows = part->rows,
        .cols = part->cols,
        .x_first = out_of ? first : 0,
        .x_row = out_of ? whole_cols : part->cols,
        .out_first = out_of ? 0 : first,
        .out_row = out_of ? part->cols : whole_cols,
        .alpha = 1,
        .beta = beta,
    };
    return vkf__emit_copy(tape->work, &copy);
}

static vkf_status join_back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__tape_value out = *vkf__tape_at(tape, node->out);
    uint32_t first = 0;
    for (size_t i = 0; i < 2; i++) {
        const vkf__tape_value part = *vkf__tape_at(tape, node->operands[i]);
        vkf__span to;
        bool adds;
        if (part.wanted) {
            VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, node->operands[i], &to, &adds));
            VKF_RETURN_IF_ERROR(
                emit_columns(tape, "join_grad", &part, &out.gradient, &to, out.cols, first, true, adds ? 1.0f : 0.0f));
        }
        first += part.cols;
    }
    return VKF_OK;
}

vkf_status vkf__record_join(vkf__tape *tape, const char *label, vkf__value a, vkf__value b, vkf__value *out_value)
{
    const vkf__tape_value parts[] = {*vkf__tape_at(tape, a), *vkf__tape_at(tape, b)};
    const uint32_t cols = parts[0].cols + parts[1].cols;
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, parts[0].rows, cols, out_value));
    for (size_t i = 0; i < 2; i++)
        VKF_RETURN_IF_ERROR(emit_columns(tape, label, &parts[i], &parts[i].span, vkf__tape_span(tape, *out_value), cols,
                                         i == 0 ? 0 : parts[0].cols, false, 0));
    const vkf__tape_node node = {join_back, *out_value, {a, b}, 0, NULL};
    return vkf__tape_record(tape, &node, NULL, 0);
}
