// Whether the comparisons of these tests notice anything: every kernel runs once as it should and must agree with the
// reference, then with one wrong stride, size or offset at a time, and must not. Products are in
// test_op_mutations_gemm.c.
#include <stdlib.h>
#include <string.h>

#include "op/additive.h"
#include "op/argmax.h"
#include "op/copy.h"
#include "op/embed.h"
#include "op/gate.h"
#include "op/layer_norm.h"
#include "op/permute.h"
#include "op/rotary.h"
#include "op/sample.h"
#include "op/softmax.h"
#include "reference/reference.h"
#include "support/mutations.h"

static vkf_status emit_softmax(vkf__work *work, const void *args)
{
    return vkf__emit_softmax(work, args);
}

static const vkf_test_plant SOFTMAX_MUTATIONS[] = {
    VKF_PLANT(vkf__softmax_args, mask_row, 10),  VKF_PLANT(vkf__softmax_args, mask_head, 0),
    VKF_PLANT(vkf__softmax_args, mask_batch, 0), VKF_PLANT(vkf__softmax_args, key_mask_batch, 0),
    VKF_PLANT(vkf__softmax_args, mask_cols, 5),  VKF_PLANT(vkf__softmax_args, causal_offset, 7),
    VKF_PLANT(vkf__softmax_args, window, 3),     VKF_PLANT(vkf__softmax_args, scale, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__softmax_args, k_len, 10),     VKF_PLANT(vkf__softmax_args, heads, 1),
    VKF_PLANT(vkf__softmax_args, q_len, 4),      VKF_PLANT(vkf__softmax_args, batch, 1),
    VKF_PLANT(vkf__softmax_args, mask_kind, 0),  VKF_PLANT(vkf__softmax_args, key_mask_kind, 0),
};

static void test_softmax_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { B = 2, H = 2, L = 5, S = 11 };
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, H, L, S));
    vkf_test_operand *mask = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, H, L, S));
    vkf_test_operand *key_mask = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, S));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(B, H, L, S));
    const vkf__softmax_args args = {.label = "softmax",
                                    .x = SPAN(x),
                                    .out = SPAN(out),
                                    .mask = SPAN(mask),
                                    .key_mask = SPAN(key_mask),
                                    .mask_kind = VKF_MASK_ADDITIVE,
                                    .key_mask_kind = VKF_MASK_ADDITIVE,
                                    .batch = B,
                                    .heads = H,
                                    .q_len = L,
                                    .k_len = S,
                                    .mask_cols = S,
                                    .mask_batch = H * L * S,
                                    .mask_head = L * S,
                                    .mask_row = S,
                                    .key_mask_batch = S,
                                    .causal = true,
                                    .causal_offset = 4,
                                    .window = 6,
                                    .scale = 1};
    float *expected = vkf_test_expectation(out);
    vkf__ref_softmax(&(vkf__ref_softmax_desc){.batch = B,
                                              .heads = H,
                                              .q_len = L,
                                              .k_len = S,
                                              .mask_cols = S,
                                              .x = x->values,
                                              .out = expected,
                                              .scale = 1,
                                              .mask_kind = VKF_MASK_ADDITIVE,
                                              .mask = mask->values,
                                              .mask_batch = H * L * S,
                                              .mask_head = L * S,
                                              .mask_row = S,
                                              .key_mask_kind = VKF_MASK_ADDITIVE,
                                              .key_mask = key_mask->values,
                                              .causal = true,
                                              .causal_offset = 4,
                                              .window = 6});
    RUN("softmax", emit_softmax, args, out, expected, SOFTMAX_MUTATIONS);
}

static vkf_status emit_layer_norm(vkf__work *work, const void *args)
{
    return vkf__emit_layer_norm(work, args);
}

// Compact rows of `cols` at the distance of the expectation's, whose gaps stay as they are.
static void spread_rows(const float *rows, uint32_t count, uint32_t cols, uint32_t distance, float *expected)
{
    for (uint32_t i = 0; i < count; i++)
        memcpy(expected + (size_t)i * distance, rows + (size_t)i * cols, cols * sizeof *rows);
}

