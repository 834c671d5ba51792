// Understands what torch.save()'s pickles import and call: a fixed list of names, and no code.
#include "io/torch_objects.h"

#include <string.h>

#include "base/size.h"

// What may be imported.
typedef enum import {
    DICT = 0,   // collections.OrderedDict
    REBUILD,    // _rebuild_tensor(storage, offset, size, stride); _v2 has further arguments, which do not matter here
    REBUILD_V3, // (storage, offset, size, stride, requires_grad, hooks, dtype)
    PARAMETER,  // (tensor, requires_grad, hooks)
    STORAGE_OF_TYPE,
    TYPE,
} import;

static const struct {
    const char *name;
import what;
    vkf__stored_type type;
} imports[] = {
    {"collections.OrderedDict", DICT, 0},
    {"torch._utils._rebuild_tensor", REBUILD, 0},
    {"torch._utils._rebuild_tensor_v2", REBUILD, 0},
    {"torch._utils._rebuild_tensor_v3", REBUILD_V3, 0},
    {"torch._utils._rebuild_parameter", PARAMETER, 0},
    {"torch.DoubleStorage", STORAGE_OF_TYPE, VKF_STORED_F64},
    {"torch.FloatStorage", STORAGE_OF_TYPE, VKF_STORED_F32},
    {"torch.HalfStorage", STORAGE_OF_TYPE, VKF_STORED_F16},
    {"torch.BFloat16Storage", STORAGE_OF_TYPE, VKF_STORED_BF16},
    {"torch.LongStorage", STORAGE_OF_TYPE, VKF_STORED_I64},
    {"torch.IntStorage", STORAGE_OF_TYPE, VKF_STORED_I32},
    {"torch.ShortStorage", STORAGE_OF_TYPE, VKF_STORED_I16},
    {"torch.CharStorage", STORAGE_OF_TYPE, VKF_STORED_I8},
    {"torch.ByteStorage", STORAGE_OF_TYPE, VKF_STORED_U8},
    {"torch.BoolStorage", STORAGE_OF_TYPE, VKF_STORED_BOOL},
    {"torch.ComplexFloatStorage", STORAGE_OF_TYPE, VKF_STORED_C64},
    {"torch.ComplexDoubleStorage", STORAGE_OF_TYPE, VKF_STORED_C128},
    {"torch.storage.UntypedStorage", STORAGE_OF_TYPE, VKF_STORED_COUNT},
    {"torch.uint16", TYPE, VKF_STORED_U16},
    {"torch.uint32", TYPE, VKF_STORED_U32},
    {"torch.uint64", TYPE, VKF_STORED_U64},
    {"torch.float8_e4m3fn", TYPE, VKF_STORED_F8_E4M3},
    {"torch.float8_e5m2", TYPE, VKF_STORED_F8_E5M2},
    {"torch.float8_e8m0fnu", TYPE, VKF_STORED_F8_E8M0},
    {"torch.float8_e4m3fnuz", TYPE, VKF_STORED_F8_E4M3FNUZ},
    {"torch.float8_e5m2fnuz", TYPE, VKF_STORED_F8_E5M2FNUZ},
};

static vkf_status bad(const vkf__torch_objects *o, const char *reason)
{
    return vkf__fail(o->host, VKF_ERROR_FORMAT, "%s: a tensor of its pickle is not what torch.save writes: %s", o->path,
                     reason);
}

// The classes of torch.cuda count as those of torch: old versions named them in files that they saved from a GPU.
static vkf_status find_import(void *user, const char *name, vkf__pickle_value *out_value)
{
    const vkf__torch_objects *o = user;
    const char *cuda = "torch.cuda.", *known = name;
    char plain[64];
    if (strncmp(name, cuda, strlen(cuda)) == 0 && strlen(name) < sizeof plain) {
        memcpy(plain, "torch.", 6);
        memcpy(plain + 6, name + strlen(cuda), strlen(name) - strlen(cuda) + 1);
        known = plain;
    }
    for (size_t i = 0; i < sizeof imports / sizeof imports[0]; i++) {
        if (strcmp(imports[i].name, known) == 0) {
            *out_value = (vkf__pickle_value){.kind = VKF_PICKLE_GLOBAL, .integer = (int64_t)i};
            return VKF_OK;
        }
    }
    return vkf__fail(o->host, VKF_ERROR_UNSUPPORTED,
                     "%s: its pickle asks for %s; only dicts of tensors are read, as torch.save(model.state_dict(), "
                     "...) writes them",
                     o->path, name);
}

