// Runs independent pieces of work on several threads.
#include "base/parallel.h"

#include <pthread.h>
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

void vkf__parallel_run(uint32_t threads, size_t count, void (*run)(void *user, size_t index), void *user)
{
    pieces p = {.run = run, .user = user, .count = count};
    pthread_t others[VKF_PARALLEL_THREADS - 1];
    uint32_t started = 0, wanted = threads < VKF_PARALLEL_THREADS ? threads : VKF_PARALLEL_THREADS;
    while (started + 1 < wanted && started + 1 < count && pthread_create(&others[started], NULL, take_pieces, &p) == 0)
        started++;
    (void)take_pieces(&p);
    for (uint32_t i = 0; i < started; i++)
        (void)pthread_join(others[i], NULL);
}
