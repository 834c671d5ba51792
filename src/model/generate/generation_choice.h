// New tokens that the caller chooses.
#ifndef VKF_MODEL_GENERATION_CHOICE_H
#define VKF_MODEL_GENERATION_CHOICE_H

#include "model/generate/generation.h"

// Has the caller choose new token number `made` of each row that has not ended, and writes it.
VKF_MUST_CHECK vkf_status vkf__generation_choose(const vkf__generation *g, uint32_t made, const bool *ended);

#endif
