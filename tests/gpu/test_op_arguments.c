// What operators refuse: for every one a table of descriptors, each wrong in one thing. A refusal has a status and a
// message, and leaves the output as it was.
#include <stdio.h>
#include <string.h>

#include "support/op_fixture.h"

// Ways to make a tensor wrong that hold for every operand.
static void no_buffer(vkf_tensor *tensor)
{
    tensor->buffer = NULL;
}

static void rank_5(vkf_tensor *tensor)
{
    tensor->rank = 5;
}

static void huge_rank(vkf_tensor *tensor)
{
    tensor->rank = UINT32_MAX;
}

static void no_dtype(vkf_tensor *tensor)
{
    tensor->dtype = (vkf_dtype)99;
}

static void boolean(vkf_tensor *tensor)
{
    tensor->dtype = tensor->dtype == VKF_DTYPE_BOOL ? VKF_DTYPE_F32 : VKF_DTYPE_BOOL;
}

static void empty(vkf_tensor *tensor)
{
    tensor->shape[0] = 0;
}

static void one_more(vkf_tensor *tensor)
{
    tensor->shape[tensor->rank - 1]++;
}

static void one_rank_more(vkf_tensor *tensor)
{
    tensor->rank++;
    if (tensor->rank <= VKF_MAX_RANK)
        tensor->shape[tensor->rank - 1] = 1;
}

static void huge(vkf_tensor *tensor)
{
    for (uint32_t i = 0; i < tensor->rank; i++)
        tensor->shape[i] = UINT32_MAX;
}

static void huge_row(vkf_tensor *tensor)
{
    tensor->shape[tensor->rank - 1] = UINT32_MAX;
}

// Between two elements; a byte may stand anywhere, so that it gets another flaw.
static void odd_offset(vkf_tensor *tensor)
{
    size_t size = vkf_dtype_size(tensor->dtype);
    if (size > 1)
        tensor->offset_bytes -= size / 2;
    else
        tensor->rank = 0;
}

static void offset_beyond(vkf_tensor *tensor)
{
    tensor->offset_bytes = vkf_buffer_get_size(tensor->buffer) + 4;
}

static void huge_offset(vkf_tensor *tensor)
{
    tensor->offset_bytes = UINT64_MAX - 3;
}

static void past_the_end(vkf_tensor *tensor)
{
    tensor->offset_bytes += 400;
}

typedef struct flaw {
    const char *name;
    void (*plant)(vkf_tensor *tensor);
} flaw;

static const flaw FLAWS[] = {
    {"no buffer", no_buffer},     {"rank 5", rank_5},
    {"rank 2^32 - 1", huge_rank}, {"unknown dtype", no_dtype},
    {"wrong dtype", boolean},     {"a dimension of 0", empty},
    {"a column more", one_more},  {"a rank more", one_rank_more},
    {"huge shape", huge},         {"huge row", huge_row},
    {"odd offset", odd_offset},   {"offset beyond the buffer", offset_beyond},
    {"huge offset", huge_offset}, {"past the buffer's end", past_the_end},
};

// An operator with a correct descriptor and the places of its tensors.
typedef struct operator_under_test {
    const char *name;
    vkf_status (*call)(vkf_context *context, const void *desc);
    void *desc;
    vkf_tensor *tensors[8]; // in the descriptor
    const char *tensor_names[8];
    vkf_test_operand *out;
} operator_under_test;

// Every input in turn is moved into the output's buffer, one element before the output. (Where it does not fit there
// it is refused for that.)
static void refuse_overlaps(vkf_test_ops *ops, const operator_under_test *op)
{
    const vkf_tensor *out = &op->out->tensor;
    for (size_t t = 0; t < COUNT_OF(op->tensors) && op->tensors[t]; t++) {
        const vkf_tensor correct = *op->tensors[t];
        op->tensors[t]->buffer = out->buffer;
        op->tensors[t]->offset_bytes = out->offset_bytes - 4;
        if (correct.buffer != out->buffer)
            vkf_test_assert_refused(ops, op->call(ops->gpu.context, op->desc), VKF_ERROR_INVALID_ARGUMENT,
                                    op->tensor_names[t]);
        *op->tensors[t] = correct;
    }
}

