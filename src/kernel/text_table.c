// Reads and writes the lines of text tables, and makes a device's line and its key in the cache.
#include "kernel/text_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(char *text)
{
    size_t length = strlen(text), first = 0;
    while (length > 0 && is_blank(text[length - 1]))
        text[--length] = '\0';
    while (is_blank(text[first]))
        first++;
    memmove(text, text + first, length - first + 1);
}

static void split_note(vkf__text_lines *lines)
{
    char *hash = strchr(lines->line, '#');
    lines->note[0] = '\0';
    if (hash) {
        (void)snprintf(lines->note, sizeof lines->note, "%s", hash + 1);
        *hash = '\0';
    }
    trim(lines->note);
    trim(lines->line);
}

bool vkf__text_next(vkf__text_lines *lines, bool *out_good)
{
    while (lines->at < lines->size_bytes) {
        const char *begin = lines->text + lines->at;
        size_t left = lines->size_bytes - lines->at;
        const char *end = memchr(begin, '\n', left);
        size_t length = end ? (size_t)(end - begin) : left;
        lines->at += length + 1;
        lines->number++;
        *out_good = length < sizeof lines->line && !memchr(begin, '\0', length);
        if (!*out_good)
            return true;
        memcpy(lines->line, begin, length);
        lines->line[length] = '\0';
        split_note(lines);
        if (lines->line[0] != '\0')
            return true;
    }
    return false;
}

void vkf__text_add(vkf__text_out *out, const char *format, ...)
{
    char line[2 * VKF_TEXT_LINE_BYTES];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (out->status != VKF_OK || length <= 0)
        return;
    size_t count = (size_t)length < sizeof line ? (size_t)length : sizeof line - 1;
    void *text = out->text;
    out->status = vkf__grow(out->host, &text, 1, out->length, &out->capacity, out->length + count + 1);
    if (out->status != VKF_OK)
        return;
    out->text = text;
    memcpy(out->text + out->length, line, count);
    out->length += count;
    out->text[out->length] = '\0';
}

static void format_uuid(const uint8_t uuid[VKF_UUID_SIZE], char out_text[2 * VKF_UUID_SIZE + 1])
{
    for (size_t i = 0; i < VKF_UUID_SIZE; i++)
        (void)snprintf(out_text + 2 * i, 3, "%02x", uuid[i]);
}

void vkf__device_line(const vkf__caps *caps, char out_line[VKF_DEVICE_LINE_BYTES])
{
    char device[2 * VKF_UUID_SIZE + 1], driver[2 * VKF_UUID_SIZE + 1], cache[2 * VKF_UUID_SIZE + 1];
    format_uuid(caps->device_uuid, device);
    format_uuid(caps->driver_uuid, driver);
    format_uuid(caps->pipeline_cache_uuid, cache);
    (void)snprintf(out_line, VKF_DEVICE_LINE_BYTES, "device %08x %08x %u %08x %s %s %s", caps->vendor_id,
                   caps->device_id, caps->driver_id, caps->driver_version, device, driver, cache);
}

void vkf__device_key(const vkf__caps *caps, const char *prefix, char *out_key, size_t capacity)
{
    char line[VKF_DEVICE_LINE_BYTES];
    vkf__device_line(caps, line);
    (void)snprintf(out_key, capacity, "%s-%08x-%08x-%016" PRIx64, prefix, caps->vendor_id, caps->device_id,
                   vkf__hash(VKF_HASH_SEED, line, strlen(line)));
}
