// The decoder of a tokenizer file: a list of steps that turn the texts of tokens into one text.
#ifndef VKF_TEXT_DECODER_H
#define VKF_TEXT_DECODER_H

#include "text/json_section.h"

// A list of texts in one block; each ends where the next one begins.
typedef struct vkf__text_list {
    const vkf__host *host;
    size_t limit; // of all texts, in bytes; 0: no limit
    char *bytes;
    size_t count;
    size_t capacity;
    size_t *ends; // (text_count)
    size_t text_count;
    size_t text_capacity;
} vkf__text_list;

typedef struct vkf__decoder_step vkf__decoder_step;

typedef struct vkf__decoder {
    const vkf__host *host;
    vkf__decoder_step *steps;
    size_t count;
    size_t capacity;
    bool given; // the file has a decoder; otherwise a blank goes between tokens
    // Where no file gives the steps, this function decodes instead. It reads one list and writes the other.
    vkf_status (*run)(const void *user, const vkf__text_list *from, vkf__text_list *to);
    const void *user;
} vkf__decoder;

void vkf__text_list_free(vkf__text_list *list);
// Two functions: one adds bytes to the text that is being written, the other ends it.
VKF_MUST_CHECK vkf_status vkf__text_list_write(vkf__text_list *list, const char *bytes, size_t size_bytes);
VKF_MUST_CHECK vkf_status vkf__text_list_end(vkf__text_list *list);

// Loads the file's section "decoder". The object may be half-filled on failure: free it in either case. Statuses:
// FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__decoder_load(const vkf__json_section *section, vkf__decoder *out_decoder);
void vkf__decoder_free(vkf__decoder *decoder);

// Replaces the texts of tokens by texts that together are the result, list->bytes. Statuses: OUT_OF_HOST_MEMORY,
// TOO_LARGE (an expression takes too long, or a step writes more than vkf__text_limit() of the tokens).
VKF_MUST_CHECK vkf_status vkf__decode(const vkf__decoder *decoder, vkf__text_list *list);

#endif
