// Operators on tokens and scores: embedding, argmax, additive attention, and the positional encoding of the host.
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "reference/reference.h"
#include "support/op_fixture.h"

#define HALF_RTOL 0x1p-11 // of a value that was rounded to half once

typedef struct embed_case {
    uint32_t batch, len, dim, vocab;
    vkf_dtype table, out;
    float scale;
    bool positions;
    uint32_t first_position;
} embed_case;

// Ids of the whole table, and every fifth one outside it.
static vkf_test_operand *make_ids(vkf_test_ops *ops, const embed_case *c)
{
    const int32_t outside[] = {-1, (int32_t)c->vocab, INT32_MIN, INT32_MAX};
    vkf_test_operand *ids = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(c->batch, c->len));
    vkf_test_fill_ids(&ops->gpu.random, ids->ids, ids->count, c->vocab);
    ids->ids[0] = (int32_t)c->vocab - 1;
    for (size_t i = 4; i < ids->count; i += 5)
        ids->ids[i] = outside[i / 5 % 4];
    vkf_test_upload(ops, ids);
    return ids;
}

static float *expect(const embed_case *c, const vkf_test_operand *ids, const vkf_test_operand *table,
                     const vkf_test_operand *positions)
{
    float *expected = vkf_test_floats((size_t)c->batch * c->len * c->dim);
    vkf__ref_embed(&(vkf__ref_embed_desc){
        .batch = c->batch,
        .len = c->len,
        .dim = c->dim,
        .vocab = c->vocab,
        .ids = ids->ids,
        .table = table->values,
        .positions = vkf_test_values_of(positions),
        .first_position = c->first_position,
        .scale = c->scale == 0.0f ? 1.0f : c->scale,
        .out = expected,
    });
    return expected;
}

static void run_embed(vkf_test_ops *ops, const embed_case *c)
{
    vkf_test_operand *ids = make_ids(ops, c), *positions = NULL;
    vkf_test_operand *table = vkf_test_normal(ops, c->table, 0, 1, SHAPE(c->vocab, c->dim));
    vkf_test_operand *out = vkf_test_output(ops, c->out, SHAPE(c->batch, c->len, c->dim));
    if (c->positions)
        positions = vkf_test_uniform(ops, VKF_DTYPE_F32, -1, 1, SHAPE(c->first_position + c->len, c->dim));
    float *expected = expect(c, ids, table, positions);
    const vkf_embed_desc desc = {ids->tensor, table->tensor, vkf_test_tensor_of(positions),
                                 out->tensor, c->scale,      c->first_position};
    vkf_test_assert_ok(ops, vkf_embed(ops->gpu.context, &desc), "vkf_embed");
    vkf_test_download(ops, out);
    // One product and one sum in float32.
    assert_close(out->values, expected, out->count, 1e-6, c->out == VKF_DTYPE_F16 ? HALF_RTOL + 1e-6 : 1e-6,
                 vkf_test_label(&ops->gpu, "embed %s to %s, %u x %u x %u of %u", vkf_dtype_name(c->table),
                                vkf_dtype_name(c->out), c->batch, c->len, c->dim, c->vocab));
    free(expected);
    vkf_test_ops_reset(ops);
}

static const embed_case EMBED_CASES[] = {
    {.batch = 1, .len = 1, .dim = 1, .vocab = 1},
    {.batch = 2, .len = 7, .dim = 5, .vocab = 11, .scale = 2.5f},
    {.batch = 3, .len = 11, .dim = 64, .vocab = 100, .scale = 8, .positions = true},
    {.batch = 1, .len = 129, .dim = 33, .vocab = 7, .positions = true, .first_position = 5},
    {.batch = 5, .len = 1, .dim = 127, .vocab = 1000, .scale = -1, .positions = true, .first_position = 40},
};

static void test_embed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const vkf_dtype types[][2] = {
        {VKF_DTYPE_F32, VKF_DTYPE_F32},
        {VKF_DTYPE_F16, VKF_DTYPE_F32},
        {VKF_DTYPE_F16, VKF_DTYPE_F16},
        {VKF_DTYPE_BF16, VKF_DTYPE_F32},
    };
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        for (size_t i = 0; i < COUNT_OF(EMBED_CASES); i++) {
            embed_case c = EMBED_CASES[i];
            c.table = types[t][0];
            c.out = types[t][1];
            run_embed(ops, &c);
        }
    }
}

