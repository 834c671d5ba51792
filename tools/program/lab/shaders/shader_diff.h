// What changed between two outputs of `vkformer shaders -o json` or jsonl. The compiler's figures are the same each
// time, so every difference counts.
#ifndef VKF_PROGRAM_SHADER_DIFF_H
#define VKF_PROGRAM_SHADER_DIFF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "output/rows.h"

// In the order in which they are reported.
typedef enum vkf_shader_figure {
    VKF_FIGURE_REGISTERS = 0,
    VKF_FIGURE_SPILLS,
    VKF_FIGURE_SCRATCH,
    VKF_FIGURE_SHARED,
    VKF_FIGURE_INSTRUCTIONS,
    VKF_FIGURE_WAVES,
    VKF_FIGURE_SPIRV,
    VKF_FIGURE_COUNT
} vkf_shader_figure;

typedef enum vkf_shader_change {
    VKF_CHANGE_NONE = 0,
    VKF_CHANGE_FIGURES,
    VKF_CHANGE_NEW,
    VKF_CHANGE_MISSING,
} vkf_shader_change;

// One variant of one kernel. Strings belong to the JSON that was compared.
typedef struct vkf_shader_difference {
    const char *kernel;
    const char *config;
    const char *constants;
    vkf_shader_change change;
    double before[VKF_FIGURE_COUNT]; // negative: unknown
    double after[VKF_FIGURE_COUNT];
    bool no_longer_compiles;
    bool newly_spills;
    bool rose; // registers or instructions rose above the threshold
} vkf_shader_difference;

typedef struct vkf_shader_diff {
    vkf_shader_difference *items; // all variants of either: those of the second in their order, then the missing ones
    size_t count;
    size_t worse;
    size_t compared; // variants that both have
} vkf_shader_diff;

// Compares two arrays of objects as the program writes them. `fail_above` is in percent. False when memory is
// exhausted. vkf_shader_diff_free() must follow in either case.
bool vkf_shader_diff_make(const json_t *before, const json_t *after, double fail_above, vkf_shader_diff *out_diff);
void vkf_shader_diff_free(vkf_shader_diff *diff);
bool vkf_shader_is_worse(const vkf_shader_difference *difference);

// Reads both files, prints what changed, and returns an exit code. Messages have been printed.
int vkf_print_shader_diff(const char *before_path, const char *after_path, double fail_above, vkf_rows_format format);

#endif
