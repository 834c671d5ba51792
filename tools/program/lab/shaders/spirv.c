// Reads SPIR-V instruction by instruction. Every index that the module gives is checked.
#include "lab/shaders/spirv.h"

#include <stdlib.h>
#include <string.h>

// Numbers of the SPIR-V specification.
enum {
    MAGIC = 0x07230203,
    HEADER_WORDS = 5,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_BOOL = 20,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_MATRIX = 24,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_SAMPLER = 26,
    OP_TYPE_SAMPLED_IMAGE = 27,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_TYPE_FORWARD_POINTER = 39,
    OP_CONSTANT = 43,
    OP_SPEC_CONSTANT_TRUE = 48,
    OP_SPEC_CONSTANT_FALSE = 49,
    OP_SPEC_CONSTANT = 50,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_EXECUTION_MODE_ID = 331,
    MODEL_GL_COMPUTE = 5,
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
    CLASS_UNIFORM_CONSTANT = 0,
    CLASS_UNIFORM = 2,
    CLASS_PUSH_CONSTANT = 9,
    CLASS_STORAGE_BUFFER = 12,
    DIM_BUFFER = 5,
    SAMPLED = 1,
    DECORATION_SPEC_ID = 1,
    DECORATION_BUFFER_BLOCK = 3,
    DECORATION_ARRAY_STRIDE = 6,
    DECORATION_BUILT_IN = 11,
    DECORATION_BINDING = 33,
    DECORATION_SET = 34,
    DECORATION_OFFSET = 35,
    BUILT_IN_WORKGROUP_SIZE = 25,
    POINTER_BYTES = 8,
    MAX_IDS = 1 << 20,
};

// What is known about one result id.
typedef struct id_info {
    const uint32_t *definition; // the instruction that defines it
    uint64_t size_bytes;        // of a type
    uint32_t spec_id;
    uint32_t binding;
    uint32_t set;
    uint32_t array_stride;
    uint32_t last_member; // for a struct, the member with the largest offset
    uint32_t last_offset;
    bool buffer_block;
    bool workgroup_size;
} id_info;

typedef struct reader {
    const uint32_t *words;
    size_t word_count;
    id_info *ids;
    uint32_t id_count;
    spirv_module *module;
    const char *why; // of a failure
} reader;

static uint32_t op_of(const uint32_t *instruction)
{
    return *instruction & 0xffff;
}

static uint32_t length_of(const uint32_t *instruction)
{
    return *instruction >> 16;
}

// The instructions that the reader examines: their least length, and the word of their result id, 0 for none.
static const struct {
    uint16_t op;
    uint8_t length;
    uint8_t result;
} known[] = {
    {OP_ENTRY_POINT, 4, 0},
    {OP_EXECUTION_MODE, 3, 0},
    {OP_CAPABILITY, 2, 0},
    {OP_TYPE_BOOL, 2, 1},
    {OP_TYPE_INT, 4, 1},
    {OP_TYPE_FLOAT, 3, 1},
    {OP_TYPE_VECTOR, 4, 1},
    {OP_TYPE_MATRIX, 4, 1},
    {OP_TYPE_IMAGE, 9, 1},
    {OP_TYPE_SAMPLER, 2, 1},
    {OP_TYPE_SAMPLED_IMAGE, 3, 1},
    {OP_TYPE_ARRAY, 4, 1},
    {OP_TYPE_RUNTIME_ARRAY, 3, 1},
    {OP_TYPE_STRUCT, 2, 1},
    {OP_TYPE_POINTER, 4, 1},
    {OP_TYPE_FORWARD_POINTER, 3, 0},
    {OP_CONSTANT, 4, 2},
    {OP_SPEC_CONSTANT_TRUE, 3, 2},
    {OP_SPEC_CONSTANT_FALSE, 3, 2},
    {OP_SPEC_CONSTANT, 4, 2},
    {OP_VARIABLE, 4, 2},
    {OP_SPEC_CONSTANT_COMPOSITE, 3, 2},
    {OP_DECORATE, 3, 0},
    {OP_MEMBER_DECORATE, 4, 0},
    {OP_EXECUTION_MODE_ID, 3, 0},
};

