// Names and texts of statuses, names and sizes of types, the version.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <vkformer/tensor.h>

static const struct {
    vkf_status status;
    const char *name;
    const char *text;
} statuses[] = {
#define STATUS_ROW(name, value, text) {name, #name, text},
    VKF_STATUS_LIST(STATUS_ROW)
#undef STATUS_ROW
};
#define STATUS_COUNT (sizeof statuses / sizeof *statuses)

static void test_status_name_and_text_of_every_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < STATUS_COUNT; i++) {
        assert_string_equal(vkf_status_name(statuses[i].status), statuses[i].name);
        assert_string_equal(vkf_status_text(statuses[i].status), statuses[i].text);
    }
    assert_string_equal(vkf_status_name(VKF_ERROR_FILE), "VKF_ERROR_FILE");
}

static void test_status_texts_are_distinct(void **state)
{
    (void)state;
    for (size_t i = 0; i < STATUS_COUNT; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_int_not_equal(statuses[i].status, statuses[k].status);
            assert_string_not_equal(statuses[i].text, statuses[k].text);
        }
    }
}

static void test_status_of_unknown_value_is_named_so(void **state)
{
    (void)state;
    assert_string_equal(vkf_status_text((vkf_status)1000), "unknown status");
    assert_string_equal(vkf_status_name((vkf_status)1000), "VKF_STATUS_UNKNOWN");
}

static void test_dtype_size_and_name(void **state)
{
    (void)state;
    static const struct {
        vkf_dtype dtype;
        uint32_t block_elements;
        size_t size_bytes, block_bytes;
        const char *name;
    } rows[] = {
        {VKF_DTYPE_F32, 1, 4, 4, "f32"},       {VKF_DTYPE_F16, 1, 2, 2, "f16"},     {VKF_DTYPE_I32, 1, 4, 4, "i32"},
        {VKF_DTYPE_BOOL, 1, 1, 1, "bool"},     {VKF_DTYPE_BF16, 1, 2, 2, "bf16"},   {VKF_DTYPE_Q8, 32, 0, 34, "q8"},
        {VKF_DTYPE_Q4, 32, 0, 18, "q4"},       {VKF_DTYPE_I8, 1, 1, 1, "i8"},       {VKF_DTYPE_U8, 1, 1, 1, "u8"},
        {VKF_DTYPE_COUNT, 0, 0, 0, "unknown"}, {(vkf_dtype)-1, 0, 0, 0, "unknown"},
    };
    assert_int_equal(VKF_DTYPE_COUNT, 9);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(vkf_dtype_size(rows[i].dtype), rows[i].size_bytes);
        assert_int_equal(vkf_dtype_block_elements(rows[i].dtype), rows[i].block_elements);
        assert_int_equal(vkf_dtype_block_bytes(rows[i].dtype), rows[i].block_bytes);
        assert_string_equal(vkf_dtype_name(rows[i].dtype), rows[i].name);
    }
}

static void test_version_is_that_of_the_headers(void **state)
{
    (void)state;
    assert_int_equal(vkf_version(), VKF_VERSION);
    assert_int_equal(vkf_version() / 10000, VKF_VERSION_MAJOR);
    assert_int_equal(vkf_version() / 100 % 100, VKF_VERSION_MINOR);
    assert_int_equal(vkf_version() % 100, VKF_VERSION_PATCH);
}

static void test_has_part_knows_the_whole_library(void **state)
{
    (void)state;
    assert_true(vkf_has_part(VKF_PART_CORE));
    assert_true(vkf_has_part(VKF_PART_MODELS));
    assert_true(vkf_has_part(VKF_PART_TEXT));
    assert_true(vkf_has_part(VKF_PART_TRAIN));
    assert_false(vkf_has_part((vkf_part)(VKF_PART_TRAIN + 1)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_status_name_and_text_of_every_status),
        cmocka_unit_test(test_status_texts_are_distinct),
        cmocka_unit_test(test_status_of_unknown_value_is_named_so),
        cmocka_unit_test(test_dtype_size_and_name),
        cmocka_unit_test(test_version_is_that_of_the_headers),
        cmocka_unit_test(test_has_part_knows_the_whole_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
