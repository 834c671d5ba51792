// Rotary position embedding against the formula in double precision, and the table of angles that it takes.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/op_fixture.h"

#define BASE 500000.0
#define TABLE_ROWS 40

typedef enum positions_kind { FOLLOWING, SHARED, EACH } positions_kind;

typedef struct turning {
    uint32_t batch, heads, len, dim, rotary;
    bool interleaved, merged, inverse, in_place;
    positions_kind positions;
    uint32_t rows; // of positions, with sections
    uint32_t sections[VKF_ROTARY_MAX_SECTIONS];
    bool in_turns;
    vkf_dtype dtype;
} turning;

// Lengths of heads are 2, the least, odd, prime, and those about a workgroup's size and its steps through a row.
static const turning TURNINGS[] = {
    {1, 1, 1, 2, 2, .dtype = VKF_DTYPE_F32},
    {2, 3, 5, 7, 4, .positions = EACH, .dtype = VKF_DTYPE_F32},
    {2, 3, 5, 13, 12, .interleaved = true, .merged = true, .dtype = VKF_DTYPE_F32},
    {3, 2, 4, 63, 62, .interleaved = true, .positions = SHARED, .dtype = VKF_DTYPE_F16},
    {1, 4, 33, 64, 64, .merged = true, .positions = EACH, .inverse = true, .dtype = VKF_DTYPE_F32},
    {2, 2, 3, 65, 30, .in_place = true, .positions = EACH, .dtype = VKF_DTYPE_F32},
    {2, 5, 7, 128, 128, .interleaved = true, .inverse = true, .in_place = true, .dtype = VKF_DTYPE_F16},
    {1, 2, 9, 129, 128, .dtype = VKF_DTYPE_F16},
    {1, 3, 2, 1031, 1030, .interleaved = true, .positions = EACH, .dtype = VKF_DTYPE_F32},
    {2, 2, 6, 128, 128, .positions = EACH, .rows = 3, .sections = {16, 24, 24}, .dtype = VKF_DTYPE_F32},
    {2, 2, 6, 128, 128, .positions = EACH, .rows = 3, .sections = {24, 20, 20}, .in_turns = true,
     .dtype = VKF_DTYPE_F32},
    {2, 3, 4, 26, 22, .positions = EACH, .rows = 4, .sections = {1, 3, 2, 1}, .merged = true, .dtype = VKF_DTYPE_F16},
    {1, 3, 4, 40, 36, .positions = SHARED, .rows = 4, .sections = {5, 4, 3, 5}, .in_turns = true, .interleaved = true,
     .dtype = VKF_DTYPE_F32},
    {2, 2, 8, 64, 64, .positions = EACH, .rows = 2, .sections = {8, 8}, .dtype = VKF_DTYPE_F32}, // over and over
};

// The row of positions of each pair, told as those who thought of the orders tell it: one section behind the other, or
// all pairs taken by one that then gives every third away.
static void find_rows(const turning *t, uint32_t *out_rows)
{
    const uint32_t *s = t->sections, half = t->rotary / 2, sum = s[0] + s[1] + s[2] + s[3];
    uint32_t *once = calloc(sum + half + 1, sizeof *once);
    assert_non_null(once);
    uint32_t i = 0;
    for (uint32_t section = 0; section < t->rows; section++)
        for (uint32_t n = 0; n < s[section]; n++)
            once[i++] = section;
    for (i = 0; t->in_turns && i < sum; i++)
        once[i] = t->rows == 4 ? 3 : 0;
    for (uint32_t section = 0; t->in_turns && section < 3; section++)
        for (i = section; i < 3 * s[section] && i < sum; i += 3)
            once[i] = section;
    for (i = 0; i < half; i++)
        out_rows[i] = sum > 0 ? once[i % sum] : 0;
    free(once);
}

typedef struct tensors {
    vkf_test_operand *x, *out, *table, *positions;
    uint32_t first;
} tensors;

