#include "support/long_attention.h"

vkf__attention_args vkf_test_long_attention(void)
{
    enum { WIDTH = VKF_TEST_LONG_DIM / VKF_TEST_LONG_HEADS };
    const vkf__heads_span operand = {
        .span = {.size_bytes = VKF_TEST_LONG_BYTES, .dtype = VKF_DTYPE_F32},
        .batch_stride = VKF_TEST_LONG_LENGTH * VKF_TEST_LONG_DIM,
        .row_stride = VKF_TEST_LONG_DIM,
        .head_stride = WIDTH,
    };
    return (vkf__attention_args){
        .label = "attention",
        .q = operand,
        .k = operand,
        .v = operand,
        .out = operand,
        .batch = 1,
        .heads = VKF_TEST_LONG_HEADS,
        .kv_heads = VKF_TEST_LONG_HEADS,
        .q_len = VKF_TEST_LONG_LENGTH,
        .k_len = VKF_TEST_LONG_LENGTH,
        .head_dim = WIDTH,
        .v_head_dim = WIDTH,
        .masks.cols = VKF_TEST_LONG_LENGTH,
        .masks.scale = 0.125f,
    };
}
