// What is read of hot loops, from excerpts of what drivers printed for the library's own kernels (tests/assembly; runs
// of address arithmetic are shortened), and from short texts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/shaders/loop_output.h"

#define TEXT_SIZE (1 << 16)

static void read_fixture(const char *name, char *out_text)
{
    char path[512];
    snprintf(path, sizeof path, VKF_TEST_SOURCE_DIR "/tests/assembly/%s.asm", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t length = fread(out_text, 1, TEXT_SIZE - 1, file);
    out_text[length] = '\0';
    fclose(file);
    assert_in_range(length, 1000, TEXT_SIZE - 2);
}

// Puts `by` in the place of the first `what` behind the first `behind`.
static void replace(char *text, const char *behind, const char *what, const char *by)
{
    char rest[TEXT_SIZE];
    char *at = strstr(text, behind);
    assert_non_null(at);
    at = strstr(at, what);
    assert_non_null(at);
    snprintf(rest, sizeof rest, "%s", at + strlen(what));
    snprintf(at, TEXT_SIZE - (size_t)(at - text), "%s%s", by, rest);
}

static loop_figures figures_of(const char *text)
{
    loop_reading reading;
    loop_read(text, NULL, -1, &reading);
    assert_string_equal(reading.status, "read");
    assert_true(reading.read);
    return reading.figures;
}

static loop_figures figures_of_fixture(const char *name)
{
    char text[TEXT_SIZE];
    read_fixture(name, text);
    return figures_of(text);
}

// Two loads of 16 bytes are under way while 48 loads of 8 from shared memory feed 16 products; the tail, which loads
// element by element, and the else of its divergent if are not in the way of a full tile.
static void test_loop_figures_of_radv(void **state)
{
    (void)state;
    const loop_figures f = figures_of_fixture("radv_gemm_coopmat");
    assert_string_equal(f.dialect, "RADV");
    assert_int_equal(f.subgroup, 64);
    assert_int_equal(f.counts[ASM_MATRIX], 16);
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_MATRIX], 16 * 16 * 16 * 16 / 64);
    assert_int_equal(f.counts[ASM_SHARED_LOAD], 48);
    assert_int_equal(f.shared_load_bytes, 48 * 8);
    assert_int_equal(f.shared_store_bytes, 2 * 16);
    assert_int_equal(f.feed_loads, 2);
    assert_int_equal(f.feed_bytes, 2 * 16);
    assert_int_equal(f.feed_in_flight, 2);
    assert_int_equal(f.feed_barriers, 1);
}

static void test_loop_figures_of_nak(void **state)
{
    (void)state;
    const loop_figures f = figures_of_fixture("nak_gemm_coopmat");
    assert_string_equal(f.dialect, "NAK");
    assert_int_equal(f.counts[ASM_MATRIX], 2);
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_MATRIX], 2 * 16 * 8 * 16 / 32);
    assert_int_equal(f.counts[ASM_SHARED_LOAD], 2);
    assert_int_equal(f.shared_load_bytes, 2 * 16);
    assert_int_equal(f.feed_bytes, 2 * 16);
    assert_int_equal(f.feed_in_flight, 1);
    assert_int_equal(f.feed_barriers, 1);
    assert_in_range(f.delay, 50, 200);
}

// The inner loop multiplies what the outer one loads.
static void test_loop_figures_of_ir3(void **state)
{
    (void)state;
    const loop_figures f = figures_of_fixture("ir3_gemm_tile");
    assert_string_equal(f.dialect, "ir3");
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_FMA], 128);
    assert_int_equal(f.counts[ASM_GLOBAL_LOAD], 0);
    assert_int_equal(f.counts[ASM_SHARED_LOAD], 12);
    assert_int_equal(f.shared_load_bytes, 12 * 16);
    assert_int_equal(f.counts[ASM_BARRIER], 0);
    assert_int_equal(f.feed_bytes, 4 * 16);
    assert_int_equal(f.feed_barriers, 2);
    assert_true(f.feed_first_line < f.first_line && f.last_line < f.feed_last_line);
}

