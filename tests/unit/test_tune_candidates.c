// Which variants the tuner would measure, on devices written by hand.
#include "kernel/ladder.h"
#include "kernel/tune_candidates.h"
#include "shared/gemm.h"

#include "caps_fixture.h"

static const vkf_dtype fff[] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
static const vkf__problem rows = {.m = 100, .n = 128, .k = 64, .b_layout = VKF_GEMM_B_NK};

typedef struct list {
    vkf__candidate *items;
    size_t count;
} list;

static list candidates(const vkf__selector *selector, vkf__op op, const vkf__problem *problem)
{
    message_record record;
    const vkf__host host = recording_host(&record);
    list l = {0};
    assert_int_equal(vkf__tune_candidates(&host, selector, op, fff, problem, &l.items, &l.count), VKF_OK);
    return l;
}

static void release(list *l)
{
    message_record record;
    const vkf__host host = recording_host(&record);
    vkf__free(&host, l->items);
}

static const vkf__candidate *find(const list *l, const char *kernel, const char *config)
{
    for (size_t i = 0; i < l->count; i++) {
        if (strcmp(l->items[i].variant.kernel->name, kernel) == 0 &&
            strcmp(l->items[i].variant.config->name, config) == 0)
            return &l->items[i];
    }
    fail_msg("%s/%s is not in the list", kernel, config);
    return NULL;
}

static const vkf_dtype half[] = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16};

static void test_candidates_are_every_variant_with_a_reason(void **state)
{
    (void)state;
    const vkf__caps caps = discrete_caps();
    const vkf__selector selector = {.caps = &caps};
    list l = candidates(&selector, VKF_OP_GEMM, &rows);
    assert_true(l.count >= 3);
    for (size_t i = 0; i < l.count; i++) {
        assert_non_null(l.items[i].why);
        assert_int_equal(l.items[i].variant.kernel->op, VKF_OP_GEMM);
        assert_int_equal(strcmp(l.items[i].why, "usable") == 0, l.items[i].taken);
    }
    assert_true(find(&l, "gemm_tile.f32_f32_f32", "large")->taken);
    assert_true(find(&l, "gemm_tile.f32_f32_f32", "large")->shared_bytes > 0);
    // 100 rows are too many for it.
    assert_false(find(&l, "gemm_tile.f32_f32_f32", "thin")->taken);
    release(&l);
}

// Kernels that sum in f16 are measured where the precision allows it, wherever the ladder has them.
static void test_candidates_sum_in_f16_where_allowed_alone(void **state)
{
    (void)state;
    message_record record;
    const vkf__host host = recording_host(&record);
    const vkf__caps caps = discrete_caps();
    const vkf__selector selector = {.caps = &caps};
    for (vkf_precision precision = 0; precision < VKF_PRECISION_COUNT; precision++) {
        list l = {0};
        vkf__problem problem = rows;
        problem.precision = precision;
        assert_int_equal(vkf__tune_candidates(&host, &selector, VKF_OP_GEMM, half, &problem, &l.items, &l.count),
                         VKF_OK);
        const vkf__candidate *found = find(&l, "gemm_half.f16_f16_f16", "large");
        assert_int_equal(found->taken, precision == VKF_PRECISION_F16_SUMS);
        if (!found->taken)
            assert_non_null(strstr(found->why, "precision"));
        release(&l);
    }
}

// Kernels on matrices stand in the list of a device that has none, with the reason, and nothing asks for its shapes.
// Whether a kernel that rounds rows is measured.
static bool measures_rounding(const vkf__caps *caps, uint32_t m)
{
    static const vkf_dtype types[] = {VKF_DTYPE_F16, VKF_DTYPE_Q4, VKF_DTYPE_F16};
    const vkf__problem few = {.m = m, .n = 512, .k = 2048, .b_layout = VKF_GEMM_B_PANELS, .offers = VKF_FORM_QUADS};
    const vkf__selector selector = {.caps = caps};
    message_record record;
    const vkf__host host = recording_host(&record);
    list l = {0};
    assert_int_equal(vkf__tune_candidates(&host, &selector, VKF_OP_GEMM, types, &few, &l.items, &l.count), VKF_OK);
    const bool taken = find(&l, "gemm_dot_rounds.f16_q4_f16", "rows2")->taken;
    release(&l);
    return taken;
}