static const vkf_test_plant LAYER_NORM_MUTATIONS[] = {
    VKF_PLANT(vkf__layer_norm_args, out_row, 19),
    VKF_PLANT(vkf__layer_norm_args, dim, 18),
    VKF_PLANT(vkf__layer_norm_args, rows, 3),
    VKF_PLANT(vkf__layer_norm_args, eps, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__layer_norm_args, weight.size_bytes, 0),
    VKF_PLANT(vkf__layer_norm_args, bias.size_bytes, 0),
    VKF_PLANT(vkf__layer_norm_args, weight.offset_bytes, 0),
    VKF_PLANT(vkf__layer_norm_args, rms, 1),
};
static const vkf_test_plant RESIDUAL_MUTATIONS[] = {
    VKF_PLANT(vkf__layer_norm_args, dim, 18),
    VKF_PLANT(vkf__layer_norm_args, rows, 3),
    VKF_PLANT(vkf__layer_norm_args, residual_order, VKF_RESIDUAL_NONE),
    VKF_PLANT(vkf__layer_norm_args, residual_order, VKF_RESIDUAL_AFTER),
    VKF_PLANT(vkf__layer_norm_args, residual.offset_bytes, 0),
};

static void run_layer_norm(void **state, vkf_residual_order order)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 19));
    vkf_test_operand *weight = vkf_test_uniform(ops, VKF_DTYPE_F32, 0.5f, 1.5f, SHAPE(19));
    vkf_test_operand *bias = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(19));
    vkf_test_operand *residual = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 19));
    // A residual has compact rows alone.
    const uint32_t out_row = order == VKF_RESIDUAL_NONE ? 23 : 19;
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(4, out_row));
    const vkf__layer_norm_args args = {.label = "layer_norm",
                                       .x = SPAN(x),
                                       .out = SPAN(out),
                                       .out_row = out_row,
                                       .weight = SPAN(weight),
                                       .bias = SPAN(bias),
                                       .residual = SPAN(residual),
                                       .residual_order = order,
                                       .rows = 4,
                                       .dim = 19,
                                       .eps = 1e-5f};
    float rows[4 * 19];
    float *expected = vkf_test_expectation(out);
    vkf__ref_layer_norm(&(vkf__ref_layer_norm_desc){.rows = 4,
                                                    .dim = 19,
                                                    .x = x->values,
                                                    .weight = weight->values,
                                                    .bias = bias->values,
                                                    .residual = residual->values,
                                                    .out = rows,
                                                    .eps = 1e-5f,
                                                    .residual_order = order});
    spread_rows(rows, 4, 19, out_row, expected);
    if (order == VKF_RESIDUAL_NONE)
        RUN("layer_norm", emit_layer_norm, args, out, expected, LAYER_NORM_MUTATIONS);
    else
        RUN("layer_norm_residual", emit_layer_norm, args, out, expected, RESIDUAL_MUTATIONS);
}

static void test_layer_norm_mutations_are_noticed(void **state)
{
    run_layer_norm(state, VKF_RESIDUAL_NONE);
}

static void test_layer_norm_residual_mutations_are_noticed(void **state)
{
    run_layer_norm(state, VKF_RESIDUAL_BEFORE);
}

static vkf_status emit_permute(vkf__work *work, const void *args)
{
    return vkf__emit_permute(work, args);
}

static const vkf_test_plant PERMUTE_MUTATIONS[] = {
    VKF_PLANT(vkf__permute_args, rows, 3),
    VKF_PLANT(vkf__permute_args, cols, 5),
    VKF_PLANT(vkf__permute_args, depth, 6),
    VKF_PLANT(vkf__permute_args, batch, 1),
};

static void test_permute_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 5, 3, 7));
    vkf_test_operand *out =
        vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 5, 5, 7)); // with room for a wrong number of columns
    const vkf__permute_args args = {
        .label = "permute", .x = SPAN(x), .out = SPAN(out), .batch = 2, .rows = 5, .cols = 3, .depth = 7};
    float *expected = vkf_test_expectation(out);
    vkf__ref_permute(2, 5, 3, 7, x->values, expected);
    RUN("permute", emit_permute, args, out, expected, PERMUTE_MUTATIONS);
}

static vkf_status emit_copy(vkf__work *work, const void *args)
{
    return vkf__emit_copy(work, args);
}

static const vkf_test_plant COPY_MUTATIONS[] = {
    VKF_PLANT(vkf__copy_args, x_row, 6),
    VKF_PLANT(vkf__copy_args, x_outer, 20),
    VKF_PLANT(vkf__copy_args, out_row, 5),
    VKF_PLANT(vkf__copy_args, out_outer, 17),
    VKF_PLANT(vkf__copy_args, out_first, 3),
    VKF_PLANT(vkf__copy_args, cols, 4),
    VKF_PLANT(vkf__copy_args, rows, 2),
    VKF_PLANT(vkf__copy_args, outer, 1),
    VKF_PLANT(vkf__copy_args, alpha, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__copy_args, beta, VKF_TEST_HALF_BITS),
};