// Branches count instructions, and each load is waited for behind itself. The inner loop multiplies what the outer one
// loads; what is loaded for the kernel's parameters, and what is spilled, is no load of it.
static void test_loop_figures_of_valhall(void **state)
{
    (void)state;
    const loop_figures f = figures_of_fixture("valhall_gemm_tile");
    assert_string_equal(f.dialect, "Valhall");
    assert_int_equal(f.subgroup, 16);
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_FMA], 64);
    assert_int_equal(f.counts[ASM_GLOBAL_LOAD], 0);
    assert_int_equal(f.counts[ASM_SHARED_LOAD], 8);
    assert_int_equal(f.shared_load_bytes, 8 * 16);
    assert_int_equal(f.counts[ASM_TRANSCENDENTAL], 6);
    assert_int_equal(f.scalar, 8);
    assert_int_equal(f.feed_loads, 4);
    assert_int_equal(f.feed_bytes, 4 * 8);
    assert_int_equal(f.feed_in_flight, 1);
    assert_int_equal(f.feed_barriers, 2);
    assert_true(f.feed_first_line < f.first_line && f.last_line < f.feed_last_line);
}

// A kernel that became worse shows it.
static void test_loop_figures_notice_planted_changes(void **state)
{
    (void)state;
    char text[TEXT_SIZE];
    read_fixture("radv_gemm_coopmat", text);
    replace(text, "BB26:", "buffer_load_b128", "buffer_load_b64");
    assert_int_equal(figures_of(text).feed_bytes, 16 + 8);
    replace(text, "BB28:", "\ts_mov_b64 exec, -1", "\ts_waitcnt vmcnt(0)");
    assert_int_equal(figures_of(text).feed_in_flight, 1);
    replace(text, "BB36:", "ds_load_b64", "s_barrier\n\tds_load_b32");
    const loop_figures f = figures_of(text);
    assert_int_equal(f.feed_barriers, 2);
    assert_int_equal(f.shared_load_bytes, 47 * 8 + 4);
    read_fixture("nak_gemm_coopmat", text);
    replace(text, "hmma", "hmma.m16n8k16", "hmma.m16n8k8");
    replace(text, "block", "hmma.m16n8k16", "iadd3");
    assert_int_equal(figures_of(text).counts[ASM_MATRIX], 1);
    read_fixture("valhall_gemm_tile", text);
    replace(text, "FMA.f32", "LOAD.i128", "LOAD.i64");
    replace(text, "FMA.f32", "FMA.f32", "FADD.f32");
    assert_int_equal(figures_of(text).shared_load_bytes, 7 * 16 + 8);
    assert_int_equal((int)figures_of(text).multiply_adds[ASM_UNIT_FMA], 63);
}

static void test_loop_figures_of_kinds_of_instructions(void **state)
{
    (void)state;
    const loop_figures f = figures_of("BB0:\n"
                                      "\tv_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6 ; 1234\n"
                                      "\tv_fma_mix_f32 v1, v2, 1.0, neg(0)\n" // a conversion
                                      "\tv_pk_fma_f16 v1, v2, v3, v4\n"
                                      "\tv_dot4_i32_iu8 v1, v2, v3, v4\n"
                                      "\tds_load_2addr_b32 v[0:1], v2 offset0:1\n"
                                      "\tv_exp_f32_e32 v1, v1\n"
                                      "\ts_nop 0\n"
                                      "\t(then repeated 6 times)\n"
                                      "\ts_cbranch_scc0 BB0\n"
                                      "BB1:\n"
                                      "\ts_endpgm\n");
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_FMA], 2);
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_PACKED], 2);
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_DOT], 4);
    assert_int_equal(f.counts[ASM_FMA], 3);
    assert_int_equal(f.counts[ASM_OTHER], 1);
    assert_int_equal(f.shared_load_bytes, 8);
    assert_int_equal(f.counts[ASM_TRANSCENDENTAL], 1);
    assert_int_equal(f.counts[ASM_HINT], 7);
}

