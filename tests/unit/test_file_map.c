#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "io/file_map.h"
#include "io/new_file.h"
#include "recording_host.h"
#include "scratch_directory.h"

static void test_file_map_open_gives_the_bytes(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file_map map;
    const char *path = scratch_write(scratch, "bytes", "ab\0c", 4);
    assert_int_equal(vkf__file_map_open(&recording.host, path, &map), VKF_OK);
    assert_int_equal(map.size_bytes, 4);
    assert_memory_equal(map.data, "ab\0c", 4);
    vkf__file_map_close(&recording.host, &map);
    assert_null(map.data);
    assert_int_equal(map.size_bytes, 0);
    assert_int_equal(recording.live, 0);
}

static void test_file_map_open_of_empty_file_has_no_data(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file_map map = {.data = (const uint8_t *)"x", .size_bytes = 1};
    const char *path = scratch_write(scratch, "empty", "", 0);
    assert_int_equal(vkf__file_map_open(&recording.host, path, &map), VKF_OK);
    assert_null(map.data);
    assert_int_equal(map.size_bytes, 0);
    vkf__file_map_close(&recording.host, &map);
}

static void test_file_map_open_refuses_what_is_no_file(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file_map map = {.size_bytes = 99};
    const char *path = scratch_path(scratch, "absent");
    assert_int_equal(vkf__file_map_open(&recording.host, path, &map), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "absent: cannot be opened: No such file"));
    assert_int_equal(vkf__file_map_open(&recording.host, scratch->path, &map), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "directory"));
    path = scratch_path(scratch, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(vkf__file_map_open(&recording.host, path, &map), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "not a regular file"));
    assert_int_equal(map.size_bytes, 99);
    assert_int_equal(recording.messages, 3);
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
        vkf__file_map map;
        const char *path = scratch_write(scratch, "long", bytes, sizes[i]);
        assert_int_equal(vkf__file_read(&recording.host, path, sizeof bytes, &map), VKF_OK);
        assert_int_equal(map.size_bytes, sizes[i]);
        if (sizes[i] > 0)
            assert_memory_equal(map.data, bytes, sizes[i]);
        else
            assert_null(map.data);
        vkf__file_map_close(&recording.host, &map);
        assert_int_equal(recording.live, 0);
    }
}

static void test_file_read_refuses_long_file_directory_and_absent_file(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__file_map map = {.size_bytes = 99};
    const char *path = scratch_write(scratch, "eleven", "hello world", 11);
    assert_int_equal(vkf__file_read(&recording.host, path, 10, &map), VKF_ERROR_FORMAT);
    assert_non_null(strstr(recording.text, "longer than the 10 bytes"));
    assert_int_equal(vkf__file_read(&recording.host, scratch->path, 10, &map), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "is a directory"));
    assert_int_equal(vkf__file_read(&recording.host, scratch_path(scratch, "absent"), 10, &map), VKF_ERROR_FILE);
    assert_non_null(strstr(recording.text, "absent"));
    assert_int_equal(map.size_bytes, 99);
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
        vkf__file_map map;
        status = vkf__file_read(&recording.host, path, sizeof bytes, &map);
        if (status == VKF_OK)
            vkf__file_map_close(&recording.host, &map);
        else
            assert_int_equal(status, VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_int_equal(recording.live, 0);
    }
    assert_int_equal(status, VKF_OK);
    assert_in_range(n, 3, 99);
}

static void test_new_file_appears_on_commit_alone(void **state)
{
    scratch_directory *scratch = *state;
    scratch_list(scratch, 1);
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_file file;
    char path[512];
    snprintf(path, sizeof path, "%s", scratch_path(scratch, "new"));
    assert_int_equal(vkf__new_file_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__new_file_write(&file, "abc", 3), VKF_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(vkf__new_file_commit(&file), VKF_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(scratch_list(scratch, 0), 1);
    vkf__new_file_discard(&file);
    assert_int_equal(scratch_list(scratch, 0), 1);
    assert_int_equal(recording.live, 0);
}

static void test_new_file_discard_leaves_the_old_one(void **state)
{
    scratch_directory *scratch = *state;
    scratch_list(scratch, 1);
    recording_host recording;
    recording_host_init(&recording);
    vkf__new_file file;
    vkf__new_file second = {0};
    const char *path = scratch_write(scratch, "kept", "old", 3);
    assert_int_equal(vkf__new_file_open(&recording.host, path, &file), VKF_OK);
    assert_int_equal(vkf__new_file_open(&recording.host, path, &second), VKF_ERROR_FILE);
    assert_null(second.host);
    assert_int_equal(vkf__new_file_write(&file, "newer", 5), VKF_OK);
    vkf__new_file_discard(&file);
    vkf__file_map map;
    assert_int_equal(vkf__file_read(&recording.host, path, 10, &map), VKF_OK);
    assert_memory_equal(map.data, "old", 3);
    vkf__file_map_close(&recording.host, &map);
    assert_int_equal(scratch_list(scratch, 0), 1);
    assert_int_equal(recording.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_map_open_gives_the_bytes),
        cmocka_unit_test(test_file_map_open_of_empty_file_has_no_data),
        cmocka_unit_test(test_file_map_open_refuses_what_is_no_file),
        cmocka_unit_test(test_file_read_gives_the_bytes_of_long_files),
        cmocka_unit_test(test_file_read_refuses_long_file_directory_and_absent_file),
        cmocka_unit_test(test_file_read_survives_allocation_failure),
        cmocka_unit_test(test_new_file_appears_on_commit_alone),
        cmocka_unit_test(test_new_file_discard_leaves_the_old_one),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
