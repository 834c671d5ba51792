// The registry against the SPIR-V that the build embedded: what a row says is what its module declares.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/select.h"
#include "kernel/shader_table.h"
#include "spirv.h"

#include "caps_fixture.h"

// Capabilities that the floor of Vulkan 1.1 gives, and the one that 16-bit rows may ask for. Shader; and the two 16-bit
// ones: StorageBuffer16BitAccess (also called StorageUniformBufferBlock16).
enum { CAPABILITY_SHADER = 1, CAPABILITY_STORAGE_16BIT = 4433 };

#define WHY_BYTES 160

static bool differs(char *out_why, const char *what, uint64_t row, uint64_t module)
{
    if (row == module)
        return false;
    (void)snprintf(out_why, WHY_BYTES, "%s: the row says %llu, the module %llu", what, (unsigned long long)row,
                   (unsigned long long)module);
    return true;
}

static bool bindings_agree(const vkf__kernel *row, const spirv_module *module, char *out_why)
{
    uint32_t seen = 0, storage = 0, params = 0;
    for (size_t i = 0; i < module->binding_count; i++) {
        const spirv_binding *b = &module->bindings[i];
        if (b->set != 0 || b->binding >= 32 || (seen & (1u << b->binding)) || b->storage != (b->binding > 0)) {
            (void)snprintf(out_why, WHY_BYTES, "binding %u of set %u is no %s, or there twice", b->binding, b->set,
                           b->binding > 0 ? "storage buffer" : "uniform block");
            return false;
        }
        seen |= 1u << b->binding;
        storage += b->storage;
        params = b->storage ? params : b->size_bytes;
    }
    return !differs(out_why, "storage_count", row->storage_count, storage) &&
           !differs(out_why, "bindings without a gap", (2u << row->storage_count) - 1, seen) &&
           !differs(out_why, "params_bytes", row->params_bytes, params) &&
           !differs(out_why, "push constants", (uint64_t)4 * row->storage_count, module->push_bytes);
}

static bool constants_agree(const vkf__kernel *row, const spirv_module *module, char *out_why)
{
    uint64_t seen = 0;
    for (size_t i = 0; i < module->spec_count; i++)
        seen |= UINT64_C(1) << (module->spec_ids[i] % 64);
    if (differs(out_why, "specialisation ids", (UINT64_C(1) << row->spec_count) - 1, seen) ||
        differs(out_why, "local_size_x is constant 0", 0, module->local_size_spec[0]))
        return false;
    for (size_t i = 0; i < module->capability_count; i++) {
        uint32_t capability = module->capabilities[i];
        if (capability != CAPABILITY_SHADER && capability != CAPABILITY_STORAGE_16BIT) {
            (void)snprintf(out_why, WHY_BYTES, "capability %u, which no row may rely on", capability);
            return false;
        }
    }
    return !differs(out_why, "needs_storage_16bit", row->needs_storage_16bit,
                    spirv_has_capability(module, CAPABILITY_STORAGE_16BIT));
}

// Whether the parts of a row agree with each other.
static bool row_is_sound(const vkf__kernel *row, char *out_why)
{
    const char *why = NULL;
    if (row->type_count == 0 || row->type_count > VKF_KERNEL_MAX_TYPES || row->storage_count > VKF_KERNEL_MAX_STORAGE)
        why = "its types or storage buffers exceed the limits";
    else if (row->spec_count > VKF_KERNEL_MAX_SPEC || row->tile_count + 1 > row->spec_count || row->tile_count > 5 ||
             row->spec_count - row->tile_count - 1 > VKF_KERNEL_MAX_FLAGS)
        why = "its specialisation constants exceed the limits";
    else if (row->params_bytes == 0 || row->params_bytes % 4 != 0 || row->params_bytes > 256)
        why = "its parameters do not fit their slot of the control buffer";
    else if (row->config_count == 0 || row->op >= VKF_OP_COUNT)
        why = "it has no config or no operator";
    for (uint32_t i = 0; !why && i < row->config_count; i++) {
        if (row->valid && !row->valid(&row->configs[i]))
            why = "a config fails its own valid()";
    }
    if (!why) {
        const vkf__config *last = &row->configs[row->config_count - 1];
        if (last->max_m != 0 || last->min_m > 1 || last->min_n > 1)
            why = "the last config does not take every problem";
    }
    if (why)
        (void)snprintf(out_why, WHY_BYTES, "%s", why);
    return !why;
}

