// What can be stated on a tape: the operators that Transformers are made of, each with its gradients.
#ifndef VKF_TRAINING_STATEMENTS_H
#define VKF_TRAINING_STATEMENTS_H

#include "op/attention.h"
#include "training/tape.h"

typedef struct vkf__dropout_state {
    float p;
    uint64_t seed;
    uint32_t stream, step;
} vkf__dropout_state;

// torch.nn.Linear: x (rows, in) weight^T + bias; weight (out, in), bias optional, (1, out).
typedef struct vkf__linear_values {
    vkf__value weight, bias;
} vkf__linear_values;
VKF_MUST_CHECK vkf_status vkf__state_linear(vkf__tape *tape, const char *label, vkf__value x,
                                            const vkf__linear_values *linear, vkf__value *out_value);

// Layer and RMS normalisation of rows; weight and bias optional, (1, dim).
typedef struct vkf__norm_values {
    vkf__value weight, bias;
    float eps;
    bool rms;
} vkf__norm_values;
VKF_MUST_CHECK vkf_status vkf__state_norm(vkf__tape *tape, const char *label, vkf__value x,
                                          const vkf__norm_values *norm, vkf__value *out_value);

VKF_MUST_CHECK vkf_status vkf__state_activation(vkf__tape *tape, const char *label, vkf__value x,
                                                vkf_activation activation, vkf__value *out_value);
// activation(x[:, :dim]) * x[:, dim:] of x (rows, 2 dim).
VKF_MUST_CHECK vkf_status vkf__state_gate(vkf__tape *tape, const char *label, vkf__value x, vkf_activation activation,
                                          vkf__value *out_value);
VKF_MUST_CHECK vkf_status vkf__state_sum(vkf__tape *tape, const char *label, vkf__value a, vkf__value b,
                                         vkf__value *out_value);

// x (batch * len, width) with rows behind each batch entry's: `row` (1, width) where it is not absent, and then
// `zeros` rows of zeros.
typedef struct vkf__extra_rows {
    uint32_t batch, len;
    vkf__value row;
    uint32_t zeros;
} vkf__extra_rows;
VKF_MUST_CHECK vkf_status vkf__state_extra_rows(vkf__tape *tape, const char *label, vkf__value x,
                                                const vkf__extra_rows *extra, vkf__value *out_value);

// Fused attention over heads side by side in the rows of q (batch * q_len, heads * head_dim), k (batch * k_len,
// kv_heads * head_dim) and v. Of `args` label, sizes, masks and scale count; the operands are set here. `dropout`,
// which may be NULL, is of the weights.
VKF_MUST_CHECK vkf_status vkf__state_attention(vkf__tape *tape, const vkf__attention_args *args,
                                               const vkf__dropout_state *dropout, vkf__value q, vkf__value k,
                                               vkf__value v, vkf__value *out_value);

#endif
