// Fused attention on a tape.
#include "op/attention_grad.h"
#include "training/statements.h"

enum { Q, K, V, BIAS };

// Heads side by side in compact rows.
static vkf__heads_span heads_of(const vkf__span *span, uint32_t len, uint32_t heads, uint32_t width)
{
    return (vkf__heads_span){*span, len * heads * width, heads * width, width};
}

// Where a gradient goes; absent where nobody asks for it.
static vkf_status gradient_of(vkf__tape *tape, vkf__value value, const vkf__heads_span *like,
                              vkf__heads_span *out_heads, bool *out_adds)
{
    *out_heads = *like;
    out_heads->span = (vkf__span){0};
    *out_adds = false;
    return vkf__tape_wants(tape, value) ? vkf__tape_gradient(tape, value, &out_heads->span, out_adds) : VKF_OK;
}

// A statement's note.
typedef struct way_back {
    vkf__attention_train_args way;
    vkf__score_bias bias;
} way_back;

// The part of a value where the bias has elements, to the value's end.
static vkf__span bias_part(const vkf__tape_value *value, const vkf__span *span, const vkf__score_bias *bias)
{
    return vkf__span_part(span, bias->first, value->count - bias->first);
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
    const way_back noted = *(const way_back *)vkf__tape_note(tape, node);
    const vkf__attention_train_args *way = &noted.way;
    const vkf__attention_args *forward = &way->forward;
    vkf__attention_grad_args args = {"attention_grad", *forward, way->dropout, .dout = forward->out,
                                     .log_sums = way->log_sums};
    args.dout.span = vkf__tape_at(tape, node->out)->gradient;
    VKF_RETURN_IF_ERROR(gradient_of(tape, node->operands[Q], &forward->q, &args.dq, &args.accumulate_q));
    VKF_RETURN_IF_ERROR(gradient_of(tape, node->operands[K], &forward->k, &args.dk, &args.accumulate_k));
    VKF_RETURN_IF_ERROR(gradient_of(tape, node->operands[V], &forward->v, &args.dv, &args.accumulate_v));
    if (vkf__tape_wants(tape, node->operands[BIAS]))
        VKF_RETURN_IF_ERROR(bias_gradient(tape, &noted.bias, &args));
    return vkf__emit_attention_grad(tape->work, &args);
}

static void set_bias(const vkf__tape *tape, const vkf__score_bias *bias, vkf__attention_args *forward)
{
    const vkf__tape_value *value = vkf__tape_at(tape, bias->value);
    forward->mask = bias_part(value, &value->span, bias);
    forward->mask_kind = VKF_MASK_ADDITIVE;
    forward->mask_batch = 0;
    forward->mask_head = bias->head;
    forward->mask_row = bias->row;
}

// Whether anything goes back through it.
static bool is_wanted(const vkf__tape *tape, const vkf__value operands[VKF_TAPE_OPERANDS])
{
    bool wanted = false;
    for (int i = 0; i < VKF_TAPE_OPERANDS; i++)
        wanted = wanted || vkf__tape_wants(tape, operands[i]);
    return wanted;
}

vkf_status vkf__state_attention(vkf__tape *tape, const vkf__attention_args *args, const vkf__dropout_state *dropout,
                                const vkf__score_bias *bias, vkf__value q, vkf__value k, vkf__value v,
                                vkf__value *out_value)
{
    way_back note = {.way.forward = *args, .bias = *bias};
    vkf__attention_train_args *way = &note.way;
    vkf__attention_args *forward = &way->forward;
    if (dropout)
        way->dropout = (vkf__attention_dropout){dropout->p, dropout->seed, dropout->stream, dropout->step};
    if (bias->value)
        set_bias(tape, bias, forward);
    VKF_RETURN_IF_ERROR(
        vkf__tape_result(tape, args->batch * args->q_len, args->heads * args->v_head_dim, out_value));
    forward->q = heads_of(vkf__tape_span(tape, q), args->q_len, args->heads, args->head_dim);
    forward->k = heads_of(vkf__tape_span(tape, k), args->k_len, args->kv_heads, args->head_dim);
    forward->v = heads_of(vkf__tape_span(tape, v), args->k_len, args->kv_heads, args->v_head_dim);
    forward->out = heads_of(vkf__tape_span(tape, *out_value), args->q_len, args->heads, args->v_head_dim);
    const vkf__tape_node node = {back, *out_value, {q, k, v, bias->value}, 0, NULL};
    if (way->dropout.p == 0 && !is_wanted(tape, node.operands)) {
        VKF_RETURN_IF_ERROR(vkf__emit_attention(tape->work, forward));
    } else {
        const uint64_t rows = (uint64_t)args->batch * args->heads * args->q_len;
        VKF_RETURN_IF_ERROR(vkf__work_temp(tape->work, VKF_DTYPE_F32, rows, &way->log_sums));
        VKF_RETURN_IF_ERROR(vkf__emit_attention_train(tape->work, way));
    }
    return vkf__tape_state(tape, &node, &note, sizeof note);
}
