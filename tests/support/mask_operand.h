// Masks of attention scores as operands, and how the reference reads them.
#ifndef VKF_TESTS_MASK_OPERAND_H
#define VKF_TESTS_MASK_OPERAND_H

#include "support/op_fixture.h"
#include "support/reference.h"

// What else becomes of scores; {0}: nothing.
typedef struct vkf_test_score_form {
    uint32_t window_right;
    float soft_cap;
    bool sloped, sunk;
    vkf_test_operand *slopes, *sinks; // (heads), which vkf_test_make_form() makes
} vkf_test_score_form;

// How tests go through them: none of them is of the first.
extern const vkf_test_score_form vkf_test_score_forms[];
#define VKF_TEST_SCORE_FORMS 8

// `kind`, or lengths where queries stand by these.
static inline vkf_mask_kind vkf_test_key_kind_of(vkf_causal causal, vkf_mask_kind kind)
{
    return causal == VKF_CAUSAL_LENGTHS ? VKF_MASK_LENGTHS : kind;
}

// Makes the operands of a form: slopes of either sign, and sinks, of which the last one has no weight.
void vkf_test_make_form(vkf_test_ops *ops, vkf_test_score_form *form, uint32_t heads);
// Gives it to the reference, beside a causal mask and a window.
void vkf_test_expect_form(const vkf_test_score_form *form, vkf_ref_softmax_desc *desc);

// A mask of a boolean kind or the additive one that masks about a third, and the first `masked` values surely.
vkf_test_operand *vkf_test_mask_operand(vkf_test_ops *ops, vkf_mask_kind kind, uint32_t masked, uint32_t rank,
                                        const uint32_t *shape);

// A key mask of any kind (NONE: NULL). Lengths are 0 to one beyond the keys. With mask_all every key of batch entry 0
// is masked.
vkf_test_operand *vkf_test_key_mask_operand(vkf_test_ops *ops, vkf_mask_kind kind, uint32_t batch, uint32_t keys,
                                            bool mask_all);

// Values, ids or bytes of an operand; NULL for NULL.
const void *vkf_test_content_of(const vkf_test_operand *operand);

// Stride of the dimension that stands `from_end` before the last; 0 where the operand (which may be NULL) broadcasts.
size_t vkf_test_broadcast_stride(const vkf_test_operand *operand, uint32_t from_end);

#endif