// A product is no multiply-add; parameters and spills are no loads; an address is shared until its register is written.
static void test_loop_figures_of_valhalls_instructions(void **state)
{
    (void)state;
    const loop_figures f = figures_of("   MOV.i32 r7, workgroup_local_pointer.w1\n"
                                      "   FMA.f32 r1, r2, r3, 0x0.neg\n"
                                      "   FMA.v2f16 r1, r2, r3, r1\n"
                                      "   IDPADD.v4s8 r1, r2, r3, r1^\n"
                                      "   BRANCHZ.eq.reconverge r1^.h0, offset:1\n"
                                      "\n"
                                      "   BRANCHZ.eq 0x0, offset:9\n"
                                      "\n"
                                      "   MOV.i32 r9, r7^\n"
                                      "   LOAD.i64.unsigned.slot0.wait0 @r4:r5, [r8^:r9], offset:0\n"
                                      "   STORE.i16.slot1 @r4, [r6^:r7^], offset:2\n"
                                      "   LD_PKA.i32.unsigned.slot0 @r9, r1, 0x1000000\n"
                                      "   LOAD.i128.unsigned.slot0.wait012 @r0:r1:r2:r3, [r8^:r9^], offset:0\n"
                                      "   LOAD.i32.force.unsigned.slot0 @r4, thread_local_pointer.w0, offset:4\n"
                                      "   LSHIFT_OR.i32 r1, r1, 0x0, 0x0\n"
                                      "   NOP.wait0\n"
                                      "   BRANCHZ.eq.reconverge 0x0, offset:-14\n"
                                      "\n"
                                      "   NOP.end\n");
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_FMA], 0);
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_PACKED], 2);
    assert_int_equal((int)f.multiply_adds[ASM_UNIT_DOT], 4);
    assert_int_equal(f.shared_load_bytes, 8);
    assert_int_equal(f.shared_store_bytes, 2);
    assert_int_equal(f.counts[ASM_UNIFORM_LOAD], 1);
    assert_int_equal(f.load_bytes, 16);
    assert_int_equal(f.counts[ASM_OTHER], 3);
    assert_int_equal(f.counts[ASM_TRANSCENDENTAL], 1);
    assert_int_equal(f.counts[ASM_BRANCH], 2);
    assert_int_equal(f.scalar, 5);
}

// A wait is for what was sent up to its own instruction; a barrier waits for all slots.
static void test_loop_figures_follow_slots(void **state)
{
    (void)state;
    const loop_figures f = figures_of("   LD_PKA.i32.unsigned.slot0 @r1, r5, u6.w0\n"
                                      "   LD_PKA.i32.unsigned.slot1.wait0 @r2, r5, u6.w0\n"
                                      "   LD_PKA.i32.unsigned.slot2 @r3, r5, u6.w0\n"
                                      "   BARRIER.slot7.wait\n"
                                      "   LD_PKA.i32.unsigned.slot0.wait0 @r1, r5, u6.w0\n"
                                      "   BRANCHZ.eq r1.h0, offset:-6\n"
                                      "   NOP.end\n");
    assert_int_equal(f.feed_loads, 4);
    assert_int_equal(f.feed_in_flight, 2);
    const loop_figures each = figures_of("   LD_PKA.i32.unsigned.slot0.wait0 @r1, r5, u6.w0\n"
                                         "   LD_PKA.i32.unsigned.slot1.wait1 @r2, r5, u6.w0\n"
                                         "   BRANCHZ.eq r1.h0, offset:-3\n"
                                         "   NOP.end\n");
    assert_int_equal(each.feed_in_flight, 1);
}

// An invocation goes into one of the two branches of a divergent if, though the text runs through both.
static void test_loop_figures_take_then_or_else(void **state)
{
    (void)state;
    const loop_figures f = figures_of("BB0:\n"
                                      "\ts_cbranch_execz BB2\n"
                                      "BB1:\n"
                                      "\tv_fma_f32 v1, v2, v3, v4\n"
                                      "BB2:\n"
                                      "\ts_and_not1_b64 exec, s[0:1], exec\n"
                                      "\ts_cbranch_execz BB4\n"
                                      "BB3:\n"
                                      "\tv_fma_f32 v1, v2, v3, v4\n"
                                      "\tv_fma_f32 v1, v2, v3, v4\n"
                                      "BB4:\n"
                                      "\ts_cbranch_scc0 BB0\n"
                                      "BB5:\n"
                                      "\ts_endpgm\n");
    assert_int_equal(f.counts[ASM_FMA], 2);
}

