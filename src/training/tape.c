// Values, statements and gradients of a tape.
#include "training/tape.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "op/copy.h"

void vkf__tape_init(vkf__tape *tape, const vkf__host *host)
{
    *tape = (vkf__tape){.host = host};
}

void vkf__tape_finish(vkf__tape *tape)
{
    vkf__free(tape->host, tape->values);
    vkf__free(tape->host, tape->nodes);
    vkf__free(tape->host, tape->notes);
    *tape = (vkf__tape){0};
}

void vkf__tape_begin(vkf__tape *tape, vkf__work *work)
{
    tape->work = work;
    tape->value_count = tape->node_count = tape->note_bytes = 0;
}

vkf__tape_value *vkf__tape_at(const vkf__tape *tape, vkf__value value)
{
    assert(value > 0 && value <= tape->value_count);
    return &tape->values[value - 1];
}

const vkf__span *vkf__tape_span(const vkf__tape *tape, vkf__value value)
{
    return &vkf__tape_at(tape, value)->span;
}

bool vkf__tape_wants(const vkf__tape *tape, vkf__value value)
{
    return value > 0 && vkf__tape_at(tape, value)->wanted;
}

static vkf_status add_value(vkf__tape *tape, const vkf__tape_value *value, vkf__value *out_value)
{
    VKF_RETURN_IF_ERROR(vkf__grow(tape->host, (void **)&tape->values, sizeof *value, tape->value_count,
                                  &tape->value_capacity, tape->value_count + 1));
    tape->values[tape->value_count++] = *value;
    *out_value = (vkf__value)tape->value_count;
    return VKF_OK;
}

vkf_status vkf__tape_leaf(vkf__tape *tape, const vkf__span *span, const vkf__span *gradient, uint32_t rows,
                          uint32_t cols, vkf__value *out_value)
{
    const vkf__tape_value value = {
        .span = *span,
        .count = span->size_bytes / sizeof(float),
        .rows = rows,
        .cols = cols,
        .gradient = *gradient,
        .wanted = vkf__present(gradient),
        .begun = tape->accumulates && vkf__present(gradient),
    };
    return add_value(tape, &value, out_value);
}

vkf_status vkf__tape_result(vkf__tape *tape, uint32_t rows, uint32_t cols, vkf__value *out_value)
{
    vkf__tape_value value = {.count = (uint64_t)rows * cols, .rows = rows, .cols = cols};
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, value.count, &value.span));
    return add_value(tape, &value, out_value);
}

vkf_status vkf__tape_view(vkf__tape *tape, vkf__value of, uint32_t rows, uint32_t cols, vkf__value *out_value)
{
    const vkf__tape_value *at = vkf__tape_at(tape, of);
    const vkf__tape_value value = {.span = at->span, .count = at->count, .rows = rows, .cols = cols};
    return add_value(tape, &value, out_value);
}

vkf_status vkf__tape_record(vkf__tape *tape, const vkf__tape_node *node, const void *note, size_t note_bytes)
{
    // Notes hold pointers, so each begins where one may lie.
    const size_t room = (note_bytes + 15) / 16 * 16;
    VKF_RETURN_IF_ERROR(vkf__grow(tape->host, (void **)&tape->nodes, sizeof *node, tape->node_count,
                                  &tape->node_capacity, tape->node_count + 1));
    VKF_RETURN_IF_ERROR(vkf__grow(tape->host, (void **)&tape->notes, 1, tape->note_bytes, &tape->note_capacity,
                                  tape->note_bytes + room));
    bool wanted = false;
    for (size_t i = 0; i < VKF_TAPE_OPERANDS; i++)
        wanted = wanted || vkf__tape_wants(tape, node->operands[i]);
    vkf__tape_at(tape, node->out)->wanted = wanted;
    tape->nodes[tape->node_count] = *node;
    tape->nodes[tape->node_count].prefix = tape->work->prefix;
    tape->nodes[tape->node_count++].note = tape->note_bytes;
    vkf__tape_at(tape, node->out)->statement = tape->node_count;
    if (note_bytes > 0)
        memcpy(tape->notes + tape->note_bytes, note, note_bytes);
    tape->note_bytes += room;
    return VKF_OK;
}

// All elements in one row: those of a compact matrix.
static vkf_status emit_rounded(vkf__tape *tape, const vkf__tape_value *of, const vkf__span *to)
{
    const vkf__copy_args copy = {
        .label = "round",
        .x = of->span,
        .out = *to,
        .outer = 1,
        .rows = 1,
        .cols = of->rows * of->cols,
        .alpha = 1,
    };
    return vkf__emit_copy(tape->work, &copy);
}

