// Operators on rows beside what their cases try: runs of no rows and of fewer than planned, the same bits in every run,
// what is too large, and whoever takes several dispatches.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/gate.h"
#include "op/operators.h"
#include "op/rotary.h"
#include "op/run_once.h"
#include "op/sample.h"
#include "op/top.h"
#include "op/train/clip.h"
#include "op/train/column_sum.h"
#include "op/train/cross_entropy.h"
#include "op/train/layer_norm_grad.h"
#include "op/train/norm_gradients.h"
#include "op/train/softmax_grad.h"
#include "op/train/total.h"
#include "shared/norm_gradients.h"
#include "shared/total.h"
#include "support/op_fixture.h"
#include "support/run_resized.h"
#include "support/taken_kernel.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

// Operands that each of the operators takes some of, and the arguments that it makes of them.
typedef struct rows_case {
    vkf_test_operand *x, *y, *weight, *stats, *labels;
    vkf_test_operand *out; // (rows, cols)
    vkf_test_operand *few; // (2, rows)
    vkf_test_operand *ids; // (rows)
    uint32_t rows, cols;
    union {
        vkf__gate_args gate;
        vkf__rotary_args rotary;
        vkf__softmax_grad_args softmax_grad;
        vkf__layer_norm_grad_args layer_norm_grad;
        vkf__norm_gradients_args norm_gradients;
        vkf__column_sum_args column_sum;
        vkf__cross_entropy_args cross_entropy;
        vkf__total_args total;
        vkf__clip_args clip;
        vkf__sample_args sample;
        vkf__top_args top;
    } args;
} rows_case;

static rows_case make(vkf_test_ops *ops, uint32_t rows, uint32_t cols)
{
    int32_t *labels = calloc(rows, sizeof *labels);
    assert_non_null(labels);
    for (uint32_t row = 0; row < rows; row++)
        labels[row] = row % 5 == 4 ? -100 : (int32_t)(row * 7919 % cols);
    const rows_case c = {
        .x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(rows, cols)),
        .y = vkf_test_normal(ops, VKF_DTYPE_F32, 0.25f, 1, SHAPE(rows, cols)),
        .weight = vkf_test_uniform(ops, VKF_DTYPE_F32, 0.5f, 1.5f, SHAPE(cols)),
        .stats = vkf_test_uniform(ops, VKF_DTYPE_F32, 0.5f, 1.5f, SHAPE(rows, 2)),
        .labels = vkf_test_ids(ops, labels, SHAPE(rows)),
        .out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(rows, cols)),
        .few = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, cols > rows ? cols : rows)),
        .ids = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(rows)),
        .rows = rows,
        .cols = cols,
    };
    free(labels);
    return c;
}

static void of_gate(rows_case *c)
{
    c->args.gate = (vkf__gate_args){"gate", SPAN(c->x), SPAN(c->out), 0, c->rows, c->cols / 2, VKF_ACTIVATION_SILU};
}

static void of_rotary(rows_case *c)
{
    c->args.rotary = (vkf__rotary_args){
        .label = "rotary",
        .x = SPAN(c->x),
        .out = SPAN(c->out),
        .batch = c->rows,
        .len = 1,
        .k_heads = 1,
        .head_dim = c->cols,
        .x_batch = c->cols,
        .x_row = c->cols,
        .out_batch = c->cols,
        .out_row = c->cols,
    };
}

static void of_softmax_grad(rows_case *c)
{
    c->args.softmax_grad =
        (vkf__softmax_grad_args){"softmax_grad", SPAN(c->x), SPAN(c->y), SPAN(c->out), c->rows, c->cols, 0.5f};
}

static void of_layer_norm_grad(rows_case *c)
{
    c->args.layer_norm_grad = (vkf__layer_norm_grad_args){
        .label = "layer_norm_grad",
        .x = SPAN(c->x),
        .weight = SPAN(c->weight),
        .dout = SPAN(c->y),
        .dx = SPAN(c->out),
        .stats = SPAN(c->few),
        .rows = c->rows,
        .dim = c->cols,
        .eps = 1e-5f,
    };
}

