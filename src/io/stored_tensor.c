// Reads and converts the elements of stored tensors. Values are put together byte by byte: files are little-endian
// whatever the machine is, and a tensor may begin at any address.
#include "io/stored_tensor.h"

#include <assert.h>
#include <string.h>

#include "base/half.h"

#define PIECE_BYTES ((size_t)1 << 20) // how much is read at once for a conversion or a check

typedef struct stored_type_row {
    const char *name;
    size_t size_bytes;
} stored_type_row;

static const stored_type_row stored_type_rows[VKF_STORED_COUNT] = {
#define STORED_TYPE_ROW(name, text, bytes) [VKF_STORED_##name] = {text, bytes},
    VKF_STORED_TYPE_LIST(STORED_TYPE_ROW)
#undef STORED_TYPE_ROW
};

const char *vkf__stored_type_name(vkf__stored_type type)
{
    return (unsigned)type < VKF_STORED_COUNT ? stored_type_rows[type].name : "unknown";
}

size_t vkf__stored_type_size(vkf__stored_type type)
{
    return (unsigned)type < VKF_STORED_COUNT ? stored_type_rows[type].size_bytes : 0;
}

bool vkf__stored_type_from_name(const char *name, vkf__stored_type *out_type)
{
    for (size_t i = 0; i < VKF_STORED_COUNT; i++) {
        if (strcmp(name, stored_type_rows[i].name) == 0) {
            *out_type = (vkf__stored_type)i;
            return true;
        }
    }
    return false;
}

vkf_status vkf__stored_read(const vkf__stored_tensor *tensor, uint64_t first, uint64_t size_bytes, void *out_bytes)
{
    assert(first <= tensor->size_bytes && size_bytes <= tensor->size_bytes - first);
    if (size_bytes == 0)
        return VKF_OK;
    if (tensor->make)
        return tensor->make(tensor->make_user, first, size_bytes, out_bytes);
    if (!tensor->data)
        return vkf__file_read_at(tensor->file, tensor->offset_bytes + first, out_bytes, (size_t)size_bytes);
    memcpy(out_bytes, tensor->data + first, (size_t)size_bytes);
    return VKF_OK;
}

vkf_status vkf__stored_part(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, void *room,
                            vkf__stored_tensor *out_part)
{
    uint64_t size = vkf__stored_type_size(tensor->type);
    vkf__stored_tensor part = {
        .name = tensor->name,
        .type = tensor->type,
        .rank = 1,
        .shape = {count},
        .count = count,
        .data = tensor->data ? tensor->data + first * size : room,
        .size_bytes = count * size,
    };
    if (!tensor->data)
        VKF_RETURN_IF_ERROR(vkf__stored_read(tensor, first * size, part.size_bytes, room));
    *out_part = part;
    return VKF_OK;
}

// Allocates the buffer for the pieces in which a tensor's `count` elements are read; none for a tensor in memory.
static vkf_status make_room(const vkf__host *host, const vkf__stored_tensor *tensor, uint64_t count,
                            uint64_t *out_piece, void **out_room)
{
    uint8_t *room = NULL;
    size_t size = vkf__stored_type_size(tensor->type);
    uint64_t piece = tensor->data || count < PIECE_BYTES / size ? count : PIECE_BYTES / size;
    if (!tensor->data && count > 0)
        VKF_ALLOC_OR_RETURN(host, room, piece * size);
    *out_piece = piece;
    *out_room = room;
    return VKF_OK;
}

vkf_status vkf__stored_first_bad_bool(const vkf__host *host, const vkf__stored_tensor *tensor, uint64_t *out_index)
{
    vkf_status status = VKF_OK;
    uint64_t index = 0, piece = 0;
    void *room = NULL;
    vkf__stored_tensor part = {0};
    if (tensor->type != VKF_STORED_BOOL) {
        *out_index = tensor->count;
        return VKF_OK;
    }
    VKF_TRY(make_room(host, tensor, tensor->count, &piece, &room));
    for (; index < tensor->count; index++) {
        if (index % piece == 0)
            VKF_TRY(vkf__stored_part(tensor, index, tensor->count - index < piece ? tensor->count - index : piece, room,
                                     &part));
        if (part.data[index % piece] > 1)
            break;
    }
    *out_index = index;
fail:
    vkf__free(host, room);
    return status;
}

static uint16_t load_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static float load_f32(const uint8_t *bytes)
{
    uint32_t bits = (uint32_t)load_u16(bytes) | (uint32_t)load_u16(bytes + 2) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double load_f64(const uint8_t *bytes)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < 8; i++)
        bits |= (uint64_t)bytes[i] << (8 * i);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The bytes of the first selected element; NULL when the range is not within the tensor, or the tensor is not in
// memory.
static const uint8_t *select_elements(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count)
{
    if (!tensor->data || first > tensor->count || count > tensor->count - first)
        return NULL;
    return tensor->data + first * vkf__stored_type_size(tensor->type);
}

