// Reads assembly line by line: blocks, and where each one goes on.
#include "lab/shaders/asm_code.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/shaders/asm_dialect.h"

#define LINE_SIZE 1024
#define NOWHERE UINT32_MAX

// What is known of a block while it is read.
typedef struct open_block {
    asm_jump jump; // of its last instruction
    uint32_t label;
    uint32_t targets[2]; // labels
    size_t target_count;
    uint32_t line; // where these are named
} open_block;

typedef struct reader {
    const asm_dialect *dialect;
    asm_code *code;
    open_block *open; // one for each block of the code
    size_t block_room, instruction_room;
    bool closed;   // the last block has ended: the next instruction begins another
    bool *begins;  // where branches count: for each instruction, whether one leads to it
    size_t length; // of begins
    size_t scanned;
    asm_memory memory;
    uint32_t line;
    char *error;
} reader;

bool asm_begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool asm_has_line(const char *text, const char *prefix)
{
    for (const char *at = text; at; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (asm_begins(at, prefix))
            return true;
    }
    return false;
}

const asm_row *asm_find_row(const asm_row *rows, size_t count, const char *mnemonic)
{
    for (size_t i = 0; i < count; i++) {
        if (asm_begins(mnemonic, rows[i].prefix))
            return &rows[i];
    }
    return NULL;
}

uint32_t asm_matrix_size(const char *mnemonic)
{
    unsigned m = 0, n = 0, k = 0;
    for (const char *at = mnemonic; *at && *at != ' '; at++) {
        if (sscanf(at, "m%4un%4uk%4u", &m, &n, &k) == 3)
            return m * n * k;
        const bool starts = isdigit((unsigned char)*at) && (at == mnemonic || !isdigit((unsigned char)at[-1]));
        if (starts && sscanf(at, "%4ux%4ux%4u", &m, &n, &k) == 3)
            return m * n * k;
    }
    return 0;
}

static bool fail(reader *r, uint32_t line, const char *reason)
{
    if (line > 0)
        snprintf(r->error, ASM_ERROR_SIZE, "line %u: %s", line, reason);
    else
        snprintf(r->error, ASM_ERROR_SIZE, "%s", reason);
    return false;
}

static bool begin_block(reader *r, uint32_t label)
{
    asm_code *code = r->code;
    if (code->block_count == r->block_room) {
        const size_t room = r->block_room * 2 + 64;
        asm_block *blocks = realloc(code->blocks, room * sizeof *blocks);
        code->blocks = blocks ? blocks : code->blocks;
        open_block *open = blocks ? realloc(r->open, room * sizeof *open) : NULL;
        if (!open)
            return fail(r, 0, "memory is exhausted");
        r->open = open;
        r->block_room = room;
    }
    code->blocks[code->block_count] = (asm_block){.first = code->instruction_count};
    r->open[code->block_count++] = (open_block){.label = label, .line = r->line};
    r->closed = false;
    return true;
}

static bool add_instruction(reader *r, const asm_line *line)
{
    asm_code *code = r->code;
    const uint32_t index = (uint32_t)code->instruction_count;
    const bool is_target = r->begins && r->begins[index];
    if (r->dialect->closes && r->closed)
        return fail(r, r->line, "an instruction outside of any block");
    if ((r->closed || is_target) && !begin_block(r, is_target ? index : NOWHERE))
        return false;
    if (code->instruction_count == r->instruction_room) {
        r->instruction_room = r->instruction_room * 2 + 256;
        asm_instruction *grown = realloc(code->instructions, r->instruction_room * sizeof *grown);
        if (!grown)
            return fail(r, 0, "memory is exhausted");
        code->instructions = grown;
    }
    asm_block *block = &code->blocks[code->block_count - 1];
    open_block *open = &r->open[code->block_count - 1];
    block->is_else |= block->count == 0 && line->is_else;
    block->count++;
    code->instructions[code->instruction_count] = line->instruction;
    code->instructions[code->instruction_count++].line = r->line;
    open->jump = line->jump;
    open->line = r->line;
    open->targets[0] = r->dialect->counts ? index + 1 + line->label : line->label;
    open->target_count = line->jump == ASM_JUMP_MAYBE || line->jump == ASM_JUMP_ALWAYS;
    r->closed = line->jump != ASM_JUMP_NONE && !r->dialect->closes;
    return true;
}

static bool close_block(reader *r, const asm_line *line)
{
    if (r->closed)
        return fail(r, r->line, "a block ends that did not begin");
    open_block *open = &r->open[r->code->block_count - 1];
    memcpy(open->targets, line->targets, sizeof open->targets);
    open->target_count = line->target_count;
    open->jump = ASM_JUMP_ALWAYS;
    open->line = r->line;
    r->closed = true;
    return true;
}

