// Sinusoidal positions in the two orders that models have ("Attention Is All You Need", 3.5).
#ifndef VKF_MODEL_SINUSOIDS_H
#define VKF_MODEL_SINUSOIDS_H

#include <vkformer/model.h>

// Writes rows of a table (len, d_model).
void vkf__model_sinusoids(const vkf_model_config *config, uint32_t len, float *out_values);

#endif
