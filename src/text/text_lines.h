// The lines of a text file, divided as Rust's lines() does it.
#ifndef VKF_TEXT_TEXT_LINES_H
#define VKF_TEXT_TEXT_LINES_H

#include "io/file.h"
#include "io/json_file.h"

typedef struct vkf__text_lines {
    const vkf__host *host;
    const char *path;
    vkf__file_bytes file;
    size_t at;
    size_t number; // of the last line, from 1
} vkf__text_lines;

// Reads the whole file. Ownership: freed with vkf__text_lines_close(); on failure there is nothing to free. Statuses:
// FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__text_lines_open(const vkf__host *host, const char *path, vkf__text_lines *out_lines);
// Gives the next line as a string, which the caller releases, or NULL after the last one. Statuses: FORMAT (invalid
// UTF-8 or a zero byte, with the line's number), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__text_lines_next(vkf__text_lines *lines, bool trims, json_t **out_line);
void vkf__text_lines_close(vkf__text_lines *lines);

#endif
