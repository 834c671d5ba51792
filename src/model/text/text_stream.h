// Turns tokens into text as they come. Text is certain when no further token can change it: it consists of whole
// characters and does not end with what may become a stop string.
#ifndef VKF_MODEL_TEXT_STREAM_H
#define VKF_MODEL_TEXT_STREAM_H

#include <vkformer/tokenizer.h>

#include "text/tokenizer.h"

typedef struct vkf__text_stream {
    const vkf__tokenizer *tokenizer;
    const vkf_text *stops;
    uint32_t stop_count;
    int32_t *ids; // all tokens so far
    uint32_t id_count, id_capacity;
    uint32_t segment_id;  // the segment's first token; from it on all tokens are decoded again with each new one
    size_t segment_begin; // where the segment's text begins
    size_t segment_skip;  // bytes of its first token, which precede that place: it is there as context
    char *text;           // of all tokens, as far as it is decoded
    size_t size_bytes, capacity_bytes;
    size_t certain_bytes; // the size of the certain text
    bool stopped;         // a stop string came; the text ends before it
} vkf__text_stream;

// Ownership: vkf__text_stream_free(), which accepts a zeroed stream.
void vkf__text_stream_init(vkf__text_stream *stream, const vkf__tokenizer *tokenizer, const vkf_text *stops,
                           uint32_t stop_count);
void vkf__text_stream_free(vkf__text_stream *stream);

// Adds the next token. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__text_stream_add(vkf__text_stream *stream, int32_t id);
// Ends the stream: no token follows, so all of the text is certain.
void vkf__text_stream_end(vkf__text_stream *stream);

#endif
