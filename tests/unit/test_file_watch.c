// Which files of a folder count as changed, whatever way an editor saves them, and the wait for it.
#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "scratch_directory.h"

#include "../../tools/program/lab/bench/file_watch.c"

void vkf_print_error(const char *format, ...)
{
    (void)format;
}

typedef struct watched {
    scratch_directory *scratch;
    vkf_file_snapshot before, after;
} watched;

static int setup(void **state)
{
    void *scratch = NULL;
    char folder[128];
    watched *w = calloc(1, sizeof *w);
    if (!w || scratch_setup(&scratch) != 0)
        return -1;
    w->scratch = scratch;
    (void)scratch_write(w->scratch, "a.comp", "one", 3);
    (void)scratch_write(w->scratch, "b.comp", "two", 3);
    (void)snprintf(folder, sizeof folder, "%s/include", w->scratch->path);
    if (mkdir(folder, 0700) != 0)
        return -1;
    (void)scratch_write(w->scratch, "include/c.glsl", "three", 5);
    *state = w;
    return vkf_file_snapshot_take(w->scratch->path, &w->before) ? 0 : -1;
}

static int teardown(void **state)
{
    watched *w = *state;
    void *scratch = w->scratch;
    vkf_file_snapshot_free(&w->before);
    vkf_file_snapshot_free(&w->after);
    (void)remove(scratch_path(w->scratch, "include/c.glsl"));
    free(w);
    return scratch_teardown(&scratch);
}

// Exactly these paths differ from how the folder was, with commas between.
static void assert_changed(watched *w, const char *expected)
{
    char text[256] = "";
    size_t index;
    json_t *path;
    assert_true(vkf_file_snapshot_take(w->scratch->path, &w->after));
    json_t *paths = vkf_file_snapshot_difference(&w->before, &w->after);
    json_array_foreach(paths, index, path)
    {
        strcat(strcat(text, index ? "," : ""), json_string_value(path));
    }
    json_decref(paths);
    assert_string_equal(text, expected);
    assert_int_equal(vkf_file_snapshot_same(&w->before, &w->after), expected[0] == '\0');
}

static void set_time(watched *w, const char *name, time_t seconds, long nanoseconds)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    assert_int_equal(utimensat(AT_FDCWD, scratch_path(w->scratch, name), times, 0), 0);
}

static void take_again(watched *w)
{
    vkf_file_snapshot_free(&w->before);
    assert_true(vkf_file_snapshot_take(w->scratch->path, &w->before));
}

static void test_snapshot_of_nothing_new(void **state)
{
    assert_changed(*state, "");
}

static void test_snapshot_sees_a_touch(void **state)
{
    set_time(*state, "b.comp", 12345, 0);
    assert_changed(*state, "b.comp");
}

static void test_snapshot_sees_same_size_within_a_second(void **state)
{
    set_time(*state, "a.comp", 12345, 100);
    take_again(*state);
    (void)scratch_write(((watched *)*state)->scratch, "a.comp", "ONE", 3);
    set_time(*state, "a.comp", 12345, 101);
    assert_changed(*state, "a.comp");
}

static void test_snapshot_sees_another_size_at_the_same_time(void **state)
{
    set_time(*state, "a.comp", 12345, 100);
    take_again(*state);
    (void)scratch_write(((watched *)*state)->scratch, "a.comp", "longer", 6);
    set_time(*state, "a.comp", 12345, 100);
    assert_changed(*state, "a.comp");
}

// The same size and time: what an editor that saves by renaming leaves where it keeps times.
static void test_snapshot_sees_a_rename_over_a_file(void **state)
{
    watched *w = *state;
    char from[512];
    set_time(w, "a.comp", 12345, 100);
    take_again(w);
    (void)scratch_write(w->scratch, ".a.comp.swp", "ONE", 3);
    set_time(w, ".a.comp.swp", 12345, 100);
    (void)snprintf(from, sizeof from, "%s", scratch_path(w->scratch, ".a.comp.swp"));
    assert_int_equal(rename(from, scratch_path(w->scratch, "a.comp")), 0);
    assert_changed(w, "a.comp");
}

static void test_snapshot_sees_new_and_deleted_files(void **state)
{
    watched *w = *state;
    assert_int_equal(remove(scratch_path(w->scratch, "b.comp")), 0);
    (void)scratch_write(w->scratch, "aa.comp", "new", 3);
    (void)scratch_write(w->scratch, "z.comp", "new", 3);
    assert_changed(w, "aa.comp,b.comp,z.comp");
}

static void test_snapshot_sees_folders_below(void **state)
{
    set_time(*state, "include/c.glsl", 12345, 0);
    assert_changed(*state, "include/c.glsl");
}

static void test_snapshot_passes_over_backups(void **state)
{
    watched *w = *state;
    (void)scratch_write(w->scratch, "a.comp~", "old", 3);
    (void)scratch_write(w->scratch, "#a.comp#", "old", 3);
    (void)scratch_write(w->scratch, ".a.comp.swp", "old", 3);
    assert_changed(w, "");
}

static void test_snapshot_of_no_folder_is_empty(void **state)
{
    watched *w = *state;
    assert_true(vkf_file_snapshot_take("/nonexistent/shaders", &w->after));
    assert_int_equal(w->after.count, 0);
}

// What each look at the clock does to the folder, in turn; then the wait is stopped.
static watched *waiting;
static int looks;

static bool write_then_stop(void)
{
    static const char *const texts[] = {"half", "half of", "half of it all"};
    if (looks < 3)
        (void)scratch_write(waiting->scratch, "a.comp", texts[looks], strlen(texts[looks]));
    return ++looks > 8;
}

static void test_wait_gives_what_is_at_rest(void **state)
{
    watched *w = waiting = *state;
    looks = 0;
    assert_int_equal(vkf_file_watch_wait(w->scratch->path, &w->before, write_then_stop, &w->after), VKF_FILES_CHANGED);
    assert_true(looks > 3);
    assert_int_equal(w->after.list[0].size_bytes, 14);
}

static bool undo_then_stop(void)
{
    (void)(looks % 2 ? remove(scratch_path(waiting->scratch, "4913"))
                     : scratch_write(waiting->scratch, "4913", "x", 1) == NULL);
    return ++looks > 3;
}

// Some editors try first whether they may write.
static void test_wait_goes_on_when_nothing_stays(void **state)
{
    watched *w = waiting = *state;
    looks = 0;
    assert_int_equal(vkf_file_watch_wait(w->scratch->path, &w->before, undo_then_stop, &w->after),
                     VKF_FILES_WAIT_STOPPED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_snapshot_of_nothing_new),
        TEST(test_snapshot_sees_a_touch),
        TEST(test_snapshot_sees_same_size_within_a_second),
        TEST(test_snapshot_sees_another_size_at_the_same_time),
        TEST(test_snapshot_sees_a_rename_over_a_file),
        TEST(test_snapshot_sees_new_and_deleted_files),
        TEST(test_snapshot_sees_folders_below),
        TEST(test_snapshot_passes_over_backups),
        TEST(test_snapshot_of_no_folder_is_empty),
        TEST(test_wait_gives_what_is_at_rest),
        TEST(test_wait_goes_on_when_nothing_stays),
    };
#undef TEST
    return cmocka_run_group_tests_name("file watch", tests, NULL, NULL);
}
