// Which rows of b, (k, n), products read where they lie, as training has them, by kernels that are compiled for these.
// Rows that are no whole panels, begin elsewhere, lie far apart, or may change between runs are put into panels first.
#include "op/gemm.h"
#include "op/operators.h"
#include "support/op_fixture.h"
#include "support/taken_kernel.h"

static const char *const VARIANTS[] = {"gemm_address.f32_f32_f32/64x16", "gemm_address.f32_f32_f32/8x32x16"};

typedef struct rows_case {
    uint32_t m, n, k;
    uint32_t gap; // elements between rows of b
    bool movable;
    uint32_t dispatches;
} rows_case;

static const rows_case CASES[] = {
    {64, 96, 31, .dispatches = 1},
    {17, 32, 40, .gap = 4, .dispatches = 1},
    {64, 33, 31, .dispatches = 2},
    {64, 40, 16, .dispatches = 2},
    {32, 512, 16, .dispatches = 2},
    {64, 64, 31, .gap = 1, .dispatches = 2},
    {64, 96, 31, .movable = true, .dispatches = 2},
};

static void check(vkf_test_ops *ops, const rows_case *c)
{
    const uint32_t ldb = c->n + c->gap;
    const vkf__gemm_args args = {
        .label = "rows",
        .a = vkf__span_of(&vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(c->m, c->k))->tensor),
        .b = vkf__span_of(&vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(c->k, ldb))->tensor),
        .d = vkf__span_of(&vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(c->m, c->n))->tensor),
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .batch = 1,
        .lda = c->k,
        .ldb = ldb,
        .ldd = c->n,
        .alpha = 1,
        .fixed_rows = !c->movable,
    };
    vkf__work work;
    vkf__work_init(&work, ops->gpu.context, "rows");
    const vkf_status status = vkf__work_plan(&work, vkf__operator(VKF_OP_GEMM)->emit, &args);
    const uint32_t count = work.plan.node_count;
    vkf__work_finish(&work);
    vkf_test_assert_ok(ops, status, "plan");
    if (count != c->dispatches)
        fail_msg("%u x %u x %u, %u apart%s: %u dispatches", c->m, c->n, c->k, ldb, c->movable ? ", movable" : "",
                 count);
    vkf_test_ops_reset(ops);
}

static void test_rows_that_are_read_where_they_lie(void **state)
{
    const vkf_test_ops *device = vkf_test_ops_of(state);
    for (size_t v = 0; v < COUNT_OF(VARIANTS); v++) {
        vkf_test_ops ops;
        vkf_test_skip_unless_supported(device->gpu.context, VARIANTS[v]);
        if (!vkf_test_ops_open_variant(&ops, VARIANTS[v]))
            skip();
        ops.aligned = true;
        for (size_t i = 0; i < COUNT_OF(CASES); i++)
            check(&ops, &CASES[i]);
        vkf_test_ops_close(&ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_rows_that_are_read_where_they_lie),
    };
    return cmocka_run_group_tests_name("op_gemm_rows", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
