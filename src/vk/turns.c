// A fair lock: each thread draws a ticket and waits until it is served.
#include "vk/turns.h"

vkf_status vkf__turns_init(vkf__turns *turns, const vkf__host *host)
{
    *turns = (vkf__turns){.ready = false};
    if (pthread_mutex_init(&turns->mutex, NULL) != 0)
        goto fail;
    if (pthread_cond_init(&turns->changed, NULL) != 0) {
        pthread_mutex_destroy(&turns->mutex);
        goto fail;
    }
    turns->ready = true;
    return VKF_OK;
fail:
    return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "the system has no mutex left");
}

void vkf__turns_finish(vkf__turns *turns)
{
    if (!turns->ready)
        return;
    pthread_cond_destroy(&turns->changed);
    pthread_mutex_destroy(&turns->mutex);
    turns->ready = false;
}

void vkf__turns_wait(vkf__turns *turns)
{
    pthread_mutex_lock(&turns->mutex);
    uint64_t mine = turns->taken++;
    while (turns->served != mine)
        pthread_cond_wait(&turns->changed, &turns->mutex);
    pthread_mutex_unlock(&turns->mutex);
}

bool vkf__turns_try(vkf__turns *turns)
{
    pthread_mutex_lock(&turns->mutex);
    bool free = turns->taken == turns->served;
    turns->taken += free;
    pthread_mutex_unlock(&turns->mutex);
    return free;
}

void vkf__turns_end(vkf__turns *turns)
{
    pthread_mutex_lock(&turns->mutex);
    turns->served++;
    pthread_cond_broadcast(&turns->changed);
    pthread_mutex_unlock(&turns->mutex);
}