// First the correct descriptor, which shows that what follows is refused for its flaw alone.
static void refuse_flaws(vkf_test_ops *ops, const operator_under_test *op)
{
    vkf_test_assert_ok(ops, op->call(ops->gpu.context, op->desc), op->name);
    vkf_test_operand *out = op->out;
    for (size_t i = 0; i < out->count; i++) {
        if (out->ids)
            out->ids[i] = (int32_t)VKF_TEST_UNTOUCHED;
        else
            out->values[i] = VKF_TEST_UNTOUCHED;
    }
    vkf_test_upload(ops, out);
    for (size_t t = 0; t < COUNT_OF(op->tensors) && op->tensors[t]; t++) {
        for (size_t f = 0; f < COUNT_OF(FLAWS); f++) {
            char what[128];
            const vkf_tensor correct = *op->tensors[t];
            (void)snprintf(what, sizeof what, "%s: %s: %s", op->name, op->tensor_names[t], FLAWS[f].name);
            FLAWS[f].plant(op->tensors[t]);
            vkf_test_assert_refused(ops, op->call(ops->gpu.context, op->desc), VKF_ERROR_INVALID_ARGUMENT, what);
            *op->tensors[t] = correct;
        }
    }
    refuse_overlaps(ops, op);
    vkf_test_assert_untouched(ops, out);
    assert_int_equal(op->call(NULL, op->desc), VKF_ERROR_INVALID_ARGUMENT);
}

static void refuse(vkf_test_ops *ops, const operator_under_test *op, const char *what)
{
    vkf_test_assert_refused(ops, op->call(ops->gpu.context, op->desc), VKF_ERROR_INVALID_ARGUMENT, what);
    vkf_test_assert_untouched(ops, op->out);
}

// The descriptor with one wrong field at a time.
static void refuse_plants(vkf_test_ops *ops, const operator_under_test *op, const void *correct, size_t size,
                          const vkf_test_plant *plants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(op->desc, correct, size);
        vkf_test_plant_into(&plants[i], op->desc);
        refuse(ops, op, plants[i].field);
    }
}

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
    refuse_flaws(ops, &(operator_under_test){"vkf_gemm",
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
    const operator_under_test op = {.name = "vkf_gemm", .call = call_gemm, .desc = &desc, .out = out};
    refuse_plants(ops, &op, &correct, sizeof correct, GEMM_PLANTS, COUNT_OF(GEMM_PLANTS));
    desc = correct;
    desc.activation = VKF_ACTIVATION_RELU;
    desc.residual = (vkf_tensor){0};
    vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "c and an activation without a residual");
}

static vkf_status call_softmax(vkf_context *context, const void *desc)
{
    return vkf_softmax(context, desc);
}

static vkf_softmax_desc softmax_desc(vkf_test_ops *ops, vkf_test_operand **out)
{
    *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 4, 5));
    return (vkf_softmax_desc){
        .x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 4, 5))->tensor,
        .out = (*out)->tensor,
        .mask_kind = VKF_MASK_ADDITIVE,
        .mask = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(3, 4, 5))->tensor,
        .key_mask_kind = VKF_MASK_BOOL_ATTEND,
        .key_mask = vkf_test_bools(ops, 1, SHAPE(2, 5))->tensor,
        .slopes = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(3))->tensor,
        .sinks = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(3))->tensor,
    };
}

