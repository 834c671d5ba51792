// What ggml's Vulkan backend would dispatch for a model, as loads of the estimate: a model beside which the estimate
// can be held, since its speed on real GPUs is published. The choices are those of ggml-vulkan.cpp, which
// plan_peer.c names one by one.
#ifndef VKF_PROGRAM_PLAN_PEER_H
#define VKF_PROGRAM_PLAN_PEER_H

#include "plan/plan_estimate.h"

typedef struct vkf_peer_model {
    const char *name;
    double layers, width, heads, kv_heads, head_dim, ff, vocabulary;
    double extra_norms; // of a layer, beyond two
} vkf_peer_model;

// The kernel that multiplies a prompt.
typedef enum vkf_peer_product {
    VKF_PEER_HALF = 0, // mul_mm: blocks become f16 in shared memory, f16 arithmetic
    VKF_PEER_DOT,      // mul_mmq: rows quantised to q8_1, integer dot products
    VKF_PEER_MATRIX,   // mul_mm with matrices of subgroups, sums in f16
    VKF_PEER_MATRIX2,  // mul_mm_cm2: matrices of workgroups, sums in f16
} vkf_peer_product;

typedef struct vkf_peer_run {
    const vkf_peer_model *model;
    double weight_bytes, logits_bytes; // of an element of the layers' weights, and of the last one
    double lanes;                      // of a subgroup
    vkf_peer_product product;
    // For a token: residuals are added by products, caches are stored by rotary, and norms multiply by their weights.
    bool fused;
    // For a token: rows at least so long are quantised to q8_1 before they are multiplied; 0: none.
    double quantized_depth;
} vkf_peer_run;

// Seconds. `rows` are the tokens of a prompt; a token has `context` tokens before it.
double vkf_peer_prompt_s(const vkf_chip_speed *speed, const vkf_peer_run *run, double rows);
double vkf_peer_token_s(const vkf_chip_speed *speed, const vkf_peer_run *run, double context);

#endif
