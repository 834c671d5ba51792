// Reads a stream line by line. The end, an error, exhausted memory and a line that is too long are told apart.
#ifndef VKF_PROGRAM_LINE_READER_H
#define VKF_PROGRAM_LINE_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define VKF_LINE_MAX_BYTES ((size_t)1 << 28) // far more than any model takes, and small enough that no size overflows

typedef enum vkf_line_result { VKF_LINE_TAKEN, VKF_LINE_END, VKF_LINE_FAILED } vkf_line_result;

typedef struct vkf_line_reader {
    FILE *stream;
    const char *name; // of the stream, for messages
    size_t max_bytes; // of a line, without its end
    bool by_zeros;    // lines end in a zero byte, instead of a newline with or without a carriage return before it
    bool text_only;   // a zero byte in a line is an error
    uint64_t number;  // of the line, from 1
    bool malformed;   // after FAILED: the line itself is wrong
    char *text;       // without its end but with a terminating zero; it may contain other zeros
    size_t size_bytes;
    size_t capacity;
} vkf_line_reader;

// FAILED comes with a message that names the stream and the line.
vkf_line_result vkf_line_next(vkf_line_reader *reader);

// Gives the line's text to the caller, who releases it with free().
char *vkf_line_take(vkf_line_reader *reader);

// Releases the text; the stream stays open.
void vkf_line_reader_free(vkf_line_reader *reader);

// Reads a stream to its end, whatever length the system states, because a pipe and a file in /proc have none. The
// caller releases *out_text, which has a terminating zero, with free(). False after a message.
bool vkf_read_stream(FILE *stream, const char *name, size_t max_bytes, char **out_text, size_t *out_size_bytes);

#endif
