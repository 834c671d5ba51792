// Weights that are multiplied as one operand: those of queries, keys and values, and the gate's with the first matrix
// of a feed-forward. The tables of families say which slots belong together. This file checks that they are in order,
// and once the tensors are placed it notes in each layer which of them are one operand, so that nothing else has to
// find out.
#ifndef VKF_MODEL_WEIGHT_FUSION_H
#define VKF_MODEL_WEIGHT_FUSION_H

#include "model/family/weight_names.h"

// The number of parts of a complete fusion: 3 or 2, and 0 for NONE.
uint32_t vkf__fusion_parts(vkf__fusion fusion);

// Fails with UNSUPPORTED where all parts of a fusion are there but not adjacent and in order: its weights would
// silently be multiplied one by one.
VKF_MUST_CHECK vkf_status vkf__fusions_check(const vkf__host *host, const vkf__weight_slot *slots, size_t count);

// Notes in each layer which of its weights are one operand; the slots must be filled. Parts that have gaps between
// them, lie in two buffers or differ in their layout are not.
void vkf__fusions_settle(const vkf__weight_slot *slots, size_t count);

#endif
