// Writes adapters as PEFT saves them, for PEFT's readers and vkf__adapter_open().
#ifndef VKF_MODEL_ADAPTER_WRITE_H
#define VKF_MODEL_ADAPTER_WRITE_H

#include "io/stored_tensor.h"

// adapter_config.json. Modules have the names that they have in transformers' class of the model, as its files have
// them where the class has a head: "model.layers.0.self_attn.q_proj".
typedef struct vkf__adapter_config {
    uint32_t rank;
    double alpha;
    bool root_scale;  // alpha is divided by the root of the rank, not by the rank
    bool fan_in_out;  // the model's file has weights as (in, out), as GPT-2's has
    const char *base; // the model's name or directory; NULL: not said
    const char *task; // "CAUSAL_LM", "SEQ_CLS", "TOKEN_CLS", "SEQ_2_SEQ_LM", "QUESTION_ANS"; NULL: none of PEFT's
    const char *const *saved_modules; // modules whose tensors are among `saved`
    size_t saved_module_count;
} vkf__adapter_config;

// The two matrices of one module's weight, (out, in).
typedef struct vkf__adapter_pair {
    const char *module;
    const float *a; // (rank, in)
    const float *b; // (out, rank)
    uint32_t in, out;
} vkf__adapter_pair;

// Writes adapter_model.safetensors and adapter_config.json, in this order, into a directory that is there. `saved` are
// tensors that take the place of the model's of the same names. Numbers are as on a little-endian machine. Statuses:
// INVALID_ARGUMENT (what the reader would refuse), FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__adapter_write(const vkf__host *host, const char *directory,
                                             const vkf__adapter_config *config, const vkf__adapter_pair *pairs,
                                             size_t pair_count, const vkf__stored_tensor *saved, size_t saved_count);

#endif
