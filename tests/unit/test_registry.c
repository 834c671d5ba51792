// The registry against the SPIR-V that the build embedded: what a row says is what its module declares.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "embedded_words.h"
#include "kernel/pipeline.h"
#include "kernel/shader_table.h"
#include "lab/shaders/spirv.h"
#include "shared/gemm.h"

#include "caps_fixture.h"

// Capabilities that the floor of Vulkan 1.1 gives (Shader, SampledBuffer, ImageQuery), and those that a row has to ask
// for: StorageBuffer16BitAccess (also called StorageUniformBufferBlock16), GroupNonUniform and its kinds,
// PhysicalStorageBufferAddresses; and, of matrices, Float16, VulkanMemoryModel, the ones of VK_KHR_cooperative_matrix,
// of VK_KHR_shader_bfloat16, of VK_NV_cooperative_matrix2 and VK_NV_tensor_addressing; and those of
// VK_KHR_shader_integer_dot_product.
enum {
    CAPABILITY_SHADER = 1,
    CAPABILITY_FLOAT16 = 9,
    CAPABILITY_INT64 = 11,
    CAPABILITY_BFLOAT16 = 5116,
    CAPABILITY_MATRIX_BFLOAT16 = 5118,
    CAPABILITY_MEMORY_MODEL = 5345,
    CAPABILITY_MATRIX_REDUCTIONS = 5430,
    CAPABILITY_MATRIX_CONVERSIONS = 5431,
    CAPABILITY_MATRIX_PER_ELEMENT = 5432,
    CAPABILITY_MATRIX_TENSOR = 5433,
    CAPABILITY_MATRIX_BLOCK_LOADS = 5434,
    CAPABILITY_TENSOR_ADDRESSING = 5439,
    CAPABILITY_MATRIX = 6022,
    CAPABILITY_SAMPLED_BUFFER = 46,
    CAPABILITY_STORAGE_16BIT = 4433,
    CAPABILITY_SUBGROUP = 61,
    CAPABILITY_SUBGROUP_ARITHMETIC = 63,
    CAPABILITY_SUBGROUP_SHUFFLE = 65,
    CAPABILITY_ADDRESSES = 5347,
    CAPABILITY_DOT_PACKED = 6018,
    CAPABILITY_DOT = 6019,
};

#define WHY_BYTES 160

static bool differs(char *out_why, const char *what, uint64_t row, uint64_t module)
{
    if (row == module)
        return false;
    (void)snprintf(out_why, WHY_BYTES, "%s: the row says %llu, the module %llu", what, (unsigned long long)row,
                   (unsigned long long)module);
    return true;
}

static bool binding_agrees(const vkf__kernel *row, const spirv_binding *b)
{
    if (b->set != 0 || b->binding > row->operand_count)
        return false;
    if (b->binding == 0)
        return b->kind == SPIRV_UNIFORM_BLOCK;
    switch (row->operands[b->binding - 1]) {
    case VKF_OPERAND_STORAGE:
        return b->kind == SPIRV_STORAGE_BUFFER;
    case VKF_OPERAND_TEXEL:
    case VKF_OPERAND_TEXEL4:
    case VKF_OPERAND_VALUES:
        return b->kind == SPIRV_TEXEL_BUFFER;
    default:
        return false;
    }
}

static bool bindings_agree(const vkf__kernel *row, const spirv_module *module, char *out_why)
{
    uint32_t seen = 0, params = 0, expected = 1;
    for (size_t i = 0; i < module->binding_count; i++) {
        const spirv_binding *b = &module->bindings[i];
        if (!binding_agrees(row, b) || (seen & (1u << b->binding))) {
            (void)snprintf(out_why, WHY_BYTES, "binding %u of set %u is not what the row says, or there twice",
                           b->binding, b->set);
            return false;
        }
        seen |= 1u << b->binding;
        params = b->binding == 0 ? b->size_bytes : params;
    }
    for (uint32_t i = 0; i < row->operand_count; i++)
        expected |= row->operands[i] == VKF_OPERAND_ADDRESS ? 0 : 2u << i;
    return !differs(out_why, "bindings", expected, seen) &&
           !differs(out_why, "params_bytes", row->params_bytes, params) &&
           !differs(out_why, "push constants", (uint64_t)4 * vkf__kernel_push_words(row), module->push_bytes);
}

