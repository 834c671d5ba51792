// Lines of text for a model, from arguments or a file, turned into token ids.
#ifndef VKF_PROGRAM_TEXT_LINES_H
#define VKF_PROGRAM_TEXT_LINES_H

#include <stdio.h>

#include <vkformer/vkformer.h>

#include "input/line_reader.h"

typedef struct vkf_text_source {
    char *const *texts; // the lines themselves, or NULL to read `file`
    uint32_t text_count;
    FILE *file;
    uint64_t lines_taken;
    const char *unit; // "text" or "line", for messages
} vkf_text_source;

typedef enum vkf_text_state {
    VKF_TEXT_EMPTY = 0, // its result is an empty line
    VKF_TEXT_READY,     // has ids
    VKF_TEXT_REFUSED,   // cannot be run; the reason has been printed; its result is an empty line
} vkf_text_state;

typedef struct vkf_text_line {
    char *text; // without the line's end; may contain zero bytes
    size_t size_bytes;
    uint64_t number; // from 1
    vkf_text_state state;
    int32_t *ids; // (id_count)
    uint32_t id_count;
} vkf_text_line;

// Takes the next line; FAILED (message printed) when it cannot be read or memory is exhausted. The caller releases the
// line with vkf_text_line_clear().
vkf_line_result vkf_text_source_next(vkf_text_source *source, vkf_text_line *out_line);
void vkf_text_line_clear(vkf_text_line *line);

// Replaces invalid UTF-8 in the text by U+FFFD, as tokenizers do. False (message printed): memory is exhausted.
bool vkf_text_line_make_valid(vkf_text_line *line);

// Fills in state and ids. A line of more than max_tokens tokens is refused; words that the vocabulary does not know
// cause a warning. False (message printed) when the library fails.
bool vkf_text_line_encode(const vkf_text_source *source, const vkf_vocabulary *vocabulary, int32_t unk_id,
                          uint32_t max_tokens, vkf_text_line *line);

// The text of generated ids, which the caller releases with free(); NULL (message printed) on failure.
char *vkf_text_decode(const vkf_vocabulary *vocabulary, const int32_t *ids, uint32_t count);

#endif
