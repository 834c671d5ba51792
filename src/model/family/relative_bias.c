// Computes the attention biases of every pair of positions from T5's learned table.
#include "model/family/relative_bias.h"

#include <math.h>
#include <stddef.h>

// Half of an encoder's buckets are for keys after the query's position, half for keys before it. In each direction one
// half of the buckets are single distances and the other half grow logarithmically. The logarithm is taken in f32, as
// in PyTorch.
static uint32_t bucket_of(const vkf_model_config *config, bool decoder, int64_t distance)
{
    uint32_t buckets = decoder ? config->relative_buckets : config->relative_buckets / 2;
    uint32_t first = !decoder && distance > 0 ? buckets : 0, exact = buckets / 2;
    int64_t away = distance > 0 ? (decoder ? 0 : distance) : -distance;
    if (away < exact)
        return first + (uint32_t)away;
    float growth = logf((float)away / (float)exact) / (float)log((double)config->relative_distance / exact);
    uint32_t bucket = exact + (uint32_t)(growth * (float)(buckets - exact));
    return first + (bucket < buckets ? bucket : buckets - 1);
}

void vkf__relative_buckets(const vkf_model_config *config, bool decoder, uint32_t len, int32_t *out_buckets)
{
    for (int64_t at = 0; at < 2 * (int64_t)len - 1; at++)
        out_buckets[at] = (int32_t)bucket_of(config, decoder, at + 1 - len);
}

void vkf__relative_bias(const vkf_model_config *config, bool decoder, uint32_t heads, uint32_t len, const float *table,
                        float *out_bias)
{
    for (int64_t t = 0; t < len; t++)
        for (int64_t s = 0; s < len; s++) {
            const float *row = table + (size_t)bucket_of(config, decoder, s - t) * heads;
            for (uint32_t h = 0; h < heads; h++)
                out_bias[((size_t)h * len + (size_t)t) * len + (size_t)s] = row[h];
        }
}