// By an operand's address, or through the pointers to blocks that decoding functions get.
static bool reads_addresses(const vkf__kernel *row)
{
    for (uint32_t i = 0; i < row->operand_count; i++) {
        if (row->operands[i] == VKF_OPERAND_ADDRESS)
            return true;
    }
    return row->needs & VKF_NEEDS_MATRIX_DECODED;
}

static uint32_t needs_of_matrix_capability(uint32_t capability)
{
    switch (capability) {
    case CAPABILITY_MEMORY_MODEL:
    case CAPABILITY_MATRIX:
        return VKF_NEEDS_MATRIX;
    case CAPABILITY_BFLOAT16:
    case CAPABILITY_MATRIX_BFLOAT16:
        return VKF_NEEDS_MATRIX_BF16;
    case CAPABILITY_MATRIX_PER_ELEMENT:
        return VKF_NEEDS_MATRIX_ELEMENT;
    case CAPABILITY_MATRIX_REDUCTIONS:
        return VKF_NEEDS_MATRIX_REDUCTION;
    case CAPABILITY_MATRIX_TENSOR:
    case CAPABILITY_TENSOR_ADDRESSING:
        return VKF_NEEDS_MATRIX_TENSOR;
    case CAPABILITY_MATRIX_BLOCK_LOADS:
        return VKF_NEEDS_MATRIX_DECODED;
    case CAPABILITY_MATRIX_CONVERSIONS:
        return VKF_NEEDS_MATRIX_CONVERSION;
    default:
        return 0;
    }
}

static bool capability_allowed(const vkf__kernel *row, uint32_t capability)
{
    switch (capability) {
    case CAPABILITY_SHADER:
    case CAPABILITY_SAMPLED_BUFFER:
        return true;
    case CAPABILITY_STORAGE_16BIT:
        return row->needs & VKF_NEEDS_STORAGE_16BIT;
    case CAPABILITY_SUBGROUP:
        return row->needs & (VKF_NEEDS_SUBGROUP | VKF_NEEDS_SHUFFLE | VKF_NEEDS_MATRIX);
    case CAPABILITY_SUBGROUP_ARITHMETIC:
        return row->needs & VKF_NEEDS_SUBGROUP;
    case CAPABILITY_SUBGROUP_SHUFFLE:
        return row->needs & VKF_NEEDS_SHUFFLE;
    case CAPABILITY_ADDRESSES:
        return reads_addresses(row);
    case CAPABILITY_FLOAT16:
        return row->needs & (VKF_NEEDS_FLOAT16 | VKF_NEEDS_MATRIX);
    case CAPABILITY_INT64:
        return row->needs & VKF_NEEDS_INT64;
    case CAPABILITY_DOT:
    case CAPABILITY_DOT_PACKED:
        return row->needs & VKF_NEEDS_INTEGER_DOT;
    default:
        return row->needs & needs_of_matrix_capability(capability);
    }
}

// A row asks of matrices for what its module declares, and for no more.
static bool matrix_needs_agree(const vkf__kernel *row, const spirv_module *module, char *out_why)
{
    static const uint32_t capabilities[] = {
        CAPABILITY_MATRIX,
        CAPABILITY_MEMORY_MODEL,
        CAPABILITY_MATRIX_BFLOAT16,
        CAPABILITY_MATRIX_PER_ELEMENT,
        CAPABILITY_MATRIX_TENSOR,
        CAPABILITY_MATRIX_BLOCK_LOADS,
        CAPABILITY_MATRIX_CONVERSIONS,
        CAPABILITY_MATRIX_REDUCTIONS,
    };
    for (size_t i = 0; i < sizeof capabilities / sizeof capabilities[0]; i++) {
        if (differs(out_why, "needs a matrix capability",
                    (row->needs & needs_of_matrix_capability(capabilities[i])) != 0,
                    spirv_has_capability(module, capabilities[i])))
            return false;
    }
    return true;
}

