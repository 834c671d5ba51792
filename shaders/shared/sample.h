// Chooses one token for each row of logits. In sample.comp a workgroup takes a row. In sample_parts.comp many share it,
// with a dispatch for each phase; workgroups of one size give the same token in both, bit by bit. The order of the
// steps is that of transformers' generation: the repetition penalty on tokens that were seen, the temperature, top-k,
// softmax, top-p, min-p, and one draw.
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

#define VKF_SAMPLE_BINDING_X 1     // (rows, cols)
#define VKF_SAMPLE_BINDING_SEEN 2  // (rows, ceil(cols / 32)) words, token t of a row being bit t % 32 of word t / 32
#define VKF_SAMPLE_BINDING_OUT 3   // i32, at row * out_stride + out_first
#define VKF_SAMPLE_BINDING_STATE 4 // sample_parts.comp: (rows, VKF_SAMPLE_STATE_WORDS) words, see there

#define VKF_SAMPLE_SPEC_HAS_SEEN 1
#define VKF_SAMPLE_SPEC_COUNT 2

#define VKF_SAMPLE_BINS 256
#define VKF_SAMPLE_BIN_GROUPS 16 // of as many bins each; no workgroup is smaller
#define VKF_SAMPLE_UNROLL 4      // columns of an invocation per iteration

// The bins of sample_parts.comp. Workgroups would wait for each other to add to few bins, so there are more of them.
#define VKF_SAMPLE_PARTS_BINS 2048
#define VKF_SAMPLE_PARTS_BIN_GROUPS 64
#define VKF_SAMPLE_ROUNDS 3 // in which a threshold is found, by a digit of the rank each

// Its phases, in their order. Those that a run does not need are skipped.
#define VKF_SAMPLE_PHASE_PEAK 0   // the largest of each part
#define VKF_SAMPLE_PHASE_COUNT 1  // VKF_SAMPLE_ROUNDS of them, for top-k
#define VKF_SAMPLE_PHASE_SUM 4    // of the weights
#define VKF_SAMPLE_PHASE_MASS 5   // VKF_SAMPLE_ROUNDS of them, for top-p
#define VKF_SAMPLE_PHASE_PLACE 8  // the probability of each part
#define VKF_SAMPLE_PHASE_CHOOSE 9 // a workgroup takes a row
#define VKF_SAMPLE_PHASES 10

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
    // What sample_parts.comp takes besides:
    vkf_u32 phase;
    vkf_u32 previous;  // the phase that ran before it
    vkf_u32 parts;     // of a row; at most VKF_SAMPLE_PARTS_BINS. 0 in sample.comp
    vkf_u32 part_cols; // of a part; whole iterations of a workgroup
};
VKF_SHARED_SIZE(vkf_sample_params, 16)

// What a row keeps between phases, one after the other:
//   VKF_SAMPLE_PHASES slots   what is known when a phase begins
//   2 * parts                 key and index of each part's largest
//   parts                     their probabilities
//   2 * VKF_SAMPLE_ROUNDS     histograms, of counts and of probabilities
//   the rest                  a sum of weights for each invocation and iteration
#define VKF_SAMPLE_SLOT 8 // words
#define VKF_SAMPLE_BEST_AT (VKF_SAMPLE_PHASES * VKF_SAMPLE_SLOT)
#define VKF_SAMPLE_PLACES_AT(parts) (VKF_SAMPLE_BEST_AT + 2 * (parts))
#define VKF_SAMPLE_BINS_AT(parts) (VKF_SAMPLE_PLACES_AT(parts) + (parts))
#define VKF_SAMPLE_SUMS_AT(parts) (VKF_SAMPLE_BINS_AT(parts) + 2 * VKF_SAMPLE_ROUNDS * VKF_SAMPLE_PARTS_BINS)
#define VKF_SAMPLE_STATE_WORDS(parts, part_cols) \
    (VKF_SAMPLE_SUMS_AT(parts) + (parts) * ((part_cols) / VKF_SAMPLE_UNROLL))

#endif
