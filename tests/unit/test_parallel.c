// Pieces of work on several threads: each is done once, whatever their number and that of the threads.
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/parallel.h"

enum { MOST = 100 };

static void count(void *user, size_t index)
{
    atomic_fetch_add((atomic_uint *)user + index, 1);
}

static void test_parallel_does_each_piece_once(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 7, MOST};
    static const uint32_t threads[] = {0, 1, 2, VKF_PARALLEL_THREADS, 1000};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
            atomic_uint done[MOST] = {0};
            vkf__parallel_run(threads[t], counts[c], count, done);
            for (size_t i = 0; i < MOST; i++)
                assert_int_equal(atomic_load(&done[i]), i < counts[c]);
        }
}

static void test_parallel_threads_are_bounded(void **state)
{
    (void)state;
    assert_in_range(vkf__parallel_threads(), 1, VKF_PARALLEL_THREADS);
}

typedef struct seen_signals {
    pthread_t caller;
    atomic_int begun;
    bool others_block, caller_blocks;
} seen_signals;

// Two pieces wait for each other, so that each has a thread.
static void look_at_signals(void *user, size_t index)
{
    (void)index;
    seen_signals *seen = user;
    sigset_t set;
    (void)sigemptyset(&set);
    (void)pthread_sigmask(SIG_BLOCK, NULL, &set);
    const bool blocked = sigismember(&set, SIGTERM) == 1;
    if (pthread_equal(pthread_self(), seen->caller))
        seen->caller_blocks = blocked;
    else
        seen->others_block = blocked;
    atomic_fetch_add(&seen->begun, 1);
    while (atomic_load(&seen->begun) < 2)
        (void)sched_yield();
}

static void test_parallel_leaves_signals_to_the_caller(void **state)
{
    (void)state;
    seen_signals seen = {.caller = pthread_self()};
    vkf__parallel_run(2, 2, look_at_signals, &seen);
    assert_true(seen.others_block);
    assert_false(seen.caller_blocks);
    sigset_t after;
    (void)sigemptyset(&after);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &after), 0);
    assert_int_equal(sigismember(&after, SIGTERM), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parallel_does_each_piece_once),
        cmocka_unit_test(test_parallel_threads_are_bounded),
        cmocka_unit_test(test_parallel_leaves_signals_to_the_caller),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
