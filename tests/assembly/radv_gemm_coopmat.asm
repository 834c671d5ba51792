BB0:
	s_mov_b64 exec, -1
BB19:
	s_cmp_ge_u32 s22, s5
	s_cbranch_scc1 BB40
BB21:
	s_add_u32 s22, s22, 32
	s_delay_alu instid0(SALU_CYCLE_1)
	s_cmp_lt_u32 s22, s5
	s_cbranch_scc0 BB35
BB22:
	s_clause 0x2
	s_buffer_load_b32 s23, s[16:19], null
	s_buffer_load_b32 s24, s[16:19], 0x14
	s_buffer_load_b64 s[28:29], s[16:19], 0x4
	v_lshrrev_b32_e32 v1, 2, v0
	v_and_b32_e32 v3, 3, v0
	s_mov_b32 s30, src_scc
	s_waitcnt vmcnt(1)
	v_add_nc_u32_e32 v4, 8, v3
	s_waitcnt lgkmcnt(0)
	s_add_u32 s31, s23, -1
	v_cmp_gt_u32_e32 vcc, s23, v2
	s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_3) | instid1(VALU_DEP_1)
	s_nand_b64 exec, s[42:43], s[32:33]
	s_cbranch_execz BB25
BB23:
	s_load_b128 s[44:47], s[0:1], 0x10
	s_add_u32 s23, s29, -1
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_min_u32_e32 v2, s23, v3
	s_waitcnt lgkmcnt(0)
	buffer_load_b32 v6, v6, s[44:47], 0 offen
	v_add_nc_u32_e32 v7, 1, v3
	s_waitcnt vmcnt(1)
	v_add_nc_u32_e32 v11, 2, v3
	v_add_nc_u32_e32 v47, 3, v3
	s_delay_alu instid0(VALU_DEP_3) | instskip(SKIP_3) | instid1(VALU_DEP_4)
	buffer_load_b32 v10, v10, s[44:47], 0 offen
	buffer_load_b32 v46, v46, s[44:47], 0 offen
	buffer_load_b32 v50, v50, s[44:47], 0 offen
	buffer_load_b32 v54, v54, s[44:47], 0 offen
	buffer_load_b32 v58, v58, s[44:47], 0 offen
	buffer_load_b32 v62, v62, s[44:47], 0 offen
	buffer_load_b32 v66, v66, s[44:47], 0 offen
	v_and_b32_e32 v2, 1, v2
	v_cmp_gt_u32_e64 s[32:33], s29, v3
	v_and_b32_e32 v8, 1, v8
	s_waitcnt vmcnt(7)
	v_bfe_u32 v6, v6, v2, 16
	s_delay_alu instid0(VALU_DEP_1)
	v_cndmask_b32_e64 v6, 0, v6, s[32:33]
	s_waitcnt vmcnt(6)
	v_bfe_u32 v10, v10, v8, 16
	s_waitcnt vmcnt(5)
	v_bfe_u32 v46, v46, v44, 16
	s_waitcnt vmcnt(4)
	v_bfe_u32 v50, v50, v48, 16
	s_waitcnt vmcnt(3)
	v_bfe_u32 v54, v54, v52, 16
	s_waitcnt vmcnt(2)
	v_bfe_u32 v58, v58, v56, 16
	s_waitcnt vmcnt(1)
	v_bfe_u32 v62, v62, v60, 16
	s_waitcnt vmcnt(0)
	v_bfe_u32 v66, v66, v5, 16
	v_lshlrev_b32_e32 v10, 16, v10
	v_cndmask_b32_e64 v46, 0, v46, s[44:45]
BB25:
	s_and_not1_b64 exec, -1, exec
	s_cbranch_execz BB28
BB26:
	s_load_b128 s[44:47], s[0:1], 0x10
	v_lshrrev_b32_e32 v6, 3, v6
	s_delay_alu instid0(VALU_DEP_1)
	v_lshlrev_b32_e32 v6, 4, v6
	s_waitcnt lgkmcnt(0)
	buffer_load_b128 v[4:7], v6, s[44:47], 0 offen
BB28:
	s_buffer_load_b32 s23, s[16:19], 0x18
	s_mov_b64 exec, -1
	s_add_u32 s24, s28, -1
	v_add_nc_u32_e32 v1, s27, v1
	s_delay_alu instid0(VALU_DEP_1) | instskip(SKIP_4) | instid1(VALU_DEP_1)
	s_waitcnt lgkmcnt(0)
	v_mul_lo_u32 v2, v2, s23
	v_add3_u32 v2, v2, s2, s34
	s_waitcnt vmcnt(1)
	s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_add_nc_u32_e32 v8, v2, v3
	v_and_b32_e32 v9, 7, v8
	s_nand_b64 exec, s[32:33], s[40:41]
	s_cbranch_execz BB31