static void test_softmax_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    vkf_softmax_desc desc = softmax_desc(ops, &out);
    refuse_flaws(ops,
                 &(operator_under_test){"vkf_softmax",
                                        call_softmax,
                                        &desc,
                                        {&desc.x, &desc.out, &desc.mask, &desc.key_mask, &desc.slopes, &desc.sinks},
                                        {"x", "out", "mask", "key_mask", "slopes", "sinks"},
                                        out});
    assert_int_equal(vkf_softmax(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static const vkf_test_plant SOFTMAX_PLANTS[] = {
    VKF_PLANT(vkf_softmax_desc, mask_kind, VKF_MASK_LENGTHS), // for keys alone
    VKF_PLANT(vkf_softmax_desc, mask_kind, VKF_MASK_KIND_COUNT),
    VKF_PLANT(vkf_softmax_desc, mask_kind, VKF_MASK_BOOL_EXCLUDE), // the mask is f32
    VKF_PLANT(vkf_softmax_desc, key_mask_kind, VKF_MASK_KIND_COUNT),
    VKF_PLANT(vkf_softmax_desc, key_mask_kind, VKF_MASK_LENGTHS), // the key mask is boolean
    VKF_PLANT(vkf_softmax_desc, key_mask_kind, VKF_MASK_ADDITIVE),
    VKF_PLANT(vkf_softmax_desc, causal, VKF_CAUSAL_COUNT),
    VKF_PLANT(vkf_softmax_desc, causal, VKF_CAUSAL_LENGTHS), // without lengths
    VKF_PLANT(vkf_softmax_desc, first_position, INT32_MAX),
    VKF_PLANT(vkf_softmax_desc, fully_masked, VKF_FULLY_MASKED_COUNT),
    VKF_PLANT(vkf_softmax_desc, mask.shape[0], 2), // neither 1 nor the number of heads
    VKF_PLANT(vkf_softmax_desc, mask.shape[1], 3),
    VKF_PLANT(vkf_softmax_desc, mask.rank, 0),
    VKF_PLANT(vkf_softmax_desc, key_mask.rank, 0),
    VKF_PLANT(vkf_softmax_desc, key_mask.shape[0], 1), // no broadcast over the batch
    VKF_PLANT(vkf_softmax_desc, soft_cap, VKF_TEST_MINUS_ONE_BITS),
    VKF_PLANT(vkf_softmax_desc, soft_cap, VKF_TEST_NAN_BITS),
    VKF_PLANT(vkf_softmax_desc, soft_cap, VKF_TEST_INFINITY_BITS),
    VKF_PLANT(vkf_softmax_desc, slopes.shape[0], 1), // no broadcast over the heads
    VKF_PLANT(vkf_softmax_desc, sinks.shape[0], 1),
    VKF_PLANT(vkf_softmax_desc, out.dtype, VKF_DTYPE_F16), // unlike x
};

static void test_softmax_refuses_what_does_not_go_together(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    const vkf_softmax_desc correct = softmax_desc(ops, &out);
    vkf_softmax_desc desc = correct;
    const operator_under_test op = {.name = "vkf_softmax", .call = call_softmax, .desc = &desc, .out = out};
    refuse_plants(ops, &op, &correct, sizeof correct, SOFTMAX_PLANTS, COUNT_OF(SOFTMAX_PLANTS));
}

static vkf_status call_attention(vkf_context *context, const void *desc)
{
    return vkf_scaled_dot_product_attention(context, desc);
}

static vkf_sdpa_desc attention_desc(vkf_test_ops *ops, vkf_test_operand **out)
{
    *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 4, 3, 7));
    return (vkf_sdpa_desc){
        .query = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 4, 3, 6))->tensor,
        .key = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 2, 5, 6))->tensor,
        .value = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 2, 5, 7))->tensor,
        .out = (*out)->tensor,
        .mask_kind = VKF_MASK_ADDITIVE,
        .mask = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(4, 3, 5))->tensor,
        .key_mask_kind = VKF_MASK_BOOL_ATTEND,
        .key_mask = vkf_test_bools(ops, 1, SHAPE(2, 5))->tensor,
        .slopes = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(4))->tensor,
        .sinks = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(4))->tensor,
    };
}

