// The most probable tokens of each row of logits, a workgroup to a row: log-softmax, the repetition penalty on tokens that
// were seen, and the k largest in descending order, the lowest id first among equals. That is the order of transformers'
// beam search: a seen token's log-probability, which is not above 0, is multiplied by the penalty.
//
// Where the largest logit is not finite, NaN being above infinity, all log-probabilities are NaN. Out holds pairs (id,
// log-probability), the id as a float: it is below 2^24.
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
