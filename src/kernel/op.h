// The list of operators. What an operator does with its parameters is described beside its emitter, in src/op.
#ifndef VKF_KERNEL_OP_H
#define VKF_KERNEL_OP_H

// X(NAME, name): VKF_OP_<NAME>, which is called <name> in tables and messages, and whose row is vkf__op_<name>.
#define VKF_OPS(X)                              \
    X(GEMM, gemm)                               \
    X(SOFTMAX, softmax)                         \
    X(LAYER_NORM, layer_norm)                   \
    X(LAYER_NORM_RESIDUAL, layer_norm_residual) \
    X(LAYER_NORM_GRAD, layer_norm_grad)         \
    X(NORM_GRADIENTS, norm_gradients)           \
    X(NORM_STATS, norm_stats)                   \
    X(COLUMN_SUM, column_sum)                   \
    X(SOFTMAX_GRAD, softmax_grad)               \
    X(PERMUTE, permute)                         \
    X(EMBED, embed)                             \
    X(ADDITIVE_SCORES, additive_scores)         \
    X(ARGMAX, argmax)                           \
    X(SAMPLE, sample)                           \
    X(TOP, top)                                 \
    X(REORDER, reorder)                         \
    X(COPY, copy)                               \
    X(INDEX, index)                             \
    X(HEAD_MEAN, head_mean)                     \
    X(POOL, pool)                               \
    X(ROTARY, rotary)                           \
    X(GATE, gate)                               \
    X(PACK, pack)                               \
    X(QUANTIZE_ROWS, quantize_rows)             \
    X(ATTENTION, attention)                     \
    X(ATTENTION_REDUCE, attention_reduce)       \
    X(ATTENTION_TRAIN, attention_train)         \
    X(ATTENTION_GRAD, attention_grad)           \
    X(ATTENTION_GRAD_PAIR, attention_grad_pair) \
    X(ATTENTION_GRAD_PACK, attention_grad_pack) \
    X(SINK_GRAD, sink_grad)                     \
    X(GEMM_REDUCE, gemm_reduce)                 \
    X(GEMM_INT8, gemm_int8)                     \
    X(QUANTIZE_LINEAR, quantize_linear)         \
    X(CROSS_ENTROPY, cross_entropy)             \
    X(TOTAL, total)                             \
    X(CLIP, clip)                               \
    X(ADAM, adam)                               \
    X(SGD, sgd)                                 \
    X(ACTIVATION, activation)                   \
    X(ACTIVATION_GRAD, activation_grad)         \
    X(GATE_GRAD, gate_grad)                     \
    X(DROPOUT, dropout)                         \
    X(EMBED_GRAD, embed_grad)                   \
    X(POOL_GRAD, pool_grad)                     \
    X(ADDITIVE_GRAD, additive_grad)             \
    X(ROOF_COPY, roof_copy)                     \
    X(ROOF_READ, roof_read)                     \
    X(ROOF_FMA, roof_fma)

#define VKF_OP_ENUMERATOR(NAME, name) VKF_OP_##NAME,
typedef enum vkf__op { VKF_OPS(VKF_OP_ENUMERATOR) VKF_OP_COUNT } vkf__op;
#undef VKF_OP_ENUMERATOR

// Static text; "unknown" beyond the last operator.
const char *vkf__op_name(vkf__op op);

#endif