static void of_norm_gradients(rows_case *c)
{
    const vkf__span few = SPAN(c->few);
    c->args.norm_gradients = (vkf__norm_gradients_args){
        .label = "norm_gradients",
        .x = SPAN(c->x),
        .weight = SPAN(c->weight),
        .dout = SPAN(c->y),
        .dx = SPAN(c->out),
        .dweight = {vkf__span_part(&few, 0, c->cols), false},
        .dbias = {vkf__span_part(&few, c->cols, c->cols), false},
        .rows = c->rows,
        .dim = c->cols,
        .eps = 1e-5f,
    };
}

static void of_column_sum(rows_case *c)
{
    c->args.column_sum = (vkf__column_sum_args){
        .label = "column_sum",
        .x = SPAN(c->y),
        .out = SPAN(c->few),
        .normed = SPAN(c->x),
        .stats = SPAN(c->stats),
        .rows = c->rows,
        .cols = c->cols,
    };
}

static void of_cross_entropy(rows_case *c)
{
    c->args.cross_entropy = (vkf__cross_entropy_args){
        "loss", SPAN(c->x), SPAN(c->labels), SPAN(c->few), SPAN(c->out), c->rows, c->cols, -100, 0.125f, 1};
}

static void of_total(rows_case *c)
{
    c->args.total = (vkf__total_args){
        .label = "total", .x = SPAN(c->x), .out = SPAN(c->few), .count = c->rows * c->cols, .factor = 1};
}

static void of_clip(rows_case *c)
{
    c->args.clip = (vkf__clip_args){"clip", SPAN(c->stats), SPAN(c->few), 2 * c->rows, 1, 1};
}

static void of_sample(rows_case *c)
{
    c->args.sample = (vkf__sample_args){
        .label = "sample",
        .x = SPAN(c->x),
        .out = SPAN(c->ids),
        .rows = c->rows,
        .cols = c->cols,
        .out_stride = 1,
        .temperature = 1,
        .top_p = 1,
        .repetition_penalty = 1,
    };
}

static void of_top(rows_case *c)
{
    c->args.top =
        (vkf__top_args){.label = "top", .x = SPAN(c->x), .out = SPAN(c->out), .rows = c->rows, .cols = c->cols, .k = 1};
}

static const struct {
    vkf__op op;
    void (*of)(rows_case *c);
    bool by_rows; // refused where the rows together are beyond what the device binds
} OPERATORS[] = {
    {VKF_OP_GATE, of_gate, false},
    {VKF_OP_ROTARY, of_rotary, false},
    {VKF_OP_SOFTMAX_GRAD, of_softmax_grad, true},
    {VKF_OP_LAYER_NORM_GRAD, of_layer_norm_grad, true},
    {VKF_OP_NORM_GRADIENTS, of_norm_gradients, true},
    {VKF_OP_COLUMN_SUM, of_column_sum, true},
    {VKF_OP_CROSS_ENTROPY, of_cross_entropy, true},
    {VKF_OP_TOTAL, of_total, false},
    {VKF_OP_CLIP, of_clip, false},
    {VKF_OP_SAMPLE, of_sample, false},
    {VKF_OP_TOP, of_top, false},
};

static vkf_status run(vkf_test_ops *ops, vkf__op op, const rows_case *c)
{
    return vkf__run_once(ops->gpu.context, vkf__op_name(op), vkf__operator(op)->emit, &c->args);
}

static void test_runs_of_no_rows_write_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(OPERATORS); i++) {
        const char *name = vkf__op_name(OPERATORS[i].op);
        rows_case c = make(ops, 2, 8), planned = c;
        c.rows = 0;
        OPERATORS[i].of(&planned);
        OPERATORS[i].of(&c);
        vkf_test_assert_ok(
            ops,
            vkf_test_run_resized(ops->gpu.context, name, vkf__operator(OPERATORS[i].op)->emit, &planned.args, &c.args),
            name);
        vkf_test_assert_untouched(ops, c.out);
        vkf_test_assert_untouched(ops, c.few);
        vkf_test_assert_untouched(ops, c.ids);
        vkf_test_ops_reset(ops);
    }
}

