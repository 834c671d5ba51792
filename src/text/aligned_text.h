// Text on its way from the caller to tokens: bytes, and for each byte the part of the original that it stands for. The
// text is cut into pieces; a step either cuts pieces further or rewrites the text within them.
#ifndef VKF_TEXT_ALIGNED_TEXT_H
#define VKF_TEXT_ALIGNED_TEXT_H

#include "base/host.h"
#include "text/code_point.h"
#include "text/text_limit.h"

#define VKF_TEXT_MAX_BYTES (UINT32_C(1) << 30) // of one text, so that rewriting it does not overflow 32 bits
#define VKF_NO_TOKEN (-1)

typedef struct vkf__byte_span {
    uint32_t begin;
    uint32_t end;
} vkf__byte_span;

// One of a list of spans, some of which match a pattern. Together they cover what was searched.
typedef struct vkf__matched_span {
    uint32_t begin;
    uint32_t end;
    bool match;
} vkf__matched_span;

typedef struct vkf__piece {
    uint32_t begin; // in the text
    uint32_t end;
    uint32_t shift; // where its original begins
    int32_t token;  // the added token that it is, or VKF_NO_TOKEN: still to be cut
} vkf__piece;

// What a step reads or writes; always valid UTF-8.
typedef struct vkf__text_buffer {
    char *bytes;
    vkf__byte_span *origins; // (capacity), for each byte its span in the original, in bytes
    size_t count;
    size_t capacity;
    vkf__piece *pieces;
    size_t piece_count;
    size_t piece_capacity;
} vkf__text_buffer;

typedef struct vkf__aligned_text {
    const vkf__host *host;
    size_t spare;     // of vkf__text_limit(); the caller may change it before there is a text
    size_t given;     // bytes of the text as the caller gave it
    size_t limit;     // of the text at any time, in bytes
    size_t peak;      // the text's greatest length so far
    uint64_t written; // bytes that all steps together have written
    vkf__text_buffer now;
    vkf__text_buffer next; // what the running step writes
    vkf__matched_span *spans;
    size_t span_count;
    size_t span_capacity;
    struct vkf__change *changes; // for steps that have to look back at what they wrote
    size_t change_count;
    size_t change_capacity;
    // The status of the running step. The first failure sticks, and what is written after it is dropped.
    vkf_status status;
    uint32_t begin; // of the piece that is being rewritten
    uint32_t end;
    uint32_t shift;
    uint32_t at; // how much of the piece is used up
} vkf__aligned_text;

// One code point, and how it came about. 1: it is new; 0: it replaces one code point; -N: it replaces one, and N more
// behind that are gone. The library `tokenizers` describes a rewriting in this way, and derives its offsets from it.
typedef struct vkf__change {
    uint32_t code_point;
    int32_t change;
} vkf__change;

// Makes an empty text that has VKF_TEXT_SPARE_BYTES to spare.
void vkf__aligned_text_init(const vkf__host *host, vkf__aligned_text *text);
void vkf__aligned_text_free(vkf__aligned_text *text);

// Sets the text to one piece with all of `bytes`, which are valid UTF-8. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__aligned_text_set(vkf__aligned_text *text, const char *bytes, size_t size_bytes);

// How many of its spare bytes the text used.
size_t vkf__text_spared(const vkf__aligned_text *text);

// A function that cuts: it adds the parts of a piece to text->next, and may use text->spans for it. It may fail.
typedef vkf_status (*vkf__cut_fn)(vkf__aligned_text *text, const vkf__piece *piece, const void *user);
// Calls `cut` for every piece that is no token.
VKF_MUST_CHECK vkf_status vkf__text_cut(vkf__aligned_text *text, vkf__cut_fn cut, const void *user);
// For vkf__cut_fn: adds [begin, end) of the text as a piece of its own, unless it is empty.
VKF_MUST_CHECK vkf_status vkf__text_add_piece(vkf__aligned_text *text, uint32_t begin, uint32_t end, int32_t token);
// Adds a span to the list; the caller empties it first.
VKF_MUST_CHECK vkf_status vkf__text_add_span(vkf__aligned_text *text, size_t begin, size_t end, bool match);

// Rewriting: writes the piece [text->begin, text->end) anew through the functions below.
typedef void (*vkf__rewrite_fn)(vkf__aligned_text *text, const void *user);
// Calls `rewrite` for every piece that is no token; tokens are kept as they are. Statuses: TOO_LARGE (beyond the
// limit), OUT_OF_HOST_MEMORY, and the text's own.
VKF_MUST_CHECK vkf_status vkf__text_rewrite(vkf__aligned_text *text, vkf__rewrite_fn rewrite, const void *user);
// Write a code point with an origin of its own, or bytes as they are in the text.
void vkf__text_put(vkf__aligned_text *text, uint32_t code_point, vkf__byte_span origin);
void vkf__text_copy(vkf__aligned_text *text, uint32_t begin, uint32_t end);
// Takes back the last bytes written for this piece; they are whole code points.
void vkf__text_take_back(vkf__aligned_text *text, size_t bytes);
// Writes the next code point of a rewriting. Its origin follows from how much is used up so far.
void vkf__text_put_change(vkf__aligned_text *text, vkf__change change);
// Keeps a change for later, because what follows may still alter it. The caller empties the list.
void vkf__text_keep_change(vkf__aligned_text *text, uint32_t code_point, int32_t change);
// The origin of a code point that is inserted at `at`: that of whatever is before it.
vkf__byte_span vkf__text_origin_before(const vkf__aligned_text *text, uint32_t at);

#endif
