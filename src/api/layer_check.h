// Checks of layer descriptors, and the declaration of their ports.
#ifndef VKF_API_LAYER_CHECK_H
#define VKF_API_LAYER_CHECK_H

#include "api/check.h"
#include "layer/layer.h"

VKF_MUST_CHECK vkf_status vkf__check_sizes(const vkf__checker *check, const vkf_layer_sizes *sizes, bool keys);
VKF_MUST_CHECK vkf_status vkf__check_mask_desc(const vkf__checker *check, const vkf_attention_mask *mask,
                                               const char *name);

typedef struct vkf__attention_dims {
    uint32_t embed_dim, heads, head_dim, v_head_dim, kdim, vdim;
} vkf__attention_dims;
VKF_MUST_CHECK vkf_status vkf__check_attention_weights(const vkf__checker *check, const vkf_attention_weights *weights,
                                                       const vkf__attention_dims *dims, vkf_dtype dtype);
// Of a layer of as many queries, which takes a table or not.
VKF_MUST_CHECK vkf_status vkf__check_rotary(const vkf__checker *check, const vkf_attention_weights *weights,
                                            const vkf__attention_dims *dims, uint32_t queries, bool takes);
VKF_MUST_CHECK vkf_status vkf__check_feed_forward_weights(const vkf__checker *check,
                                                          const vkf_feed_forward_weights *weights, uint32_t d_model,
                                                          uint32_t dim_feedforward, vkf_dtype dtype);
VKF_MUST_CHECK vkf_status vkf__check_norm_weights(const vkf__checker *check, const vkf_norm_weights *weights,
                                                  uint32_t d_model, vkf_dtype dtype);

// Declares a port of the layer. It is the caller's tensor if external[port] is present, which is checked, and otherwise
// the layer's own.
VKF_MUST_CHECK vkf_status vkf__set_port(const vkf__checker *check, vkf__layer_desc *layer, vkf_port port,
                                        const vkf_tensor *external, vkf_dtype dtype, uint32_t rank,
                                        const uint32_t *shape);
// Declares the ports of a mask and its key mask where their kinds ask for them.
VKF_MUST_CHECK vkf_status vkf__set_mask_ports(const vkf__checker *check, vkf__layer_desc *layer, vkf_port mask_port,
                                              vkf_port key_port, const vkf_tensor *external,
                                              const vkf_attention_mask *mask, uint32_t heads,
                                              const vkf_layer_sizes *sizes);

// Beyond the last port there is none: UNSUPPORTED. `ports` are those of a descriptor, (VKF_MAX_PORTS).
VKF_MUST_CHECK vkf_status vkf__check_ports(const vkf__checker *check, const vkf_tensor *ports);

// What vkf__layer_plan() says, for the caller's struct of `plan_bytes` bytes.
VKF_MUST_CHECK vkf_status vkf__give_layer_plan(const vkf__checker *check, const vkf__layer_desc *layer,
                                               vkf_memory_plan *out_plan, size_t plan_bytes);

// The number of frames for what a description says; 0 stands for 1.
VKF_MUST_CHECK vkf_status vkf__check_frames(const vkf__checker *check, uint32_t frames_in_flight, uint32_t *out_frames);

#endif
