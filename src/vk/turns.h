// A lock that is given to those who wait in the order of their coming. Somebody with long work, who gives it back
// between the parts, holds up the others for one part; a mutex may be taken again at once by the one that gave it back.
#ifndef VKF_VK_TURNS_H
#define VKF_VK_TURNS_H

#include <pthread.h>

#include "base/host.h"

typedef struct vkf__turns {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t taken;  // how many came so far
    uint64_t served; // how many of them are done
    bool ready;
} vkf__turns;

// Statuses: OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__turns_init(vkf__turns *turns, const vkf__host *host);
// Nobody waits any more. {0} is fine.
void vkf__turns_finish(vkf__turns *turns);

void vkf__turns_wait(vkf__turns *turns);
void vkf__turns_end(vkf__turns *turns);

#endif