static void test_attention_refuses_wrong_tensors(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    vkf_sdpa_desc desc = attention_desc(ops, &out);
    refuse_flaws(ops, &(operator_under_test){"vkf_scaled_dot_product_attention",
                                             call_attention,
                                             &desc,
                                             {&desc.query, &desc.key, &desc.value, &desc.mask, &desc.key_mask,
                                              &desc.out, &desc.slopes, &desc.sinks},
                                             {"query", "key", "value", "mask", "key_mask", "out", "slopes", "sinks"},
                                             out});
    assert_int_equal(vkf_scaled_dot_product_attention(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

static const vkf_test_plant ATTENTION_PLANTS[] = {
    VKF_PLANT(vkf_sdpa_desc, mask_kind, VKF_MASK_LENGTHS), // for keys alone
    VKF_PLANT(vkf_sdpa_desc, mask_kind, VKF_MASK_KIND_COUNT),
    VKF_PLANT(vkf_sdpa_desc, mask_kind, VKF_MASK_BOOL_EXCLUDE), // the mask is f32
    VKF_PLANT(vkf_sdpa_desc, key_mask_kind, VKF_MASK_KIND_COUNT),
    VKF_PLANT(vkf_sdpa_desc, key_mask_kind, VKF_MASK_LENGTHS), // the key mask is boolean
    VKF_PLANT(vkf_sdpa_desc, key_mask_kind, VKF_MASK_ADDITIVE),
    VKF_PLANT(vkf_sdpa_desc, causal, VKF_CAUSAL_COUNT),
    VKF_PLANT(vkf_sdpa_desc, causal, VKF_CAUSAL_LENGTHS), // without lengths
    VKF_PLANT(vkf_sdpa_desc, first_position, UINT32_MAX),
    VKF_PLANT(vkf_sdpa_desc, fully_masked, VKF_FULLY_MASKED_COUNT),
    VKF_PLANT(vkf_sdpa_desc, query.rank, 3),
    VKF_PLANT(vkf_sdpa_desc, query.shape[0], 1), // unlike key and out
    VKF_PLANT(vkf_sdpa_desc, query.shape[2], 2),
    VKF_PLANT(vkf_sdpa_desc, key.rank, 3),
    VKF_PLANT(vkf_sdpa_desc, key.shape[0], 1), // no broadcast over the batch
    VKF_PLANT(vkf_sdpa_desc, key.shape[1], 1), // unlike value
    VKF_PLANT(vkf_sdpa_desc, key.shape[2], 4),
    VKF_PLANT(vkf_sdpa_desc, key.shape[3], 5),           // unlike query
    VKF_PLANT(vkf_sdpa_desc, key.dtype, VKF_DTYPE_F16),  // unlike query
    VKF_PLANT(vkf_sdpa_desc, key.dtype, VKF_DTYPE_BF16), // unlike value
    VKF_PLANT(vkf_sdpa_desc, value.rank, 3),
    VKF_PLANT(vkf_sdpa_desc, value.shape[1], 1),
    VKF_PLANT(vkf_sdpa_desc, value.shape[2], 4),
    VKF_PLANT(vkf_sdpa_desc, value.shape[3], 6), // unlike out
    VKF_PLANT(vkf_sdpa_desc, value.dtype, VKF_DTYPE_F16),
    VKF_PLANT(vkf_sdpa_desc, value.dtype, VKF_DTYPE_BF16), // unlike key
    VKF_PLANT(vkf_sdpa_desc, query.dtype, VKF_DTYPE_BF16), // keys alone have it
    VKF_PLANT(vkf_sdpa_desc, out.shape[1], 2),             // as many heads as key has
    VKF_PLANT(vkf_sdpa_desc, out.shape[3], 6),
    VKF_PLANT(vkf_sdpa_desc, out.dtype, VKF_DTYPE_F16),
    VKF_PLANT(vkf_sdpa_desc, mask.shape[0], 2), // neither 1 nor the number of heads
    VKF_PLANT(vkf_sdpa_desc, mask.shape[1], 2),
    VKF_PLANT(vkf_sdpa_desc, mask.rank, 0),
    VKF_PLANT(vkf_sdpa_desc, key_mask.rank, 0),
    VKF_PLANT(vkf_sdpa_desc, key_mask.shape[0], 1),
    VKF_PLANT(vkf_sdpa_desc, soft_cap, VKF_TEST_MINUS_ONE_BITS),
    VKF_PLANT(vkf_sdpa_desc, soft_cap, VKF_TEST_NAN_BITS),
    VKF_PLANT(vkf_sdpa_desc, soft_cap, VKF_TEST_INFINITY_BITS),
    VKF_PLANT(vkf_sdpa_desc, slopes.shape[0], 2), // as many heads as key has
    VKF_PLANT(vkf_sdpa_desc, sinks.shape[0], 2),
};

static void test_attention_refuses_what_does_not_go_together(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    const vkf_sdpa_desc correct = attention_desc(ops, &out);
    vkf_sdpa_desc desc = correct;
    const operator_under_test op = {.name = "attention", .call = call_attention, .desc = &desc, .out = out};
    refuse_plants(ops, &op, &correct, sizeof correct, ATTENTION_PLANTS, COUNT_OF(ATTENTION_PLANTS));
    desc = correct;
    desc.key = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 5, 6))->tensor;
    desc.value = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 5, 7))->tensor;
    refuse(ops, &op, "three key heads for four");
    desc = correct;
    desc.key = vkf_test_constant(ops, VKF_DTYPE_BF16, 1, SHAPE(2, 2, 5, 6))->tensor;
    desc.value = vkf_test_constant(ops, VKF_DTYPE_BF16, 1, SHAPE(2, 2, 5, 7))->tensor;
    desc.query = vkf_test_constant(ops, VKF_DTYPE_F16, 1, SHAPE(2, 4, 3, 6))->tensor;
    desc.out.dtype = VKF_DTYPE_F16;
    refuse(ops, &op, "keys of bfloat16 for queries of f16");
    desc = correct;
    desc.key = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8, 5, 6))->tensor;
    desc.value = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8, 5, 7))->tensor;
    refuse(ops, &op, "eight key heads for four");
}

