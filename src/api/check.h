// Argument checks that the public entry points share. Each failure is INVALID_ARGUMENT or TOO_LARGE with a message that
// names the function, the argument and the reason.
#ifndef VKF_API_CHECK_H
#define VKF_API_CHECK_H

#include <vkformer/layer.h>

#include "base/sized.h"
#include "kernel/context.h"

typedef struct vkf__checker {
    const vkf__host *host; // of the context
    const char *function;
    bool buffers_optional; // for planning, where only shapes count
    bool empty;            // a dimension may be 0, and a tensor of no elements is without a buffer if it likes
    bool block_rows;       // a tensor may be one of vkf__is_block_rows()
    vkf_context *context;
} vkf__checker;

// Whether the room for later versions in a struct is 0: an expression, a status.
#define VKF_CHECK_RESERVED(check, name, pointer) \
    vkf__check_reserved((check)->host, (check)->function, (name), (pointer)->reserved, sizeof(pointer)->reserved)

// A caller's descriptor of a context; NULL: all defaults. Its messages are told by what could be read of it.
VKF_MUST_CHECK vkf_status vkf__take_context_desc(const char *function, const vkf_context_desc *desc, size_t desc_bytes,
                                                 vkf_context_desc *out_full);

// A tensor in rows that must be there: it has a living buffer of the context and fits it, its rank is 1 to 4, no
// dimension is 0 where the checker does not let that pass, and its offset is a multiple of the element size.
VKF_MUST_CHECK vkf_status vkf__check_tensor(const vkf__checker *check, const vkf_tensor *tensor, const char *name);

// The same, with an exact shape (rank dimensions) and dtype.
VKF_MUST_CHECK vkf_status vkf__check_shape(const vkf__checker *check, const vkf_tensor *tensor, const char *name,
                                           vkf_dtype dtype, uint32_t rank, const uint32_t *shape);
// A Linear's weight (n, k), in any layout.
VKF_MUST_CHECK vkf_status vkf__check_weight(const vkf__checker *check, const vkf_tensor *tensor, const char *name,
                                            vkf_dtype dtype, uint32_t n, uint32_t k);
// Like vkf__check_shape(), for a tensor that may be absent.
VKF_MUST_CHECK vkf_status vkf__check_optional(const vkf__checker *check, const vkf_tensor *tensor, const char *name,
                                              vkf_dtype dtype, uint32_t rank, const uint32_t *shape);

// A number for each head, which may be absent and which kernels read as texels: (heads) f32.
VKF_MUST_CHECK vkf_status vkf__check_head_values(const vkf__checker *check, const vkf_tensor *values, const char *name,
                                                 uint32_t heads);

// Lengths by which queries are placed are there.
VKF_MUST_CHECK vkf_status vkf__check_causal(const vkf__checker *check, vkf_causal causal, vkf_mask_kind key_kind);
// What vkf_softmax_desc says of one.
VKF_MUST_CHECK vkf_status vkf__check_soft_cap(const vkf__checker *check, float soft_cap);
// A tensor of f32 or f16, in rows.
VKF_MUST_CHECK vkf_status vkf__check_float(const vkf__checker *check, const vkf_tensor *tensor, const char *name);
// A Linear's weight of f32, f16 or bf16, in any layout. It is the one whose type the other parameters must have.
VKF_MUST_CHECK vkf_status vkf__check_weight_type(const vkf__checker *check, const vkf_tensor *tensor, const char *name);
// A tensor of f32, f16 or bf16, in rows: a factor that activations are multiplied by, or another parameter of a model.
VKF_MUST_CHECK vkf_status vkf__check_factor(const vkf__checker *check, const vkf_tensor *tensor, const char *name);

// The output must not share bytes with an input.
VKF_MUST_CHECK vkf_status vkf__check_apart(const vkf__checker *check, const vkf_tensor *out, const vkf_tensor *in,
                                           const char *in_name);

// Gives a text to a caller: *inout_bytes is the capacity of out_text on entry, and on return the text's bytes without
// the terminating zero, which is written, too. out_text may be NULL, to ask for the bytes. Status TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__give_text(const vkf__host *host, const char *function, const char *text,
                                         size_t size_bytes, size_t *inout_bytes, char *out_text);

// Whether a tensor that was checked has no elements.
bool vkf__is_empty(const vkf_tensor *tensor);

bool vkf__same_tensor(const vkf_tensor *a, const vkf_tensor *b);
bool vkf__same_shape(const vkf_tensor *a, const vkf_tensor *b);

#endif