static uint32_t index_of(const turning *t, uint32_t b, uint32_t h, uint32_t l)
{
    return (t->merged ? (b * t->len + l) * t->heads + h : (b * t->heads + h) * t->len + l) * t->dim;
}

static int64_t position_of(const turning *t, const tensors *on, uint32_t b, uint32_t l, uint32_t row)
{
    const uint32_t batch = t->positions == SHARED ? 1 : t->batch, at = t->positions == SHARED ? 0 : b;
    return t->positions == FOLLOWING ? (int64_t)on->first + l : on->positions->ids[(row * batch + at) * t->len + l];
}

static void turn_head(const turning *t, const tensors *on, const uint32_t *rows, const uint32_t at[3], float *out)
{
    const uint32_t half = t->rotary / 2, from = index_of(t, at[0], at[1], at[2]);
    const float *x = on->x->values + from;
    memcpy(out + from, x, t->dim * sizeof *x);
    for (uint32_t i = 0; i < half; i++) {
        const int64_t position = position_of(t, on, at[0], at[2], rows[i]);
        const double angle = (double)position / pow(BASE, 2.0 * i / t->rotary);
        const bool known = position >= 0 && position < TABLE_ROWS;
        const double cosine = known ? cos(angle) : 0, sine = known ? sin(t->inverse ? -angle : angle) : 0;
        const uint32_t a = t->interleaved ? 2 * i : i, b = t->interleaved ? 2 * i + 1 : i + half;
        out[from + a] = (float)((double)x[a] * cosine - (double)x[b] * sine);
        out[from + b] = (float)((double)x[b] * cosine + (double)x[a] * sine);
    }
}

static float *expected_of(const turning *t, const tensors *on)
{
    float *out = vkf_test_floats(on->x->count);
    uint32_t *rows = calloc(t->rotary / 2, sizeof *rows);
    assert_non_null(rows);
    find_rows(t, rows);
    for (uint32_t b = 0; b < t->batch; b++)
        for (uint32_t h = 0; h < t->heads; h++)
            for (uint32_t l = 0; l < t->len; l++)
                turn_head(t, on, rows, (const uint32_t[]){b, h, l}, out);
    free(rows);
    return out;
}

// Positions of the table, and here and there one that it has not.
static vkf_test_operand *make_positions(vkf_test_ops *ops, const turning *t)
{
    const uint32_t shape[] = {t->rows, t->positions == SHARED ? 1 : t->batch, t->len};
    const uint32_t count = (t->rows > 0 ? t->rows : 1) * shape[1] * t->len;
    int32_t *ids = calloc(count, sizeof *ids);
    assert_non_null(ids);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = (int32_t)(vkf_test_random_u64(&ops->gpu.random) % (TABLE_ROWS + 4)) - 2;
    ids[0] = TABLE_ROWS - 1;
    vkf_test_operand *operand = vkf_test_ids(ops, ids, t->rows > 0 ? 3 : 2, shape + (t->rows > 0 ? 0 : 1));
    free(ids);
    return operand;
}

static tensors make(vkf_test_ops *ops, const turning *t)
{
    const uint32_t rows = t->merged ? t->len : t->heads, columns = t->merged ? t->heads : t->len;
    tensors on = {
        .x = vkf_test_normal(ops, t->dtype, 0, 1, SHAPE(t->batch, rows, columns, t->dim)),
        .table = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(TABLE_ROWS, t->rotary)),
        .positions = t->positions != FOLLOWING ? make_positions(ops, t) : NULL,
        .first = t->positions == FOLLOWING ? TABLE_ROWS - t->len : 0,
    };
    on.out = t->in_place ? on.x : vkf_test_output(ops, t->dtype, SHAPE(t->batch, rows, columns, t->dim));
    vkf_rotary_table(TABLE_ROWS, t->rotary, BASE, NULL, 0, on.table->values);
    vkf_test_upload(ops, on.table);
    return on;
}

