// Text tables of what is learned about a device, which a person can read: one line names format and version, the next
// names device and driver, then there is one entry per line. '#' begins a comment.
#ifndef VKF_KERNEL_TEXT_TABLE_H
#define VKF_KERNEL_TEXT_TABLE_H

#include "vk/caps.h"

#define VKF_TEXT_LINE_BYTES 320

// Cuts `text` into lines. Start with {.text, .size_bytes}.
typedef struct vkf__text_lines {
    const char *text;
    size_t size_bytes;
    size_t at;
    unsigned number; // of `line`, from 1
    char line[VKF_TEXT_LINE_BYTES];
    char note[VKF_TEXT_LINE_BYTES]; // the line's comment, without '#' and surrounding blanks
} vkf__text_lines;

// Gets the next line that is not blank once its comment is removed; false at the end of the text. *out_good is false
// for a line that is too long or holds a zero byte.
bool vkf__text_next(vkf__text_lines *lines, bool *out_good);

// Text that grows, released with vkf__free(). `status` keeps the first failure.
typedef struct vkf__text_out {
    const vkf__host *host;
    char *text;
    size_t length;
    size_t capacity;
    vkf_status status;
} vkf__text_out;
void vkf__text_add(vkf__text_out *out, const char *format, ...) VKF_PRINTF(2, 3);

// A key for the cache that differs for every device and driver, in characters that vkf_cache_callbacks allows.
void vkf__device_key(const vkf__caps *caps, const char *prefix, char *out_key, size_t capacity);

// The device line without its newline: "device VENDOR DEVICE DRIVER VERSION UUIDS".
#define VKF_DEVICE_LINE_BYTES 192
void vkf__device_line(const vkf__caps *caps, char out_line[VKF_DEVICE_LINE_BYTES]);

#endif
