// A host for tests: counts what is allocated, fails the allocation that a test chooses, and keeps the last message.
#ifndef VKF_TESTS_RECORDING_HOST_H
#define VKF_TESTS_RECORDING_HOST_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

typedef struct recording_host {
    vkf__host host;
    size_t calls;      // to allocate
    size_t fail_call;  // this call to allocate fails, counted from 1; 0: none does
    size_t live;       // allocations not released yet
    size_t live_bytes; // of them
    size_t peak_bytes;
    size_t messages;
    vkf_severity severity;
    char text[4096]; // the last message
} recording_host;

// Stands before every allocation; as large as the strictest alignment wants.
typedef union recording_prefix {
    size_t size_bytes;
    max_align_t alignment;
} recording_prefix;

static inline void *recording_allocate(void *user, size_t size_bytes)
{
    recording_host *recording = user;
    recording->calls++;
    if (recording->calls == recording->fail_call)
        return NULL;
    recording_prefix *prefix = malloc(sizeof *prefix + size_bytes);
    if (!prefix)
        return NULL;
    prefix->size_bytes = size_bytes;
    memset(prefix + 1, 0xa5, size_bytes);
    recording->live++;
    recording->live_bytes += size_bytes;
    if (recording->peak_bytes < recording->live_bytes)
        recording->peak_bytes = recording->live_bytes;
    return prefix + 1;
}

static inline void recording_release(void *user, void *memory)
{
    recording_host *recording = user;
    recording_prefix *prefix = (recording_prefix *)memory - 1;
    recording->live--;
    recording->live_bytes -= prefix->size_bytes;
    free(prefix);
}

static inline void recording_message(void *user, vkf_severity severity, const char *text)
{
    recording_host *recording = user;
    recording->messages++;
    recording->severity = severity;
    snprintf(recording->text, sizeof recording->text, "%s", text);
}

static inline void recording_host_init(recording_host *recording)
{
    *recording = (recording_host){0};
    recording->host = (vkf__host){
        .allocator = {recording_allocate, recording_release, recording},
        .message = recording_message,
        .message_user = recording,
    };
}

#endif