static vkf_tensor keys_of(vkf_test_ops *ops, vkf_dtype dtype, uint32_t dim)
{
    return vkf_test_constant(ops, dtype, 1, SHAPE(1, 2, 5, dim))->tensor;
}

static const vkf_test_plant BLOCK_KEY_PLANTS[] = {
    VKF_PLANT(vkf_sdpa_desc, key.offset_bytes, 4),
    VKF_PLANT(vkf_sdpa_desc, value.offset_bytes, 8),
    VKF_PLANT(vkf_sdpa_desc, key.layout, VKF_LAYOUT_PANELS),
    VKF_PLANT(vkf_sdpa_desc, key.dtype, VKF_DTYPE_F32), // unlike value
    VKF_PLANT(vkf_sdpa_desc, value.dtype, VKF_DTYPE_BF16),
    VKF_PLANT(vkf_sdpa_desc, value.dtype, VKF_DTYPE_Q4),
    VKF_PLANT(vkf_sdpa_desc, query.dtype, VKF_DTYPE_F16), // f32 alone goes with blocks
    VKF_PLANT(vkf_sdpa_desc, query.dtype, VKF_DTYPE_Q8),
    VKF_PLANT(vkf_sdpa_desc, out.dtype, VKF_DTYPE_Q8),
    VKF_PLANT(vkf_sdpa_desc, value.shape[3], 48), // no whole blocks
};

static void test_attention_refuses_blocks_that_are_no_keys(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    ops->aligned = true;
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1, 2, 3, 64));
    const vkf_sdpa_desc correct = {
        .query = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(1, 2, 3, 32))->tensor,
        .key = keys_of(ops, VKF_DTYPE_Q8, 32),
        .value = keys_of(ops, VKF_DTYPE_Q8, 64),
        .out = out->tensor,
    };
    vkf_sdpa_desc desc = correct;
    const operator_under_test op = {.name = "attention", .call = call_attention, .desc = &desc, .out = out};
    vkf_test_operand *halves = vkf_test_constant(ops, VKF_DTYPE_F16, 1, SHAPE(1, 2, 3, 64));
    refuse_plants(ops, &op, &correct, sizeof correct, BLOCK_KEY_PLANTS, COUNT_OF(BLOCK_KEY_PLANTS));
    desc = correct;
    desc.key.dtype = desc.value.dtype = VKF_DTYPE_Q4;
    refuse(ops, &op, "keys of q4");
    desc = correct;
    desc.query = halves->tensor;
    desc.query.shape[3] = 32;
    desc.out.dtype = VKF_DTYPE_F16;
    refuse(ops, &op, "blocks for queries of f16");
    desc = correct;
    desc.new_key = keys_of(ops, VKF_DTYPE_Q8, 32);
    desc.new_value = keys_of(ops, VKF_DTYPE_Q8, 64);
    refuse(ops, &op, "new keys in blocks");
    desc = correct;
    desc.rotary = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(5, 4))->tensor;
    refuse(ops, &op, "blocks that are to be turned");
    vkf_test_assert_ok(ops, call_attention(ops->gpu.context, &correct), "keys in blocks");
}

