// Every public function with NULL for each pointer that it gets, with tensors of another context, and in a child of
// fork().
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep.h"
#include "valid.h"

#define CHILD_SECONDS 300 // then it hangs

typedef struct sweep_counts {
    int run;
    int left_out;
} sweep_counts;

static bool as_expected(const sweep_case *c, vkf_status status)
{
    // Cancelled by valid_vkf_progress_fn(); timings are not there under every profile.
    bool without_times = !valid.info.timestamps && strstr(c->function, "_timings");
    bool well = status == VKF_OK || status == VKF_ERROR_CANCELLED || (status == VKF_ERROR_UNSUPPORTED && without_times);
    switch (c->kind) {
    case SWEEP_VALID:
    case SWEEP_OPTIONAL:
        return well;
    case SWEEP_DEPENDS:
        return well || status == VKF_ERROR_INVALID_ARGUMENT;
    default:
        return status == VKF_ERROR_INVALID_ARGUMENT;
    }
}

// A failure has a sentence, but where the caller has cancelled.
static bool has_sentence(vkf_status status)
{
    return status == VKF_OK || status == VKF_ERROR_CANCELLED ||
           strcmp(vkf_last_error(status), vkf_status_text(status)) != 0;
}

static const char *expectation(sweep_kind kind)
{
    return kind == SWEEP_VALID      ? "success: write what it needs in tests/sweep"
           : kind == SWEEP_OPTIONAL ? "success, or what needs it in DEPENDS of tests/sweep/generate"
           : kind == SWEEP_DEPENDS  ? "success or INVALID_ARGUMENT"
           : kind == SWEEP_FOREIGN  ? "INVALID_ARGUMENT"
                                    : "INVALID_ARGUMENT, or \"optional\" or \"NULL\" in its comment in the header";
}

// One line for each case that is not as expected.
static int sweep(const sweep_function *f, sweep_kind first, sweep_kind last, sweep_counts *counts)
{
    int wrong = 0;
    for (int which = 0; which < f->case_count; which++) {
        const sweep_case *c = &f->cases[which];
        vkf_status status = VKF_OK;
        if (c->kind < first || c->kind > last)
            continue;
        valid.gpu->last_error[0] = '\0';
        if (getenv("VKF_TEST_VERBOSE"))
            fprintf(stderr, "%s: %s\n", c->function, c->what);
        (void)vkf__fail(NULL, VKF_ERROR_INTERNAL, "what no case gives");
        if (!f->run(which, &status)) {
            counts->left_out++;
            continue;
        }
        counts->run++;
        if (!f->fallible || (as_expected(c, status) && has_sentence(status)))
            continue;
        wrong++;
        fprintf(stderr, "%s: %s %s: %s (%s), expected %s\n", c->function, c->what,
                c->kind == SWEEP_FOREIGN ? "of another context"
                : c->kind != SWEEP_VALID ? "NULL"
                                         : "",
                vkf_status_name(status), vkf_last_error(status), expectation(c->kind));
    }
    return wrong;
}

static void sweep_all(void **state, sweep_kind first, sweep_kind last)
{
    vkf_test_gpu *gpu = vkf_test_gpu_of(state);
    sweep_counts counts = {0};
    int wrong = 0;
    valid_make(gpu);
    for (size_t i = 0; i < sweep_function_count; i++)
        wrong += sweep(&sweep_functions[i], first, last, &counts);
    valid_free();
    printf("%zu functions, %d cases, %d left out: tests/sweep/valid_*.c have NULL there\n", sweep_function_count,
           counts.run, counts.left_out);
    assert_true(counts.run > 0);
    assert_int_equal(wrong, 0);
    vkf_test_assert_silent(gpu);
}

static void test_public_functions_with_valid_arguments(void **state)
{
    sweep_all(state, SWEEP_VALID, SWEEP_VALID);
}

static void test_public_functions_with_null(void **state)
{
    sweep_all(state, SWEEP_REQUIRED, SWEEP_DEPENDS);
}

static void test_public_functions_with_tensors_of_another_context(void **state)
{
    sweep_all(state, SWEEP_FOREIGN, SWEEP_FOREIGN);
}

// What works in a child, too: it touches neither the parent's device nor a lock.
static bool works_in_child(const char *function)
{
    static const char *const names[] = {
        "vkf_session_get_attention",      "vkf_session_get_attention_shape", "vkf_session_get_run_cost",
        "vkf_session_get_run_cost_sized", "vkf_vocabulary_encode",           "vkf_vocabulary_decode",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(function, names[i]) == 0)
            return true;
    return false;
}

// Its message names the function that was called, not one that this one calls.
static bool is_refused(const sweep_function *f, vkf_status status)
{
    const char *said = valid.gpu->last_error;
    const char *sized = strstr(f->name, "_sized"); // which the caller did not write
    size_t name = sized ? (size_t)(sized - f->name) : strcspn(f->name, " ");
    return status == VKF_ERROR_INVALID_ARGUMENT && strncmp(said, f->name, name) == 0 && said[name] == ':';
}

static int sweep_in_child(void)
{
    int wrong = 0;
    for (size_t i = 0; i < sweep_function_count; i++) {
        const sweep_function *f = &sweep_functions[i];
        vkf_status status = VKF_OK;
        if (!f->on_device)
            continue;
        valid.gpu->last_error[0] = '\0';
        (void)f->run(0, &status);
        if (!f->fallible || works_in_child(f->name) || is_refused(f, status))
            continue;
        wrong++;
        fprintf(stderr, "%s in a child: %s (%s), expected INVALID_ARGUMENT and a message that names it\n", f->name,
                vkf_status_name(status), valid.gpu->last_error);
    }
    return wrong;
}

static void test_public_functions_in_a_child(void **state)
{
    int how = 0;
    valid_make(vkf_test_gpu_of(state));
    (void)fflush(NULL);
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        _exit(sweep_in_child() == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    valid_free();
    if (WIFSIGNALED(how))
        fail_msg("the child ended by signal %d%s", WTERMSIG(how), WTERMSIG(how) == SIGALRM ? ": it hung" : "");
    assert_int_equal(WEXITSTATUS(how), 0);
}

static int setup(void **state)
{
    vkf_test_gpu *gpu = malloc(sizeof *gpu);
    vkf_context_desc desc = {.timestamps = true};
    *state = gpu;
    return gpu ? vkf_test_gpu_open(gpu, &desc) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_public_functions_with_valid_arguments),
        cmocka_unit_test(test_public_functions_with_null),
        cmocka_unit_test(test_public_functions_with_tensors_of_another_context),
        cmocka_unit_test(test_public_functions_in_a_child),
    };
    return cmocka_run_group_tests(tests, setup, vkf_test_gpu_teardown);
}
