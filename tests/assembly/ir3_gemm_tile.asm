Native code for unnamed CL shader (null) with blake3 b67f61acbe62a8a56dd8891f4e813ad6d56faad434e7088fbb5de075155bd9cc:
l240:
cmps.u.ge up0.z, r55.x, c4.w
(ss)br p0.z, #l602
and.b r9.y, r0.x, 3
shr.b r9.z, r0.x, 2
br !p0.x, #l261
(nop1) min.u r10.y, (last)r10.y, c5.x
min.u r11.x, r10.x, c5.y
(rpt1)nop
isam.v.base0 (u32)(xyzw)r11.z, r10.y, s#0, t#1
jump #l291
l261:
(nop1) min.u r10.y, (last)r10.y, c5.z
add.u r12.w, r10.x, 1
nop
isam.v.base0 (u32)(x)r11.z, r12.z, s#0, t#1
isam.v.base0 (u32)(x)r11.w, r14.z, s#0, t#1
isam.v.base0 (u32)(x)r12.x, r14.w, s#0, t#1
nop
isam.v.base0 (u32)(x)r12.y, r13.y, s#0, t#1
l291:
mull.u r9.y, (last)r9.y, 68
add.u r15.z, r10.x, 1
stl.u32 l[r17.y], r11.z, 1
nop
stl.u32 l[r17.z], r11.w, 1
nop
stl.u32 l[r17.w], r12.x, 1
nop
stl.u32 l[r18.x], r12.y, 1
br !p0.x, #l332
min.u r19.x, (last)r19.x, c6.x
(nop1) min.u r19.z, r18.w, c6.y
(rpt1)nop
isam.v.base0 (u32)(xyzw)r20.x, r19.x, s#0, t#1
jump #l362
l332:
min.u r19.x, (last)r19.x, c6.z
add.u r21.y, r18.w, 1
nop
isam.v.base0 (u32)(x)r20.x, r21.x, s#0, t#1
isam.v.base0 (u32)(x)r20.y, r23.x, s#0, t#1
isam.v.base0 (u32)(x)r20.z, r23.y, s#0, t#1
nop
isam.v.base0 (u32)(x)r20.w, r21.w, s#0, t#1
l362:
mull.u r18.y, (last)r18.y, 68
add.u r24.x, r18.w, 1
stl.u32 l[r25.z], r20.x, 1
nop
stl.u32 l[r25.w], r20.y, 1
nop
stl.u32 l[r26.x], r20.z, 1
nop
stl.u32 l[r26.y], r20.w, 1
br !p0.y, #l396
min.u r10.z, (last)r10.z, c7.x
(nop1) min.u r10.x, (last)r10.x, c7.y
(rpt1)nop
isam.v.base0 (u32)(xyzw)r26.w, r10.z, s#0, t#3
jump #l425
l396:
min.u r10.z, (last)r10.z, c7.z
min.u r10.x, (last)r10.x, c7.w
nop
isam.v.base0 (u32)(x)r26.w, r10.x, s#0, t#3
isam.v.base0 (u32)(x)r27.x, r28.w, s#0, t#3
isam.v.base0 (u32)(x)r27.y, r29.x, s#0, t#3
nop
isam.v.base0 (u32)(x)r27.z, r16.x, s#0, t#3
l425:
add.u r9.y, (last)r9.y, (last)r9.z
(sy)sel.b32 r26.w, (last)r26.w, r15.y, c19.z
stl.u32 l[r9.y], r26.w, 1
nop
stl.u32 l[r9.y+272], r27.x, 1
nop
stl.u32 l[r9.y+544], r27.y, 1
nop
stl.u32 l[r9.y+816], r27.z, 1
br !p0.y, #l449
min.u r19.y, (last)r19.y, c8.x
(nop1) min.u r18.w, (last)r18.w, c8.y
(rpt1)nop
isam.v.base0 (u32)(xyzw)r29.w, r19.y, s#0, t#3
jump #l478
l449:
min.u r19.y, (last)r19.y, c8.z
min.u r18.w, (last)r18.w, c8.w
nop
isam.v.base0 (u32)(x)r29.w, r18.w, s#0, t#3
isam.v.base0 (u32)(x)r30.x, r9.y, s#0, t#3
isam.v.base0 (u32)(x)r30.y, r9.z, s#0, t#3
nop
isam.v.base0 (u32)(x)r30.z, r24.z, s#0, t#3
l478:
mov.u32u32 r55.y, 0
add.u r18.y, (last)r18.y, (last)r18.z
stl.u32 l[r18.y], r29.w, 1
nop
stl.u32 l[r18.y+272], r30.x, 1
nop
stl.u32 l[r18.y+544], r30.y, 1
nop
stl.u32 l[r18.y+816], r30.z, 1
fence.r.w
(sy)(ss)bar.g
l493:
shr.b r55.z, r55.y, 16
mull.u r55.w, r55.y, 17
ldl.u32 r13.y, l[r10.z], 4
add.u r12.w, c20.y, r11.x
add.u r11.w, c20.y, r10.y
ldl.u32 r14.y, l[r12.y], 4
add.u r13.x, c20.z, (last)r11.x
add.u r12.x, c20.z, (last)r10.y
ldl.u32 r15.y, l[r11.y], 4
ldl.u32 r16.y, l[r10.z+272], 4
ldl.u32 r17.y, l[r12.z], 4
nop
ldl.u32 r18.y, l[r11.z], 4
ldl.u32 r19.y, l[r10.z+544], 4
nop
ldl.u32 r20.y, l[r12.w], 4
nop
ldl.u32 r21.y, l[r11.w], 4
ldl.u32 r22.y, l[r10.z+816], 4
nop
ldl.u32 r23.y, l[r13.x], 4
nop
ldl.u32 r24.y, l[r12.x], 4
(ss)(rpt1)mad.f32 r8.w, r14.y, (r)r13.y, (r)(last)r8.w
(rpt1)mad.f32 r8.y, (last)r14.y, (r)r13.w, (r)(last)r8.y
(rpt1)mad.f32 r7.w, r14.z, (r)r13.y, (r)(last)r7.w
(rpt1)mad.f32 r7.y, (last)r14.z, (r)r13.w, (r)(last)r7.y
(rpt1)mad.f32 r6.w, r14.w, (r)r13.y, (r)(last)r6.w
(rpt1)mad.f32 r6.y, (last)r14.w, (r)r13.w, (r)(last)r6.y
(rpt1)mad.f32 r5.w, r15.x, (r)r13.y, (r)(last)r5.w
(rpt1)mad.f32 r5.y, (last)r15.x, (r)r13.w, (r)(last)r5.y
(rpt1)mad.f32 r4.w, r15.y, (r)r13.y, (r)(last)r4.w
(rpt1)mad.f32 r4.y, (last)r15.y, (r)r13.w, (r)(last)r4.y
(rpt1)mad.f32 r3.w, r15.z, (r)r13.y, (r)(last)r3.w
(rpt1)mad.f32 r3.y, (last)r15.z, (r)r13.w, (r)(last)r3.y
(rpt1)mad.f32 r2.w, r15.w, (r)r13.y, (r)(last)r2.w
(rpt1)mad.f32 r2.y, (last)r15.w, (r)r13.w, (r)(last)r2.y
(rpt1)mad.f32 r13.y, r16.x, (r)r13.y, (r)(last)r1.w
(rpt1)mad.f32 r13.w, (last)r16.x, (r)r13.w, (r)(last)r1.y
(rpt1)mad.f32 r8.w, r17.y, (r)r16.y, (r)(last)r8.w
(rpt1)mad.f32 r8.y, (last)r17.y, (r)r16.w, (r)(last)r8.y
(rpt1)mad.f32 r7.w, r17.z, (r)r16.y, (r)(last)r7.w
(rpt1)mad.f32 r7.y, (last)r17.z, (r)r16.w, (r)(last)r7.y
(rpt1)mad.f32 r6.w, r17.w, (r)r16.y, (r)(last)r6.w
(rpt1)mad.f32 r6.y, (last)r17.w, (r)r16.w, (r)(last)r6.y
(rpt1)mad.f32 r5.w, r18.x, (r)r16.y, (r)(last)r5.w
(rpt1)mad.f32 r5.y, (last)r18.x, (r)r16.w, (r)(last)r5.y
(rpt1)mad.f32 r4.w, r18.y, (r)r16.y, (r)(last)r4.w
(rpt1)mad.f32 r4.y, (last)r18.y, (r)r16.w, (r)(last)r4.y
(rpt1)mad.f32 r3.w, r18.z, (r)r16.y, (r)(last)r3.w
(rpt1)mad.f32 r3.y, (last)r18.z, (r)r16.w, (r)(last)r3.y
(rpt1)mad.f32 r2.w, r18.w, (r)r16.y, (r)(last)r2.w
(rpt1)mad.f32 r2.y, (last)r18.w, (r)r16.w, (r)(last)r2.y
(rpt1)mad.f32 r16.y, r19.x, (r)r16.y, (r)(last)r13.y
(rpt1)mad.f32 r16.w, (last)r19.x, (r)r16.w, (r)(last)r13.w
(rpt1)mad.f32 r8.w, r20.y, (r)r19.y, (r)(last)r8.w
(rpt1)mad.f32 r8.y, (last)r20.y, (r)r19.w, (r)(last)r8.y
(rpt1)mad.f32 r7.w, r20.z, (r)r19.y, (r)(last)r7.w
(rpt1)mad.f32 r7.y, (last)r20.z, (r)r19.w, (r)(last)r7.y
(rpt1)mad.f32 r6.w, r20.w, (r)r19.y, (r)(last)r6.w
(rpt1)mad.f32 r6.y, (last)r20.w, (r)r19.w, (r)(last)r6.y
(rpt1)mad.f32 r5.w, r21.x, (r)r19.y, (r)(last)r5.w
(rpt1)mad.f32 r5.y, (last)r21.x, (r)r19.w, (r)(last)r5.y
(rpt1)mad.f32 r4.w, r21.y, (r)r19.y, (r)(last)r4.w
(rpt1)mad.f32 r4.y, (last)r21.y, (r)r19.w, (r)(last)r4.y
(rpt1)mad.f32 r3.w, r21.z, (r)r19.y, (r)(last)r3.w
(rpt1)mad.f32 r3.y, (last)r21.z, (r)r19.w, (r)(last)r3.y
(rpt1)mad.f32 r2.w, r21.w, (r)r19.y, (r)(last)r2.w
(rpt1)mad.f32 r2.y, (last)r21.w, (r)r19.w, (r)(last)r2.y
(rpt1)mad.f32 r19.y, r22.x, (r)r19.y, (r)(last)r16.y
(rpt1)mad.f32 r19.w, (last)r22.x, (r)r19.w, (r)(last)r16.w
(rpt1)mad.f32 r8.w, r23.y, (r)r22.y, (r)(last)r8.w
(rpt1)mad.f32 r8.y, (last)r23.y, (r)r22.w, (r)(last)r8.y
(rpt1)mad.f32 r7.w, r23.z, (r)r22.y, (r)(last)r7.w
(rpt1)mad.f32 r7.y, (last)r23.z, (r)r22.w, (r)(last)r7.y
(rpt1)mad.f32 r6.w, r23.w, (r)r22.y, (r)(last)r6.w
(rpt1)mad.f32 r6.y, (last)r23.w, (r)r22.w, (r)(last)r6.y
(rpt1)mad.f32 r5.w, r24.x, (r)r22.y, (r)(last)r5.w
(rpt1)mad.f32 r5.y, (last)r24.x, (r)r22.w, (r)(last)r5.y
(rpt1)mad.f32 r4.w, r24.y, (r)r22.y, (r)(last)r4.w
(rpt1)mad.f32 r4.y, (last)r24.y, (r)r22.w, (r)(last)r4.y
(rpt1)mad.f32 r3.w, r24.z, (r)r22.y, (r)(last)r3.w
(rpt1)mad.f32 r3.y, (last)r24.z, (r)r22.w, (r)(last)r3.y
(rpt1)mad.f32 r2.w, r24.w, (r)r22.y, (r)(last)r2.w
(rpt1)mad.f32 r2.y, (last)r24.w, (r)r22.w, (r)(last)r2.y
(rpt1)mad.f32 r1.w, r25.x, (r)r22.y, (r)(last)r19.y
(rpt1)mad.f32 r1.y, (last)r25.x, (r)r22.w, (r)(last)r19.w
br p0.z, #l598
jump #l493
l598:
add.u r55.x, r55.x, 16
fence.r.w
(sy)(ss)bar.g
(sy)(ss)jump #l240
l602:
end
nop
; CL prog 21/1: 6 max_waves, 0 double_threadsize
