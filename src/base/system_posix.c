// Clocks, processes and threads of POSIX.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process.h"
#include "base/system_file.h"

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

static pthread_key_t memory_key;
static pthread_once_t memory_once = PTHREAD_ONCE_INIT;
static bool has_memory_key;

// By free(), which is still there when a thread ends behind this library.
static void make_memory_key(void)
{
    has_memory_key = pthread_key_create(&memory_key, free) == 0;
}

__attribute__((destructor)) static void drop_memory_key(void)
{
    if (!has_memory_key)
        return;
    free(pthread_getspecific(memory_key));
    (void)pthread_key_delete(memory_key);
}

// Not _Thread_local, which on Android is a runtime's work.
void *vkf__thread_memory(void)
{
    if (pthread_once(&memory_once, make_memory_key) != 0 || !has_memory_key)
        return NULL;
    void *memory = pthread_getspecific(memory_key);
    if (memory)
        return memory;
    memory = calloc(1, VKF_THREAD_BYTES);
    if (memory && pthread_setspecific(memory_key, memory) == 0)
        return memory;
    free(memory);
    return NULL;
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

// Reads a text file of the system's; false where there is none.
static bool read_text(const char *path, char *out_text, size_t capacity)
{
    const int descriptor = vkf__open_to_read(path);
    if (descriptor < 0)
        return false;
    const int64_t size = vkf__descriptor_read_at(descriptor, out_text, capacity - 1, 0);
    vkf__descriptor_close(descriptor);
    out_text[size > 0 ? size : 0] = '\0';
    return size > 0;
}

// What Linux says in /proc/ID/stat: ID, the name in parentheses, which may hold anything, the state, and 18 fields
// later when the process started. False elsewhere, and where there is no such process.
static bool read_stat(uint64_t id, char *out_state, uint64_t *out_started)
{
    char path[48], text[1024] = "";
    (void)snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", id);
    const char *name_end = read_text(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    return name_end &&
           sscanf(name_end, ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
                  out_state, out_started) == 2;
}

// The first word of a text.
static void take_word(const char *text, char out_word[41])
{
    if (sscanf(text, "%40s", out_word) != 1)
        (void)snprintf(out_word, 41, "-");
}

static vkf__process_place own_place(void)
{
    char name[256] = "", boot[64] = "";
    struct stat numbers;
    vkf__process_place place = {0};
    if (gethostname(name, sizeof name - 1) != 0)
        name[0] = '\0';
    (void)read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    take_word(name, place.host);
    take_word(boot, place.boot);
    if (stat("/proc/self/ns/pid", &numbers) == 0)
        place.numbers = (uint64_t)numbers.st_ino;
    return place;
}

vkf__process_mark vkf__process_mark_own(void)
{
    char state = 0;
    vkf__process_mark mark = {.id = (uint64_t)getpid(), .place = own_place()};
    if (!read_stat(mark.id, &state, &mark.started))
        mark.started = 0;
    return mark;
}

static bool lives(const vkf__process_mark *mark)
{
    char state = 0;
    uint64_t started = 0;
    if (mark->id == 0 || mark->id > INT_MAX)
        return false;
    if (mark->started == 0)
        return kill((pid_t)mark->id, 0) == 0 || errno == EPERM;
    // A process that has ended is listed until its parent asks how.
    return read_stat(mark->id, &state, &started) && started == mark->started && state != 'Z' && state != 'X';
}

vkf__process_state vkf__process_state_of(const vkf__process_mark *mark)
{
    const vkf__process_place own = own_place();
    if (!vkf__same_place(&own, &mark->place))
        return VKF_PROCESS_ELSEWHERE;
    return lives(mark) ? VKF_PROCESS_LIVES : VKF_PROCESS_ENDED;
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
