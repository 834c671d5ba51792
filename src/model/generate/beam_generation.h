// Generation by beam search.
#ifndef VKF_MODEL_BEAM_GENERATION_H
#define VKF_MODEL_BEAM_GENERATION_H

#include "model/generate/generation.h"

// Generates by beam search instead of one token at a time.
VKF_MUST_CHECK vkf_status vkf__generate_by_beams(vkf__generation *g);

#endif
