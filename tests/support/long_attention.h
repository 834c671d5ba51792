// Attention of so many positions that a matrix of scores would take 2 GiB, for tests of what is planned.
#ifndef VKF_TEST_LONG_ATTENTION_H
#define VKF_TEST_LONG_ATTENTION_H

#include "op/attention.h"

enum {
    VKF_TEST_LONG_LENGTH = 8192,
    VKF_TEST_LONG_HEADS = 8,
    VKF_TEST_LONG_DIM = VKF_TEST_LONG_HEADS * 64,
    VKF_TEST_LONG_BYTES = VKF_TEST_LONG_LENGTH * VKF_TEST_LONG_DIM * 4, // of an operand
};

// Attention of one sequence. Its operands lie in no buffer: planning needs none.
vkf__attention_args vkf_test_long_attention(void);

#endif
