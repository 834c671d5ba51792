// Oracle cases of the kind "gradient": an operator or a layer, and back. The case's "of" says which. Beside the inputs
// of a case of that kind there is a tensor grad_<output> for each output that has a gradient; the results are the
// outputs, and grad_<name> for every floating-point input and every weight that is no mask.
#ifndef VKF_PROGRAM_EVAL_GRADIENT_H
#define VKF_PROGRAM_EVAL_GRADIENT_H

#include "lab/eval/eval_kinds.h"
#include "training/tape.h"

// A tensor of the case, and where its gradient goes; absent: it has none.
typedef struct vkf_eval_leaf {
    vkf__span span, gradient;
} vkf_eval_leaf;

// What a run gives.
typedef struct vkf_eval_result {
    const char *name;
    vkf_tensor tensor;
} vkf_eval_result;

typedef struct vkf_eval_gradients {
    vkf_eval_case *c;
    vkf__tape tape;
    vkf_eval_result *results;
    size_t result_count, result_capacity;
} vkf_eval_gradients;

// prefix + middle + name, in the case's memory.
VKF_MUST_CHECK vkf_status vkf__eval_gradient_name(vkf_eval_gradients *g, const char *prefix, const char *middle,
                                                  const char *name, char **out_name);
// An input or a weight with its gradient, which becomes a result. One that the file does not have is an error, or with
// `optional` absent.
VKF_MUST_CHECK vkf_status vkf__eval_gradient_input(vkf_eval_gradients *g, const char *name, vkf_eval_dims dims,
                                                   vkf_eval_leaf *out_leaf);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_weight(vkf_eval_gradients *g, const char *prefix, const char *name,
                                                    vkf_eval_dims dims, bool optional, vkf_eval_leaf *out_leaf);
// An output, and its upstream gradient where the inputs have one.
VKF_MUST_CHECK vkf_status vkf__eval_gradient_output(vkf_eval_gradients *g, const char *name, vkf_eval_dims dims,
                                                    vkf_eval_leaf *out_leaf);
// A mask, as the emitters take it; absent where the inputs have none.
VKF_MUST_CHECK vkf_status vkf__eval_gradient_mask(vkf_eval_gradients *g, const vkf__stored_tensor *stored,
                                                  vkf_mask_kind kind, vkf__span *out_span);

// Statements ---------------------------------------------------------------------------------------------------------

VKF_MUST_CHECK vkf_status vkf__eval_state_leaf(vkf_eval_gradients *g, const vkf_eval_leaf *leaf, uint32_t rows,
                                               uint32_t cols, vkf__value *out_value);
// Keeps a result as an output, and begins the way back with its upstream gradient.
VKF_MUST_CHECK vkf_status vkf__eval_state_output(vkf_eval_gradients *g, vkf__value value, const vkf_eval_leaf *output);

// Runs what `emit` states with `args` and back, and collects the results.
VKF_MUST_CHECK vkf_status vkf__eval_run_gradients(vkf_eval_gradients *g, vkf__emit_fn emit, const void *args);

// Models (eval_gradient_models.c), layers (eval_gradient_layers.c) and operators (eval_gradient_ops.c,
// eval_gradient_products.c, eval_gradient_tokens.c).
VKF_MUST_CHECK vkf_status vkf__eval_gradient_transformer(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_mha(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_encoder_layer(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_decoder_layer(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_layernorm(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_rmsnorm(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_activation(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_gate(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_gemm(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_softmax(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_permute(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_sdpa(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_additive_attention(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_embedding(vkf_eval_gradients *g);
VKF_MUST_CHECK vkf_status vkf__eval_gradient_cross_entropy(vkf_eval_gradients *g);

#endif
