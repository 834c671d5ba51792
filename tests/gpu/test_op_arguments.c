// What operators refuse: for every one a table of descriptors, each wrong in one thing. A refusal has a status and a
// message, and leaves the output as it was.
#include <stdio.h>
#include <string.h>

#include "support/refusals.h"

static vkf_status call_gemm(vkf_context *context, const void *desc)
{
    return vkf_gemm(context, desc);
}

static vkf_gemm_desc gemm_desc(vkf_test_ops *ops, vkf_test_operand **out)
{
    *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 5));
    return (vkf_gemm_desc){
        .a = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 4))->tensor,
        .b = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 4, 5))->tensor,
        .c = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 5))->tensor,
        .bias = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(5))->tensor,
        .residual = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 5))->tensor,
        .out = (*out)->tensor,
        .alpha = 1,
        .beta = 1,
    };
}

static void test_gemm_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    vkf_gemm_desc desc = gemm_desc(ops, &out);
    vkf_test_refuse_flaws(ops, &(vkf_test_operator){"vkf_gemm",
                                                    call_gemm,
                                                    &desc,
                                                    {&desc.a, &desc.b, &desc.c, &desc.bias, &desc.residual, &desc.out},
                                                    {"a", "b", "c", "bias", "residual", "out"},
                                                    out});
    assert_int_equal(vkf_gemm(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static const vkf_test_plant GEMM_PLANTS[] = {
    VKF_PLANT(vkf_gemm_desc, activation, VKF_ACTIVATION_RELU), // with both c and residual
    VKF_PLANT(vkf_gemm_desc, activation, VKF_ACTIVATION_COUNT),
    VKF_PLANT(vkf_gemm_desc, activation, UINT32_MAX),
    VKF_PLANT(vkf_gemm_desc, transpose_a, 1), // k is 3 and 4
    VKF_PLANT(vkf_gemm_desc, transpose_b, 1), // k is 4 and 5
    VKF_PLANT(vkf_gemm_desc, c.rank, 0),      // beta is 1
    VKF_PLANT(vkf_gemm_desc, a.shape[0], 1),  // unlike b and out
    VKF_PLANT(vkf_gemm_desc, b.shape[0], 1),  // neither shared nor of the batch
    VKF_PLANT(vkf_gemm_desc, out.shape[0], 1),
    VKF_PLANT(vkf_gemm_desc, bias.shape[0], 3),
    VKF_PLANT(vkf_gemm_desc, residual.dtype, VKF_DTYPE_F16), // unlike out
};

static void test_gemm_refuses_what_does_not_go_together(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    const vkf_gemm_desc correct = gemm_desc(ops, &out);
    vkf_gemm_desc desc = correct;
    const vkf_test_operator op = {.name = "vkf_gemm", .call = call_gemm, .desc = &desc, .out = out};
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, GEMM_PLANTS, COUNT_OF(GEMM_PLANTS));
    desc = correct;
    desc.activation = VKF_ACTIVATION_RELU;
    desc.residual = (vkf_tensor){0};
    vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "c and an activation without a residual");
}

static vkf_status call_layer_norm(vkf_context *context, const void *desc)
{
    return vkf_layer_norm(context, desc);
}

static vkf_layer_norm_desc layer_norm_desc(vkf_test_ops *ops, vkf_test_operand **out)
{
    *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 7));
    return (vkf_layer_norm_desc){
        .x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, 7))->tensor,
        .weight = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(7))->tensor,
        .bias = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(7))->tensor,
        .residual = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(3, 7))->tensor,
        .out = (*out)->tensor,
        .eps = 1e-5f,
        .residual_order = VKF_RESIDUAL_BEFORE,
    };
}

