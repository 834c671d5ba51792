// Sums over rows against the reference, plain and as the gradient of a norm's weight: few rows and many, which are
// summed by groups, and columns about those that a workgroup takes.
//
// Bounds. A term is rounded three times at most. On its way into the sum it goes through 8 additions of a run, a step
// for every 8 rows of its group, and the same among groups: below 8 + 8 + (group + groups) / 8, where both are about
// the root of the rows. So many times 2^-24 of the sum of the terms' magnitudes are allowed, column by column.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/column_sum.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"
#include "support/run_resized.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define OPTIONAL_SPAN(operand) ((operand) ? SPAN(operand) : (vkf__span){0})

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_column_sum(work, args);
}

typedef struct sum_operands {
    vkf_test_operand *x, *normed, *stats, *out; // normed and stats may be NULL
    bool accumulate;
} sum_operands;

static sum_operands make_operands(vkf_test_ops *ops, uint32_t rows, uint32_t cols, bool norm, bool accumulate)
{
    sum_operands o = {.x = vkf_test_normal(ops, VKF_DTYPE_F32, 0.5f, 1, SHAPE(rows, cols)), .accumulate = accumulate};
    if (norm) {
        o.normed = vkf_test_normal(ops, VKF_DTYPE_F32, 3, 1, SHAPE(rows, cols));
        o.stats = vkf_test_uniform(ops, VKF_DTYPE_F32, 1, 2, SHAPE(rows, 2));
    }
    // Without accumulation what was there may be anything.
    o.out = vkf_test_constant(ops, VKF_DTYPE_F32, accumulate ? 2.5f : NAN, SHAPE(cols));
    return o;
}

static void run(vkf_test_ops *ops, const sum_operands *o, vkf_test_operand *out, uint32_t rows)
{
    const vkf__column_sum_args args = {
        .label = "column_sum",
        .x = SPAN(o->x),
        .out = SPAN(out),
        .normed = OPTIONAL_SPAN(o->normed),
        .stats = OPTIONAL_SPAN(o->stats),
        .rows = rows,
        .cols = o->x->tensor.shape[1],
        .accumulate = o->accumulate,
    };
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "column_sum", emit, &args), "column_sum");
}

static double magnitude_of(const sum_operands *o, const vkf__ref_column_sum_desc *desc, uint32_t col)
{
    double sum = o->accumulate ? fabs((double)o->out->values[col]) : 0;
    for (size_t row = 0; row < desc->rows; row++) {
        double value = fabs((double)desc->x[row * desc->cols + col]);
        if (desc->stats && value != 0)
            value *=
                fabs((double)desc->normed[row * desc->cols + col] - desc->stats[2 * row]) * desc->stats[2 * row + 1];
        sum += value;
    }
    return sum;
}

static void check(vkf_test_ops *ops, const sum_operands *o)
{
    const uint32_t rows = o->x->tensor.shape[0], cols = o->x->tensor.shape[1];
    const double roundings = 3 + 16 + (2 * sqrt((double)rows) + 40) / 8;
    const vkf__ref_column_sum_desc desc = {
        .rows = rows,
        .cols = cols,
        .x = o->x->values,
        .normed = vkf_test_values_of(o->normed),
        .stats = vkf_test_values_of(o->stats),
        .out = vkf_test_floats(cols),
        .accumulate = o->accumulate,
    };
    double *magnitudes = calloc(cols, sizeof *magnitudes);
    assert_non_null(magnitudes);
    memcpy(desc.out, o->out->values, cols * sizeof(float));
    for (uint32_t col = 0; col < cols; col++)
        magnitudes[col] = magnitude_of(o, &desc, col);
    vkf__ref_column_sum(&desc);
    run(ops, o, o->out, rows);
    vkf_test_download(ops, o->out);
    for (uint32_t col = 0; col < cols; col++)
        assert_close(&o->out->values[col], &desc.out[col], 1, roundings * 0x1p-24 * magnitudes[col], 0,
                     vkf_test_label(&ops->gpu, "column %u of the sum of %u x %u%s%s", col, rows, cols,
                                    o->stats ? " with a norm" : "", o->accumulate ? ", added" : ""));
    free(desc.out);
    free(magnitudes);
    vkf_test_ops_reset(ops);
}

static void check_shape(vkf_test_ops *ops, uint32_t rows, uint32_t cols)
{
    for (int kind = 0; kind < 4; kind++) {
        const sum_operands o = make_operands(ops, rows, cols, kind & 1, kind & 2);
        check(ops, &o);
    }
}

// Up to 32 rows are one group. 1024 rows are 32 groups of 32, and 1025 are 26 groups of 40.
static void test_column_sum_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t rows[] = {1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 97, 1023, 1024, 1025, 5003};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_shape(ops, rows[i], 1 + (uint32_t)i % 5 * 9);
}

