// The gradients of a norm with regard to its input, weight and bias against the reference: on rows that a subgroup
// holds and on longer ones, of groups that are full and not, added or not, and each wanted or not.
//
// Bounds. Those of dx are as in test_op_layer_norm_grad.c: G / d * 2^-17 of a row. A term of dweight is dout * n, and n
// is off by 2^-20 of itself and by as much of the mean's rounding, over the deviation; a term of dbias is exact. A sum
// goes through fewer than 512 additions in a row, whose errors have a random order: 32 * 2^-24 of the sum of the terms'
// magnitudes, and 2^-18 of them for the terms.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/norm_gradients.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "shared/norm_gradients.h"
#include "support/op_fixture.h"
#include "support/run_resized.h"
#include "support/taken_kernel.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define OPTIONAL_SPAN(operand) ((operand) ? SPAN(operand) : (vkf__span){0})

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_norm_gradients(work, args);
}

typedef struct norm_case {
    uint32_t rows, dim;
    bool rms, accumulate, no_weight, no_input, no_dweight, no_dbias;
    bool apart; // dweight and dbias do not follow each other
} norm_case;

// Each but x and dout may be NULL.
typedef struct norm_operands {
    vkf_test_operand *x, *weight, *dout, *dx, *dweight, *dbias;
    vkf_test_operand *vectors; // (2, dim): dweight and dbias, where they follow each other
} norm_operands;

static norm_operands make_operands(vkf_test_ops *ops, const norm_case *c)
{
    const float before = c->accumulate ? 0.5f : NAN; // without accumulation what was there may be anything
    norm_operands o = {
        .x = vkf_test_normal(ops, VKF_DTYPE_F32, 1, 1, SHAPE(c->rows, c->dim)),
        .dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0.25f, 1, SHAPE(c->rows, c->dim)),
    };
    if (!c->no_weight)
        o.weight = vkf_test_uniform(ops, VKF_DTYPE_F32, 0.5f, 1.5f, SHAPE(c->dim));
    if (!c->no_input)
        o.dx = vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(c->rows, c->dim));
    if (!c->apart && !c->no_dweight && !c->no_dbias)
        o.vectors = vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(2, c->dim));
    if (!o.vectors && !c->no_dweight)
        o.dweight = vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(c->dim));
    if (!o.vectors && !c->no_dbias)
        o.dbias = vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(c->dim));
    return o;
}

static vkf__span vector_of(const norm_operands *o, const vkf_test_operand *own, uint32_t dim, uint32_t number)
{
    const vkf__span both = OPTIONAL_SPAN(o->vectors);
    return o->vectors ? vkf__span_part(&both, (uint64_t)number * dim, dim) : OPTIONAL_SPAN(own);
}

static vkf__norm_gradients_args args_of(const norm_case *c, const norm_operands *o)
{
    return (vkf__norm_gradients_args){
        .label = "norm_gradients",
        .x = SPAN(o->x),
        .weight = OPTIONAL_SPAN(o->weight),
        .dout = SPAN(o->dout),
        .dx = OPTIONAL_SPAN(o->dx),
        .dweight = {vector_of(o, o->dweight, c->dim, 0), c->accumulate},
        .dbias = {vector_of(o, o->dbias, c->dim, 1), c->accumulate},
        .rows = c->rows,
        .dim = c->dim,
        .eps = 1e-5f,
        .rms = c->rms,
        .accumulate = c->accumulate,
    };
}

typedef struct norm_expected {
    float *dx, *stats, *dweight, *dbias;
    double *input_bounds;  // (rows): the largest gradient with regard to a normalised value, over the deviation
    double *weight_bounds; // (dim): the sum of the terms' magnitudes
    double *bias_bounds;   // (dim)
} norm_expected;

static float *copy_or_zeros(const vkf_test_operand *operand, size_t first, size_t count, bool accumulate)
{
    float *values = vkf_test_floats(count);
    for (size_t i = 0; i < count; i++)
        values[i] = operand && accumulate ? operand->values[first + i] : 0;
    return values;
}

static void expect_sums(const norm_case *c, const norm_operands *o, norm_expected *e)
{
    const vkf__ref_column_sum_desc weight = {c->rows,  c->dim,     o->dout->values, o->x->values,
                                             e->stats, e->dweight, c->accumulate};
    const vkf__ref_column_sum_desc bias = {c->rows, c->dim, o->dout->values, NULL, NULL, e->dbias, c->accumulate};
    vkf__ref_column_sum(&weight);
    vkf__ref_column_sum(&bias);
    for (size_t at = 0; at < (size_t)c->rows * c->dim; at++) {
        const size_t row = at / c->dim, col = at % c->dim;
        const double term = fabs((double)o->dout->values[at]), inverse = (double)e->stats[2 * row + 1];
        const double weighted = term * (o->weight ? (double)o->weight->values[col] : 1) * inverse;
        // The mean is off by its own rounding.
        const double normed =
            term > 0 ? (fabs((double)o->x->values[at] - e->stats[2 * row]) + fabs((double)e->stats[2 * row])) : 0;
        e->input_bounds[row] = fmax(e->input_bounds[row], weighted);
        e->weight_bounds[col] += term > 0 ? term * normed * inverse : 0;
        e->bias_bounds[col] += term;
    }
}

