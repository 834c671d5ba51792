// Transformer layers: each one a command buffer that is recorded once and replayed.
//
// A layer is created for maximum sizes. Its inputs and outputs are ports: tensors that the layer owns (or that the
// caller gave), written with vkf_layer_write() and read with vkf_layer_read(). Data in a port is compact for the sizes
// of the run: a query of (B, L, E) with B and L as given to vkf_layer_run().
#ifndef VKFORMER_LAYER_H
#define VKFORMER_LAYER_H

#include <vkformer/op.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vkf_layer vkf_layer;

typedef enum vkf_port {
    VKF_PORT_QUERY = 0, // (B, L, embed_dim); src of an encoder layer, tgt of a decoder layer, x of a feed-forward
    VKF_PORT_KEY,       // (B, S, kdim), attention
    VKF_PORT_VALUE,     // (B, S, vdim), attention
    VKF_PORT_MEMORY,    // (B, S, embed_dim), decoder layer
    VKF_PORT_OUTPUT,    // (B, L, embed_dim)
    VKF_PORT_WEIGHTS,   // (B, L, S') f32, attention weights averaged over heads; S' = S + bias_kv + zero_attn
    VKF_PORT_WEIGHTS_PER_HEAD, // (B, H, L, S') f32
    VKF_PORT_MASK,             // (L, S), or (B * H, L, S): row b * H + h
    VKF_PORT_KEY_MASK,         // (B, S), or (B) for lengths
    VKF_PORT_MEMORY_MASK,      // as MASK, for a decoder layer's cross attention
    VKF_PORT_MEMORY_KEY_MASK,  // as KEY_MASK, for a decoder layer's cross attention
    VKF_PORT_COUNT
} vkf_port;

#define VKF_MAX_PORTS 16 // of a descriptor; more than there are, so that later versions may have more

// The parameters of one attention block. Linear weights are (out, in), as PyTorch keeps them. A weight may lie in rows
// or in panels (vkf_pack_weight()). Of rows the layer makes packed copies where the device likes panels better; panels
// are read where they are. A layer of up to eight rows with norm_first also copies the vectors that its products take
// along. Absent optional tensors are {0}.
// All parameters of a layer, norms included, share one dtype: the activations', or F16 or BF16 under F32 activations.
// The layer reads the parameters, or copies of its own, at every run. It keeps their buffers, so these may be destroyed
// before it, but their content must not change.
typedef struct vkf_attention_weights {
    vkf_tensor q_weight;   // (num_heads * head_dim, embed_dim)
    vkf_tensor k_weight;   // (num_heads * head_dim, kdim)
    vkf_tensor v_weight;   // (num_heads * v_head_dim, vdim)
    vkf_tensor q_bias;     // optional, (num_heads * head_dim)
    vkf_tensor k_bias;     // optional
    vkf_tensor v_bias;     // optional
    vkf_tensor bias_k;     // optional, (1, 1, num_heads * head_dim): add_bias_kv
    vkf_tensor bias_v;     // optional, (1, 1, num_heads * v_head_dim)
    vkf_tensor out_weight; // (embed_dim, num_heads * v_head_dim)
    vkf_tensor out_bias;   // optional, (embed_dim)
    vkf_tensor slopes;     // optional, (num_heads) f32: see vkf_sdpa_desc
    vkf_tensor sinks;      // optional, (num_heads) f32: the same
    // Optional, of self attention without bias_k and add_zero_attn: (positions, rotary_dim) f32 as vkf_rotary_table()
    // makes it, with a row for each of the most queries. Queries and keys are rotated once they are projected.
    vkf_tensor rotary;
    // The weights of q, k and v are views into one in_proj_weight (rows of q, then k, then v), and their biases, if
    // any, into one in_proj_bias, as in PyTorch where kdim and vdim equal embed_dim. Self attention then multiplies by
    // all three at once. INVALID_ARGUMENT if a view does not begin where the one before it ends.
    bool in_proj;
    bool rotary_interleaved; // how `rotary` pairs the elements of a head: see vkf_rotary_desc
    uint64_t reserved[8];    // 0; room for members of later versions
} vkf_attention_weights;

typedef struct vkf_attention_mask {
    vkf_mask_kind kind;     // NONE, BOOL_EXCLUDE, BOOL_ATTEND or ADDITIVE
    bool per_head;          // (B * H, L, S) instead of (L, S)
    vkf_mask_kind key_kind; // NONE, BOOL_EXCLUDE, BOOL_ATTEND, ADDITIVE or LENGTHS
    vkf_causal causal;
    uint32_t window; // as in vkf_sdpa_desc, and so are these:
    uint32_t window_right;
    float soft_cap;
    uint32_t reserved[6]; // 0; room for members of later versions
} vkf_attention_mask;

