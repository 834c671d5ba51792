// Weights in blocks as operands: VKF_DTYPE_Q8 and VKF_DTYPE_Q4.
#ifndef VKF_TESTS_BLOCK_WEIGHT_H
#define VKF_TESTS_BLOCK_WEIGHT_H

#include "support/op_fixture.h"

// A weight (n, k) in panels, amid NaN; its values are what the blocks stand for. Uniform ones of -1 .. 1 in blocks as
// vkf__blocks_from_f32() makes them, or the whole numbers -3 .. 3 (q8: and -128) as they are, under a scale of 1.
vkf_test_operand *vkf_test_block_weight(vkf_test_ops *ops, vkf_dtype dtype, bool integers, uint32_t n, uint32_t k);

#endif
