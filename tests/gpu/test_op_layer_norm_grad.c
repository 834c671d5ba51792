// The gradient of layer and RMS normalisation against the reference: lengths about those of a workgroup, with and
// without weight, added or not, in place; and the rows' stats.
//
// Bounds, of a row with deviation d and gradients g = dout * weight of at most G: dx is (g - a - n * b) / d, with |a|
// and |b| at most G, the latter because n has a mean square below 1. Each is rounded by less than 10 * 2^-24 of itself:
// four roundings per term, and those of sums, which go through few additions in a row, or many in a random order. |n|
// is below 6 here. Together G / d * 2^-24 * (10 + 10 + 60), below G / d * 2^-17. The mean is one float, rounded by
// 2^-24 of the largest value; that of 1 / d by as much of itself as n is.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/layer_norm_grad.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define OPTIONAL_SPAN(operand) ((operand) ? SPAN(operand) : (vkf__span){0})

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_layer_norm_grad(work, args);
}

typedef struct grad_case {
    uint32_t rows, dim;
    bool weight, rms, accumulate, no_stats;
    float mean; // of x
    float eps;  // 0: 1e-5
} grad_case;

typedef struct grad_operands {
    vkf_test_operand *x, *weight, *dout, *dx, *stats; // weight and stats may be NULL
} grad_operands;

static grad_operands make_operands(vkf_test_ops *ops, const grad_case *c)
{
    grad_operands o = {
        .x = vkf_test_normal(ops, VKF_DTYPE_F32, c->mean, 1, SHAPE(c->rows, c->dim)),
        .dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0.25f, 1, SHAPE(c->rows, c->dim)),
        // Without accumulation what was there may be anything.
        .dx = vkf_test_constant(ops, VKF_DTYPE_F32, c->accumulate ? 0.5f : NAN, SHAPE(c->rows, c->dim)),
    };
    if (c->weight)
        o.weight = vkf_test_uniform(ops, VKF_DTYPE_F32, 0.5f, 1.5f, SHAPE(c->dim));
    if (!c->no_stats)
        o.stats = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(c->rows, 2));
    return o;
}

static void run(vkf_test_ops *ops, const grad_case *c, const grad_operands *o, uint32_t rows)
{
    const vkf__layer_norm_grad_args args = {
        .label = "layer_norm_grad",
        .x = SPAN(o->x),
        .weight = OPTIONAL_SPAN(o->weight),
        .dout = SPAN(o->dout),
        .dx = SPAN(o->dx),
        .stats = OPTIONAL_SPAN(o->stats),
        .rows = rows,
        .dim = c->dim,
        .eps = c->eps > 0 ? c->eps : 1e-5f,
        .rms = c->rms,
        .accumulate = c->accumulate,
    };
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "layer_norm_grad", emit, &args), "layer_norm_grad");
    vkf_test_download(ops, o->dx);
    if (o->stats)
        vkf_test_download(ops, o->stats);
}

typedef struct grad_expected {
    float *dx, *stats;
    float *bounds; // (rows): G / d
} grad_expected;

static grad_expected expect(const grad_case *c, const grad_operands *o)
{
    const grad_expected e = {vkf_test_floats(o->dx->count), vkf_test_floats((size_t)2 * c->rows),
                             vkf_test_floats(c->rows)};
    memcpy(e.dx, o->dx->values, o->dx->count * sizeof *e.dx);
    vkf__ref_layer_norm_grad(&(vkf__ref_layer_norm_grad_desc){
        .rows = c->rows,
        .dim = c->dim,
        .x = o->x->values,
        .weight = vkf_test_values_of(o->weight),
        .dout = o->dout->values,
        .dx = e.dx,
        .stats = e.stats,
        .eps = c->eps > 0 ? c->eps : 1e-5f,
        .rms = c->rms,
        .accumulate = c->accumulate,
    });
    for (uint32_t row = 0; row < c->rows; row++) {
        float largest = 0;
        for (uint32_t i = 0; i < c->dim; i++) {
            const float weight = o->weight ? o->weight->values[i] : 1;
            largest = fmaxf(largest, fabsf(o->dout->values[row * c->dim + i] * weight));
        }
        e.bounds[row] = largest > 0 ? largest * e.stats[2 * row + 1] : 0;
    }
    return e;
}

