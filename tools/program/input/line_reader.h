// Lines of a stream, one after the other: their end, an error, exhausted memory and a line that is too long are told apart.
#ifndef VKF_PROGRAM_LINE_READER_H
#define VKF_PROGRAM_LINE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VKF_LINE_MAX_BYTES ((size_t)1 << 28) // far beyond what any model takes, and no size overflows

typedef enum vkf_line_result { VKF_LINE_TAKEN, VKF_LINE_END, VKF_LINE_FAILED } vkf_line_result;

typedef struct vkf_line_reader {
    FILE *stream;
    const char *name; // of the stream, for messages
    size_t max_bytes; // of a line, without its end
    bool by_zeros;    // lines end in a byte of zero, and not in a newline with or without a carriage return before it
    bool text_only;   // a byte of zero in a line is an error
    uint64_t number;  // of the line, from 1
    bool malformed;   // after FAILED: it is the line that is wrong
    char *text;       // without its end, and with a zero behind it; other zeros may stand in it
    size_t size_bytes;
    size_t capacity;
} vkf_line_reader;

// FAILED comes with a message that names the stream and the line.
vkf_line_result vkf_line_next(vkf_line_reader *reader);

// The line's text, which is the caller's from now on, to be released with free().
char *vkf_line_take(vkf_line_reader *reader);

// Releases the text; the stream stays open.
void vkf_line_reader_free(vkf_line_reader *reader);

// Everything up to the end of a stream, whatever length the system states: a pipe and a file in /proc have none. The
// caller releases *out_text, which has a zero behind it, with free(). False after a message.
bool vkf_read_stream(FILE *stream, const char *name, size_t max_bytes, char **out_text, size_t *out_size_bytes);

#endif
