// Training data: lines of files, of which an index of 16 bytes each is kept. The lines themselves are read on demand,
// and are what they were: a file may be touched, or grow, while it is read.
//
// By its name a file has a JSON object in each line, or columns; see train/example_text.h. Empty lines are skipped.
// Broken ones are named in warnings, counted and left out, up to a limit.
#ifndef VKF_PROGRAM_EXAMPLES_H
#define VKF_PROGRAM_EXAMPLES_H

#include "base/host.h"
#include "train/example_text.h"

#define VKF_EXAMPLE_MAX_LINE_BYTES ((size_t)1 << 20)
#define VKF_EXAMPLE_MAX_BAD_LINES 100u

typedef struct vkf_examples vkf_examples;

typedef struct vkf_examples_desc {
    const char *const *paths; // (path_count), 1 at least
    uint32_t path_count;
    vkf_example_kind kind;
    size_t max_line_bytes;  // a longer line is broken; 0: VKF_EXAMPLE_MAX_LINE_BYTES
    uint32_t max_bad_lines; // of all files; one more is an error
} vkf_examples_desc;

// Where an example stands.
typedef struct vkf_example_place {
    const char *path;
    uint64_t line; // from 1
} vkf_example_place;

// Reads all files once. Statuses: FILE, FORMAT (too many broken lines, or no example at all), TOO_LARGE (more than
// UINT32_MAX examples), OUT_OF_HOST_MEMORY. The host must outlive the examples.
VKF_MUST_CHECK vkf_status vkf_examples_open(const vkf__host *host, const vkf_examples_desc *desc,
                                            vkf_examples **out_examples);
void vkf_examples_close(vkf_examples **examples);

uint32_t vkf_examples_count(const vkf_examples *examples);
uint32_t vkf_examples_bad_lines(const vkf_examples *examples);
vkf_example_place vkf_examples_place(const vkf_examples *examples, uint32_t index);

// *out_example is valid until the next call. Statuses: FILE (also: the line has changed since it was indexed),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_examples_get(vkf_examples *examples, uint32_t index, const vkf_example **out_example);

#endif
