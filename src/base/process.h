// This process and its threads. What a system calls this is in system_posix.c and system_windows.c alone.
#ifndef VKF_BASE_PROCESS_H
#define VKF_BASE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

// The system's number of this process.
long vkf__process_id(void);

// The same without a call of the system, which a fork handler keeps right. False where the system has no room for the
// handler; it must have been true once before vkf__this_process() is called.
bool vkf__watch_forks(void);
long vkf__this_process(void);

// A process, told from an earlier or later one of the same number by when it started, which is counted as the system
// does; 0 where the system does not say.
typedef struct vkf__process_mark {
    uint64_t id;
    uint64_t started;
} vkf__process_mark;

vkf__process_mark vkf__process_mark_own(void);
// Whether the process is there and has not ended. One that another machine or container runs is not seen.
bool vkf__process_lives(const vkf__process_mark *mark);

// At least 1.
uint32_t vkf__processors(void);
// Lets other threads have the processor.
void vkf__yield(void);

// Calls start(user) while no signal can reach this thread, nor the threads that it starts. False, without a call, where
// signals cannot be held back.
bool vkf__without_signals(void (*start)(void *user), void *user);

#endif
