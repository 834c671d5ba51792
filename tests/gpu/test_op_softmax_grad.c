// The gradient of softmax against the reference: lengths about those of a workgroup, masked columns, in place.
//
// Bounds. y is at most 1 and dout below 8 here. The sum of y * dout over a row is rounded by a part of 2^-24 for each
// of some twenty additions on its way, and so is its difference from dout: 8 * 24 * 2^-24 = 1.2e-5 of the factor, times
// y and the scale, which are below 1 each.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/run_once.h"
#include "op/softmax_grad.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define ATOL 1.2e-5
#define SCALE 0.125f

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_softmax_grad(work, args);
}

// Softmax of random scores, `masked` columns of each row hidden.
static vkf_test_operand *make_weights(vkf_test_ops *ops, uint32_t rows, uint32_t cols, uint32_t masked)
{
    const int32_t length = (int32_t)(cols - masked);
    vkf_test_operand *y = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(rows, cols));
    vkf__ref_softmax(&(vkf__ref_softmax_desc){
        .batch = 1,
        .heads = 1,
        .q_len = rows,
        .k_len = cols,
        .mask_cols = cols,
        .x = y->values,
        .out = y->values,
        .scale = 1,
        .key_mask_kind = VKF_MASK_LENGTHS,
        .key_mask = &length,
    });
    vkf_test_upload(ops, y);
    return y;
}

static void run(vkf_test_ops *ops, const vkf_test_operand *y, const vkf_test_operand *dout, vkf_test_operand *dx,
                uint32_t rows)
{
    const vkf__softmax_grad_args args = {"softmax_grad",     SPAN(y), SPAN(dout), SPAN(dx), rows,
                                         y->tensor.shape[1], SCALE};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "softmax_grad", emit, &args), "softmax_grad");
}

// dx may be dout or y.
static void check(vkf_test_ops *ops, vkf_test_operand *y, vkf_test_operand *dout, vkf_test_operand *dx)
{
    const uint32_t rows = y->tensor.shape[0], cols = y->tensor.shape[1];
    float *expected = vkf_test_floats(y->count);
    vkf__ref_softmax_grad(rows, cols, SCALE, y->values, dout->values, expected);
    run(ops, y, dout, dx, rows);
    vkf_test_download(ops, dx);
    assert_close(dx->values, expected, dx->count, ATOL * (double)SCALE, 0,
                 vkf_test_label(&ops->gpu, "softmax_grad of %u x %u", rows, cols));
    free(expected);
    vkf_test_ops_reset(ops);
}

// About the workgroups of 16, 64 and 256 invocations, which take 8 columns each per iteration.
static void test_softmax_grad_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t cols[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1024, 2047, 2049};
    for (size_t i = 0; i < COUNT_OF(cols); i++) {
        const uint32_t rows = 1 + (uint32_t)i % 7;
        vkf_test_operand *y = make_weights(ops, rows, cols[i], cols[i] / 3);
        vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(rows, cols[i]));
        vkf_test_operand *apart = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(rows, cols[i]));
        check(ops, y, dout, i % 3 == 0 ? apart : i % 3 == 1 ? dout : y);
    }
}

static void test_softmax_grad_of_long_and_of_many_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t shapes[][2] = {{2, 100000}, {5003, 37}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const uint32_t rows = shapes[i][0], cols = shapes[i][1];
        vkf_test_operand *y = make_weights(ops, rows, cols, 1);
        vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(rows, cols));
        check(ops, y, dout, vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(rows, cols)));
    }
}

// One row with nothing left of it, and what is no number behind masks and in a row of its own.
static void test_softmax_grad_masked(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *y = make_weights(ops, 4, 70, 20);
    vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(4, 70));
    memset(y->values + 70, 0, 70 * sizeof(float));
    for (size_t i = 0; i < 4 * 70; i++)
        if (y->values[i] == 0)
            dout->values[i] = i % 2 ? NAN : INFINITY;
    dout->values[3 * 70 + 2] = NAN;
    vkf_test_upload(ops, y);
    vkf_test_upload(ops, dout);
    check(ops, y, dout, dout);
}

static void test_softmax_grad_is_equal_every_time(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *y = make_weights(ops, 9, 1501, 0);
    vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(9, 1501));
    vkf_test_operand *first = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(9, 1501));
    vkf_test_operand *second = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(9, 1501));
    run(ops, y, dout, first, 9);
    run(ops, y, dout, second, 9);
    vkf_test_download(ops, first);
    vkf_test_download(ops, second);
    assert_memory_equal(first->values, second->values, first->count * sizeof(float));
}

static void test_softmax_grad_of_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *y = make_weights(ops, 2, 8, 0);
    vkf_test_operand *dout = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8));
    vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 8));
    run(ops, y, dout, dx, 0);
    vkf_test_assert_untouched(ops, dx);
}

static void test_softmax_grad_beyond_the_range_is_refused(void **state)
{
    static const char *const SMALL_RANGE[] = {"maxStorageBufferRange=65536"};
    vkf_test_ops small;
    (void)vkf_test_ops_of(state);
    assert_true(vkf_test_ops_open(&small, SMALL_RANGE, 1));
    vkf_test_operand *y = vkf_test_constant(&small, VKF_DTYPE_F32, 0.01f, SHAPE(200, 100));
    vkf_test_operand *dx = vkf_test_output(&small, VKF_DTYPE_F32, SHAPE(200, 100));
    const vkf__softmax_grad_args args = {"softmax_grad", SPAN(y), SPAN(y), SPAN(dx), 200, 100, 1};
    vkf_test_assert_refused(&small, vkf__run_once(small.gpu.context, "softmax_grad", emit, &args), VKF_ERROR_TOO_LARGE,
                            "80,000 bytes");
    vkf_test_ops_close(&small);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_softmax_grad_sizes),      VKF_OPS_TEST(test_softmax_grad_of_long_and_of_many_rows),
        VKF_OPS_TEST(test_softmax_grad_masked),     VKF_OPS_TEST(test_softmax_grad_is_equal_every_time),
        VKF_OPS_TEST(test_softmax_grad_of_no_rows), VKF_OPS_TEST(test_softmax_grad_beyond_the_range_is_refused),
    };
    return cmocka_run_group_tests_name("op_softmax_grad", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
