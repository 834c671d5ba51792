// Tensors as files store them: their types, where their bytes are, and how they get into memory.
#ifndef VKF_IO_STORED_TENSOR_H
#define VKF_IO_STORED_TENSOR_H

#include <vkformer/tensor.h>

#include "io/file.h"

// X(name, text in the file, bytes per element; 0: parts of bytes, or not known)
// Elements behind BOOL are never read: a file may have such tensors as long as nothing needs them.
#define VKF_STORED_TYPE_LIST(X)      \
    X(F64, "F64", 8)                 \
    X(F32, "F32", 4)                 \
    X(F16, "F16", 2)                 \
    X(BF16, "BF16", 2)               \
    X(I64, "I64", 8)                 \
    X(I32, "I32", 4)                 \
    X(I16, "I16", 2)                 \
    X(I8, "I8", 1)                   \
    X(U64, "U64", 8)                 \
    X(U32, "U32", 4)                 \
    X(U16, "U16", 2)                 \
    X(U8, "U8", 1)                   \
    X(BOOL, "BOOL", 1)               \
    X(F8_E4M3, "F8_E4M3", 1)         \
    X(F8_E5M2, "F8_E5M2", 1)         \
    X(F8_E8M0, "F8_E8M0", 1)         \
    X(F8_E4M3FNUZ, "F8_E4M3FNUZ", 1) \
    X(F8_E5M2FNUZ, "F8_E5M2FNUZ", 1) \
    X(C64, "C64", 8)                 \
    X(C128, "C128", 16)              \
    X(F6_E2M3, "F6_E2M3", 0)         \
    X(F6_E3M2, "F6_E3M2", 0)         \
    X(F4, "F4", 0)                   \
    X(OTHER, "another type", 0)

typedef enum vkf__stored_type {
#define VKF_STORED_TYPE_ENUM(name, text, bytes) VKF_STORED_##name,
    VKF_STORED_TYPE_LIST(VKF_STORED_TYPE_ENUM)
#undef VKF_STORED_TYPE_ENUM
        VKF_STORED_COUNT
} vkf__stored_type;

#define VKF_STORED_MAX_RANK 8

// Makes bytes [first, first + size_bytes), which are whole elements, of a tensor that is in no file as it is read.
typedef vkf_status (*vkf__stored_make_fn)(const void *user, uint64_t first, uint64_t size_bytes, void *out_bytes);

// The bytes of a tensor are little-endian and row-major, in memory, in a file, or made when they are read.
typedef struct vkf__stored_tensor {
    const char *name;
    vkf__stored_type type;
    uint32_t rank;
    uint64_t shape[VKF_STORED_MAX_RANK];
    uint64_t count;        // product of the shape; 1 for rank 0
    const uint8_t *data;   // NULL where the bytes are in the file or made; may be unaligned
    const vkf__file *file; // NULL where the bytes are in memory or made
    uint64_t offset_bytes; // of the first byte in the file, or in the memory that stands for a file
    uint64_t size_bytes;
    vkf__stored_make_fn make; // NULL where the bytes are in memory or in a file
    const void *make_user;
} vkf__stored_tensor;

// Reads bytes [first, first + size_bytes), which are within the tensor. Statuses: as vkf__file_read_at(), and those of
// .make.
VKF_MUST_CHECK vkf_status vkf__stored_read(const vkf__stored_tensor *tensor, uint64_t first, uint64_t size_bytes,
                                           void *out_bytes);

// Gives elements [first, first + count), which are within the tensor, as a tensor of rank 1 in memory. Elements in a
// file are read into `room`, which has space for them; others stay where they are. Statuses: as vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf__stored_part(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, void *room,
                                           vkf__stored_tensor *out_part);

// Convert a floating-point tensor (F64, F32, F16, BF16) in memory to float32, to IEEE half or to bfloat16. They round
// once, to nearest even; elements that are stored in the type asked for are copied bit by bit. `first` and `count`
// select elements. False, with nothing written, when the type is not one of these, the range is not within the tensor,
// or the tensor is not in memory.
bool vkf__stored_to_f32(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, float *out_values);
bool vkf__stored_to_f16(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, uint16_t *out_halves);
bool vkf__stored_to_bf16(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, uint16_t *out_bfloats);

// Whether these conversions take the type.
bool vkf__stored_is_float(vkf__stored_type type);
// Whether the type is one of whole numbers or BOOL.
bool vkf__stored_is_whole(vkf__stored_type type);

// Whether, on this machine, elements of the type are bit by bit those of the dtype F32, F16 or BF16.
bool vkf__stored_is_dtype(vkf__stored_type type, vkf_dtype dtype);

// The same conversions for a tensor in memory or in a file, to F32, F16 or BF16; a file is read in bounded pieces. The
// type is one of those above, and the range is within the tensor. Statuses: OUT_OF_HOST_MEMORY, and as
// vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf__stored_convert(const vkf__host *host, const vkf__stored_tensor *tensor, uint64_t first,
                                              uint64_t count, vkf_dtype dtype, void *out_values);

// Finds the first element of a BOOL tensor, in memory or in a file, that is neither 0 nor 1. *out_index is the count
// when there is none, and for other types. Statuses: OUT_OF_HOST_MEMORY, and as vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf__stored_first_bad_bool(const vkf__host *host, const vkf__stored_tensor *tensor,
                                                     uint64_t *out_index);

const char *vkf__stored_type_name(vkf__stored_type type); // "F32"; never NULL
size_t vkf__stored_type_size(vkf__stored_type type);      // 0 for a value that is no type
bool vkf__stored_type_from_name(const char *name, vkf__stored_type *out_type);

#endif
