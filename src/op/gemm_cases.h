// What the row of matrix products has beside its emitter.
#ifndef VKF_OP_GEMM_CASES_H
#define VKF_OP_GEMM_CASES_H

#include "op/op_info.h"

vkf_status vkf__gemm_reference(const vkf__execution *e);
vkf_status vkf__gemm_cases(vkf__cases *cases);

#endif
