// Specialisation constants as the command line gives them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../tools/program/lab/shaders/shader_constant.c"

static char last_error[512];

void vkf_print_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
}

bool vkf_parse_u32(const char *option, const char *text, uint32_t min, uint32_t max, uint32_t *out_value)
{
    (void)option, (void)min, (void)max;
    char *end = NULL;
    *out_value = (uint32_t)strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0';
}

static const spirv_module module = {
    .specs = {{0, SPIRV_UINT, 32},
              {1, SPIRV_FLOAT, 32},
              {2, SPIRV_BOOL, 32},
              {3, SPIRV_INT, 32},
              {4, SPIRV_INT, 64},
              {5, SPIRV_FLOAT, 64},
              {6, SPIRV_FLOAT, 16},
              {7, SPIRV_INT, 8},
              {8, SPIRV_UINT, 64}},
    .spec_count = 9,
};

static void test_shader_constant_values(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t id;
        uint32_t size_bytes;
        uint64_t value; // of the type's bits
    } cases[] = {
        {"0=64", 0, 4, 64},
        {"0=0xff", 0, 4, 255},
        {"0=4294967295", 0, 4, UINT32_MAX},
        {"0=u:7", 0, 4, 7},
        {"1=0.5", 1, 4, 0x3f000000},
        {"1=f:-2", 1, 4, 0xc0000000},
        {"2=true", 2, 4, 1},
        {"2=b:0", 2, 4, 0},
        {"3=-1", 3, 4, UINT32_MAX},
        {"3=-2147483648", 3, 4, 0x80000000},
        {"4=-1", 4, 8, UINT64_MAX},
        {"4=i:9223372036854775807", 4, 8, INT64_MAX},
        {"5=1", 5, 8, 0x3ff0000000000000},
        {"6=1", 6, 2, 0x3c00},
        {"7=-128", 7, 1, 0x80},
        {"8=18446744073709551615", 8, 8, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        vkf_shader_constant constant = {0};
        if (!vkf_parse_shader_constant(cases[i].text, &module, &constant))
            fail_msg("%s: %s", cases[i].text, last_error);
        const uint64_t mask = UINT64_MAX >> (64 - 8 * cases[i].size_bytes);
        if (constant.id != cases[i].id || constant.size_bytes != cases[i].size_bytes ||
            (constant.value & mask) != cases[i].value)
            fail_msg("%s: id %u, %u bytes, value %llx", cases[i].text, constant.id, constant.size_bytes,
                     (unsigned long long)constant.value);
    }
}

static void test_shader_constant_mistakes_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "0",
        "=1",
        "0=",
        "0=-1",
        "0=1.5",
        "0=4294967296",
        "0=x",
        "0=f:1",
        "1=i:1",
        "1=nan",
        "1=inf",
        "1=1e39",
        "1=",
        "2=2",
        "2=yes",
        "3=2147483648",
        "3=u:1",
        "3= 1",
        "4=9223372036854775808",
        "6=65520",
        "7=128",
        "9=1",
        "x=1",
        "0=0x",
        "0=18446744073709551616",
        "8=18446744073709551616",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        vkf_shader_constant constant = {.id = 77};
        if (vkf_parse_shader_constant(texts[i], &module, &constant) || constant.id != 77)
            fail_msg("'%s' was taken", texts[i]);
    }
    vkf_shader_constant constant;
    assert_false(vkf_parse_shader_constant("9=1", &module, &constant));
    assert_non_null(strstr(last_error, "it has 0 (uint), 1 (float)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shader_constant_values),
        cmocka_unit_test(test_shader_constant_mistakes_are_refused),
    };
    return cmocka_run_group_tests_name("shader_constant", tests, NULL, NULL);
}