static void test_layer_norm_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    vkf_layer_norm_desc desc = layer_norm_desc(ops, &out);
    vkf_test_refuse_flaws(ops, &(vkf_test_operator){"vkf_layer_norm",
                                                    call_layer_norm,
                                                    &desc,
                                                    {&desc.x, &desc.weight, &desc.bias, &desc.residual, &desc.out},
                                                    {"x", "weight", "bias", "residual", "out"},
                                                    out});
    assert_int_equal(vkf_layer_norm(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static const vkf_test_plant LAYER_NORM_PLANTS[] = {
    VKF_PLANT(vkf_layer_norm_desc, eps, VKF_TEST_MINUS_ONE_BITS),
    VKF_PLANT(vkf_layer_norm_desc, eps, VKF_TEST_NAN_BITS),
    VKF_PLANT(vkf_layer_norm_desc, residual_order, VKF_RESIDUAL_ORDER_COUNT),
    VKF_PLANT(vkf_layer_norm_desc, residual.rank, 0),
    VKF_PLANT(vkf_layer_norm_desc, bias.dtype, VKF_DTYPE_F16), // unlike the weight
    VKF_PLANT(vkf_layer_norm_desc, out.dtype, VKF_DTYPE_F16),  // unlike x
    VKF_PLANT(vkf_layer_norm_desc, residual.shape[0], 2),
};

static void test_layer_norm_refuses_what_does_not_go_together(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    const vkf_layer_norm_desc correct = layer_norm_desc(ops, &out);
    vkf_layer_norm_desc desc = correct;
    const vkf_test_operator op = {.name = "vkf_layer_norm", .call = call_layer_norm, .desc = &desc, .out = out};
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, LAYER_NORM_PLANTS, COUNT_OF(LAYER_NORM_PLANTS));
}

typedef struct pair {
    vkf_tensor x, out;
} pair;

static vkf_status call_split(vkf_context *context, const void *desc)
{
    return vkf_split_heads(context, &((const pair *)desc)->x, &((const pair *)desc)->out);
}

static vkf_status call_merge(vkf_context *context, const void *desc)
{
    return vkf_merge_heads(context, &((const pair *)desc)->x, &((const pair *)desc)->out);
}

static vkf_status call_argmax(vkf_context *context, const void *desc)
{
    const vkf_argmax_desc argmax = {.x = ((const pair *)desc)->x, .out = ((const pair *)desc)->out};
    return vkf_argmax(context, &argmax);
}

static vkf_status call_copy(vkf_context *context, const void *desc)
{
    return vkf_copy(context, &((const pair *)desc)->x, &((const pair *)desc)->out);
}

static void refuse_pair(vkf_test_ops *ops, const char *name, vkf_status (*call)(vkf_context *, const void *),
                        vkf_test_operand *x, vkf_test_operand *out)
{
    pair desc = {x->tensor, out->tensor};
    const vkf_test_operator op = {name, call, &desc, {&desc.x, &desc.out}, {"x", "out"}, out};
    vkf_test_refuse_flaws(ops, &op);
}

static void test_heads_and_argmax_refuse_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 4, 5));
    refuse_pair(ops, "vkf_split_heads", call_split, x, vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 4, 3, 5)));
    refuse_pair(ops, "vkf_merge_heads", call_merge, x, vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 4, 3, 5)));
    refuse_pair(ops, "vkf_argmax", call_argmax, x, vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(2, 3, 4)));
    assert_int_equal(vkf_split_heads(ops->gpu.context, NULL, &x->tensor), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_merge_heads(ops->gpu.context, &x->tensor, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_argmax(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

// A copy between shapes of equal counts is none of the flaws: (5, 7, 1) instead of (5, 7).
static void test_copy_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(5, 7));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(5, 7));
    for (size_t f = 0; f < VKF_TEST_FLAWS; f++) {
        for (int which = 0; which < 2 && !vkf_test_flaws[f].keeps_count; which++) {
            pair desc = {x->tensor, out->tensor};
            const vkf_test_operator op = {.name = "vkf_copy", .call = call_copy, .desc = &desc, .out = out};
            vkf_test_flaws[f].plant(which ? &desc.x : &desc.out);
            vkf_test_refuse(ops, &op, vkf_test_flaws[f].name);
        }
    }
    const pair overlap = {out->tensor, out->tensor};
    vkf_test_assert_refused(ops, call_copy(ops->gpu.context, &overlap), VKF_ERROR_INVALID_ARGUMENT, "overlap");
    assert_int_equal(vkf_copy(ops->gpu.context, NULL, &x->tensor), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_copy(NULL, &x->tensor, &out->tensor), VKF_ERROR_INVALID_ARGUMENT);
}