// Three loops within each other: the innermost multiplies, is left at its top, and has a barrier; the one around it
// loads; the outermost loads, too, but does not feed it.
static void test_loop_figures_go_through_loops_within(void **state)
{
    (void)state;
    const loop_figures f = figures_of("BB0:\n"
                                      "\tbuffer_load_b32 v1, v2, s[0:3], 0 offen\n"
                                      "BB1:\n"
                                      "\ts_mov_b64 exec, -1\n"
                                      "BB2:\n"
                                      "\ts_cbranch_scc1 BB4\n"
                                      "BB3:\n"
                                      "\tv_fma_f32 v1, v2, v3, v4\n"
                                      "\ts_barrier\n"
                                      "\ts_branch BB2\n"
                                      "BB4:\n"
                                      "\tbuffer_load_b128 v[0:3], v4, s[0:3], 0 offen\n"
                                      "\ts_waitcnt vmcnt(0)\n"
                                      "\ts_cbranch_scc0 BB1\n"
                                      "BB5:\n"
                                      "\ts_cbranch_scc0 BB0\n"
                                      "BB6:\n"
                                      "\ts_endpgm\n");
    assert_int_equal(f.first_line, 6);
    assert_int_equal(f.counts[ASM_GLOBAL_LOAD], 0);
    assert_int_equal(f.feed_loads, 1);
    assert_int_equal(f.feed_bytes, 16);
    assert_int_equal(f.feed_barriers, 1);
}

// A wait for another scoreboard leaves the load under way; the loads of a turn may be waited for in the next.
static void test_loop_figures_follow_scoreboards(void **state)
{
    (void)state;
    const loop_figures f = figures_of("block 0 L0 [] -> {\n"
                                      "  r0 = ld.global.a64.constant.b32 [r2] // delay=1 wr:5\n"
                                      "  r1 = ffma r0 r1 r2 // delay=4 wt=001000\n"
                                      "  r0 = ld.global.a64.constant.b32 [r2] // delay=2 wr:5\n"
                                      "  r1 = ffma r0 r1 r2 // delay=4 wt=100000\n"
                                      "} -> [0, 1]\n"
                                      "block 1 L1 [0] -> {\n"
                                      "  exit\n"
                                      "} -> []\n");
    assert_int_equal(f.feed_in_flight, 2);
    assert_int_equal(f.delay, 11);
}

// Masks of 32 bits are those of waves of 32.
static void test_loop_figures_know_the_subgroup(void **state)
{
    (void)state;
    assert_int_equal(
        figures_of("BB0:\n\tv_cmp_gt_u32_e32 vcc_lo, s1, v2\n\ts_cbranch_vccz BB0\nBB1:\n\ts_endpgm\n").subgroup, 32);
    assert_int_equal(
        figures_of("BB0:\n\tv_cmp_gt_u32_e32 vcc, s1, v2\n\ts_cbranch_vccz BB0\nBB1:\n\ts_endpgm\n").subgroup, 64);
}

static void test_loop_read_refuses_what_is_no_assembly(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"", "neither RADV's nor NAK's nor ir3's nor Valhall's assembly"},
        {"int main(void)\n", "neither RADV's nor NAK's nor ir3's nor Valhall's assembly"},
        {"BB0:\n\ts_cbranch_scc0 BB9\nBB1:\n\ts_endpgm\n", "line 2: a branch to where nothing is"},
        {"BB0:\n\ts_branch\n", "line 2: no assembly"},
        {"BB0:\n\tv_nop\n", "line 2: the text ends within the program"},
        {"BB0:\nhello\n", "line 2: no assembly"},
        {"block 0 L0 [] -> {\n  exit // delay=1\n", "line 2: the text ends within a block"},
        {"block 0 L0 [] -> {\nblock 1 L1 [] -> {\n", "line 2: a block begins where another has not ended"},
        {"block 0 L0 [] -> {\n  exit\n} -> []\n  exit\n", "line 4: an instruction outside of any block"},
        {"block 0 L0 [] -> {\n  exit\n} -> [7]\n", "line 3: a branch to where nothing is"},
        {"block 0 L0 [] -> {\n  exit\n} -> [x]\n", "line 3: no assembly"},
        {"Native code for x\njump #l3\n", "line 2: a branch to where nothing is"},
        {"   BRANCHZ.eq 0x0, offset:2\n   NOP.end\n", "line 1: a branch to where nothing is"},
        {"   NOP.end\n   BRANCHZ.eq 0x0, offset:-3\n", "line 2: a branch to where nothing is"},
        {"   NOP\n   BRANCHZ.eq 0x0\n", "line 2: no assembly"},
        {"   BRANCHZ.eq r1, offset:-1\n", "line 1: the text ends within the program"},
        {"   NOP.end\nhello\n", "line 2: no assembly"},
        {"BB0:\n\ts_endpgm\n", "no loop"},
        {NULL, "no assembly"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        loop_reading reading;
        loop_read(cases[i].text, NULL, -1, &reading);
        assert_false(reading.read);
        assert_string_equal(reading.status, cases[i].reason);
    }
}

