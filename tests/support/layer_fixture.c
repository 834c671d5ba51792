// Makes random parameters and masks of layers, and the descriptors that name them.
#include "support/layer_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void vkf_test_round(vkf_dtype dtype, float *values, size_t count)
{
    if (dtype != VKF_DTYPE_F16)
        return;
    uint16_t *halves = malloc(count * sizeof *halves);
    assert_non_null(halves);
    vkf_f32_to_f16(values, halves, count);
    vkf_f16_to_f32(halves, values, count);
    free(halves);
}

float *vkf_test_normal_floats(vkf_test_ops *ops, vkf_dtype dtype, size_t count)
{
    float *values = vkf_test_floats(count);
    vkf_test_fill_normal(&ops->gpu.random, values, count, 0, 1);
    vkf_test_round(dtype, values, count);
    return values;
}

void vkf_test_port_write(vkf_test_ops *ops, vkf_layer *layer, vkf_port port, vkf_dtype dtype, const float *values,
                         size_t count)
{
    const void *data = values;
    uint16_t *halves = NULL;
    if (dtype == VKF_DTYPE_F16) {
        halves = malloc(count * sizeof *halves);
        assert_non_null(halves);
        vkf_f32_to_f16(values, halves, count);
        data = halves;
    }
    vkf_status status = vkf_layer_write(layer, port, data, count * vkf_dtype_size(dtype));
    free(halves);
    vkf_test_assert_ok(ops, status, "vkf_layer_write");
}

float *vkf_test_port_read(vkf_test_ops *ops, vkf_layer *layer, vkf_port port, vkf_dtype dtype, size_t count)
{
    float *values = vkf_test_floats(count);
    if (dtype == VKF_DTYPE_F32) {
        vkf_test_assert_ok(ops, vkf_layer_read(layer, port, values, count * sizeof *values), "vkf_layer_read");
        return values;
    }
    uint16_t *halves = malloc(count * sizeof *halves);
    assert_non_null(halves);
    vkf_test_assert_ok(ops, vkf_layer_read(layer, port, halves, count * sizeof *halves), "vkf_layer_read");
    vkf_f16_to_f32(halves, values, count);
    free(halves);
    return values;
}

void vkf_test_pack(vkf_test_ops *ops, vkf_test_operand *weight)
{
    vkf_tensor packed = {0};
    vkf_test_assert_ok(ops, vkf_pack_weight(ops->gpu.context, &weight->tensor, "packed", &packed), "pack");
    vkf_tensor_destroy(&weight->tensor);
    weight->tensor = packed;
}

void vkf_test_attention_pack(vkf_test_ops *ops, const vkf_test_attention_params *params)
{
    vkf_test_pack(ops, params->q_weight);
    vkf_test_pack(ops, params->k_weight);
    vkf_test_pack(ops, params->v_weight);
    vkf_test_pack(ops, params->out_weight);
}

// The values of q, k and v after each other in one operand, and the three as views of it.
static void join(vkf_test_ops *ops, vkf_test_operand *const parts[3], vkf_tensor *const views[3])
{
    const size_t count = parts[0]->count;
    float *values = vkf_test_floats(3 * count);
    for (size_t i = 0; i < 3; i++)
        memcpy(values + i * count, parts[i]->values, count * sizeof *values);
    const vkf_test_operand *whole = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE((uint32_t)(3 * count)));
    for (size_t i = 0; i < 3; i++) {
        *views[i] = parts[i]->tensor;
        views[i]->buffer = whole->tensor.buffer;
        views[i]->offset_bytes = whole->tensor.offset_bytes + i * count * sizeof *values;
    }
    free(values);
}

void vkf_test_attention_join(vkf_test_ops *ops, const vkf_test_attention_params *p, vkf_attention_weights *tensors)
{
    join(ops, (vkf_test_operand *const[]){p->q_weight, p->k_weight, p->v_weight},
         (vkf_tensor *const[]){&tensors->q_weight, &tensors->k_weight, &tensors->v_weight});
    if (p->q_bias)
        join(ops, (vkf_test_operand *const[]){p->q_bias, p->k_bias, p->v_bias},
             (vkf_tensor *const[]){&tensors->q_bias, &tensors->k_bias, &tensors->v_bias});
    tensors->in_proj = true;
}

vkf_test_operand *vkf_test_weight(vkf_test_ops *ops, vkf_dtype dtype, uint32_t rows, uint32_t cols)
{
    return vkf_test_normal(ops, dtype, 0, 1 / sqrtf((float)cols), SHAPE(rows, cols));
}

vkf_test_operand *vkf_test_bias(vkf_test_ops *ops, vkf_dtype dtype, uint32_t count)
{
    return vkf_test_uniform(ops, dtype, -0.5f, 0.5f, SHAPE(count));
}

