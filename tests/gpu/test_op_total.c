// Sums of tensors and of their squares against the reference: sizes about the workgroups' and the parts', slots beside
// each other, accumulation, slices, and what is no number.
//
// Bounds. An invocation adds up at most 8 + VKF_TOTAL_PART / 64 / 8 numbers one after the other, then come the tree of
// a workgroup and the sums of the parts, fewer than those of a part: less than 100 roundings of 2^-24 of the sum of
// magnitudes, which for squares is the sum itself.
#include <math.h>
#include <stdlib.h>

#include "op/run_once.h"
#include "op/total.h"
#include "reference/reference.h"
#include "shared/total.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define ROUNDINGS (100 * 0x1p-24)

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_total(work, args);
}

static vkf__total_args args_of(const vkf_test_operand *x, vkf__span out, bool squares)
{
    return (vkf__total_args){
        .label = "total", .x = SPAN(x), .out = out, .count = (uint32_t)x->count, .squares = squares, .factor = 1};
}

static void run(vkf_test_ops *ops, const vkf__total_args *args)
{
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "total", emit, args), "total");
}

static double magnitudes(const vkf_test_operand *x)
{
    double sum = 0;
    for (size_t i = 0; i < x->count; i++)
        sum += fabs((double)x->values[i]);
    return sum;
}

// Into the middle of three slots; the others stay as they are.
static void check(vkf_test_ops *ops, uint32_t count, bool squares)
{
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0.125f, 1, SHAPE(count));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3));
    const vkf__span slots = SPAN(out);
    vkf__total_args args = args_of(x, vkf__span_part(&slots, 1, 1), squares);
    args.factor = 0.5f;
    run(ops, &args);
    vkf_test_download(ops, out);
    const float expected[3] = {VKF_TEST_UNTOUCHED, (float)(0.5 * vkf__ref_total(count, x->values, squares)),
                               VKF_TEST_UNTOUCHED};
    assert_close(out->values, expected, 3, squares ? 0 : ROUNDINGS * magnitudes(x), ROUNDINGS,
                 vkf_test_label(&ops->gpu, "total of %u%s", count, squares ? " squares" : ""));
    vkf_test_ops_reset(ops);
}

static void test_total_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t counts[] = {1,    2,    3,    63,   64,    65,    511,   512,   513,
                                      1021, 2047, 2048, 2049, 16383, 16384, 16385, 65537, 1000003};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        check(ops, counts[i], false);
        check(ops, counts[i], true);
    }
}

// What was there is not read, unless it is added to.
static void test_total_accumulates(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float before[2] = {NAN, 3}, after[2] = {16390, 3 + 16390};
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(16390));
    vkf_test_operand *out = vkf_test_values(ops, VKF_DTYPE_F32, before, SHAPE(2));
    const vkf__span slots = SPAN(out);
    for (uint32_t i = 0; i < 2; i++) {
        vkf__total_args args = args_of(x, vkf__span_part(&slots, i, 1), false);
        args.accumulate = i == 1;
        run(ops, &args);
    }
    vkf_test_download(ops, out);
    assert_close(out->values, after, 2, 0, 0, "accumulated totals");
}

// Wherever it stands, a number that is none is in the sum.
static void test_total_shows_what_is_no_number(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const size_t places[] = {0, 1000, 16383, 16384, 20000};
    static const float values[] = {NAN, INFINITY, 1e30f};
    for (size_t i = 0; i < COUNT_OF(places) * COUNT_OF(values); i++) {
        const float value = values[i % COUNT_OF(values)];
        vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(20001));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1));
        x->values[places[i / COUNT_OF(values)]] = value;
        vkf_test_upload(ops, x);
        const vkf__total_args args = args_of(x, SPAN(out), true);
        run(ops, &args);
        vkf_test_download(ops, out);
        const float expected = value * value;
        assert_close(out->values, &expected, 1, 0, 0, vkf_test_label(&ops->gpu, "squares with %g", (double)value));
        vkf_test_ops_reset(ops);
    }
}

static void test_total_of_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(5));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1));
    vkf__total_args args = args_of(x, SPAN(out), false);
    args.count = 0;
    run(ops, &args);
    vkf_test_assert_untouched(ops, out);
}

static float total_on(vkf_test_ops *ops, const float *values, uint32_t count)
{
    vkf_test_operand *x = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(count));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1));
    const vkf__total_args args = args_of(x, SPAN(out), true);
    run(ops, &args);
    vkf_test_download(ops, out);
    return out->values[0];
}

// In every run, and in slices of one part each.
static void test_total_keeps_its_order(void **state)
{
    static const char *const small_range[] = {"maxStorageBufferRange=131072"};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_ops small;
    assert_true(vkf_test_ops_open(&small, small_range, 1));
    const uint32_t count = 3 * VKF_TOTAL_PART + 77;
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(count));
    const float first = total_on(ops, x->values, count);
    assert_true(total_on(ops, x->values, count) == first);
    assert_true(total_on(&small, x->values, count) == first);
    vkf_test_ops_close(&small);
}

static void run_with(vkf_test_ops *ops, vkf__work *work, vkf__submission *submission, vkf__total_args *args,
                     const float *values, vkf_test_operand *out)
{
    const float before = 77, expected = args->count == 0 ? before : (float)vkf__ref_total(args->count, values, true);
    out->values[0] = before;
    vkf_test_upload(ops, out);
    vkf_test_assert_ok(ops, vkf__work_update(work, emit, args), "update");
    vkf_test_assert_ok(ops, vkf__submission_run(submission, &work->built.command_buffer, 1), "run");
    vkf_test_download(ops, out);
    assert_close(out->values, &expected, 1, 0, ROUNDINGS, vkf_test_label(&ops->gpu, "total of %u", args->count));
}

// Planned for five parts, and run with fewer or none.
static void test_total_of_fewer_than_planned(void **state)
{
    static const uint32_t counts[] = {5 * VKF_TOTAL_PART, 1, 3 * VKF_TOTAL_PART, 0, VKF_TOTAL_PART + 1, 100};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(counts[0]));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1));
    vkf__total_args args = args_of(x, SPAN(out), true);
    vkf__work work;
    vkf__submission submission = {0};
    vkf_buffer *arena = NULL;
    vkf__work_init(&work, ops->gpu.context, "total");
    vkf_test_assert_ok(ops, vkf__work_plan_proven(&work, emit, &args), "plan");
    vkf_test_assert_ok(
        ops, vkf__buffer_create(&ops->gpu.context->transfer, VKF_MEMORY_DEVICE, work.plan.arena_bytes, "total", &arena),
        "parts");
    vkf_test_assert_ok(ops, vkf__work_build(&work, arena, emit, &args), "build");
    vkf_test_assert_ok(ops, vkf__submission_init(&submission, &ops->gpu.context->device, "total"), "submission");
    vkf_test_assert_ok(ops, vkf__work_record_own(&work, &submission), "record");
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        args.count = counts[i];
        run_with(ops, &work, &submission, &args, x->values, out);
    }
    vkf__work_finish(&work);
    vkf__submission_finish(&submission);
    vkf__buffer_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_total_sizes),
        VKF_OPS_TEST(test_total_accumulates),
        VKF_OPS_TEST(test_total_shows_what_is_no_number),
        VKF_OPS_TEST(test_total_of_nothing),
        VKF_OPS_TEST(test_total_keeps_its_order),
        VKF_OPS_TEST(test_total_of_fewer_than_planned),
    };
    return cmocka_run_group_tests_name("op_total", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
