// Files as the system has them, by names that not every code page can write.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "scratch_directory.h"

#define NAME "\303\244\342\202\254\360\237\230\200.bin" // an umlaut, the euro and a smile

static void put(const char *path, const char *text)
{
    FILE *stream = vkf__stream_open(path, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(text, 1, strlen(text), stream), strlen(text));
    assert_int_equal(vkf__stream_to_disk(stream), 0);
    assert_int_equal(fclose(stream), 0);
}

static void test_names_are_utf_8(void **state)
{
    scratch_directory *scratch = *state;
    vkf__file_info info;
    put(scratch_path(scratch, NAME), "abc");
    assert_true(vkf__path_info(scratch_path(scratch, NAME), &info));
    assert_int_equal(info.kind, VKF_FILE_REGULAR);
    assert_int_equal(info.size_bytes, 3);
    assert_true(info.seconds > 1700000000); // 2023
    vkf__listing *listing = vkf__listing_open(scratch->path);
    assert_non_null(listing);
    assert_string_equal(vkf__listing_next(listing), NAME);
    assert_null(vkf__listing_next(listing));
    vkf__listing_close(listing);
    assert_int_equal(vkf__file_remove(scratch_path(scratch, NAME)), 0);
    assert_false(vkf__path_info(scratch_path(scratch, NAME), &info));
    assert_int_equal(errno, ENOENT);
}

static void test_reading_at_a_place(void **state)
{
    char bytes[4] = "";
    vkf__file_info before, after;
    const char *path = scratch_path(*state, "file");
    put(path, "01234567");
    int descriptor = vkf__open_to_read(path);
    assert_true(descriptor >= 0);
    assert_int_equal(vkf__descriptor_read_at(descriptor, bytes, 3, 2), 3);
    assert_string_equal(bytes, "234");
    assert_int_equal(vkf__descriptor_read_at(descriptor, bytes, 3, 7), 1);
    assert_int_equal(vkf__descriptor_read_at(descriptor, bytes, 3, 8), 0);
    assert_true(vkf__descriptor_info(descriptor, &before));
    put(path, "0123");
    assert_true(vkf__descriptor_info(descriptor, &after));
    assert_int_equal(after.size_bytes, 4);
    assert_true(before.device == after.device && before.number == after.number);
    vkf__descriptor_close(descriptor);
}

static void test_a_new_file_takes_another_ones_place(void **state)
{
    char from[512], bytes[8] = "";
    (void)snprintf(from, sizeof from, "%s", scratch_path(*state, "new"));
    int descriptor = vkf__open_new(from, 0600);
    assert_true(descriptor >= 0);
    assert_int_equal(vkf__open_new(from, 0600), -1);
    assert_int_equal(errno, EEXIST);
    FILE *stream = vkf__descriptor_stream(descriptor, "wb");
    assert_non_null(stream);
    assert_int_equal(fputs("a\nb", stream) >= 0 && fclose(stream) == 0, 1);
    const char *to = scratch_path(*state, "old");
    put(to, "gone");
    assert_int_equal(vkf__path_rename(from, to), 0);
    descriptor = vkf__open_to_read(to);
    assert_int_equal(vkf__descriptor_read_at(descriptor, bytes, sizeof bytes, 0), 3);
    assert_memory_equal(bytes, "a\nb", 3);
    vkf__descriptor_close(descriptor);
}

static void test_where_a_path_has_its_directory(void **state)
{
    (void)state;
    assert_int_equal(vkf__path_directory_bytes("a"), 0);
    assert_int_equal(vkf__path_directory_bytes("a/b"), 2);
    assert_int_equal(vkf__path_directory_bytes("/a/b/"), 5);
#if defined(_WIN32)
    assert_int_equal(vkf__path_directory_bytes("C:\\a\\b"), 5);
    assert_int_equal(vkf__path_directory_bytes("C:b"), 2);
#else
    assert_int_equal(vkf__path_directory_bytes("C:\\b"), 0);
#endif
}

