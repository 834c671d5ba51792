// A lock that is given to waiting threads in the order of their arrival. A thread with long work, which gives the lock
// back between parts, delays the others by one part. A mutex might go straight back to the thread that released it.
#ifndef VKF_VK_TURNS_H
#define VKF_VK_TURNS_H

#include <pthread.h>

#include "base/host.h"

typedef struct vkf__turns {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t taken;  // tickets drawn so far
    uint64_t served; // tickets whose holders are done
    bool ready;
} vkf__turns;

// Statuses: OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__turns_init(vkf__turns *turns, const vkf__host *host);
// Nobody may wait any more. Accepts {0}.
void vkf__turns_finish(vkf__turns *turns);

void vkf__turns_wait(vkf__turns *turns);
// Takes the lock if nobody has it or waits for it.
bool vkf__turns_try(vkf__turns *turns);
void vkf__turns_end(vkf__turns *turns);

#endif
