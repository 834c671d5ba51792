// What ggml would take on a chip. Its choices are those of ggml_vk_get_device() and ggml_vk_should_use_mmvq().
#include "plan/plan_beside.h"

#include <string.h>

#include "plan/plan_peer.h"

enum { AMD = 0x1002, INTEL = 0x8086, NVIDIA = 0x10de };

// Bytes of an element: the layers' and the last weight's, which files of q4_0 have in q6_K.
#define F16_BYTES 2.0
#define Q8_0_BYTES (34.0 / 32)
#define Q4_0_BYTES (18.0 / 32)
#define Q6_K_BYTES (210.0 / 256)

bool vkf_plan_peer_knows(const vkf_model_config *config, vkf_model_precision precision)
{
    return config->kind == VKF_MODEL_DECODER && config->gated && precision == VKF_MODEL_PRECISION_F16;
}

// It leaves the matrices of Intel's drivers alone but for the newest chips, of which none is described here.
static vkf_peer_product product_of(const vkf_device_info *device, bool blocks)
{
    if (device->flexible_matrix)
        return VKF_PEER_MATRIX2;
    if (device->cooperative_matrix && device->vendor_id != INTEL)
        return VKF_PEER_MATRIX;
    return blocks && device->integer_dot_accelerated ? VKF_PEER_DOT : VKF_PEER_HALF;
}

// From which depth on a row is rounded to q8_1 for a product with q4_0.
static double quantized_depth(const vkf_device_info *device)
{
    switch (device->vendor_id) {
    case NVIDIA:
        return 4097;
    case AMD:
        return 2048;
    default:
        return 0;
    }
}

static vkf_peer_model model_of(const vkf_model_config *config)
{
    return (vkf_peer_model){
        .layers = config->num_decoder_layers,
        .width = config->d_model,
        .heads = config->num_heads,
        .kv_heads = config->num_kv_heads,
        .head_dim = config->head_dim,
        .ff = config->dim_feedforward,
        .vocabulary = config->target_vocab,
    };
}

static void set_weights(vkf_peer_run *run, vkf_quantization quantization)
{
    const bool q4 = quantization == VKF_QUANTIZATION_Q4, q8 = quantization == VKF_QUANTIZATION_Q8;
    run->weight_bytes = q4 ? Q4_0_BYTES : q8 ? Q8_0_BYTES : F16_BYTES;
    run->logits_bytes = q4 ? Q6_K_BYTES : run->weight_bytes;
}

void vkf_plan_beside_ggml(const vkf_model_config *config, vkf_quantization quantization, vkf_plan_report *report)
{
    const vkf_device_info *device = &report->device;
    const bool blocks = quantization != VKF_QUANTIZATION_NONE;
    const vkf_peer_model model = model_of(config);
    const vkf_chip_speed *speed = &report->chip->speed;
    vkf_peer_run run = {
        .model = &model,
        .lanes = device->subgroup_size,
        .product = product_of(device, blocks),
        .fused = true,
        .quantized_depth = quantization == VKF_QUANTIZATION_Q4 ? quantized_depth(device) : 0,
    };
    set_weights(&run, quantization);
    for (size_t i = 0; i < report->run_count; i++)
        report->peer_s[i] = strcmp(report->runs[i].what, "token") == 0 ? vkf_peer_token_s(speed, &run, report->context)
                                                                       : vkf_peer_prompt_s(speed, &run, report->prompt);
}
