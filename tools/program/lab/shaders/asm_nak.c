// NAK's assembly, for NVIDIA's GPUs: blocks with their successors, and behind // how long each instruction delays the
// next, the scoreboard that it sets and those that it waits for.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/shaders/asm_dialect.h"

static const asm_row rows[] = {
    {"hmma.", ASM_MATRIX, ASM_UNIT_MATRIX, 0},
    {"imma.", ASM_MATRIX, ASM_UNIT_MATRIX_I8, 0},
    {"ffma", ASM_FMA, ASM_UNIT_FMA, 1},
    {"hfma2", ASM_FMA, ASM_UNIT_PACKED, 2},
    {"idp4", ASM_FMA, ASM_UNIT_DOT, 4},
    {"idp2", ASM_FMA, ASM_UNIT_DOT, 2},
    {"ld.global.", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},
    {"st.global.", ASM_GLOBAL_STORE, ASM_UNIT_NONE, 0},
    {"ldsm.", ASM_SHARED_LOAD, ASM_UNIT_NONE, 0},
    {"ld.shared.", ASM_SHARED_LOAD, ASM_UNIT_NONE, 0},
    {"st.shared.", ASM_SHARED_STORE, ASM_UNIT_NONE, 0},
    {"ldc", ASM_UNIFORM_LOAD, ASM_UNIT_NONE, 0},
    {"bar.", ASM_BARRIER, ASM_UNIT_NONE, 0},
    {"mufu.", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"nop", ASM_HINT, ASM_UNIT_NONE, 0},
    {"bra", ASM_BRANCH, ASM_UNIT_NONE, 0},
    {"exit", ASM_BRANCH, ASM_UNIT_NONE, 0},
};

static bool is_of(const char *text)
{
    return asm_has_line(text, "block");
}

static uint32_t subgroup(const char *text)
{
    (void)text;
    return 32;
}

// Bytes by the last part of a name: b128, u16; of ldsm so many matrices of 8 x 8 x 16 bits for 32 invocations.
static uint32_t bytes_of(const char *mnemonic)
{
    unsigned count = 1;
    if (asm_begins(mnemonic, "ldsm.")) {
        const char *times = strstr(mnemonic, ".x");
        (void)(times && sscanf(times, ".x%1u", &count));
        return count * 4;
    }
    const char *last = strrchr(mnemonic, '.');
    return last && strchr("bus", last[1]) ? (uint32_t)(strtoul(last + 2, NULL, 10) / 8) : 0;
}

// What stands before the operands, behind the predicate and the result.
static const char *find_mnemonic(const char *text)
{
    const char *result = strstr(text, " = ");
    if (result)
        return result + strlen(" = ");
    if (text[0] == '@')
        text += strcspn(text, " ");
    return text + strspn(text, " ");
}

static void read_schedule(const char *text, asm_instruction *out)
{
    const char *delay = strstr(text, "delay="), *waits = strstr(text, "wt="), *sets = strstr(text, "wr:");
    if (delay)
        out->delay = (uint32_t)strtoul(delay + strlen("delay="), NULL, 10);
    if (waits)
        out->waits = (uint32_t)strtoul(waits + strlen("wt="), NULL, 2);
    if (sets)
        out->queue = (uint32_t)strtoul(sets + strlen("wr:"), NULL, 10) % ASM_QUEUES;
}

static void classify(const char *text, asm_instruction *out)
{
    char mnemonic[64];
    snprintf(mnemonic, sizeof mnemonic, "%.*s", (int)strcspn(text, " "), text);
    const asm_row *row = asm_find_row(rows, sizeof rows / sizeof rows[0], mnemonic);
    if (!row)
        return;
    out->kind = row->kind;
    out->unit = row->unit;
    out->multiply_adds = row->kind == ASM_MATRIX ? asm_matrix_size(mnemonic) : row->multiply_adds;
    if (row->unit == ASM_UNIT_MATRIX && strstr(mnemonic, ".f16"))
        out->unit = ASM_UNIT_MATRIX_F16;
    if (row->kind >= ASM_GLOBAL_LOAD && row->kind <= ASM_SHARED_STORE)
        out->bytes = bytes_of(mnemonic);
}

static void read_close(const char *line, asm_line *out)
{
    out->kind = ASM_LINE_BAD;
    const char *at = strchr(line, '[');
    if (!at || !strchr(at, ']'))
        return;
    for (at++; *at != ']'; at += strspn(at, ", ")) {
        char *end = NULL;
        const unsigned long target = strtoul(at, &end, 10);
        if (end == at || out->target_count == 2)
            return;
        out->targets[out->target_count++] = (uint32_t)target;
        at = end;
    }
    out->kind = ASM_LINE_CLOSE;
}

static void read(const char *line, asm_line *out)
{
    char text[1024];
    if (sscanf(line, "block%*[.a-z] %u", &out->label) == 1 || sscanf(line, "block %u", &out->label) == 1) {
        out->kind = strchr(line, '{') ? ASM_LINE_LABEL : ASM_LINE_BAD;
    } else if (line[0] == '}') {
        read_close(line, out);
    } else if (line[0] == ' ' || line[0] == '@') {
        const char *schedule = strstr(line, "//"), *begin = line + strspn(line, " ");
        const size_t length = schedule ? (size_t)(schedule - begin) : strlen(begin);
        snprintf(text, sizeof text, "%.*s", (int)length, begin);
        const char *mnemonic = find_mnemonic(text);
        out->kind = islower((unsigned char)mnemonic[0]) ? ASM_LINE_INSTRUCTION : ASM_LINE_BAD;
        classify(mnemonic, &out->instruction);
        read_schedule(schedule ? schedule : "", &out->instruction);
    } else if (line[0] != '\0') {
        out->kind = ASM_LINE_BAD;
    }
}

const asm_dialect asm_nak = {"NAK", true, false, is_of, subgroup, read};
