// What the hot loop of a kernel does in one turn, read from its assembly.
#ifndef VKF_PROGRAM_LOOP_FIGURES_H
#define VKF_PROGRAM_LOOP_FIGURES_H

#include "lab/shaders/asm_code.h"

// Counts of one turn of one invocation, on the way that a full tile takes (asm_loop_path()).
typedef struct loop_figures {
    const char *dialect;
    uint32_t subgroup;
    uint32_t first_line, last_line; // of the loop, in the assembly
    uint32_t counts[ASM_KIND_COUNT];
    uint32_t scalar;                      // of them, issued beside the vector units'; hints are not
    double multiply_adds[ASM_UNIT_COUNT]; // a matrix operation's are shared by the subgroup
    uint32_t fma_issues[ASM_UNIT_COUNT];  // instructions that make them
    uint32_t load_bytes;
    uint32_t shared_load_bytes, shared_store_bytes;
    uint32_t delay; // clocks of one subgroup without any wait; 0 where the driver does not say
    // Figures of the smallest loop around the hot one, or of that one itself, that loads from global memory.
    uint32_t feed_first_line, feed_last_line;
    uint32_t feed_loads, feed_bytes;
    uint32_t feed_in_flight; // the most loads that are under way at a time
    uint32_t feed_barriers;
} loop_figures;

typedef enum loop_result {
    LOOP_READ = 0,
    LOOP_NONE,      // the code has no loop
    LOOP_NO_MEMORY, // for reading it
} loop_result;

loop_result loop_figures_of(const asm_code *code, loop_figures *out_figures);
double loop_multiply_adds(const loop_figures *figures);

#endif