// Any text cut short is refused or read, without a fault.
static void test_loop_read_survives_texts_cut_short(void **state)
{
    (void)state;
    static const char *const names[] = {"radv_gemm_coopmat", "nak_gemm_coopmat", "ir3_gemm_tile", "valhall_gemm_tile"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char text[TEXT_SIZE];
        read_fixture(names[i], text);
        for (size_t length = strlen(text); length > 400; length -= 337) {
            loop_reading reading;
            text[length] = '\0';
            loop_read(text, NULL, -1, &reading);
        }
    }
}

static int per_mille(double share)
{
    return (int)(share * 1000 + 0.5);
}

static void test_loop_reach_is_what_binds(void **state)
{
    (void)state;
    const chip_rates rates = {.multiply_adds = {[ASM_UNIT_FMA] = 128},
                              .lanes = 128,
                              .shared_bytes = 128,
                              .load_bytes = 64,
                              .memory_bytes = 4,
                              .latency = 400,
                              .waves = 1};
    loop_figures f = {.subgroup = 32};
    loop_reach reach;
    assert_false(loop_reach_of(&f, &rates, -1, &reach));
    f.counts[ASM_FMA] = f.fma_issues[ASM_UNIT_FMA] = 128;
    f.multiply_adds[ASM_UNIT_FMA] = 128;
    assert_true(loop_reach_of(&f, &rates, -1, &reach));
    assert_string_equal(loop_bound_name(reach.bound), "multiply-adds");
    assert_int_equal(per_mille(reach.share), 1000);
    f.shared_load_bytes = 192;
    assert_true(loop_reach_of(&f, &rates, -1, &reach));
    assert_string_equal(loop_bound_name(reach.bound), "shared memory");
    assert_int_equal(per_mille(reach.share), 667);
    f.counts[ASM_OTHER] = 128;
    assert_true(loop_reach_of(&f, &rates, -1, &reach));
    assert_string_equal(loop_bound_name(reach.bound), "issue");
    assert_int_equal(per_mille(reach.share), 500);
    f.multiply_adds[ASM_UNIT_MATRIX] = 1; // which this chip does not have
    assert_false(loop_reach_of(&f, &rates, -1, &reach));
}

// Matrix operations of AMD take the slots of vector instructions, those of NVIDIA do not; scalar ones have their own.
static void test_loop_reach_counts_slots(void **state)
{
    (void)state;
    chip_rates rates = {.multiply_adds = {[ASM_UNIT_MATRIX] = 256}, .lanes = 64, .waves = 1};
    loop_figures f = {.subgroup = 64, .scalar = 64};
    f.counts[ASM_OTHER] = 128;
    f.multiply_adds[ASM_UNIT_MATRIX] = 512;
    loop_reach reach;
    assert_true(loop_reach_of(&f, &rates, -1, &reach));
    assert_int_equal(per_mille(reach.share), 1000);
    assert_int_equal((int)reach.multiply_adds, 256);
    rates.matrix_issues = true;
    assert_true(loop_reach_of(&f, &rates, -1, &reach));
    assert_string_equal(loop_bound_name(reach.bound), "issue");
    assert_int_equal(per_mille(reach.share), 667);
}

// Halves by twos are an instruction for two, in as many slots as others have; one by one they have the unit's rate.
static void test_loop_reach_issues_halves(void **state)
{
    (void)state;
    const chip_rates rates = {.multiply_adds = {[ASM_UNIT_PACKED] = 256}, .lanes = 128, .waves = 1};
    loop_figures f = {.subgroup = 128};
    loop_reach reach;
    f.counts[ASM_FMA] = f.fma_issues[ASM_UNIT_PACKED] = 256;
    f.counts[ASM_OTHER] = 128;
    f.multiply_adds[ASM_UNIT_PACKED] = 256;
    assert_true(loop_reach_of(&f, &rates, -1, &reach));
    assert_int_equal((int)reach.multiply_adds, 128);
    f.multiply_adds[ASM_UNIT_PACKED] = 512;
    assert_true(loop_reach_of(&f, &rates, -1, &reach));
    assert_int_equal((int)reach.multiply_adds, 170);
}

