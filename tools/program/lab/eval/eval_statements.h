// What cases of gradients state beside what models are made of (training/records.h): operators on their own.
#ifndef VKF_PROGRAM_EVAL_STATEMENTS_H
#define VKF_PROGRAM_EVAL_STATEMENTS_H

#include "op/softmax.h"
#include "training/tape.h"

// out = alpha op(a) op(b) + beta c + bias, batched: out (batch, m, n).
typedef struct vkf_eval_product {
    const char *label;
    vkf__value a;    // (batch, m, k), or (batch, k, m) with transpose_a
    vkf__value b;    // (batch, k, n), or (batch, n, k) with transpose_b; shared: one for all of the batch
    vkf__value c;    // (batch, m, n); not read with beta 0
    vkf__value bias; // optional, (1, n)
    uint32_t batch, m, n, k;
    bool transpose_a, transpose_b, shared;
    float alpha, beta;
} vkf_eval_product;
VKF_MUST_CHECK vkf_status vkf__eval_state_product(vkf__tape *tape, const vkf_eval_product *product,
                                                  vkf__value *out_value);

// Label, sizes, masks and scale of `args` count; the operands are set here.
VKF_MUST_CHECK vkf_status vkf__eval_state_softmax(vkf__tape *tape, const vkf__softmax_args *args, vkf__value x,
                                                  vkf__value *out_value);

// x (batch, rows, cols, depth) with rows and cols exchanged.
typedef struct vkf_eval_exchange {
    uint32_t batch, rows, cols, depth;
} vkf_eval_exchange;
VKF_MUST_CHECK vkf_status vkf__eval_state_permute(vkf__tape *tape, vkf__value x, const vkf_eval_exchange *exchange,
                                                  vkf__value *out_value);

// v . tanh(query[b, t] + key[b, s]) of query (batch, q_len, dim), key (batch, k_len, dim) and v (1, dim).
typedef struct vkf_eval_additive {
    vkf__value query, key, v;
    uint32_t batch, q_len, k_len;
} vkf_eval_additive;
VKF_MUST_CHECK vkf_status vkf__eval_state_additive(vkf__tape *tape, const vkf_eval_additive *additive,
                                                   vkf__value *out_value);

#endif
