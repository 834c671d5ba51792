// check_ranks, under mpirun: sums over ranks are right, and the same bits everywhere, though several are under way.
// Exit 1 and a message if they are not.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ranks/ranks.h"

#define MOST_RANKS 8
#define BUCKETS 70 // more than may be under way at once

static uint32_t count_of(uint32_t bucket)
{
    return 1 + bucket * bucket * 7;
}

static float value_of(uint32_t rank, uint32_t bucket, uint32_t i)
{
    return sinf((float)(1 + i % 9973) * (float)(rank + 1) + (float)bucket) * expf((float)(i % 17) - 8);
}

static bool is_sum(const vkf_ranks *ranks, uint32_t bucket, uint32_t i, float value)
{
    double sum = 0, size = 0;
    for (uint32_t rank = 0; rank < ranks->size; rank++) {
        sum += value_of(rank, bucket, i);
        size += fabs((double)value_of(rank, bucket, i));
    }
    return fabs(sum - value) <= 1e-6 * size;
}

static float *make_bucket(const vkf_ranks *ranks, uint32_t bucket)
{
    float *values = malloc(count_of(bucket) * sizeof *values);
    for (uint32_t i = 0; values && i < count_of(bucket); i++)
        values[i] = value_of(ranks->rank, bucket, i);
    return values;
}

static bool sums_are_right(const vkf_ranks *ranks, uint64_t *out_hash)
{
    float *buckets[BUCKETS];
    bool right = true;
    for (uint32_t b = 0; b < BUCKETS; b++) {
        buckets[b] = make_bucket(ranks, b);
        if (!buckets[b])
            return false;
        vkf_ranks_add(buckets[b], count_of(b));
        vkf_ranks_advance();
    }
    vkf_ranks_added();
    *out_hash = VKF_HASH_SEED;
    for (uint32_t b = 0; b < BUCKETS; b++) {
        for (uint32_t i = 0; i < count_of(b); i++)
            right = right && is_sum(ranks, b, i, buckets[b][i]);
        *out_hash = vkf__hash(*out_hash, buckets[b], count_of(b) * sizeof *buckets[b]);
        free(buckets[b]);
    }
    return right;
}

static bool hashes_agree(const vkf_ranks *ranks, uint64_t hash)
{
    uint64_t all[MOST_RANKS] = {0};
    vkf_ranks_gather(&hash, all, sizeof hash);
    for (uint32_t i = 0; i < ranks->size; i++)
        if (all[i] != hash)
            return false;
    return true;
}

static bool numbers_are_right(const vkf_ranks *ranks)
{
    double numbers[] = {ranks->rank, 0.5};
    vkf_ranks_sum(numbers, 2);
    return numbers[0] == ranks->size * (ranks->size - 1) / 2.0 && numbers[1] == ranks->size / 2.0;
}

int main(int argc, char **argv)
{
    vkf_ranks ranks;
    uint64_t hash = 0;
    vkf_ranks_begin(&ranks);
    if (argc != 2 || ranks.size != (uint32_t)atoi(argv[1]) || ranks.size > MOST_RANKS) {
        fprintf(stderr, "check_ranks: there are %u ranks\n", ranks.size);
        vkf_ranks_abort(1);
    }
    const bool sums = sums_are_right(&ranks, &hash), same = hashes_agree(&ranks, hash),
               numbers = numbers_are_right(&ranks);
    if (!sums || !same || !numbers)
        fprintf(stderr, "check_ranks: rank %u: sums %d, the same bits %d, numbers %d\n", ranks.rank, sums, same,
                numbers);
    vkf_ranks_end();
    return !sums || !same || !numbers;
}
