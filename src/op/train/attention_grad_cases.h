// What the rows of attention for training and of its gradients have beside their emitters.
#ifndef VKF_OP_ATTENTION_GRAD_CASES_H
#define VKF_OP_ATTENTION_GRAD_CASES_H

#include "op/op_info.h"
#include "shared/attention_grad.h"

// What `gives`, a VKF_ATTENTION_GRAD_*, says: whether the dispatch is on the way forward, and whether the rows of its
// own are keys.
static inline bool vkf__attention_grad_trains(uint32_t gives)
{
    return gives < VKF_ATTENTION_GRAD_QUERY;
}

static inline bool vkf__attention_grad_owns_keys(uint32_t gives)
{
    return gives >= VKF_ATTENTION_GRAD_KEY;
}

vkf_status vkf__attention_train_reference(const vkf__execution *e);
vkf_status vkf__attention_grad_reference(const vkf__execution *e);
vkf_status vkf__attention_grad_pack_reference(const vkf__execution *e);
vkf_status vkf__attention_grad_cases(vkf__cases *cases);

#endif
