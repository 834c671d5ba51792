// Weights that are multiplied as one: those of queries, keys and values, and a gate's with the first matrix of its
// feed-forward. The tables say which slots belong together, here it is checked that they come in that order, and what
// lies on the device as one operand is said by fields of the layer, which nothing has to find out again.
#ifndef VKF_MODEL_WEIGHT_FUSION_H
#define VKF_MODEL_WEIGHT_FUSION_H

#include "model/weight_names.h"

// Its parts when complete: 3 or 2, of NONE 0.
uint32_t vkf__fusion_parts(vkf__fusion fusion);

// Status UNSUPPORTED where all parts of a fusion are there, but not one behind the other: the order of the tables would
// lose it.
VKF_MUST_CHECK vkf_status vkf__fusions_check(const vkf__host *host, const vkf__weight_slot *slots, size_t count);

// Says in each layer which of its weights are one operand, now that the slots are filled: parts that have gaps between
// them, lie in two buffers or differ in their layout are not.
void vkf__fusions_settle(const vkf__weight_slot *slots, size_t count);

#endif
