// Attention that puts new keys and values into caches and turns queries and keys, beside the same in single steps:
// rotary, rows that the host puts where they belong, and plain attention.
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/half.h"
#include "support/op_fixture.h"

#define BASE 10000.0
#define MOST_POSITIONS 80

typedef struct past_case {
    uint32_t batch, heads, kv_heads, q_len, dim, v_dim;
    uint32_t past, new_len, capacity; // new_len 0: key and value are no caches, and have `capacity` rows
    uint32_t rotary_dim;              // 0: none
    bool interleaved;
    vkf_causal causal;
    vkf_dtype dtype;
    vkf_dtype cache; // 0: dtype
} past_case;

static const past_case CASES[] = {
    {1, 1, 1, 1, 4, 4, 0, 1, 1, .rotary_dim = 4, .dtype = VKF_DTYPE_F32},
    {2, 4, 2, 5, 16, 16, 7, 5, 12, .rotary_dim = 16, .causal = VKF_CAUSAL_TOP_LEFT, .dtype = VKF_DTYPE_F32},
    {2, 4, 2, 5, 17, 9, 7, 5, 40, .causal = VKF_CAUSAL_TOP_LEFT, .dtype = VKF_DTYPE_F32},
    {3, 6, 3, 1, 64, 64, 65, 1, 70, .rotary_dim = 64, .interleaved = true, .dtype = VKF_DTYPE_F16},
    {2, 2, 2, 3, 13, 7, 2, 6, 11, .rotary_dim = 6, .interleaved = true, .dtype = VKF_DTYPE_F32},
    {2, 4, 2, 2, 16, 8, 9, 2, 15, .rotary_dim = 16, .cache = VKF_DTYPE_BF16},
    {1, 2, 1, 4, 9, 11, 3, 4, 7, .cache = VKF_DTYPE_BF16},
    {2, 3, 1, 33, 32, 32, 0, 0, 33, .rotary_dim = 32, .causal = VKF_CAUSAL_TOP_LEFT, .dtype = VKF_DTYPE_F32},
    {1, 2, 1, 4, 8, 8, 0, 0, 19, .rotary_dim = 8, .causal = VKF_CAUSAL_BOTTOM_RIGHT, .dtype = VKF_DTYPE_F16},
    {1, 2, 1, 4, 8, 8, 5, 0, 19, .causal = VKF_CAUSAL_TOP_LEFT, .dtype = VKF_DTYPE_F32},
    {2, 4, 2, 5, 32, 64, 7, 5, 15, .rotary_dim = 32, .causal = VKF_CAUSAL_TOP_LEFT, .cache = VKF_DTYPE_Q8},
    {3, 6, 3, 1, 96, 32, 4, 1, 5, .cache = VKF_DTYPE_Q8},
    {2, 2, 2, 3, 64, 96, 0, 3, 3, .rotary_dim = 8, .interleaved = true, .cache = VKF_DTYPE_Q8},
};

typedef struct past_operands {
    vkf_test_operand *query, *key, *value, *new_key, *new_value, *out, *table;
} past_operands;

static uint32_t keys_of(const past_case *c)
{
    return c->new_len > 0 ? c->past + c->new_len : c->capacity;
}

static vkf_dtype cache_of(const past_case *c)
{
    return c->cache > 0 ? c->cache : c->dtype;
}