static void test_embed_f32_table_to_f16_is_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const int32_t id = 0;
    vkf_test_operand *ids = vkf_test_ids(ops, &id, SHAPE(1, 1));
    vkf_test_operand *table = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(1, 2));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F16, SHAPE(1, 1, 2));
    const vkf_embed_desc desc = {.ids = ids->tensor, .table = table->tensor, .out = out->tensor};
    vkf_test_assert_refused(ops, vkf_embed(ops->gpu.context, &desc), VKF_ERROR_UNSUPPORTED, "f32 to f16");
    vkf_test_assert_untouched(ops, out);
}

static void run_argmax(vkf_test_ops *ops, vkf_test_operand *x, const char *what)
{
    const uint32_t rows = x->tensor.shape[0], cols = x->tensor.shape[1];
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(rows));
    int32_t *expected = calloc(rows, sizeof *expected);
    assert_non_null(expected);
    vkf__ref_argmax(rows, cols, x->values, expected);
    vkf_test_assert_ok(ops, vkf_argmax(ops->gpu.context, &x->tensor, &out->tensor), what);
    vkf_test_download(ops, out);
    for (uint32_t i = 0; i < rows; i++) {
        if (out->ids[i] != expected[i])
            fail_msg("%s: row %u of %u x %u %s gives %d, expected %d", vkf_test_label(&ops->gpu, "%s", what), i, rows,
                     cols, vkf_dtype_name(x->tensor.dtype), out->ids[i], expected[i]);
    }
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_argmax_row_lengths(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t cols[] = {1,   2,   15,  16,  17,   63,   64,   65,   127,   128,
                                    129, 511, 512, 513, 1023, 1024, 1025, 2049, 100000};
    for (size_t i = 0; i < COUNT_OF(cols); i++) {
        for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++) {
            // Few different values in the one, ties by rounding to half in the other.
            run_argmax(ops, vkf_test_normal(ops, (vkf_dtype)dtype, 0, 1, SHAPE(5, cols[i])), "normal");
            run_argmax(ops, vkf_test_integers(ops, (vkf_dtype)dtype, -2, 2, SHAPE(3, cols[i])), "ties");
        }
    }
}

// The largest element alone, at each place in turn: a lane or a step of the reduction left out would be noticed.
static void test_argmax_finds_every_place(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { COLS = 150 };
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, -1, SHAPE(COLS, COLS));
    for (size_t i = 0; i < COLS; i++)
        x->values[i * COLS + i] = -0.5f;
    vkf_test_upload(ops, x);
    run_argmax(ops, x, "every place");
}

// Ties, zeros of both signs, NaN of both signs first and last, infinities, subnormals, and nothing but the lowest.
static void test_argmax_special_values(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float rows[][5] = {
        {1, 3, 3, 2, 3},
        {-0.0f, 0, 0, -0.0f, 0},
        {0, -0.0f, -1, -2, -3},
        {1, NAN, 5, NAN, INFINITY},
        {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY},
        {-INFINITY, -INFINITY, -65504, -INFINITY, -INFINITY},
        {NAN, NAN, NAN, NAN, NAN},
        {1, 2, INFINITY, INFINITY, 3},
        {-0x1p-24f, 0, 0x1p-24f, 0, -1},
        {-3, -2, -1, -1, -2},
        {0, 0, 0, 0, -NAN},
    };
    for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++)
        run_argmax(ops, vkf_test_values(ops, (vkf_dtype)dtype, rows[0], SHAPE(COUNT_OF(rows), 5)), "special values");
}