static void test_copy_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 7));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(4 + 2 * 3 * 6));
    const vkf__copy_args args = {.label = "copy",
                                 .x = SPAN(x),
                                 .out = SPAN(out),
                                 .outer = 2,
                                 .rows = 3,
                                 .cols = 5,
                                 .x_outer = 21,
                                 .x_row = 7,
                                 .out_first = 4,
                                 .out_outer = 18,
                                 .out_row = 6,
                                 .alpha = 1};
    float *expected = vkf_test_expectation(out);
    for (uint32_t i = 0; i < 2 * 3 * 5; i++)
        expected[4 + i / 15 * 18 + i / 5 % 3 * 6 + i % 5] = x->values[i / 15 * 21 + i / 5 % 3 * 7 + i % 5];
    RUN("copy", emit_copy, args, out, expected, COPY_MUTATIONS);
}

static vkf_status emit_head_mean(vkf__work *work, const void *args)
{
    return vkf__emit_head_mean(work, args);
}

static const vkf_test_plant HEAD_MEAN_MUTATIONS[] = {
    VKF_PLANT(vkf__head_mean_args, heads, 2),
    VKF_PLANT(vkf__head_mean_args, plane, 4),
    VKF_PLANT(vkf__head_mean_args, batch, 1),
};

static void test_head_mean_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 5));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 5));
    const vkf__head_mean_args args = {
        .label = "mean", .x = SPAN(x), .out = SPAN(out), .batch = 2, .heads = 3, .plane = 5};
    float *expected = vkf_test_expectation(out);
    for (uint32_t i = 0; i < 10; i++) {
        const float *first = x->values + i / 5 * 15 + i % 5;
        expected[i] = (first[0] + first[5] + first[10]) / 3;
    }
    RUN("head_mean", emit_head_mean, args, out, expected, HEAD_MEAN_MUTATIONS);
}

static vkf_status emit_embed(vkf__work *work, const void *args)
{
    return vkf__emit_embed(work, args);
}

static const vkf_test_plant EMBED_MUTATIONS[] = {
    VKF_PLANT(vkf__embed_args, dim, 6),
    VKF_PLANT(vkf__embed_args, len, 3),
    VKF_PLANT(vkf__embed_args, batch, 1),
    VKF_PLANT(vkf__embed_args, vocab, 4),
    VKF_PLANT(vkf__embed_args, ids_stride, 5),
    VKF_PLANT(vkf__embed_args, ids_first, 1),
    VKF_PLANT(vkf__embed_args, first_position, 1),
    VKF_PLANT(vkf__embed_args, scale, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__embed_args, positions.size_bytes, 0),
};

static void test_embed_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t tokens[] = {8, 0, 3, 5, 7, 2, 6, 1, 8};
    vkf_test_operand *ids = vkf_test_ids(ops, tokens, SHAPE(9)); // two rows of four, and one more for wrong strides
    vkf_test_operand *table = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(9, 7));
    vkf_test_operand *positions = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(6, 7));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 4, 7));
    const vkf__embed_args args = {.label = "embed",
                                  .ids = SPAN(ids),
                                  .table = SPAN(table),
                                  .positions = SPAN(positions),
                                  .out = SPAN(out),
                                  .batch = 2,
                                  .len = 4,
                                  .dim = 7,
                                  .vocab = 9,
                                  .ids_stride = 4,
                                  .first_position = 2,
                                  .scale = 3};
    float *expected = vkf_test_expectation(out);
    vkf__ref_embed(&(vkf__ref_embed_desc){.batch = 2,
                                          .len = 4,
                                          .dim = 7,
                                          .vocab = 9,
                                          .ids = tokens,
                                          .table = table->values,
                                          .positions = positions->values,
                                          .first_position = 2,
                                          .scale = 3,
                                          .out = expected});
    RUN("embed", emit_embed, args, out, expected, EMBED_MUTATIONS);
}

static vkf_status emit_argmax(vkf__work *work, const void *args)
{
    return vkf__emit_argmax(work, args);
}

static const vkf_test_plant ARGMAX_MUTATIONS[] = {
    VKF_PLANT(vkf__argmax_args, cols, 70),
    VKF_PLANT(vkf__argmax_args, rows, 4),
    VKF_PLANT(vkf__argmax_args, out_stride, 1),
    VKF_PLANT(vkf__argmax_args, out_first, 0),
};