// Maximum sizes that a layer is made for, and actual sizes of one run (none larger than the maximum, none 0).
typedef struct vkf_layer_sizes {
    uint32_t batch;     // B
    uint32_t query_len; // L
    uint32_t key_len;   // S; ignored by self attention, encoder and feed-forward layers
} vkf_layer_sizes;

// torch.nn.MultiheadAttention (batch_first). Beyond it, head_dim * num_heads may differ from embed_dim.
typedef struct vkf_attention_desc {
    uint32_t embed_dim;
    uint32_t num_heads;
    uint32_t head_dim;   // 0: embed_dim / num_heads
    uint32_t v_head_dim; // 0: head_dim
    uint32_t kdim;       // 0: embed_dim
    uint32_t vdim;       // 0: embed_dim
    bool self_attention; // key and value are the query; ports KEY and VALUE do not exist
    bool add_zero_attn;
    bool weights;          // port WEIGHTS
    bool weights_per_head; // port WEIGHTS_PER_HEAD
    vkf_attention_mask mask;
    vkf_fully_masked fully_masked;
    vkf_attention_weights params;
    vkf_dtype dtype; // of activations: F32 or F16
    vkf_layer_sizes max_sizes;
    // Tensors that the caller provides instead of the layer's own, at maximum sizes. Outputs must not overlap another
    // port. The layer keeps their buffers, too.
    vkf_tensor ports[VKF_MAX_PORTS];
    uint32_t frames_in_flight; // 0: 1; see vkf_layer_wait()
} vkf_attention_desc;
// Records the layer's command buffer. Ownership: the caller owns the layer, and destroys it before or after the context
// and the buffers of the tensors that it was given.
// Statuses: INVALID_ARGUMENT (a size, shape, type or kind of mask; a tensor that is absent or of another context),
// TOO_LARGE, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, UNSUPPORTED, DEVICE_LOST, VULKAN, SHADER.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_attention_create(vkf_context *context, const vkf_attention_desc *desc,
                                                          vkf_layer **out_layer);
// The bytes that vkf_attention_create() will allocate. Only the shapes of tensors are read: their buffers may be NULL.
// Nothing is run, so creation may need other bytes if it finds a kernel to be wrong on this device. Statuses: as there.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_attention_plan(vkf_context *context, const vkf_attention_desc *desc,
                                                        vkf_memory_plan *out_plan);

typedef enum vkf_norm_kind {
    VKF_NORM_LAYER = 0, // LayerNorm (Ba et al. 2016)
    VKF_NORM_RMS,       // RMSNorm (Zhang and Sennrich 2019): no mean, no bias
    VKF_NORM_KIND_COUNT
} vkf_norm_kind;

typedef struct vkf_norm_weights {
    vkf_tensor weight; // optional, (d_model)
    vkf_tensor bias;   // optional, (d_model)
} vkf_norm_weights;

// out = activation(x W1^T + b1) W2^T + b2
typedef struct vkf_feed_forward_weights {
    vkf_tensor weight1;    // (dim_feedforward, d_model)
    vkf_tensor bias1;      // optional, (dim_feedforward)
    vkf_tensor weight2;    // (d_model, dim_feedforward)
    vkf_tensor bias2;      // optional, (d_model)
    uint64_t reserved[32]; // 0; room for members of later versions
} vkf_feed_forward_weights;

