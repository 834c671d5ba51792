// Device buffers and tensors.
#ifndef VKFORMER_TENSOR_H
#define VKFORMER_TENSOR_H

#include <vkformer/context.h>

#ifdef __cplusplus
extern "C" {
#endif

// Element types. A dtype is data: vkf_dtype_size() and vkf_dtype_name() know every one.
typedef enum vkf_dtype {
    VKF_DTYPE_F32 = 0,
    VKF_DTYPE_F16 = 1,
    VKF_DTYPE_I32 = 2,
    VKF_DTYPE_BOOL = 3, // one byte, 0 or 1, as PyTorch stores it
    VKF_DTYPE_BF16 = 4, // bfloat16, for parameters: weights, biases, norms, embedding tables; with f32 activations
    // Weights of matrix products in blocks of 32 elements that follow each other along k; only in panels.
    VKF_DTYPE_Q8 = 5, // a half as scale, 32 signed bytes: scale * q
    VKF_DTYPE_Q4 = 6, // a half as scale whose lowest four bits are the zero, 32 nibbles: scale * (q - zero)
    VKF_DTYPE_COUNT
} vkf_dtype;

VKF_API size_t vkf_dtype_size(vkf_dtype dtype);             // bytes per element; 0 for blocks, and for no dtype
VKF_API uint32_t vkf_dtype_block_elements(vkf_dtype dtype); // 1 except for types in blocks; 0 for no dtype
VKF_API size_t vkf_dtype_block_bytes(vkf_dtype dtype);      // bytes of so many elements; 0 for no dtype
VKF_API const char *vkf_dtype_name(vkf_dtype dtype);        // "f32"; never NULL

// A range of device memory. Created zero-filled; host access goes through vkf_buffer_write() and vkf_buffer_read(),
// which map or stage as the device needs.
typedef struct vkf_buffer vkf_buffer;

// Ownership: the caller owns the buffer, and destroys it before or after the context. A layer whose runs read or write
// the buffer keeps it, and it is freed with the last of them; runs do not read a weight that the layer has packed for
// itself.
// size_bytes > 0; `name`, for messages and debuggers, may be NULL.
// Statuses: INVALID_ARGUMENT, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, TOO_LARGE, DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_create(vkf_context *context, uint64_t size_bytes, const char *name,
                                                    vkf_buffer **out_buffer);
VKF_API void vkf_buffer_destroy(vkf_buffer **buffer);
VKF_API uint64_t vkf_buffer_size(const vkf_buffer *buffer);

// Copies between host memory and the buffer; returns when the copy is done.
VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_write(vkf_buffer *buffer, uint64_t offset_bytes, const void *data,
                                                   uint64_t size_bytes);
VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_read(vkf_buffer *buffer, uint64_t offset_bytes, void *out_data,
                                                  uint64_t size_bytes);

#define VKF_MAX_RANK 4

// How a tensor's elements lie in its buffer.
typedef enum vkf_layout {
    VKF_LAYOUT_ROWS = 0,
    // A Linear's weight (n, k) in the form that suits matrix products: (ceil(n / 32), k, 32), the rows beyond n being
    // zeros. vkf_pack_weight() makes it; it serves only where a weight (n, k) is asked for.
    VKF_LAYOUT_PANELS = 1,
    VKF_LAYOUT_COUNT
} vkf_layout;

// A contiguous row-major view of a buffer. It owns nothing: using it after the owner has destroyed the buffer is the
// caller's mistake. Functions that also get a context refuse such a view as long as no new buffer has the old one's
// address, and they always refuse a tensor of another living context. vkf_tensor_write() and its like get no context
// and cannot tell. Unused trailing shape entries are 0; rank 0 with a NULL buffer means "absent". offset_bytes is a
// multiple of the element size, or of 16 in panels. A tensor in blocks is a weight (n, k) in panels, with k a
// multiple of 32: see vkf_gemm_desc.b.
typedef struct vkf_tensor {
    vkf_buffer *buffer;
    uint64_t offset_bytes;
    vkf_dtype dtype;
    uint32_t rank;
    uint32_t shape[VKF_MAX_RANK];
    vkf_layout layout; // 0: rows
} vkf_tensor;

// Number of elements (1 for rank 0); false when the product overflows or the rank is out of range.
VKF_API bool vkf_tensor_count(const vkf_tensor *tensor, uint64_t *out_count);

// Bytes from the first to the last element in the tensor's layout; false when that overflows or rank, dtype or layout
// are out of range.
VKF_API bool vkf_tensor_bytes(const vkf_tensor *tensor, uint64_t *out_bytes);

// Creates a buffer just large enough for the shape and fills in *out_tensor, whose buffer the caller then owns.
// `name` may be NULL. Statuses: as vkf_buffer_create().
VKF_API VKF_MUST_CHECK vkf_status vkf_tensor_create(vkf_context *context, vkf_dtype dtype, uint32_t rank,
                                                    const uint32_t *shape, const char *name, vkf_tensor *out_tensor);
// Destroys the tensor's buffer and clears the view.
VKF_API void vkf_tensor_destroy(vkf_tensor *tensor);

// Copy whole tensors in rows; `size_bytes` must equal the tensor's size.
VKF_API VKF_MUST_CHECK vkf_status vkf_tensor_write(const vkf_tensor *tensor, const void *data, uint64_t size_bytes);
VKF_API VKF_MUST_CHECK vkf_status vkf_tensor_read(const vkf_tensor *tensor, void *out_data, uint64_t size_bytes);

// IEEE half precision on the host: round to nearest even, NaN stays NaN, overflow becomes infinity.
VKF_API void vkf_f32_to_f16(const float *values, uint16_t *out_halves, size_t count);
VKF_API void vkf_f16_to_f32(const uint16_t *halves, float *out_values, size_t count);

#ifdef __cplusplus
}
#endif
#endif
