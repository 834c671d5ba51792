// Words that a model is to fill in, as BERT learned (Devlin et al. 2018, 3.1): of the tokens of a text 15 % are chosen;
// 80 % of these become the mask, 10 % any token, and 10 % stay. The tokens that were there are the labels.
#ifndef VKF_PROGRAM_MASKING_H
#define VKF_PROGRAM_MASKING_H

#include <stdint.h>

typedef struct vkf_masking {
    int32_t mask_id;
    uint32_t vocab; // tokens from 0 on, any of which may come into another's place
    uint64_t seed;
} vkf_masking;

// On entry labels (count) are the ids (count) themselves where a token may be chosen, and VKF_IGNORED_LABEL elsewhere.
// Labels remain where one was chosen: at one place at least, if there is any. All of it follows from the seed, the
// epoch and the example.
void vkf_masking_apply(const vkf_masking *masking, uint32_t epoch, uint32_t example, uint32_t count, int32_t *ids,
                       int32_t *labels);

#endif
