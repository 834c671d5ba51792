// What of the choice of a kernel for attention its emitter asks for, beside attention.h.
#ifndef VKF_OP_ATTENTION_CHOICE_H
#define VKF_OP_ATTENTION_CHOICE_H

#include "op/attention.h"

// Into how many parts the keys are worth dividing, however large the device.
uint64_t vkf__attention_splits_worth_it(const vkf_context *context, const vkf__attention_args *args);

// The problem of keys in this many parts, which the same kernel puts together where `joined`, and its types as in
// vkf__attention_problem().
vkf__problem vkf__attention_parts_problem(const vkf_context *context, const vkf__attention_args *args, uint64_t splits,
                                          bool joined, vkf_dtype out_types[VKF_KERNEL_MAX_TYPES]);

// The problem of putting them together in a dispatch of its own.
vkf__problem vkf__attention_reduce_problem(const vkf__attention_args *args, uint64_t splits);

// Whether a kernel that puts this many parts together is as good a choice as one that leaves them to attention_reduce,
// which waits for all of them.
bool vkf__attention_joins(const vkf_context *context, const vkf__attention_args *args, uint64_t splits);

// Whether a kernel serves fused attention.
bool vkf__attention_is_served(const vkf__work *work, const vkf__attention_args *args);

#endif