// Bytes that are used once come from memory; two rounds of loads are waited for by the subgroups that there are.
static void test_loop_reach_of_loads(void **state)
{
    (void)state;
    chip_rates rates = {
        .multiply_adds = {[ASM_UNIT_FMA] = 128}, .lanes = 128, .memory_bytes = 4, .latency = 400, .waves = 2};
    loop_figures f = {.subgroup = 32, .load_bytes = 32, .feed_in_flight = 1};
    f.counts[ASM_GLOBAL_LOAD] = 2;
    f.counts[ASM_FMA] = f.fma_issues[ASM_UNIT_FMA] = 16;
    f.multiply_adds[ASM_UNIT_FMA] = 16;
    loop_reach reach;
    assert_true(loop_reach_of(&f, &rates, -1, &reach));
    assert_string_equal(loop_bound_name(reach.bound), "memory");
    assert_int_equal(per_mille(reach.share), 1000);
    assert_true(loop_reach_of(&f, &rates, 1, &reach));
    assert_string_equal(loop_bound_name(reach.bound), "latency");
    assert_int_equal(per_mille(reach.share), 640);
    f.feed_in_flight = 2;
    assert_true(loop_reach_of(&f, &rates, 1, &reach));
    assert_string_equal(loop_bound_name(reach.bound), "memory");
    rates.waves = 0; // it is not known how many there are
    f.feed_in_flight = 1;
    assert_true(loop_reach_of(&f, &rates, 1, &reach));
    assert_string_equal(loop_bound_name(reach.bound), "memory");
    assert_int_equal((int)reach.clocks[LOOP_BOUND_LATENCY], 0);
}

static void test_chip_rates_have_sources(void **state)
{
    (void)state;
    static const char *const chips[] = {"vega10", "navi21", "navi31", "gfx1201", "nv162", "nv172",
                                        "nv192",  "nv1b2",  "a730",   "a740",    "a750"};
    for (size_t i = 0; i < sizeof chips / sizeof chips[0]; i++) {
        const chip_rates *rates = chip_rates_find(chips[i], NULL);
        assert_non_null(rates);
        assert_true(rates->multiply_adds[ASM_UNIT_FMA] > 0 && rates->lanes > 0 && rates->waves > 0);
        assert_true(strlen(rates->source) > 40);
    }
    assert_int_equal((int)chip_rates_find(NULL, "Mali-G610 MC4")->multiply_adds[ASM_UNIT_FMA], 64);
    assert_ptr_equal(chip_rates_find(NULL, "AMD Radeon RX 7900 XTX (RADV NAVI31)"), chip_rates_find("navi31", NULL));
    assert_null(chip_rates_find(NULL, "llvmpipe"));
    assert_null(chip_rates_find("m1", "AMD Radeon RX 7900 XTX (RADV NAVI31)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loop_figures_of_radv),
        cmocka_unit_test(test_loop_figures_of_nak),
        cmocka_unit_test(test_loop_figures_of_ir3),
        cmocka_unit_test(test_loop_figures_of_valhall),
        cmocka_unit_test(test_loop_figures_notice_planted_changes),
        cmocka_unit_test(test_loop_figures_of_kinds_of_instructions),
        cmocka_unit_test(test_loop_figures_of_valhalls_instructions),
        cmocka_unit_test(test_loop_figures_follow_slots),
        cmocka_unit_test(test_loop_figures_take_then_or_else),
        cmocka_unit_test(test_loop_figures_go_through_loops_within),
        cmocka_unit_test(test_loop_figures_follow_scoreboards),
        cmocka_unit_test(test_loop_figures_know_the_subgroup),
        cmocka_unit_test(test_loop_read_refuses_what_is_no_assembly),
        cmocka_unit_test(test_loop_read_survives_texts_cut_short),
        cmocka_unit_test(test_loop_reach_is_what_binds),
        cmocka_unit_test(test_loop_reach_counts_slots),
        cmocka_unit_test(test_loop_reach_issues_halves),
        cmocka_unit_test(test_loop_reach_of_loads),
        cmocka_unit_test(test_chip_rates_have_sources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
