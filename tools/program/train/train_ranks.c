// Adds up gradients by MPI. What fails there ends all ranks, and does not return.
#include "train/train_ranks.h"

static bool begin(void *user, float *values, uint64_t count)
{
    (void)user;
    vkf_ranks_add(values, (size_t)count);
    return true;
}

static void progress(void *user)
{
    (void)user;
    vkf_ranks_advance();
}

static bool finish(void *user)
{
    (void)user;
    vkf_ranks_added();
    return true;
}

static bool sum(void *user, double *values, uint32_t count)
{
    (void)user;
    vkf_ranks_sum(values, count);
    return true;
}

vkf_train_exchange vkf_train_ranks_exchange(const vkf_ranks *ranks)
{
    return (vkf_train_exchange){
        .index = ranks->rank,
        .count = ranks->size,
        .begin = begin,
        .progress = progress,
        .finish = finish,
        .sum = sum,
    };
}