static norm_expected expect(const norm_case *c, const norm_operands *o)
{
    const vkf_test_operand *dweight = o->vectors ? o->vectors : o->dweight;
    const vkf_test_operand *dbias = o->vectors ? o->vectors : o->dbias;
    norm_expected e = {
        .dx = copy_or_zeros(o->dx, 0, o->x->count, c->accumulate),
        .stats = vkf_test_floats((size_t)2 * c->rows),
        .dweight = copy_or_zeros(dweight, 0, c->dim, c->accumulate),
        .dbias = copy_or_zeros(dbias, o->vectors ? c->dim : 0, c->dim, c->accumulate),
        .input_bounds = calloc(c->rows, sizeof(double)),
        .weight_bounds = calloc(c->dim, sizeof(double)),
        .bias_bounds = calloc(c->dim, sizeof(double)),
    };
    assert_true(e.input_bounds && e.weight_bounds && e.bias_bounds);
    vkf__ref_layer_norm_grad(&(vkf__ref_layer_norm_grad_desc){c->rows, c->dim, o->x->values,
                                                              vkf_test_values_of(o->weight), o->dout->values, e.dx,
                                                              e.stats, 1e-5f, c->rms, c->accumulate});
    expect_sums(c, o, &e);
    return e;
}

static void finish(norm_expected *e)
{
    free(e->dx);
    free(e->stats);
    free(e->dweight);
    free(e->dbias);
    free(e->input_bounds);
    free(e->weight_bounds);
    free(e->bias_bounds);
}

static void compare_vector(vkf_test_ops *ops, const norm_case *c, vkf_test_operand *operand, size_t first,
                           const float *expected, const double *bounds, const char *what)
{
    vkf_test_download(ops, operand);
    for (uint32_t i = 0; i < c->dim; i++)
        assert_close(&operand->values[first + i], &expected[i], 1, bounds[i] * (0x1p-18 + 0x1p-19) + 1e-6, 0x1p-23,
                     vkf_test_label(&ops->gpu, "column %u of %s of %s norm, %u x %u", i, what, c->rms ? "RMS" : "layer",
                                    c->rows, c->dim));
}

static void compare(vkf_test_ops *ops, const norm_case *c, const norm_operands *o, const norm_expected *e)
{
    if (o->dx)
        vkf_test_download(ops, o->dx);
    for (uint32_t row = 0; o->dx && row < c->rows; row++)
        assert_close(o->dx->values + (size_t)row * c->dim, e->dx + (size_t)row * c->dim, c->dim,
                     e->input_bounds[row] * 0x1p-17 + 1e-12, 0x1p-23,
                     vkf_test_label(&ops->gpu, "row %u of the gradient of %s norm, %u x %u", row,
                                    c->rms ? "RMS" : "layer", c->rows, c->dim));
    if (o->vectors || o->dweight)
        compare_vector(ops, c, o->vectors ? o->vectors : o->dweight, 0, e->dweight, e->weight_bounds, "dweight");
    if (o->vectors || o->dbias)
        compare_vector(ops, c, o->vectors ? o->vectors : o->dbias, o->vectors ? c->dim : 0, e->dbias, e->bias_bounds,
                       "dbias");
}

static void check_operands(vkf_test_ops *ops, const norm_case *c, const norm_operands *o)
{
    const vkf__norm_gradients_args args = args_of(c, o);
    norm_expected e = expect(c, o);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "norm_gradients", emit, &args), "norm_gradients");
    compare(ops, c, o, &e);
    finish(&e);
    vkf_test_ops_reset(ops);
}

static void check(vkf_test_ops *ops, const norm_case *c)
{
    for (int rms = 0; rms < 2; rms++) {
        norm_case either = *c;
        either.rms = rms;
        const norm_operands o = make_operands(ops, &either);
        check_operands(ops, &either, &o);
    }
}

// About what subgroups of 4, 8, 16 and 32 hold, 16 columns an invocation, and beyond.
static void test_norm_gradients_dims(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t dims[] = {1, 2, 7, 8, 9, 31, 63, 64, 65, 113, 127, 128, 129, 256, 257, 511, 512, 513, 1024};
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        check(ops, &(norm_case){.rows = 1 + (uint32_t)i % 5, .dim = dims[i], .accumulate = i % 2});
}

// About groups of one row, and of several; 16,389 rows are in more groups than are summed in one step.
static void test_norm_gradients_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t rows[] = {1, 2, 31, 32, 33, 63, 64, 65, 1021, 16389};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check(ops, &(norm_case){.rows = rows[i], .dim = 24, .accumulate = i % 2});
}

