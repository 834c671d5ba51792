// Pieces of work on several threads: each is done once, whatever their number and that of the threads.
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parallel_does_each_piece_once),
        cmocka_unit_test(test_parallel_threads_are_bounded),
    };
    return cmocka_run_group_tests_name("parallel", tests, NULL, NULL);
}
