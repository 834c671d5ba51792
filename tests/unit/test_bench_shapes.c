// Shapes of benchmarks as text, and the least time that roofs allow.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch_directory.h"

#include "../../tools/program/input/line_reader.c"
#include "../../tools/program/lab/bench/bench_roof.c"
#include "../../tools/program/lab/bench/bench_shapes.c"

static char last_error[512];

void vkf_print_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
}

// Batch and keys can be left out.
static const vkf_bench_extents extents = {
    .list = {{'B', "batch", 100, 1, 0}, {'L', "q-len", 1000, 0, 0}, {'S', "kv-len", 1000, 0, 'L'}},
    .count = 3,
    .forms = {"BLS", "L"},
};

static void test_shapes_add_takes_every_form(void **state)
{
    (void)state;
    vkf_bench_shapes shapes = {0};
    assert_true(vkf_bench_shapes_add(&shapes, &extents, "2x3x4,5", NULL));
    assert_true(vkf_bench_shapes_add(&shapes, &extents, "100x1000x1", NULL));
    assert_int_equal(shapes.count, 3);
    const uint32_t expected[3][3] = {{2, 3, 4}, {1, 5, 5}, {100, 1000, 1}};
    for (size_t i = 0; i < 3; i++)
        assert_memory_equal(shapes.list[i].values, expected[i], sizeof expected[i]);
    vkf_bench_shapes_free(&shapes);
    assert_int_equal(shapes.count, 0);
}

static void test_shapes_add_refuses_what_is_no_shape(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        ",",
        " ",
        "x",
        "2x3",
        "2x3x4x5",
        "0",
        "2x0x4",
        "2x3x",
        "x2x3",
        "2xx4",
        "-1",
        "1.5",
        "1e3",
        "0x10",
        "2X3X4",
        "2*3*4",
        "1x2x3;4",
        "101x1x1",
        "1x1001x1",
        "4294967296",
        "99999999999999999999999",
        "18446744073709551617",
        "a",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        vkf_bench_shapes shapes = {0};
        last_error[0] = '\0';
        if (vkf_bench_shapes_add(&shapes, &extents, texts[i], NULL) || shapes.count > 0 || !last_error[0])
            fail_msg("'%s' is taken, or refused without a message", texts[i]);
        vkf_bench_shapes_free(&shapes);
    }
}

static void test_shapes_message_names_forms_and_place(void **state)
{
    (void)state;
    vkf_bench_shapes shapes = {0};
    assert_false(vkf_bench_shapes_add(&shapes, &extents, "1x2", "list:7"));
    assert_non_null(strstr(last_error, "list:7: "));
    assert_non_null(strstr(last_error, "BxLxS, L"));
    assert_false(vkf_bench_shapes_add(&shapes, &extents, "1x5000x2", NULL));
    assert_non_null(strstr(last_error, "L is 5000, and may be 1000 at most"));
    vkf_bench_shapes_free(&shapes);
}

static void test_shape_complete_names_what_is_missing(void **state)
{
    (void)state;
    vkf_bench_shape shape = {{7, 0, 3}};
    assert_false(vkf_bench_shape_complete(&extents, &shape));
    assert_non_null(strstr(last_error, "--q-len"));
    shape = (vkf_bench_shape){{0, 9, 0}};
    assert_true(vkf_bench_shape_complete(&extents, &shape));
    assert_int_equal(shape.values[0], 1);
    assert_int_equal(shape.values[2], 9);
}

static vkf_bench_file read_text(void **state, const char *text, size_t size, vkf_bench_shapes *shapes)
{
    return vkf_bench_shapes_read(shapes, &extents, scratch_write(*state, "shapes", text, size));
}

static void test_shapes_read_takes_comments_and_separators(void **state)
{
    static const char text[] = "# shapes\n\n2x3x4 5,6\r\n\t7 # 8\n#9\n10";
    static const uint32_t lengths[] = {3, 5, 6, 7, 10};
    vkf_bench_shapes shapes = {0};
    assert_int_equal(read_text(state, text, sizeof text - 1, &shapes), VKF_BENCH_FILE_READ);
    assert_int_equal(shapes.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(shapes.list[i].values[1], lengths[i]);
    vkf_bench_shapes_free(&shapes);
}

static void test_shapes_read_refuses_what_is_no_list(void **state)
{
    vkf_bench_shapes shapes = {0};
    static const char only_comments[] = "# nothing\n\n";
    assert_int_equal(read_text(state, only_comments, sizeof only_comments - 1, &shapes), VKF_BENCH_FILE_MALFORMED);
    static const char bad_line[] = "5\n6\n7y\n";
    assert_int_equal(read_text(state, bad_line, sizeof bad_line - 1, &shapes), VKF_BENCH_FILE_MALFORMED);
    assert_non_null(strstr(last_error, ":3: "));
    static const char noise[] = "\0\377\200\n\1\2";
    assert_int_equal(read_text(state, noise, sizeof noise - 1, &shapes), VKF_BENCH_FILE_MALFORMED);
    char *long_line = malloc(10000);
    assert_non_null(long_line);
    memset(long_line, ' ', 10000);
    assert_int_equal(read_text(state, long_line, 10000, &shapes), VKF_BENCH_FILE_MALFORMED);
    assert_non_null(strstr(last_error, "longer"));
    free(long_line);
    assert_int_equal(vkf_bench_shapes_read(&shapes, &extents, "/nonexistent/shapes"), VKF_BENCH_FILE_UNREADABLE);
    assert_int_equal(vkf_bench_shapes_read(&shapes, &extents, "/"), VKF_BENCH_FILE_UNREADABLE);
    vkf_bench_shapes_free(&shapes);
}

static void test_least_seconds_takes_the_larger(void **state)
{
    (void)state;
    const vkf_roofs roofs = {.copy_bytes_per_s = 100, .read_bytes_per_s = 200, .fma_flops_per_s = 1000};
    const struct {
        vkf_bench_cost cost;
        double seconds;
        const char *bound;
    } rows[] = {
        {{.flops = 5000, .bytes_read = 10, .bytes_written = 10}, 5, "compute"},
        {{.bytes_read = 100, .bytes_written = 100}, 2, "memory"},                // all of it copied
        {{.bytes_read = 400}, 2, "memory"},                                      // all of it read
        {{.bytes_read = 300, .bytes_written = 100}, 3, "memory"},                // 200 copied, 200 read
        {{.bytes_written = 100}, 1, "memory"},                                   // no faster than copying
        {{.flops = 1999, .bytes_read = 100, .bytes_written = 100}, 2, "memory"}, // just below
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *bound = NULL;
        double seconds = vkf_bench_least_seconds(&roofs, &rows[i].cost, &bound);
        if (seconds < rows[i].seconds * 0.999999 || seconds > rows[i].seconds * 1.000001)
            fail_msg("row %zu: %g seconds, not %g", i, seconds, rows[i].seconds);
        assert_string_equal(bound, rows[i].bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes_add_takes_every_form),
        cmocka_unit_test(test_shapes_add_refuses_what_is_no_shape),
        cmocka_unit_test(test_shapes_message_names_forms_and_place),
        cmocka_unit_test(test_shape_complete_names_what_is_missing),
        cmocka_unit_test(test_shapes_read_takes_comments_and_separators),
        cmocka_unit_test(test_shapes_read_refuses_what_is_no_list),
        cmocka_unit_test(test_least_seconds_takes_the_larger),
    };
    return cmocka_run_group_tests_name("bench_shapes", tests, scratch_setup, scratch_teardown);
}