static void test_norm_gradients_each_wanted_or_not(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = 0; kind < 32; kind++) {
        if ((kind & 7) == 7) // nothing is wanted
            continue;
        check(ops, &(norm_case){.rows = 70,
                                .dim = 37,
                                .no_input = kind & 1,
                                .no_dweight = kind & 2,
                                .no_dbias = kind & 4,
                                .no_weight = kind & 8,
                                .apart = kind & 16});
    }
}

// A row without gradient was masked out, and whatever x holds there, nothing comes back.
static void test_norm_gradients_of_rows_that_do_not_count(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = 0; kind < 4; kind++) {
        const norm_case c = {.rows = 40, .dim = 61, .rms = kind & 1, .accumulate = kind & 2};
        const norm_operands o = make_operands(ops, &c);
        memset(o.dout->values + 61, 0, 2 * 61 * sizeof(float));
        o.x->values[61 + 3] = NAN;
        o.x->values[2 * 61 + 60] = c.rms ? INFINITY : NAN;
        vkf_test_upload(ops, o.x);
        vkf_test_upload(ops, o.dout);
        check_operands(ops, &c, &o);
    }
}

// Sums over 2000 rows as planned go by larger groups than fewer rows would take.
static void test_norm_gradients_of_fewer_rows_than_planned(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t rows[] = {1, 62, 63, 64, 1999};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        norm_case c = {.rows = 2000, .dim = 33, .accumulate = true};
        const norm_operands o = make_operands(ops, &c);
        const vkf__norm_gradients_args largest = args_of(&c, &o);
        c.rows = rows[i];
        const vkf__norm_gradients_args args = args_of(&c, &o);
        norm_expected e = expect(&c, &o);
        vkf_test_assert_ok(ops, vkf_test_run_resized(ops->gpu.context, "norm_gradients", emit, &largest, &args),
                           "norm_gradients");
        compare(ops, &c, &o, &e);
        finish(&e);
        vkf_test_ops_reset(ops);
    }
}

static void test_norm_gradients_of_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    norm_case c = {.rows = 2, .dim = 8, .accumulate = true};
    norm_operands o = make_operands(ops, &c);
    const vkf__norm_gradients_args largest = args_of(&c, &o);
    o.dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 8));
    o.vectors = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 8));
    c.rows = 0;
    const vkf__norm_gradients_args args = args_of(&c, &o);
    vkf_test_assert_ok(ops, vkf_test_run_resized(ops->gpu.context, "norm_gradients", emit, &largest, &args),
                       "norm_gradients");
    vkf_test_assert_untouched(ops, o.dx);
    vkf_test_assert_untouched(ops, o.vectors);
}

static void test_norm_gradients_are_equal_every_time(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const norm_case c = {.rows = 301, .dim = 67};
    const norm_operands o = make_operands(ops, &c);
    const vkf__norm_gradients_args args = args_of(&c, &o);
    float *first = vkf_test_floats(o.vectors->count);
    for (int i = 0; i < 2; i++) {
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "norm_gradients", emit, &args), "norm_gradients");
        vkf_test_download(ops, o.vectors);
        if (i == 0)
            memcpy(first, o.vectors->values, o.vectors->count * sizeof *first);
    }
    assert_memory_equal(first, o.vectors->values, o.vectors->count * sizeof *first);
    free(first);
}

// One pass takes rows that fit, where a device tells the size of its subgroups and has room for the longest; all else
// goes one by one. test_select.c has devices with fewer registers.
static void test_norm_gradients_take_one_pass_where_rows_fit(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf__caps *caps = &ops->gpu.context->device.plan.caps;
    const bool holds = caps->subgroup_arithmetic && caps->least_subgroup_size > 0 && caps->max_storage_buffers >= 5 &&
                       caps->traits.registers >= 256;
    const uint32_t most = VKF_NORM_GRADIENTS_MOST_EACH * caps->least_subgroup_size;
    for (uint32_t i = 0; i < 2; i++) {
        const norm_case c = {.rows = 4, .dim = (most > 0 ? most : 1) + i};
        const norm_operands o = make_operands(ops, &c);
        vkf_test_watch_kernels(ops->gpu.context, VKF_OP_NORM_GRADIENTS);
        check_operands(ops, &c, &o);
        const bool taken = vkf_test_taken_variant().kernel != NULL;
        vkf_test_unwatch_kernels(ops->gpu.context);
        assert_true(taken == (holds && i == 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_norm_gradients_dims),
        VKF_OPS_TEST(test_norm_gradients_rows),
        VKF_OPS_TEST(test_norm_gradients_each_wanted_or_not),
        VKF_OPS_TEST(test_norm_gradients_of_rows_that_do_not_count),
        VKF_OPS_TEST(test_norm_gradients_of_fewer_rows_than_planned),
        VKF_OPS_TEST(test_norm_gradients_of_no_rows),
        VKF_OPS_TEST(test_norm_gradients_are_equal_every_time),
        VKF_OPS_TEST(test_norm_gradients_take_one_pass_where_rows_fit),
    };
    return cmocka_run_group_tests_name("op_norm_gradients", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