// The same with three new keys behind two, and queries and new keys turned.
static vkf_sdpa_desc appending_desc(vkf_test_ops *ops, vkf_test_operand **out)
{
    vkf_sdpa_desc desc = attention_desc(ops, out);
    desc.first_position = 2;
    desc.new_key = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 2, 3, 6))->tensor;
    desc.new_value = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 2, 3, 7))->tensor;
    desc.rotary = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(5, 4))->tensor;
    return desc;
}

static const vkf_test_plant APPENDING_PLANTS[] = {
    VKF_PLANT(vkf_sdpa_desc, first_position, 3), // key has no room for as many
    VKF_PLANT(vkf_sdpa_desc, first_position, UINT32_MAX - 1),
    VKF_PLANT(vkf_sdpa_desc, first_position, 1),               // the masks are for five keys
    VKF_PLANT(vkf_sdpa_desc, causal, VKF_CAUSAL_BOTTOM_RIGHT), // which says where queries stand
    VKF_PLANT(vkf_sdpa_desc, causal, VKF_CAUSAL_LENGTHS),
    VKF_PLANT(vkf_sdpa_desc, new_key.rank, 0), // they come together
    VKF_PLANT(vkf_sdpa_desc, new_value.rank, 0),
    VKF_PLANT(vkf_sdpa_desc, new_key.shape[2], 2),
    VKF_PLANT(vkf_sdpa_desc, rotary.shape[0], 4), // the last position is 4
    VKF_PLANT(vkf_sdpa_desc, rotary.shape[1], 3),
};

