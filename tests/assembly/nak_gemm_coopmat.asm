block.u 0 L0 [] -> {
      r0       = mov rZ // delay=1
} -> [1]
block 1 L1 [] -> {
  up0 = isetp.ge.u32 ur13 ur12 // delay=9
  bra !up0 L277 // delay=1
} -> [2, 51]
block 2 L2 [] -> {
  up0 = isetp.eq.i32 rZ ur9 // delay=9
  bra !up0 L143 // delay=1
} -> [3, 4]
block 3 L3 [] -> {
  r47 = shf.r.w.u32.hi rZ r1 0x2 // delay=2
  st.shared.strong.cta.b64 [r45+rZ] r36..38 // delay=1 rd:0
  st.shared.strong.cta.b64 [r45+rZ+0x280] r38..40 // delay=1 rd:1
  st.shared.strong.cta.b64 [r45+rZ+0x20] r40..42 // delay=1 rd:2
  st.shared.strong.cta.b64 [r45+rZ+0x2a0] r42..44 // delay=2 rd:3
} -> [4]
block 4 L4 [] -> {
  membar.sc..cta // delay=6
  nop // delay=2
@!p0 bra pT L270 // delay=1
} -> [5, 49]
block 5 L5 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L158 // delay=1
} -> [6, 9]
block 6 L6 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L156 // delay=1
} -> [7, 8]
block 7 L7 [] -> {
  r49 = iadd3 r48 c[0x0][0x708] rZ // delay=4
  r49 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = ffma.ftz r49 cx[ur6..8][0x44] r47 // delay=1 wt=000001
} -> [8]
block 8 L8 [] -> {
  r46 = iadd3 r46 c[0x0][0x70c] rZ // delay=4
  r46 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r46 = shf.r.w.u32.hi rZ r46 r49 // delay=5 wt=000001
} -> [9]
block 9 L9 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1
} -> [10, 49]
block 10 L10 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L171 // delay=1
} -> [11, 14]
block 11 L11 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L169 // delay=1
} -> [12, 13]
block 12 L12 [] -> {
  r49 = iadd3 r46 c[0x0][0x708] rZ // delay=4
  r49 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = ffma.ftz r49 cx[ur6..8][0x44] r47 // delay=1 wt=000001
} -> [13]
block 13 L13 [] -> {
  r48 = iadd3 r48 c[0x0][0x70c] rZ // delay=4
  r48 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r48 = shf.r.w.u32.hi rZ r48 r49 // delay=5 wt=000001
} -> [14]
block 14 L14 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1 wt=000001
} -> [15, 49]
block 15 L15 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L184 // delay=1
} -> [16, 19]
block 16 L16 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L182 // delay=1
} -> [17, 18]
block 17 L17 [] -> {
  r49 = iadd3 r46 c[0x0][0x708] rZ // delay=4
  r49 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = ffma.ftz r49 cx[ur6..8][0x44] r47 // delay=1 wt=000001
} -> [18]
block 18 L18 [] -> {
  r48 = iadd3 r48 c[0x0][0x70c] rZ // delay=4
  r48 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r48 = shf.r.w.u32.hi rZ r48 r49 // delay=5 wt=000001
} -> [19]
block 19 L19 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1 wt=000001
} -> [20, 49]
block 20 L20 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L197 // delay=1
} -> [21, 24]
block 21 L21 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L195 // delay=1
} -> [22, 23]
block 22 L22 [] -> {
  r49 = iadd3 r46 c[0x0][0x708] rZ // delay=4
  r49 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = ffma.ftz r49 cx[ur6..8][0x44] r47 // delay=1 wt=000001
} -> [23]
block 23 L23 [] -> {
  r48 = iadd3 r48 c[0x0][0x70c] rZ // delay=4
  r48 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r48 = shf.r.w.u32.hi rZ r48 r49 // delay=5 wt=000001
} -> [24]
block 24 L24 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1 wt=000001
} -> [25, 49]
block 25 L25 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L210 // delay=1
} -> [26, 29]
block 26 L26 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L208 // delay=1
} -> [27, 28]
block 27 L27 [] -> {
  r49 = iadd3 r46 c[0x0][0x708] rZ // delay=4
  r49 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = ffma.ftz r49 cx[ur6..8][0x44] r47 // delay=1 wt=000001
} -> [28]
block 28 L28 [] -> {
  r48 = iadd3 r48 c[0x0][0x70c] rZ // delay=4
  r48 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r48 = shf.r.w.u32.hi rZ r48 r49 // delay=5 wt=000001
} -> [29]
block 29 L29 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1 wt=000001
} -> [30, 49]
block 30 L30 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L223 // delay=1
} -> [31, 34]
block 31 L31 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L221 // delay=1
} -> [32, 33]
block 32 L32 [] -> {
  r49 = iadd3 r46 c[0x0][0x708] rZ // delay=4
  r49 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = ffma.ftz r49 cx[ur6..8][0x44] r47 // delay=1 wt=000001
} -> [33]
block 33 L33 [] -> {
  r48 = iadd3 r48 c[0x0][0x70c] rZ // delay=4
  r48 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r48 = shf.r.w.u32.hi rZ r48 r49 // delay=5 wt=000001
} -> [34]
block 34 L34 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1 wt=000001
} -> [35, 49]
block 35 L35 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L236 // delay=1
} -> [36, 39]
block 36 L36 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L234 // delay=1
} -> [37, 38]
block 37 L37 [] -> {
  r49 = iadd3 r46 c[0x0][0x708] rZ // delay=4
  r49 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = ffma.ftz r49 cx[ur6..8][0x44] r47 // delay=1 wt=000001
} -> [38]
block 38 L38 [] -> {
  r48 = iadd3 r48 c[0x0][0x70c] rZ // delay=4
  r48 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r48 = shf.r.w.u32.hi rZ r48 r49 // delay=5 wt=000001
} -> [39]
block 39 L39 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1 wt=000001
} -> [40, 49]
block 40 L40 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L249 // delay=1
} -> [41, 44]
block 41 L41 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L247 // delay=1
} -> [42, 43]
block 42 L42 [] -> {
  r49 = iadd3 r46 c[0x0][0x708] rZ // delay=4
  r49 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = ffma.ftz r49 cx[ur6..8][0x44] r47 // delay=1 wt=000001
} -> [43]
block 43 L43 [] -> {
  r48 = iadd3 r48 c[0x0][0x70c] rZ // delay=4
  r48 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r48 = shf.r.w.u32.hi rZ r48 r49 // delay=5 wt=000001
} -> [44]
block 44 L44 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1 wt=000001
} -> [45, 49]
block 45 L45 [] -> {
  bsync b1 pT // delay=1 yld
@!p0 bra pT L270 // delay=1
} -> [46, 49]
block 46 L46 [] -> {
  p0 = fsetp.neu.ftz rZ cx[ur6..8][0x44] // delay=5
@!p0 bra pT L259 // delay=1
} -> [47, 48]
block 47 L47 [] -> {
  r47 = iadd3 r45 c[0x0][0x708] rZ // delay=4
  r47 = ld.global.a64.strong.gpu.b32 [r50..52+rZ], pT // delay=2 wr:0
  r46 = ffma.ftz r47 cx[ur6..8][0x44] r46 // delay=1 wt=000001
} -> [48]
block 48 L48 [] -> {
  r47 = iadd3 r48 c[0x0][0x70c] rZ // delay=4
  r47 = ld.global.a64.constant.b32 [r50..52+rZ], pT // delay=2 wr:0
  r47 = shf.r.w.u32.hi rZ r47 r48 // delay=5 wt=000001
} -> [49]
block 49 L49 [] -> {
  bsync b0 pT // delay=1 yld
  membar.sc..cta // delay=6
  nop // delay=2
  bra !up0 L141 // delay=1 wt=000001
} -> [50, 2]
block 50 L50 [] -> {
  bar.sync // delay=6 yld
  nop // delay=2
  membar.sc..cta // delay=6
  nop // delay=2
  bra pT L1 // delay=1
} -> [78]
block 51 L51 [] -> {
  ur13 = iadd3 ur13 0x10 rZ // delay=4
  bra !up0 L403 // delay=1
} -> [52, 73]
block 52 L52 [] -> {
  p0 = isetp.lt.u32 r0 0x40 // delay=11
@!p0 bra pT L402 // delay=1
} -> [53, 73]
block 53 L53 [] -> {
  bsync b1 pT // delay=1 yld
@!p1 bra pT L292 // delay=1
} -> [54, 55]
block 54 L54 [] -> {
  r13 = iadd3 r13 r12 rZ // delay=4
  r28..32 = ld.global.a64.constant.b128 [r20..22+rZ], pT // delay=2 wr:0
  bra pT L293 // delay=1 wt=000001
} -> [63]
block 55 L55 [] -> {
  r14 = imnmx.u32 r12 ur3 pT // delay=4
  r14 = ld.global.a64.constant.b32 [r22..24+rZ], pT // delay=2 wr:0
  r14 = shf.r.w.u32.hi rZ r14 r20 // delay=4 wt=000001
@!p0 bra pT L296 // delay=1
} -> [56]
block 56 L56 [] -> {
  bsync b2 pT // delay=1 yld
  r21 = ld.global.a64.constant.b32 [r28..30+rZ], pT // delay=2 wr:0
  r21 = shf.r.w.u32.hi rZ r21 r22 // delay=1 wt=000001
@!p0 bra pT L300 // delay=1
} -> [57]
block 57 L57 [] -> {
  bsync b2 pT // delay=1 yld
  r20 = ld.global.a64.constant.b32 [r22..24+rZ], pT // delay=2 wr:0
  r20 = shf.r.w.u32.hi rZ r20 r21 // delay=4 wt=000001
@!p0 bra pT L308 // delay=1
} -> [58]
block 58 L58 [] -> {
  bsync b2 pT // delay=1 yld
  r21 = ld.global.a64.constant.b32 [r30..32+rZ], pT // delay=2 wr:0
  r21 = shf.r.w.u32.hi rZ r21 r22 // delay=1 wt=000001
@!p0 bra pT L312 // delay=1
} -> [59]
block 59 L59 [] -> {
  bsync b2 pT // delay=1 yld
  r20 = ld.global.a64.constant.b32 [r22..24+rZ], pT // delay=2 wr:0
  r20 = shf.r.w.u32.hi rZ r20 r21 // delay=4 wt=000001
@!p0 bra pT L320 // delay=1
} -> [60]
block 60 L60 [] -> {
  bsync b2 pT // delay=1 yld
  r21 = ld.global.a64.constant.b32 [r30..32+rZ], pT // delay=2 wr:0
  r21 = shf.r.w.u32.hi rZ r21 r22 // delay=1 wt=000001
@!p0 bra pT L324 // delay=1
} -> [61]
block 61 L61 [] -> {
  bsync b2 pT // delay=1 yld
  r20 = ld.global.a64.constant.b32 [r22..24+rZ], pT // delay=2 wr:0
  r20 = shf.r.w.u32.hi rZ r20 r21 // delay=4 wt=000001
@!p0 bra pT L332 // delay=1
} -> [62]
block 62 L62 [] -> {
  bsync b2 pT // delay=1 yld
  r13 = ld.global.a64.constant.b32 [r22..24+rZ], pT // delay=2 wr:0
  r13 = shf.r.w.u32.hi rZ r13 r21 // delay=1 wt=000001
@!p0 bra pT L336 // delay=1
} -> [63]
block 63 L63 [] -> {
  bsync b1 pT // delay=1 yld
@!p1 bra pT L351 // delay=1
} -> [64, 65]
block 64 L64 [] -> {
  r12 = iadd3 r13 r12 rZ // delay=4
  r20..24 = ld.global.a64.constant.b128 [r12..14+rZ], pT // delay=2 wr:0
  bra pT L352 // delay=1 wt=000001
} -> [73]
block 65 L65 [] -> {
  r14 = imnmx.u32 r12 ur3 pT // delay=4
  r14 = ld.global.a64.constant.b32 [r20..22+rZ], pT // delay=2 wr:0
  r14 = shf.r.w.u32.hi rZ r14 r15 // delay=4 wt=000001
@!p0 bra pT L355 // delay=1
} -> [66]
block 66 L66 [] -> {
  bsync b1 pT // delay=1 yld
  r20 = ld.global.a64.constant.b32 [r22..24+rZ], pT // delay=2 wr:0
  r20 = shf.r.w.u32.hi rZ r20 r21 // delay=1 wt=000001
@!p0 bra pT L359 // delay=1
} -> [67]
block 67 L67 [] -> {
  bsync b1 pT // delay=1 yld
  r15 = ld.global.a64.constant.b32 [r22..24+rZ], pT // delay=2 wr:0
  r15 = shf.r.w.u32.hi rZ r15 r21 // delay=4 wt=000001
@!p0 bra pT L367 // delay=1
} -> [68]
block 68 L68 [] -> {
  bsync b1 pT // delay=1 yld
  r21 = ld.global.a64.constant.b32 [r32..34+rZ], pT // delay=2 wr:0
  r21 = shf.r.w.u32.hi rZ r21 r22 // delay=1 wt=000001
@!p0 bra pT L371 // delay=1
} -> [69]
block 69 L69 [] -> {
  bsync b1 pT // delay=1 yld
  r15 = ld.global.a64.constant.b32 [r32..34+rZ], pT // delay=2 wr:0
  r15 = shf.r.w.u32.hi rZ r15 r22 // delay=4 wt=000001
@!p0 bra pT L379 // delay=1
} -> [70]
block 70 L70 [] -> {
  bsync b1 pT // delay=1 yld
  r22 = ld.global.a64.constant.b32 [r32..34+rZ], pT // delay=2 wr:0
  r22 = shf.r.w.u32.hi rZ r22 r23 // delay=1 wt=000001
@!p0 bra pT L383 // delay=1
} -> [71]
block 71 L71 [] -> {
  bsync b1 pT // delay=1 yld
  r15 = ld.global.a64.constant.b32 [r32..34+rZ], pT // delay=2 wr:0
  r15 = shf.r.w.u32.hi rZ r15 r23 // delay=4 wt=000001
@!p0 bra pT L391 // delay=1
} -> [72]
block 72 L72 [] -> {
  bsync b1 pT // delay=1 yld
  r13 = ld.global.a64.constant.b32 [r32..34+rZ], pT // delay=2 wr:0
  r13 = shf.r.w.u32.hi rZ r13 r15 // delay=1 wt=000001
@!p0 bra pT L395 // delay=1
} -> [73]
block 73 L73 [] -> {
  r44 = mov ur14 // delay=5
  r48..52 = ldsm.16.m8n8.x4 [r44] // delay=2 rd:0 wr:1
  r44 = mov ur14 // delay=5 wt=000001
  r52..56 = ldsm.16.m8n8.x4 [r44+0x600] // delay=2 wr:0
  r36..40 = hmma.m16n8k16.f32 r48..52 r52..54 r36..40 // delay=1 wt=000011 wr:0
  r40..44 = hmma.m16n8k16.f32 r48..52 r54..56 r40..44 // delay=1 wr:1
  ur15 = iadd3 -ur14 0xc0 rZ // delay=1
  bra !up0 L410 // delay=1 wt=000011
} -> [74, 76]
block 74 L74 [] -> {
  p0 = isetp.lt.u32 r0 0x40 // delay=11
@!p0 bra pT L408 // delay=1
} -> [75, 76]
block 75 L75 [] -> {
  r45 = shf.r.w.u32.hi rZ r0 0x1 // delay=5
  st.shared.strong.cta.b128 [r44.x16+rZ+0xc00] r32..36 // delay=1 rd:0
  st.shared.strong.cta.b128 [r44.x16+rZ+0x1200] r28..32 // delay=2 rd:1
} -> [76]
block 76 L76 [] -> {
  bar.sync // delay=6 yld
  nop // delay=2
  membar.sc..cta // delay=6
  nop // delay=2
} -> [77]
block 77 L77 [] -> {
  ur14 = mov ur15 // delay=1
  bra pT L137 // delay=1 wt=000011
} -> [1]
block 78 L78 [] -> {
  exit // delay=1
} -> []
