// The most probable tokens of each row of logits; a workgroup takes a row. The steps are those of transformers' beam
// search, in its order: log-softmax; the repetition penalty, which multiplies the log-probabilities (none is above 0)
// of tokens that were seen; and the k largest in descending order, the lowest id first among equals.
//
// If the largest logit is not finite, with NaN above infinity, all log-probabilities are NaN. out holds pairs (id,
// log-probability). The id is a float, which is exact below 2^24.
#ifndef VKF_SHARED_TOP_H
#define VKF_SHARED_TOP_H

#include "types.h"

#define VKF_TOP_BINDING_X 1    // (rows, cols)
#define VKF_TOP_BINDING_SEEN 2 // (rows, ceil(cols / 32)) words, token t of a row being bit t % 32 of word t / 32
#define VKF_TOP_BINDING_OUT 3  // (rows, k, 2)

#define VKF_TOP_SPEC_COUNT 1

struct vkf_top_params {
    vkf_u32 rows;
    vkf_u32 cols;
    vkf_u32 k;                  // at most cols
    vkf_f32 repetition_penalty; // 1: seen is not read
};
VKF_SHARED_SIZE(vkf_top_params, 4)

#endif
