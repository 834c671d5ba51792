// Text from callers, made valid UTF-8: every longest part that begins no code point becomes U+FFFD, as with Python's
// errors="replace". Places in the result can be traced back.
#ifndef VKF_TEXT_VALID_TEXT_H
#define VKF_TEXT_VALID_TEXT_H

#include "base/host.h"

typedef struct vkf__repair {
    size_t end;          // behind the U+FFFD, in the valid text
    size_t original_end; // behind what it stands for
} vkf__repair;

typedef struct vkf__valid_text {
    const vkf__host *host;
    const char *bytes; // the caller's own text where that is valid
    size_t size_bytes;
    char *repaired;
    vkf__repair *repairs;
    size_t repair_count;
    size_t repair_capacity;
} vkf__valid_text;

// The caller's text must outlive the result. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__valid_text_make(const vkf__host *host, const char *text, size_t text_bytes,
                                               vkf__valid_text *out_text);
void vkf__valid_text_free(vkf__valid_text *text);

// Where a place between two code points of the valid text is in the caller's text.
size_t vkf__valid_text_original(const vkf__valid_text *text, size_t at);

#endif
