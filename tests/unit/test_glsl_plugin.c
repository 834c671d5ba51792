// The plug-in that compiles GLSL: none, one of another version, and what is none at all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/glsl.h"

#include "recording_host.h"

static void assert_refused(const char *path, const char *const *sentences)
{
    recording_host recording;
    vkf__glsl glsl;
    recording_host_init(&recording);
    assert_int_equal(vkf__glsl_open_file(&recording.host, path, &glsl), VKF_ERROR_UNSUPPORTED);
    assert_int_equal(recording.messages, 1);
    assert_null(glsl.library);
    assert_null(glsl.plugin);
    for (size_t i = 0; sentences[i]; i++)
        if (!strstr(recording.text, sentences[i]))
            fail_msg("'%s' is not in: %s", sentences[i], recording.text);
}

static void test_glsl_open_file_missing_says_what_to_install(void **state)
{
    static const char *const sentences[] = {"no GLSL compiler", "/nowhere/" VKF_GLSL_PLUGIN_FILE, "component glsl",
                                            "VKF_RUNTIME_GLSL=ON", NULL};
    (void)state;
    assert_refused("/nowhere/" VKF_GLSL_PLUGIN_FILE, sentences);
}

static void test_glsl_open_file_other_version_names_both(void **state)
{
    static const char *const sentences[] = {"vkformer 9.8.7", "interface 2", "needs interface 1", "component glsl",
                                            NULL};
    (void)state;
    assert_refused(VKF_TEST_OTHER_PLUGIN, sentences);
}

static void test_glsl_open_file_other_library_is_no_plugin(void **state)
{
    static const char *const sentences[] = {"libm.so.6 has no function vkf_glsl_plugin_get", NULL};
    (void)state;
    assert_refused("libm.so.6", sentences);
}

static void test_glsl_close_closed_does_nothing(void **state)
{
    vkf__glsl glsl = {0};
    (void)state;
    vkf__glsl_close(&glsl);
    assert_null(glsl.library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_glsl_open_file_missing_says_what_to_install),
        cmocka_unit_test(test_glsl_open_file_other_version_names_both),
        cmocka_unit_test(test_glsl_open_file_other_library_is_no_plugin),
        cmocka_unit_test(test_glsl_close_closed_does_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
