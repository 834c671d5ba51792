// Whether a process lives: this one, a child while it runs, and one that was killed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"

// A child that says in the pipe who it is, and stays until it is killed.
static pid_t start_child(vkf__process_mark *out_mark)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_int_not_equal(child, -1);
    if (child == 0) {
        const vkf__process_mark own = vkf__process_mark_own();
        if (write(ends[1], &own, sizeof own) == sizeof own)
            (void)pause();
        _exit(1);
    }
    assert_int_equal(read(ends[0], out_mark, sizeof *out_mark), sizeof *out_mark);
    assert_true(close(ends[0]) == 0 && close(ends[1]) == 0);
    return child;
}

static void test_this_process_lives(void **state)
{
    (void)state;
    const vkf__process_mark own = vkf__process_mark_own();
    assert_true(own.id == (uint64_t)getpid());
    assert_int_equal(vkf__process_state_of(&own), VKF_PROCESS_LIVES);
#if defined(__linux__)
    assert_true(own.started > 0);
#endif
}

// Its number is that of another process by now.
static void test_one_of_another_start_does_not(void **state)
{
    (void)state;
    vkf__process_mark other = vkf__process_mark_own();
    if (other.started == 0)
        skip();
    other.started++;
    assert_int_equal(vkf__process_state_of(&other), VKF_PROCESS_ENDED);
}

static void test_numbers_of_no_process(void **state)
{
    (void)state;
    const uint64_t numbers[] = {0, UINT64_C(0xffffffff), UINT64_MAX};
    vkf__process_mark none = vkf__process_mark_own();
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        none.id = numbers[i];
        for (none.started = 0; none.started < 2; none.started++)
            assert_int_equal(vkf__process_state_of(&none), VKF_PROCESS_ENDED);
    }
}

// Nothing is known of a process on another machine, in another run of this one, or in another container.
static void test_processes_elsewhere(void **state)
{
    (void)state;
    const vkf__process_mark own = vkf__process_mark_own();
    vkf__process_mark host = own, boot = own, numbers = own;
    (void)snprintf(host.place.host, sizeof host.place.host, "another");
    (void)snprintf(boot.place.boot, sizeof boot.place.boot, "earlier");
    numbers.place.numbers++;
    assert_int_equal(vkf__process_state_of(&host), VKF_PROCESS_ELSEWHERE);
    assert_int_equal(vkf__process_state_of(&boot), VKF_PROCESS_ELSEWHERE);
    assert_int_equal(vkf__process_state_of(&numbers), VKF_PROCESS_ELSEWHERE);
#if defined(__linux__)
    assert_true(own.place.numbers > 0);
    assert_int_equal(strlen(own.place.boot), 36);
#endif
}

// Without the time of the start the number alone has to do, and a child counts until its parent has asked for it.
static void test_a_child_lives_until_it_is_killed(void **state)
{
    (void)state;
    vkf__process_mark mark;
    pid_t child = start_child(&mark);
    vkf__process_mark number = mark;
    number.started = 0;
    assert_true(mark.id == (uint64_t)child);
    assert_int_equal(vkf__process_state_of(&mark), VKF_PROCESS_LIVES);
    assert_int_equal(vkf__process_state_of(&number), VKF_PROCESS_LIVES);
    siginfo_t how;
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT), 0);
    assert_true(mark.started == 0 || vkf__process_state_of(&mark) == VKF_PROCESS_ENDED);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(vkf__process_state_of(&mark), VKF_PROCESS_ENDED);
    assert_int_equal(vkf__process_state_of(&number), VKF_PROCESS_ENDED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_this_process_lives),
        cmocka_unit_test(test_one_of_another_start_does_not),
        cmocka_unit_test(test_numbers_of_no_process),
        cmocka_unit_test(test_processes_elsewhere),
        cmocka_unit_test(test_a_child_lives_until_it_is_killed),
    };
    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
