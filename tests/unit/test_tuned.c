// The table of tuned choices: whole and good, or ignored as a whole with a warning that names the line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/tuned.h"
#include "random.h"

#include "recording_host.h"

#define HEADER "vkformer-tuned 1\n"
#define GOOD "gemm f32,f32,f32 m<=8 n=768 k=512 gemm_tile.f32_f32_f32/thin\n"

static void test_tuned_good_table(void **state)
{
    (void)state;
    static const char text[] = HEADER "# a comment\n\n" GOOD "softmax f16,f16 m<=any n=40 k=0 softmax.f16p_f16p/row16\n"
                                      "copy f32,f16 m<=1 n=4294967295 k=7 copy.f32_f16/flat64"; // no newline at the end
    recording_host recording;
    vkf__tuned tuned;
    recording_host_init(&recording);
    assert_int_equal(vkf__tuned_parse(&recording.host, text, strlen(text), &tuned), VKF_OK);
    assert_int_equal(recording.messages, 0);
    assert_int_equal(tuned.count, 3);
    assert_int_equal(tuned.entries[0].op, VKF_OP_GEMM);
    assert_int_equal(tuned.entries[0].m_class, 8);
    assert_int_equal(tuned.entries[0].n, 768);
    assert_int_equal(tuned.entries[0].k, 512);
    assert_string_equal(vkf__kernels[tuned.entries[0].kernel].name, "gemm_tile.f32_f32_f32");
    assert_string_equal(vkf__kernels[tuned.entries[0].kernel].configs[tuned.entries[0].config].name, "thin");
    assert_int_equal(tuned.entries[1].m_class, UINT32_MAX);
    assert_int_equal(tuned.entries[2].n, UINT32_MAX);
    vkf__tuned_free(&recording.host, &tuned);
    assert_int_equal(recording.live, 0);
    assert_int_equal(tuned.count, 0);
}

static void test_tuned_bad_table_is_ignored(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *line;
    } rows[] = {
        {"vkformer-tuned 2\n" GOOD, "line 1"},
        {GOOD, "line 1"},
        {"\n", "line 1"},
        {" " HEADER, "line 1"},
        {HEADER GOOD "nonsense\n", "line 3"},
        {HEADER "multiply f32,f32,f32 m<=8 n=7 k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f32 m<=8 n=7 k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f32,f64 m<=8 n=7 k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f32,f32,f32 m<=8 n=7 k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f16,f32 m<=8 n=7 k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=9 n=7 k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=x n=7 k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=8 n= k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=8 n=7 gemm_tile.f32_f32_f32/thin\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=8 n=7 k=5 gemm_tile.f32_f32_f32\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=8 n=7 k=5 gemm_tile.f32_f32_f32/wide\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=8 n=7 k=5 gemm_tile.none/thin\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=8 n=7 k=5 softmax.f32_f32/row64\n", "line 2"},
        {HEADER "gemm f32,f32,f32 m<=8 n=7 k=5 gemm_tile.f32_f32_f32/thin more\n", "line 2"},
        {HEADER "softmax f32,f32 m<=8 n=7 k=5 gemm_tile.f32_f32_f32/thin\n", "line 2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        recording_host recording;
        vkf__tuned tuned;
        recording_host_init(&recording);
        assert_int_equal(vkf__tuned_parse(&recording.host, rows[i].text, strlen(rows[i].text), &tuned), VKF_OK);
        if (tuned.count != 0 || recording.messages != 1 || recording.severity != VKF_SEVERITY_WARNING ||
            !strstr(recording.text, rows[i].line))
            fail_msg("table %zu: %zu entries, %zu messages: %s", i, tuned.count, recording.messages, recording.text);
        assert_int_equal(recording.live, 0);
    }
}

