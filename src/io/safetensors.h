// Strict, memory-mapped reader of the safetensors format, and its writer.
#ifndef VKF_IO_SAFETENSORS_H
#define VKF_IO_SAFETENSORS_H

#include "io/new_file.h"

// X(name, text in the file, bytes per element)
#define VKF_STORED_TYPE_LIST(X) \
    X(F64, "F64", 8)            \
    X(F32, "F32", 4)            \
    X(F16, "F16", 2)            \
    X(BF16, "BF16", 2)          \
    X(I64, "I64", 8)            \
    X(I32, "I32", 4)            \
    X(I16, "I16", 2)            \
    X(I8, "I8", 1)              \
    X(U64, "U64", 8)            \
    X(U32, "U32", 4)            \
    X(U16, "U16", 2)            \
    X(U8, "U8", 1)              \
    X(BOOL, "BOOL", 1)

typedef enum vkf__stored_type {
#define VKF_STORED_TYPE_ENUM(name, text, bytes) VKF_STORED_##name,
    VKF_STORED_TYPE_LIST(VKF_STORED_TYPE_ENUM)
#undef VKF_STORED_TYPE_ENUM
        VKF_STORED_COUNT
} vkf__stored_type;

#define VKF_STORED_MAX_RANK 8

typedef struct vkf__stored_tensor {
    const char *name;
    vkf__stored_type type;
    uint32_t rank;
    uint64_t shape[VKF_STORED_MAX_RANK];
    uint64_t count;      // product of the shape; 1 for rank 0
    const uint8_t *data; // into the mapping, little-endian; may be unaligned
    uint64_t size_bytes;
} vkf__stored_tensor;

typedef struct vkf__safetensors vkf__safetensors;

// Opens and checks the whole header. FORMAT, with a message of its own for each: file shorter than 8 bytes; header
// longer than the file or than 100 MB; header not a JSON object or not UTF-8; duplicate tensor name; NUL in a name;
// unknown dtype; shape with a negative, fractional or absurd entry, or overflowing; rank above 8; data_offsets
// malformed, beyond the file, disagreeing with shape and dtype, overlapping, or leaving a hole; bytes after the last
// tensor; a BOOL other than 0 and 1; "__metadata__" that is not an object of strings. Keys beside dtype, shape and
// data_offsets are ignored, as by the format's own reader. The file keeps a copy of *host. Other statuses: FILE,
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__safetensors_open(const vkf__host *host, const char *path, vkf__safetensors **out_file);

// The same for a file's bytes that are in memory already and outlive *out_file; `path` only serves the messages.
VKF_MUST_CHECK vkf_status vkf__safetensors_open_memory(const vkf__host *host, const char *path, const uint8_t *data,
                                                       size_t size_bytes, vkf__safetensors **out_file);
void vkf__safetensors_close(vkf__safetensors **file);

size_t vkf__safetensors_count(const vkf__safetensors *file);
// In order of names (by bytes); NULL at and beyond the count.
const vkf__stored_tensor *vkf__safetensors_at(const vkf__safetensors *file, size_t index);
const vkf__stored_tensor *vkf__safetensors_find(const vkf__safetensors *file, const char *name); // NULL when absent
const char *vkf__safetensors_path(const vkf__safetensors *file);

// Converts a floating-point tensor (F64, F32, F16, BF16) to float32, to IEEE half or to bfloat16, rounding once, to
// nearest even; what is stored in the type asked for is copied bit by bit. `first` and `count` select elements. False,
// with nothing written, when the type is not one of these or the range is not within the tensor.
bool vkf__stored_to_f32(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, float *out_values);
bool vkf__stored_to_f16(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, uint16_t *out_halves);
bool vkf__stored_to_bf16(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, uint16_t *out_bfloats);

// The first of these elements that is NaN; first + count when none is, the type is not one of these or the range is not
// within the tensor.
uint64_t vkf__stored_first_nan(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count);

const char *vkf__stored_type_name(vkf__stored_type type); // "F32"; never NULL
size_t vkf__stored_type_size(vkf__stored_type type);      // 0 for a value that is no type
bool vkf__stored_type_from_name(const char *name, vkf__stored_type *out_type);

// Writes tensors (wide types first, then by name, no holes) to `path` through a temporary file beside it, so that a
// failure leaves nothing half-written. The caller's tensor array is not reordered; `count` within a tensor is not read.
// Statuses: INVALID_ARGUMENT (what the reader would refuse), TOO_LARGE (header above 100 MB), FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__safetensors_write(const vkf__host *host, const char *path,
                                                 const vkf__stored_tensor *tensors, size_t count);

// The same, but tensors of a type keep the order of the array.
VKF_MUST_CHECK vkf_status vkf__safetensors_write_as_given(const vkf__host *host, const char *path,
                                                          const vkf__stored_tensor *tensors, size_t count);

// The same as the first for tensors whose bytes are made while they are written: `write` appends the size_bytes of tensor
// `index` to the file. It is called once for each, in the file's order; a failure of it is that of the whole.
typedef vkf_status (*vkf__tensor_write_fn)(void *user, size_t index, vkf__new_file *file);
VKF_MUST_CHECK vkf_status vkf__safetensors_write_made(const vkf__host *host, const char *path,
                                                      const vkf__stored_tensor *tensors, size_t count,
                                                      vkf__tensor_write_fn write, void *user);

#endif