static const uint32_t *definition_of(const reader *r, uint32_t id)
{
    return id < r->id_count ? r->ids[id].definition : NULL;
}

static uint64_t size_of_id(const reader *r, uint32_t id)
{
    return id < r->id_count ? r->ids[id].size_bytes : 0;
}

static bool constant_of(const reader *r, uint32_t id, uint32_t *out_value)
{
    const uint32_t *d = definition_of(r, id);
    if (!d || (op_of(d) != OP_CONSTANT && op_of(d) != OP_SPEC_CONSTANT))
        return false;
    *out_value = d[3];
    return op_of(d) == OP_CONSTANT;
}

static void decorate(reader *r, const uint32_t *instruction)
{
    if (instruction[1] >= r->id_count)
        return;
    id_info *id = &r->ids[instruction[1]];
    uint32_t value = length_of(instruction) > 3 ? instruction[3] : 0;
    switch (instruction[2]) {
    case DECORATION_SPEC_ID:
        id->spec_id = value;
        break;
    case DECORATION_BINDING:
        id->binding = value;
        break;
    case DECORATION_SET:
        id->set = value;
        break;
    case DECORATION_ARRAY_STRIDE:
        id->array_stride = value;
        break;
    case DECORATION_BUFFER_BLOCK:
        id->buffer_block = true;
        break;
    case DECORATION_BUILT_IN:
        id->workgroup_size = value == BUILT_IN_WORKGROUP_SIZE;
        break;
    default:
        break;
    }
}

static void decorate_member(reader *r, const uint32_t *instruction)
{
    if (instruction[1] >= r->id_count || instruction[3] != DECORATION_OFFSET || length_of(instruction) < 5)
        return;
    id_info *id = &r->ids[instruction[1]];
    if (instruction[4] >= id->last_offset) {
        id->last_offset = instruction[4];
        id->last_member = instruction[2];
    }
}

// The size by columns or by rows, whichever is larger, because it is not read which of them a member has. Columns, or
// rows, of three components are as far apart as those of four.
static uint64_t size_of_matrix(const reader *r, const uint32_t *d)
{
    const uint32_t *column = definition_of(r, d[2]);
    if (!column || op_of(column) != OP_TYPE_VECTOR)
        return 0;
    const uint64_t element = size_of_id(r, column[2]), columns = d[3], rows = column[3];
    const uint64_t by_columns = columns * (rows + (rows == 3)), by_rows = rows * (columns + (columns == 3));
    return element * (by_columns > by_rows ? by_columns : by_rows);
}

// The parts of a type are defined before it, so the recursion ends.
static uint64_t size_of_type(const reader *r, const uint32_t *d)
{
    uint32_t count = 0;
    switch (op_of(d)) {
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT:
        return d[2] / 8;
    case OP_TYPE_VECTOR:
        return d[3] * size_of_id(r, d[2]);
    case OP_TYPE_MATRIX:
        return size_of_matrix(r, d);
    case OP_TYPE_ARRAY:
        return constant_of(r, d[3], &count) ? (uint64_t)count * r->ids[d[1]].array_stride : 0;
    case OP_TYPE_STRUCT: {
        const id_info *id = &r->ids[d[1]];
        bool there = id->last_member < length_of(d) - 2;
        return id->last_offset + (there ? size_of_id(r, d[2 + id->last_member]) : 0);
    }
    case OP_TYPE_POINTER:
        return POINTER_BYTES;
    default:
        return 0;
    }
}

static bool define(reader *r, const uint32_t *instruction)
{
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (known[k].op != op_of(instruction))
            continue;
        if (length_of(instruction) < known[k].length)
            return false;
        if (known[k].result == 0)
            return true;
        const uint32_t result = instruction[known[k].result];
        if (result >= r->id_count)
            return false;
        r->ids[result].definition = instruction;
        r->ids[result].size_bytes = size_of_type(r, instruction);
        if (r->ids[result].size_bytes > UINT32_MAX)
            r->ids[result].size_bytes = UINT32_MAX;
        return true;
    }
    return true;
}