static void test_candidates_round_rows_where_that_pays(void **state)
{
    (void)state;
    vkf__caps caps = discrete_caps();
    settle_traits(&caps);
    caps.traits.row_dot_depth_q4 = 2048;
    assert_true(measures_rounding(&caps, 1) && measures_rounding(&caps, 2));
    caps.traits.row_dot_depth_q4 = 2049;
    assert_true(!measures_rounding(&caps, 1) && measures_rounding(&caps, 2));
    caps.traits.integer_dot_units = false;
    assert_false(measures_rounding(&caps, 2));
}

static void test_candidates_without_matrices_leave_out_those_that_need_them(void **state)
{
    (void)state;
    message_record record;
    const vkf__host host = recording_host(&record);
    const vkf__caps caps = discrete_caps();
    const vkf__selector selector = {.caps = &caps};
    for (size_t i = 0; i < 2; i++) {
        list l = {0};
        assert_int_equal(vkf__tune_candidates(&host, &selector, i == 0 ? VKF_OP_GEMM : VKF_OP_ATTENTION, half, &rows,
                                              &l.items, &l.count),
                         VKF_OK);
        const vkf__candidate *matrix = i == 0 ? find(&l, "gemm_coopmat.f16_f16_f16", "64x64")
                                              : find(&l, "attention_coopmat.f16_f16_f16", "rows16");
        assert_false(matrix->taken);
        assert_int_equal(matrix->shared_bytes, 0);
        assert_non_null(strstr(matrix->why, "matrices"));
        release(&l);
    }
}

static void test_candidates_respect_limits_and_verdicts(void **state)
{
    (void)state;
    message_record record;
    const vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    vkf__verdicts verdicts = {0};
    const vkf__selector selector = {.caps = &caps, .verdicts = &verdicts};
    assert_int_equal(vkf__verdicts_init(&host, &verdicts), VKF_OK);
    caps.max_shared_memory_bytes = 1024;
    list l = candidates(&selector, VKF_OP_GEMM, &rows);
    const vkf__candidate *large = find(&l, "gemm_tile.f32_f32_f32", "large");
    assert_false(large->taken);
    assert_non_null(strstr(large->why, "shared memory"));
    const vkf__variant variant = large->variant;
    release(&l);
    caps = discrete_caps();
    vkf__verdict_set(&verdicts, variant.kernel, variant.config, VKF_VERDICT_WRONG);
    l = candidates(&selector, VKF_OP_GEMM, &rows);
    assert_false(find(&l, "gemm_tile.f32_f32_f32", "large")->taken);
    assert_non_null(strstr(find(&l, "gemm_tile.f32_f32_f32", "large")->why, "quarantined"));
    release(&l);
    vkf__verdicts_free(&verdicts);
}

static uint32_t step_of(const vkf__kernel *kernel, const vkf__caps *caps)
{
    return vkf__ladder_step_of(kernel, vkf__ladder_facts(caps, kernel->op, kernel->types, &rows));
}

// Time may run out: the default comes first, and no kernel a second time before every other was there.
static void test_candidates_come_in_the_best_order(void **state)
{
    (void)state;
    const vkf__caps caps = discrete_caps();
    const vkf__selector selector = {.caps = &caps};
    vkf__variant chosen;
    list l = candidates(&selector, VKF_OP_GEMM, &rows);
    uint32_t last_depth = 0, last_step = 0;
    assert_true(vkf__select(&selector, VKF_OP_GEMM, fff, &rows, &chosen, NULL));
    assert_ptr_equal(l.items[0].variant.kernel, chosen.kernel);
    assert_ptr_equal(l.items[0].variant.config, chosen.config);
    for (size_t i = 0; i < l.count && l.items[i].taken; i++) {
        const vkf__kernel *kernel = l.items[i].variant.kernel;
        uint32_t depth = 0, step = step_of(kernel, &caps);
        for (size_t before = 0; before < i; before++)
            depth += l.items[before].variant.kernel == kernel;
        assert_true(depth > last_depth || (depth == last_depth && step >= last_step));
        last_depth = depth;
        last_step = step;
    }
    release(&l);
}