// ---- storages

bool vkf__torch_is_key(const char *key, size_t size_bytes)
{
    return size_bytes > 0 && vkf__is_printable(key, size_bytes) && !memchr(key, '/', size_bytes);
}

// A persistent id: ("storage", class, key, device, number of elements); old files add whether it is a part of another
// one.
static vkf_status find_storage(void *user, const vkf__pickle *pickle, vkf__pickle_value id,
                               vkf__pickle_value *out_value)
{
    vkf__torch_objects *o = user;
    const vkf__pickle_value *items = vkf__pickle_items(pickle, id);
    if (id.kind != VKF_PICKLE_TUPLE || (id.count != 5 && id.count != 6) || !vkf__pickle_is(pickle, items[0], "storage"))
        return bad(o, "its storage's id");
    if (items[1].kind != VKF_PICKLE_GLOBAL || imports[items[1].integer].what != STORAGE_OF_TYPE ||
        items[2].kind != VKF_PICKLE_STRING || items[4].kind != VKF_PICKLE_INTEGER || items[4].integer < 0 ||
        !vkf__torch_is_key(vkf__pickle_text(pickle, items[2]), items[2].count))
        return bad(o, "its storage's id");
    if (id.count == 6 && items[5].kind != VKF_PICKLE_NONE)
        return vkf__fail(o->host, VKF_ERROR_UNSUPPORTED, "%s: one of its storages is a part of another; save it anew",
                         o->path);
    void *array = o->storages;
    VKF_RETURN_IF_ERROR(
        vkf__grow(o->host, &array, sizeof *o->storages, o->storage_count, &o->storage_capacity, o->storage_count + 1));
    o->storages = array;
    const vkf__stored_type type = imports[items[1].integer].type;
    o->storages[o->storage_count] = (vkf__torch_storage){
        .key = vkf__pickle_text(pickle, items[2]),
        .key_bytes = items[2].count,
        .element_bytes = type == VKF_STORED_COUNT ? 1 : (uint32_t)vkf__stored_type_size(type),
        .type = type,
        .count = (uint64_t)items[4].integer,
    };
    *out_value = (vkf__pickle_value){
        .kind = VKF_PICKLE_OBJECT, .first = VKF_TORCH_STORAGE, .count = (uint32_t)o->storage_count++};
    return VKF_OK;
}

// ---- tensors

static bool is_extent(vkf__pickle_value value)
{
    return value.kind == VKF_PICKLE_INTEGER && value.integer >= 0 && value.integer <= INT64_C(1) << 48;
}

static vkf_status read_shape(const vkf__torch_objects *o, const vkf__pickle *pickle, vkf__pickle_value size,
                             vkf__pickle_value stride, vkf__torch_tensor *tensor)
{
    if (size.kind != VKF_PICKLE_TUPLE || stride.kind != VKF_PICKLE_TUPLE || size.count != stride.count)
        return bad(o, "its shape");
    if (size.count > VKF_STORED_MAX_RANK)
        return bad(o, "its rank is above 8");
    const vkf__pickle_value *sizes = vkf__pickle_items(pickle, size), *strides = vkf__pickle_items(pickle, stride);
    tensor->rank = size.count;
    for (uint32_t i = 0; i < size.count; i++) {
        if (!is_extent(sizes[i]) || !is_extent(strides[i]))
            return bad(o, "its shape or its strides");
        tensor->shape[i] = (uint64_t)sizes[i].integer;
    }
    if (!vkf__product_u64(tensor->shape, tensor->rank, &tensor->count))
        return bad(o, "the product of its shape overflows 64 bits");
    uint64_t expected = 1;
    tensor->contiguous = true;
    for (uint32_t i = size.count; i-- > 0;) {
        if (tensor->count > 0 && tensor->shape[i] > 1 && (uint64_t)strides[i].integer != expected)
            tensor->contiguous = false;
        expected *= tensor->shape[i]; // a partial product of the shape
    }
    return VKF_OK;
}