static bool constants_agree(const vkf__kernel *row, const spirv_module *module, char *out_why)
{
    uint64_t seen = 0, expected = 0;
    for (size_t i = 0; i < module->spec_count; i++)
        seen |= UINT64_C(1) << (module->specs[i].id % 64);
    for (uint32_t id = 0; id < row->spec_count; id++)
        expected |= (uint64_t)(row->constants[id] != NULL) << id;
    if (differs(out_why, "specialisation ids", expected, seen) ||
        differs(out_why, "local_size_x is constant 0", 0, module->local_size_spec[0]))
        return false;
    for (size_t i = 0; i < module->capability_count; i++) {
        if (!capability_allowed(row, module->capabilities[i])) {
            (void)snprintf(out_why, WHY_BYTES, "capability %u, which the row does not ask for",
                           module->capabilities[i]);
            return false;
        }
    }
    bool subgroups = row->needs & (VKF_NEEDS_SUBGROUP | VKF_NEEDS_SHUFFLE) || row->matrix != VKF_MATRIX_NONE;
    return matrix_needs_agree(row, module, out_why) &&
           !differs(out_why, "needs 16-bit storage", (row->needs & VKF_NEEDS_STORAGE_16BIT) != 0,
                    spirv_has_capability(module, CAPABILITY_STORAGE_16BIT)) &&
           !differs(out_why, "needs 16-bit floats for nothing", 0,
                    row->needs & VKF_NEEDS_FLOAT16 && !spirv_has_capability(module, CAPABILITY_FLOAT16)) &&
           !differs(out_why, "needs integer dot products", (row->needs & VKF_NEEDS_INTEGER_DOT) != 0,
                    spirv_has_capability(module, CAPABILITY_DOT)) &&
           !differs(out_why, "needs 64-bit integers", (row->needs & VKF_NEEDS_INT64) != 0,
                    spirv_has_capability(module, CAPABILITY_INT64)) &&
           !differs(out_why, "needs subgroups", subgroups, spirv_has_capability(module, CAPABILITY_SUBGROUP)) &&
           !differs(out_why, "needs addresses", reads_addresses(row),
                    spirv_has_capability(module, CAPABILITY_ADDRESSES));
}

// Whether the parts of a row agree with each other.
static bool row_is_sound(const vkf__kernel *row, char *out_why)
{
    const char *why = NULL;
    uint32_t shape = row->matrix != VKF_MATRIX_NONE ? 3 : 0;
    if (row->type_count == 0 || row->type_count > VKF_KERNEL_MAX_TYPES || row->operand_count > VKF_KERNEL_MAX_OPERANDS)
        why = "its types or storage buffers exceed the limits";
    else if (row->spec_count > VKF_KERNEL_MAX_SPEC || row->tile_count + 1 > row->spec_count ||
             row->tile_count > VKF_KERNEL_MAX_TILE)
        why = "its specialisation constants exceed the limits";
    else if (!row->constants[VKF_SPEC_LOCAL_SIZE])
        why = "it has no constant of the workgroup's size";
    else if (row->spec_count < row->tile_count + 1 + shape)
        why = "it has no room for the shape of its matrices";
    else if (row->params_bytes == 0 || row->params_bytes % 4 != 0 || row->params_bytes > 256)
        why = "its parameters do not fit their slot of the control buffer";
    else if (row->config_count == 0 || row->config_count > VKF_KERNEL_MAX_CONFIGS || row->op >= VKF_OP_COUNT)
        why = "it has no config, too many, or no operator";
    for (uint32_t i = 0; !why && i < row->config_count; i++) {
        if ((row->configs[i].local_size == 0) == (row->configs[i].subgroups == 0))
            why = "a config has no local size, or two";
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
    const char *why = "none of this name";
    uint32_t *words = shader ? embedded_words(shader) : NULL;
    bool is_read = words && spirv_read(words, shader->word_count, &module, &why);
    free(words);
    if (!is_read) {
        (void)snprintf(out_why, WHY_BYTES, "no module: %s", why);
        return false;
    }
    // Vulkan 1.1 takes SPIR-V 1.3, Vulkan 1.3 takes 1.6.
    uint32_t version = row->needs & VKF_NEEDS_MATRIX_ELEMENT ? 0x00010600 : 0x00010300;
    return !differs(out_why, "SPIR-V version beyond the row's", 0, module.version > version) &&
           row_is_sound(row, out_why) && bindings_agree(row, &module, out_why) &&
           constants_agree(row, &module, out_why);
}

static void test_registry_row_agrees_with_module(void **state)
{
    (void)state;
    assert_true(vkf__kernel_count() > 0);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        char why[WHY_BYTES];
        if (!row_agrees(vkf__kernel_at(i), vkf__shader_find(vkf__kernel_module(vkf__kernel_at(i))), why))
            fail_msg("%s: %s", vkf__kernel_at(i)->name, why);
    }
}

