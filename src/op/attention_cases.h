// What the rows of attention have beside their emitter.
#ifndef VKF_OP_ATTENTION_CASES_H
#define VKF_OP_ATTENTION_CASES_H

#include "op/op_info.h"

vkf_status vkf__attention_reference(const vkf__execution *e);
vkf_status vkf__attention_reduce_reference(const vkf__execution *e);
vkf_status vkf__attention_cases(vkf__cases *cases);

#endif