static void run(vkf_test_ops *ops, const turning *t, size_t index)
{
    const tensors on = make(ops, t);
    vkf_rotary_desc desc = {
        .x = on.x->tensor,
        .out = on.out->tensor,
        .table = on.table->tensor,
        .positions = vkf_test_tensor_of(on.positions),
        .sections_in_turns = t->in_turns,
        .first_position = on.first,
        .interleaved = t->interleaved,
        .merged = t->merged,
        .inverse = t->inverse,
    };
    memcpy(desc.sections, t->sections, sizeof desc.sections);
    float *expected = expected_of(t, &on);
    vkf_test_assert_ok(ops, vkf_rotary(ops->gpu.context, &desc), "vkf_rotary");
    vkf_test_download(ops, on.out);
    // Cosine and sine are rounded to f32, and so are products and sum: of magnitudes below 6, 4 * 2^-24 * 6 * 2 = 3e-6.
    assert_close(on.out->values, expected, on.out->count, 3e-6, t->dtype == VKF_DTYPE_F16 ? 0x1p-10 : 0,
                 vkf_test_label(&ops->gpu, "rotary %zu", index));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_rotary_is_the_formula(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(TURNINGS); i++)
        run(ops, &TURNINGS[i], i);
}

// A NaN and an infinity stay within their pair, and what is not turned is copied as it is.
static void test_rotary_keeps_what_is_no_number_in_its_pair(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float x[] = {1, NAN, 3, INFINITY, -0.0f, -INFINITY, NAN};
    static const float by_nothing[] = {1, 1, 0, 0};
    static const float expected[] = {1, NAN, 3, NAN, -0.0f, -INFINITY, NAN};
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1, 1, 1, 7));
    const vkf_rotary_desc desc = {
        .x = vkf_test_values(ops, VKF_DTYPE_F32, x, SHAPE(1, 1, 1, 7))->tensor,
        .out = out->tensor,
        .table = vkf_test_values(ops, VKF_DTYPE_F32, by_nothing, SHAPE(1, 4))->tensor,
    };
    vkf_test_assert_ok(ops, vkf_rotary(ops->gpu.context, &desc), "vkf_rotary");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, 7, 0, 0, "pairs (1, 3) and (NaN, infinity)");
    assert_true(signbit(out->values[4]));
}

// The formula by division and long double, with factors and a magnitude as YaRN has them.
static void test_rotary_table(void **state)
{
    (void)state;
    enum { LEN = 300, DIM = 34, HALF = DIM / 2 };
    float actual[LEN * DIM], expected[LEN * DIM], plain[LEN * DIM];
    double factors[HALF];
    for (int i = 0; i < HALF; i++)
        factors[i] = 1 + 0.37 * i;
    for (int at = 0; at < LEN * DIM; at++) {
        const int i = at % HALF;
        const long double angle = at / DIM / powl(10000, 2.0L * i / DIM) / (long double)factors[i];
        expected[at] = (float)(1.25L * (at % DIM < HALF ? cosl(angle) : sinl(angle)));
    }
    vkf_rotary_table(LEN, DIM, 0, factors, 1.25, actual);
    assert_close(actual, expected, LEN * DIM, 1e-7, 1e-7, "rotary table");
    for (int i = 0; i < HALF; i++)
        factors[i] = 1;
    vkf_rotary_table(LEN, DIM, 10000, factors, 1, actual);
    vkf_rotary_table(LEN, DIM, 0, NULL, 0, plain);
    assert_memory_equal(actual, plain, sizeof plain);
    vkf_rotary_table(LEN, DIM, 0, NULL, 0, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_rotary_is_the_formula),
        VKF_OPS_TEST(test_rotary_keeps_what_is_no_number_in_its_pair),
        VKF_OPS_TEST(test_rotary_table),
    };
    const struct CMUnitTest packed[] = {VKF_OPS_TEST(test_rotary_is_the_formula)};
    int failed = cmocka_run_group_tests_name("op_rotary", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("op_rotary packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}
