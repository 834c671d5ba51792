// The reader of assembly, which anybody's saved file may be: whatever the text says, it is refused with a reason, or
// its hot loop lies within it and its counts belong together.
#include <string.h>

#include "fuzz.h"
#include "lab/shaders/loop_output.h"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("BB0:\n\ts_waitcnt vmcnt(1) ; bf8907f7\nBB1:\n\tbuffer_load_b128 v[4:7], v6, s[44:47], 0 offen\n"
              "\ts_nand_b64 exec, s[42:43], s[32:33]\n\ts_cbranch_execz BB3\nBB2:\n\tds_load_b64 v[0:1], v2\n"
              "BB3:\n\ts_and_not1_b64 exec, -1, exec\n\ts_cbranch_execz BB5\nBB4:\n\ts_barrier\n\ts_nop 0\n"
              "\t(then repeated 6 times)\nBB5:\n\tv_wmma_f32_16x16x16_f16 v[12:15], v[48:55], v[80:87], v[12:15]\n"
              "\tv_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6\n\ts_cbranch_scc0 BB1\nBB6:\n\ts_endpgm\n"),
    FUZZ_TEXT("block.u 0 L0 [] -> {\n      ur0      = ldc.b32 c[0x1][+0x0] // delay=1 wr:0\n} -> [1]\n"
              "block 1 L1 [0, 1] -> {\n r20..24 = ld.global.a64.constant.b128 [r14..16+rZ], pT // delay=2 wr:0\n"
              " r0..4 = hmma.m16n8k16.f32 r92..96 r112..114 r0..4 // delay=15 wt=000001\n"
              " r92..96 = ldsm.16.m8n8.x4 [r91]\n@!p0 bra pT L1 // delay=1\n} -> [2, 1]\n"
              "block 2 L2 [1] -> {\n exit\n} -> []\n"),
    FUZZ_TEXT("Native code for x\n; CL prog\n@const(c0.x) 1\nl1:\n(sy)(ss)(rpt2)mad.f32 r0.x, r1.x, (r)r2.x, r3.x\n"
              "isam.v.base0 (u32)(xyzw)r11.z, r10.y, s#0, t#1\nldib.b.untyped.1d.u16.1.imm.base0 hr9.x, r4.y, 5\n"
              "ldl.u32 r13.y, l[r10.z], 4\nbr !p0.x, #l1\njump #l2\nl2:\nend\nnop\n"),
    FUZZ_TEXT("   MOV.i32.wait1 r57, workgroup_local_pointer.w1\n   STORE.i32.slot2 @r41, [r56^:r57^], offset:0\n"
              "   LD_PKA.i128.unsigned.slot0.wait02 @r14:r15:r16:r17, r13^, u9.w0\n   FMA.f32 r1, r2^, r3, r1^\n"
              "   BRANCHZ.eq.reconverge r9.h0, offset:1\n\n   BARRIER.slot7.wait \n"
              "   BRANCHZ.eq.reconverge 0x0, offset:-7\n\n   NOP.end \n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static uint32_t count_lines(const char *text)
{
    uint32_t lines = 1;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void check(const char *text, const loop_reading *reading)
{
    const loop_figures *f = &reading->figures;
    const uint32_t lines = count_lines(text);
    FUZZ_CHECK(f->first_line >= 1 && f->first_line <= f->last_line && f->last_line <= lines);
    FUZZ_CHECK(f->feed_first_line <= f->feed_last_line && f->feed_last_line <= lines);
    FUZZ_CHECK(f->feed_in_flight <= 2 * f->feed_loads);
    FUZZ_CHECK(!reading->reaches || (reading->reach.share >= 0 && reading->reach.share <= 1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    loop_reading reading;
    char *text = malloc(size_bytes + 1);
    FUZZ_CHECK(text);
    memcpy(text, data, size_bytes);
    text[size_bytes] = '\0';
    loop_read(text, chip_rates_find("navi31", NULL), 8, &reading);
    FUZZ_CHECK(reading.status[0] != '\0' && memchr(reading.status, '\0', sizeof reading.status));
    if (reading.read)
        check(text, &reading);
    free(text);
    return 0;
}
