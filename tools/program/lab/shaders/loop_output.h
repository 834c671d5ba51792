// The hot loops of kernels, as a table and as JSON.
#ifndef VKF_PROGRAM_LOOP_OUTPUT_H
#define VKF_PROGRAM_LOOP_OUTPUT_H

#include <jansson.h>
#include <stdbool.h>

#include <vkformer/vkformer.h>

#include "lab/shaders/loop_reach.h"
#include "output/rows.h"

typedef struct loop_reading {
    bool read;                   // all that follows but `status` is known
    char status[ASM_ERROR_SIZE]; // "read", "no loop", "no assembly", or what is wrong with the assembly
    loop_figures figures;
    const chip_rates *rates; // NULL where the chip's are unknown
    bool reaches;            // `reach` is known
    loop_reach reach;
} loop_reading;

// Reads an assembly; NULL for none. `waves` as in loop_reach_of().
void loop_read(const char *assembly, const chip_rates *rates, int64_t waves, loop_reading *out_reading);
// The same of what a driver gave for a kernel.
void loop_read_report(const vkf_kernel_report *report, const chip_rates *rates, loop_reading *out_reading);

// Adds "loop_status" and "loop", which is null where none was read.
void loop_put_json(json_t *object, const loop_reading *reading);
// Rows of objects that have these, and "file" or "kernel", "config" and "default_for".
vkf_rows loop_rows(vkf_rows_format format);
// A text for a column: the file, or the kernel with its config.
void loop_name_cell(const json_t *row, char out_text[VKF_CELL_BYTES]);

#endif
