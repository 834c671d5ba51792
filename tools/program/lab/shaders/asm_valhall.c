// PanVK's assembly, for ARM's Mali since Valhall: no labels, branches that say how many instructions they skip, and in
// the mnemonic the slot of a message (slot0) and the slots that are waited for behind the instruction (wait02).
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/shaders/asm_dialect.h"

// What the unit for exp2 does beside it, at its rate: shifts, products of integers, choices by bit, shuffles.
#define SPECIAL ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0

static const asm_row rows[] = {
    {"FMA.f32", ASM_FMA, ASM_UNIT_FMA, 1},
    {"FMA.v2f16", ASM_FMA, ASM_UNIT_PACKED, 2},
    {"IDPADD.v4", ASM_FMA, ASM_UNIT_DOT, 4},
    {"LOAD.", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},
    {"LD_PKA.", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},
    {"STORE.", ASM_GLOBAL_STORE, ASM_UNIT_NONE, 0},
    {"BARRIER", ASM_BARRIER, ASM_UNIT_NONE, 0},
    {"BRANCHZ", ASM_BRANCH, ASM_UNIT_NONE, 0},
    {"NOP", ASM_HINT, ASM_UNIT_NONE, 0},
    {"FRCP", SPECIAL},
    {"FRSQ", SPECIAL},
    {"FEXP", SPECIAL},
    {"FLOG", SPECIAL},
    {"FSIN", SPECIAL},
    {"FCOS", SPECIAL},
    {"FATAN", SPECIAL},
    {"FPCLASS", SPECIAL},
    {"IMUL", SPECIAL},
    {"LSHIFT", SPECIAL},
    {"RSHIFT", SPECIAL},
    {"ARSHIFT", SPECIAL},
    {"MUX", SPECIAL},
    {"POPCOUNT", SPECIAL},
    {"BITREV", SPECIAL},
    {"NOT", SPECIAL},
    {"CLPER", SPECIAL},
};

static bool is_of(const char *text)
{
    return asm_has_line(text, "   BRANCHZ") || asm_has_line(text, "   NOP.end");
}

static uint32_t subgroup(const char *text)
{
    (void)text;
    return 16;
}

// What follows a part of the mnemonic (".slot"), or NULL.
static const char *find_part(const char *mnemonic, const char *part)
{
    const char *at = strstr(mnemonic, part);
    return at ? at + strlen(part) : NULL;
}

// Slots by their digits; a wait without digits is for all.
static uint32_t waits_of(const char *mnemonic)
{
    const char *slots = find_part(mnemonic, ".wait");
    uint32_t waits = 0;
    if (slots && !isdigit((unsigned char)slots[0]))
        return UINT32_MAX;
    for (; slots && isdigit((unsigned char)slots[0]); slots++)
        waits |= UINT32_C(1) << (slots[0] - '0');
    return waits;
}

// A bit for each register of a list as @r4:r5^, and what follows it.
static uint64_t read_registers(const char *text, const char **out_end)
{
    uint64_t found = 0;
    text += *text == '@';
    while (text[0] == 'r' && isdigit((unsigned char)text[1])) {
        char *end = NULL;
        const unsigned long which = strtoul(text + 1, &end, 10);
        found |= which < 64 ? UINT64_C(1) << which : 0;
        text = end + (*end == '^');
        text += *text == ':';
    }
    *out_end = text;
    return found;
}

// An address is two registers in brackets; both halves of one in shared memory may come from its pointer, too.
static bool is_shared(const char *operands, const asm_memory *memory)
{
    const char *high = strchr(operands, '[');
    high = high ? strchr(high, ':') : NULL;
    if (strstr(operands, "workgroup_local_pointer"))
        return true;
    return high && (read_registers(high + 1, &operands) & memory->shared_addresses) != 0;
}

