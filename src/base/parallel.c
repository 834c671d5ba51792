// Runs independent pieces of work on several threads.
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/process.h"

typedef struct pieces {
    void (*run)(void *user, size_t index);
    void *user;
    size_t count;
    atomic_size_t next;
} pieces;

uint32_t vkf__parallel_threads(void)
{
    const uint32_t processors = vkf__processors();
    return processors < VKF_PARALLEL_THREADS ? processors : VKF_PARALLEL_THREADS;
}

static void *take_pieces(void *user)
{
    pieces *p = user;
    for (size_t i = atomic_fetch_add(&p->next, 1); i < p->count; i = atomic_fetch_add(&p->next, 1))
        p->run(p->user, i);
    return NULL;
}

// The threads beside the caller's.
typedef struct helpers {
    pieces *work;
    uint32_t most, started;
    pthread_t threads[VKF_PARALLEL_THREADS - 1];
} helpers;

static void start_threads(void *user)
{
    helpers *h = user;
    while (h->started < h->most && pthread_create(&h->threads[h->started], NULL, take_pieces, h->work) == 0)
        h->started++;
}

void vkf__parallel_run(uint32_t threads, size_t count, void (*run)(void *user, size_t index), void *user)
{
    pieces p = {.run = run, .user = user, .count = count};
    helpers others = {.work = &p};
    const size_t wanted = threads < VKF_PARALLEL_THREADS ? threads : VKF_PARALLEL_THREADS;
    const size_t used = wanted < count ? wanted : count;
    others.most = used > 1 ? (uint32_t)used - 1 : 0;
    // Signals of the process are for its own threads.
    if (others.most > 0)
        (void)vkf__without_signals(start_threads, &others);
    (void)take_pieces(&p);
    for (uint32_t i = 0; i < others.started; i++)
        (void)pthread_join(others.threads[i], NULL);
}
