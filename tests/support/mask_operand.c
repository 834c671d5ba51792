// Makes random masks of each kind.
#include "support/mask_operand.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_BATCH 8u

// What programs fill masks with in place of -inf. It masks nothing by itself: rows of it alone are rows like others.
static const float LOW[] = {-FLT_MAX, -1.7014118e38f, -1e30f};
enum { LOWS = sizeof LOW / sizeof LOW[0] };

// Every third element is -inf or low, and every fourth row is of one low number.
static vkf_test_operand *additive_mask(vkf_test_ops *ops, uint32_t masked, uint32_t rank, const uint32_t *shape)
{
    vkf_test_operand *mask = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 2, rank, shape);
    for (size_t i = 0; i < mask->count; i++) {
        const size_t row = i / shape[rank - 1];
        if (i < masked || i % 6 == 1)
            mask->values[i] = -INFINITY;
        else if (row % 4 == 2 || i % 6 == 4)
            mask->values[i] = LOW[(row % 4 == 2 ? row / 4 : i / 6) % LOWS];
    }
    vkf_test_upload(ops, mask);
    return mask;
}

vkf_test_operand *vkf_test_mask_operand(vkf_test_ops *ops, vkf_mask_kind kind, uint32_t masked, uint32_t rank,
                                        const uint32_t *shape)
{
    if (kind == VKF_MASK_ADDITIVE)
        return additive_mask(ops, masked, rank, shape);
    bool exclude = kind == VKF_MASK_BOOL_EXCLUDE;
    vkf_test_operand *mask = vkf_test_bools(ops, exclude ? 0.3 : 0.7, rank, shape);
    memset(mask->bytes, exclude, masked);
    vkf_test_upload(ops, mask);
    return mask;
}

vkf_test_operand *vkf_test_key_mask_operand(vkf_test_ops *ops, vkf_mask_kind kind, uint32_t batch, uint32_t keys,
                                            bool mask_all)
{
    if (kind == VKF_MASK_NONE)
        return NULL;
    if (kind != VKF_MASK_LENGTHS)
        return vkf_test_mask_operand(ops, kind, mask_all ? keys : 0, SHAPE(batch, keys));
    int32_t lengths[MAX_BATCH];
    assert_true(batch <= MAX_BATCH);
    vkf_test_fill_ids(&ops->gpu.random, lengths, batch, keys + 2);
    if (mask_all)
        lengths[0] = batch > 1 && keys % 2 ? -3 : 0;
    return vkf_test_ids(ops, lengths, SHAPE(batch));
}

const void *vkf_test_content_of(const vkf_test_operand *operand)
{
    if (!operand)
        return NULL;
    return operand->bytes ? (const void *)operand->bytes
           : operand->ids ? (const void *)operand->ids
                          : (const void *)operand->values;
}

size_t vkf_test_broadcast_stride(const vkf_test_operand *operand, uint32_t from_end)
{
    size_t stride = 1;
    if (!operand)
        return 0;
    const vkf_tensor *tensor = &operand->tensor;
    if (from_end >= tensor->rank || tensor->shape[tensor->rank - 1 - from_end] == 1)
        return 0;
    for (uint32_t i = tensor->rank - from_end; i < tensor->rank; i++)
        stride *= tensor->shape[i];
    return stride;
}

const vkf_test_score_form vkf_test_score_forms[VKF_TEST_SCORE_FORMS] = {
    {0},
    {.soft_cap = 1.5f},
    {.sloped = true},
    {.sunk = true},
    {.window_right = 2},
    {.window_right = 3, .soft_cap = 30, .sloped = true},
    {.window_right = UINT32_MAX, .sunk = true},
    {.soft_cap = 0.25f, .sloped = true, .sunk = true},
};

void vkf_test_make_form(vkf_test_ops *ops, vkf_test_score_form *form, uint32_t heads)
{
    if (form->sloped)
        form->slopes = vkf_test_normal(ops, VKF_DTYPE_F32, 0.25, 0.5, SHAPE(heads));
    if (!form->sunk)
        return;
    form->sinks = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 2, SHAPE(heads));
    form->sinks->values[heads - 1] = -INFINITY;
    vkf_test_upload(ops, form->sinks);
}

void vkf_test_expect_form(const vkf_test_score_form *form, vkf_ref_softmax_desc *desc)
{
    desc->causal = desc->causal || desc->window > 0 || form->window_right > 0;
    desc->right = form->window_right;
    desc->soft_cap = form->soft_cap;
    desc->slopes = form->sloped ? form->slopes->values : NULL;
    desc->sinks = form->sunk ? form->sinks->values : NULL;
}
