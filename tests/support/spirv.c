#include "spirv.h"

#include <stdlib.h>

// Of the SPIR-V specification, version 1.3.
enum {
    MAGIC = 0x07230203,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_VARIABLE = 59,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_EXECUTION_MODE_ID = 331,
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
    CLASS_UNIFORM_CONSTANT = 0,
    CLASS_UNIFORM = 2,
    CLASS_PUSH_CONSTANT = 9,
    CLASS_STORAGE_BUFFER = 12,
    DECORATION_SPEC_ID = 1,
    DECORATION_BUFFER_BLOCK = 3,
    DECORATION_ARRAY_STRIDE = 6,
    DECORATION_BUILT_IN = 11,
    DECORATION_BINDING = 33,
    DECORATION_SET = 34,
    DECORATION_OFFSET = 35,
    BUILT_IN_WORKGROUP_SIZE = 25,
};

// What is known of one result id.
typedef struct id_info {
    const uint32_t *definition; // the instruction that defines it
    uint32_t spec_id;
    uint32_t binding;
    uint32_t set;
    uint32_t array_stride;
    bool buffer_block;
    bool workgroup_size;
} id_info;

typedef struct reader {
    const uint32_t *words;
    size_t word_count;
    id_info *ids;
    uint32_t id_count;
    spirv_module *module;
} reader;

static uint32_t op_of(const uint32_t *instruction)
{
    return *instruction & 0xffff;
}

static uint32_t length_of(const uint32_t *instruction)
{
    return *instruction >> 16;
}

// The word at which an instruction's result id stands; 0 for instructions that the reader has no use for.
static uint32_t result_at(uint32_t op)
{
    switch (op) {
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT:
    case OP_TYPE_VECTOR:
    case OP_TYPE_ARRAY:
    case OP_TYPE_RUNTIME_ARRAY:
    case OP_TYPE_STRUCT:
    case OP_TYPE_POINTER:
        return 1;
    case OP_CONSTANT:
    case OP_SPEC_CONSTANT_COMPOSITE:
    case OP_VARIABLE:
        return 2;
    default:
        return 0;
    }
}

