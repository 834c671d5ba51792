// What softmax and attention refuse, as test_op_arguments.c has it of the other operators.
#include "support/refusals.h"

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
    vkf_test_refuse_flaws(
        ops, &(vkf_test_operator){"vkf_softmax",
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
    const vkf_test_operator op = {.name = "vkf_softmax", .call = call_softmax, .desc = &desc, .out = out};
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, SOFTMAX_PLANTS, COUNT_OF(SOFTMAX_PLANTS));
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
    vkf_test_refuse_flaws(ops,
                          &(vkf_test_operator){"vkf_scaled_dot_product_attention",
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
    const vkf_test_operator op = {.name = "attention", .call = call_attention, .desc = &desc, .out = out};
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, ATTENTION_PLANTS, COUNT_OF(ATTENTION_PLANTS));
    desc = correct;
    desc.key = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 5, 6))->tensor;
    desc.value = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 5, 7))->tensor;
    vkf_test_refuse(ops, &op, "three key heads for four");
    desc = correct;
    desc.key = vkf_test_constant(ops, VKF_DTYPE_BF16, 1, SHAPE(2, 2, 5, 6))->tensor;
    desc.value = vkf_test_constant(ops, VKF_DTYPE_BF16, 1, SHAPE(2, 2, 5, 7))->tensor;
    desc.query = vkf_test_constant(ops, VKF_DTYPE_F16, 1, SHAPE(2, 4, 3, 6))->tensor;
    desc.out.dtype = VKF_DTYPE_F16;
    vkf_test_refuse(ops, &op, "keys of bfloat16 for queries of f16");
    desc = correct;
    desc.key = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8, 5, 6))->tensor;
    desc.value = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8, 5, 7))->tensor;
    vkf_test_refuse(ops, &op, "eight key heads for four");
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
    const vkf_test_operator op = {.name = "attention", .call = call_attention, .desc = &desc, .out = out};
    vkf_test_operand *halves = vkf_test_constant(ops, VKF_DTYPE_F16, 1, SHAPE(1, 2, 3, 64));
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, BLOCK_KEY_PLANTS, COUNT_OF(BLOCK_KEY_PLANTS));
    desc = correct;
    desc.key.dtype = desc.value.dtype = VKF_DTYPE_Q4;
    vkf_test_refuse(ops, &op, "keys of q4");
    desc = correct;
    desc.query = halves->tensor;
    desc.query.shape[3] = 32;
    desc.out.dtype = VKF_DTYPE_F16;
    vkf_test_refuse(ops, &op, "blocks for queries of f16");
    desc = correct;
    desc.new_key = keys_of(ops, VKF_DTYPE_Q8, 32);
    desc.new_value = keys_of(ops, VKF_DTYPE_Q8, 64);
    vkf_test_refuse(ops, &op, "new keys in blocks");
    desc = correct;
    desc.rotary = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(5, 4))->tensor;
    vkf_test_refuse(ops, &op, "blocks that are to be turned");
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
    const vkf_test_operator op = {"vkf_scaled_dot_product_attention",
                                  call_attention,
                                  &desc,
                                  {&desc.new_key, &desc.new_value, &desc.rotary, &desc.key, &desc.value},
                                  {"new_key", "new_value", "rotary", "key", "value"},
                                  out};
    vkf_test_refuse_flaws(ops, &op);
    vkf_test_refuse_plants(ops, &op, &correct, sizeof correct, APPENDING_PLANTS, COUNT_OF(APPENDING_PLANTS));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_softmax_refuses_wrong_tensors),
        VKF_OPS_TEST(test_softmax_refuses_what_does_not_go_together),
        VKF_OPS_TEST(test_attention_refuses_wrong_tensors),
        VKF_OPS_TEST(test_attention_refuses_what_does_not_go_together),
        VKF_OPS_TEST(test_attention_refuses_blocks_that_are_no_keys),
        VKF_OPS_TEST(test_attention_refuses_new_keys_that_do_not_fit),
    };
    return cmocka_run_group_tests_name("op_attention_arguments", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
