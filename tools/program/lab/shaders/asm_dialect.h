// What a dialect of assembly is to the reader: how one of its lines is understood.
#ifndef VKF_PROGRAM_ASM_DIALECT_H
#define VKF_PROGRAM_ASM_DIALECT_H

#include "lab/shaders/asm_code.h"

typedef enum asm_line_kind {
    ASM_LINE_EMPTY = 0,
    ASM_LINE_LABEL, // a block begins
    ASM_LINE_CLOSE, // a block ends, and names its successors
    ASM_LINE_INSTRUCTION,
    ASM_LINE_REPEAT, // the instruction before it, so many times more
    ASM_LINE_BAD,
} asm_line_kind;

typedef enum asm_jump {
    ASM_JUMP_NONE = 0,
    ASM_JUMP_MAYBE,
    ASM_JUMP_ALWAYS,
    ASM_JUMP_END, // of the program
} asm_jump;

// What a dialect remembers from line to line.
typedef struct asm_memory {
    uint64_t shared_addresses; // a bit for each register that has the upper half of an address in shared memory
    uint32_t waits;            // of the next instruction
} asm_memory;

typedef struct asm_line {
    asm_line_kind kind;
    asm_instruction instruction;
    asm_jump jump;
    uint32_t label;      // its own, or the one that it jumps to; where it counts, that many behind the next instruction
    uint32_t targets[2]; // of ASM_LINE_CLOSE
    size_t target_count;
    uint32_t repeats;
    bool is_else;
    asm_memory memory; // as the line before left it; zeroed ahead of the first
} asm_line;

typedef struct asm_dialect {
    const char *name;
    bool closes; // every block is closed by a line of its own
    bool counts; // branches count instructions, and nothing says where blocks begin
    bool (*is_of)(const char *text);
    uint32_t (*subgroup)(const char *text);
    // The line ends with the string; *out_line is zeroed but for memory.
    void (*read)(const char *line, asm_line *out_line);
} asm_dialect;

extern const asm_dialect asm_radv, asm_nak, asm_ir3, asm_valhall;

// What instructions are that begin with the prefix. The first row that fits counts.
typedef struct asm_row {
    const char *prefix;
    asm_kind kind;
    asm_unit unit;
    uint32_t multiply_adds;
} asm_row;

// The row, or NULL for what none begins.
const asm_row *asm_find_row(const asm_row *rows, size_t count, const char *mnemonic);
bool asm_begins(const char *text, const char *prefix);
// Whether a line of the text begins with it.
bool asm_has_line(const char *text, const char *prefix);
// The product of the first "16x16x16" or "m16n8k16" in a name, or 0.
uint32_t asm_matrix_size(const char *mnemonic);

#endif
