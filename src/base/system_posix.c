// Clocks, processes and threads of POSIX.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"

static double nanoseconds(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double vkf__now_ns(void)
{
    return nanoseconds(CLOCK_MONOTONIC);
}

double vkf__thread_ns(void)
{
    return nanoseconds(CLOCK_THREAD_CPUTIME_ID);
}

void vkf__pause_ns(uint64_t duration_ns)
{
    const struct timespec pause = {(time_t)(duration_ns / 1000000000u), (long)(duration_ns % 1000000000u)};
    (void)nanosleep(&pause, NULL);
}

bool vkf__calendar(time_t time, struct tm *out_date)
{
    return gmtime_r(&time, out_date) != NULL;
}

long vkf__process_id(void)
{
    return (long)getpid();
}

static atomic_long this_process;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;
static int atfork_result;

static void note_process(void)
{
    atomic_store(&this_process, (long)getpid());
}

static void watch(void)
{
    note_process();
    atfork_result = pthread_atfork(NULL, NULL, note_process);
}

bool vkf__watch_forks(void)
{
    (void)pthread_once(&process_once, watch);
    return atfork_result == 0;
}

long vkf__this_process(void)
{
    return atomic_load_explicit(&this_process, memory_order_relaxed);
}

uint32_t vkf__processors(void)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    return processors < 1 ? 1 : (uint32_t)processors;
}

void vkf__yield(void)
{
    (void)sched_yield();
}

bool vkf__without_signals(void (*start)(void *user), void *user)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    start(user);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return true;
}
