// The caller's allocator and messages.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "recording_host.h"

static vkf_status fail_through_try(const vkf__host *host, vkf_status first, size_t count, int **out_values)
{
    vkf_status status = VKF_OK;
    VKF_TRY(first);
    VKF_ALLOC(host, *out_values, count);
    return VKF_OK;
fail:
    return status;
}

static void test_host_init_defaults_to_malloc(void **state)
{
    (void)state;
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_WARNING), VKF_OK);
    assert_int_equal(host.min_severity, VKF_SEVERITY_WARNING);
    unsigned char *memory = vkf__alloc(&host, 3, 5);
    assert_non_null(memory);
    for (size_t i = 0; i < 15; i++)
        assert_int_equal(memory[i], 0);
    vkf__free(&host, memory);
    vkf__free(&host, NULL);
    vkf__log(&host, VKF_SEVERITY_ERROR, "nobody listens");
}

static void test_host_init_takes_zeroed_allocator_as_default(void **state)
{
    (void)state;
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, &(vkf_allocator){0}, NULL, NULL, VKF_SEVERITY_DEBUG), VKF_OK);
    assert_non_null(host.allocator.allocate);
    assert_non_null(host.allocator.release);
}

static void test_host_init_takes_the_callers_allocator(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__host host;
    vkf_allocator allocator = {recording_allocate, recording_release, &recording};
    assert_int_equal(vkf__host_init(&host, &allocator, NULL, NULL, VKF_SEVERITY_DEBUG), VKF_OK);
    void *memory = vkf__alloc(&host, 1, 24);
    assert_int_equal(recording.live_bytes, 24);
    vkf__free(&host, memory);
    assert_int_equal(recording.live, 0);
}

static void test_host_init_refuses_half_an_allocator(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__host host = {.min_severity = VKF_SEVERITY_INFO};
    vkf_allocator allocator = {.allocate = recording_allocate};
    assert_int_equal(vkf__host_init(&host, &allocator, recording_message, &recording, VKF_SEVERITY_DEBUG),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(recording.text, "only allocate is set"));
    allocator = (vkf_allocator){.release = recording_release};
    assert_int_equal(vkf__host_init(&host, &allocator, recording_message, &recording, VKF_SEVERITY_DEBUG),
                     VKF_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(recording.text, "only release is set"));
    assert_null(host.allocator.allocate);
    assert_int_equal(host.min_severity, VKF_SEVERITY_INFO);
}

static void test_log_drops_what_is_below_min_severity(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    recording.host.min_severity = VKF_SEVERITY_WARNING;
    vkf__log(&recording.host, VKF_SEVERITY_INFO, "quiet");
    assert_int_equal(recording.messages, 0);
    vkf__log(&recording.host, VKF_SEVERITY_WARNING, "number %d", 7);
    assert_int_equal(recording.messages, 1);
    assert_int_equal(recording.severity, VKF_SEVERITY_WARNING);
    assert_string_equal(recording.text, "number 7");
}

static void test_fail_reports_error_and_returns_status(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    assert_int_equal(vkf__fail(&recording.host, VKF_ERROR_FILE, "%s: gone", "a.json"), VKF_ERROR_FILE);
    assert_int_equal(recording.severity, VKF_SEVERITY_ERROR);
    assert_string_equal(recording.text, "a.json: gone");
    assert_int_equal(recording.calls, 0);
}

// What a file has in a name must not steer the terminal that shows the message.
static void test_log_shows_control_characters(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"a\x1b]0;b\a\x1b[2J\x7f", "a\\u001b]0;b\\u0007\\u001b[2J\\u007f"},
        {"\xc2\x9b"
         "1m \xc2\xa0\xc3\xa9",
         "\\u009b1m \xc2\xa0\xc3\xa9"},
        {"line\n\tnext\r", "line\n\tnext\\u000d"},
        {"\xc2", "\xc2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        recording_host recording;
        recording_host_init(&recording);
        (void)vkf__fail(&recording.host, VKF_ERROR_FORMAT, "%s", rows[i][0]);
        assert_string_equal(recording.text, rows[i][1]);
    }
    char many[3000];
    recording_host recording;
    recording_host_init(&recording);
    memset(many, 0x1b, sizeof many - 1);
    many[sizeof many - 1] = '\0';
    (void)vkf__fail(&recording.host, VKF_ERROR_FORMAT, "%s", many);
    assert_null(strchr(recording.text, 0x1b));
    assert_string_equal(recording.text + strlen(recording.text) - 3, "...");
}

