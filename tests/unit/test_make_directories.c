// Directories that are made on the way to a file.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/make_directories.h"
#include "base/system_file.h"
#include "scratch_directory.h"

static bool is_directory(const char *path)
{
    vkf__file_info info;
    return vkf__path_info(path, &info) && info.kind == VKF_FILE_DIRECTORY;
}

static void test_make_directories_makes_what_is_missing(void **state)
{
    scratch_directory *scratch = *state;
    const char *path = scratch_path(scratch, "a/b//c/");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(vkf__make_directories(path, 0700), 0);
        assert_true(is_directory(path));
    }
    path = scratch_path(scratch, "a/b/d");
    assert_int_equal(vkf__make_directories(path, 0700), 0);
    vkf__file_info info;
    assert_true(vkf__path_info(path, &info));
    assert_true(info.mode == 0700 || info.mode == 0); // Windows has no such permissions
    assert_int_equal(vkf__make_directories("/", 0700), 0);
}

static void test_make_directories_says_what_is_in_the_way(void **state)
{
    scratch_directory *scratch = *state;
    const char *path = scratch_write(scratch, "file", "", 0);
    assert_int_equal(vkf__make_directories(path, 0700), ENOTDIR);
    assert_int_equal(vkf__make_directories(scratch_path(scratch, "file/a/b"), 0700), ENOTDIR);
    assert_int_equal(vkf__make_directories("", 0700), ENOENT);
}

static int remove_directories(void **state)
{
    scratch_directory *scratch = *state;
    static const char *const made[] = {"a/b/c", "a/b/d", "a/b", "a"};
    for (size_t i = 0; i < sizeof made / sizeof made[0]; i++)
        if (vkf__directory_remove(scratch_path(scratch, made[i])) != 0)
            return -1;
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_make_directories_makes_what_is_missing, remove_directories),
        cmocka_unit_test(test_make_directories_says_what_is_in_the_way),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
