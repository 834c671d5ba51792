// Fused attention on a tape.
#include "op/train/attention_grad.h"
#include "training/records.h"

enum { Q, K, V, BIAS };

typedef struct attention_note {
    vkf__attention_train_args way;
    uint32_t firsts[BIAS]; // columns
    vkf__score_bias bias;
} attention_note;

static vkf__span columns_from(const vkf__span *whole, uint64_t count, uint32_t first)
{
    return vkf__span_part(whole, first, count > first ? count - first : 0);
}

// Heads side by side in rows of a value, from column `first` on.
static vkf__heads_span heads_of(const vkf__tape *tape, vkf__value value, uint32_t first, uint32_t len, uint32_t width)
{
    const vkf__tape_value *at = vkf__tape_at(tape, value);
    return (vkf__heads_span){columns_from(&at->span, at->count, first), len * at->cols, at->cols, width};
}

// Where a gradient goes; absent where nobody asks for it. Further columns of one value add to what there was before the
// first of them.
static vkf_status gradient_of(vkf__tape *tape, const vkf__tape_node *node, uint32_t part, vkf__span *inout_whole,
                              bool *inout_adds, vkf__heads_span *out_heads)
{
    const attention_note *note = vkf__tape_note(tape, node);
    const vkf__value value = node->operands[part];
    const uint32_t first = note->firsts[part];
    out_heads->span = (vkf__span){0};
    if (!vkf__tape_wants(tape, value))
        return VKF_OK;
    if (part == 0 || value != node->operands[part - 1] || first == note->firsts[part - 1])
        VKF_RETURN_IF_ERROR(vkf__tape_gradient(tape, value, inout_whole, inout_adds));
    out_heads->span = columns_from(inout_whole, vkf__tape_at(tape, value)->count, first);
    return VKF_OK;
}

// The part of a value where the bias has elements, to the value's end.
static vkf__span bias_part(const vkf__tape_value *value, const vkf__span *span, const vkf__score_bias *bias)
{
    return columns_from(span, value->count, bias->first);
}

// Adds to what there is of the bias's gradient. What of it has no place in scores is 0.
static vkf_status bias_gradient(vkf__tape *tape, const vkf__score_bias *bias, vkf__attention_grad_args *args)
{
    vkf__span whole;
    VKF_RETURN_IF_ERROR(vkf__tape_zeroed_gradient(tape, bias->value, &whole));
    args->accumulate_bias = true;
    args->dbias = (vkf__heads_span){bias_part(vkf__tape_at(tape, bias->value), &whole, bias), 0, bias->row, bias->head};
    return VKF_OK;
}

static vkf_status back(vkf__tape *tape, const vkf__tape_node *node)
{
    const vkf__attention_train_args *way = &((const attention_note *)vkf__tape_note(tape, node))->way;
    const vkf__score_bias bias = ((const attention_note *)vkf__tape_note(tape, node))->bias;
    const vkf__attention_args *forward = &way->forward;
    vkf__attention_grad_args args = {"attention_grad", *forward,         way->dropout,     .dout = forward->out,
                                     .dq = forward->q, .dk = forward->k, .dv = forward->v, .row_stats = way->row_stats};
    vkf__span whole = {0};
    bool adds = false;
    args.dout.span = vkf__tape_at(tape, node->out)->gradient;
    VKF_RETURN_IF_ERROR(gradient_of(tape, node, Q, &whole, &adds, &args.dq));
    args.accumulate_q = adds;
    VKF_RETURN_IF_ERROR(gradient_of(tape, node, K, &whole, &adds, &args.dk));
    args.accumulate_k = adds;
    VKF_RETURN_IF_ERROR(gradient_of(tape, node, V, &whole, &adds, &args.dv));
    args.accumulate_v = adds;
    if (vkf__tape_wants(tape, node->operands[BIAS]))
        VKF_RETURN_IF_ERROR(bias_gradient(tape, &bias, &args));
    return vkf__emit_attention_grad(tape->work, &args);
}

static void set_bias(const vkf__tape *tape, const vkf__score_bias *bias, vkf__attention_args *forward)
{
    const vkf__tape_value *value = vkf__tape_at(tape, bias->value);
    forward->masks.mask = bias_part(value, &value->span, bias);
    forward->masks.kind = VKF_MASK_ADDITIVE;
    forward->masks.batch = 0;
    forward->masks.head = bias->head;
    forward->masks.row = bias->row;
}

// Leaves what the way back takes.
static vkf_status emit_forward(vkf__tape *tape, vkf__attention_train_args *way)
{
    const vkf__attention_args *forward = &way->forward;
    const uint64_t rows = (uint64_t)forward->batch * forward->heads * forward->q_len;
    bool later = false;
    VKF_RETURN_IF_ERROR(vkf__attention_sums_later(tape->work, way, &later));
    if (later)
        return vkf__emit_attention(tape->work, forward);
    VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, 2 * rows, &way->row_stats));
    return vkf__emit_attention_train(tape->work, way);
}

// Whether anything goes back through it.
static bool is_wanted(const vkf__tape *tape, const vkf__value operands[VKF_TAPE_OPERANDS])
{
    bool wanted = false;
    for (int i = 0; i < VKF_TAPE_OPERANDS; i++)
        wanted = wanted || vkf__tape_wants(tape, operands[i]);
    return wanted;
}

vkf_status vkf__record_attention(vkf__tape *tape, const vkf__attention_args *args, const vkf__dropout_state *dropout,
                                 const vkf__attention_values *values, vkf__value *out_value)
{
    const vkf__value q = values->q, k = values->k, v = values->v;
    attention_note note = {
        .way.forward = *args,
        .firsts = {values->q_first, values->k_first, values->v_first},
        .bias = values->bias,
    };
    vkf__attention_train_args *way = &note.way;
    vkf__attention_args *forward = &way->forward;
    if (dropout)
        way->dropout = (vkf__attention_dropout){dropout->p, dropout->seed, dropout->stream, dropout->step};
    if (values->bias.value)
        set_bias(tape, &values->bias, forward);
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, args->batch * args->q_len, args->heads * args->v_head_dim, out_value));
    forward->q = heads_of(tape, q, values->q_first, args->q_len, args->head_dim);
    forward->k = heads_of(tape, k, values->k_first, args->k_len, args->head_dim);
    forward->v = heads_of(tape, v, values->v_first, args->k_len, args->v_head_dim);
    forward->out = heads_of(tape, *out_value, 0, args->q_len, args->v_head_dim);
    const vkf__tape_node node = {back, *out_value, {q, k, v, values->bias.value}, 0, NULL};
    if (way->dropout.p == 0 && !is_wanted(tape, node.operands))
        VKF_RETURN_IF_ERROR(vkf__emit_attention(tape->work, forward));
    else
        VKF_RETURN_IF_ERROR(emit_forward(tape, way));
    return vkf__tape_record(tape, &node, &note, sizeof note);
}