static bool read_line(reader *r, const char *text)
{
    asm_line line = {.instruction = {.times = 1}, .memory = r->memory};
    r->dialect->read(text, &line);
    r->memory = line.memory;
    switch (line.kind) {
    case ASM_LINE_EMPTY:
        return true;
    case ASM_LINE_LABEL:
        if (r->dialect->closes && !r->closed)
            return fail(r, r->line, "a block begins where another has not ended");
        return begin_block(r, line.label);
    case ASM_LINE_CLOSE:
        return close_block(r, &line);
    case ASM_LINE_INSTRUCTION:
        return add_instruction(r, &line);
    case ASM_LINE_REPEAT:
        if (r->code->instruction_count == 0)
            return fail(r, r->line, "nothing to repeat");
        r->code->instructions[r->code->instruction_count - 1].times += line.repeats;
        return true;
    default:
        return fail(r, r->line, "no assembly");
    }
}

// Marks where the branch leads to, if the line is one.
static bool mark_target(reader *r, const char *text)
{
    asm_line line = {0};
    r->dialect->read(text, &line);
    if (line.kind != ASM_LINE_INSTRUCTION)
        return true;
    const uint32_t target = (uint32_t)++r->scanned + line.label;
    if ((line.jump == ASM_JUMP_MAYBE || line.jump == ASM_JUMP_ALWAYS) && target < r->length)
        r->begins[target] = true;
    return true;
}

static bool read_lines(reader *r, const char *text, bool (*read_one)(reader *, const char *))
{
    char line[LINE_SIZE];
    r->line = 0;
    while (*text) {
        const size_t length = strcspn(text, "\n");
        r->line++;
        if (length >= sizeof line)
            return fail(r, r->line, "too long for assembly");
        memcpy(line, text, length);
        line[length] = '\0';
        if (!read_one(r, line))
            return false;
        text += length + (text[length] == '\n');
    }
    return true;
}

// The text has at most an instruction in a line.
static bool find_targets(reader *r, const char *text)
{
    r->length = 1;
    for (const char *at = text; *at; at++)
        r->length += *at == '\n';
    r->begins = calloc(r->length, sizeof *r->begins);
    return r->begins ? read_lines(r, text, mark_target) : fail(r, 0, "memory is exhausted");
}

static bool find_label(const reader *r, uint32_t label, size_t *out_block)
{
    for (size_t i = 0; i < r->code->block_count && label != NOWHERE; i++) {
        if (r->open[i].label == label) {
            *out_block = i;
            return true;
        }
    }
    return false;
}

// Padding follows the end of a program.
static bool is_padding(const asm_code *code, const asm_block *block)
{
    for (size_t i = 0; i < block->count; i++) {
        if (code->instructions[block->first + i].kind != ASM_HINT)
            return false;
    }
    return true;
}

// Turns labels into blocks. A block that does not always jump goes on with the next.
static bool connect(reader *r)
{
    for (size_t i = 0; i < r->code->block_count; i++) {
        asm_block *block = &r->code->blocks[i];
        const open_block *open = &r->open[i];
        const bool falls = open->jump == ASM_JUMP_NONE || open->jump == ASM_JUMP_MAYBE;
        const bool last = i + 1 == r->code->block_count;
        if (falls && last && (i == 0 || !is_padding(r->code, block)))
            return fail(r, open->line, "the text ends within the program");
        if (falls && !last)
            block->successors[block->successor_count++] = i + 1;
        for (size_t k = 0; k < open->target_count; k++) {
            if (!find_label(r, open->targets[k], &block->successors[block->successor_count]))
                return fail(r, open->line, "a branch to where nothing is");
            block->successor_count++;
        }
    }
    return true;
}

static bool read_code(reader *r, const char *text)
{
    static const asm_dialect *const dialects[] = {&asm_radv, &asm_nak, &asm_ir3, &asm_valhall};
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0] && !r->dialect; i++)
        r->dialect = dialects[i]->is_of(text) ? dialects[i] : NULL;
    if (!r->dialect)
        return fail(r, 0, "neither RADV's nor NAK's nor ir3's nor Valhall's assembly");
    r->code->dialect = r->dialect->name;
    r->code->subgroup = r->dialect->subgroup(text);
    r->closed = true;
    if (r->dialect->counts && !find_targets(r, text))
        return false;
    if (!read_lines(r, text, read_line))
        return false;
    if (r->dialect->closes && !r->closed)
        return fail(r, r->line, "the text ends within a block");
    return connect(r);
}

bool asm_code_read(const char *text, asm_code *out_code, char out_error[ASM_ERROR_SIZE])
{
    *out_code = (asm_code){0};
    out_error[0] = '\0';
    reader r = {.code = out_code, .error = out_error};
    const bool good = read_code(&r, text);
    free(r.open);
    free(r.begins);
    return good;
}

void asm_code_free(asm_code *code)
{
    free(code->instructions);
    free(code->blocks);
    *code = (asm_code){0};
}
