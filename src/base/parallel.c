// Runs independent pieces of work on several threads.
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/process.h"

// Between two looks at pieces that others do: a part of the time so far, within bounds.
#define PAUSE_PART 8
#define PAUSE_LEAST_NS 100e3
#define PAUSE_MOST_NS 50e6

typedef struct pieces {
    void (*run)(void *user, size_t index);
    void *user;
    size_t count;
    atomic_size_t next;
    atomic_size_t done;
    atomic_bool stopped;
} pieces;

uint32_t vkf__parallel_threads(void)
{
    const uint32_t processors = vkf__processors();
    return processors < VKF_PARALLEL_THREADS ? processors : VKF_PARALLEL_THREADS;
}

// False at the end of the list, or where no further piece is to be begun.
static bool take_piece(pieces *p, size_t *out_index)
{
    size_t next = atomic_load(&p->next);
    do {
        if (next >= p->count || atomic_load(&p->stopped))
            return false;
    } while (!atomic_compare_exchange_weak(&p->next, &next, next + 1));
    *out_index = next;
    return true;
}

static void *take_pieces(void *user)
{
    pieces *p = user;
    for (size_t i = 0; take_piece(p, &i);) {
        p->run(p->user, i);
        (void)atomic_fetch_add(&p->done, 1);
    }
    return NULL;
}

// The threads beside the caller's.
typedef struct helpers {
    pieces *work;
    uint32_t most, started;
    pthread_t threads[VKF_PARALLEL_THREADS];
} helpers;

static void start_threads(void *user)
{
    helpers *h = user;
    while (h->started < h->most && pthread_create(&h->threads[h->started], NULL, take_pieces, h->work) == 0)
        h->started++;
}

static size_t threads_for(uint32_t threads, size_t count)
{
    const size_t wanted = threads < VKF_PARALLEL_THREADS ? threads : VKF_PARALLEL_THREADS;
    return wanted < count ? wanted : count;
}

static void join(const helpers *h)
{
    for (uint32_t i = 0; i < h->started; i++)
        (void)pthread_join(h->threads[i], NULL);
}

void vkf__parallel_run(uint32_t threads, size_t count, void (*run)(void *user, size_t index), void *user)
{
    pieces p = {.run = run, .user = user, .count = count};
    helpers others = {.work = &p};
    const size_t used = threads_for(threads, count);
    others.most = used > 1 ? (uint32_t)used - 1 : 0;
    // Signals of the process are for its own threads.
    if (others.most > 0)
        (void)vkf__without_signals(start_threads, &others);
    (void)take_pieces(&p);
    join(&others);
}

static void tell_of(pieces *p, bool (*tell)(void *teller, size_t done), void *teller)
{
    const double begin_ns = vkf__now_ns();
    for (size_t done = 0; done < p->count && tell(teller, done); done = atomic_load(&p->done)) {
        const double pause_ns = (vkf__now_ns() - begin_ns) / PAUSE_PART;
        vkf__pause_ns((uint64_t)(pause_ns < PAUSE_LEAST_NS  ? PAUSE_LEAST_NS
                                 : pause_ns > PAUSE_MOST_NS ? PAUSE_MOST_NS
                                                            : pause_ns));
    }
    atomic_store(&p->stopped, true); // which changes nothing where all are done
}

size_t vkf__parallel_run_told(uint32_t threads, size_t count, void (*run)(void *user, size_t index), void *user,
                              bool (*tell)(void *teller, size_t done), void *teller)
{
    pieces p = {.run = run, .user = user, .count = count};
    helpers others = {.work = &p, .most = (uint32_t)threads_for(threads, count)};
    (void)vkf__without_signals(start_threads, &others);
    if (others.started > 0)
        tell_of(&p, tell, teller);
    else if (tell(teller, 0))
        (void)take_pieces(&p);
    join(&others);
    return atomic_load(&p.next);
}
