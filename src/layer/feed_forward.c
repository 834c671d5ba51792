// Emits the feed-forward block, with and without a gate.
#include "layer/feed_forward.h"

#include <assert.h>

#include "op/gate.h"
#include "op/gemm_dot.h"
#include "op/gemm_fused.h"

vkf__feed_forward_block vkf__feed_forward_block_of(uint32_t d_model, uint32_t dim_feedforward,
                                                   vkf_activation activation, vkf_dtype dtype,
                                                   const vkf_feed_forward_weights *weights)
{
    return (vkf__feed_forward_block){
        .d_model = d_model,
        .dim_feedforward = dim_feedforward,
        .activation = activation == VKF_ACTIVATION_DEFAULT ? VKF_ACTIVATION_RELU : activation,
        .dtype = dtype,
        .weight1 = vkf__span_of(&weights->weight1),
        .bias1 = vkf__span_of(&weights->bias1),
        .weight2 = vkf__span_of(&weights->weight2),
        .bias2 = vkf__span_of(&weights->bias2),
    };
}

// Multiplies x by one of the weights into its half of `both` (rows, 2 * dim_feedforward), from column `first` on.
static vkf_status emit_columns(vkf__work *work, const vkf__feed_forward_block *block, const char *label,
                               const vkf__rows *x, const vkf__span *weight, const vkf__span *bias,
                               const vkf__span *both, uint32_t first, uint32_t rows)
{
    const vkf__gemm_args gemm = {
        .label = label,
        .a = x->span,
        .b = *weight,
        .d = *both,
        .bias = *bias,
        .m = rows,
        .n = block->dim_feedforward,
        .k = block->d_model,
        .batch = rows > 0,
        .lda = x->row,
        .ldb = block->d_model,
        .ldd = 2 * block->dim_feedforward,
        .d_first = first,
        .transpose_b = true,
        .alpha = 1.0f,
    };
    return vkf__emit_gemm(work, &gemm);
}

// The product by the gate and the first matrix, where their weights are fused. Where it goes is not stated yet.
static vkf__linear_args fused_product(const vkf__feed_forward_block *block, const vkf__rows *x, uint32_t rows)
{
    assert(vkf__span_follows(&block->gate, &block->weight1));
    return (vkf__linear_args){
        .label = "gate_linear1",
        .x = x->span,
        .x_row = x->row,
        .weight = vkf__span_joined(&block->gate, &block->weight1),
        .bias = vkf__span_joined(&block->gate_bias, &block->bias1),
        .rows = rows,
        .in = block->d_model,
        .out = 2 * block->dim_feedforward,
        .norm = x->norm,
    };
}

// The same by a kernel that also gates, into `hidden`.
static vkf__linear_args gated_product(const vkf__feed_forward_block *block, const vkf__rows *x, const vkf__rows *hidden,
                                      uint32_t rows)
{
    vkf__linear_args linear = fused_product(block, x, rows);
    linear.d = hidden->span;
    linear.d_row = hidden->row;
    linear.activation = block->activation;
    linear.gate = true;
    return linear;
}

// The products by the gate and by the first matrix into `both` (rows, 2 * dim), as one where their weights are fused.
static vkf_status emit_both(vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                            const vkf__span *both, uint32_t rows)
{
    uint32_t dim = block->dim_feedforward;
    uint64_t single = 0;
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, block->fused_gate, &single));
    if (single) {
        vkf__linear_args linear = fused_product(block, x, rows);
        linear.d = *both;
        return vkf__emit_linear(work, &linear);
    }
    VKF_RETURN_IF_ERROR(emit_columns(work, block, "gate_linear", x, &block->gate, &block->gate_bias, both, 0, rows));
    return emit_columns(work, block, "linear1", x, &block->weight1, &block->bias1, both, dim, rows);
}

// Whether the product by the gate and the first matrix is one dispatch that also gates.
static bool gates_at_once(const vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                          uint32_t rows)
{
    const vkf__rows hidden = {.span = {.dtype = block->dtype}, .row = block->dim_feedforward};
    const vkf__linear_args linear = gated_product(block, x, &hidden, rows);
    return vkf__linear_fuses(work, &linear);
}