// Spills and arrays lie in memory of the thread's own, and what is loaded from the first table are the parameters.
static void place_access(const char *mnemonic, const char *operands, const asm_memory *memory, asm_instruction *out)
{
    static const char parameters[] = " 0x1000000";
    const char *bits = find_part(mnemonic, ".i"), *last = strrchr(operands, ',');
    if (strstr(operands, "thread_local_pointer")) {
        out->kind = ASM_OTHER;
        return;
    }
    out->bytes = bits ? (uint32_t)strtoul(bits, NULL, 10) / 8 : 0;
    if (last && asm_begins(mnemonic, "LD_PKA.") && strcmp(last + 1, parameters) == 0)
        out->kind = ASM_UNIFORM_LOAD;
    else if (is_shared(operands, memory))
        out->kind = out->kind == ASM_GLOBAL_LOAD ? ASM_SHARED_LOAD : ASM_SHARED_STORE;
}

// Messages to other units take no slot of those that compute.
static bool is_message(const char *mnemonic)
{
    static const char *const begins[] = {"LOAD.", "LD_", "LEA_", "STORE.", "ST_", "ATOM", "BARRIER"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (asm_begins(mnemonic, begins[i]))
            return true;
    }
    return false;
}

static void classify(const char *mnemonic, const char *operands, const asm_memory *memory, asm_instruction *out)
{
    const asm_row *row = asm_find_row(rows, sizeof rows / sizeof rows[0], mnemonic);
    const char *slot = find_part(mnemonic, ".slot"), *last = strrchr(operands, ',');
    out->scalar = is_message(mnemonic);
    out->queue = slot ? (uint32_t)strtoul(slot, NULL, 10) % ASM_QUEUES : 0;
    // A product is a multiply-add of -0.
    if (!row || (row->kind == ASM_FMA && last && strcmp(last, ", 0x0.neg") == 0))
        return;
    out->kind = row->kind;
    out->unit = row->unit;
    out->multiply_adds = row->multiply_adds;
    if (row->kind == ASM_GLOBAL_LOAD || row->kind == ASM_GLOBAL_STORE)
        place_access(mnemonic, operands, memory, out);
}

// The upper half of an address in shared memory is moved from the pointer's, and on from register to register.
static void remember_address(const char *mnemonic, const char *operands, asm_memory *memory)
{
    const char *source = NULL, *end = NULL;
    if (asm_begins(mnemonic, "STORE.") || asm_begins(mnemonic, "BRANCHZ"))
        return;
    const uint64_t written = read_registers(operands, &source);
    source += strspn(source, ", ");
    const bool moved = asm_begins(mnemonic, "MOV.") && (read_registers(source, &end) & memory->shared_addresses) != 0;
    memory->shared_addresses &= ~written;
    if (moved || (asm_begins(mnemonic, "MOV.") && asm_begins(source, "workgroup_local_pointer.w1")))
        memory->shared_addresses |= written;
}

// A branch where zero equals zero is always taken.
static void read_jump(const char *mnemonic, const char *operands, asm_line *out)
{
    const char *offset = find_part(operands, "offset:");
    const bool branches = asm_begins(mnemonic, "BRANCHZ");
    if (find_part(mnemonic, ".end"))
        out->jump = ASM_JUMP_END;
    if (branches && !offset)
        out->kind = ASM_LINE_BAD;
    if (!branches || !offset)
        return;
    const bool always = find_part(mnemonic, ".eq") && asm_begins(operands, "0x0,");
    out->jump = always ? ASM_JUMP_ALWAYS : ASM_JUMP_MAYBE;
    out->label = (uint32_t)strtol(offset, NULL, 10);
}

static void read(const char *line, asm_line *out)
{
    char mnemonic[64];
    const char *text = line + strspn(line, " ");
    if (text[0] == '\0')
        return;
    const size_t length = strcspn(text, " ");
    snprintf(mnemonic, sizeof mnemonic, "%.*s", (int)length, text);
    const char *operands = text + length + strspn(text + length, " ");
    out->kind = isupper((unsigned char)text[0]) ? ASM_LINE_INSTRUCTION : ASM_LINE_BAD;
    classify(mnemonic, operands, &out->memory, &out->instruction);
    read_jump(mnemonic, operands, out);
    remember_address(mnemonic, operands, &out->memory);
    out->instruction.waits = out->memory.waits;
    out->memory.waits = waits_of(mnemonic);
}

const asm_dialect asm_valhall = {"Valhall", false, true, is_of, subgroup, read};
