// T5's learned biases of attention scores by the distance between query and key (Raffel et al. 2020, section 2.1).
#ifndef VKF_MODEL_RELATIVE_BIAS_H
#define VKF_MODEL_RELATIVE_BIAS_H

#include <vkformer/model.h>

// Writes the buckets of the distances 1 - len .. len - 1 from query to key. A decoder's buckets are all for keys before
// the query, as it sees no others.
void vkf__relative_buckets(const vkf_model_config *config, bool decoder, uint32_t len, int32_t *out_buckets);

// Writes out_bias (heads, len, len), which is added to the score of query t and key s. `table` (relative_buckets,
// heads) is the learned one.
void vkf__relative_bias(const vkf_model_config *config, bool decoder, uint32_t heads, uint32_t len, const float *table,
                        float *out_bias);

#endif