bool vkf__stored_to_f32(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, float *out_values)
{
    const uint8_t *bytes = select_elements(tensor, first, count);
    if (!bytes)
        return false;
    switch (tensor->type) {
    case VKF_STORED_F64:
        for (uint64_t i = 0; i < count; i++)
            out_values[i] = (float)load_f64(bytes + 8 * i);
        return true;
    case VKF_STORED_F32:
        for (uint64_t i = 0; i < count; i++)
            out_values[i] = load_f32(bytes + 4 * i);
        return true;
    case VKF_STORED_F16:
        for (uint64_t i = 0; i < count; i++)
            out_values[i] = vkf__float_from_half(load_u16(bytes + 2 * i));
        return true;
    case VKF_STORED_BF16:
        for (uint64_t i = 0; i < count; i++)
            out_values[i] = vkf__float_from_bfloat(load_u16(bytes + 2 * i));
        return true;
    default:
        return false;
    }
}

// Elements of type `same` keep their bits. All others pass through a double, which holds each of them exactly.
static bool to_16_bits(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, vkf__stored_type same,
                       uint16_t (*from_double)(double value), uint16_t *out_bits)
{
    const uint8_t *bytes = select_elements(tensor, first, count);
    if (!bytes)
        return false;
    switch (tensor->type) {
    case VKF_STORED_F64:
        for (uint64_t i = 0; i < count; i++)
            out_bits[i] = from_double(load_f64(bytes + 8 * i));
        return true;
    case VKF_STORED_F32:
        for (uint64_t i = 0; i < count; i++)
            out_bits[i] = from_double((double)load_f32(bytes + 4 * i));
        return true;
    case VKF_STORED_F16:
    case VKF_STORED_BF16:
        for (uint64_t i = 0; i < count; i++) {
            uint16_t bits = load_u16(bytes + 2 * i);
            bool half = tensor->type == VKF_STORED_F16;
            out_bits[i] = tensor->type == same
                              ? bits
                              : from_double((double)(half ? vkf__float_from_half(bits) : vkf__float_from_bfloat(bits)));
        }
        return true;
    default:
        return false;
    }
}

bool vkf__stored_to_f16(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, uint16_t *out_halves)
{
    return to_16_bits(tensor, first, count, VKF_STORED_F16, vkf__half_from_double, out_halves);
}

bool vkf__stored_to_bf16(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, uint16_t *out_bfloats)
{
    return to_16_bits(tensor, first, count, VKF_STORED_BF16, vkf__bfloat_from_double, out_bfloats);
}

bool vkf__stored_is_float(vkf__stored_type type)
{
    return type == VKF_STORED_F64 || type == VKF_STORED_F32 || type == VKF_STORED_F16 || type == VKF_STORED_BF16;
}

bool vkf__stored_is_whole(vkf__stored_type type)
{
    return type >= VKF_STORED_I64 && type <= VKF_STORED_BOOL;
}

bool vkf__stored_is_dtype(vkf__stored_type type, vkf_dtype dtype)
{
    const uint16_t one = 1;
    uint8_t first_byte;
    memcpy(&first_byte, &one, 1);
    bool same = (type == VKF_STORED_F32 && dtype == VKF_DTYPE_F32) ||
                (type == VKF_STORED_F16 && dtype == VKF_DTYPE_F16) ||
                (type == VKF_STORED_BF16 && dtype == VKF_DTYPE_BF16);
    return same && first_byte == 1; // little-endian, as files are
}

static bool convert_part(const vkf__stored_tensor *part, vkf_dtype dtype, void *out_values)
{
    switch (dtype) {
    case VKF_DTYPE_F16:
        return vkf__stored_to_f16(part, 0, part->count, out_values);
    case VKF_DTYPE_BF16:
        return vkf__stored_to_bf16(part, 0, part->count, out_values);
    default:
        return vkf__stored_to_f32(part, 0, part->count, out_values);
    }
}

vkf_status vkf__stored_convert(const vkf__host *host, const vkf__stored_tensor *tensor, uint64_t first, uint64_t count,
                               vkf_dtype dtype, void *out_values)
{
    vkf_status status = VKF_OK;
    uint64_t size = vkf__stored_type_size(tensor->type), piece = 0;
    void *room = NULL;
    assert(vkf__stored_is_float(tensor->type) && first <= tensor->count && count <= tensor->count - first);
    if (vkf__stored_is_dtype(tensor->type, dtype))
        return vkf__stored_read(tensor, first * size, count * size, out_values);
    VKF_TRY(make_room(host, tensor, count, &piece, &room));
    for (uint64_t done = 0; done < count; done += piece) {
        vkf__stored_tensor part;
        VKF_TRY(vkf__stored_part(tensor, first + done, count - done < piece ? count - done : piece, room, &part));
        (void)convert_part(&part, dtype, (uint8_t *)out_values + done * vkf_dtype_size(dtype));
    }
fail:
    vkf__free(host, room);
    return status;
}