BB29:
	s_load_b128 s[40:43], s[0:1], 0x20
	s_add_u32 s23, s29, -1
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(VALU_DEP_1)
	v_min_u32_e32 v1, s23, v3
	s_waitcnt lgkmcnt(0)
	buffer_load_b32 v9, v9, s[40:43], 0 offen
	v_add_nc_u32_e32 v10, 1, v3
	v_add_nc_u32_e32 v46, 2, v3
	v_add_nc_u32_e32 v50, 3, v3
	buffer_load_b32 v45, v45, s[40:43], 0 offen
	buffer_load_b32 v49, v49, s[40:43], 0 offen
	buffer_load_b32 v53, v53, s[40:43], 0 offen
	buffer_load_b32 v57, v57, s[40:43], 0 offen
	buffer_load_b32 v61, v61, s[40:43], 0 offen
	buffer_load_b32 v65, v65, s[40:43], 0 offen
	buffer_load_b32 v68, v68, s[40:43], 0 offen
	v_and_b32_e32 v1, 1, v1
	s_and_b64 s[32:33], vcc, s[32:33]
	v_and_b32_e32 v11, 1, v11
	s_waitcnt vmcnt(7)
	v_bfe_u32 v9, v9, v1, 16
	s_delay_alu instid0(VALU_DEP_1)
	v_cndmask_b32_e64 v9, 0, v9, s[32:33]
	s_waitcnt vmcnt(6)
	v_bfe_u32 v45, v45, v11, 16
	s_waitcnt vmcnt(5)
	v_bfe_u32 v49, v49, v47, 16
	s_waitcnt vmcnt(4)
	v_bfe_u32 v53, v53, v51, 16
	s_waitcnt vmcnt(3)
	v_bfe_u32 v57, v57, v55, 16
	s_waitcnt vmcnt(2)
	v_bfe_u32 v61, v61, v59, 16
	s_waitcnt vmcnt(1)
	v_bfe_u32 v65, v65, v63, 16
	v_lshlrev_b32_e32 v45, 16, v45
	s_waitcnt vmcnt(0)
	v_bfe_u32 v68, v68, v2, 16
	v_cndmask_b32_e64 v49, 0, v49, s[42:43]
	v_lshlrev_b32_e32 v53, 16, v53
BB31:
	s_and_not1_b64 exec, -1, exec
	s_cbranch_execz BB34
BB32:
	s_load_b128 s[40:43], s[0:1], 0x20
	v_lshrrev_b32_e32 v8, 3, v8
	s_delay_alu instid0(VALU_DEP_1)
	v_lshlrev_b32_e32 v8, 4, v8
	s_waitcnt lgkmcnt(0)
	buffer_load_b128 v[8:11], v8, s[40:43], 0 offen
BB34:
	s_mov_b64 exec, -1
	s_branch BB36
BB35:
	s_mov_b32 s30, src_scc
