// Shapes of benchmarks as text: "512x768x64", several of them with commas between, and files with some on each line.
#ifndef VKF_PROGRAM_BENCH_SHAPES_H
#define VKF_PROGRAM_BENCH_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VKF_BENCH_MAX_EXTENTS 8

// One number of a shape.
typedef struct vkf_bench_extent {
    char letter;      // in the forms: 'M'
    const char *name; // of the option: "head-dim"; in results with underscores
    uint32_t max;
    uint32_t fallback;    // where nothing is given; 0: it must be given, or stands for another's
    char fallback_letter; // the extent whose value is taken then; 0: none
} vkf_bench_extent;

// What a benchmark's shapes look like. `forms` are the accepted texts, by letters in order: {"BHLSD", "HLD"}; those of
// one length cannot be told apart, so there is one of each length. No forms: no shapes.
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

// Puts the fallbacks where a value is 0. False, with a message that names the option, when one is still missing.
bool vkf_bench_shape_complete(const vkf_bench_extents *extents, vkf_bench_shape *shape);

// Appends the shapes of a text; `where` ("shapes.txt:3", or NULL) begins the messages. False after a message.
bool vkf_bench_shapes_add(vkf_bench_shapes *shapes, const vkf_bench_extents *extents, const char *text,
                          const char *where);

// What reading a file came to.
typedef enum vkf_bench_file {
    VKF_BENCH_FILE_READ = 0,
    VKF_BENCH_FILE_UNREADABLE, // or memory is exhausted
    VKF_BENCH_FILE_MALFORMED,
} vkf_bench_file;

// Appends the shapes of a file: commas, blanks and ends of lines separate them, a # begins a comment. A file without
// any is malformed. All but READ come with a message.
vkf_bench_file vkf_bench_shapes_read(vkf_bench_shapes *shapes, const vkf_bench_extents *extents, const char *path);

// "BxHxLxSxD, HxLxD": the forms for people.
void vkf_bench_forms_text(const vkf_bench_extents *extents, char *out_text, size_t size_bytes);

#endif