static void test_what_is_no_regular_file(void **state)
{
    scratch_directory *scratch = *state;
    vkf__file_info info;
#if defined(_WIN32)
    const char *nothing = "NUL";
#else
    const char *nothing = "/dev/null";
#endif
    assert_true(vkf__path_info(nothing, &info));
    assert_int_equal(info.kind, VKF_FILE_OTHER);
    assert_true(vkf__entry_info(scratch->path, &info));
    assert_int_equal(info.kind, VKF_FILE_DIRECTORY);
    int descriptor = vkf__open_to_read(scratch->path);
    assert_true(descriptor >= 0 && vkf__descriptor_info(descriptor, &info));
    assert_int_equal(info.kind, VKF_FILE_DIRECTORY);
    vkf__descriptor_close(descriptor);
    assert_int_equal(vkf__open_to_read(scratch_path(scratch, "none")), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_a_held_directory_is_left_alone(void **state)
{
    scratch_directory *scratch = *state;
    char held[512], inner[512];
    intptr_t hold = VKF_NO_HOLD;
    (void)snprintf(held, sizeof held, "%s", scratch_path(scratch, "held"));
    (void)snprintf(inner, sizeof inner, "%s", scratch_path(scratch, "held/inner"));
    assert_int_equal(vkf__directory_make_held(held, &hold), 0);
    assert_int_equal(vkf__directory_make(inner, 0700), 0);
    put(scratch_path(scratch, "held/inner/file"), "x");
    vkf__directory_remove_unheld(scratch->path, "held");
    assert_int_equal(scratch_list(scratch, 0), 1);
    // Its name may change meanwhile, to that of an empty directory.
    assert_int_equal(vkf__directory_make(scratch_path(scratch, "named"), 0700), 0);
    assert_int_equal(vkf__directory_rename(held, scratch_path(scratch, "named")), 0);
    vkf__directory_remove_unheld(scratch->path, "named");
    assert_int_equal(scratch_list(scratch, 0), 1);
    vkf__directory_release(hold);
    vkf__directory_remove_unheld(scratch->path, "named");
    assert_int_equal(scratch_list(scratch, 0), 0);
}

static void test_a_lock_is_one_holders(void **state)
{
    scratch_directory *scratch = *state;
    char path[512];
    (void)snprintf(path, sizeof path, "%s", scratch_path(scratch, "lock"));
    for (int time = 0; time < 2; time++) {
        const int lock = vkf__lock_take(path);
        assert_true(lock >= 0);
        assert_int_equal(vkf__lock_take(path), -1);
        assert_int_equal(errno, EBUSY);
        vkf__lock_release(path, lock);
        assert_int_equal(scratch_list(scratch, 0), 0);
    }
    put(path, "left"); // by a process that was killed
    const int lock = vkf__lock_take(path);
    assert_true(lock >= 0);
    vkf__lock_release(path, lock);
    assert_int_equal(vkf__lock_take(scratch_path(scratch, "none/lock")), -1);
    assert_int_equal(errno, ENOENT);
}

static void test_absolute_paths_lead_to_the_same(void **state)
{
    scratch_directory *scratch = *state;
    vkf__file_info one, other;
    put(scratch_path(scratch, "file"), "abc");
    char *path = vkf__path_absolute(scratch_path(scratch, "./file"));
    assert_non_null(path);
    assert_true(vkf__path_info(path, &one) && vkf__path_info(scratch_path(scratch, "file"), &other));
    assert_true(one.device == other.device && one.number == other.number);
    free(path);
    path = vkf__path_absolute(".");
    assert_true(path && (vkf__is_slash(path[0]) || path[1] == ':') && path[1] != '\0');
    free(path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_lock_is_one_holders),
        TEST(test_absolute_paths_lead_to_the_same),
        TEST(test_names_are_utf_8),
        TEST(test_reading_at_a_place),
        TEST(test_a_new_file_takes_another_ones_place),
        TEST(test_where_a_path_has_its_directory),
        TEST(test_what_is_no_regular_file),
        TEST(test_a_held_directory_is_left_alone),
    };
    return cmocka_run_group_tests_name("system_file", tests, NULL, NULL);
}