// Collects definitions and decorations first, because decorations come before what they decorate.
static bool collect(reader *r)
{
    r->why = "an instruction is malformed";
    for (size_t at = HEADER_WORDS; at < r->word_count; at += length_of(r->words + at)) {
        const uint32_t *i = r->words + at;
        if (length_of(i) == 0 || length_of(i) > r->word_count - at || !define(r, i))
            return false;
        if (op_of(i) == OP_DECORATE)
            decorate(r, i);
        else if (op_of(i) == OP_MEMBER_DECORATE)
            decorate_member(r, i);
        else if (op_of(i) == OP_TYPE_FORWARD_POINTER && i[1] < r->id_count)
            r->ids[i[1]].size_bytes = POINTER_BYTES;
    }
    return true;
}

// What kind of binding a variable in the storage class of images and samplers has.
static bool image_kind(const reader *r, uint32_t type, spirv_binding_kind *out_kind)
{
    const uint32_t *d = definition_of(r, type);
    if (!d)
        return false;
    if (op_of(d) == OP_TYPE_SAMPLER) {
        *out_kind = SPIRV_SAMPLER;
        return true;
    }
    const bool combined = op_of(d) == OP_TYPE_SAMPLED_IMAGE;
    if (combined)
        d = definition_of(r, d[2]);
    if (!d || op_of(d) != OP_TYPE_IMAGE)
        return false;
    const bool buffer = d[3] == DIM_BUFFER, sampled = d[7] == SAMPLED;
    if (buffer)
        *out_kind = combined || sampled ? SPIRV_TEXEL_BUFFER : SPIRV_STORAGE_TEXEL_BUFFER;
    else
        *out_kind = combined ? SPIRV_COMBINED_IMAGE_SAMPLER : sampled ? SPIRV_SAMPLED_IMAGE : SPIRV_STORAGE_IMAGE;
    return true;
}

// The element type of arrays of bindings, and how many bindings these are.
static bool strip_arrays(reader *r, uint32_t *inout_type, uint32_t *out_count)
{
    uint64_t count = 1;
    for (int depth = 0; depth < 8; depth++) {
        const uint32_t *d = definition_of(r, *inout_type);
        uint32_t length = 0;
        if (!d || (op_of(d) != OP_TYPE_ARRAY && op_of(d) != OP_TYPE_RUNTIME_ARRAY))
            break;
        r->why = "it has an array of bindings without a fixed length";
        if (op_of(d) == OP_TYPE_RUNTIME_ARRAY || !constant_of(r, d[3], &length) || length == 0)
            return false;
        count *= length;
        r->why = "it has too many bindings in an array";
        if (count > 65536)
            return false;
        *inout_type = d[2];
    }
    *out_count = (uint32_t)count;
    return true;
}

static bool same_place(const spirv_binding *a, const spirv_binding *b)
{
    return a->set == b->set && a->binding == b->binding;
}

static bool add_binding(reader *r, const spirv_binding *binding)
{
    spirv_module *module = r->module;
    r->why = "a binding has no number";
    if (binding->binding == SPIRV_NONE || binding->set == SPIRV_NONE)
        return false;
    // Two variables may be views of the same buffer.
    for (size_t i = 0; i < module->binding_count; i++) {
        const spirv_binding *other = &module->bindings[i];
        r->why = "a binding is declared twice in different ways";
        if (same_place(other, binding))
            return other->kind == binding->kind && other->count == binding->count;
    }
    r->why = "it declares more than the reader holds";
    if (module->binding_count == SPIRV_MAX)
        return false;
    module->bindings[module->binding_count++] = *binding;
    return true;
}