static void compare(vkf_test_ops *ops, const grad_case *c, const grad_operands *o, const grad_expected *e)
{
    for (uint32_t row = 0; row < c->rows; row++) {
        const char *label =
            vkf_test_label(&ops->gpu, "row %u of the gradient of %s norm, %u x %u, weight %d, added %d, mean %g", row,
                           c->rms ? "RMS" : "layer", c->rows, c->dim, c->weight, c->accumulate, (double)c->mean);
        // What is added is rounded once more.
        assert_close(o->dx->values + (size_t)row * c->dim, e->dx + (size_t)row * c->dim, c->dim,
                     (double)e->bounds[row] * 0x1p-17 + 1e-12, 0x1p-23, label);
        if (o->stats) {
            assert_close(&o->stats->values[2 * row], &e->stats[2 * row], 1, 1e-6, 0x1p-20, label);
            // A NaN in the mean is enough.
            if (c->rms || !isnan(e->stats[2 * row]))
                assert_close(&o->stats->values[2 * row + 1], &e->stats[2 * row + 1], 1, 0, 0x1p-18, label);
        }
    }
}

static void check(vkf_test_ops *ops, const grad_case *c, const grad_operands *o)
{
    const grad_expected e = expect(c, o);
    run(ops, c, o, c->rows);
    compare(ops, c, o, &e);
    free(e.dx);
    free(e.stats);
    free(e.bounds);
    vkf_test_ops_reset(ops);
}

static void check_both(vkf_test_ops *ops, const grad_case *c)
{
    grad_case rms = *c;
    rms.rms = true;
    const grad_operands layer = make_operands(ops, c);
    check(ops, c, &layer);
    const grad_operands other = make_operands(ops, &rms);
    check(ops, &rms, &other);
}

// Around the workgroups of 16, 64 and 256 invocations, which take 8 columns each per iteration.
static void test_layer_norm_grad_dims(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t dims[] = {1,   2,   3,   15,  16,  17,  63,   64,   65,   127,
                                    128, 129, 511, 512, 513, 768, 1023, 1024, 1025, 2049};
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        check_both(ops, &(grad_case){.rows = 1 + (uint32_t)i % 4, .dim = dims[i], .weight = true});
}

static void test_layer_norm_grad_options(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = 0; kind < 8; kind++)
        check_both(ops, &(grad_case){.rows = 3,
                                     .dim = 37,
                                     .weight = kind & 1,
                                     .accumulate = kind & 2,
                                     .no_stats = kind & 4,
                                     .eps = kind == 3 ? 0.5f : 0});
}

static void test_layer_norm_grad_of_long_and_of_many_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    check_both(ops, &(grad_case){.rows = 2, .dim = 100000, .weight = true});
    check_both(ops, &(grad_case){.rows = 3001, .dim = 48, .weight = true, .accumulate = true});
}

// Distances from a large mean are exact, and so is nothing else lost.
static void test_layer_norm_grad_of_offset_data(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float means[] = {100, -1000, 1e4f};
    for (size_t i = 0; i < COUNT_OF(means); i++) {
        const grad_case c = {.rows = 2, .dim = 515, .weight = true, .mean = means[i]};
        const grad_operands o = make_operands(ops, &c);
        check(ops, &c, &o);
    }
}

static void test_layer_norm_grad_in_place(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int over_x = 0; over_x < 2; over_x++) {
        const grad_case c = {.rows = 3, .dim = 1500, .weight = true};
        grad_operands o = make_operands(ops, &c);
        o.dx = over_x ? o.x : o.dout;
        check(ops, &c, &o);
    }
}

