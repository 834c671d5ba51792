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
    size_t end = strlen(text) < MESSAGE_BYTES - sizeof "..." ? strlen(text) : MESSAGE_BYTES - sizeof "...";
    while (end > 0 && ((unsigned char)text[end] & 0xc0u) == 0x80u)
        end--;
    memcpy(text + end, "...", sizeof "...");
}

// Writes the character that the text begins with, visibly if it is one that steers terminals: files and drivers may
// have such in what messages quote. Newlines and tabs stay. Returns how many bytes of the text it has.
static size_t show_character(const char *text, char out_shown[8])
{
    const unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];
    const bool upper = first == 0xc2 && second >= 0x80 && second < 0xa0; // U+0080 to U+009F
    if (upper || first == 0x7f || (first < 0x20 && first != '\n' && first != '\t'))
        snprintf(out_shown, 8, "\\u%04x", upper ? second : first);
    else
        snprintf(out_shown, 8, "%c", (char)first);
    return upper ? 2 : 1;
}

// False where `out` has no room for all of it.
static bool show_controls(const char *text, char out[MESSAGE_BYTES])
{
    size_t used = 0;
    while (*text) {
        char shown[8];
        text += show_character(text, shown);
        const size_t bytes = strlen(shown);
        if (bytes >= MESSAGE_BYTES - used)
            break;
        memcpy(out + used, shown, bytes);
        used += bytes;
    }
    memset(out + used, 0, MESSAGE_BYTES - used);
    return *text == '\0';
}

// What the thread's last failure has said.
typedef struct failure {
    vkf_status status;
    vkf__limit limit, next; // `next` was noted for the failure that follows
    char text[MESSAGE_BYTES];
} failure;
_Static_assert(sizeof(failure) <= VKF_THREAD_BYTES, "a thread has no room for its last failure");

static bool wants(const vkf__host *host, vkf_severity severity)
{
    return host && host->message && severity >= host->min_severity;
}

static void put_arguments(char text[MESSAGE_BYTES], const char *format, va_list arguments)
{
    char raw[MESSAGE_BYTES];
    int length = vsnprintf(raw, sizeof raw, format, arguments);
    if (length < 0)
        snprintf(raw, sizeof raw, "(a message could not be formatted: %.200s)", format);
    const bool whole = show_controls(raw, text);
    if (!whole || (length >= 0 && (size_t)length >= sizeof raw))
        end_cut_message(text);
}

void vkf__log(const vkf__host *host, vkf_severity severity, const char *format, ...)
{
    char text[MESSAGE_BYTES];
    va_list arguments;
    if (!wants(host, severity))
        return;
    va_start(arguments, format);
    put_arguments(text, format, arguments);
    va_end(arguments);
    host->message(host->message_user, severity, text);
}

vkf_status vkf__fail(const vkf__host *host, vkf_status status, const char *format, ...)
{
    failure *last = vkf__thread_memory();
    char text[MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    put_arguments(text, format, arguments);
    va_end(arguments);
    if (last) {
        last->status = status;
        last->limit = last->next;
        last->next = (vkf__limit){0};
        memcpy(last->text, text, sizeof last->text);
    }
    if (wants(host, VKF_SEVERITY_ERROR))
        host->message(host->message_user, VKF_SEVERITY_ERROR, text);
    return status;
}

vkf_status vkf__null_argument(const char *function)
{
    const char *sized = strstr(function, "_sized"); // which the caller did not write
    return vkf__fail(NULL, VKF_ERROR_INVALID_ARGUMENT, "%.*s: an argument is NULL that has to be given",
                     (int)(sized ? (size_t)(sized - function) : strlen(function)), function);
}

const char *vkf_last_error(vkf_status status)
{
    const failure *last = vkf__thread_memory();
    return last && status != VKF_OK && status == last->status ? last->text : vkf_status_text(status);
}

const vkf__host *vkf__limited(const vkf__host *host, const char *what, uint64_t asked, uint64_t allowed)
{
    failure *last = vkf__thread_memory();
    if (last)
        last->next = (vkf__limit){what, asked, allowed};
    return host;
}

vkf__limit vkf__last_limit(void)
{
    const failure *last = vkf__thread_memory();
    return last ? last->limit : (vkf__limit){0};
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
