// The table of operators, which maps each vkf__op to its row.
#ifndef VKF_OP_OPERATORS_H
#define VKF_OP_OPERATORS_H

#include "op/op_info.h"

// A row is defined beside its emitter.
#define VKF_DECLARE_ROW(NAME, name) extern const vkf__op_info vkf__op_##name;
VKF_OPS(VKF_DECLARE_ROW)
#undef VKF_DECLARE_ROW

const vkf__op_info *vkf__operator(vkf__op op);

// What a dispatch read, wrote and computed. All zeros for kernels that measure roofs.
vkf__account vkf__account_of(const vkf__dispatched *dispatched);

// Where a dispatch wrote its output. False where that is not a tensor of floating-point numbers but tokens, parts of
// sums, or rows that were rounded or moved.
bool vkf__output_of(const vkf__dispatched *dispatched, vkf__extent *out_extent);

#endif
