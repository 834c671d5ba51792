// Frequencies of rotary position embedding, and how transformers' rope_type stretches them over longer contexts.
#ifndef VKF_MODEL_ROTARY_H
#define VKF_MODEL_ROTARY_H

#include "model/family.h"

// Reads rope_parameters (or rope_scaling beside the family's own keys) of a config.json whose head_dim and context are in
// `config`. With rope_type "dynamic" the context becomes longer by its factor.
// Statuses: FORMAT, UNSUPPORTED (another rope_type).
VKF_MUST_CHECK vkf_status vkf__rotary_load(const vkf__host *host, const char *path, const json_t *root,
                                           const vkf__family *family, vkf_model_config *config);

// Rows of a table (positions, dim): of each position dim / 2 cosines, then as many sines. Angles are rounded to f32 as
// PyTorch's are. `sequence_len` decides for the dynamic kind; 0: each position is the last of its sequence.
void vkf__rotary_rows(const vkf_rotary *rotary, uint32_t first, uint32_t count, uint32_t sequence_len, float *out_rows);

#endif