static void decorate(reader *r, const uint32_t *instruction)
{
    uint32_t length = length_of(instruction);
    if (length < 3 || instruction[1] >= r->id_count)
        return;
    id_info *id = &r->ids[instruction[1]];
    uint32_t value = length > 3 ? instruction[3] : 0;
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

static uint32_t member_offset(const reader *r, uint32_t type, uint32_t member)
{
    for (size_t at = 5; at < r->word_count; at += length_of(r->words + at)) {
        const uint32_t *i = r->words + at;
        if (op_of(i) == OP_MEMBER_DECORATE && i[1] == type && i[2] == member && i[3] == DECORATION_OFFSET)
            return i[4];
    }
    return 0;
}

static uint32_t size_of_type(const reader *r, uint32_t type)
{
    const uint32_t *d = type < r->id_count ? r->ids[type].definition : NULL;
    if (!d)
        return 0;
    switch (op_of(d)) {
    case OP_TYPE_INT:
    case OP_TYPE_FLOAT:
        return d[2] / 8;
    case OP_TYPE_VECTOR:
        return d[3] * size_of_type(r, d[2]);
    case OP_TYPE_ARRAY: {
        const uint32_t *count = d[3] < r->id_count ? r->ids[d[3]].definition : NULL;
        return count && op_of(count) == OP_CONSTANT ? count[3] * r->ids[type].array_stride : 0;
    }
    case OP_TYPE_STRUCT: {
        uint32_t end = 0;
        for (uint32_t m = 0; m + 2 < length_of(d); m++) {
            uint32_t member_end = member_offset(r, type, m) + size_of_type(r, d[2 + m]);
            end = member_end > end ? member_end : end;
        }
        return end;
    }
    default:
        return 0;
    }
}

static bool add_variable(reader *r, const uint32_t *variable)
{
    spirv_module *module = r->module;
    const uint32_t *pointer = r->ids[variable[1]].definition;
    uint32_t storage_class = variable[3];
    uint32_t type = pointer ? pointer[3] : 0;
    if (storage_class == CLASS_PUSH_CONSTANT)
        module->push_bytes = size_of_type(r, type);
    if (storage_class != CLASS_UNIFORM && storage_class != CLASS_STORAGE_BUFFER &&
        storage_class != CLASS_UNIFORM_CONSTANT)
        return true;
    if (module->binding_count == SPIRV_MAX || type >= r->id_count)
        return false;
    const id_info *id = &r->ids[variable[2]];
    bool storage = storage_class == CLASS_STORAGE_BUFFER || r->ids[type].buffer_block;
    module->bindings[module->binding_count++] = (spirv_binding){
        .set = id->set,
        .binding = id->binding,
        .kind = storage                                   ? SPIRV_STORAGE_BUFFER
                : storage_class == CLASS_UNIFORM_CONSTANT ? SPIRV_TEXEL_BUFFER
                                                          : SPIRV_UNIFORM_BLOCK,
        .size_bytes = size_of_type(r, type),
    };
    return true;
}

static void set_local_size(reader *r, const uint32_t *size_ids)
{
    r->module->has_local_size = true;
    for (size_t i = 0; i < 3; i++)
        r->module->local_size_spec[i] = size_ids[i] < r->id_count ? r->ids[size_ids[i]].spec_id : SPIRV_NONE;
}

// Definitions and decorations first: decorations stand before what they decorate.
static bool collect(reader *r)
{
    for (size_t at = 5; at < r->word_count; at += length_of(r->words + at)) {
        const uint32_t *i = r->words + at;
        if (length_of(i) == 0 || length_of(i) > r->word_count - at)
            return false;
        uint32_t result = result_at(op_of(i));
        if (result > 0 && (length_of(i) <= result || i[result] >= r->id_count))
            return false;
        if (result > 0)
            r->ids[i[result]].definition = i;
        if (op_of(i) == OP_DECORATE)
            decorate(r, i);
    }
    return true;
}

static bool interpret(reader *r)
{
    spirv_module *module = r->module;
    bool fits = true;
    for (size_t at = 5; at < r->word_count && fits; at += length_of(r->words + at)) {
        const uint32_t *i = r->words + at;
        if (op_of(i) == OP_CAPABILITY) {
            fits = module->capability_count < SPIRV_MAX;
            if (fits)
                module->capabilities[module->capability_count++] = i[1];
        } else if (op_of(i) == OP_VARIABLE) {
            fits = i[1] < r->id_count && add_variable(r, i);
        } else if (op_of(i) == OP_EXECUTION_MODE_ID && length_of(i) == 6 && i[2] == MODE_LOCAL_SIZE_ID) {
            set_local_size(r, i + 3);
        } else if (op_of(i) == OP_EXECUTION_MODE && length_of(i) == 6 && i[2] == MODE_LOCAL_SIZE) {
            module->has_local_size = true;
        } else if (op_of(i) == OP_SPEC_CONSTANT_COMPOSITE && length_of(i) == 6 && r->ids[i[2]].workgroup_size) {
            set_local_size(r, i + 3);
        }
    }
    for (uint32_t id = 0; id < r->id_count && fits; id++) {
        if (r->ids[id].spec_id == SPIRV_NONE)
            continue;
        fits = module->spec_count < SPIRV_MAX;
        if (fits)
            module->spec_ids[module->spec_count++] = r->ids[id].spec_id;
    }
    return fits;
}

bool spirv_read(const uint32_t *words, size_t word_count, spirv_module *out_module, const char **out_why)
{
    spirv_module module = {.local_size_spec = {SPIRV_NONE, SPIRV_NONE, SPIRV_NONE}};
    *out_why = "it has no SPIR-V header";
    if (word_count < 5 || words[0] != MAGIC || words[3] > (1u << 20))
        return false;
    module.version = words[1];
    reader r = {words, word_count, calloc(words[3], sizeof *r.ids), words[3], &module};
    *out_why = "no memory";
    if (!r.ids)
        return false;
    for (uint32_t id = 0; id < r.id_count; id++)
        r.ids[id].spec_id = r.ids[id].binding = r.ids[id].set = SPIRV_NONE;
    *out_why = "an instruction is malformed";
    bool good = collect(&r);
    if (good) {
        *out_why = "it declares more than the reader holds";
        good = interpret(&r);
    }
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
