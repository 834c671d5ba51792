// What counts as a change, and as one for the worse, between two lists of what a compiler made.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/program/lab/shaders/shader_diff.c"
#include "../../tools/program/output/json_output.c"

void vkf_print_error(const char *format, ...)
{
    (void)format;
}

void vkf_print_warning(const char *format, ...)
{
    (void)format;
}

static json_t *row(const char *kernel, const char *statistics)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:b, s:b, s:i}", "kernel", kernel, "config", "large", "constants", "",
                               "usable", 1, "compiled", 1, "spirv_bytes", 4000);
    json_object_set_new(object, "statistics", json_loads(statistics, 0, NULL));
    return object;
}

typedef struct changed {
    const char *before; // statistics
    const char *after;
    double fail_above;
    vkf_shader_change change;
    bool newly_spills;
    bool rose;
} changed;

static void test_shader_diff_judges_figures(void **state)
{
    (void)state;
    static const changed cases[] = {
        {"{\"registers\": 50}", "{\"registers\": 50}", 20, VKF_CHANGE_NONE, false, false},
        {"{\"registers\": 50}", "{\"registers\": 60}", 20, VKF_CHANGE_FIGURES, false, false},
        {"{\"registers\": 50}", "{\"registers\": 61}", 20, VKF_CHANGE_FIGURES, false, true},
        {"{\"registers\": 50}", "{\"registers\": 51}", 0, VKF_CHANGE_FIGURES, false, true},
        {"{\"registers\": 50}", "{\"registers\": 10}", 0, VKF_CHANGE_FIGURES, false, false},
        {"{\"instructions\": 100}", "{\"instructions\": 121}", 20, VKF_CHANGE_FIGURES, false, true},
        {"{\"waves\": 16}", "{\"waves\": 4}", 20, VKF_CHANGE_FIGURES, false, false},
        {"{\"spills\": 0}", "{\"spills\": 1}", 20, VKF_CHANGE_FIGURES, true, false},
        {"{\"spills\": 3}", "{\"spills\": 9}", 20, VKF_CHANGE_FIGURES, false, false},
        {"{\"scratch_bytes\": 0}", "{\"scratch_bytes\": 16}", 20, VKF_CHANGE_FIGURES, true, false},
        {"{\"spills\": null}", "{\"spills\": 9}", 20, VKF_CHANGE_FIGURES, false, false},
        {"{\"registers\": null}", "{\"registers\": null}", 20, VKF_CHANGE_NONE, false, false},
        {"null", "null", 20, VKF_CHANGE_NONE, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const changed *c = &cases[i];
        json_t *before = json_pack("[o]", row("gemm.a", c->before)), *after = json_pack("[o]", row("gemm.a", c->after));
        vkf_shader_diff diff = {0};
        assert_true(vkf_shader_diff_make(before, after, c->fail_above, &diff));
        assert_int_equal(diff.compared, 1);
        if (diff.items[0].change != c->change || diff.items[0].newly_spills != c->newly_spills ||
            diff.items[0].rose != c->rose || diff.worse != (size_t)(c->newly_spills || c->rose))
            fail_msg("%s -> %s: change %d, newly_spills %d, rose %d", c->before, c->after, (int)diff.items[0].change,
                     diff.items[0].newly_spills, diff.items[0].rose);
        vkf_shader_diff_free(&diff);
        json_decref(before);
        json_decref(after);
    }
}

static void test_shader_diff_finds_new_and_missing(void **state)
{
    (void)state;
    json_t *before = json_pack("[oo]", row("gemm.a", "{}"), row("gemm.b", "{}"));
    json_t *after = json_pack("[oo]", row("gemm.c", "{\"spills\": 7}"), row("gemm.b", "{}"));
    vkf_shader_diff diff = {0};
    json_object_set_new(json_array_get(after, 1), "spirv_bytes", json_integer(4004));
    assert_true(vkf_shader_diff_make(before, after, 20, &diff));
    assert_int_equal(diff.count, 3);
    assert_int_equal(diff.compared, 1);
    assert_int_equal(diff.worse, 0);
    assert_string_equal(diff.items[0].kernel, "gemm.c");
    assert_int_equal(diff.items[0].change, VKF_CHANGE_NEW);
    assert_int_equal(diff.items[1].change, VKF_CHANGE_FIGURES);
    assert_true(diff.items[1].before[VKF_FIGURE_SPIRV] == 4000 && diff.items[1].after[VKF_FIGURE_SPIRV] == 4004);
    assert_string_equal(diff.items[2].kernel, "gemm.a");
    assert_int_equal(diff.items[2].change, VKF_CHANGE_MISSING);
    vkf_shader_diff_free(&diff);
    json_decref(before);
    json_decref(after);
}

// The same kernel with another tile, or for other constants, is another row.
static void test_shader_diff_keeps_variants_apart(void **state)
{
    (void)state;
    json_t *before = json_pack("[oo]", row("gemm.a", "{\"registers\": 10}"), row("gemm.a", "{\"registers\": 90}"));
    json_object_set_new(json_array_get(before, 1), "constants", json_string("head_dim 64"));
    json_t *after = json_deep_copy(before);
    vkf_shader_diff diff = {0};
    assert_true(vkf_shader_diff_make(before, after, 20, &diff));
    assert_int_equal(diff.compared, 2);
    assert_int_equal(diff.items[0].change, VKF_CHANGE_NONE);
    assert_int_equal(diff.items[1].change, VKF_CHANGE_NONE);
    vkf_shader_diff_free(&diff);
    json_decref(before);
    json_decref(after);
}

static void test_shader_diff_failure_to_compile_is_worse(void **state)
{
    (void)state;
    json_t *before = json_pack("[o]", row("gemm.a", "{}")), *after = json_pack("[o]", row("gemm.a", "null"));
    vkf_shader_diff diff = {0};
    json_object_set_new(json_array_get(after, 0), "compiled", json_false());
    assert_true(vkf_shader_diff_make(before, after, 20, &diff));
    assert_true(diff.items[0].no_longer_compiles);
    assert_int_equal(diff.worse, 1);
    vkf_shader_diff_free(&diff);
    json_decref(before);
    json_decref(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shader_diff_judges_figures),
        cmocka_unit_test(test_shader_diff_finds_new_and_missing),
        cmocka_unit_test(test_shader_diff_keeps_variants_apart),
        cmocka_unit_test(test_shader_diff_failure_to_compile_is_worse),
    };
    return cmocka_run_group_tests_name("shader_diff", tests, NULL, NULL);
}