vkf_test_attention_params vkf_test_attention_make(vkf_test_ops *ops, vkf_dtype dtype,
                                                  const vkf_test_attention_dims *dims, bool biases, bool bias_kv)
{
    const uint32_t width = dims->heads * dims->head_dim, v_width = dims->heads * dims->v_head_dim;
    vkf_test_attention_params params = {
        .q_weight = vkf_test_weight(ops, dtype, width, dims->embed_dim),
        .k_weight = vkf_test_weight(ops, dtype, width, dims->kdim),
        .v_weight = vkf_test_weight(ops, dtype, v_width, dims->vdim),
        .out_weight = vkf_test_weight(ops, dtype, dims->embed_dim, v_width),
    };
    if (biases) {
        params.q_bias = vkf_test_bias(ops, dtype, width);
        params.k_bias = vkf_test_bias(ops, dtype, width);
        params.v_bias = vkf_test_bias(ops, dtype, v_width);
        params.out_bias = vkf_test_bias(ops, dtype, dims->embed_dim);
    }
    if (bias_kv) {
        params.bias_k = vkf_test_normal(ops, dtype, 0, 1, SHAPE(1, 1, width));
        params.bias_v = vkf_test_normal(ops, dtype, 0, 1, SHAPE(1, 1, v_width));
    }
    return params;
}

vkf_attention_weights vkf_test_attention_tensors(const vkf_test_attention_params *params)
{
    return (vkf_attention_weights){
        .q_weight = vkf_test_tensor_of(params->q_weight),
        .k_weight = vkf_test_tensor_of(params->k_weight),
        .v_weight = vkf_test_tensor_of(params->v_weight),
        .q_bias = vkf_test_tensor_of(params->q_bias),
        .k_bias = vkf_test_tensor_of(params->k_bias),
        .v_bias = vkf_test_tensor_of(params->v_bias),
        .bias_k = vkf_test_tensor_of(params->bias_k),
        .bias_v = vkf_test_tensor_of(params->bias_v),
        .out_weight = vkf_test_tensor_of(params->out_weight),
        .out_bias = vkf_test_tensor_of(params->out_bias),
    };
}

void vkf_test_attention_reference(const vkf_test_attention_params *params, const vkf_test_attention_dims *dims,
                                  vkf_ref_attention_desc *desc)
{
    desc->embed_dim = dims->embed_dim;
    desc->num_heads = dims->heads;
    desc->head_dim = dims->head_dim;
    desc->v_head_dim = dims->v_head_dim;
    desc->kdim = dims->kdim;
    desc->vdim = dims->vdim;
    desc->q_weight = params->q_weight->values;
    desc->k_weight = params->k_weight->values;
    desc->v_weight = params->v_weight->values;
    desc->q_bias = vkf_test_values_of(params->q_bias);
    desc->k_bias = vkf_test_values_of(params->k_bias);
    desc->v_bias = vkf_test_values_of(params->v_bias);
    desc->bias_k = vkf_test_values_of(params->bias_k);
    desc->bias_v = vkf_test_values_of(params->bias_v);
    desc->out_weight = params->out_weight->values;
    desc->out_bias = vkf_test_values_of(params->out_bias);
}

void vkf_test_attention_expect(const vkf_ref_attention_desc *desc)
{
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    assert_int_equal(vkf_ref_attention(&host, desc), VKF_OK);
}

size_t vkf_test_mask_bytes(vkf_mask_kind kind, size_t count)
{
    return count * (kind == VKF_MASK_ADDITIVE || kind == VKF_MASK_LENGTHS ? 4 : 1);
}

void *vkf_test_mask_make(vkf_test_ops *ops, vkf_mask_kind kind, size_t count, uint32_t row)
{
    if (kind == VKF_MASK_NONE)
        return NULL;
    void *mask = malloc(vkf_test_mask_bytes(kind, count));
    assert_non_null(mask);
    if (kind == VKF_MASK_LENGTHS) {
        int32_t *lengths = mask;
        vkf_test_fill_ids(&ops->gpu.random, lengths, count, row);
        for (size_t i = 0; i < count; i++)
            lengths[i]++;
    } else if (kind == VKF_MASK_ADDITIVE) {
        float *values = mask;
        vkf_test_fill_normal(&ops->gpu.random, values, count, 0, 1);
        for (size_t i = 0; i < count; i++)
            values[i] = i < row || vkf_test_random_below(&ops->gpu.random, 3) == 0 ? -INFINITY : values[i];
    } else {
        bool exclude = kind == VKF_MASK_BOOL_EXCLUDE;
        vkf_test_fill_bools(&ops->gpu.random, mask, count, exclude ? 0.3 : 0.7);
        memset(mask, exclude, row);
    }
    return mask;
}
