// RADV's assembly, for GCN and RDNA: labels BB0:, then instructions behind a tab, with their encoding behind a ;
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/shaders/asm_dialect.h"

static const asm_row rows[] = {
    {"v_wmma_f16_", ASM_MATRIX, ASM_UNIT_MATRIX_F16, 0},
    {"v_wmma_bf16_", ASM_MATRIX, ASM_UNIT_MATRIX_F16, 0},
    {"v_wmma_i32_", ASM_MATRIX, ASM_UNIT_MATRIX_I8, 0},
    {"v_wmma_", ASM_MATRIX, ASM_UNIT_MATRIX, 0},
    {"v_pk_fma_f16", ASM_FMA, ASM_UNIT_PACKED, 2},
    {"v_pk_fmac_f16", ASM_FMA, ASM_UNIT_PACKED, 2},
    {"v_dot2", ASM_FMA, ASM_UNIT_PACKED, 2},
    {"v_dot4", ASM_FMA, ASM_UNIT_DOT, 4},
    {"v_dot8", ASM_FMA, ASM_UNIT_DOT, 8},
    {"v_fmac_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_fma_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_fma_mix", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_fmaak_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_fmamk_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_mac_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_mad_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_mad_mix", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_madak_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_madmk_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_dual_fmac_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_dual_fmaak_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_dual_fmamk_f", ASM_FMA, ASM_UNIT_FMA, 1},
    {"v_dual_dot2acc", ASM_FMA, ASM_UNIT_PACKED, 2},
    {"v_exp_", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"v_log_", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"v_rcp_", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"v_rsq_", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"v_sqrt_", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"v_sin_", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"v_cos_", ASM_TRANSCENDENTAL, ASM_UNIT_NONE, 0},
    {"buffer_load_", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},
    {"tbuffer_load_", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},
    {"global_load_", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},
    {"flat_load_", ASM_GLOBAL_LOAD, ASM_UNIT_NONE, 0},
    {"buffer_store_", ASM_GLOBAL_STORE, ASM_UNIT_NONE, 0},
    {"global_store_", ASM_GLOBAL_STORE, ASM_UNIT_NONE, 0},
    {"flat_store_", ASM_GLOBAL_STORE, ASM_UNIT_NONE, 0},
    {"ds_load_", ASM_SHARED_LOAD, ASM_UNIT_NONE, 0},
    {"ds_read", ASM_SHARED_LOAD, ASM_UNIT_NONE, 0},
    {"ds_store_", ASM_SHARED_STORE, ASM_UNIT_NONE, 0},
    {"ds_write", ASM_SHARED_STORE, ASM_UNIT_NONE, 0},
    {"s_load_", ASM_UNIFORM_LOAD, ASM_UNIT_NONE, 0},
    {"s_buffer_load_", ASM_UNIFORM_LOAD, ASM_UNIT_NONE, 0},
    {"s_barrier_wait", ASM_HINT, ASM_UNIT_NONE, 0}, // the second half of one
    {"s_barrier", ASM_BARRIER, ASM_UNIT_NONE, 0},
    {"s_wait", ASM_HINT, ASM_UNIT_NONE, 0},
    {"s_delay_alu", ASM_HINT, ASM_UNIT_NONE, 0},
    {"s_nop", ASM_HINT, ASM_UNIT_NONE, 0},
    {"s_clause", ASM_HINT, ASM_UNIT_NONE, 0},
    {"s_inst_prefetch", ASM_HINT, ASM_UNIT_NONE, 0},
    {"s_set_inst_prefetch", ASM_HINT, ASM_UNIT_NONE, 0},
    {"s_cbranch_", ASM_BRANCH, ASM_UNIT_NONE, 0},
    {"s_branch", ASM_BRANCH, ASM_UNIT_NONE, 0},
};

static bool is_of(const char *text)
{
    return asm_has_line(text, "BB0:");
}

// Waves of 64 have masks of 64 bits: exec and vcc, where waves of 32 have exec_lo and vcc_lo alone.
static uint32_t subgroup(const char *text)
{
    static const char *const masks[] = {" exec", " vcc"};
    bool narrow = false;
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        for (const char *at = strstr(text, masks[i]); at; at = strstr(at + 1, masks[i])) {
            const char after = at[strlen(masks[i])];
            if (after == ',' || after == ' ' || after == '\n')
                return 64;
            narrow |= after == '_';
        }
    }
    return narrow ? 32 : 64;
}

