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
    VKF_DTYPE_BF16 = 4, // bfloat16, for parameters: weights, biases, norms, embedding tables; and for the keys and
                        // values of vkf_scaled_dot_product_attention(); with f32 activations
    // Weights of matrix products in blocks of 32 elements that follow each other along k; on the device only in panels,
    // but for the keys and values of vkf_scaled_dot_product_attention(), which may be rows of q8 (B, H, S, D). On the
    // host a row is its blocks one after the other, and a block its scale, a half whose lower byte comes first,
    // and then its elements.
    VKF_DTYPE_Q8 = 5, // scale * q: 32 signed bytes q, as in GGUF's Q8_0
    VKF_DTYPE_Q4 = 6, // scale * (q - zero): 16 bytes, element 2j in the lower and 2j + 1 in the upper nibble of byte j.
                      // The zero is the scale's lowest four bits, which count as 0 in the scale
    VKF_DTYPE_I8 = 7, // bytes with and without a sign, for vkf_gemm_int8() and vkf_quantize_linear()
    VKF_DTYPE_U8 = 8,
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
VKF_API uint64_t vkf_buffer_get_size(const vkf_buffer *buffer);

// Copies between host memory and the buffer; returns when the copy is done.
VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_write(vkf_buffer *buffer, uint64_t offset_bytes, const void *data,
                                                   uint64_t size_bytes);
VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_read(vkf_buffer *buffer, uint64_t offset_bytes, void *out_data,
                                                  uint64_t size_bytes);

// What memory is shared as.
typedef enum vkf_memory_kind {
    VKF_MEMORY_OPAQUE_FD = 0, // a file descriptor, between processes and programs on one device with one driver
    VKF_MEMORY_DMA_BUF,       // a file descriptor of Linux's, between devices and drivers of all kinds
    VKF_MEMORY_HOST_POINTER,  // memory of the host's; it can only be imported
    // An AHardwareBuffer of AHARDWAREBUFFER_FORMAT_BLOB whose usage has AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER, between
    // all that Android runs; it can only be imported.
    VKF_MEMORY_ANDROID_HARDWARE_BUFFER,
    VKF_MEMORY_KIND_COUNT
} vkf_memory_kind;

// What vkf_buffer_export() gives, and an import of an opaque fd needs.
typedef struct vkf_exported_memory {
    int fd;                // the caller closes it, or hands it to who imports it
    uint64_t buffer_bytes; // of the buffer, from the memory's beginning
    uint64_t memory_bytes; // of the memory
    uint32_t memory_type;  // its index on the device
} vkf_exported_memory;

typedef struct vkf_imported_memory {
    vkf_memory_kind kind;
    // For OPAQUE_FD and DMA_BUF. On success the library owns it, and has closed it; on any failure it is open and the
    // caller's still.
    int fd;
    // Optional: for HOST_POINTER memory that must stay until the buffer is freed; for ANDROID_HARDWARE_BUFFER the
    // AHardwareBuffer *. The driver takes a reference of its own and releases it when the buffer is freed; the library
    // takes none, and the caller keeps and releases the caller's.
    void *pointer;
    uint64_t buffer_bytes; // a multiple of 16, from the memory's beginning
    // 0: buffer_bytes. A pointer and this are multiples of what the device wants, 4096 mostly. How large a hardware
    // buffer is the driver knows.
    uint64_t memory_bytes;
    uint32_t memory_type; // for OPAQUE_FD: as the exporter says
} vkf_imported_memory;

// Buffers whose memory is shared, in a context with vkf_context_desc.external_memory, or on a caller's device with the
// extensions that this says to enable. Where and when others read and write such memory is theirs to order, by waiting
// or by semaphores. vkf_memory_usage counts it. Ownership of buffers: as vkf_buffer_create().
// Statuses: INVALID_ARGUMENT, UNSUPPORTED (the device lacks the extension, or does not offer this kind),
// OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, TOO_LARGE, DEVICE_LOST, VULKAN.
//
// As vkf_buffer_create(), for memory that vkf_buffer_export() gives away as a file descriptor, any number of times.
// `name` may be NULL.
VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_create_exportable(vkf_context *context, vkf_memory_kind kind,
                                                               uint64_t size_bytes, const char *name,
                                                               vkf_buffer **out_buffer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_buffer_export(vkf_buffer *buffer, vkf_exported_memory *out_memory);
// Makes a buffer on memory of somebody else's, without a copy. Nothing is cleared. A hardware buffer is never mapped:
// vkf_buffer_read() and vkf_buffer_write() copy by the device.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_buffer_import(vkf_context *context, const vkf_imported_memory *from,
                                                       vkf_buffer **out_buffer);

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
// multiple of the element size, or of 16 in panels and blocks. A tensor in blocks is a weight (n, k) in panels, see
// vkf_gemm_desc.b and vkf_quantize_weight(), or keys or values of q8 (B, H, S, D) in rows, see vkf_sdpa_desc; k or D is
// a multiple of 32.
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

// Creates a buffer just large enough for the shape, or for one element or block where a dimension is 0, and fills in
// *out_tensor, whose buffer the caller then owns. A tensor in blocks of rank 2 lies in panels, any other in rows.
// `name` may be NULL. Statuses: as vkf_buffer_create().
VKF_API VKF_MUST_CHECK vkf_status vkf_tensor_create(vkf_context *context, vkf_dtype dtype, uint32_t rank,
                                                    const uint32_t *shape, const char *name, vkf_tensor *out_tensor);
// Destroys the tensor's buffer and clears the view.
VKF_API void vkf_tensor_destroy(vkf_tensor *tensor);

// Copy whole tensors in rows; `size_bytes` must equal the tensor's size. A tensor in blocks is written from and read
// into rows of blocks, as vkf_dtype says: one for each 32 elements. Statuses: INVALID_ARGUMENT,
// OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_tensor_write(const vkf_tensor *tensor, const void *data, uint64_t size_bytes);
VKF_API VKF_MUST_CHECK vkf_status vkf_tensor_read(const vkf_tensor *tensor, void *out_data, uint64_t size_bytes);

// IEEE half precision on the host: round to nearest even, NaN stays NaN, overflow becomes infinity.
VKF_API void vkf_f32_to_f16(const float *values, uint16_t *out_halves, size_t count);
VKF_API void vkf_f16_to_f32(const uint16_t *halves, float *out_values, size_t count);

// Blocks on the host, 32 values each; `dtype` is VKF_DTYPE_Q8 or VKF_DTYPE_Q4, and nothing is done for another. Values
// have to be finite, and become the nearest that their block can represent. The scale of q8 follows from the block's
// largest magnitude; scale and zero of q4 from its range, or from 0.95 or 0.9 of that where the squared errors add up
// to less. Beyond 127 (q8) or 7 (q4) times 65504 values are clamped.
VKF_API void vkf_f32_to_blocks(vkf_dtype dtype, const float *values, void *out_blocks, size_t block_count);
VKF_API void vkf_blocks_to_f32(vkf_dtype dtype, const void *blocks, float *out_values, size_t block_count);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/tensor.h>

#endif