// A row without gradient was masked out, and whatever x holds there, nothing comes back. Elsewhere what is no number
// stays in its row.
static void test_layer_norm_grad_of_rows_that_do_not_count(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = 0; kind < 4; kind++) {
        const grad_case c = {.rows = 4, .dim = 83, .weight = true, .rms = kind & 1, .accumulate = kind & 2};
        const grad_operands o = make_operands(ops, &c);
        memset(o.dout->values + 83, 0, 2 * 83 * sizeof(float));
        o.x->values[83 + 3] = NAN;
        o.x->values[2 * 83 + 82] = c.rms ? INFINITY : NAN;
        o.x->values[3 * 83 + 5] = NAN;
        vkf_test_upload(ops, o.x);
        vkf_test_upload(ops, o.dout);
        check(ops, &c, &o);
    }
}

// Only eps keeps these finite.
static void test_layer_norm_grad_of_constant_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int rms = 0; rms < 2; rms++) {
        const grad_case c = {.rows = 2, .dim = 64, .rms = rms, .eps = 1e-3f};
        grad_operands o = make_operands(ops, &c);
        o.x = vkf_test_constant(ops, VKF_DTYPE_F32, rms ? 0 : 3, SHAPE(2, 64));
        check(ops, &c, &o);
    }
}

static void test_layer_norm_grad_is_equal_every_time(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const grad_case c = {.rows = 5, .dim = 1501, .weight = true};
    const grad_operands o = make_operands(ops, &c);
    run(ops, &c, &o, 5);
    float *first = vkf_test_floats(o.dx->count);
    memcpy(first, o.dx->values, o.dx->count * sizeof *first);
    run(ops, &c, &o, 5);
    assert_memory_equal(first, o.dx->values, o.dx->count * sizeof *first);
    free(first);
}

static void test_layer_norm_grad_of_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const grad_case c = {.rows = 2, .dim = 8};
    grad_operands o = make_operands(ops, &c);
    o.dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 8));
    run(ops, &c, &o, 0);
    vkf_test_assert_untouched(ops, o.dx);
    vkf_test_assert_untouched(ops, o.stats);
}

static void test_layer_norm_grad_beyond_the_range_is_refused(void **state)
{
    static const char *const SMALL_RANGE[] = {"maxStorageBufferRange=65536"};
    vkf_test_ops small;
    (void)vkf_test_ops_of(state);
    assert_true(vkf_test_ops_open(&small, SMALL_RANGE, 1));
    const grad_case c = {.rows = 200, .dim = 100};
    const grad_operands o = make_operands(&small, &c);
    const vkf__layer_norm_grad_args args = {
        .label = "layer_norm_grad", .x = SPAN(o.x), .dout = SPAN(o.dout), .dx = SPAN(o.dx), .rows = 200, .dim = 100};
    vkf_test_assert_refused(&small, vkf__run_once(small.gpu.context, "layer_norm_grad", emit, &args),
                            VKF_ERROR_TOO_LARGE, "80,000 bytes");
    vkf_test_ops_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_layer_norm_grad_dims),
        VKF_OPS_TEST(test_layer_norm_grad_options),
        VKF_OPS_TEST(test_layer_norm_grad_of_long_and_of_many_rows),
        VKF_OPS_TEST(test_layer_norm_grad_of_offset_data),
        VKF_OPS_TEST(test_layer_norm_grad_in_place),
        VKF_OPS_TEST(test_layer_norm_grad_of_rows_that_do_not_count),
        VKF_OPS_TEST(test_layer_norm_grad_of_constant_rows),
        VKF_OPS_TEST(test_layer_norm_grad_is_equal_every_time),
        VKF_OPS_TEST(test_layer_norm_grad_of_no_rows),
        VKF_OPS_TEST(test_layer_norm_grad_beyond_the_range_is_refused),
    };
    return cmocka_run_group_tests_name("op_layer_norm_grad", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
