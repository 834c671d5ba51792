// The sums of gradients over trainers that share the batches of a step. The pass is submitted in parts. Each ends where
// the gradients of a bucket are complete, which then go to host memory and on their way to the other trainers, while
// the device goes on with the parts that follow.
#ifndef VKF_TRAINING_EXCHANGE_H
#define VKF_TRAINING_EXCHANGE_H

#include <vkformer/train.h>

#include "kernel/train/work_part.h"
#include "training/parameters.h"

// Gradients that one dispatch completes, and where they lie in host memory.
typedef struct vkf__exchange_piece {
    uint32_t buffer; // of the gradients'
    uint32_t done;   // the last dispatch of the pass that writes to them
    uint64_t begin, end;
    uint64_t to;
} vkf__exchange_piece;

typedef struct vkf__bucket {
    uint64_t begin, end; // in host memory
    vkf__work_part part; // of the pass, with copies to there
} vkf__bucket;

typedef struct vkf__exchange {
    vkf_context *context;
    vkf_train_exchange calls;
    vkf_buffer *staging;
    vkf__exchange_piece *pieces; // in the order of buckets
    size_t piece_count, piece_capacity;
    vkf__bucket *buckets;
    size_t bucket_count;
    vkf__work_part update; // sums on their way back, and what follows them
    double mark;           // what has to be the same of all trainers; below 0: not known
    bool finite;           // this trainer's own loss of the last step
} vkf__exchange;

// What `staging` will have.
uint64_t vkf__exchange_bytes(const vkf__parameters *parameters);

// Finds the buckets in the pass, and records its parts and that of the update, which were recorded as wholes. Statuses:
// OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN. It may be freed after a failure.
VKF_MUST_CHECK vkf_status vkf__exchange_init(vkf__exchange *exchange, const vkf_train_exchange *calls,
                                             const vkf__parameters *parameters, vkf__work *pass, vkf__work *update);
void vkf__exchange_free(vkf__exchange *exchange);

// Adds up labels, and finds out whether the trainers are at the same: INVALID_ARGUMENT if they are not. The state of
// this one is `state`, which is compared only where exchange->mark is below 0.
VKF_MUST_CHECK vkf_status vkf__exchange_labels(vkf__exchange *exchange, const vkf__parameters *parameters,
                                               uint64_t state, uint64_t *inout_labels);
// Runs the pass, which was updated, or without `pass` only takes what gradients there are. They then lie in host memory
// as sums.
VKF_MUST_CHECK vkf_status vkf__exchange_run(vkf__exchange *exchange, bool pass);
// Takes the sums to the device, and runs the update, which was updated.
VKF_MUST_CHECK vkf_status vkf__exchange_update(vkf__exchange *exchange);
// Adds up a loss.
VKF_MUST_CHECK vkf_status vkf__exchange_loss(vkf__exchange *exchange, float *inout_loss);

#endif
