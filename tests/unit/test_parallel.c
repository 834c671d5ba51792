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

#include "base/clock.h"
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

// What a teller is told, and when it has heard enough.
typedef struct hearer {
    pthread_t caller;
    size_t calls, last, enough;
    bool in_order, by_caller;
} hearer;

static bool hear(void *teller, size_t done)
{
    hearer *h = teller;
    h->in_order = h->in_order && (h->calls == 0 ? done == 0 : done >= h->last);
    h->by_caller = h->by_caller && pthread_equal(pthread_self(), h->caller);
    h->calls++;
    h->last = done;
    return done < h->enough;
}

static hearer make_hearer(size_t enough)
{
    return (hearer){.caller = pthread_self(), .enough = enough, .in_order = true, .by_caller = true};
}

static void count_slowly(void *user, size_t index)
{
    vkf__pause_ns(2000000);
    count(user, index);
}

static void test_parallel_told_does_each_piece_once(void **state)
{
    (void)state;
    static const size_t counts[] = {1, 7, MOST};
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        atomic_uint done[MOST] = {0};
        hearer h = make_hearer(MOST);
        assert_int_equal(vkf__parallel_run_told(4, counts[c], count_slowly, done, hear, &h), counts[c]);
        for (size_t i = 0; i < MOST; i++)
            assert_int_equal(atomic_load(&done[i]), i < counts[c]);
        assert_true(h.calls > 1 && h.in_order && h.by_caller);
    }
}

// The pieces that were begun are done, and are the first of the list.
static void test_parallel_told_stops(void **state)
{
    (void)state;
    for (size_t enough = 0; enough < 3; enough++) {
        atomic_uint done[MOST] = {0};
        hearer h = make_hearer(enough);
        const size_t begun = vkf__parallel_run_told(2, MOST, count_slowly, done, hear, &h);
        assert_true(begun < MOST);
        for (size_t i = 0; i < MOST; i++)
            assert_int_equal(atomic_load(&done[i]), i < begun);
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
        cmocka_unit_test(test_parallel_told_does_each_piece_once),
        cmocka_unit_test(test_parallel_told_stops),
        cmocka_unit_test(test_parallel_threads_are_bounded),
        cmocka_unit_test(test_parallel_leaves_signals_to_the_caller),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
