// Runs independent pieces of work on several threads.
#include "base/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

typedef struct pieces {
    void (*run)(void *user, size_t index);
    void *user;
    size_t count;
    atomic_size_t next;
} pieces;

uint32_t vkf__parallel_threads(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (processors < 1)
        return 1;
    return processors < (long)VKF_PARALLEL_THREADS ? (uint32_t)processors : VKF_PARALLEL_THREADS;
}

static void *take_pieces(void *user)
{
    pieces *p = user;
    for (size_t i = atomic_fetch_add(&p->next, 1); i < p->count; i = atomic_fetch_add(&p->next, 1))
        p->run(p->user, i);
    return NULL;
}

// Signals of the process are for its own threads.
static uint32_t start_threads(pieces *p, uint32_t most, pthread_t *out_threads)
{
    sigset_t all, before;
    uint32_t started = 0;
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return 0;
    while (started < most && pthread_create(&out_threads[started], NULL, take_pieces, p) == 0)
        started++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

void vkf__parallel_run(uint32_t threads, size_t count, void (*run)(void *user, size_t index), void *user)
{
    pieces p = {.run = run, .user = user, .count = count};
    pthread_t others[VKF_PARALLEL_THREADS - 1];
    const size_t wanted = threads < VKF_PARALLEL_THREADS ? threads : VKF_PARALLEL_THREADS;
    const size_t used = wanted < count ? wanted : count;
    const uint32_t started = used > 1 ? start_threads(&p, (uint32_t)used - 1, others) : 0;
    (void)take_pieces(&p);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(others[i], NULL);
}