typedef struct vkf_feed_forward_desc {
    uint32_t d_model;
    uint32_t dim_feedforward;
    vkf_activation activation; // 0: RELU, as in "Attention Is All You Need"
    vkf_feed_forward_weights params;
    vkf_dtype dtype;
    vkf_layer_sizes max_sizes;
    vkf_tensor ports[VKF_MAX_PORTS];
    uint32_t frames_in_flight; // 0: 1; see vkf_layer_wait()
} vkf_feed_forward_desc;
// Ownership and statuses of these and of the following functions: as vkf_attention_create() and vkf_attention_plan().
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_feed_forward_create(vkf_context *context, const vkf_feed_forward_desc *desc,
                                                             vkf_layer **out_layer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_feed_forward_plan(vkf_context *context, const vkf_feed_forward_desc *desc,
                                                           vkf_memory_plan *out_plan);

// torch.nn.TransformerEncoderLayer and TransformerDecoderLayer (eval mode, batch_first). An encoder layer uses `self`,
// `norm1`, `norm2`; a decoder layer also `cross` and `norm3`.
typedef struct vkf_transformer_layer_desc {
    uint32_t d_model;
    uint32_t num_heads;
    uint32_t dim_feedforward;
    vkf_activation activation; // 0: RELU, as in PyTorch, whose "gelu" is GELU_ERF
    bool norm_first;
    float layer_norm_eps; // 0: 1e-5, as in PyTorch; or VKF_ZERO
    vkf_attention_weights self;
    vkf_attention_weights cross;
    vkf_feed_forward_weights feed_forward;
    vkf_norm_weights norm1, norm2, norm3;
    vkf_attention_mask self_mask;
    vkf_attention_mask cross_mask;
    vkf_fully_masked fully_masked;
    vkf_dtype dtype;
    vkf_layer_sizes max_sizes;
    vkf_tensor ports[VKF_MAX_PORTS];
    uint32_t frames_in_flight; // 0: 1; see vkf_layer_wait()
} vkf_transformer_layer_desc;
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_encoder_layer_create(vkf_context *context,
                                                              const vkf_transformer_layer_desc *desc,
                                                              vkf_layer **out_layer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_encoder_layer_plan(vkf_context *context,
                                                            const vkf_transformer_layer_desc *desc,
                                                            vkf_memory_plan *out_plan);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_decoder_layer_create(vkf_context *context,
                                                              const vkf_transformer_layer_desc *desc,
                                                              vkf_layer **out_layer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_decoder_layer_plan(vkf_context *context,
                                                            const vkf_transformer_layer_desc *desc,
                                                            vkf_memory_plan *out_plan);

VKF_API void vkf_layer_destroy(vkf_layer **layer);

// The tensor behind a port, at maximum sizes; false when the layer has no such port.
VKF_API bool vkf_layer_get_port(const vkf_layer *layer, vkf_port port, vkf_tensor *out_tensor);

// Copies the first size_bytes of a port. Statuses: INVALID_ARGUMENT (no such port, too many bytes), DEVICE_LOST,
// VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_layer_write(vkf_layer *layer, vkf_port port, const void *data,
                                                  uint64_t size_bytes);
VKF_API VKF_MUST_CHECK vkf_status vkf_layer_read(vkf_layer *layer, vkf_port port, void *out_data, uint64_t size_bytes);

// Sets the sizes of frame 0, submits its recorded command buffer and waits for it.
// Statuses: as vkf_layer_set_sizes(), and OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_layer_run(vkf_layer *layer, const vkf_layer_sizes *sizes);

// Frames: a layer with frames_in_flight N has N sets of parameters and N command buffers, numbered from 0, so that as
// many runs may be under way at once, with sizes of their own. Ports and intermediate results are common to them: the
// runs of a layer follow one another on the device, as they were submitted. vkf_layer_submit() of <vkformer/vulkan.h>
// begins a run without waiting for it; vkf_layer_run() uses frame 0, which every layer has.
#define VKF_MAX_FRAMES_IN_FLIGHT 16u

// Writes the sizes into the parameter and indirect buffers of a frame; nothing is recorded or allocated. The frame's
// previous run must have ended; if vkf_layer_submit() began that, it is waited for here.
// Statuses: INVALID_ARGUMENT (no such frame; a size is 0), TOO_LARGE (beyond the maximum), DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_layer_set_sizes(vkf_layer *layer, uint32_t frame, const vkf_layer_sizes *sizes);

// Waits until the run that was submitted with this frame has ended; returns at once if there is none. Before that, its
// ports must not be read or written by the host. vkf_layer_destroy() waits for all frames.
// Statuses: INVALID_ARGUMENT (no such frame), OUT_OF_HOST_MEMORY, DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_layer_wait(vkf_layer *layer, uint32_t frame);

// Whether that run has ended, without waiting. vkf_layer_wait() has to follow all the same, and takes no time then.
// Statuses: INVALID_ARGUMENT (no such frame), DEVICE_LOST, VULKAN.
VKF_API VKF_MUST_CHECK vkf_status vkf_layer_ended(vkf_layer *layer, uint32_t frame, bool *out_ended);

// How often the layer's own command buffers were recorded: each frame's once, at creation, and never again.
VKF_API uint32_t vkf_layer_get_record_count(const vkf_layer *layer);

// GPU time of one dispatch of the last run that was waited for, in a context with `timestamps`.
typedef struct vkf_timing {
    const char *label;  // "self_attn.q_proj"; lives as long as the layer
    const char *kernel; // the registry's name
    double gpu_ns;
} vkf_timing;
// *inout_count is the capacity on entry and the number of dispatches on return; out_timings == NULL asks for the
// number. Statuses: UNSUPPORTED (no timestamps), INVALID_ARGUMENT (never run), DEVICE_LOST, VULKAN.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_layer_get_timings(vkf_layer *layer, uint32_t *inout_count,
                                                           vkf_timing *out_timings);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/layer.h>

#endif
