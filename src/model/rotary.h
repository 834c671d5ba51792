// Frequencies of rotary position embedding, and how transformers' rope_type stretches them over longer contexts.
#ifndef VKF_MODEL_ROTARY_H
#define VKF_MODEL_ROTARY_H

#include "model/family.h"

// Reads rope_parameters (or rope_scaling beside the family's own keys) of a config.json whose head_dim and context are in
// `config`. What rope_type "dynamic" does beyond max_position_embeddings is never reached: no session is longer.
// Statuses: FORMAT, UNSUPPORTED (another rope_type).
VKF_MUST_CHECK vkf_status vkf__rotary_load(const vkf__host *host, const char *path, const json_t *root,
                                           const vkf__family *family, vkf_model_config *config);

// out_table (len, dim): of each position dim / 2 cosines, then as many sines. Angles are rounded to f32 as PyTorch's are.
void vkf__rotary_table(const vkf_rotary *rotary, uint32_t len, float *out_table);

#endif
