// Training under mpirun: all ranks take the same steps, each from batches of its own. Rank 0 alone writes and prints.
#ifndef VKF_PROGRAM_TRAIN_RANKS_H
#define VKF_PROGRAM_TRAIN_RANKS_H

#include <vkformer/train.h>

#include "ranks/ranks.h"

// What a trainer adds up gradients by.
vkf_train_exchange vkf_train_ranks_exchange(const vkf_ranks *ranks);

#endif