// Bytes by the name's last size: b64, u16, dwordx2, short, with two addresses twice that.
static uint32_t bytes_of(const char *mnemonic, size_t length)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } sizes[] = {{"b128", 16},   {"dwordx4", 16}, {"xyzw", 16}, {"b96", 12},  {"dwordx3", 12}, {"xyz", 12}, {"b64", 8},
                 {"dwordx2", 8}, {"xy", 8},       {"b32", 4},   {"dword", 4}, {"_x", 4},       {"b16", 2},  {"u16", 2},
                 {"i16", 2},     {"short", 2},    {"b8", 1},    {"u8", 1},    {"i8", 1},       {"byte", 1}};
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, mnemonic);
    const bool twice = strstr(name, "2addr") || strstr(name, "read2") || strstr(name, "write2");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (strstr(name, sizes[i].name))
            return sizes[i].bytes * (twice ? 2 : 1);
    }
    return 0;
}

static void read_wait(const char *text, asm_instruction *out)
{
    const char *loads = strstr(text, "vmcnt(");
    const bool both = asm_begins(text, "s_wait_loadcnt_dscnt ");
    if (loads) {
        out->wait_left = (uint32_t)strtoul(loads + strlen("vmcnt("), NULL, 10);
    } else if (both || asm_begins(text, "s_wait_loadcnt ")) {
        const uint32_t value = (uint32_t)strtoul(strchr(text, ' '), NULL, 0);
        out->wait_left = both ? value >> 8 : value;
    } else {
        return;
    }
    out->waits = 1;
}

// Whether exec becomes what it was not: the else of a divergent if.
static bool turns_to_else(const char *text)
{
    if (!asm_begins(text, "s_and_not1_b") && !asm_begins(text, "s_andn2_b"))
        return false;
    const char *operands = strchr(text, ' '), *last = strrchr(text, ',');
    return operands && last && asm_begins(operands, " exec") && asm_begins(last, ", exec");
}

// A conversion of 16 bits is written as a product with 1.
static bool is_conversion(const char *text)
{
    return (asm_begins(text, "v_fma_mix") || asm_begins(text, "v_mad_mix")) && strstr(text, " 1.0,");
}

static void classify(const char *text, asm_instruction *out)
{
    const size_t length = strcspn(text, " ");
    const asm_row *row = asm_find_row(rows, sizeof rows / sizeof rows[0], text);
    out->scalar = asm_begins(text, "s_");
    if (!row || is_conversion(text))
        return;
    out->kind = row->kind;
    out->unit = row->unit;
    out->multiply_adds = row->kind == ASM_MATRIX ? asm_matrix_size(text) : row->multiply_adds;
    if (row->kind >= ASM_GLOBAL_LOAD && row->kind <= ASM_SHARED_STORE)
        out->bytes = bytes_of(text, length);
    if (asm_begins(text, "s_wait"))
        read_wait(text, out);
}

// A dual instruction is issued at once.
static void add_second_half(const char *text, asm_instruction *out)
{
    const char *second = strstr(text, " :: ");
    if (!second)
        return;
    asm_instruction half = {0};
    classify(second + strlen(" :: "), &half);
    if (half.kind != ASM_FMA)
        return;
    out->kind = ASM_FMA;
    out->unit = half.unit;
    out->multiply_adds += half.multiply_adds;
}

static void read_jump(const char *text, asm_line *out)
{
    const char *target = strstr(text, " BB");
    if (asm_begins(text, "s_endpgm"))
        out->jump = ASM_JUMP_END;
    else if (out->instruction.kind == ASM_BRANCH && target)
        out->jump = asm_begins(text, "s_branch") ? ASM_JUMP_ALWAYS : ASM_JUMP_MAYBE;
    else if (out->instruction.kind == ASM_BRANCH)
        out->kind = ASM_LINE_BAD;
    if (target && out->instruction.kind == ASM_BRANCH)
        out->label = (uint32_t)strtoul(target + strlen(" BB"), NULL, 10);
}

static void read(const char *line, asm_line *out)
{
    char text[1024];
    if (sscanf(line, " (then repeated %u", &out->repeats) == 1) {
        out->kind = ASM_LINE_REPEAT;
    } else if (sscanf(line, "BB%u:", &out->label) == 1) {
        out->kind = ASM_LINE_LABEL;
    } else if (line[0] == '\t' && islower((unsigned char)line[1])) {
        out->kind = ASM_LINE_INSTRUCTION;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(line + 1, ";"), line + 1);
        classify(text, &out->instruction);
        add_second_half(text, &out->instruction);
        out->is_else = turns_to_else(text);
        read_jump(text, out);
    } else if (line[0] != '\0' && line[0] != '/' && line[0] != '[') { // constants follow the program
        out->kind = ASM_LINE_BAD;
    }
}

const asm_dialect asm_radv = {"RADV", false, false, is_of, subgroup, read};
