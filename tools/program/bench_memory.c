#include "bench_memory.h"

#include <time.h>

// The first looks follow each other closely, for short operators; later ones leave the processor to the driver.
#define FIRST_PAUSE_NS 10000L
#define LONGEST_PAUSE_NS 1000000L

uint64_t vkf_bench_memory_now(vkf_context *context)
{
    vkf_memory_usage usage;
    uint64_t sum = 0;
    vkf_context_memory_usage(context, &usage);
    for (uint32_t i = 0; i < usage.heap_count; i++)
        sum += usage.used_bytes[i];
    return sum;
}

static void look(vkf_bench_memory *memory)
{
    uint64_t now = vkf_bench_memory_now(memory->context);
    if (now > memory->peak_bytes)
        memory->peak_bytes = now;
}

static void *watch(void *user)
{
    vkf_bench_memory *memory = user;
    struct timespec pause = {.tv_nsec = FIRST_PAUSE_NS};
    while (!atomic_load(&memory->stop)) {
        look(memory);
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < LONGEST_PAUSE_NS)
            pause.tv_nsec += pause.tv_nsec / 8;
    }
    return NULL;
}

void vkf_bench_memory_watch(vkf_bench_memory *memory, vkf_context *context)
{
    memory->context = context;
    memory->peak_bytes = 0;
    atomic_init(&memory->stop, false);
    memory->watching = pthread_create(&memory->thread, NULL, watch, memory) == 0;
}

uint64_t vkf_bench_memory_end(vkf_bench_memory *memory)
{
    atomic_store(&memory->stop, true);
    if (memory->watching)
        pthread_join(memory->thread, NULL);
    memory->watching = false;
    look(memory);
    return memory->peak_bytes;
}