// Workgroups of 64 and 128 invocations take 256 and 512 columns.
static void test_column_sum_cols(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t cols[] = {1, 2, 3, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1031};
    for (size_t i = 0; i < COUNT_OF(cols); i++)
        check_shape(ops, i % 2 ? 5 : 41, cols[i]);
}

static void test_column_sum_of_large_matrices(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    check_shape(ops, 4096, 768);
    check_shape(ops, 7, 50000);
}

// A row whose gradient is 0 was masked out. Nothing of what the norm made of it gets into the sum.
static void test_column_sum_leaves_out_rows_without_gradient(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t rows[] = {9, 70};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const sum_operands o = make_operands(ops, rows[i], 19, true, false);
        const size_t row = rows[i] - 2;
        memset(o.x->values + row * 19, 0, 19 * sizeof(float));
        for (size_t col = 0; col < 19; col++)
            o.normed->values[row * 19 + col] = col % 2 ? NAN : INFINITY;
        o.stats->values[2 * row] = o.stats->values[2 * row + 1] = NAN;
        vkf_test_upload(ops, o.x);
        vkf_test_upload(ops, o.normed);
        vkf_test_upload(ops, o.stats);
        check(ops, &o);
    }
}

static void test_column_sum_nan_stays_in_its_column(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const sum_operands o = make_operands(ops, 70, 19, false, false);
    o.x->values[41 * 19 + 5] = NAN;
    o.x->values[69 * 19 + 18] = INFINITY;
    vkf_test_upload(ops, o.x);
    check(ops, &o);
}

static void test_column_sum_is_equal_every_time(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const sum_operands o = make_operands(ops, 3001, 67, true, false);
    vkf_test_operand *second = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(67));
    run(ops, &o, o.out, 3001);
    run(ops, &o, second, 3001);
    vkf_test_download(ops, o.out);
    vkf_test_download(ops, second);
    assert_memory_equal(o.out->values, second->values, 67 * sizeof(float));
}

static void test_column_sum_of_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const sum_operands o = make_operands(ops, 2, 8, false, false);
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(8));
    run(ops, &o, out, 0);
    vkf_test_assert_untouched(ops, out);
}

static void test_column_sum_of_fewer_rows_than_planned(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t rows[] = {0, 1, 40, 41, 1999, 2000};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const sum_operands o = make_operands(ops, 2000, 33, true, true);
        const vkf__column_sum_args largest = {"column_sum", SPAN(o.x), SPAN(o.out), SPAN(o.normed), SPAN(o.stats), 0,
                                              2000,         33,        true};
        float expected[33];
        memcpy(expected, o.out->values, sizeof expected);
        vkf__ref_column_sum(
            &(vkf__ref_column_sum_desc){rows[i], 33, o.x->values, o.normed->values, o.stats->values, expected, true});
        vkf__column_sum_args smaller = largest;
        smaller.rows = rows[i];
        vkf_test_assert_ok(ops, vkf_test_run_resized(ops->gpu.context, "column_sum", emit, &largest, &smaller),
                           "column_sum");
        vkf_test_download(ops, o.out);
        // As above, of magnitudes of 8 at most: (19 + 17) * 2^-24 * 8 * 2000 = 0.035.
        assert_close(o.out->values, expected, 33, rows[i] * 2e-5, 0,
                     vkf_test_label(&ops->gpu, "the sum of %u rows of 2000", rows[i]));
        vkf_test_ops_reset(ops);
    }
}

static void test_column_sum_beyond_the_range_is_refused(void **state)
{
    static const char *const SMALL_RANGE[] = {"maxStorageBufferRange=65536"};
    vkf_test_ops small;
    (void)vkf_test_ops_of(state);
    assert_true(vkf_test_ops_open(&small, SMALL_RANGE, 1));
    const sum_operands o = make_operands(&small, 200, 100, false, false);
    const vkf__column_sum_args args = {
        .label = "column_sum", .x = SPAN(o.x), .out = SPAN(o.out), .rows = 200, .cols = 100};
    vkf_test_assert_refused(&small, vkf__run_once(small.gpu.context, "column_sum", emit, &args), VKF_ERROR_TOO_LARGE,
                            "80,000 bytes");
    vkf_test_ops_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_column_sum_rows),
        VKF_OPS_TEST(test_column_sum_cols),
        VKF_OPS_TEST(test_column_sum_of_large_matrices),
        VKF_OPS_TEST(test_column_sum_leaves_out_rows_without_gradient),
        VKF_OPS_TEST(test_column_sum_nan_stays_in_its_column),
        VKF_OPS_TEST(test_column_sum_is_equal_every_time),
        VKF_OPS_TEST(test_column_sum_of_no_rows),
        VKF_OPS_TEST(test_column_sum_beyond_the_range_is_refused),
        VKF_OPS_TEST(test_column_sum_of_fewer_rows_than_planned),
    };
    return cmocka_run_group_tests_name("op_column_sum", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
