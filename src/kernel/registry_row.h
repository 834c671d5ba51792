// With this the files of the registry write their rows. A row gives its element types once, as the list of
// shaders spells them. The row's name, the types of its operands and what their storage needs from a device follow from
// that. Every row with f16 in a storage buffer exists twice: with float16_t, and as f16p with two halves per word for
// devices without 16-bit storage.
#ifndef VKF_KERNEL_REGISTRY_ROW_H
#define VKF_KERNEL_REGISTRY_ROW_H

#include "kernel/registry.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#define ELEMENT_f32 VKF_DTYPE_F32
#define ELEMENT_f16 VKF_DTYPE_F16
#define ELEMENT_f16p VKF_DTYPE_F16
#define ELEMENT_bf16 VKF_DTYPE_BF16
#define ELEMENT_bf16p VKF_DTYPE_BF16
#define ELEMENT_i32 VKF_DTYPE_I32
#define ELEMENT_i8 VKF_DTYPE_I8
#define ELEMENT_u8 VKF_DTYPE_U8
#define ELEMENT_q8 VKF_DTYPE_Q8
#define ELEMENT_q4 VKF_DTYPE_Q4

#define STORAGE_f32 0u
#define STORAGE_f16 VKF_NEEDS_STORAGE_16BIT
#define STORAGE_f16p 0u
#define STORAGE_bf16p 0u
#define STORAGE_q8 0u

// The VKF_NEEDS_* for operands in storage buffers.
#define STORAGE(a) STORAGE_##a
#define STORAGE_2(a, b) (STORAGE(a) | STORAGE(b))
#define STORAGE_3(a, b, c) (STORAGE(a) | STORAGE(b) | STORAGE(c))

// A row has .name = NAME_3("gemm_tile", f32, f16p, f32), TYPES_3(f32, f16p, f32).
#define NAME_1(shader, a) shader "." #a
#define NAME_2(shader, a, b) shader "." #a "_" #b
#define NAME_3(shader, a, b, c) shader "." #a "_" #b "_" #c
#define TYPES_1(a) .types = {ELEMENT_##a}, .type_count = 1
#define TYPES_2(a, b) .types = {ELEMENT_##a, ELEMENT_##b}, .type_count = 2
#define TYPES_3(a, b, c) .types = {ELEMENT_##a, ELEMENT_##b, ELEMENT_##c}, .type_count = 3

#define PARAMS(type) .params_bytes = sizeof(struct type)
#define CONFIGS(list) .configs = list, .config_count = COUNT(list)
#define CONSTANTS(list) .constants = list, .spec_count = COUNT(list)

// A specialisation constant at its id in a list of names. NULL in such a list means that the module lacks the constant.
#define CONSTANT(family, name) [VKF_##family##_SPEC_##name] = #name
#define LOCAL_SIZE [VKF_SPEC_LOCAL_SIZE] = "LOCAL_SIZE"

// Asserts that a tile's member has the place of the shader's constant.
#define CHECK_TILE(member, id) \
    _Static_assert(offsetof(vkf__tile, member) == 4 * ((id)-VKF_TILE_SPEC_FIRST), #member " is not constant " #id)
#define VKF_TILE_SPEC_FIRST 1

// What rows of more than one file have: configs with an invocation for each element, configs for elements that count as
// one row, and whether a config's workgroup may be halved again and again, as reductions do.
extern const vkf__config vkf__flat_configs[2];
extern const vkf__config vkf__whole_row_configs[3];
const char *vkf__whole_row_unfit(const vkf__caps *caps, const vkf__config *config, const vkf__problem *problem);
#define WHOLE_ROW(params) PARAMS(params), CONFIGS(vkf__whole_row_configs), .unfit = vkf__whole_row_unfit
bool vkf__halves_to_one(const vkf__config *config);

#endif