static void test_argmax_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(5, 71));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(10));
    const vkf__argmax_args args = {
        .label = "argmax", .x = SPAN(x), .out = SPAN(out), .rows = 5, .cols = 71, .out_stride = 2, .out_first = 1};
    int32_t indices[5];
    float *expected = vkf_test_expectation(out);
    vkf__ref_argmax(5, 71, x->values, indices);
    for (uint32_t i = 0; i < 5; i++)
        expected[2 * i + 1] = (float)indices[i];
    RUN("argmax", emit_argmax, args, out, expected, ARGMAX_MUTATIONS);
}

static vkf_status emit_additive(vkf__work *work, const void *args)
{
    return vkf__emit_additive(work, args);
}

static const vkf_test_plant ADDITIVE_MUTATIONS[] = {
    VKF_PLANT(vkf__additive_args, dim, 8),
    VKF_PLANT(vkf__additive_args, q_len, 2),
    VKF_PLANT(vkf__additive_args, k_len, 4),
    VKF_PLANT(vkf__additive_args, batch, 1),
};

static void test_additive_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *query = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 9));
    vkf_test_operand *key = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 5, 9));
    vkf_test_operand *v = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(9));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 5));
    const vkf__additive_args args = {.label = "additive",
                                     .query = SPAN(query),
                                     .key = SPAN(key),
                                     .v = SPAN(v),
                                     .out = SPAN(out),
                                     .batch = 2,
                                     .q_len = 3,
                                     .k_len = 5,
                                     .dim = 9};
    float *expected = vkf_test_expectation(out);
    vkf__ref_additive_scores(2, 3, 5, 9, query->values, key->values, v->values, expected);
    RUN("additive_scores", emit_additive, args, out, expected, ADDITIVE_MUTATIONS);
}

static vkf_status emit_rotary(vkf__work *work, const void *args)
{
    return vkf__emit_rotary(work, args);
}

static const vkf_test_plant ROTARY_MUTATIONS[] = {
    VKF_PLANT(vkf__rotary_args, batch, 1),
    VKF_PLANT(vkf__rotary_args, len, 2),
    VKF_PLANT(vkf__rotary_args, q_heads, 0),
    VKF_PLANT(vkf__rotary_args, k_heads, 0),
    VKF_PLANT(vkf__rotary_args, head_dim, 8),
    VKF_PLANT(vkf__rotary_args, rotary_dim, 4),
    VKF_PLANT(vkf__rotary_args, first_position, 2),
    VKF_PLANT(vkf__rotary_args, x_first, 1),
    VKF_PLANT(vkf__rotary_args, x_batch, 62),
    VKF_PLANT(vkf__rotary_args, x_row, 20),
    VKF_PLANT(vkf__rotary_args, k_first, 1),
    VKF_PLANT(vkf__rotary_args, out_batch, 62),
    VKF_PLANT(vkf__rotary_args, out_row, 20),
    VKF_PLANT(vkf__rotary_args, eps, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__rotary_args, table.size_bytes, 0),
    VKF_PLANT(vkf__rotary_args, weight.size_bytes, 0),
    VKF_PLANT(vkf__rotary_args, weight.offset_bytes, 0),
    VKF_PLANT(vkf__rotary_args, k_weight, 0),
};

static void test_rotary_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 21));
    vkf_test_operand *table = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(8, 6));
    vkf_test_operand *weight = vkf_test_uniform(ops, VKF_DTYPE_F32, 0.5f, 1.5f, SHAPE(2, 9));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 21));
    const vkf__rotary_args args = {.label = "rotary",
                                   .x = SPAN(x),
                                   .out = SPAN(out),
                                   .table = SPAN(table),
                                   .weight = SPAN(weight),
                                   .k_weight = 9,
                                   .batch = 2,
                                   .len = 3,
                                   .q_heads = 1,
                                   .k_heads = 1,
                                   .head_dim = 9,
                                   .rotary_dim = 6,
                                   .first_position = 3,
                                   .x_first = 2,
                                   .x_batch = 63,
                                   .x_row = 21,
                                   .k_first = 3,
                                   .out_batch = 63,
                                   .out_row = 21,
                                   .eps = 1e-5f};
    float *expected = vkf_test_expectation(out);
    vkf__ref_rotary(&(vkf__ref_rotary_desc){2, 3, 1, 9, 6, 3, x->values, table->values, weight->values + 9, 11, 63, 21,
                                            3, 63, 21, 1e-5f, expected, false});
    RUN("rotary", emit_rotary, args, out, expected, ROTARY_MUTATIONS);
}

