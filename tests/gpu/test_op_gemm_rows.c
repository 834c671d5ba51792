// Products with rows of b, (k, n), that kernels are compiled for, as training's have them: exact on integers, without
// putting b into panels first. Rows that are no whole panels, begin elsewhere, lie far apart, or may change between
// runs are put into panels.
#include <stdlib.h>

#include "op/gemm.h"
#include "op/run_once.h"
#include "support/op_fixture.h"
#include "support/reference.h"
#include "support/taken_kernel.h"

// Small ones: what is unrolled takes old compilers seconds.
static const char *const VARIANTS[] = {"gemm_address.f32_f32_f32/64x16", "gemm_address.f32_f32_f32/8x32x16"};

typedef struct rows_case {
    uint32_t m, n, k;
    uint32_t gap; // elements between rows of b
    bool transpose_a, adds, movable;
} rows_case;

typedef struct product {
    vkf_test_operand *a, *b, *d;
    vkf__gemm_args args;
} product;

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gemm(work, args);
}

static product make(vkf_test_ops *ops, const rows_case *c)
{
    const uint32_t ldb = c->n + c->gap, lda = c->transpose_a ? c->m : c->k;
    product p = {
        .a = vkf_test_integers(ops, VKF_DTYPE_F32, -3, 3, SHAPE(c->transpose_a ? c->k : c->m, lda)),
        .b = vkf_test_integers(ops, VKF_DTYPE_F32, -3, 3, SHAPE(c->k, ldb)),
        .d = vkf_test_integers(ops, VKF_DTYPE_F32, -3, 3, SHAPE(c->m, c->n)),
    };
    p.args = (vkf__gemm_args){
        .label = "rows",
        .a = vkf__span_of(&p.a->tensor),
        .b = vkf__span_of(&p.b->tensor),
        .d = vkf__span_of(&p.d->tensor),
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .batch = 1,
        .lda = lda,
        .ldb = ldb,
        .ldd = c->n,
        .transpose_a = c->transpose_a,
        .alpha = 1,
        .beta = c->adds ? 1.0f : 0.0f,
        .fixed_rows = !c->movable,
    };
    return p;
}

static float *expect(const rows_case *c, const product *p)
{
    float *expected = vkf_test_floats(p->d->count);
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .batch = 1,
        .a = p->a->values,
        .b = p->b->values,
        .c = c->adds ? p->d->values : NULL,
        .out = expected,
        .b_layout = {.row = p->args.ldb},
        .transpose_a = c->transpose_a,
        .alpha = 1,
        .beta = c->adds ? 1.0f : 0.0f,
    });
    return expected;
}

static uint32_t dispatches_of(vkf_test_ops *ops, const product *p)
{
    vkf__work work;
    vkf__work_init(&work, ops->gpu.context, "rows");
    const vkf_status status = vkf__work_plan(&work, emit, &p->args);
    const uint32_t count = work.plan.node_count;
    vkf__work_finish(&work);
    vkf_test_assert_ok(ops, status, "plan");
    return count;
}

static void check(vkf_test_ops *ops, const rows_case *c, uint32_t dispatches)
{
    const product p = make(ops, c);
    float *expected = expect(c, &p);
    const char *label =
        vkf_test_label(&ops->gpu, "%u x %u x %u, %u apart%s%s%s", c->m, c->n, c->k, c->n + c->gap,
                       c->transpose_a ? ", a^T" : "", c->adds ? ", added" : "", c->movable ? ", movable" : "");
    if (dispatches_of(ops, &p) != dispatches)
        fail_msg("%s: %u dispatches, not %u", label, dispatches_of(ops, &p), dispatches);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "rows", emit, &p.args), label);
    vkf_test_download(ops, p.d);
    assert_close(p.d->values, expected, p.d->count, 0, 0, label);
    free(expected);
    vkf_test_ops_reset(ops);
}

static void check_all(void **state, const rows_case *cases, size_t count, uint32_t dispatches)
{
    const vkf_test_ops *device = vkf_test_ops_of(state);
    for (size_t v = 0; v < COUNT_OF(VARIANTS); v++) {
        vkf_test_ops ops;
        vkf_test_skip_unless_supported(device->gpu.context, VARIANTS[v]);
        if (!vkf_test_ops_open_variant(&ops, VARIANTS[v]))
            skip();
        ops.aligned = true;
        for (size_t i = 0; i < count; i++)
            check(&ops, &cases[i], dispatches);
        vkf_test_ops_close(&ops);
    }
}

static void test_rows_are_read_where_they_lie(void **state)
{
    static const rows_case cases[] = {
        {.m = 1, .n = 32, .k = 1},
        {.m = 63, .n = 32, .k = 7, .adds = true},
        {.m = 64, .n = 96, .k = 31},
        {.m = 65, .n = 96, .k = 64},
        {.m = 130, .n = 96, .k = 100, .transpose_a = true},
        {.m = 33, .n = 96, .k = 129, .transpose_a = true, .adds = true},
        {.m = 17, .n = 32, .k = 40, .gap = 4},
    };
    check_all(state, cases, COUNT_OF(cases), 1);
}

static void test_other_rows_are_packed(void **state)
{
    static const rows_case cases[] = {
        {.m = 64, .n = 33, .k = 31},
        {.m = 64, .n = 40, .k = 16},
        {.m = 32, .n = 512, .k = 16},
        {.m = 64, .n = 64, .k = 31, .gap = 1},
        {.m = 64, .n = 96, .k = 31, .movable = true},
    };
    check_all(state, cases, COUNT_OF(cases), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_rows_are_read_where_they_lie),
        VKF_OPS_TEST(test_other_rows_are_packed),
    };
    return cmocka_run_group_tests_name("op_gemm_rows", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