static void test_results_are_the_same_in_every_run(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(OPERATORS); i++) {
        rows_case c = make(ops, 301, 67), again = c;
        again.out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(301, 67));
        again.few = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 301));
        again.ids = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(301));
        rows_case *runs[] = {&c, &again};
        for (size_t k = 0; k < 2; k++) {
            OPERATORS[i].of(runs[k]);
            vkf_test_assert_ok(ops, run(ops, OPERATORS[i].op, runs[k]), vkf__op_name(OPERATORS[i].op));
            vkf_test_download(ops, runs[k]->out);
            vkf_test_download(ops, runs[k]->few);
            vkf_test_download(ops, runs[k]->ids);
        }
        assert_memory_equal(c.out->values, again.out->values, c.out->count * sizeof(float));
        assert_memory_equal(c.few->values, again.few->values, c.few->count * sizeof(float));
        assert_memory_equal(c.ids->ids, again.ids->ids, c.ids->count * sizeof(int32_t));
        vkf_test_ops_reset(ops);
    }
}

static void test_rows_beyond_the_range_are_refused(void **state)
{
    static const char *const SMALL_RANGE[] = {"maxStorageBufferRange=65536"};
    vkf_test_ops small;
    (void)vkf_test_ops_of(state);
    assert_true(vkf_test_ops_open(&small, SMALL_RANGE, 1));
    for (size_t i = 0; i < COUNT_OF(OPERATORS); i++) {
        rows_case c = make(&small, 200, 100);
        if (!OPERATORS[i].by_rows)
            continue;
        OPERATORS[i].of(&c);
        vkf_test_assert_refused(&small, run(&small, OPERATORS[i].op, &c), VKF_ERROR_TOO_LARGE, "80,000 bytes");
        vkf_test_ops_reset(&small);
    }
    vkf_test_ops_close(&small);
}

static void test_what_is_too_large_is_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const struct {
        vkf__op op;
        void (*of)(rows_case *c);
        uint32_t rows, cols;
    } large[] = {
        {VKF_OP_SAMPLE, of_sample, 2, (1u << 24) + 1},
        {VKF_OP_TOP, of_top, 2, (1u << 24) + 1},
        {VKF_OP_CROSS_ENTROPY, of_cross_entropy, 1, (1u << 24) + 1},
        {VKF_OP_CROSS_ENTROPY, of_cross_entropy, 257, 1u << 24},
        {VKF_OP_CLIP, of_clip, (1u << 19) + 1, 8},
    };
    for (size_t i = 0; i < COUNT_OF(large); i++) {
        rows_case c = make(ops, 2, 8);
        c.rows = large[i].rows;
        c.cols = large[i].cols;
        large[i].of(&c);
        vkf_test_assert_refused(ops, run(ops, large[i].op, &c), VKF_ERROR_TOO_LARGE, vkf__op_name(large[i].op));
        vkf_test_assert_untouched(ops, c.out);
    }
    rows_case c = make(ops, 2, 8);
    of_rotary(&c);
    c.args.rotary.batch = c.args.rotary.len = 1u << 16;
    vkf_test_assert_refused(ops, run(ops, VKF_OP_ROTARY, &c), VKF_ERROR_TOO_LARGE, "2^32");
}

// Sums over 2000 rows as planned go by larger groups than fewer rows would take, so that they are rounded otherwise:
// as magnitudes of 8 at most, (19 + 17) * 2^-24 * 8 * 2000 = 0.035.
static void test_fewer_rows_than_planned(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t rows[] = {1, 40, 41, 62, 63, 64, 1999, 2000};
    for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
        const vkf__op op = i % 2 ? VKF_OP_COLUMN_SUM : VKF_OP_NORM_GRADIENTS;
        rows_case planned = make(ops, 2000, 33), fewer = planned, own = planned;
        own.out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2000, 33));
        own.few = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 2000));
        fewer.rows = own.rows = rows[i / 2];
        rows_case *all[] = {&planned, &fewer, &own};
        for (size_t k = 0; k < 3; k++)
            (i % 2 ? of_column_sum : of_norm_gradients)(all[k]);
        vkf_test_assert_ok(ops,
                           vkf_test_run_resized(ops->gpu.context, vkf__op_name(op), vkf__operator(op)->emit,
                                                &planned.args, &fewer.args),
                           vkf__op_name(op));
        vkf_test_assert_ok(ops, run(ops, op, &own), vkf__op_name(op));
        vkf_test_operand *outputs[] = {fewer.out, fewer.few, own.out, own.few};
        for (size_t k = 0; k < COUNT_OF(outputs); k++)
            vkf_test_download(ops, outputs[k]);
        const char *label = vkf_test_label(&ops->gpu, "%s of %u rows of 2000", vkf__op_name(op), own.rows);
        assert_close(fewer.out->values, own.out->values, own.out->count, 1e-5, 1e-6, label);
        assert_close(fewer.few->values, own.few->values, own.few->count, own.rows * 2e-5, 0, label);
        vkf_test_ops_reset(ops);
    }
}

