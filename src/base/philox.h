// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): four random words for a counter
// and a key, without a state. shaders/include/philox.glsl gives the same words.
#ifndef VKF_BASE_PHILOX_H
#define VKF_BASE_PHILOX_H

#include <stdint.h>

void vkf__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out_words[4]);

#endif
