// Files that are read in pieces, and files that change meanwhile.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/file.h"
#include "recording_host.h"
#include "scratch_directory.h"

static void test_file_read_at_gives_the_bytes(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file *file = NULL;
    char bytes[4] = "....";
    const char *path = scratch_write(scratch, "bytes", "ab\0c", 4);
    assert_int_equal(vkf__file_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__file_size(file), 4);
    assert_string_equal(vkf__file_path(file), path);
    assert_int_equal(vkf__file_read_at(file, 1, bytes, 3), VKF_OK);
    assert_memory_equal(bytes, "b\0c.", 4);
    assert_int_equal(vkf__file_read_at(file, 4, bytes, 0), VKF_OK);
    assert_int_equal(vkf__file_check_unchanged(file), VKF_OK);
    vkf__file_close(&file);
    assert_null(file);
    vkf__file_close(&file);
    vkf__file_close(NULL);
    assert_int_equal(recording.live, 0);
    assert_int_equal(recording.messages, 0);
}

static void test_file_read_at_says_that_the_file_was_truncated(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file *file = NULL;
    char bytes[8];
    const char *path = scratch_write(scratch, "cut", "abcdefgh", 8);
    assert_int_equal(vkf__file_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(truncate(path, 3), 0);
    assert_int_equal(vkf__file_read_at(file, 0, bytes, 3), VKF_OK);
    assert_int_equal(vkf__file_read_at(file, 2, bytes, 4), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "cut: truncated while it was read: it ends before byte 6 of 8"));
    assert_int_equal(vkf__file_check_unchanged(file), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "cut: changed while it was read"));
    vkf__file_close(&file);
    assert_int_equal(recording.live, 0);
}

// A file of the same length, but of another time.
static void test_file_check_unchanged_notices_a_rewrite_in_place(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file *file = NULL;
    const char *path = scratch_write(scratch, "rewritten", "abcd", 4);
    const struct timespec past[2] = {{.tv_sec = 1000}, {.tv_sec = 1000, .tv_nsec = 500000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
    assert_int_equal(vkf__file_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__file_check_unchanged(file), VKF_OK);
    (void)scratch_write(scratch, "rewritten", "efgh", 4);
    assert_int_equal(vkf__file_check_unchanged(file), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "start again when the download or copy has ended"));
    vkf__file_close(&file);
}

static void test_file_stays_itself_when_another_takes_its_name(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file *file = NULL;
    char other[512], bytes[3] = "";
    snprintf(other, sizeof other, "%s", scratch_write(scratch, "other", "new", 3));
    const char *path = scratch_write(scratch, "replaced", "old", 3);
    assert_int_equal(vkf__file_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(rename(other, path), 0);
    assert_int_equal(vkf__file_read_at(file, 0, bytes, 3), VKF_OK);
    assert_memory_equal(bytes, "old", 3);
    assert_int_equal(vkf__file_check_unchanged(file), VKF_OK);
    vkf__file_close(&file);
}

static void test_file_open_refuses_what_is_no_file(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file *file = NULL;
    const char *path = scratch_path(scratch, "absent");
    assert_int_equal(vkf__file_open(&recording.host, path, &file), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "absent: cannot be opened: No such file"));
    assert_int_equal(vkf__file_open(&recording.host, scratch->path, &file), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "directory"));
    path = scratch_path(scratch, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(vkf__file_open(&recording.host, path, &file), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "not a regular file"));
    assert_null(file);
    assert_int_equal(recording.messages, 3);
    assert_int_equal(recording.live, 0);
}

static void test_file_exists_whatever_it_is(void **state)
{
    scratch_directory *scratch = *state;
    assert_false(vkf__file_exists(scratch_path(scratch, "nothing")));
    assert_false(vkf__file_exists(scratch_path(scratch, "nothing/in/it")));
    assert_true(vkf__file_exists(scratch->path));
    assert_true(vkf__file_exists(scratch_write(scratch, "here", "", 0)));
    const char *path = scratch_path(scratch, "dangling");
    assert_int_equal(symlink("nowhere", path), 0);
    assert_true(vkf__file_exists(path));
}

static void test_file_read_gives_the_bytes_of_long_files(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    static uint8_t bytes[200001];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, sizeof bytes};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        vkf__file_bytes whole;
        const char *path = scratch_write(scratch, "long", bytes, sizes[i]);
        assert_int_equal(vkf__file_read(&recording.host, path, sizeof bytes, &whole), VKF_OK);
        assert_int_equal(whole.size_bytes, sizes[i]);
        if (sizes[i] > 0)
            assert_memory_equal(whole.data, bytes, sizes[i]);
        else
            assert_null(whole.data);
        vkf__file_bytes_free(&recording.host, &whole);
        assert_int_equal(recording.live, 0);
    }
}

static void test_file_read_refuses_long_file_directory_and_absent_file(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file_bytes whole = {.size_bytes = 99};
    const char *path = scratch_write(scratch, "eleven", "hello world", 11);
    assert_int_equal(vkf__file_read(&recording.host, path, 10, &whole), VKF_ERROR_FORMAT);
    assert_non_null(strstr(recording.text, "longer than the 10 bytes"));
    assert_int_equal(vkf__file_read(&recording.host, scratch->path, 10, &whole), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "is a directory"));
    assert_int_equal(vkf__file_read(&recording.host, scratch_path(scratch, "absent"), 10, &whole), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "absent"));
    assert_int_equal(whole.size_bytes, 99);
    assert_int_equal(recording.live, 0);
}

static void test_file_read_survives_allocation_failure(void **state)
{
    scratch_directory *scratch = *state;
    static uint8_t bytes[100000];
    const char *path = scratch_write(scratch, "memory", bytes, sizeof bytes);
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    size_t n = 0;
    while (status != VKF_OK && n < 100) {
        recording_host recording;
        recording_host_init(&recording);
        recording.fail_call = ++n;
        vkf__file_bytes whole;
        status = vkf__file_read(&recording.host, path, sizeof bytes, &whole);
        if (status == VKF_OK)
            vkf__file_bytes_free(&recording.host, &whole);
        else
            assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_int_equal(recording.live, 0);
    }
    assert_int_equal(status, VKF_OK);
    assert_in_range(n, 3, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_read_at_gives_the_bytes),
        cmocka_unit_test(test_file_read_at_says_that_the_file_was_truncated),
        cmocka_unit_test(test_file_check_unchanged_notices_a_rewrite_in_place),
        cmocka_unit_test(test_file_stays_itself_when_another_takes_its_name),
        cmocka_unit_test(test_file_open_refuses_what_is_no_file),
        cmocka_unit_test(test_file_exists_whatever_it_is),
        cmocka_unit_test(test_file_read_gives_the_bytes_of_long_files),
        cmocka_unit_test(test_file_read_refuses_long_file_directory_and_absent_file),
        cmocka_unit_test(test_file_read_survives_allocation_failure),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
