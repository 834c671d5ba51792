// Loops of an assembly, and the way through one that a full tile takes.
#ifndef VKF_PROGRAM_ASM_LOOPS_H
#define VKF_PROGRAM_ASM_LOOPS_H

#include "lab/shaders/asm_code.h"

typedef struct asm_loop {
    size_t header; // the block that it begins with
    size_t size;   // how many blocks it has
    bool *has;     // for each block of the code
} asm_loop;

typedef struct asm_loops {
    asm_loop *items;
    size_t count;
} asm_loops;

// Finds all loops: a branch to an earlier block makes one. False when memory is exhausted. asm_loops_free() must
// follow in either case.
bool asm_loops_find(const asm_code *code, asm_loops *out_loops);
void asm_loops_free(asm_loops *loops);
// Whether the loop is another's part.
bool asm_loop_is_within(const asm_loop *loop, const asm_loop *other);

// The way through a loop from its header back to it, once through every loop within: of all ways the one with the most
// multiply-adds; then the one whose loads are the widest of the loop's, as where a tile lies within the matrix; then
// the shortest. Writes blocks into out_blocks, which has room for size of them, and returns how many; 0 when memory is
// exhausted or the loop has no way back.
size_t asm_loop_path(const asm_code *code, const asm_loops *loops, const asm_loop *loop, size_t *out_blocks);

#endif
