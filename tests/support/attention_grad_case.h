// Gradients of attention on operands of a test's choice, beside the reference's.
#ifndef VKF_TESTS_ATTENTION_GRAD_CASE_H
#define VKF_TESTS_ATTENTION_GRAD_CASE_H

#include "op/train/attention_grad.h"
#include "support/op_fixture.h"
#include "support/sdpa_case.h"

typedef struct vkf_test_grad_case {
    uint32_t batch, heads;
    uint32_t kv_heads; // 0: heads
    uint32_t q_len, k_len;
    uint32_t dim;
    uint32_t v_dim; // 0: dim
    vkf_mask_kind mask_kind;
    uint32_t mask_dims; // VKF_TEST_MASK_*
    vkf_mask_kind key_mask_kind;
    bool mask_all; // as in vkf_test_sdpa_case
    bool causal;
    int32_t causal_offset;
    uint32_t free_keys; // the last ones, which the masks do not cover
    bool heads_inside;  // operands are (batch, length, heads, width)
    bool accumulate;
    bool attends; // the forward pass is the device's, too
    bool biased;  // the gradient of a bias of scores is wanted, too
    bool bfloats; // keys and values are bf16; not with `attends`
} vkf_test_grad_case;

// In the order of the kinds of rows.
enum { VKF_TEST_QUERY, VKF_TEST_KEY, VKF_TEST_VALUE, VKF_TEST_KINDS };

typedef struct vkf_test_grad_operands {
    vkf_test_operand *x[VKF_TEST_KINDS];    // query, key, value
    vkf_test_operand *grad[VKF_TEST_KINDS]; // of these
    vkf_test_operand *out, *dout, *mask, *key_mask, *row_stats;
    vkf_test_operand *dbias; // (q_len, heads, masked keys)
    float *expected[VKF_TEST_KINDS], *expected_bias;
} vkf_test_grad_operands;

// batch, heads, key heads, queries, keys, widths of key and value; 0: default
#define VKF_TEST_GRAD_SIZES(b, h, kv, l, s, d, dv) \
    .batch = b, .heads = h, .kv_heads = kv, .q_len = l, .k_len = s, .dim = d, .v_dim = dv

// The case without defaults, which all below take.
vkf_test_grad_case vkf_test_grad_resolve(vkf_test_grad_case c);
// The operand of a kind.
uint32_t vkf_test_grad_heads(const vkf_test_grad_case *c, int kind);
uint32_t vkf_test_grad_width(const vkf_test_grad_case *c, int kind);
// Random operands, what the forward pass leaves, and what the gradients have to be. vkf_test_grad_finish() releases
// them, and resets the operands of `ops`.
vkf_test_grad_operands vkf_test_grad_make(vkf_test_ops *ops, const vkf_test_grad_case *c);
void vkf_test_grad_finish(vkf_test_ops *ops, const vkf_test_grad_operands *o);
vkf__attention_grad_args vkf_test_grad_args(const vkf_test_grad_case *c, const vkf_test_grad_operands *o);
// Runs attention, and leaves its results to the gradients.
void vkf_test_grad_attend(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o);
// Fails the test unless the gradients are as expected.
void vkf_test_grad_compare(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o);
// All of it, for a case that may have defaults.
void vkf_test_grad_check(vkf_test_ops *ops, vkf_test_grad_case c);

#endif
