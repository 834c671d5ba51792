// Host memory through the caller's allocator, and messages through the caller's callback.
#include "base/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "base/size.h"

#define MESSAGE_BYTES 2048 // on the stack, so that running out of memory can still be reported
#define FIRST_CAPACITY 8

static void *default_allocate(void *user, size_t size_bytes)
{
    (void)user;
    return malloc(size_bytes);
}

static void default_release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

vkf_status vkf__host_init(vkf__host *host, const vkf_allocator *allocator, vkf_message_fn message, void *message_user,
                          vkf_severity min_severity)
{
    vkf__host made = {.message = message, .message_user = message_user, .min_severity = min_severity};
    made.allocator.allocate = default_allocate;
    made.allocator.release = default_release;
    if (allocator && (allocator->allocate || allocator->release)) {
        if (!allocator->allocate || !allocator->release)
            return vkf__fail(&made, VKF_ERROR_INVALID_ARGUMENT,
                             "allocator: only %s is set; set both allocate and release, or none",
                             allocator->allocate ? "allocate" : "release");
        made.allocator = *allocator;
    }
    *host = made;
    return VKF_OK;
}

// Marks a message that did not fit. The cut never leaves part of a UTF-8 sequence.
static void end_cut_message(char text[MESSAGE_BYTES])
{
    size_t end = MESSAGE_BYTES - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xc0u) == 0x80u)
        end--;
    memcpy(text + end, "...", sizeof "...");
}

static void log_arguments(const vkf__host *host, vkf_severity severity, const char *format, va_list arguments)
{
    if (!host->message || severity < host->min_severity)
        return;
    char text[MESSAGE_BYTES];
    int length = vsnprintf(text, sizeof text, format, arguments);
    if (length < 0)
        snprintf(text, sizeof text, "(a message could not be formatted: %.200s)", format);
    else if ((size_t)length >= sizeof text)
        end_cut_message(text);
    host->message(host->message_user, severity, text);
}

void vkf__log(const vkf__host *host, vkf_severity severity, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_arguments(host, severity, format, arguments);
    va_end(arguments);
}

vkf_status vkf__fail(const vkf__host *host, vkf_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    log_arguments(host, VKF_SEVERITY_ERROR, format, arguments);
    va_end(arguments);
    return status;
}

static void take(vkf__limit_keeper *keeper)
{
    while (atomic_exchange_explicit(&keeper->busy, true, memory_order_acquire))
        vkf__yield();
}

static void give_back(vkf__limit_keeper *keeper)
{
    atomic_store_explicit(&keeper->busy, false, memory_order_release);
}

const vkf__host *vkf__limited(const vkf__host *host, const char *what, uint64_t asked, uint64_t allowed)
{
    if (!host->limits)
        return host;
    take(host->limits);
    host->limits->last = (vkf__limit){what, asked, allowed};
    give_back(host->limits);
    return host;
}

vkf__limit vkf__last_limit(const vkf__host *host)
{
    if (!host->limits)
        return (vkf__limit){0};
    take(host->limits);
    const vkf__limit last = host->limits->last;
    give_back(host->limits);
    return last;
}

void *vkf__alloc(const vkf__host *host, size_t count, size_t size_bytes)
{
    size_t total;
    if (!vkf__mul_size(count, size_bytes, &total) || total == 0)
        return NULL;
    void *memory = host->allocator.allocate(host->allocator.user, total);
    if (memory)
        memset(memory, 0, total);
    return memory;
}

void *vkf__alloc_array(const vkf__host *host, size_t count, size_t size_bytes)
{
    return vkf__alloc(host, count > 0 ? count : 1, size_bytes);
}

void vkf__free(const vkf__host *host, void *memory)
{
    if (memory)
        host->allocator.release(host->allocator.user, memory);
}

char *vkf__strdup(const vkf__host *host, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = vkf__alloc(host, bytes, 1);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

vkf_status vkf__no_memory(const vkf__host *host, const char *function, size_t count, size_t size_bytes)
{
    return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for %zu x %zu bytes", function, count,
                     size_bytes);
}

vkf_status vkf__grow(const vkf__host *host, void **array, size_t element_bytes, size_t count, size_t *capacity,
                     size_t needed)
{
    if (needed <= *capacity)
        return VKF_OK;
    size_t larger = *capacity > SIZE_MAX / 2 ? needed : *capacity * 2;
    if (larger < FIRST_CAPACITY)
        larger = FIRST_CAPACITY;
    if (larger < needed)
        larger = needed;
    void *grown = vkf__alloc(host, larger, element_bytes);
    if (!grown)
        return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "no host memory to grow an array to %zu x %zu bytes",
                         larger, element_bytes);
    if (count > 0)
        memcpy(grown, *array, count * element_bytes);
    vkf__free(host, *array);
    *array = grown;
    *capacity = larger;
    return VKF_OK;
}