static void test_tuned_long_line_and_zero_byte(void **state)
{
    (void)state;
    char text[600] = HEADER;
    recording_host recording;
    vkf__tuned tuned;
    recording_host_init(&recording);
    memset(text + strlen(HEADER), '#', 500);
    assert_int_equal(vkf__tuned_parse(&recording.host, text, strlen(HEADER) + 500, &tuned), VKF_OK);
    assert_int_equal(tuned.count, 0);
    assert_int_equal(recording.messages, 1);
    assert_int_equal(vkf__tuned_parse(&recording.host, "", 0, &tuned), VKF_OK);
    assert_int_equal(tuned.count, 0);
    assert_int_equal(recording.live, 0);
}

// Any byte may be flipped: the parser reads no further than the text, and keeps no memory.
static void test_tuned_damaged_table(void **state)
{
    (void)state;
    static const char text[] = HEADER GOOD GOOD;
    vkf_test_random random;
    recording_host recording;
    recording_host_init(&recording);
    vkf_test_random_init(&random, 20261120);
    for (int round = 0; round < 3000; round++) {
        size_t size = vkf_test_random_below(&random, sizeof text);
        char *copy = malloc(size + 1);
        vkf__tuned tuned;
        assert_non_null(copy);
        memcpy(copy, text, size);
        for (uint32_t flips = vkf_test_random_below(&random, 4); size > 0 && flips > 0; flips--)
            copy[vkf_test_random_below(&random, (uint32_t)size)] = (char)vkf_test_random_below(&random, 256);
        char *exact = realloc(copy, size > 0 ? size : 1);
        assert_non_null(exact);
        assert_int_equal(vkf__tuned_parse(&recording.host, exact, size, &tuned), VKF_OK);
        assert_true(tuned.count <= 2);
        vkf__tuned_free(&recording.host, &tuned);
        free(exact);
    }
    assert_int_equal(recording.live, 0);
}

static void test_tuned_find_by_class(void **state)
{
    (void)state;
    static const vkf_dtype types[] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};
    static const vkf_dtype half[] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F32};
    recording_host recording;
    vkf__tuned tuned;
    recording_host_init(&recording);
    assert_int_equal(vkf__tuned_parse(&recording.host, HEADER GOOD, strlen(HEADER GOOD), &tuned), VKF_OK);
    for (uint32_t m = 1; m <= 10; m++) {
        const vkf__problem problem = {m, 768, 512};
        bool found = vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &problem) != NULL;
        assert_int_equal(found, m > 1 && m <= 8);
    }
    const vkf__problem good = {5, 768, 512}, n = {5, 767, 512}, k = {5, 768, 511};
    assert_non_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &good));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &n));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, types, &k));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_SOFTMAX, types, &good));
    assert_null(vkf__tuned_find(&tuned, VKF_OP_GEMM, half, &good));
    vkf__tuned_free(&recording.host, &tuned);
}

static void test_tuned_m_class_bounds(void **state)
{
    (void)state;
    static const uint32_t rows[][2] = {{0, 1},
                                       {1, 1},
                                       {2, 8},
                                       {8, 8},
                                       {9, 32},
                                       {32, 32},
                                       {33, 128},
                                       {128, 128},
                                       {129, UINT32_MAX},
                                       {UINT32_MAX, UINT32_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(vkf__tuned_m_class(rows[i][0]), rows[i][1]);
}

static void test_tuned_without_memory(void **state)
{
    (void)state;
    recording_host recording;
    vkf__tuned tuned = {.count = 7};
    recording_host_init(&recording);
    recording.fail_call = 1;
    assert_int_equal(vkf__tuned_parse(&recording.host, HEADER GOOD, strlen(HEADER GOOD), &tuned),
                     VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(tuned.count, 7);
    assert_int_equal(recording.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuned_good_table),
        cmocka_unit_test(test_tuned_bad_table_is_ignored),
        cmocka_unit_test(test_tuned_long_line_and_zero_byte),
        cmocka_unit_test(test_tuned_damaged_table),
        cmocka_unit_test(test_tuned_find_by_class),
        cmocka_unit_test(test_tuned_m_class_bounds),
        cmocka_unit_test(test_tuned_without_memory),
    };
    return cmocka_run_group_tests_name("tuned", tests, NULL, NULL);
}