static void test_argmax_ranks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t shape[] = {2, 3, 4, 7};
    for (uint32_t rank = 1; rank <= 4; rank++) {
        vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, rank, shape + (4 - rank));
        const uint32_t one = 1, rows = (uint32_t)(x->count / 7);
        vkf_test_operand *out =
            vkf_test_output(ops, VKF_DTYPE_I32, rank > 1 ? rank - 1 : 1, rank > 1 ? shape + (4 - rank) : &one);
        int32_t expected[24];
        vkf__ref_argmax(rows, 7, x->values, expected);
        vkf_test_assert_ok(ops, vkf_argmax(ops->gpu.context, &x->tensor, &out->tensor), "vkf_argmax");
        vkf_test_download(ops, out);
        assert_int_equal(out->count, rows);
        assert_memory_equal(out->ids, expected, rows * sizeof expected[0]);
        vkf_test_ops_reset(ops);
    }
}

// (B, T, S, A). Sums of up to 130 terms of at most 1: 1e-5; half storage rounds the score, which is below 16, once.
static void run_additive(vkf_test_ops *ops, vkf_dtype dtype, const uint32_t *s, float deviation)
{
    vkf_test_operand *query = vkf_test_normal(ops, dtype, 0, deviation, SHAPE(s[0], s[1], s[3]));
    vkf_test_operand *key = vkf_test_normal(ops, dtype, 0, deviation, SHAPE(s[0], s[2], s[3]));
    vkf_test_operand *v = vkf_test_uniform(ops, dtype, -1, 1, SHAPE(s[3]));
    vkf_test_operand *out = vkf_test_output(ops, dtype, SHAPE(s[0], s[1], s[2]));
    float *expected = vkf_test_floats(out->count);
    vkf__ref_additive_scores(s[0], s[1], s[2], s[3], query->values, key->values, v->values, expected);
    const vkf_additive_scores_desc desc = {query->tensor, key->tensor, v->tensor, out->tensor};
    vkf_test_assert_ok(ops, vkf_additive_scores(ops->gpu.context, &desc), "vkf_additive_scores");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 1e-5, dtype == VKF_DTYPE_F16 ? HALF_RTOL + 1e-6 : 1e-6,
                 vkf_test_label(&ops->gpu, "additive scores %s (%u, %u, %u, %u), deviation %g", vkf_dtype_name(dtype),
                                s[0], s[1], s[2], s[3], (double)deviation));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_additive_scores(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t shapes[][4] = {
        {1, 1, 1, 1}, {2, 3, 5, 3}, {1, 7, 11, 4}, {3, 1, 13, 5}, {2, 16, 17, 64}, {1, 5, 129, 130},
    };
    static const float deviations[] = {1e-3f, 0.7f, 30};
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (size_t d = 0; d < COUNT_OF(deviations); d++)
            for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++)
                run_additive(ops, (vkf_dtype)dtype, shapes[i], deviations[d]);
}

// The paper's formula by pow(), which rounds otherwise than the library's exp(): 1e-6.
static void test_sinusoidal_positions(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{1, 1}, {50, 64}, {7, 5}, {2, 512}};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        const uint32_t len = sizes[s][0], dim = sizes[s][1];
        float *actual = vkf_test_floats((size_t)len * dim), *expected = vkf_test_floats((size_t)len * dim);
        for (uint32_t i = 0; i < len * dim; i++) {
            double angle = i / dim / pow(10000, 2.0 * (i % dim / 2) / dim);
            expected[i] = (float)(i % dim % 2 == 0 ? sin(angle) : cos(angle));
        }
        vkf_sinusoidal_positions(len, dim, actual);
        assert_close(actual, expected, (size_t)len * dim, 1e-6, 0, "sinusoidal positions");
        free(actual);
        free(expected);
    }
}

#define TESTS                                                                            \
    VKF_OPS_TEST(test_embed), VKF_OPS_TEST(test_embed_f32_table_to_f16_is_refused),      \
        VKF_OPS_TEST(test_argmax_row_lengths), VKF_OPS_TEST(test_argmax_special_values), \
        VKF_OPS_TEST(test_additive_scores)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TESTS,
        VKF_OPS_TEST(test_argmax_finds_every_place),
        VKF_OPS_TEST(test_argmax_ranks),
        VKF_OPS_TEST(test_sinusoidal_positions),
    };
    const struct CMUnitTest packed[] = {TESTS};
    int failed = cmocka_run_group_tests_name("op_tokens", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("op_tokens packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
