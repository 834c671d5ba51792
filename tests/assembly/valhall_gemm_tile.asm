   ICMP_OR.u32.ge.m1 r28, r27, r3, 0x0
   BRANCHZ.reconverge r28^.h0, offset:337

   U16_TO_U32 r28, r55.h0
   IADD.s32 r31, r27, r31^
   BRANCHZ.eq.reconverge r9.h0, offset:9

   LD_PKA.i32.unsigned.slot1.wait1 @r33, 0x0, 0x1000000
   IADD_IMM.i32 r33, r33^, #0xFFFFFFFF
   IADD.s32 r32, r4, r32^
   LD_PKA.i64.unsigned.slot2.wait2 @r32:r33, r32^, r33^
   F16_TO_F32 r34, r32.h0
   F16_TO_F32 r32, r32^.h1
   F16_TO_F32 r35, r33.h0
   F16_TO_F32 r33, r33^.h1
   BRANCHZ.eq.reconverge 0x0, offset:22

   LD_PKA.i32.unsigned.slot0.wait0 @r33, 0x0, 0x1000000
   IADD_IMM.i32 r33, r33^, #0xFFFFFFFF
   IADD.s32 r32, r4, r32^
   LSHIFT_OR.i32 r34, r34^, 0x3020100.b33, 0x0
   LD_PKA.i32.unsigned.slot1.wait1 @r34, r34^, r38
   RSHIFT_OR.i32 r32, r34^, r32^.b00, 0x0
   F16_TO_F32 r34, r32^.h0
   IADD_IMM.i32 r32, r31, #0x1
   RSHIFT_OR.i32 r39, r32, 0x1000000.b33, 0x0
   LD_PKA.i32.unsigned.slot2.wait2 @r35, r35^, r38
   RSHIFT_OR.i32 r32, r35^, r32^.b00, 0x0
   F16_TO_F32 r32, r32^.h0
   IADD_IMM.i32 r35, r31, #0x2
   RSHIFT_OR.i32 r40, r35, 0x1000000.b33, 0x0
   LD_PKA.i32.unsigned.slot0.wait0 @r39, r39^, r38
   RSHIFT_OR.i32 r35, r39^, r35^.b00, 0x0
   F16_TO_F32 r35, r35^.h0
   IADD_IMM.i32 r39, r31, #0x3
   RSHIFT_OR.i32 r39, r33, 0x1000000.b33, 0x0
   LD_PKA.i32.unsigned.slot1.wait1 @r36, r36^, r38^
   RSHIFT_OR.i32 r33, r36^, r33^.b00, 0x0
   F16_TO_F32.reconverge r33, r33^.h0
   ICMP_OR.u32.lt.m1 r36, r31, r3, 0x0
   CSEL.u32.eq r34, r36, 0x0, 0x0, r34^
   CSEL.u32.eq r35, r40, 0x0, 0x0, r35^
   RSHIFT_OR.i32 r43, r28, 0x7060504.b00, 0x0
   LSHIFT_OR.i32 r44, r44^, 0x3020100.b22, 0x0
   IADD.u32 r45, workgroup_local_pointer.w0, r45^
   MOV.i32 r46, r45^
   MOV.i32 r47, workgroup_local_pointer.w1
   STORE.i32.slot2 @r34, [r46^:r47^], offset:0
   IADD_IMM.i32 r34, r30, #0x90
   IADD.u32 r45, workgroup_local_pointer.w0, r45^
   MOV.i32 r46, r45^
   MOV.i32.wait2 r47, workgroup_local_pointer.w1
   STORE.i32.slot0 @r32, [r46^:r47^], offset:0
   IADD_IMM.i32 r32, r30, #0x120
   IADD.u32 r45, workgroup_local_pointer.w0, r45^
   MOV.i32 r46, r45^
   MOV.i32.wait0 r47, workgroup_local_pointer.w1
   STORE.i32.slot1 @r35, [r46^:r47^], offset:0
   IADD_IMM.i32 r35, r30, #0x1B0
   IADD.u32 r45, workgroup_local_pointer.w0, r45^
   MOV.i32 r46, r45^
   MOV.i32.wait1 r47, workgroup_local_pointer.w1
   STORE.i32.slot2 @r33, [r46^:r47^], offset:0
   IADD_IMM.i32 r33, r28, #0x40
   BRANCHZ.eq.reconverge r9.h0, offset:10

   LD_PKA.i32.unsigned.slot0.wait0 @r48, 0x0, 0x1000000
   IADD_IMM.i32 r48, r48^, #0xFFFFFFFF
   IADD.s32 r47, r4, r47^
   IADD_IMM.i32.wait2 r48, 0x0, #0x1000001
   LD_PKA.i64.unsigned.slot1.wait1 @r48:r49, r47^, r48^
   F16_TO_F32 r47, r48.h0
   F16_TO_F32 r48, r48^.h1
   F16_TO_F32 r50, r49.h0
   F16_TO_F32 r49, r49^.h1
   BRANCHZ.eq.reconverge 0x0, offset:22

   LD_PKA.i32.unsigned.slot2.wait2 @r48, 0x0, 0x1000000
   IADD_IMM.i32 r48, r48^, #0xFFFFFFFF
   IADD.s32 r47, r4, r47^
   LSHIFT_OR.i32 r48, r48^, 0x3020100.b33, 0x0
   LD_PKA.i32.unsigned.slot0.wait0 @r48, r48^, r53
   RSHIFT_OR.i32 r47, r48^, r47^.b00, 0x0
   F16_TO_F32 r47, r47^.h0
   IADD_IMM.i32 r48, r46, #0x1
   RSHIFT_OR.i32 r54, r48, 0x1000000.b33, 0x0
   LD_PKA.i32.unsigned.slot1.wait1 @r50, r50^, r53
   RSHIFT_OR.i32 r48, r50^, r48^.b00, 0x0
   F16_TO_F32 r48, r48^.h0
   IADD_IMM.i32 r50, r46, #0x2
   RSHIFT_OR.i32 r56, r50, 0x1000000.b33, 0x0
   LD_PKA.i32.unsigned.slot2.wait2 @r54, r54^, r53
   RSHIFT_OR.i32 r50, r54^, r50^.b00, 0x0
   F16_TO_F32 r50, r50^.h0
   IADD_IMM.i32 r54, r46, #0x3
   RSHIFT_OR.i32 r54, r49, 0x1000000.b33, 0x0
   LD_PKA.i32.unsigned.slot0.wait0 @r51, r51^, r53^
   RSHIFT_OR.i32 r49, r51^, r49^.b00, 0x0
   F16_TO_F32.reconverge r49, r49^.h0
   IADD_IMM.i32 r51, 0x0, #0x24
   IMUL.i32 r43, r43^, r51^
   LSHIFT_OR.i32 r43, r43^, 0x3020100.b22, 0x0
   IADD.u32 r51, workgroup_local_pointer.w0, r51^
   ICMP_OR.u32.lt.m1 r52, r46, r3, 0x0
   MOV.i32 r57, workgroup_local_pointer.w1
   STORE.i32.slot1 @r47, [r56^:r57^], offset:0
   IADD_IMM.i32 r47, r33, #0x990
   IADD.u32 r47, workgroup_local_pointer.w0, r47
   IADD_IMM.i32 r51, r46, #0x1
   MOV.i32.wait1 r57, workgroup_local_pointer.w1
   STORE.i32.slot2 @r48, [r56^:r57^], offset:0
   IADD_IMM.i32 r47, r33, #0xA20
   IADD.u32 r47, workgroup_local_pointer.w0, r47^
   IADD_IMM.i32 r48, r46, #0x2
   MOV.i32.wait2 r57, workgroup_local_pointer.w1
   STORE.i32.slot0 @r50, [r56^:r57^], offset:0
   IADD_IMM.i32 r47, r33, #0xAB0
   IADD.u32 r47, workgroup_local_pointer.w0, r47^
   IADD_IMM.i32 r50, r46, #0x3
   MOV.i32.wait0 r59, workgroup_local_pointer.w1
   STORE.i32.slot1 @r49, [r58^:r59^], offset:0
   IADD_IMM.i32 r47, 0x0, #0x4
   LD_PKA.i32.unsigned.slot2 @r47, r47^, 0x1000000
   IADD.s32 r29, r0, r29^
   BRANCHZ.eq.reconverge r10.h0, offset:10

   NOP.wait2
   IADD_IMM.i32 r37, r47, #0xFFFFFFFF
   IADD.s32 r29, r7, r29^
   IADD_IMM.i32.wait1 r31, 0x0, #0x1000002
   LD_PKA.i64.unsigned.slot0.wait0 @r60:r61, r29^, r31^
   F16_TO_F32 r29, r60.h0
   F16_TO_F32 r31, r60^.h1
   F16_TO_F32 r37, r61.h0
   F16_TO_F32 r39, r61^.h1
   BRANCHZ.eq.reconverge 0x0, offset:21

   NOP.wait2
   IADD_IMM.i32 r59, r47, #0xFFFFFFFF
   CSEL.u32.lt r41, r41^, r59^, r41^, r59^
   IADD.s32 r31, r7, r31^
   IADD.s32 r39, u4.w1, r39^
   LSHIFT_AND.i32 r60, r60^, 0x0.b00, r41
   RSHIFT_OR.i32 r62, r31, 0x3020100.b22, 0x0
   IADD.s32 r60, r62^, r60^
   RSHIFT_OR.i32 r62, r29, 0x3020100.b22, 0x0
   IADD_IMM.i32.wait1 r62, 0x0, #0x1000002
   LD_PKA.i32.unsigned.slot1.wait1 @r59, r59^, r62
   LD_PKA.i32.unsigned.slot2.wait2 @r60, r60^, r62
   LD_PKA.i32.unsigned.slot0.wait0 @r61, r61^, r62
   LD_PKA.i32.unsigned.slot1 @r41, r41^, r62^
   LSHIFT_OR.i32.wait1 r29, r29^, 0x7060504.b00, 0x0
   RSHIFT_OR.i32 r29, r41^, r29^.b00, 0x0
   RSHIFT_OR.i32 r59, r59^, r31^.b00, 0x0
   F16_TO_F32 r39, r29^.h0
   F16_TO_F32 r37, r41^.h0
   F16_TO_F32 r31, r60^.h0
   F16_TO_F32.reconverge r29, r59^.h0
   CSEL.u32.eq r29, r36^, 0x0, 0x0, r29^
   CSEL.u32.eq r31, r38^, 0x0, 0x0, r31^
   IADD.u32 r30, workgroup_local_pointer.w0, r30^
   MOV.i32 r38, r30^
   MOV.i32 r39, workgroup_local_pointer.w1
   STORE.i32.slot2 @r29, [r38^:r39^], offset:0
   IADD.s32 r29, r34^, r44
   IADD.u32 r29, workgroup_local_pointer.w0, r29
   MOV.i32 r38, r29
   MOV.i32.wait2 r39, workgroup_local_pointer.w1
   STORE.i32.slot0 @r31, [r38^:r39^], offset:0
   IADD.s32 r29, r32^, r44
   IADD.u32 r29, workgroup_local_pointer.w0, r29^
   MOV.i32 r30, r29^
   MOV.i32.wait0 r31, workgroup_local_pointer.w1
   STORE.i32.slot1 @r36, [r30^:r31^], offset:0
   IADD.s32 r29, r35^, r44^
   IADD.u32 r29, workgroup_local_pointer.w0, r29^
   MOV.i32 r30, r29^
   MOV.i32.wait1 r31, workgroup_local_pointer.w1
   STORE.i32.slot2 @r37, [r30^:r31^], offset:0
   IADD.s32 r29, r0, r45^
   BRANCHZ.eq.reconverge r10.h0, offset:9

   IADD_IMM.i32 r30, r47^, #0xFFFFFFFF
   IADD.s32 r29, r7, r29^
   IADD_IMM.i32.wait2 r30, 0x0, #0x1000002
   LD_PKA.i64.unsigned.slot0.wait0 @r30:r31, r29^, r30^
   F16_TO_F32 r29, r30.h0
   F16_TO_F32 r30, r30^.h1
   F16_TO_F32 r32, r31.h0
   F16_TO_F32 r31, r31^.h1
   BRANCHZ.eq.reconverge 0x0, offset:21

   IADD_IMM.i32 r30, r47^, #0xFFFFFFFF
   CSEL.u32.lt r29, r29^, r30^, r29^, r30^
   IMUL.i32 r29, r29^, r6
   IADD.s32 r31, r7, r32^
   IADD.s32 r29, u4.w1, r29^
   RSHIFT_OR.i32 r37, r32, 0x1000000.b33, 0x0
   LSHIFT_OR.i32 r38, r38^, 0x3020100.b33, 0x0
   LSHIFT_OR.i32 r37, r37, 0x3020100.b22, 0x0
   LSHIFT_OR.i32 r38, r38^, 0x3020100.b33, 0x0
   IADD_IMM.i32.wait2 r38, 0x0, #0x1000002
   LD_PKA.i32.unsigned.slot1.wait1 @r35, r35^, r38
   LD_PKA.i32.unsigned.slot2.wait2 @r36, r36^, r38
   LD_PKA.i32.unsigned.slot0.wait0 @r37, r37^, r38
   LD_PKA.i32.unsigned.slot1 @r34, r34^, r38^
   LSHIFT_OR.i32.wait1 r29, r29^, 0x7060504.b00, 0x0
   RSHIFT_OR.i32 r29, r34^, r29^.b00, 0x0
   RSHIFT_OR.i32 r35, r35^, r30^.b00, 0x0
   F16_TO_F32 r31, r29^.h0
   F16_TO_F32 r32, r32^.h0
   F16_TO_F32 r30, r34^.h0
   F16_TO_F32.reconverge r29, r35^.h0
   CSEL.u32.eq r29, r52^, 0x0, 0x0, r29^
   CSEL.u32.eq r30, r53^, 0x0, 0x0, r30^
   IADD.u32 r33, workgroup_local_pointer.w0, r33^
   MOV.i32 r34, r33^
   MOV.i32 r35, workgroup_local_pointer.w1
   STORE.i32.slot2 @r29, [r34^:r35^], offset:0
   IADD.s32 r29, r58^, r43
   IADD.u32 r29, workgroup_local_pointer.w0, r29
   MOV.i32 r34, r29
   MOV.i32.wait2 r35, workgroup_local_pointer.w1
   STORE.i32.slot0 @r30, [r34^:r35^], offset:0
   IADD.s32 r29, r57^, r43
   IADD.u32 r29, workgroup_local_pointer.w0, r29^
   MOV.i32 r34, r29^
   MOV.i32.wait0 r35, workgroup_local_pointer.w1
   STORE.i32.slot1 @r32, [r34^:r35^], offset:0
   IADD.s32 r29, r49^, r43^
   IADD.u32 r29, workgroup_local_pointer.w0, r29^
   MOV.i32 r32, r29^
   MOV.i32.wait1 r33, workgroup_local_pointer.w1
   STORE.i32.slot2.wait2 @r31, [r32^:r33^], offset:0
   BARRIER.slot7.wait
   IADD_IMM.i32.reconverge r29, 0x0, #0x0
   IMUL.i32 r30, r29, 0xB0A0908.b1
   LSHIFT_AND.i32 r31, 0x7060504.b3, 0x0.b00, r28
   IADD.s32 r31, r30, r31^
   LSHIFT_OR.i32 r31, r31^, 0x7060504.b00, 0x0
   IADD.u32 r32, workgroup_local_pointer.w0, r31
   MOV.i32 r33, workgroup_local_pointer.w1
   LOAD.i128.unsigned.slot0 @r32:r33:r34:r35, [r32^:r33^], offset:0
   RSHIFT_OR.i32 r36, r28, 0x3020100.b33, 0x0
   IADD_IMM.i32 r37, 0x0, #0x3FFFFFFF
   LSHIFT_AND.i32 r36, r36^, 0x0.b00, r37^
   IADD.s32 r30, r30^, r36^
   LSHIFT_OR.i32 r30, r30^, 0x7060504.b00, 0x0
   IADD_IMM.i32 r36, r30, #0x900
   IADD.u32 r36, workgroup_local_pointer.w0, r36^
   MOV.i32.wait0 r37, workgroup_local_pointer.w1
   LOAD.i128.unsigned.slot1.wait1 @r36:r37:r38:r39, [r36^:r37^], offset:0
   FMA.f32 r26, r36, r32, r26^
   FMA.f32 r25, r36, r33, r25^
   FMA.f32 r24, r36, r34, r24^
   FMA.f32 r23, r36^, r35, r23^
   FMA.f32 r22, r37, r32, r22^
   FMA.f32 r21, r37, r33, r21^
   FMA.f32 r20, r37, r34, r20^
   FMA.f32 r19, r37^, r35, r19^
   FMA.f32 r18, r38, r32, r18^
   FMA.f32 r17, r38, r33, r17^
   FMA.f32 r16, r38, r34, r16^
   FMA.f32 r15, r38^, r35, r15^
   FMA.f32 r14, r39, r32^, r14^
   FMA.f32 r13, r39, r33^, r13^
   FMA.f32 r12, r39, r34^, r12^
   FMA.f32 r11, r39^, r35^, r11^
   IADD_IMM.i32 r32, r31, #0x90
   IADD.u32 r32, workgroup_local_pointer.w0, r32^
   MOV.i32 r33, workgroup_local_pointer.w1
   LOAD.i128.unsigned.slot2 @r32:r33:r34:r35, [r32^:r33^], offset:0
   IADD_IMM.i32 r36, r30, #0x990
   IADD.u32 r36, workgroup_local_pointer.w0, r36^
   MOV.i32.wait2 r37, workgroup_local_pointer.w1
   LOAD.i128.unsigned.slot0.wait0 @r36:r37:r38:r39, [r36^:r37^], offset:0
   FMA.f32 r26, r36, r32, r26^
   FMA.f32 r25, r36, r33, r25^
   FMA.f32 r24, r36, r34, r24^
   FMA.f32 r23, r36^, r35, r23^
   FMA.f32 r22, r37, r32, r22^
   FMA.f32 r21, r37, r33, r21^
   FMA.f32 r20, r37, r34, r20^
   FMA.f32 r19, r37^, r35, r19^
   FMA.f32 r18, r38, r32, r18^
   FMA.f32 r17, r38, r33, r17^
   FMA.f32 r16, r38, r34, r16^
   FMA.f32 r15, r38^, r35, r15^
   FMA.f32 r14, r39, r32^, r14^
   FMA.f32 r13, r39, r33^, r13^
   FMA.f32 r12, r39, r34^, r12^
   FMA.f32 r11, r39^, r35^, r11^
   IADD_IMM.i32 r32, r31, #0x120
   IADD.u32 r32, workgroup_local_pointer.w0, r32^
   MOV.i32 r33, workgroup_local_pointer.w1
   LOAD.i128.unsigned.slot1 @r32:r33:r34:r35, [r32^:r33^], offset:0
   IADD_IMM.i32 r36, r30, #0xA20
   IADD.u32 r36, workgroup_local_pointer.w0, r36^
   MOV.i32.wait1 r37, workgroup_local_pointer.w1
   LOAD.i128.unsigned.slot2.wait2 @r36:r37:r38:r39, [r36^:r37^], offset:0
   FMA.f32 r26, r36, r32, r26^
   FMA.f32 r25, r36, r33, r25^
   FMA.f32 r24, r36, r34, r24^
   FMA.f32 r23, r36^, r35, r23^
   FMA.f32 r22, r37, r32, r22^
   FMA.f32 r21, r37, r33, r21^
   FMA.f32 r20, r37, r34, r20^
   FMA.f32 r19, r37^, r35, r19^
   FMA.f32 r18, r38, r32, r18^
   FMA.f32 r17, r38, r33, r17^
   FMA.f32 r16, r38, r34, r16^
   FMA.f32 r15, r38^, r35, r15^
   FMA.f32 r14, r39, r32^, r14^
   FMA.f32 r13, r39, r33^, r13^
   FMA.f32 r12, r39, r34^, r12^
   FMA.f32 r11, r39^, r35^, r11^
   IADD_IMM.i32 r31, r31^, #0x1B0
   IADD.u32 r31, workgroup_local_pointer.w0, r31^
   MOV.i32 r32, r31^
   MOV.i32 r33, workgroup_local_pointer.w1
   LOAD.i128.unsigned.slot0 @r32:r33:r34:r35, [r32^:r33^], offset:0
   IADD_IMM.i32 r30, r30^, #0xAB0
   IADD.u32 r30, workgroup_local_pointer.w0, r30^
   MOV.i32.wait0 r31, workgroup_local_pointer.w1
   LOAD.i128.unsigned.slot1.wait1 @r36:r37:r38:r39, [r30^:r31^], offset:0
   FMA.f32 r26, r36, r32, r26^
   FMA.f32 r25, r36, r33, r25^
   FMA.f32 r24, r36, r34, r24^
   FMA.f32 r23, r36^, r35, r23^
   FMA.f32 r22, r37, r32, r22^
   FMA.f32 r21, r37, r33, r21^
   FMA.f32 r20, r37, r34, r20^
   FMA.f32 r19, r37^, r35, r19^
   FMA.f32 r18, r38, r32, r18^
   FMA.f32 r17, r38, r33, r17^
   FMA.f32 r16, r38, r34, r16^
   FMA.f32 r15, r38^, r35, r15^
   FMA.f32 r14, r39, r32^, r14^
   FMA.f32 r13, r39, r33^, r13^
   FMA.f32 r12, r39, r34^, r12^
   FMA.f32 r11, r39^, r35^, r11^
   IADD_IMM.i32 r29, r29^, #0x4
   ICMP_OR.u32.ge.m1 r30, r29, 0x13121110.b0, 0x0
   BRANCHZ.reconverge r30^.h0, offset:1

   BRANCHZ.eq.reconverge 0x0, offset:-109

   BARRIER.slot7.wait
   IADD_IMM.i32 r27, r27^, #0x10
   BRANCHZ.eq.reconverge 0x0, offset:-339

   NOP.end 