// Each gradient is what it is when all are wanted, whoever gives it: a pass over the rows, or one pass for each.
static void test_norm_gradients_each_wanted_or_not(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = 1; kind < 16; kind++) {
        rows_case all = make(ops, 70, 37), some = all;
        if (kind == 7 || kind == 15) // nothing is wanted
            continue;
        if (kind & 8)
            all.weight = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(37));
        some.out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(70, 37));
        some.few = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 70));
        of_norm_gradients(&all);
        of_norm_gradients(&some);
        vkf__norm_gradients_args *args = &some.args.norm_gradients;
        vkf__span *unwanted[] = {&args->dx, &args->dweight.out, &args->dbias.out, &args->weight};
        for (int bit = 0; bit < 4; bit++)
            if (kind >> bit & 1)
                *unwanted[bit] = (vkf__span){0};
        vkf_test_assert_ok(ops, run(ops, VKF_OP_NORM_GRADIENTS, &all), "norm_gradients");
        vkf_test_assert_ok(ops, run(ops, VKF_OP_NORM_GRADIENTS, &some), "norm_gradients");
        vkf_test_operand *outputs[] = {all.out, all.few, some.out, some.few};
        for (size_t k = 0; k < COUNT_OF(outputs); k++)
            vkf_test_download(ops, outputs[k]);
        for (size_t k = 0; k < all.out->count && (kind & 1); k++)
            all.out->values[k] = VKF_TEST_UNTOUCHED;
        for (size_t k = 0; k < 74; k++)
            if (kind & (k < 37 ? 2 : 4))
                all.few->values[k] = VKF_TEST_UNTOUCHED;
        const char *label = vkf_test_label(&ops->gpu, "norm_gradients, all but %d", kind);
        assert_close(some.out->values, all.out->values, all.out->count, 2e-5, 1e-5, label);
        assert_close(some.few->values, all.few->values, all.few->count, 1e-4, 1e-5, label);
        vkf_test_ops_reset(ops);
    }
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
        rows_case c = make(ops, 4, (most > 0 ? most : 1) + i);
        of_norm_gradients(&c);
        vkf_test_watch_kernels(ops->gpu.context, VKF_OP_NORM_GRADIENTS);
        vkf_test_assert_ok(ops, run(ops, VKF_OP_NORM_GRADIENTS, &c), "norm_gradients");
        const bool taken = vkf_test_taken_variant().kernel != NULL;
        vkf_test_unwatch_kernels(ops->gpu.context);
        assert_true(taken == (holds && i == 0));
    }
}

// More rows than one dimension of a grid holds, each turned by a right angle.
static void test_rotary_of_many_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { BATCH = 2, LEN = 1200, HEADS = 30, DIM = 6, COUNT = BATCH * LEN * HEADS * DIM };
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(BATCH, LEN, HEADS * DIM));
    vkf_test_operand *table = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(LEN, DIM));
    float *expected = vkf_test_floats(COUNT);
    for (size_t i = 0; i < table->count; i++)
        table->values[i] = i % DIM < DIM / 2 ? 0 : 1;
    vkf_test_upload(ops, table);
    for (size_t i = 0; i < COUNT; i++)
        expected[i] = i % DIM < DIM / 2 ? -x->values[i + DIM / 2] : x->values[i - DIM / 2];
    const vkf__rotary_args args = {
        .label = "rotary",
        .x = SPAN(x),
        .table = SPAN(table),
        .batch = BATCH,
        .len = LEN,
        .q_heads = HEADS,
        .head_dim = DIM,
        .rotary_dim = DIM,
        .x_batch = LEN * HEADS * DIM,
        .x_row = HEADS * DIM,
    };
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "rotary", vkf__operator(VKF_OP_ROTARY)->emit, &args),
                       "rotary");
    vkf_test_download(ops, x);
    assert_close(x->values, expected, COUNT, 0, 0, vkf_test_label(&ops->gpu, "rotary of 72,000 rows"));
    free(expected);
}

