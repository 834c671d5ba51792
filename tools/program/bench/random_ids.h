// Tokens for measurements: which ones they are makes no difference.
#ifndef VKF_PROGRAM_RANDOM_IDS_H
#define VKF_PROGRAM_RANDOM_IDS_H

#include <stddef.h>
#include <stdint.h>

#define VKF_FIRST_ORDINARY_ID 4 // pad, bos, eos and unk are below it in most models

// The same ones every time, below `vocab`, which is not 0, and from the first ordinary one on where
// there is one.
void vkf_random_ids(uint32_t vocab, size_t count, int32_t *out_ids);

#endif