BB36:
	s_mul_i32 s23, s9, 0x140
	v_mbcnt_lo_u32_b32 v1, -1, 0
	s_add_u32 s23, s15, s23
	ds_load_b64 v[48:49], v2
	ds_load_b64 v[50:51], v2 offset:8
	ds_load_b64 v[52:53], v2 offset:16
	ds_load_b64 v[54:55], v2 offset:24
	ds_load_b64 v[56:57], v2 offset:1280
	ds_load_b64 v[58:59], v2 offset:1288
	ds_load_b64 v[60:61], v2 offset:1296
	ds_load_b64 v[62:63], v2 offset:1304
	ds_load_b64 v[64:65], v2 offset:2560
	ds_load_b64 v[66:67], v2 offset:2568
	ds_load_b64 v[68:69], v2 offset:2576
	ds_load_b64 v[70:71], v2 offset:2584
	ds_load_b64 v[72:73], v2 offset:3840
	ds_load_b64 v[74:75], v2 offset:3848
	ds_load_b64 v[76:77], v2 offset:3856
	ds_load_b64 v[78:79], v2 offset:3864
	s_mul_i32 s24, s13, 0xa0
	s_delay_alu instid0(SALU_CYCLE_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)
	s_add_u32 s24, s15, s24
	ds_load_b64 v[80:81], v1 offset:10240
	ds_load_b64 v[82:83], v1 offset:10248
	ds_load_b64 v[84:85], v1 offset:10256
	ds_load_b64 v[86:87], v1 offset:10264
	ds_load_b64 v[88:89], v1 offset:11520
	ds_load_b64 v[90:91], v1 offset:11528
	ds_load_b64 v[92:93], v1 offset:11536
	ds_load_b64 v[94:95], v1 offset:11544
	ds_load_b64 v[96:97], v2 offset:32
	ds_load_b64 v[98:99], v2 offset:40
	ds_load_b64 v[100:101], v2 offset:48
	ds_load_b64 v[102:103], v2 offset:56
	ds_load_b64 v[104:105], v2 offset:1312
	ds_load_b64 v[106:107], v2 offset:1320
	ds_load_b64 v[108:109], v2 offset:1328
	ds_load_b64 v[110:111], v2 offset:1336
	ds_load_b64 v[112:113], v2 offset:2592
	ds_load_b64 v[114:115], v2 offset:2600
	ds_load_b64 v[116:117], v2 offset:2608
	ds_load_b64 v[118:119], v2 offset:2616
	ds_load_b64 v[120:121], v2 offset:3872
	ds_load_b64 v[122:123], v2 offset:3880
	ds_load_b64 v[124:125], v2 offset:3888
	ds_load_b64 v[126:127], v2 offset:3896
	ds_load_b64 v[128:129], v1 offset:10272
	ds_load_b64 v[130:131], v1 offset:10280
	ds_load_b64 v[132:133], v1 offset:10288
	ds_load_b64 v[134:135], v1 offset:10296
	ds_load_b64 v[136:137], v1 offset:11552
	ds_load_b64 v[138:139], v1 offset:11560
	ds_load_b64 v[140:141], v1 offset:11568
	ds_load_b64 v[142:143], v1 offset:11576
	s_waitcnt lgkmcnt(28)
	v_wmma_f32_16x16x16_f16 v[12:15], v[48:55], v[80:87], v[12:15]
	v_wmma_f32_16x16x16_f16 v[20:23], v[56:63], v[80:87], v[20:23]
	v_wmma_f32_16x16x16_f16 v[28:31], v[64:71], v[80:87], v[28:31]
	v_wmma_f32_16x16x16_f16 v[36:39], v[72:79], v[80:87], v[36:39]
	s_waitcnt lgkmcnt(24)
	v_wmma_f32_16x16x16_f16 v[32:35], v[64:71], v[88:95], v[32:35]
	v_wmma_f32_16x16x16_f16 v[40:43], v[72:79], v[88:95], v[40:43]
	v_wmma_f32_16x16x16_f16 v[16:19], v[48:55], v[88:95], v[16:19]
	v_wmma_f32_16x16x16_f16 v[24:27], v[56:63], v[88:95], v[24:27]
	s_cmp_lg_i32 s30, 0
	s_waitcnt lgkmcnt(4)
	v_wmma_f32_16x16x16_f16 v[12:15], v[96:103], v[128:135], v[12:15]
	v_wmma_f32_16x16x16_f16 v[36:39], v[120:127], v[128:135], v[36:39]
	s_waitcnt lgkmcnt(0)
	v_wmma_f32_16x16x16_f16 v[32:35], v[112:119], v[136:143], v[32:35]
	v_wmma_f32_16x16x16_f16 v[40:43], v[120:127], v[136:143], v[40:43]
	v_wmma_f32_16x16x16_f16 v[16:19], v[96:103], v[136:143], v[16:19]
	v_wmma_f32_16x16x16_f16 v[20:23], v[104:111], v[128:135], v[20:23]
	v_wmma_f32_16x16x16_f16 v[28:31], v[112:119], v[128:135], v[28:31]
	v_wmma_f32_16x16x16_f16 v[24:27], v[104:111], v[136:143], v[24:27]
	s_cbranch_scc0 BB39
BB37:
	v_lshrrev_b32_e32 v1, 2, v0
	v_and_b32_e32 v2, 3, v0
	s_waitcnt vmcnt(1)
	v_mov_b32_e32 v44, v4
	v_mov_b32_e32 v45, v5
	v_mov_b32_e32 v46, v6
	ds_store_b128 v1, v[44:47] offset:20480
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v44, v8
	v_mov_b32_e32 v45, v9
	v_mov_b32_e32 v46, v10
	ds_store_b128 v1, v[44:47] offset:30720
BB39:
	s_waitcnt_depctr 0xffe3
	s_barrier
	s_sub_i32 s15, 0x500, s15
	s_branch BB19
BB40:
	s_endpgm
