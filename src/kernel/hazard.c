// Compares each dispatch's accesses with those since the last barrier.
#include "kernel/hazard.h"

#include <string.h>

void vkf__hazards_init(vkf__hazards *hazards, const vkf__host *host)
{
    *hazards = (vkf__hazards){.host = host};
}

void vkf__hazards_finish(vkf__hazards *hazards)
{
    vkf__free(hazards->host, hazards->accesses);
    hazards->accesses = NULL;
    hazards->count = hazards->capacity = 0;
}

static bool conflict(const vkf__access *a, const vkf__access *b)
{
    return (a->write || b->write) && a->buffer == b->buffer && a->begin < b->end && b->begin < a->end;
}

vkf_status vkf__hazards_add(vkf__hazards *hazards, const vkf__access *accesses, size_t count, bool *out_barrier)
{
    bool barrier = false;
    for (size_t i = 0; i < hazards->count && !barrier; i++) {
        for (size_t j = 0; j < count && !barrier; j++)
            barrier = conflict(&hazards->accesses[i], &accesses[j]);
    }
    if (barrier)
        hazards->count = 0;
    void *grown = hazards->accesses;
    vkf_status status = vkf__grow(hazards->host, &grown, sizeof *hazards->accesses, hazards->count, &hazards->capacity,
                                  hazards->count + count);
    if (status != VKF_OK)
        return status;
    hazards->accesses = grown;
    if (count > 0)
        memcpy(hazards->accesses + hazards->count, accesses, count * sizeof *accesses);
    hazards->count += count;
    *out_barrier = barrier;
    return VKF_OK;
}