static vkf_status emit_gate(vkf__work *work, const void *args)
{
    return vkf__emit_gate(work, args);
}

static const vkf_test_plant GATE_MUTATIONS[] = {
    VKF_PLANT(vkf__gate_args, out_row, 5),
    VKF_PLANT(vkf__gate_args, rows, 3),
    VKF_PLANT(vkf__gate_args, dim, 4),
    VKF_PLANT(vkf__gate_args, activation, VKF_ACTIVATION_GELU_ERF),
};

static void test_gate_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 10));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(4, 7));
    const vkf__gate_args args = {
        .label = "gate",
        .x = SPAN(x),
        .out = SPAN(out),
        .out_row = 7,
        .rows = 4,
        .dim = 5,
        .activation = VKF_ACTIVATION_SILU,
    };
    float rows[4 * 5];
    float *expected = vkf_test_expectation(out);
    vkf__ref_gate(4, 5, VKF_ACTIVATION_SILU, x->values, rows);
    spread_rows(rows, 4, 5, 7, expected);
    RUN("gate", emit_gate, args, out, expected, GATE_MUTATIONS);
}

static vkf_status emit_sample(vkf__work *work, const void *args)
{
    return vkf__emit_sample(work, args);
}

enum { SAMPLE_ROWS = 40, SAMPLE_COLS = 71 };

static const vkf_test_plant SAMPLE_MUTATIONS[] = {
    VKF_PLANT(vkf__sample_args, cols, SAMPLE_COLS - 1),
    VKF_PLANT(vkf__sample_args, rows, SAMPLE_ROWS - 1),
    VKF_PLANT(vkf__sample_args, out_stride, 1),
    VKF_PLANT(vkf__sample_args, out_first, 0),
    VKF_PLANT(vkf__sample_args, temperature, 0),
    VKF_PLANT(vkf__sample_args, temperature, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__sample_args, top_k, 2),
    VKF_PLANT(vkf__sample_args, top_p, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__sample_args, min_p, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__sample_args, seed, 8),
    VKF_PLANT(vkf__sample_args, seed, UINT64_C(7) << 32),
    VKF_PLANT(vkf__sample_args, step, 2),
};

static void test_sample_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(SAMPLE_ROWS, SAMPLE_COLS));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(2 * SAMPLE_ROWS));
    const vkf__sample_args args = {.label = "sample",
                                   .x = SPAN(x),
                                   .out = SPAN(out),
                                   .rows = SAMPLE_ROWS,
                                   .cols = SAMPLE_COLS,
                                   .out_stride = 2,
                                   .out_first = 1,
                                   .temperature = 1,
                                   .top_p = 1,
                                   .repetition_penalty = 1,
                                   .seed = 7,
                                   .step = 1};
    double probabilities[SAMPLE_COLS], sorted[SAMPLE_COLS], margin = 0;
    float *expected = vkf_test_expectation(out);
    for (uint32_t i = 0; i < SAMPLE_ROWS; i++) {
        const vkf__ref_sample_desc row = {.cols = SAMPLE_COLS,
                                          .x = x->values + (size_t)i * SAMPLE_COLS,
                                          .temperature = 1,
                                          .top_p = 1,
                                          .repetition_penalty = 1,
                                          .seed = 7,
                                          .step = 1};
        expected[2 * i + 1] = (float)vkf__ref_sample(&row, i, probabilities, sorted, &margin);
        if (margin < 1e-5)
            fail_msg("row %u is drawn near a border: take another seed", i);
    }
    RUN("sample", emit_sample, args, out, expected, SAMPLE_MUTATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_softmax_mutations_are_noticed),
        VKF_OPS_TEST(test_layer_norm_mutations_are_noticed),
        VKF_OPS_TEST(test_layer_norm_residual_mutations_are_noticed),
        VKF_OPS_TEST(test_permute_mutations_are_noticed),
        VKF_OPS_TEST(test_copy_mutations_are_noticed),
        VKF_OPS_TEST(test_head_mean_mutations_are_noticed),
        VKF_OPS_TEST(test_embed_mutations_are_noticed),
        VKF_OPS_TEST(test_argmax_mutations_are_noticed),
        VKF_OPS_TEST(test_additive_mutations_are_noticed),
        VKF_OPS_TEST(test_rotary_mutations_are_noticed),
        VKF_OPS_TEST(test_gate_mutations_are_noticed),
        VKF_OPS_TEST(test_sample_mutations_are_noticed),
    };
    return cmocka_run_group_tests_name("op_mutations", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