static bool row_agrees(const vkf__kernel *row, const vkf__shader *shader, char *out_why)
{
    spirv_module module;
    const char *why = NULL;
    if (!shader || !spirv_read(shader->words, shader->word_count, &module, &why)) {
        (void)snprintf(out_why, WHY_BYTES, "no module: %s", shader ? why : "none of this name");
        return false;
    }
    return !differs(out_why, "SPIR-V version at most 1.3", 0, module.version > 0x00010300) &&
           row_is_sound(row, out_why) && bindings_agree(row, &module, out_why) &&
           constants_agree(row, &module, out_why);
}

static void test_registry_row_agrees_with_module(void **state)
{
    (void)state;
    assert_true(vkf__kernel_count > 0);
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        char why[WHY_BYTES];
        if (!row_agrees(&vkf__kernels[i], vkf__shader_find(vkf__kernels[i].name), why))
            fail_msg("%s: %s", vkf__kernels[i].name, why);
    }
}

static void test_registry_every_module_has_one_row(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        uint32_t rows = 0;
        for (uint32_t k = 0; k < vkf__kernel_count; k++)
            rows += strcmp(vkf__kernels[k].name, vkf__shaders[i].name) == 0;
        if (rows != 1)
            fail_msg("%s has %u rows", vkf__shaders[i].name, rows);
    }
    assert_int_equal(vkf__kernel_count, vkf__shader_count);
}

// A copy of a row with one field changed must be noticed: otherwise the comparison above could not fail.
static void test_registry_planted_difference_is_noticed(void **state)
{
    (void)state;
    static const vkf__config bad_tile[] = {{.name = "bad", .local_size = 64, .tile = {8, 64, 16, 3, 4}}};
    static const vkf__config narrow[] = {{.name = "narrow", .local_size = 64, .tile = {8, 64, 16, 2, 4}, .max_m = 8}};
    const vkf__kernel *row = &vkf__kernels[0];
    const vkf__shader *shader = vkf__shader_find(row->name);
    char why[WHY_BYTES];
    assert_int_equal(row->op, VKF_OP_GEMM);
    assert_true(row_agrees(row, shader, why));
#define PLANT(field, value)                             \
    do {                                                \
        vkf__kernel copy = *row;                        \
        copy.field = (value);                           \
        if (row_agrees(&copy, shader, why))             \
            fail_msg("%s = %s passes", #field, #value); \
    } while (0)
    PLANT(needs_storage_16bit, true);
    PLANT(storage_count, row->storage_count - 1);
    PLANT(storage_count, row->storage_count + 1);
    PLANT(params_bytes, row->params_bytes - 4);
    PLANT(params_bytes, row->params_bytes + 4);
    PLANT(spec_count, row->spec_count - 1);
    PLANT(spec_count, row->spec_count + 1);
    PLANT(tile_count, row->spec_count);
    PLANT(config_count, 0);
    PLANT(config_count, 1);
    PLANT(op, VKF_OP_COUNT);
    PLANT(type_count, 0);
#undef PLANT
    vkf__kernel other_configs = *row;
    other_configs.config_count = 1;
    other_configs.configs = bad_tile;
    assert_false(row_agrees(&other_configs, shader, why));
    other_configs.configs = narrow;
    assert_false(row_agrees(&other_configs, shader, why));
    assert_false(row_agrees(row, NULL, why));
    assert_false(row_agrees(row, vkf__shader_find("gemm_tile.f32_f16_f32"), why));
    assert_false(row_agrees(row, vkf__shader_find("copy.f32_f32"), why));
}

static void test_spirv_malformed_is_refused(void **state)
{
    (void)state;
    const vkf__shader *shader = &vkf__shaders[0];
    spirv_module module;
    const char *why = NULL;
    uint32_t words[5] = {shader->words[0], shader->words[1], 0, 1, 0};
    uint32_t endless[6] = {shader->words[0], shader->words[1], 0, 1, 0, 17};
    assert_true(spirv_read(shader->words, shader->word_count, &module, &why));
    assert_false(spirv_read(shader->words, 4, &module, &why));
    assert_false(spirv_read(words, 0, &module, &why));
    assert_true(spirv_read(words, 5, &module, &why));
    assert_false(spirv_read(endless, 6, &module, &why));
    endless[5] = (2u << 16) | 17; // an instruction of two words, of which one is there
    assert_false(spirv_read(endless, 6, &module, &why));
    words[0]++;
    assert_false(spirv_read(words, 5, &module, &why));
}

static bool any_config_usable(const vkf__caps *caps, const vkf__kernel *row)
{
    for (uint32_t c = 0; c < row->config_count; c++) {
        if (vkf__kernel_usable(caps, row, &row->configs[c], NULL))
            return true;
    }
    return false;
}

static vkf__caps limited_caps(vkf_profile profile)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    assert_int_equal(vkf__caps_limit(&host, &caps, profile, NULL, 0), VKF_OK);
    return caps;
}