static vkf_status emit_gated(vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                             const vkf__rows *hidden, uint32_t rows)
{
    uint64_t fused = 0;
    vkf__span both;
    if (block->fused_gate) {
        const vkf__linear_args linear = gated_product(block, x, hidden, rows);
        fused = work->mode == VKF_WORK_PLAN && gates_at_once(work, block, x, rows);
        VKF_RETURN_IF_ERROR(vkf__work_decide(work, fused, &fused));
        if (fused)
            return vkf__emit_linear(work, &linear);
    }
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, block->dtype, (uint64_t)rows * 2 * block->dim_feedforward, &both));
    VKF_RETURN_IF_ERROR(emit_both(work, block, x, &both, rows));
    const vkf__gate_args gate = {
        .label = "gate",
        .x = both,
        .out = hidden->span,
        .out_row = hidden->row,
        .rows = rows,
        .dim = block->dim_feedforward,
        .activation = block->activation,
    };
    return vkf__emit_gate(work, &gate);
}

// The first product where there is no gate.
static vkf__linear_args ungated_product(const vkf__feed_forward_block *block, const vkf__rows *x,
                                        const vkf__rows *hidden, uint32_t rows)
{
    return (vkf__linear_args){
        .label = "linear1",
        .x = x->span,
        .x_row = x->row,
        .weight = block->weight1,
        .bias = block->bias1,
        .d = hidden->span,
        .d_row = hidden->row,
        .rows = rows,
        .in = block->d_model,
        .out = block->dim_feedforward,
        .activation = block->activation,
        .norm = x->norm,
    };
}

static vkf_status emit_ungated(vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                               const vkf__rows *hidden, uint32_t rows)
{
    const vkf__linear_args linear1 = ungated_product(block, x, hidden, rows);
    return vkf__emit_linear(work, &linear1);
}

bool vkf__feed_forward_normalises(const vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                                  uint32_t rows)
{
    const vkf__rows hidden = {.span = {.dtype = block->dtype}, .row = block->dim_feedforward};
    const bool gated = vkf__present(&block->gate);
    if (gated && !block->fused_gate)
        return false;
    if (gated && gates_at_once(work, block, x, rows))
        return true;
    vkf__linear_args linear = gated ? fused_product(block, x, rows) : ungated_product(block, x, &hidden, rows);
    linear.d.dtype = block->dtype;
    return vkf__linear_fuses(work, &linear);
}

// Whether the gate is left to what rounds the rows of the second product.
static bool gates_late(const vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                       const vkf__linear_args *linear2, uint32_t rows)
{
    const vkf__gemm_args product = vkf__linear_product(linear2);
    return !(block->fused_gate && gates_at_once(work, block, x, rows)) && vkf__gemm_dot_gates(work, &product);
}

// `linear2` is the second product but for what it reads.
static vkf_status emit_gated_late(vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                                  const vkf__linear_args *linear2, uint32_t rows)
{
    vkf__linear_args linear = *linear2;
    linear.x_row = 2 * block->dim_feedforward;
    linear.input_gate = (vkf__input_gate){true, block->activation};
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, block->dtype, (uint64_t)rows * linear.x_row, &linear.x));
    VKF_RETURN_IF_ERROR(emit_both(work, block, x, &linear.x, rows));
    return vkf__emit_linear(work, &linear);
}

// The second product, without its input.
static vkf__linear_args second_product(const vkf__feed_forward_block *block, const vkf__span *out, bool accumulate,
                                       uint32_t rows)
{
    return (vkf__linear_args){
        .label = "linear2",
        .x = {.dtype = block->dtype},
        .weight = block->weight2,
        .bias = block->bias2,
        .d = *out,
        .rows = rows,
        .in = block->dim_feedforward,
        .out = block->d_model,
        .beta = accumulate ? 1.0f : 0.0f,
    };
}

vkf_status vkf__emit_feed_forward(vkf__work *work, const vkf__feed_forward_block *block, const vkf__rows *x,
                                  const vkf__span *out, bool accumulate, uint32_t rows)
{
    vkf__linear_args linear2 = second_product(block, out, accumulate, rows);
    // (rows, dim_feedforward), `row` apart
    vkf__rows hidden = {.row = vkf__gemm_row(work->context, block->dim_feedforward, block->dtype)};
    if (vkf__present(&block->gate)) {
        uint64_t late = work->mode == VKF_WORK_PLAN && gates_late(work, block, x, &linear2, rows);
        VKF_RETURN_IF_ERROR(vkf__work_decide(work, late, &late));
        if (late)
            return emit_gated_late(work, block, x, &linear2, rows);
    }
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, block->dtype, (uint64_t)rows * hidden.row, &hidden.span));
    if (vkf__present(&block->gate))
        VKF_RETURN_IF_ERROR(emit_gated(work, block, x, &hidden, rows));
    else
        VKF_RETURN_IF_ERROR(emit_ungated(work, block, x, &hidden, rows));
    linear2.x = hidden.span;
    linear2.x_row = hidden.row;
    return vkf__emit_linear(work, &linear2);
}