// The type that one of the words behind the dot of a name stands for.
static vkf_dtype type_of_word(const char *word, size_t length)
{
    static const struct {
        const char *word;
        vkf_dtype type;
    } words[] = {{"f32", VKF_DTYPE_F32},    {"f16", VKF_DTYPE_F16}, {"f16p", VKF_DTYPE_F16}, {"bf16", VKF_DTYPE_BF16},
                 {"bf16p", VKF_DTYPE_BF16}, {"i32", VKF_DTYPE_I32}, {"q8", VKF_DTYPE_Q8},    {"q4", VKF_DTYPE_Q4},
                 {"i8", VKF_DTYPE_I8},      {"u8", VKF_DTYPE_U8}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i].word) == length && strncmp(words[i].word, word, length) == 0)
            return words[i].type;
    }
    return VKF_DTYPE_COUNT;
}

// A name says all types, or the first and the last, or, where the output is made of indices, the first alone.
static bool name_says_the_types(const vkf__kernel *row)
{
    vkf_dtype said[VKF_KERNEL_MAX_TYPES] = {0};
    uint32_t count = 0;
    for (const char *word = strchr(row->name, '.'); word; word = strchr(word + 1, '_')) {
        if (count == row->type_count)
            return false;
        said[count++] = type_of_word(word + 1, strcspn(word + 1, "_"));
    }
    if (count == row->type_count)
        return count > 0 && memcmp(said, row->types, count * sizeof said[0]) == 0;
    return said[0] == row->types[0] &&
           (count == 1 ? row->types[1] == VKF_DTYPE_I32 : row->types[1] == said[0] && said[1] == row->types[2]);
}

static void test_registry_names_say_the_types(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        if (!name_says_the_types(vkf__kernel_at(i)))
            fail_msg("%s has other types than its name says", vkf__kernel_at(i)->name);
    }
    vkf__kernel row = *vkf__kernel_at(0);
    row.types[1] = VKF_DTYPE_F16;
    assert_false(name_says_the_types(&row));
    row.type_count = 2;
    assert_false(name_says_the_types(&row));
}

static void test_registry_every_module_has_a_row(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        bool found = false;
        for (uint32_t k = 0; k < vkf__kernel_count(); k++)
            found = found || strcmp(vkf__kernel_module(vkf__kernel_at(k)), vkf__shaders[i].name) == 0;
        if (!found)
            fail_msg("%s has no row", vkf__shaders[i].name);
    }
}

static void test_registry_layouts_fit_the_pipelines(void **state)
{
    (void)state;
    uint32_t layouts = 0;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        bool known = false;
        for (uint32_t k = 0; k < i && !known; k++)
            known = vkf__kernel_at(i)->operand_count == vkf__kernel_at(k)->operand_count &&
                    memcmp(vkf__kernel_at(i)->operands, vkf__kernel_at(k)->operands,
                           sizeof vkf__kernel_at(i)->operands) == 0;
        layouts += !known;
    }
    assert_in_range(layouts, 1, VKF_MAX_LAYOUTS);
}