static bool add_variable(reader *r, const uint32_t *variable)
{
    const uint32_t storage_class = variable[3];
    const uint32_t *pointer = definition_of(r, variable[1]);
    r->why = "a variable has no type";
    if (!pointer || op_of(pointer) != OP_TYPE_POINTER)
        return false;
    uint32_t type = pointer[3];
    if (storage_class == CLASS_PUSH_CONSTANT)
        r->module->push_bytes = (uint32_t)size_of_id(r, type);
    if (storage_class != CLASS_UNIFORM && storage_class != CLASS_STORAGE_BUFFER &&
        storage_class != CLASS_UNIFORM_CONSTANT)
        return true;
    const id_info *id = &r->ids[variable[2]];
    spirv_binding binding = {.set = id->set, .binding = id->binding};
    if (!strip_arrays(r, &type, &binding.count))
        return false;
    r->why = "a binding has a type that is no buffer, image or sampler";
    if (storage_class == CLASS_UNIFORM_CONSTANT && !image_kind(r, type, &binding.kind))
        return false;
    if (storage_class != CLASS_UNIFORM_CONSTANT) {
        bool storage = storage_class == CLASS_STORAGE_BUFFER || (type < r->id_count && r->ids[type].buffer_block);
        binding.kind = storage ? SPIRV_STORAGE_BUFFER : SPIRV_UNIFORM_BLOCK;
    }
    binding.size_bytes = (uint32_t)size_of_id(r, type);
    return add_binding(r, &binding);
}

static void set_local_size(reader *r, const uint32_t *size_ids)
{
    r->module->has_local_size = true;
    for (size_t i = 0; i < 3; i++) {
        (void)constant_of(r, size_ids[i], &r->module->local_size[i]);
        r->module->local_size_spec[i] = size_ids[i] < r->id_count ? r->ids[size_ids[i]].spec_id : SPIRV_NONE;
    }
}

static void read_entry_point(spirv_module *module, const uint32_t *instruction)
{
    if (instruction[1] != MODEL_GL_COMPUTE || module->entry_point[0] != '\0')
        return;
    const size_t most = (length_of(instruction) - 3) * sizeof *instruction;
    const size_t room = sizeof module->entry_point - 1;
    strncpy(module->entry_point, (const char *)(instruction + 3), most < room ? most : room);
}

static bool interpret_one(reader *r, const uint32_t *i)
{
    spirv_module *module = r->module;
    const bool is_size = length_of(i) == 6;
    switch (op_of(i)) {
    case OP_CAPABILITY:
        r->why = "it declares more than the reader holds";
        if (module->capability_count == SPIRV_MAX)
            return false;
        module->capabilities[module->capability_count++] = i[1];
        return true;
    case OP_ENTRY_POINT:
        read_entry_point(module, i);
        return true;
    case OP_VARIABLE:
        return add_variable(r, i);
    case OP_EXECUTION_MODE_ID:
        if (is_size && i[2] == MODE_LOCAL_SIZE_ID)
            set_local_size(r, i + 3);
        return true;
    case OP_EXECUTION_MODE:
        if (is_size && i[2] == MODE_LOCAL_SIZE && !module->has_local_size) {
            memcpy(module->local_size, i + 3, sizeof module->local_size);
            module->has_local_size = true;
        }
        return true;
    case OP_SPEC_CONSTANT_COMPOSITE:
        if (is_size && r->ids[i[2]].workgroup_size)
            set_local_size(r, i + 3);
        return true;
    default:
        return true;
    }
}

static bool add_spec(reader *r, const id_info *id)
{
    const uint32_t *type = id->definition ? definition_of(r, id->definition[1]) : NULL;
    spirv_spec spec = {.id = id->spec_id, .type = SPIRV_BOOL, .bits = 32};
    r->why = "a specialisation constant is no bool, integer or float";
    if (!type)
        return false;
    if (op_of(type) == OP_TYPE_INT || op_of(type) == OP_TYPE_FLOAT) {
        spec.type = op_of(type) == OP_TYPE_FLOAT ? SPIRV_FLOAT : type[3] ? SPIRV_INT : SPIRV_UINT;
        spec.bits = type[2];
        if (spec.bits != 8 && spec.bits != 16 && spec.bits != 32 && spec.bits != 64)
            return false;
    } else if (op_of(type) != OP_TYPE_BOOL) {
        return false;
    }
    r->why = "it declares more than the reader holds";
    if (r->module->spec_count == SPIRV_MAX)
        return false;
    r->module->specs[r->module->spec_count++] = spec;
    return true;
}

static bool interpret(reader *r)
{
    for (size_t at = HEADER_WORDS; at < r->word_count; at += length_of(r->words + at)) {
        if (!interpret_one(r, r->words + at))
            return false;
    }
    for (uint32_t id = 0; id < r->id_count; id++) {
        if (r->ids[id].spec_id != SPIRV_NONE && !add_spec(r, &r->ids[id]))
            return false;
    }
    return true;
}

