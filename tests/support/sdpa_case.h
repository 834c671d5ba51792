// One scaled dot product attention on the device and by the reference.
#ifndef VKF_TESTS_SDPA_CASE_H
#define VKF_TESTS_SDPA_CASE_H

#include "support/mask_operand.h"

// The dimensions that a mask (.., S) has; it broadcasts over the others.
#define VKF_TEST_MASK_ROWS 1u  // L
#define VKF_TEST_MASK_HEADS 2u // H
#define VKF_TEST_MASK_BATCH 4u // B

typedef struct vkf_test_sdpa_case {
    uint32_t batch, heads;
    uint32_t kv_heads; // 0: heads
    uint32_t q_len, k_len;
    uint32_t dim;
    uint32_t v_dim; // 0: dim
    vkf_dtype dtype;
    vkf_dtype kv_dtype; // of key and value; 0: dtype
    float scale;        // 0: default
    vkf_mask_kind mask_kind;
    uint32_t mask_dims; // VKF_TEST_MASK_*; the mask's rank is the least that has them
    vkf_mask_kind key_mask_kind;
    vkf_causal causal;
    uint32_t window;
    vkf_fully_masked fully_masked;
    vkf_test_score_form form;
    bool mask_all; // every key of batch entry 0 is masked by the key mask, every key of row 0 by the mask
    // Changes the values before they are uploaded; NULL: random ones.
    void (*prepare)(vkf_test_operand *query, vkf_test_operand *key, vkf_test_operand *value);
} vkf_test_sdpa_case;

// Runs the case on values of mean 0 and deviation 1 and compares it with the reference. Kernels that multiply by
// matrices get 4e-3 at least.
void vkf_test_sdpa_run(vkf_test_ops *ops, const vkf_test_sdpa_case *c, double atol, double rtol);

// The same within the bounds of kernels that compute in f32: what the device's exp() errs by, 1e-5, and for f16 the
// rounding of the output.
void vkf_test_sdpa_check(vkf_test_ops *ops, const vkf_test_sdpa_case *c);

#endif