// A copy of a row whose constants have names of their own.
static vkf__kernel with_names(const vkf__kernel *row, const char *names[VKF_KERNEL_MAX_SPEC])
{
    vkf__kernel copy = *row;
    for (uint32_t id = 0; id < VKF_KERNEL_MAX_SPEC; id++)
        names[id] = id < row->spec_count ? row->constants[id] : "NEXT";
    copy.constants = names;
    return copy;
}

// A copy of a row with one field changed must be noticed: otherwise the comparison above could not fail.
static void test_registry_planted_difference_is_noticed(void **state)
{
    (void)state;
    static const vkf__config bad_tile[] = {{.name = "bad", .local_size = 64, .tile.gemm = {8, 64, 16, 3, 4}}};
    static const vkf__config narrow[] = {
        {.name = "narrow", .local_size = 64, .tile.gemm = {8, 64, 16, 2, 4}, .max_m = 8}};
    const vkf__kernel *row = vkf__kernel_at(0);
    const vkf__shader *shader = vkf__shader_find(vkf__kernel_module(row));
    char why[WHY_BYTES];
    assert_int_equal(row->op, VKF_OP_GEMM);
    assert_true(row_agrees(row, shader, why));
#define PLANT(field, value)                             \
    do {                                                \
        const char *names[VKF_KERNEL_MAX_SPEC];         \
        vkf__kernel copy = with_names(row, names);      \
        copy.field = (value);                           \
        if (row_agrees(&copy, shader, why))             \
            fail_msg("%s = %s passes", #field, #value); \
    } while (0)
    PLANT(needs, VKF_NEEDS_STORAGE_16BIT);
    PLANT(operand_count, row->operand_count - 1);
    PLANT(operand_count, row->operand_count + 1);
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

static const vkf__kernel *row_named(const char *name)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        if (strcmp(vkf__kernel_at(i)->name, name) == 0)
            return vkf__kernel_at(i);
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void test_registry_planted_integer_dot_difference_is_noticed(void **state)
{
    (void)state;
    static const char *const names[] = {"gemm_dot.i32_q8_f32", "gemm_dot_tile.i32_q4_f16"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        vkf__kernel row = *row_named(names[i]);
        const vkf__shader *shader = vkf__shader_find(vkf__kernel_module(&row));
        char why[WHY_BYTES];
        assert_true(row_agrees(&row, shader, why));
        row.needs &= ~VKF_NEEDS_INTEGER_DOT;
        assert_false(row_agrees(&row, shader, why));
    }
    vkf__kernel row = *row_named("copy.f32_f32");
    char why[WHY_BYTES];
    row.needs |= VKF_NEEDS_INTEGER_DOT;
    assert_false(row_agrees(&row, vkf__shader_find("copy.f32_f32"), why));
}

// The same for what rows on matrices have besides.
static void test_registry_planted_matrix_difference_is_noticed(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t need;
    } rows[] = {
        {"gemm_coopmat.f16_f16_f32", VKF_NEEDS_MATRIX},
        {"gemm_coopmat.f32_bf16_f32", VKF_NEEDS_MATRIX_BF16},
        {"gemm_coopmat2_element.f16_f16_f16", VKF_NEEDS_MATRIX_ELEMENT},
        {"gemm_coopmat2.f16_f16_f16", VKF_NEEDS_MATRIX_TENSOR},
        {"gemm_coopmat2.f32_f16_f32", VKF_NEEDS_MATRIX_CONVERSION},
        {"gemm_coopmat2_blocks.f16_q4_f16", VKF_NEEDS_MATRIX_DECODED},
        {"attention_coopmat.f16_f16_f16", VKF_NEEDS_MATRIX},
        {"attention_coopmat2.f16_f16_f16", VKF_NEEDS_MATRIX_REDUCTION},
        {"attention_coopmat2.f16_f16_f32", VKF_NEEDS_MATRIX_CONVERSION},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const vkf__kernel *row = row_named(rows[i].name);
        const vkf__shader *shader = vkf__shader_find(vkf__kernel_module(row));
        char why[WHY_BYTES];
        assert_true(row_agrees(row, shader, why));
        vkf__kernel copy = *row;
        copy.needs &= ~rows[i].need;
        assert_false(row_agrees(&copy, shader, why));
        const char *names[VKF_KERNEL_MAX_SPEC];
        copy = with_names(row, names);
        names[VKF_GEMM_SPEC_THREAD_M] = names[VKF_GEMM_SPEC_THREAD_M] ? NULL : "THREAD_M";
        assert_false(row_agrees(&copy, shader, why));
        copy = *row;
        copy.needs ^= VKF_NEEDS_MATRIX_BF16;
        assert_false(row_agrees(&copy, shader, why));
    }
}

static void test_spirv_malformed_is_refused(void **state)
{
    (void)state;
    const vkf__shader *shader = &vkf__shaders[0];
    spirv_module module;
    const char *why = NULL;
    uint32_t *whole = embedded_words(shader);
    assert_non_null(whole);
    uint32_t words[5] = {whole[0], whole[1], 0, 1, 0};
    uint32_t endless[6] = {whole[0], whole[1], 0, 1, 0, 17};
    assert_true(spirv_read(whole, shader->word_count, &module, &why));
    assert_false(spirv_read(whole, 4, &module, &why));
    free(whole);
    assert_false(spirv_read(words, 0, &module, &why));
    assert_true(spirv_read(words, 5, &module, &why));
    assert_false(spirv_read(endless, 6, &module, &why));
    endless[5] = (2u << 16) | 17; // an instruction of two words, of which one is there
    assert_false(spirv_read(endless, 6, &module, &why));
    words[0]++;
    assert_false(spirv_read(words, 5, &module, &why));
}

static bool selects(const vkf__caps *caps, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                    vkf__variant *out_variant)
{
    const vkf__selector selector = {.caps = caps};
    return vkf__select(&selector, op, types, problem, out_variant, NULL);
}

static bool any_config_usable(const vkf__caps *caps, const vkf__kernel *row)
{
    for (uint32_t c = 0; c < row->config_count; c++) {
        if (vkf__kernel_supported(caps, row, &row->configs[c], NULL))
            return true;
    }
    return false;
}

static vkf__caps limited_caps(vkf_caps_profile profile)
{
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__caps caps = discrete_caps();
    add_matrices(&caps, 16);
    assert_int_equal(vkf__caps_limit(&host, &caps, profile, NULL, 0), VKF_OK);
    settle_traits(&caps);
    return caps;
}

static void test_registry_rows_run_on_the_baseline(void **state)
{
    (void)state;
    const vkf__caps caps = limited_caps(VKF_CAPS_PROFILE_ANDROID_BASELINE_2022);
    assert_int_equal(caps.max_shared_memory_bytes, 16384);
    assert_int_equal(caps.max_workgroup_invocations, 128);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *row = vkf__kernel_at(i);
        uint32_t storage = 0;
        for (uint32_t o = 0; o < row->operand_count; o++)
            storage += row->operands[o] == VKF_OPERAND_STORAGE;
        bool excused = storage > 4 || row->needs != 0 || reads_addresses(row);
        if (any_config_usable(&caps, row) == excused)
            fail_msg("%s %s on the baseline", row->name, excused ? "may run" : "has no config");
    }
}