static vkf_status call_embed(vkf_context *context, const void *desc)
{
    return vkf_embed(context, desc);
}

static void test_embed_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t tokens[] = {0, 1, 2, 3, 4, 5};
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 7));
    vkf_embed_desc desc = {
        .ids = vkf_test_ids(ops, tokens, SHAPE(2, 3))->tensor,
        .table = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(6, 7))->tensor,
        .positions = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(4, 7))->tensor,
        .out = out->tensor,
    };
    const vkf_test_operator op = {"vkf_embed",
                                  call_embed,
                                  &desc,
                                  {&desc.ids, &desc.table, &desc.positions, &desc.out},
                                  {"ids", "table", "positions", "out"},
                                  out};
    vkf_test_refuse_flaws(ops, &op);
    static const uint32_t beyond[] = {2, 4, UINT32_MAX, UINT32_MAX - 2};
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        desc.first_position = beyond[i]; // positions 2, 3, 4 of four
        vkf_test_refuse(ops, &op, "first_position");
    }
    assert_int_equal(vkf_embed(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static vkf_status call_rotary(vkf_context *context, const void *desc)
{
    return vkf_rotary(context, desc);
}

static vkf_rotary_desc rotary_desc(vkf_test_ops *ops, vkf_test_operand **out)
{
    static const int32_t positions[3 * 2 * 4] = {0, 1, 2};
    *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 4, 6));
    return (vkf_rotary_desc){
        .x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(2, 3, 4, 6))->tensor,
        .out = (*out)->tensor,
        .table = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(5, 4))->tensor,
        .positions = vkf_test_ids(ops, positions, SHAPE(3, 2, 4))->tensor,
        .sections = {1, 1, 0},
    };
}

static void test_rotary_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    vkf_rotary_desc desc = rotary_desc(ops, &out);
    vkf_test_refuse_flaws(ops, &(vkf_test_operator){"vkf_rotary",
                                                    call_rotary,
                                                    &desc,
                                                    {&desc.x, &desc.out, &desc.table, &desc.positions},
                                                    {"x", "out", "table", "positions"},
                                                    out});
    assert_int_equal(vkf_rotary(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static const vkf_test_plant ROTARY_PLANTS[] = {
    VKF_PLANT(vkf_rotary_desc, x.rank, 3),
    VKF_PLANT(vkf_rotary_desc, out.dtype, VKF_DTYPE_F16), // unlike x
    VKF_PLANT(vkf_rotary_desc, table.shape[1], 3),        // odd
    VKF_PLANT(vkf_rotary_desc, table.shape[1], 8),        // beyond the head
    VKF_PLANT(vkf_rotary_desc, merged, 1),                // positions of four, and three of them
    VKF_PLANT(vkf_rotary_desc, first_position, 1),        // with positions
    VKF_PLANT(vkf_rotary_desc, positions.rank, 0),        // sections are given
    VKF_PLANT(vkf_rotary_desc, positions.shape[0], 1),    // sections of two
    VKF_PLANT(vkf_rotary_desc, positions.shape[0], 5),
    VKF_PLANT(vkf_rotary_desc, positions.shape[1], 3), // neither 1 nor the batch
    VKF_PLANT(vkf_rotary_desc, sections[3], 1),
    VKF_PLANT(vkf_rotary_desc, sections[0], UINT32_MAX),
};

static void test_rotary_refuses_what_does_not_go_together(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    const vkf_rotary_desc correct = rotary_desc(ops, &out);
    vkf_rotary_desc desc = correct;
    const vkf_test_operator op = {.name = "vkf_rotary", .call = call_rotary, .desc = &desc, .out = out};
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, ROTARY_PLANTS, COUNT_OF(ROTARY_PLANTS));
    desc = correct;
    desc.positions.shape[0] = 2;
    desc.sections_in_turns = true;
    vkf_test_refuse(ops, &op, "turns of two sections");
    desc = correct;
    memset(desc.sections, 0, sizeof desc.sections);
    desc.positions = (vkf_tensor){0};
    static const uint32_t beyond[] = {2, 5, UINT32_MAX, UINT32_MAX - 3};
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        desc.first_position = beyond[i]; // positions 2 to 5 of five
        vkf_test_refuse(ops, &op, "first_position");
    }
    desc.first_position = 1;
    vkf_test_assert_ok(ops, vkf_rotary(ops->gpu.context, &desc), "the last positions of the table");
}