static void test_attention_refuses_new_keys_that_do_not_fit(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *out;
    const vkf_sdpa_desc correct = appending_desc(ops, &out);
    vkf_sdpa_desc desc = correct;
    const operator_under_test op = {"vkf_scaled_dot_product_attention",
                                    call_attention,
                                    &desc,
                                    {&desc.new_key, &desc.new_value, &desc.rotary, &desc.key, &desc.value},
                                    {"new_key", "new_value", "rotary", "key", "value"},
                                    out};
    refuse_flaws(ops, &op);
    refuse_plants(ops, &op, &correct, sizeof correct, APPENDING_PLANTS, COUNT_OF(APPENDING_PLANTS));
    vkf_tensor *const read[] = {&desc.query, &desc.new_key, &desc.new_value, &desc.rotary,
                                &desc.mask,  &desc.slopes,  &desc.sinks};
    for (size_t i = 0; i < COUNT_OF(read); i++) // within what is written before they are read
        for (int of_values = 0; of_values < 2; of_values++) {
            desc = correct;
            const vkf_tensor *cache = of_values ? &desc.value : &desc.key;
            read[i]->buffer = cache->buffer;
            read[i]->offset_bytes = cache->offset_bytes;
            vkf_test_assert_refused(ops, call_attention(ops->gpu.context, &desc), VKF_ERROR_INVALID_ARGUMENT,
                                    "overlap");
        }
    desc = correct;
    desc.new_key.rank = desc.new_value.rank = 0;
    desc.key = vkf_test_constant(ops, VKF_DTYPE_BF16, 1, SHAPE(2, 2, 5, 6))->tensor;
    desc.value = vkf_test_constant(ops, VKF_DTYPE_BF16, 1, SHAPE(2, 2, 5, 7))->tensor;
    vkf_test_assert_refused(ops, call_attention(ops->gpu.context, &desc), VKF_ERROR_INVALID_ARGUMENT, "bf16 turned");
    desc = correct;
    desc.value.buffer = desc.key.buffer;
    vkf_test_assert_refused(ops, call_attention(ops->gpu.context, &desc), VKF_ERROR_INVALID_ARGUMENT, "one cache");
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
    refuse_flaws(ops, &(operator_under_test){"vkf_layer_norm",
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
    const operator_under_test op = {.name = "vkf_layer_norm", .call = call_layer_norm, .desc = &desc, .out = out};
    refuse_plants(ops, &op, &correct, sizeof correct, LAYER_NORM_PLANTS, COUNT_OF(LAYER_NORM_PLANTS));
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
    const operator_under_test op = {name, call, &desc, {&desc.x, &desc.out}, {"x", "out"}, out};
    refuse_flaws(ops, &op);
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
    for (size_t f = 0; f < COUNT_OF(FLAWS); f++) {
        for (int which = 0; which < 2 && FLAWS[f].plant != one_rank_more; which++) {
            pair desc = {x->tensor, out->tensor};
            const operator_under_test op = {.name = "vkf_copy", .call = call_copy, .desc = &desc, .out = out};
            FLAWS[f].plant(which ? &desc.x : &desc.out);
            refuse(ops, &op, FLAWS[f].name);
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
    const operator_under_test op = {"vkf_embed",
                                    call_embed,
                                    &desc,
                                    {&desc.ids, &desc.table, &desc.positions, &desc.out},
                                    {"ids", "table", "positions", "out"},
                                    out};
    refuse_flaws(ops, &op);
    static const uint32_t beyond[] = {2, 4, UINT32_MAX, UINT32_MAX - 2};
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        desc.first_position = beyond[i]; // positions 2, 3, 4 of four
        refuse(ops, &op, "first_position");
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
    refuse_flaws(ops, &(operator_under_test){"vkf_rotary",
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
    const operator_under_test op = {.name = "vkf_rotary", .call = call_rotary, .desc = &desc, .out = out};
    refuse_plants(ops, &op, &correct, sizeof correct, ROTARY_PLANTS, COUNT_OF(ROTARY_PLANTS));
    desc = correct;
    desc.positions.shape[0] = 2;
    desc.sections_in_turns = true;
    refuse(ops, &op, "turns of two sections");
    desc = correct;
    memset(desc.sections, 0, sizeof desc.sections);
    desc.positions = (vkf_tensor){0};
    static const uint32_t beyond[] = {2, 5, UINT32_MAX, UINT32_MAX - 3};
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        desc.first_position = beyond[i]; // positions 2 to 5 of five
        refuse(ops, &op, "first_position");
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
    const operator_under_test op = {"vkf_additive_scores",
                                    call_additive,
                                    &desc,
                                    {&desc.query, &desc.key, &desc.v, &desc.out},
                                    {"query", "key", "v", "out"},
                                    out};
    refuse_flaws(ops, &op);
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
    const operator_under_test op = {"vkf_activate", call_activate, &desc, {&desc.x, &desc.out}, {"x", "out"}, out};
    refuse_flaws(ops, &op);
    refuse_plants(ops, &op, &correct, sizeof correct, ACTIVATE_PLANTS, COUNT_OF(ACTIVATE_PLANTS));
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
    const operator_under_test op = {
        "vkf_concat", call_concat, &desc, {&inputs[0], &inputs[1], &desc.out}, {"inputs[0]", "inputs[1]", "out"}, out};
    refuse_flaws(ops, &op);
    refuse_plants(ops, &op, &correct, sizeof correct, CONCAT_PLANTS, COUNT_OF(CONCAT_PLANTS));
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
    const operator_under_test op = {"vkf_gather",          call_gather, &desc, {&desc.x, &desc.index, &desc.out},
                                    {"x", "index", "out"}, out};
    refuse_flaws(ops, &op);
    refuse_plants(ops, &op, &correct, sizeof correct, GATHER_PLANTS, COUNT_OF(GATHER_PLANTS));
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
    const operator_under_test op = {"vkf_scatter",
                                    call_scatter,
                                    &desc,
                                    {&desc.x, &desc.index, &desc.source, &desc.out},
                                    {"x", "index", "source", "out"},
                                    out};
    refuse_flaws(ops, &op);
    refuse_plants(ops, &op, &correct, sizeof correct, SCATTER_PLANTS, COUNT_OF(SCATTER_PLANTS));
    assert_int_equal(vkf_scatter(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gemm_refuses_wrong_tensors),
        VKF_OPS_TEST(test_gemm_refuses_what_does_not_go_together),
        VKF_OPS_TEST(test_softmax_refuses_wrong_tensors),
        VKF_OPS_TEST(test_softmax_refuses_what_does_not_go_together),
        VKF_OPS_TEST(test_attention_refuses_wrong_tensors),
        VKF_OPS_TEST(test_attention_refuses_what_does_not_go_together),
        VKF_OPS_TEST(test_attention_refuses_blocks_that_are_no_keys),
        VKF_OPS_TEST(test_attention_refuses_new_keys_that_do_not_fit),
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
