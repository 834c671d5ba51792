// The kinds of oracle cases: each reads its case's tensors, runs them through the public API and collects the outputs.
#ifndef VKF_PROGRAM_EVAL_KINDS_H
#define VKF_PROGRAM_EVAL_KINDS_H

#include "lab/eval/eval_case.h"

typedef struct vkf_eval_kind {
    const char *name;
    vkf_status (*run)(vkf_eval_case *c);
} vkf_eval_kind;

extern const vkf_eval_kind vkf__eval_kinds[];
extern const size_t vkf__eval_kind_count;
// NULL when there is no kind of that name.
const vkf_eval_kind *vkf__eval_kind(const char *name);

VKF_MUST_CHECK vkf_status vkf__eval_gemm(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_softmax(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_layernorm(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_permute(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_additive_attention(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_mha(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_seed2(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_seed3(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_encoder_layer(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_decoder_layer(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_transformer(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_seq2seq(vkf_eval_case *c);
VKF_MUST_CHECK vkf_status vkf__eval_gradient(vkf_eval_case *c);

// A mask and a key padding mask among the inputs, as PyTorch's modules take them: BOOL (true: not attended) or F32
// (added).
typedef struct vkf_eval_masks {
    vkf_attention_mask desc;
    const vkf__stored_tensor *mask;     // (L, S) or (B * H, L, S); NULL when absent
    const vkf__stored_tensor *key_mask; // (B, S); NULL when absent
} vkf_eval_masks;

typedef struct vkf_eval_attention_sizes {
    uint32_t batch, num_heads, query_len, key_len;
} vkf_eval_attention_sizes;

VKF_MUST_CHECK vkf_status vkf__eval_masks(const vkf_eval_case *c, const char *mask, const char *key_mask,
                                          const vkf_eval_attention_sizes *sizes, vkf_eval_masks *out_masks);
// Writes the masks that are present to ports of c->layer.
VKF_MUST_CHECK vkf_status vkf__eval_write_masks(vkf_eval_case *c, const vkf_eval_masks *masks, vkf_port mask_port,
                                                vkf_port key_mask_port);

// What the state dictionary of a torch.nn.MultiheadAttention contains.
typedef struct vkf_eval_attention_shape {
    uint32_t embed_dim, kdim, vdim;
    bool bias, bias_kv;
} vkf_eval_attention_shape;
VKF_MUST_CHECK vkf_status vkf__eval_attention_weights(vkf_eval_case *c, const char *prefix,
                                                      const vkf_eval_attention_shape *shape,
                                                      vkf_attention_weights *out_weights);

// The configuration that encoder layers, decoder layers and whole models share.
typedef struct vkf_eval_architecture {
    uint32_t d_model, num_heads, dim_feedforward, batch;
    vkf_activation activation;
    bool norm_first;
    float layer_norm_eps;
} vkf_eval_architecture;
VKF_MUST_CHECK vkf_status vkf__eval_architecture(const vkf_eval_case *c, vkf_eval_architecture *out_architecture);

#endif
