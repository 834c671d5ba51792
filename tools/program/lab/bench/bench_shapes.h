// The shapes of benchmarks as text: "512x768x64", several with commas between them, and files with some on each line.
#ifndef VKF_PROGRAM_BENCH_SHAPES_H
#define VKF_PROGRAM_BENCH_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VKF_BENCH_MAX_EXTENTS 8

// One number of a shape.
typedef struct vkf_bench_extent {
    char letter;      // in the forms: 'M'
    const char *name; // of the option: "head-dim"; results have underscores
    uint32_t max;
    uint32_t fallback;    // where none is given; 0: it must be given, or copies another
    char fallback_letter; // the extent whose value is copied; 0: none
} vkf_bench_extent;

// What a benchmark's shapes look like. `forms` are the accepted texts, with a letter for each extent in order:
// {"BHLSD", "HLD"}. Forms of the same length could not be told apart, so each length has only one. No forms: no shapes.
typedef struct vkf_bench_extents {
    vkf_bench_extent list[VKF_BENCH_MAX_EXTENTS];
    uint32_t count;
    const char *forms[4];
} vkf_bench_extents;

typedef struct vkf_bench_shape {
    uint32_t values[VKF_BENCH_MAX_EXTENTS]; // in the order of the list; never 0 once complete
} vkf_bench_shape;

typedef struct vkf_bench_shapes {
    vkf_bench_shape *list;
    size_t count;
} vkf_bench_shapes;

void vkf_bench_shapes_free(vkf_bench_shapes *shapes);

// Fills in fallbacks for values of 0. False when a value is still missing, with a message that names its option.
bool vkf_bench_shape_complete(const vkf_bench_extents *extents, vkf_bench_shape *shape);

// Appends the shapes in a text; messages begin with `where` ("shapes.txt:3", or NULL). False after a message.
bool vkf_bench_shapes_add(vkf_bench_shapes *shapes, const vkf_bench_extents *extents, const char *text,
                          const char *where);

// The result of reading a file.
typedef enum vkf_bench_file {
    VKF_BENCH_FILE_READ = 0,
    VKF_BENCH_FILE_UNREADABLE, // or memory was exhausted
    VKF_BENCH_FILE_MALFORMED,
} vkf_bench_file;

// Appends the shapes of a file. Commas, blanks and line ends separate them, and # begins a comment. A file without
// shapes is malformed. All results but READ come with a message.
vkf_bench_file vkf_bench_shapes_read(vkf_bench_shapes *shapes, const vkf_bench_extents *extents, const char *path);

// The forms as people read them: "BxHxLxSxD, HxLxD".
void vkf_bench_forms_text(const vkf_bench_extents *extents, char *out_text, size_t size_bytes);

#endif
