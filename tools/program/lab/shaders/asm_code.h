// The assembly that a driver's compiler prints, read into basic blocks of instructions whose kind is known.
//
// Four dialects: that of RADV (AMD), of NAK (NVIDIA, which prints how long each instruction delays the next), of ir3
// (Adreno), and of Valhall (Mali, as PanVK prints it). Which one a text is in is told by the text.
#ifndef VKF_PROGRAM_ASM_CODE_H
#define VKF_PROGRAM_ASM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ASM_QUEUES 6
#define ASM_ERROR_SIZE 160

typedef enum asm_kind {
    ASM_OTHER = 0,
    ASM_HINT, // takes no unit: waits, padding, hints to the scheduler
    ASM_MATRIX,
    ASM_FMA,
    ASM_GLOBAL_LOAD,
    ASM_GLOBAL_STORE,
    ASM_SHARED_LOAD,
    ASM_SHARED_STORE,
    ASM_UNIFORM_LOAD, // the same for the whole subgroup
    ASM_BARRIER,
    ASM_TRANSCENDENTAL,
    ASM_BRANCH,
    ASM_KIND_COUNT
} asm_kind;

// What multiplies and adds, each at a rate of its own.
typedef enum asm_unit {
    ASM_UNIT_NONE = 0,
    ASM_UNIT_FMA,        // 32 bits
    ASM_UNIT_PACKED,     // 16 bits, two at a time
    ASM_UNIT_DOT,        // 8 bits, four at a time
    ASM_UNIT_MATRIX,     // 16 bits into sums of 32
    ASM_UNIT_MATRIX_F16, // 16 bits into sums of 16
    ASM_UNIT_MATRIX_I8,  // 8 bits
    ASM_UNIT_COUNT
} asm_unit;

typedef struct asm_instruction {
    asm_kind kind;
    asm_unit unit;
    uint32_t line;          // in the text, from 1
    uint32_t times;         // how often it is issued
    uint32_t multiply_adds; // of one invocation; of matrix operations, of the whole subgroup
    uint32_t bytes;         // that each invocation loads or stores
    uint32_t delay;         // clocks before the next may be issued; 0 where the driver does not say
    uint32_t queue;         // of a global load: what counts it until its value is there
    uint32_t waits;         // a bit for each queue that it waits for
    uint32_t wait_left;     // so many loads may then still be under way
    bool scalar;            // issued beside the vector units' instructions
} asm_instruction;

typedef struct asm_block {
    size_t first; // instruction
    size_t count;
    size_t successors[2];
    size_t successor_count;
    bool is_else; // begins by turning to the invocations that the block before it left out
} asm_block;

typedef struct asm_code {
    const char *dialect;
    uint32_t subgroup;
    asm_instruction *instructions;
    size_t instruction_count;
    asm_block *blocks;
    size_t block_count;
} asm_code;

// Reads a text. False, with the reason and the line, when it is in no dialect that is known, ends early, branches
// to where nothing is, or has lines that are no assembly. asm_code_free() must follow in either case.
bool asm_code_read(const char *text, asm_code *out_code, char out_error[ASM_ERROR_SIZE]);
void asm_code_free(asm_code *code);

#endif