static past_operands make_operands(vkf_test_ops *ops, const past_case *c)
{
    past_operands o = {
        .query = vkf_test_normal(ops, c->dtype, 0, 1, SHAPE(c->batch, c->heads, c->q_len, c->dim)),
        .key = vkf_test_normal(ops, cache_of(c), 0, 1, SHAPE(c->batch, c->kv_heads, c->capacity, c->dim)),
        .value = vkf_test_normal(ops, cache_of(c), 0, 1, SHAPE(c->batch, c->kv_heads, c->capacity, c->v_dim)),
        .out = vkf_test_output(ops, c->dtype, SHAPE(c->batch, c->heads, c->q_len, c->v_dim)),
    };
    if (c->new_len > 0) {
        o.new_key = vkf_test_normal(ops, c->dtype, 0, 1, SHAPE(c->batch, c->kv_heads, c->new_len, c->dim));
        o.new_value = vkf_test_normal(ops, c->dtype, 0, 1, SHAPE(c->batch, c->kv_heads, c->new_len, c->v_dim));
    }
    if (c->rotary_dim > 0) {
        float *table = vkf_test_floats((size_t)MOST_POSITIONS * c->rotary_dim);
        vkf_rotary_table(MOST_POSITIONS, c->rotary_dim, BASE, NULL, 0, table);
        o.table = vkf_test_values(ops, VKF_DTYPE_F32, table, SHAPE(MOST_POSITIONS, c->rotary_dim));
        free(table);
    }
    return o;
}

// The values of heads, turned by positions from `first` on where the case turns any; the caller frees them.
static float *turned(vkf_test_ops *ops, const past_case *c, const past_operands *o, vkf_test_operand *heads,
                     uint32_t first)
{
    float *values = vkf_test_floats(heads->count);
    if (c->rotary_dim > 0) {
        vkf_test_operand *out = vkf_test_output(ops, c->dtype, heads->tensor.rank, heads->tensor.shape);
        const vkf_rotary_desc desc = {.x = heads->tensor,
                                      .out = out->tensor,
                                      .table = o->table->tensor,
                                      .first_position = first,
                                      .interleaved = c->interleaved};
        vkf_test_assert_ok(ops, vkf_rotary(ops->gpu.context, &desc), "vkf_rotary");
        vkf_test_download(ops, out);
        heads = out;
    }
    memcpy(values, heads->values, heads->count * sizeof *values);
    return values;
}

// Puts rows of `width` into those of `heads` caches, from row `past` on, as these can hold them.
static void put_rows(const past_case *c, float *cache, const float *rows, uint32_t heads, uint32_t width)
{
    const size_t count = (size_t)c->new_len * width;
    uint8_t *blocks = malloc(count / VKF_BLOCK * VKF_Q8_BLOCK_BYTES + 1);
    assert_non_null(blocks);
    for (size_t h = 0; h < heads; h++) {
        float *to = cache + (h * c->capacity + c->past) * width;
        memcpy(to, rows + h * count, count * sizeof *cache);
        vkf_f32_to_blocks(c->cache, to, blocks, count / VKF_BLOCK); // where these are blocks
        vkf_blocks_to_f32(c->cache, blocks, to, count / VKF_BLOCK);
        for (size_t i = 0; c->cache == VKF_DTYPE_BF16 && i < count; i++)
            to[i] = vkf__float_from_bfloat(vkf__bfloat_from_float(to[i]));
    }
    free(blocks);
}

// The first `len` rows of each head as an operand.
static vkf_test_operand *first_rows(vkf_test_ops *ops, const past_case *c, const float *cache, uint32_t len,
                                    uint32_t width)
{
    const uint32_t heads = c->batch * c->kv_heads;
    float *rows = vkf_test_floats((size_t)heads * len * width);
    for (size_t h = 0; h < heads; h++)
        memcpy(rows + h * len * width, cache + h * c->capacity * width, (size_t)len * width * sizeof *rows);
    vkf_test_operand *operand = vkf_test_values(ops, c->dtype, rows, SHAPE(c->batch, c->kv_heads, len, width));
    free(rows);
    return operand;
}