// Kernels on matrices are listed with the reason why they are not taken, on a device without any and on one without
// those of bfloat16.
static void test_candidates_without_matrices(void **state)
{
    static const vkf_dtype types[][3] = {{VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16},
                                         {VKF_DTYPE_F32, VKF_DTYPE_BF16, VKF_DTYPE_F32}};
    static const char *const names[] = {"gemm_coopmat.f16_f16_f16", "gemm_coopmat.f32_bf16_f32"};
    message_record record;
    const vkf__host host = recording_host(&record);
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        vkf__caps caps = discrete_caps();
        const vkf__selector selector = {.caps = &caps};
        list l = {0};
        if (i == 1) {
            add_matrices(&caps, 16);
            caps.matrix.shape_count = 1;
        }
        assert_int_equal(vkf__tune_candidates(&host, &selector, VKF_OP_GEMM, types[i], &rows, &l.items, &l.count),
                         VKF_OK);
        const vkf__candidate *refused = find(&l, names[i], "64x64");
        assert_false(refused->taken);
        assert_int_equal(refused->shared_bytes, 0);
        release(&l);
    }
}

static void test_candidates_of_an_operator_without_any(void **state)
{
    (void)state;
    const vkf__caps caps = discrete_caps();
    const vkf__selector selector = {.caps = &caps};
    const vkf_dtype types[] = {VKF_DTYPE_BOOL, VKF_DTYPE_BOOL, VKF_DTYPE_BOOL};
    message_record record;
    const vkf__host host = recording_host(&record);
    vkf__candidate *items = NULL;
    size_t count = 7;
    assert_int_equal(vkf__tune_candidates(&host, &selector, VKF_OP_GEMM, types, &rows, &items, &count), VKF_OK);
    assert_int_equal(count, 0);
    assert_null(items);
}

static void test_candidates_that_compile_for_long_are_left_out(void **state)
{
    (void)state;
    const vkf__problem attention = {.m = 128, .n = 128, .k = 64, .offers = VKF_FORM_QUADS},
                       thin = {.m = 128, .n = 128, .k = 8};
    vkf__caps caps = cpu_caps();
    const vkf__selector selector = {.caps = &caps};
    list l = candidates(&selector, VKF_OP_ATTENTION, &attention);
    assert_false(find(&l, "attention_address.f32_f32_f32", "q1k16")->taken);
    assert_non_null(strstr(find(&l, "attention_address.f32_f32_f32", "q1k16")->why, "compile"));
    assert_true(find(&l, "attention_direct.f32_f32_f32", "q1k4")->taken);
    release(&l);
    l = candidates(&selector, VKF_OP_ATTENTION, &thin);
    assert_true(find(&l, "attention_address.f32_f32_f32", "q1k16")->taken);
    release(&l);
    caps.matrix.cooperative_matrix = true;
    settle_traits(&caps);
    l = candidates(&selector, VKF_OP_ATTENTION, &attention);
    assert_true(find(&l, "attention_address.f32_f32_f32", "q1k16")->taken);
    release(&l);
}

static void test_estimate_registers(void **state)
{
    (void)state;
    const vkf__config none = {.name = "none", .local_size = 64};
    const vkf__config four = {.name = "4x4", .local_size = 64, .tile.gemm = {32, 32, 16, 4, 4}};
    const vkf__config eight = {.name = "8x8", .local_size = 64, .tile.gemm = {64, 64, 16, 8, 8}};
    const vkf__config huge = {.name = "huge", .local_size = 1, .tile.gemm = {UINT32_MAX, UINT32_MAX, 16, 8, 8}};
    assert_true(vkf__estimate_registers(&none) < vkf__estimate_registers(&four));
    assert_true(vkf__estimate_registers(&four) >= 16 + 8);
    assert_true(vkf__estimate_registers(&eight) >= 64 + 16);
    assert_true(vkf__estimate_registers(&eight) < 128);
    assert_true(vkf__estimate_registers(&huge) == UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_candidates_are_every_variant_with_a_reason),
        cmocka_unit_test(test_candidates_sum_in_f16_where_allowed_alone),
        cmocka_unit_test(test_candidates_round_rows_where_that_pays),
        cmocka_unit_test(test_candidates_without_matrices_leave_out_those_that_need_them),
        cmocka_unit_test(test_candidates_respect_limits_and_verdicts),
        cmocka_unit_test(test_candidates_come_in_the_best_order),
        cmocka_unit_test(test_candidates_without_matrices),
        cmocka_unit_test(test_candidates_of_an_operator_without_any),
        cmocka_unit_test(test_candidates_that_compile_for_long_are_left_out),
        cmocka_unit_test(test_estimate_registers),
    };
    return cmocka_run_group_tests_name("tune candidates", tests, NULL, NULL);
}
