// Computes sinusoidal positions.
#include "model/family/sinusoids.h"

#include <math.h>

#include <vkformer/op.h>

// The same numbers as interleaved ones; in each row the sines come first, then the cosines.
static void write_halves(uint32_t len, uint32_t d, float *out_values)
{
    const uint32_t half = (d + 1) / 2;
    for (uint32_t t = 0; t < len; t++)
        for (uint32_t i = 0; i < d; i++) {
            double angle = (double)t * exp((double)(i / 2 * 2) * (-log(10000.0) / (double)d));
            out_values[(size_t)t * d + i / 2 + (i % 2) * half] = (float)(i % 2 == 0 ? sin(angle) : cos(angle));
        }
}

void vkf__model_sinusoids(const vkf_model_config *config, uint32_t len, float *out_values)
{
    if (config->positions == VKF_POSITIONS_SINUSOIDAL)
        vkf_sinusoidal_positions(len, config->d_model, out_values);
    else
        write_halves(len, config->d_model, out_values);
}
