// Chooses one token for each row of logits; a workgroup takes a row. The order is that of transformers' generation: the
// repetition penalty on tokens that were seen, the temperature, top-k, softmax, top-p, min-p, and one draw.
//
//   penalty   multiplies a seen token's logit if that is below 0, and divides it otherwise
//   top-k     0: off. Tokens below the k-th largest logit go; ties with it stay
//   top-p     1: off. The smallest set of most probable tokens whose probabilities add up to it stays, and ties with
//             the last of them
//   min-p     0: off. Tokens below this share of the largest probability go
//   draw      Philox4x32-10 (Salmon et al. 2011) of the counter (row, step, 0, 0) under the key (seed_low, seed_high).
//             The chosen token is the first, in the order of tokens, whose cumulative probability exceeds the first
//             word of it over 2^32
//
// Temperature 0: the largest penalised logit, the lowest token among equals. The chosen token counts as seen
// afterwards. A row whose largest logit is not finite, with NaN above infinity, has no token: it gives -1, and no token
// becomes seen. Minus infinity beside finite logits marks a token that must not be chosen.
#ifndef VKF_SHARED_SAMPLE_H
#define VKF_SHARED_SAMPLE_H

#include "types.h"

#define VKF_SAMPLE_BINDING_X 1    // (rows, cols)
#define VKF_SAMPLE_BINDING_SEEN 2 // (rows, ceil(cols / 32)) words, token t of a row being bit t % 32 of word t / 32
#define VKF_SAMPLE_BINDING_OUT 3  // i32, at row * out_stride + out_first

#define VKF_SAMPLE_SPEC_HAS_SEEN 1
#define VKF_SAMPLE_SPEC_COUNT 2

#define VKF_SAMPLE_BINS 256
#define VKF_SAMPLE_BIN_GROUPS 16      // of as many bins each; no workgroup is smaller
// Probabilities are rounded to multiples of 2^-30: sums of finer ones might not fit into 32 bits.
#define VKF_SAMPLE_MAX_COLS 0x1000000

struct vkf_sample_params {
    vkf_u32 rows;
    vkf_u32 cols;
    vkf_u32 out_stride;
    vkf_u32 out_first;
    vkf_u32 top_k;
    vkf_u32 step;
    vkf_u32 seed_low;
    vkf_u32 seed_high;
    vkf_f32 temperature;
    vkf_f32 top_p;
    vkf_f32 min_p;
    vkf_f32 repetition_penalty;
};
VKF_SHARED_SIZE(vkf_sample_params, 12)

#endif