static vkf_status call_additive(vkf_context *context, const void *desc)
{
    return vkf_additive_scores(context, desc);
}

static void test_additive_scores_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 4));
    vkf_additive_scores_desc desc = {
        .query = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 5))->tensor,
        .key = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 4, 5))->tensor,
        .v = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(5))->tensor,
        .out = out->tensor,
    };
    const vkf_test_operator op = {"vkf_additive_scores",
                                  call_additive,
                                  &desc,
                                  {&desc.query, &desc.key, &desc.v, &desc.out},
                                  {"query", "key", "v", "out"},
                                  out};
    vkf_test_refuse_flaws(ops, &op);
    assert_int_equal(vkf_additive_scores(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static vkf_status call_activate(vkf_context *context, const void *desc)
{
    return vkf_activate(context, desc);
}

static const vkf_test_plant ACTIVATE_PLANTS[] = {
    VKF_PLANT(vkf_activate_desc, activation, VKF_ACTIVATION_COUNT),
    VKF_PLANT(vkf_activate_desc, alpha, VKF_TEST_NAN_BITS),
    VKF_PLANT(vkf_activate_desc, out.dtype, VKF_DTYPE_F16), // unlike x
};

static void test_activate_refuses_what_is_wrong(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 7));
    const vkf_activate_desc correct = {.x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, 7))->tensor,
                                       .out = out->tensor,
                                       .activation = VKF_ACTIVATION_ELU};
    vkf_activate_desc desc = correct;
    const vkf_test_operator op = {"vkf_activate", call_activate, &desc, {&desc.x, &desc.out}, {"x", "out"}, out};
    vkf_test_refuse_flaws(ops, &op);
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, ACTIVATE_PLANTS, COUNT_OF(ACTIVATE_PLANTS));
    assert_int_equal(vkf_activate(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static vkf_status call_concat(vkf_context *context, const void *desc)
{
    return vkf_concat(context, desc);
}

static vkf_status call_gather(vkf_context *context, const void *desc)
{
    return vkf_gather(context, desc);
}

static vkf_status call_scatter(vkf_context *context, const void *desc)
{
    return vkf_scatter(context, desc);
}

static const vkf_test_plant CONCAT_PLANTS[] = {
    VKF_PLANT(vkf_concat_desc, inputs, 0),
    VKF_PLANT(vkf_concat_desc, input_count, 0),
    VKF_PLANT(vkf_concat_desc, input_count, 1), // out has the columns of two
    VKF_PLANT(vkf_concat_desc, input_count, VKF_MAX_CONCAT + 1),
    VKF_PLANT(vkf_concat_desc, dim, 2),
    VKF_PLANT(vkf_concat_desc, dim, (uint32_t)-3),
    VKF_PLANT(vkf_concat_desc, dim, 0),
};

static void test_concat_refuses_what_is_wrong(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 7));
    vkf_tensor inputs[] = {vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, 2))->tensor,
                           vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, 5))->tensor};
    const vkf_concat_desc correct = {.inputs = inputs, .input_count = 2, .dim = 1, .out = out->tensor};
    vkf_concat_desc desc = correct;
    const vkf_test_operator op = {
        "vkf_concat", call_concat, &desc, {&inputs[0], &inputs[1], &desc.out}, {"inputs[0]", "inputs[1]", "out"}, out};
    vkf_test_refuse_flaws(ops, &op);
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, CONCAT_PLANTS, COUNT_OF(CONCAT_PLANTS));
    assert_int_equal(vkf_concat(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static const vkf_test_plant GATHER_PLANTS[] = {
    VKF_PLANT(vkf_gather_desc, dim, 3),
    VKF_PLANT(vkf_gather_desc, dim, (uint32_t)-4),
    VKF_PLANT(vkf_gather_desc, dim, 0), // out has fewer rows than x
    VKF_PLANT(vkf_gather_desc, out.dtype, VKF_DTYPE_F16),
    VKF_PLANT(vkf_gather_desc, index.shape[1], 3), // neither 1 nor 2
};

static void test_gather_refuses_what_is_wrong(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t ids[12] = {0, 1, 2, 3, 4, -1};
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 2, 2));
    const vkf_gather_desc correct = {.x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, 5, 2))->tensor,
                                     .index = vkf_test_ids(ops, ids, SHAPE(3, 2, 2))->tensor,
                                     .out = out->tensor,
                                     .dim = 1};
    vkf_gather_desc desc = correct;
    const vkf_test_operator op = {"vkf_gather",          call_gather, &desc, {&desc.x, &desc.index, &desc.out},
                                  {"x", "index", "out"}, out};
    vkf_test_refuse_flaws(ops, &op);
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, GATHER_PLANTS, COUNT_OF(GATHER_PLANTS));
    assert_int_equal(vkf_gather(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static const vkf_test_plant SCATTER_PLANTS[] = {
    VKF_PLANT(vkf_scatter_desc, dim, (uint32_t)-3),
    VKF_PLANT(vkf_scatter_desc, dim, 0), // source has other columns than out
    VKF_PLANT(vkf_scatter_desc, source.dtype, VKF_DTYPE_F16),
    VKF_PLANT(vkf_scatter_desc, index.shape[0], 2),
    VKF_PLANT(vkf_scatter_desc, reduction, VKF_REDUCTION_COUNT),
};

static void test_scatter_refuses_what_is_wrong(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t ids[6] = {0, 1, 2, 3, 4, -1};
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 5));
    const vkf_scatter_desc correct = {.x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, 5))->tensor,
                                      .index = vkf_test_ids(ops, ids, SHAPE(3, 2))->tensor,
                                      .source = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(3, 2))->tensor,
                                      .out = out->tensor,
                                      .dim = -1};
    vkf_scatter_desc desc = correct;
    const vkf_test_operator op = {"vkf_scatter",
                                  call_scatter,
                                  &desc,
                                  {&desc.x, &desc.index, &desc.source, &desc.out},
                                  {"x", "index", "source", "out"},
                                  out};
    vkf_test_refuse_flaws(ops, &op);
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, SCATTER_PLANTS, COUNT_OF(SCATTER_PLANTS));
    assert_int_equal(vkf_scatter(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gemm_refuses_wrong_tensors),
        VKF_OPS_TEST(test_gemm_refuses_what_does_not_go_together),
        VKF_OPS_TEST(test_layer_norm_refuses_wrong_tensors),
        VKF_OPS_TEST(test_layer_norm_refuses_what_does_not_go_together),
        VKF_OPS_TEST(test_heads_and_argmax_refuse_wrong_tensors),
        VKF_OPS_TEST(test_copy_refuses_wrong_tensors),
        VKF_OPS_TEST(test_embed_refuses_wrong_tensors),
        VKF_OPS_TEST(test_additive_scores_refuses_wrong_tensors),
        VKF_OPS_TEST(test_activate_refuses_what_is_wrong),
        VKF_OPS_TEST(test_rotary_refuses_wrong_tensors),
        VKF_OPS_TEST(test_rotary_refuses_what_does_not_go_together),
        VKF_OPS_TEST(test_concat_refuses_what_is_wrong),
        VKF_OPS_TEST(test_gather_refuses_what_is_wrong),
        VKF_OPS_TEST(test_scatter_refuses_what_is_wrong),
    };
    return cmocka_run_group_tests_name("op_arguments", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