static void test_registry_rows_run_on_the_baseline(void **state)
{
    (void)state;
    const vkf__caps caps = limited_caps(VKF_PROFILE_ANDROID_BASELINE_2022);
    assert_int_equal(caps.max_shared_memory_bytes, 16384);
    assert_int_equal(caps.max_workgroup_invocations, 128);
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        const vkf__kernel *row = &vkf__kernels[i];
        bool excused = row->storage_count > 4 || row->needs_storage_16bit;
        if (any_config_usable(&caps, row) == excused)
            fail_msg("%s %s on the baseline", row->name, excused ? "may run" : "has no config");
    }
}

// Whatever full offers can be served everywhere, if by another row; the fused layer norm falls back to two kernels.
static void test_registry_types_of_full_are_served_on_the_baseline(void **state)
{
    (void)state;
    const vkf__caps full = limited_caps(VKF_PROFILE_FULL);
    for (vkf_profile profile = VKF_PROFILE_ANDROID_BASELINE_2022; profile < VKF_PROFILE_COUNT; profile++) {
        const vkf__caps least = limited_caps(profile);
        for (uint32_t i = 0; i < vkf__kernel_count; i++) {
            const vkf__kernel *row = &vkf__kernels[i];
            const vkf__problem problems[] = {{1, 1, 1}, {100, 100, 100}, {1, 5000, 64}};
            vkf__variant variant;
            for (size_t p = 0; p < 3 && row->op != VKF_OP_LAYER_NORM_RESIDUAL; p++) {
                assert_true(vkf__select(&full, NULL, row->op, row->types, &problems[p], &variant));
                if (!vkf__select(&least, NULL, row->op, row->types, &problems[p], &variant))
                    fail_msg("nothing serves the types of %s under %s", row->name, vkf_profile_name(profile));
            }
        }
    }
}

static void test_registry_fused_layer_norm_has_a_fallback(void **state)
{
    (void)state;
    const vkf__caps least = limited_caps(VKF_PROFILE_ANDROID_BASELINE_2022);
    const vkf__problem problem = {10, 512, 0};
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        const vkf__kernel *row = &vkf__kernels[i];
        vkf__variant variant;
        if (row->op != VKF_OP_LAYER_NORM_RESIDUAL)
            continue;
        assert_false(vkf__select(&least, NULL, row->op, row->types, &problem, &variant));
        assert_true(vkf__select(&least, NULL, VKF_OP_LAYER_NORM, row->types, &problem, &variant));
    }
}

static void test_registry_names_are_unique(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count; i++) {
        for (uint32_t k = i + 1; k < vkf__kernel_count; k++)
            assert_string_not_equal(vkf__kernels[i].name, vkf__kernels[k].name);
        for (uint32_t c = 0; c < vkf__kernels[i].config_count; c++) {
            for (uint32_t d = c + 1; d < vkf__kernels[i].config_count; d++)
                assert_string_not_equal(vkf__kernels[i].configs[c].name, vkf__kernels[i].configs[d].name);
        }
    }
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++)
        assert_string_not_equal(vkf__op_name(op), "unknown");
    assert_string_equal(vkf__op_name(VKF_OP_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_registry_row_agrees_with_module),
        cmocka_unit_test(test_registry_every_module_has_one_row),
        cmocka_unit_test(test_registry_planted_difference_is_noticed),
        cmocka_unit_test(test_spirv_malformed_is_refused),
        cmocka_unit_test(test_registry_rows_run_on_the_baseline),
        cmocka_unit_test(test_registry_types_of_full_are_served_on_the_baseline),
        cmocka_unit_test(test_registry_fused_layer_norm_has_a_fallback),
        cmocka_unit_test(test_registry_names_are_unique),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
