// The one place where the library starts threads. They run what the caller waits for, end before it goes on, and call
// nothing of the caller's: neither its allocator nor its message function, nor its progress function.
#ifndef VKF_BASE_PARALLEL_H
#define VKF_BASE_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The most threads that run at once, the caller's included.
#define VKF_PARALLEL_THREADS 8u

// As many as there are processors, up to VKF_PARALLEL_THREADS; at least 1.
uint32_t vkf__parallel_threads(void);

// Calls run(user, i) for each i below `count`, in any order, on up to `threads` threads, of which one is the caller's.
// Where the system has no more threads, fewer do it.
void vkf__parallel_run(uint32_t threads, size_t count, void (*run)(void *user, size_t index), void *user);

// The same on other threads than the caller's, which meanwhile calls tell(teller, pieces done) several times a second,
// first with 0. Once it returns false no further piece is begun; the result is how many were, the first of the list.
size_t vkf__parallel_run_told(uint32_t threads, size_t count, void (*run)(void *user, size_t index), void *user,
                              bool (*tell)(void *teller, size_t done), void *teller);

#endif
