// The frequencies of rotary position embeddings, and how transformers' rope_type stretches them over longer contexts.
#ifndef VKF_MODEL_ROTARY_ROWS_H
#define VKF_MODEL_ROTARY_ROWS_H

#include "model/family/family.h"

// Reads rope_parameters (or rope_scaling and the family's own keys) of a config.json; its head_dim and context must be
// in `config` already. With rope_type "dynamic" a DECODER's context is multiplied by the factor.
// Statuses: FORMAT, UNSUPPORTED (another rope_type).
VKF_MUST_CHECK vkf_status vkf__rotary_load(const vkf__host *host, const char *path, const json_t *root,
                                           const vkf__family *family, vkf_model_config *config);

// Writes rows of a table (positions, dim): for each position dim / 2 cosines, then as many sines. Angles are rounded to
// f32 as in PyTorch. Kinds that depend on the length of the sequence take `sequence_len`; at 0 each position is the
// last of its sequence.
void vkf__rotary_rows(const vkf_rotary_config *rotary, uint32_t first, uint32_t count, uint32_t sequence_len,
                      float *out_rows);

#endif
