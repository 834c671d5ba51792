// What `vkformer shaders` writes of a report, where a driver tells something.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/program/lab/shaders/shader_output.c"
#include "../../tools/program/output/json_output.c"

void vkf_print_error(const char *format, ...)
{
    (void)format;
}

static unsigned warnings;

void vkf_print_warning(const char *format, ...)
{
    (void)format;
    warnings++;
}

static const vkf_statistic raw[] = {{"VGPRs", 144}, {"Cycles", 12345678}, {"Hash", 1.7e19}, {"Rate", 0.5}};
static const vkf_representation forms[] = {
    {.executable = "compute", .name = "Assembly", .is_text = true, .data = "s_endpgm\n", .size_bytes = 9},
    {.executable = "compute", .name = "Binary", .is_text = false, .data = "\x01\x02", .size_bytes = 2},
};

static vkf_kernel_report some_report(void)
{
    return (vkf_kernel_report){
        .kernel = "gemm.a",
        .config = "large",
        .constants = "",
        .default_for = "",
        .why = "",
        .usable = true,
        .compiled = true,
        .spirv_bytes = 4000,
        .has_statistics = true,
        .statistics = {144, 0, VKF_STATISTIC_UNKNOWN, 0, 1024, 497, 2144, 10},
        .raw = raw,
        .raw_count = 4,
        .representations = forms,
        .representation_count = 2,
    };
}

// Counts are whole and exact, whatever their size; what is unknown is null.
static void test_shader_output_json_has_all_figures(void **state)
{
    (void)state;
    const vkf_shader_output output = {.rows = {.format = VKF_ROWS_JSON}, .statistics = true};
    const vkf_kernel_report report = some_report();
    json_t *object = report_json(&output, &report);
    const json_t *statistics = json_object_get(object, "statistics"), *found = json_object_get(object, "raw");
    assert_int_equal(json_integer_value(json_object_get(object, "spirv_bytes")), 4000);
    assert_int_equal(json_integer_value(json_object_get(statistics, "registers")), 144);
    assert_int_equal(json_integer_value(json_object_get(statistics, "waves")), 10);
    assert_true(json_is_null(json_object_get(statistics, "inner_spills")));
    assert_int_equal(json_object_size(found), 4);
    assert_true(json_is_integer(json_object_get(found, "Cycles")));
    assert_int_equal(json_integer_value(json_object_get(found, "Cycles")), 12345678);
    assert_true(json_is_real(json_object_get(found, "Hash")));
    assert_true(json_is_real(json_object_get(found, "Rate")));
    assert_null(json_object_get(object, "representations"));
    json_decref(object);
}

static void test_shader_output_json_has_assembly_where_asked_for(void **state)
{
    (void)state;
    const vkf_shader_output output = {.rows = {.format = VKF_ROWS_JSON}, .statistics = true, .assembly = true};
    const vkf_kernel_report report = some_report();
    json_t *object = report_json(&output, &report);
    const json_t *list = json_object_get(object, "representations");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "text")), "s_endpgm\n");
    assert_null(json_object_get(json_array_get(list, 1), "text"));
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "size_bytes")), 2);
    json_decref(object);
}

static void test_shader_output_says_where_there_is_no_assembly(void **state)
{
    (void)state;
    vkf_kernel_report report = some_report();
    vkf_shader_output output = {
        .rows = {.format = VKF_ROWS_JSON}, .statistics = true, .assembly = true, .printed = true};
    warnings = 0;
    assert_true(vkf_shader_output_visit(&output, &report));
    assert_true(vkf_shader_output_end(&output));
    assert_int_equal(warnings, 0);
    report.representation_count = 0;
    output =
        (vkf_shader_output){.rows = {.format = VKF_ROWS_JSON}, .statistics = true, .assembly = true, .printed = true};
    assert_true(vkf_shader_output_visit(&output, &report));
    assert_true(vkf_shader_output_end(&output));
    assert_int_equal(warnings, 1);
}

static void test_shader_output_failure_to_compile_is_counted(void **state)
{
    (void)state;
    vkf_kernel_report report = some_report();
    vkf_shader_output output = {.rows = {.format = VKF_ROWS_JSON}, .statistics = true, .printed = true};
    report.compiled = false;
    assert_true(vkf_shader_output_visit(&output, &report));
    assert_false(vkf_shader_output_end(&output));
    assert_int_equal(output.failed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shader_output_json_has_all_figures),
        cmocka_unit_test(test_shader_output_json_has_assembly_where_asked_for),
        cmocka_unit_test(test_shader_output_says_where_there_is_no_assembly),
        cmocka_unit_test(test_shader_output_failure_to_compile_is_counted),
    };
    return cmocka_run_group_tests_name("shader_output", tests, NULL, NULL);
}
