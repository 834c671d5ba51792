// ir3's assembly, for Qualcomm's Adreno: labels l12:, and before an instruction in parentheses what it waits for and
// how often it is repeated. Behind a ; stand the compiler's figures.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/shaders/asm_dialect.h"

static const asm_row rows[] = {
    {"mad.f32", ASM_FMA, ASM_UNIT_FMA, 1},          {"mad.f16", ASM_FMA, ASM_UNIT_PACKED, 1},
    {"dp4acc", ASM_FMA, ASM_UNIT_DOT, 4},           {"dp2acc", ASM_FMA, ASM_UNIT_DOT, 2},
    {"isam", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},    {"ldib.", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},
    {"ldg.", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},    {"stib.", ASM_GLOBAL_STORE, ASM_UNIT_NONE, 0},
    {"stg.", ASM_GLOBAL_STORE, ASM_UNIT_NONE, 0},   {"ldl", ASM_SHARED_LOAD, ASM_UNIT_NONE, 0},
    {"stl", ASM_SHARED_STORE, ASM_UNIT_NONE, 0},    {"ldc.", ASM_UNIFORM_LOAD, ASM_UNIT_NONE, 0},
    {"bar.", ASM_BARRIER, ASM_UNIT_NONE, 0},        {"rcp", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"rsq", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},  {"hrsq", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"exp2", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0}, {"hexp2", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"log2", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0}, {"hlog2", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"sqrt", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0}, {"sin", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"cos", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},  {"nop", ASM_HINT, ASM_UNIT_NONE, 0},
};

static bool is_of(const char *text)
{
    return strstr(text, "Native code for ") || asm_has_line(text, "; CL prog");
}

static uint32_t subgroup(const char *text)
{
    return strstr(text, ", 1 double_threadsize") ? 128 : 64;
}

// Bits of the first type in a text, and behind it.
static uint32_t type_bits(const char *text, const char **out_end)
{
    for (; *text; text++) {
        if (!strchr("ufs", text[0]) || !isdigit((unsigned char)text[1]) || isalnum((unsigned char)text[-1]))
            continue;
        char *end = NULL;
        const unsigned long bits = strtoul(text + 1, &end, 10);
        if (bits == 8 || bits == 16 || bits == 32) {
            *out_end = end;
            return (uint32_t)bits;
        }
    }
    return 0;
}

// How many values: of isam the letters of (xyzw), of ldib and stib the number behind the type, of others the last
// operand.
static uint32_t count_of(const char *text, const char *behind_type)
{
    if (asm_begins(text, "isam")) {
        const char *open = strchr(behind_type, '(');
        return open ? (uint32_t)strspn(open + 1, "xyzw") : 0;
    }
    if (asm_begins(text, "ldib") || asm_begins(text, "stib"))
        return behind_type[0] == '.' ? (uint32_t)strtoul(behind_type + 1, NULL, 10) : 0;
    const char *last = strrchr(text, ',');
    return last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

static void classify(const char *text, asm_instruction *out)
{
    const asm_row *row = asm_find_row(rows, sizeof rows / sizeof rows[0], text);
    if (strchr(text, '#') && strstr(text, "#l"))
        out->kind = ASM_BRANCH;
    if (!row)
        return;
    out->kind = row->kind;
    out->unit = row->unit;
    out->multiply_adds = row->multiply_adds;
    const char *behind = text;
    if (row->kind >= ASM_GLOBAL_LOAD && row->kind <= ASM_SHARED_STORE)
        out->bytes = type_bits(text + 1, &behind) / 8 * count_of(text, behind);
}

// Reads (sy), (rpt2) and the like. Returns what follows them.
static const char *read_flags(const char *text, asm_instruction *out)
{
    unsigned repeats = 0;
    while (text[0] == '(' && strchr(text, ')')) {
        if (asm_begins(text, "(sy)"))
            out->waits = 1;
        else if (sscanf(text, "(rpt%2u)", &repeats) == 1)
            out->times = repeats + 1;
        text = strchr(text, ')') + 1;
        text += strspn(text, " ");
    }
    return text;
}

static void read_jump(const char *text, asm_line *out)
{
    const char *target = strstr(text, "#l");
    if (target) {
        out->jump = asm_begins(text, "jump") ? ASM_JUMP_ALWAYS : ASM_JUMP_MAYBE;
        out->label = (uint32_t)strtoul(target + strlen("#l"), NULL, 10);
    } else if (strcmp(text, "end") == 0) {
        out->jump = ASM_JUMP_END;
    }
}

static bool is_no_code(const char *line)
{
    return line[0] == '\0' || line[0] == ';' || line[0] == '@' || strstr(line, "Native code for ");
}

static void read(const char *line, asm_line *out)
{
    if (is_no_code(line))
        return;
    if (sscanf(line, "l%u:", &out->label) == 1 && line[strlen(line) - 1] == ':') {
        out->kind = ASM_LINE_LABEL;
        return;
    }
    const char *text = read_flags(line, &out->instruction);
    out->kind = islower((unsigned char)text[0]) ? ASM_LINE_INSTRUCTION : ASM_LINE_BAD;
    classify(text, &out->instruction);
    read_jump(text, out);
}

const asm_dialect asm_ir3 = {"ir3", false, false, is_of, subgroup, read};
