// Paths of files in a directory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "io/path.h"
#include "recording_host.h"

static void test_path_join(void **state)
{
    recording_host recording;
    char *path = NULL;
    (void)state;
    recording_host_init(&recording);
    assert_int_equal(vkf__path_join(&recording.host, "a/b", "c", &path), VKF_OK);
    assert_string_equal(path, "a/b/c");
    vkf__free(&recording.host, path);
    assert_int_equal(recording.live, 0);
}

// "/config.json" is a file of the root's, which nobody asked for.
static void test_path_join_without_a_directory_is_refused(void **state)
{
    recording_host recording;
    char *path = NULL;
    (void)state;
    recording_host_init(&recording);
    assert_int_equal(vkf__path_join(&recording.host, "", "config.json", &path), VKF_ERROR_INVALID_ARGUMENT);
    assert_null(path);
    assert_non_null(strstr(recording.text, "the directory of config.json is \"\""));
}

static void test_path_is_name(void **state)
{
    (void)state;
    assert_true(vkf__path_is_name("model.safetensors"));
    assert_true(vkf__path_is_name("..name"));
    assert_false(vkf__path_is_name(".."));
    assert_false(vkf__path_is_name("../name"));
    assert_false(vkf__path_is_name("a\\b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path_join),
        cmocka_unit_test(test_path_join_without_a_directory_is_refused),
        cmocka_unit_test(test_path_is_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