static vkf_status read_type(const vkf__torch_objects *o, vkf__pickle_value dtype, const vkf__torch_storage *storage,
                            vkf__torch_tensor *tensor)
{
    tensor->type = storage->type;
    if (storage->type != VKF_STORED_COUNT)
        return VKF_OK;
    if (dtype.kind != VKF_PICKLE_GLOBAL || imports[dtype.integer].what != TYPE)
        return bad(o, "its type");
    tensor->type = imports[dtype.integer].type;
    return VKF_OK;
}

static vkf_status rebuild_tensor(vkf__torch_objects *o, const vkf__pickle *pickle, vkf__pickle_value arguments,
                                 bool typed, vkf__pickle_value *out_value)
{
    const vkf__pickle_value *items = vkf__pickle_items(pickle, arguments);
    vkf__torch_tensor tensor = {0};
    if (arguments.count < (typed ? 7u : 4u) || items[0].kind != VKF_PICKLE_OBJECT ||
        items[0].first != VKF_TORCH_STORAGE || !is_extent(items[1]))
        return bad(o, "its arguments");
    tensor.storage = items[0].count;
    tensor.first = (uint64_t)items[1].integer;
    VKF_RETURN_IF_ERROR(read_shape(o, pickle, items[2], items[3], &tensor));
    VKF_RETURN_IF_ERROR(read_type(o, typed ? items[6] : (vkf__pickle_value){0}, &o->storages[tensor.storage], &tensor));
    void *array = o->tensors;
    VKF_RETURN_IF_ERROR(
        vkf__grow(o->host, &array, sizeof *o->tensors, o->tensor_count, &o->tensor_capacity, o->tensor_count + 1));
    o->tensors = array;
    o->tensors[o->tensor_count] = tensor;
    *out_value =
        (vkf__pickle_value){.kind = VKF_PICKLE_OBJECT, .first = VKF_TORCH_TENSOR, .count = (uint32_t)o->tensor_count++};
    return VKF_OK;
}

static vkf_status call(void *user, vkf__pickle *pickle, vkf__pickle_value callee, vkf__pickle_value arguments,
                       vkf__pickle_value *out_value)
{
    vkf__torch_objects *o = user;
    const vkf__pickle_value *items = vkf__pickle_items(pickle, arguments);
    const import what = imports[callee.integer].what;
    switch (what) {
    case DICT:
        if (arguments.count > 0)
            return vkf__fail(o->host, VKF_ERROR_UNSUPPORTED, "%s: a dict is made from a list; save it anew", o->path);
        *out_value = vkf__pickle_new_dict(pickle);
        return VKF_OK;
    case REBUILD:
    case REBUILD_V3:
        return rebuild_tensor(o, pickle, arguments, what == REBUILD_V3, out_value);
    case PARAMETER:
        if (arguments.count == 0 || items[0].kind != VKF_PICKLE_OBJECT || items[0].first != VKF_TORCH_TENSOR)
            return bad(o, "a parameter of none");
        *out_value = items[0];
        return VKF_OK;
    case STORAGE_OF_TYPE:
    case TYPE:
        break;
    }
    return vkf__fail(o->host, VKF_ERROR_UNSUPPORTED, "%s: its pickle calls %s", o->path, imports[callee.integer].name);
}

vkf__pickle_world vkf__torch_world(vkf__torch_objects *objects)
{
    return (vkf__pickle_world){.user = objects, .import = find_import, .call = call, .persistent = find_storage};
}

void vkf__torch_objects_free(vkf__torch_objects *objects)
{
    vkf__free(objects->host, objects->storages);
    vkf__free(objects->host, objects->tensors);
    objects->storages = NULL;
    objects->tensors = NULL;
}
