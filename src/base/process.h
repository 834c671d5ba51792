// This process and its threads. What a system calls this is in system_posix.c and system_windows.c alone.
#ifndef VKF_BASE_PROCESS_H
#define VKF_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// The system's number of this process.
long vkf__process_id(void);

// The same without a call of the system, which a fork handler keeps right. False where the system has no room for the
// handler; it must have been true once before vkf__this_process() is called.
bool vkf__watch_forks(void);
long vkf__this_process(void);

// Memory of the calling thread's, the same at every call and zeros at first, which ends with the thread. NULL where
// there is none.
#define VKF_THREAD_BYTES 4096
void *vkf__thread_memory(void);

// Where a process runs. Numbers of processes are those of one machine, of its run since it was started, and of a
// container. Texts have no blanks.
typedef struct vkf__process_place {
    char host[41];    // the machine's name, of which a long one has the beginning; "-" where the system does not say
    char boot[41];    // the machine's run; "-"
    uint64_t numbers; // the container's, as Linux has namespaces; 0
} vkf__process_place;

// A process, told from an earlier or later one of the same number by when it started, which is counted as the system
// does; 0 where the system does not say.
typedef struct vkf__process_mark {
    uint64_t id;
    uint64_t started;
    vkf__process_place place;
} vkf__process_mark;

typedef enum vkf__process_state {
    VKF_PROCESS_ENDED = 0, // or it never was
    VKF_PROCESS_LIVES,
    VKF_PROCESS_ELSEWHERE, // it cannot be seen from here
} vkf__process_state;

static inline bool vkf__same_place(const vkf__process_place *a, const vkf__process_place *b)
{
    return strcmp(a->host, b->host) == 0 && strcmp(a->boot, b->boot) == 0 && a->numbers == b->numbers;
}

vkf__process_mark vkf__process_mark_own(void);
vkf__process_state vkf__process_state_of(const vkf__process_mark *mark);

// At least 1.
uint32_t vkf__processors(void);
// Lets other threads have the processor.
void vkf__yield(void);

// Calls start(user) while no signal can reach this thread, nor the threads that it starts. False, without a call, where
// signals cannot be held back.
bool vkf__without_signals(void (*start)(void *user), void *user);

#endif