// The fused layer norm falls back to two kernels, attention over keys of another type to products and a softmax,
// products by integer dot products to those of the activations as they are, gradients of keys and values in one pass to
// two passes, those of a norm in one pass to a pass for each.
static bool has_other_fallback(const vkf__kernel *row)
{
    return row->op == VKF_OP_LAYER_NORM_RESIDUAL || row->op == VKF_OP_ATTENTION_GRAD_PAIR ||
           row->op == VKF_OP_NORM_GRADIENTS || (row->needs & VKF_NEEDS_INTEGER_DOT) ||
           (row->op == VKF_OP_ATTENTION && row->types[0] != row->types[1]);
}

// Whatever full offers can be served everywhere, if by another row.
static void test_registry_types_of_full_are_served_on_the_baseline(void **state)
{
    (void)state;
    const vkf__caps full = limited_caps(VKF_CAPS_PROFILE_FULL);
    for (vkf_caps_profile profile = VKF_CAPS_PROFILE_ANDROID_BASELINE_2022; profile < VKF_CAPS_PROFILE_COUNT;
         profile++) {
        const vkf__caps least = limited_caps(profile);
        for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
            const vkf__kernel *row = vkf__kernel_at(i);
            // Weights in blocks lie in panels alone.
            bool blocks = row->type_count > 1 && vkf_dtype_block_elements(row->types[1]) > 1;
            uint32_t layout = blocks ? VKF_GEMM_B_PANELS : VKF_GEMM_B_KN;
            const vkf__problem problems[] = {{.m = 1, .n = 1, .k = 1, .b_layout = layout},
                                             {.m = 100, .n = 100, .k = 100, .b_layout = layout},
                                             {.m = 1, .n = 5000, .k = 64, .b_layout = layout}};
            vkf__variant variant;
            for (size_t p = 0; p < 3 && !has_other_fallback(row); p++) {
                assert_true(selects(&full, row->op, row->types, &problems[p], &variant));
                if (!selects(&least, row->op, row->types, &problems[p], &variant))
                    fail_msg("nothing serves the types of %s under %s", row->name, vkf_caps_profile_name(profile));
            }
        }
    }
}

