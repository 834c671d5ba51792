#include "layer/feed_forward.h"

#include "op/gemm.h"

vkf__feed_forward_block vkf__feed_forward_block_of(uint32_t d_model, uint32_t dim_feedforward,
                                                   vkf_activation activation, vkf_dtype dtype,
                                                   const vkf_feed_forward_weights *weights)
{
    return (vkf__feed_forward_block){
        .d_model = d_model,
        .dim_feedforward = dim_feedforward,
        .activation = activation,
        .dtype = dtype,
        .weight1 = vkf__span_of(&weights->weight1),
        .bias1 = vkf__span_of(&weights->bias1),
        .weight2 = vkf__span_of(&weights->weight2),
        .bias2 = vkf__span_of(&weights->bias2),
    };
}

vkf_status vkf__emit_feed_forward(vkf__work *work, const vkf__feed_forward_block *block, const vkf__span *x,
                                  const vkf__span *out, bool accumulate, uint32_t rows)
{
    vkf_status status = VKF_OK;
    vkf__span hidden; // (rows, dim_feedforward)
    VKF_TRY(vkf__work_temp(work, block->dtype, (uint64_t)rows * block->dim_feedforward, &hidden));
    const vkf__linear_args linear1 = {
        .label = "linear1",
        .x = *x,
        .weight = block->weight1,
        .bias = block->bias1,
        .d = hidden,
        .rows = rows,
        .in = block->d_model,
        .out = block->dim_feedforward,
        .activation = block->activation,
    };
    VKF_TRY(vkf__emit_linear(work, &linear1));
    const vkf__linear_args linear2 = {
        .label = "linear2",
        .x = hidden,
        .weight = block->weight2,
        .bias = block->bias2,
        .d = *out,
        .rows = rows,
        .in = block->dim_feedforward,
        .out = block->d_model,
        .beta = accumulate ? 1.0f : 0.0f,
    };
    VKF_TRY(vkf__emit_linear(work, &linear2));
fail:
    return status;
}