// "é" is two bytes; whichever way the cut falls, none may be left alone.
static void test_log_cuts_long_message_between_code_points(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    for (size_t lead = 0; lead < 2; lead++) {
        char text[4001];
        memset(text, 'x', lead);
        for (size_t i = lead; i + 1 < sizeof text - 1; i += 2)
            memcpy(text + i, "\xc3\xa9", 2);
        text[sizeof text - 2 + lead % 2] = '\0';
        vkf__log(&recording.host, VKF_SEVERITY_INFO, "%s", text);
        size_t length = strlen(recording.text);
        assert_in_range(length, 2000, 2047);
        assert_string_equal(recording.text + length - 3, "...");
        assert_int_equal((unsigned char)recording.text[length - 4], 0xa9);
        assert_memory_equal(recording.text, text, length - 3);
    }
}

static void test_alloc_refuses_zero_and_overflow(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    assert_null(vkf__alloc(&recording.host, 0, 8));
    assert_null(vkf__alloc(&recording.host, 8, 0));
    assert_null(vkf__alloc(&recording.host, SIZE_MAX / 2, 3));
    assert_int_equal(recording.calls, 0);
    assert_int_equal(recording.messages, 0);
}

// What has no elements is no failure.
static vkf_status allocate_nothing(const vkf__host *host, uint32_t **out_values)
{
    vkf_status status = VKF_OK;
    VKF_ALLOC(host, *out_values, 0);
fail:
    return status;
}

static void test_alloc_array_of_no_elements(void **state)
{
    (void)state;
    recording_host recording;
    uint32_t *values = NULL;
    recording_host_init(&recording);
    assert_int_equal(allocate_nothing(&recording.host, &values), VKF_OK);
    assert_non_null(values);
    assert_null(vkf__alloc_array(&recording.host, SIZE_MAX / 2, 3));
    assert_int_equal(recording.messages, 0);
    vkf__free(&recording.host, values);
}

static void test_alloc_zeroes_memory_of_the_callers_allocator(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    uint32_t *values = vkf__alloc(&recording.host, 4, sizeof *values);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(values[i], 0);
    assert_int_equal(recording.live_bytes, 16);
    vkf__free(&recording.host, values);
    assert_int_equal(recording.live, 0);
}

static void test_strdup_copies_or_gives_null(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    char *copy = vkf__strdup(&recording.host, "query");
    assert_string_equal(copy, "query");
    vkf__free(&recording.host, copy);
    recording.fail_call = 2;
    assert_null(vkf__strdup(&recording.host, "key"));
    assert_int_equal(recording.live, 0);
}

static void test_grow_keeps_content_and_doubles(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    void *array = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(vkf__grow(&recording.host, &array, sizeof i, i, &capacity, i + 1), VKF_OK);
        ((uint32_t *)array)[i] = i * i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(((uint32_t *)array)[i], i * i);
    assert_in_range(capacity, 1000, 2000);
    assert_in_range(recording.calls, 2, 10);
    vkf__free(&recording.host, array);
    assert_int_equal(recording.live, 0);
}

