// Tokens for measurements, for which it does not matter which ones they are.
#ifndef VKF_PROGRAM_RANDOM_IDS_H
#define VKF_PROGRAM_RANDOM_IDS_H

#include <stddef.h>
#include <stdint.h>

#define VKF_FIRST_ORDINARY_ID 4 // in most models pad, bos, eos and unk are below it

// Gives the same ids every time. They are below `vocab`, which is not 0, and not below the first ordinary id where the
// vocabulary has one.
void vkf_random_ids(uint32_t vocab, size_t count, int32_t *out_ids);

#endif
