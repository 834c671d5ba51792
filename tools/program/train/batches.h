// Batches of training: examples of like lengths together, as many as a number of tokens allows, in another order each
// epoch. As fairseq does it, examples are sorted by length and cut into batches once; an epoch changes which of equally
// long examples meet, and the order of the batches. All of it follows from the seed and the number of the batch.
#ifndef VKF_PROGRAM_BATCHES_H
#define VKF_PROGRAM_BATCHES_H

#include "base/host.h"

typedef struct vkf_batches vkf_batches;

typedef struct vkf_example_ids {
    const int32_t *source; // (source_count)
    const int32_t *target; // (target_count); of a class its number, of a text none
    uint32_t source_count, target_count;
} vkf_example_ids;

// Makes the ids of an example, always the same. They are valid until the next call.
typedef vkf_status (*vkf_example_ids_fn)(void *user, uint32_t example, vkf_example_ids *out_ids);

typedef struct vkf_batches_desc {
    uint32_t example_count;
    vkf_example_ids_fn ids;
    void *ids_user;
    bool has_targets;         // an example without is left out
    uint32_t max_tokens;      // of a batch with its padding, on the side of source and target that has more
    uint32_t max_rows;        // 0: any number
    uint32_t row_multiple;    // all batches but the last and the small have a multiple of it; 0: 1
    uint32_t source_multiple; // lengths are padded to a multiple of it, or to max_source_len; 0: 1
    uint32_t target_multiple;
    uint32_t max_source_len, max_target_len; // longer examples are left out; 0: any length
    int32_t source_pad_id, target_pad_id;
    uint64_t seed;
    uint32_t rank, ranks; // this machine of so many; 0 of 0: alone
} vkf_batches_desc;

typedef struct vkf_batch {
    uint32_t rows, source_len, target_len;
    uint32_t *examples;                    // (rows)
    int32_t *source_ids;                   // (rows, source_len), padded
    int32_t *target_ids;                   // (rows, target_len), padded
    uint32_t *source_lengths;              // (rows) without padding
    uint32_t *target_lengths;              // (rows)
    uint64_t source_tokens, target_tokens; // sums of the lengths
} vkf_batch;

// Asks for the ids of all examples once, to know their lengths. *out_batches keeps host and callback. Statuses: FORMAT
// (no example can be taken, or there are fewer batches than machines), OUT_OF_HOST_MEMORY, those of the callback.
VKF_MUST_CHECK vkf_status vkf_batches_create(const vkf__host *host, const vkf_batches_desc *desc,
                                             vkf_batches **out_batches);
void vkf_batches_destroy(vkf_batches **batches);

// Batches of an epoch for this machine; the same in every epoch.
uint32_t vkf_batches_per_epoch(const vkf_batches *batches);

// The most rows of a batch, and the longest sides of any.
typedef struct vkf_batch_sizes {
    uint32_t rows, source_len, target_len;
} vkf_batch_sizes;

vkf_batch_sizes vkf_batches_largest(const vkf_batches *batches);

// How many examples are left out, because they are empty or too long. *out_first is the first of them, unless it is
// NULL or there is none.
uint32_t vkf_batches_left_out(const vkf_batches *batches, uint32_t *out_first);

// The batch of that number, from 0: the first of the second epoch comes behind the last of the first. *out_batch is
// valid until the next call. Statuses: INTERNAL (the callback gave more tokens than before), those of the callback.
VKF_MUST_CHECK vkf_status vkf_batches_get(vkf_batches *batches, uint64_t number, const vkf_batch **out_batch);

#endif