bool spirv_read(const uint32_t *words, size_t word_count, spirv_module *out_module, const char **out_why)
{
    spirv_module module = {.local_size_spec = {SPIRV_NONE, SPIRV_NONE, SPIRV_NONE}};
    *out_why = "it has no SPIR-V header";
    if (word_count < HEADER_WORDS || words[0] != MAGIC || words[3] > MAX_IDS)
        return false;
    module.version = words[1];
    reader r = {.words = words, .word_count = word_count, .id_count = words[3], .module = &module};
    r.ids = calloc((size_t)words[3] + 1, sizeof *r.ids);
    *out_why = "no memory";
    if (!r.ids)
        return false;
    for (uint32_t id = 0; id < r.id_count; id++)
        r.ids[id].spec_id = r.ids[id].binding = r.ids[id].set = SPIRV_NONE;
    bool good = collect(&r) && interpret(&r);
    *out_why = r.why;
    free(r.ids);
    if (good)
        *out_module = module;
    return good;
}

bool spirv_has_capability(const spirv_module *module, uint32_t capability)
{
    for (size_t i = 0; i < module->capability_count; i++) {
        if (module->capabilities[i] == capability)
            return true;
    }
    return false;
}

const char *spirv_capability_name(uint32_t capability)
{
    static const struct {
        uint32_t number;
        const char *name;
    } names[] = {
        {0, "Matrix"},
        {1, "Shader"},
        {5, "Linkage"},
        {6, "Kernel"},
        {9, "Float16"},
        {10, "Float64"},
        {11, "Int64"},
        {12, "Int64Atomics"},
        {22, "Int16"},
        {25, "ImageGatherExtended"},
        {27, "StorageImageMultisample"},
        {28, "UniformBufferArrayDynamicIndexing"},
        {29, "SampledImageArrayDynamicIndexing"},
        {30, "StorageBufferArrayDynamicIndexing"},
        {31, "StorageImageArrayDynamicIndexing"},
        {39, "Int8"},
        {41, "SparseResidency"},
        {42, "MinLod"},
        {49, "StorageImageExtendedFormats"},
        {55, "StorageImageReadWithoutFormat"},
        {56, "StorageImageWriteWithoutFormat"},
        {61, "GroupNonUniform"},
        {62, "GroupNonUniformVote"},
        {63, "GroupNonUniformArithmetic"},
        {64, "GroupNonUniformBallot"},
        {65, "GroupNonUniformShuffle"},
        {66, "GroupNonUniformShuffleRelative"},
        {67, "GroupNonUniformClustered"},
        {68, "GroupNonUniformQuad"},
        {4423, "SubgroupBallotKHR"},
        {4433, "StorageBuffer16BitAccess"},
        {4434, "UniformAndStorageBuffer16BitAccess"},
        {4435, "StoragePushConstant16"},
        {4441, "VariablePointersStorageBuffer"},
        {4442, "VariablePointers"},
        {4448, "StorageBuffer8BitAccess"},
        {4449, "UniformAndStorageBuffer8BitAccess"},
        {4450, "StoragePushConstant8"},
        {4479, "RayTracingKHR"},
        {4472, "RayQueryKHR"},
        {5055, "ShaderClockKHR"},
        {5116, "BFloat16TypeKHR"},
        {5118, "BFloat16CooperativeMatrixKHR"},
        {5297, "GroupNonUniformPartitionedNV"},
        {5301, "ShaderNonUniform"},
        {5302, "RuntimeDescriptorArray"},
        {5345, "VulkanMemoryModel"},
        {5346, "VulkanMemoryModelDeviceScope"},
        {5347, "PhysicalStorageBufferAddresses"},
        {5357, "CooperativeMatrixNV"},
        {6016, "DotProductInputAll"},
        {6017, "DotProductInput4x8Bit"},
        {6018, "DotProductInput4x8BitPacked"},
        {6019, "DotProduct"},
        {6022, "CooperativeMatrixKHR"},
        {6033, "AtomicFloat32AddEXT"},
        {6095, "AtomicFloat16AddEXT"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (names[i].number == capability)
            return names[i].name;
    }
    return "";
}