vkf_status vkf__tape_rounded(vkf__tape *tape, vkf__value value, vkf__span *out_span)
{
    vkf__tape_value *at = vkf__tape_at(tape, value);
    if (tape->products != VKF_DTYPE_F32 && !vkf__present(&at->rounded)) {
        VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, tape->products, at->count, &at->rounded));
        VKF_RETURN_IF_ERROR(emit_rounded(tape, at, &at->rounded));
    }
    *out_span = tape->products == VKF_DTYPE_F32 ? at->span : at->rounded;
    return VKF_OK;
}

void vkf__tape_seed(vkf__tape *tape, vkf__value value, const vkf__span *gradient)
{
    vkf__tape_value *at = vkf__tape_at(tape, value);
    assert(!at->begun);
    at->gradient = *gradient;
    at->begun = at->borrowed = at->given = true;
}

static vkf_status emit_copy(vkf__tape *tape, const vkf__tape_value *of, const vkf__span *from, const vkf__span *to,
                            float alpha, float beta)
{
    const vkf__copy_args copy = {
        .label = "gradient",
        .x = *from,
        .out = *to,
        .outer = 1,
        .rows = of->rows,
        .cols = of->cols,
        .x_row = of->cols,
        .out_row = of->cols,
        .alpha = alpha,
        .beta = beta,
    };
    return vkf__emit_copy(tape->work, &copy);
}

// Whether nobody reads a borrowed gradient again: the way back has left all statements behind whose results hold it.
static bool is_left(const vkf__tape *tape, const vkf__tape_value *of)
{
    for (size_t i = 0; i < tape->value_count; i++) {
        const vkf__tape_value *value = &tape->values[i];
        const bool holds = value->gradient.buffer == of->gradient.buffer && value->gradient.temp == of->gradient.temp &&
                           value->gradient.offset_bytes == of->gradient.offset_bytes && vkf__present(&value->gradient);
        if (holds && (value->given || (value != of && value->statement <= tape->at_statement)))
            return false;
    }
    return true;
}

vkf_status vkf__tape_gradient(vkf__tape *tape, vkf__value value, vkf__span *out_span, bool *out_adds)
{
    vkf__tape_value *at = vkf__tape_at(tape, value);
    const vkf__span before = at->gradient;
    const bool copies = at->borrowed && !is_left(tape, at);
    *out_adds = at->begun;
    if (!vkf__present(&at->gradient) || copies)
        VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, at->count, &at->gradient));
    if (copies)
        VKF_RETURN_IF_ERROR(emit_copy(tape, at, &before, &at->gradient, 1, 0));
    at->begun = true;
    at->borrowed = false;
    *out_span = at->gradient;
    return VKF_OK;
}

vkf_status vkf__tape_zeroed_gradient(vkf__tape *tape, vkf__value value, vkf__span *out_span)
{
    bool adds;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, value, out_span, &adds));
    return adds ? VKF_OK : emit_copy(tape, vkf__tape_at(tape, value), out_span, out_span, 0, 0);
}

vkf_status vkf__tape_pass_on(vkf__tape *tape, vkf__value value, const vkf__span *gradient)
{
    vkf__tape_value *at = vkf__tape_at(tape, value);
    if (!at->begun && !vkf__present(&at->gradient)) {
        at->gradient = *gradient;
        at->begun = at->borrowed = true;
        return VKF_OK;
    }
    vkf__span to;
    bool adds;
    VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, value, &to, &adds));
    return emit_copy(tape, vkf__tape_at(tape, value), gradient, &to, 1, adds ? 1.0f : 0.0f);
}

vkf_status vkf__tape_back(vkf__tape *tape)
{
    for (size_t i = tape->node_count; i-- > 0;) {
        const vkf__tape_node *node = &tape->nodes[i];
        const vkf__tape_value *out = vkf__tape_at(tape, node->out);
        tape->work->prefix = node->prefix;
        tape->at_statement = i + 1;
        if (out->wanted && out->begun)
            VKF_RETURN_IF_ERROR(node->back(tape, node));
    }
    tape->work->prefix = NULL;
    for (size_t i = 0; i < tape->value_count; i++) {
        const vkf__tape_value *value = &tape->values[i];
        if (value->wanted && !value->begun && vkf__present(&value->gradient))
            VKF_RETURN_IF_ERROR(emit_copy(tape, value, &value->gradient, &value->gradient, 0, 0));
    }
    return VKF_OK;
}