static void test_registry_fused_layer_norm_has_a_fallback(void **state)
{
    (void)state;
    const vkf__caps least = limited_caps(VKF_CAPS_PROFILE_ANDROID_BASELINE_2022);
    const vkf__problem problem = {.m = 10, .n = 512, .k = 0};
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *row = vkf__kernel_at(i);
        vkf__variant variant;
        if (row->op != VKF_OP_LAYER_NORM_RESIDUAL)
            continue;
        assert_false(selects(&least, row->op, row->types, &problem, &variant));
        assert_true(selects(&least, VKF_OP_LAYER_NORM, row->types, &problem, &variant));
    }
}

static void test_registry_walk_index_and_place_agree(void **state)
{
    (void)state;
    vkf__kernel_walk walk = {0};
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        assert_ptr_equal(vkf__kernel_next(&walk), vkf__kernel_at(i));
        assert_int_equal(vkf__kernel_index(vkf__kernel_at(i)), i);
    }
    assert_null(vkf__kernel_next(&walk));
    assert_null(vkf__kernel_next(&walk));
}

static void test_registry_names_are_unique(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        for (uint32_t k = i + 1; k < vkf__kernel_count(); k++)
            assert_string_not_equal(vkf__kernel_at(i)->name, vkf__kernel_at(k)->name);
        for (uint32_t c = 0; c < vkf__kernel_at(i)->config_count; c++) {
            for (uint32_t d = c + 1; d < vkf__kernel_at(i)->config_count; d++)
                assert_string_not_equal(vkf__kernel_at(i)->configs[c].name, vkf__kernel_at(i)->configs[d].name);
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
        cmocka_unit_test(test_registry_names_say_the_types),
        cmocka_unit_test(test_registry_every_module_has_a_row),
        cmocka_unit_test(test_registry_layouts_fit_the_pipelines),
        cmocka_unit_test(test_registry_planted_difference_is_noticed),
        cmocka_unit_test(test_registry_planted_integer_dot_difference_is_noticed),
        cmocka_unit_test(test_registry_planted_matrix_difference_is_noticed),
        cmocka_unit_test(test_spirv_malformed_is_refused),
        cmocka_unit_test(test_registry_rows_run_on_the_baseline),
        cmocka_unit_test(test_registry_types_of_full_are_served_on_the_baseline),
        cmocka_unit_test(test_registry_fused_layer_norm_has_a_fallback),
        cmocka_unit_test(test_registry_walk_index_and_place_agree),
        cmocka_unit_test(test_registry_names_are_unique),
    };
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
