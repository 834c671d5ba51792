// A file whose lines are read at any offset, again and again, with bounded memory.
#ifndef VKF_PROGRAM_LINE_FILE_H
#define VKF_PROGRAM_LINE_FILE_H

#include "base/host.h"
#include "io/file.h"

typedef struct vkf_line_file {
    const vkf__host *host;
    vkf__file *file;
    size_t max_line_bytes; // of a line without its end; longer ones are skipped
    char *window;          // a part of the file; lines point into it
    uint64_t window_offset;
    size_t window_bytes;
    size_t window_capacity;
} vkf_line_file;

typedef struct vkf_file_line {
    const char *text; // without its end, and without a terminating zero; valid until the next line is read
    size_t size_bytes;
    uint64_t next_offset;
    bool too_long; // longer than max_line_bytes; `text` is NULL
} vkf_file_line;

// *out_first_offset is where the first line begins, behind a byte order mark. Statuses: those of vkf__file_open(). The
// host must outlive the file.
VKF_MUST_CHECK vkf_status vkf_line_file_open(const vkf__host *host, const char *path, size_t max_line_bytes,
                                             vkf_line_file *out_file, uint64_t *out_first_offset);

// Reads the line that begins at the offset, in pieces of piece_bytes: large ones to go through the file, small ones
// for lines here and there. *out_at_end is set where no line begins. A line ends in a newline, with or without a
// carriage return before it, or at the end of the file. Statuses: FILE, FORMAT (a line goes on for 64 MiB beyond
// max_line_bytes: who knows where a sparse file ends), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_line_file_read(vkf_line_file *file, uint64_t offset, size_t piece_bytes,
                                             vkf_file_line *out_line, bool *out_at_end);

// Accepts {0}.
void vkf_line_file_close(vkf_line_file *file);

#endif