// Step by step: *key and *value get what the caches have to hold.
static vkf_test_operand *expect(vkf_test_ops *ops, const past_case *c, const past_operands *o, float *key, float *value)
{
    const uint32_t heads = c->batch * c->kv_heads, keys = keys_of(c);
    const uint32_t first = c->causal == VKF_CAUSAL_BOTTOM_RIGHT ? keys - c->q_len : c->past;
    float *query = turned(ops, c, o, o->query, first);
    float *seen = turned(ops, c, o, c->new_len > 0 ? o->new_key : o->key, c->new_len > 0 ? c->past : 0);
    memcpy(key, o->key->values, o->key->count * sizeof *key);
    memcpy(value, o->value->values, o->value->count * sizeof *value);
    if (c->new_len > 0) {
        put_rows(c, key, seen, heads, c->dim);
        put_rows(c, value, o->new_value->values, heads, c->v_dim);
    }
    vkf_test_operand *out = vkf_test_output(ops, c->dtype, SHAPE(c->batch, c->heads, c->q_len, c->v_dim));
    const vkf_sdpa_desc desc = {
        .query = vkf_test_values(ops, c->dtype, query, SHAPE(c->batch, c->heads, c->q_len, c->dim))->tensor,
        .key = first_rows(ops, c, c->new_len > 0 ? key : seen, keys, c->dim)->tensor,
        .value = first_rows(ops, c, value, keys, c->v_dim)->tensor,
        .out = out->tensor,
        .causal = c->causal,
        .first_position = c->past,
    };
    vkf_test_assert_ok(ops, vkf_scaled_dot_product_attention(ops->gpu.context, &desc), "plain attention");
    vkf_test_download(ops, out);
    free(query);
    free(seen);
    return out;
}

static vkf_sdpa_desc desc_of(const past_case *c, const past_operands *o)
{
    return (vkf_sdpa_desc){
        .query = o->query->tensor,
        .key = o->key->tensor,
        .value = o->value->tensor,
        .out = o->out->tensor,
        .causal = c->causal,
        .first_position = c->past,
        .new_key = vkf_test_tensor_of(o->new_key),
        .new_value = vkf_test_tensor_of(o->new_value),
        .rotary = vkf_test_tensor_of(o->table),
        .rotary_interleaved = c->interleaved,
    };
}

static void test_new_keys_and_turned_ones(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        const past_case *c = &CASES[i];
        const bool blocks = c->cache == VKF_DTYPE_Q8;
        ops->aligned = blocks;
        const past_operands o = make_operands(ops, c);
        const char *label = vkf_test_label(&ops->gpu, "case %zu", i);
        float *key = vkf_test_floats(o.key->count), *value = vkf_test_floats(o.value->count);
        const vkf_test_operand *expected = expect(ops, c, &o, key, value);
        const vkf_sdpa_desc desc = desc_of(c, &o);
        vkf_test_assert_ok(ops, vkf_scaled_dot_product_attention(ops->gpu.context, &desc), "attention");
        vkf_test_download(ops, o.out);
        vkf_test_download(ops, o.key);
        vkf_test_download(ops, o.value);
        // A device may round what lies between two steps to the other one.
        const double rtol = c->dtype == VKF_DTYPE_F16 ? 0x1p-10 : blocks ? 2e-3 : 1e-5, step = blocks ? 0.04 : 0;
        assert_close(o.out->values, expected->values, o.out->count, rtol, rtol, label);
        assert_close(o.key->values, key, o.key->count, step, 0, label);
        assert_close(o.value->values, value, o.value->count, step, 0, label);
        free(key);
        free(value);
        vkf_test_ops_reset(ops);
    }
}

// Keys are appended where nobody asks.
static void test_new_keys_without_queries(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const past_case c = {1, 2, 1, 1, 8, 8, 3, 2, 6, .dtype = VKF_DTYPE_F32};
    const past_operands o = make_operands(ops, &c);
    vkf_sdpa_desc desc = desc_of(&c, &o);
    desc.query.shape[2] = desc.out.shape[2] = 0;
    put_rows(&c, o.key->values, o.new_key->values, 1, c.dim);
    float *key = vkf_test_floats(o.key->count);
    memcpy(key, o.key->values, o.key->count * sizeof *key);
    vkf_test_assert_ok(ops, vkf_scaled_dot_product_attention(ops->gpu.context, &desc), "attention");
    vkf_test_download(ops, o.key);
    assert_close(o.key->values, key, o.key->count, 0, 0, "keys");
    vkf_test_assert_untouched(ops, o.out);
    free(key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_new_keys_and_turned_ones),
        VKF_OPS_TEST(test_new_keys_without_queries),
    };
    return cmocka_run_group_tests_name("op_attention_past", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
