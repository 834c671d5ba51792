// Parameters, masks and ports of layers, for comparisons of layers with the reference.
#ifndef VKF_TESTS_LAYER_FIXTURE_H
#define VKF_TESTS_LAYER_FIXTURE_H

#include "support/op_fixture.h"
#include "support/reference.h"

// Rounds values to what the type can hold.
void vkf_test_round(vkf_dtype dtype, float *values, size_t count);
// Normal values, rounded to the type; the caller frees them.
float *vkf_test_normal_floats(vkf_test_ops *ops, vkf_dtype dtype, size_t count);

// The first `count` values of a port, converted from and to its type; the caller frees what is read.
void vkf_test_port_write(vkf_test_ops *ops, vkf_layer *layer, vkf_port port, vkf_dtype dtype, const float *values,
                         size_t count);
float *vkf_test_port_read(vkf_test_ops *ops, vkf_layer *layer, vkf_port port, vkf_dtype dtype, size_t count);

// Dimensions of an attention block, all of them given.
typedef struct vkf_test_attention_dims {
    uint32_t embed_dim, heads, head_dim, v_head_dim, kdim, vdim;
} vkf_test_attention_dims;

typedef struct vkf_test_attention_params {
    vkf_test_operand *q_weight, *k_weight, *v_weight, *q_bias, *k_bias, *v_bias, *bias_k, *bias_v, *out_weight,
        *out_bias;
} vkf_test_attention_params;

// Weights of about 1 / sqrt(columns), so that results stay near 1. Biases and bias_k, bias_v are NULL unless asked for.
vkf_test_attention_params vkf_test_attention_make(vkf_test_ops *ops, vkf_dtype dtype,
                                                  const vkf_test_attention_dims *dims, bool biases, bool bias_kv);
vkf_attention_weights vkf_test_attention_tensors(const vkf_test_attention_params *params);
// Turns the tensors of q, k and v into views of one in_proj_weight and, if they have biases, one in_proj_bias. All in
// f32.
void vkf_test_attention_join(vkf_test_ops *ops, const vkf_test_attention_params *p, vkf_attention_weights *tensors);
// Fills in the dimensions and parameters.
void vkf_test_attention_reference(const vkf_test_attention_params *params, const vkf_test_attention_dims *dims,
                                  vkf_ref_attention_desc *desc);
// Runs the reference; fails the test when memory is exhausted.
void vkf_test_attention_expect(const vkf_ref_attention_desc *desc);

// A linear layer's weight (rows, cols) and, with `bias`, its bias (rows).
vkf_test_operand *vkf_test_weight(vkf_test_ops *ops, vkf_dtype dtype, uint32_t rows, uint32_t cols);
vkf_test_operand *vkf_test_bias(vkf_test_ops *ops, vkf_dtype dtype, uint32_t count);

// Puts the weight into panels (vkf_pack_weight()); its rows on the device go.
void vkf_test_pack(vkf_test_ops *ops, vkf_test_operand *weight);
void vkf_test_attention_pack(vkf_test_ops *ops, const vkf_test_attention_params *params);

// The values of a mask of `count` elements, uint8_t or float, that masks about a third; NULL for VKF_MASK_NONE. With
// `row` > 0 the first `row` elements are all masked. VKF_MASK_LENGTHS: `count` lengths of 1 .. row. The caller frees
// it.
void *vkf_test_mask_make(vkf_test_ops *ops, vkf_mask_kind kind, size_t count, uint32_t row);
size_t vkf_test_mask_bytes(vkf_mask_kind kind, size_t count);

#endif