static void test_grow_leaves_array_as_it_was_on_failure(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    uint32_t values[3] = {1, 2, 3};
    void *array = values;
    size_t capacity = 3;
    recording.fail_call = 1;
    assert_int_equal(vkf__grow(&recording.host, &array, 4, 3, &capacity, 4), VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(vkf__grow(&recording.host, &array, 4, 3, &capacity, SIZE_MAX / 2), VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_ptr_equal(array, values);
    assert_int_equal(capacity, 3);
    assert_int_equal(recording.messages, 2);
}

static void test_try_and_alloc_macros_go_to_fail(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    int *values = NULL;
    assert_int_equal(fail_through_try(&recording.host, VKF_ERROR_FORMAT, 1, &values), VKF_ERROR_FORMAT);
    assert_int_equal(recording.calls, 0);
    recording.fail_call = 1;
    assert_int_equal(fail_through_try(&recording.host, VKF_OK, 5, &values), VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_non_null(strstr(recording.text, "fail_through_try"));
    assert_int_equal(fail_through_try(&recording.host, VKF_OK, 5, &values), VKF_OK);
    assert_int_equal(recording.live_bytes, 5 * sizeof(int));
    vkf__free(&recording.host, values);
}

static void *fail_elsewhere(void *user)
{
    (void)vkf__fail(user, VKF_ERROR_FILE, "of another thread");
    return (void *)vkf_last_error(VKF_ERROR_FILE);
}

static void test_last_error_is_the_threads_own(void **state)
{
    (void)state;
    vkf__host host;
    pthread_t thread;
    void *said = NULL;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_VALIDATION), VKF_OK);
    assert_int_equal(vkf__fail(&host, VKF_ERROR_FILE, "no %s", "file"), VKF_ERROR_FILE);
    const char *own = vkf_last_error(VKF_ERROR_FILE);
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &host), 0);
    assert_int_equal(pthread_join(thread, &said), 0);
    assert_ptr_not_equal(said, own);
    assert_string_equal(own, "no file");
    assert_string_equal(vkf_last_error(VKF_ERROR_FILE), "no file");
}

static void test_last_error_of_what_said_nothing_is_the_statuss_text(void **state)
{
    (void)state;
    (void)vkf__fail(NULL, VKF_ERROR_FILE, "nobody listens");
    assert_string_equal(vkf_last_error(VKF_ERROR_FILE), "nobody listens");
    assert_string_equal(vkf_last_error(VKF_ERROR_CANCELLED), vkf_status_text(VKF_ERROR_CANCELLED));
    assert_string_equal(vkf_last_error(VKF_OK), vkf_status_text(VKF_OK));
    assert_string_equal(vkf_last_error((vkf_status)1000), "unknown status");
}

static void test_null_argument_names_the_function_that_was_called(void **state)
{
    (void)state;
    assert_int_equal(vkf__null_argument("vkf_gemm_sized"), VKF_ERROR_INVALID_ARGUMENT);
    assert_string_equal(vkf_last_error(VKF_ERROR_INVALID_ARGUMENT),
                        "vkf_gemm: an argument is NULL that has to be given");
}

static void test_last_limit_is_that_of_the_last_failure(void **state)
{
    (void)state;
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_DEBUG), VKF_OK);
    (void)vkf__fail(vkf__limited(&host, "max_batch", 3, 2), VKF_ERROR_TOO_LARGE, "three");
    assert_string_equal(vkf__last_limit().what, "max_batch");
    assert_int_equal(vkf__last_limit().asked, 3);
    (void)vkf__fail(&host, VKF_ERROR_TOO_LARGE, "something else");
    assert_null(vkf__last_limit().what);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_host_init_defaults_to_malloc),
        cmocka_unit_test(test_host_init_takes_zeroed_allocator_as_default),
        cmocka_unit_test(test_host_init_takes_the_callers_allocator),
        cmocka_unit_test(test_host_init_refuses_half_an_allocator),
        cmocka_unit_test(test_log_drops_what_is_below_min_severity),
        cmocka_unit_test(test_fail_reports_error_and_returns_status),
        cmocka_unit_test(test_log_cuts_long_message_between_code_points),
        cmocka_unit_test(test_log_shows_control_characters),
        cmocka_unit_test(test_alloc_refuses_zero_and_overflow),
        cmocka_unit_test(test_alloc_array_of_no_elements),
        cmocka_unit_test(test_alloc_zeroes_memory_of_the_callers_allocator),
        cmocka_unit_test(test_strdup_copies_or_gives_null),
        cmocka_unit_test(test_grow_keeps_content_and_doubles),
        cmocka_unit_test(test_grow_leaves_array_as_it_was_on_failure),
        cmocka_unit_test(test_try_and_alloc_macros_go_to_fail),
        cmocka_unit_test(test_last_error_is_the_threads_own),
        cmocka_unit_test(test_last_error_of_what_said_nothing_is_the_statuss_text),
        cmocka_unit_test(test_null_argument_names_the_function_that_was_called),
        cmocka_unit_test(test_last_limit_is_that_of_the_last_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
