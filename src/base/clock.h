// Clocks. What a system calls them is in system_posix.c and system_windows.c alone.
#ifndef VKF_BASE_CLOCK_H
#define VKF_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// The monotonic clock in nanoseconds, exact to one of them for a hundred days.
double vkf__now_ns(void);
// What the calling thread has computed so far.
double vkf__thread_ns(void);
// A handled signal may end the pause early.
void vkf__pause_ns(uint64_t duration_ns);
// The calendar's date in UTC. False where the system cannot tell.
bool vkf__calendar(time_t time, struct tm *out_date);

#endif