static float total_on(vkf_test_ops *ops, const float *values, uint32_t count)
{
    vkf_test_operand *x = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(count));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1));
    const vkf__total_args args = {.label = "total", .x = SPAN(x), .out = SPAN(out), .count = count, .factor = 1};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "total", vkf__operator(VKF_OP_TOTAL)->emit, &args),
                       "total");
    vkf_test_download(ops, out);
    return out->values[0];
}

static void test_total_keeps_its_order_in_slices(void **state)
{
    static const char *const small_range[] = {"maxStorageBufferRange=131072"};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_ops small;
    assert_true(vkf_test_ops_open(&small, small_range, 1));
    const uint32_t count = 3 * VKF_TOTAL_PART + 77;
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(count));
    assert_true(total_on(ops, x->values, count) == total_on(&small, x->values, count));
    vkf_test_ops_close(&small);
}

// Planned for five parts, and run with fewer or none. Ones have an exact sum.
static void test_total_of_fewer_than_planned(void **state)
{
    static const uint32_t counts[] = {5 * VKF_TOTAL_PART, 1, 3 * VKF_TOTAL_PART, 0, VKF_TOTAL_PART + 1, 100};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(counts[0]));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1));
        const vkf__total_args largest = {
            .label = "total", .x = SPAN(x), .out = SPAN(out), .count = counts[0], .factor = 1};
        vkf__total_args args = largest;
        args.count = counts[i];
        vkf_test_assert_ok(
            ops, vkf_test_run_resized(ops->gpu.context, "total", vkf__operator(VKF_OP_TOTAL)->emit, &largest, &args),
            "total");
        vkf_test_download(ops, out);
        assert_true(out->values[0] == (counts[i] > 0 ? (float)counts[i] : VKF_TEST_UNTOUCHED));
        vkf_test_ops_reset(ops);
    }
}

static void test_labels_are_checked_and_counted(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { IGNORED = -100 };
    const int32_t good[] = {0, 9, IGNORED, 4}, bad[] = {IGNORED, 3, 10, -1}, negative[] = {1, -1};
    const vkf__host *host = &ops->gpu.context->host;
    uint32_t count = 77;
    assert_int_equal(vkf__check_labels(host, good, 4, 10, IGNORED, &count), VKF_OK);
    assert_int_equal(count, 3);
    vkf_test_assert_refused(ops, vkf__check_labels(host, bad, 4, 10, IGNORED, &count), VKF_ERROR_INVALID_ARGUMENT,
                            "labels[2] is 10");
    vkf_test_assert_refused(ops, vkf__check_labels(host, negative, 2, 10, 0, &count), VKF_ERROR_INVALID_ARGUMENT,
                            "labels[1] is -1");
    assert_int_equal(count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_runs_of_no_rows_write_nothing),
        VKF_OPS_TEST(test_results_are_the_same_in_every_run),
        VKF_OPS_TEST(test_rows_beyond_the_range_are_refused),
        VKF_OPS_TEST(test_what_is_too_large_is_refused),
        VKF_OPS_TEST(test_fewer_rows_than_planned),
        VKF_OPS_TEST(test_norm_gradients_each_wanted_or_not),
        VKF_OPS_TEST(test_norm_gradients_take_one_pass_where_rows_fit),
        VKF_OPS_TEST(test_rotary_of_many_rows),
        VKF_OPS_TEST(test_total_keeps_its_order_in_slices),
        VKF_OPS_TEST(test_total_of_fewer_than_planned),
        VKF_OPS_TEST(test_labels_are_checked_and_counted),
    };
    return cmocka_run_group_tests_name("op_rows", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
