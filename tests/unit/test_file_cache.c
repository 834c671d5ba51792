// A cache in files: what was saved is there, whole, and a directory that cannot be used costs one warning.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/directories.h"
#include "base/file_cache.h"
#include "recording_host.h"
#include "scratch_directory.h"

typedef struct fixture {
    recording_host recording;
    vkf__file_cache cache;
} fixture;

static void open_cache(fixture *f, const char *directory)
{
    recording_host_init(&f->recording);
    assert_int_equal(vkf__file_cache_init(&f->recording.host, directory, &f->cache), VKF_OK);
}

static void close_cache(fixture *f, size_t messages)
{
    vkf__file_cache_finish(&f->cache);
    vkf__file_cache_finish(&f->cache);
    assert_int_equal(f->recording.live, 0);
    assert_int_equal(f->recording.messages, messages);
}

static void assert_blob(fixture *f, const char *key, const char *text)
{
    char loaded[8] = "-------";
    assert_int_equal(vkf__file_cache_load(&f->cache, key, NULL, 0), strlen(text));
    assert_int_equal(vkf__file_cache_load(&f->cache, key, loaded, 2), strlen(text));
    assert_string_equal(loaded, "-------");
    assert_int_equal(vkf__file_cache_load(&f->cache, key, loaded, sizeof loaded), strlen(text));
    assert_memory_equal(loaded, text, strlen(text));
}

static uint32_t files_in(const char *directory)
{
    uint32_t count = 0;
    vkf__listing *listing = vkf__listing_open(directory);
    while (listing && vkf__listing_next(listing))
        count++;
    vkf__listing_close(listing);
    return count;
}

static void test_file_cache_gives_what_was_saved_last(void **state)
{
    const char *directory = scratch_path(*state, "cache/below");
    fixture f;
    open_cache(&f, directory);
    assert_blob(&f, "key", "");
    vkf__file_cache_save(&f.cache, "key", "older", 5);
    vkf__file_cache_save(&f.cache, "other", "x", 1);
    assert_blob(&f, "key", "older");
    vkf__file_cache_save(&f.cache, "key", "new", 3);
    assert_blob(&f, "key", "new");
    assert_int_equal(files_in(directory), 2); // nothing temporary is left
    vkf__file_cache_save(&f.cache, "key", NULL, 0);
    vkf__file_cache_save(&f.cache, "other", NULL, 0);
    assert_blob(&f, "key", "");
    assert_int_equal(files_in(directory), 0);
    close_cache(&f, 0);
    assert_int_equal(vkf__directory_remove(directory), 0);
    assert_int_equal(vkf__directory_remove(scratch_path(*state, "cache")), 0);
}

static void test_file_cache_stays_in_its_directory(void **state)
{
    static const char *const keys[] = {"", ".", "..", ".hidden", "../key", "a/b"};
    fixture f;
    open_cache(&f, scratch_path(*state, ""));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        assert_null(vkf__file_cache_path(&f.cache, keys[i]));
        vkf__file_cache_save(&f.cache, keys[i], "x", 1);
        assert_int_equal(vkf__file_cache_load(&f.cache, keys[i], NULL, 0), 0);
    }
    close_cache(&f, 0);
}

static void test_file_cache_warns_once_where_it_cannot_write(void **state)
{
    const char *file = scratch_write(*state, "file", "", 0);
    fixture f;
    open_cache(&f, file);
    for (int i = 0; i < 2; i++)
        vkf__file_cache_save(&f.cache, "key", "x", 1);
    assert_int_equal(f.recording.severity, VKF_SEVERITY_WARNING);
    assert_non_null(strstr(f.recording.text, file));
    close_cache(&f, 1);
}

static void test_file_cache_of_no_name_is_the_users(void **state)
{
    const char *base = scratch_path(*state, "");
    fixture f;
    assert_int_equal(setenv("XDG_CACHE_HOME", base, 1), 0);
    open_cache(&f, "");
    assert_memory_equal(f.cache.directory, base, strlen(base));
    assert_non_null(strstr(f.cache.directory, "/vkformer"));
    close_cache(&f, 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    assert_int_equal(setenv("HOME", "/home/somebody", 1), 0);
    open_cache(&f, "");
    assert_string_equal(f.cache.directory, "/home/somebody/.cache/vkformer");
    close_cache(&f, 0);
    assert_int_equal(unsetenv("HOME"), 0);
    open_cache(&f, "");
    vkf__file_cache_save(&f.cache, "key", "x", 1);
    assert_int_equal(vkf__file_cache_load(&f.cache, "key", NULL, 0), 0);
    close_cache(&f, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_cache_gives_what_was_saved_last),
        cmocka_unit_test(test_file_cache_stays_in_its_directory),
        cmocka_unit_test(test_file_cache_warns_once_where_it_cannot_write),
        cmocka_unit_test(test_file_cache_of_no_name_is_the_users),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
