// Descriptors with one thing wrong.
#include "support/refusals.h"

#include <stdio.h>
#include <string.h>

// Ways to make a tensor wrong that hold for every operand.
static void no_buffer(vkf_tensor *tensor)
{
    tensor->buffer = NULL;
}

static void rank_5(vkf_tensor *tensor)
{
    tensor->rank = 5;
}

static void huge_rank(vkf_tensor *tensor)
{
    tensor->rank = UINT32_MAX;
}

static void no_dtype(vkf_tensor *tensor)
{
    tensor->dtype = (vkf_dtype)99;
}

static void boolean(vkf_tensor *tensor)
{
    tensor->dtype = tensor->dtype == VKF_DTYPE_BOOL ? VKF_DTYPE_F32 : VKF_DTYPE_BOOL;
}

static void empty(vkf_tensor *tensor)
{
    tensor->shape[0] = 0;
}

static void one_more(vkf_tensor *tensor)
{
    tensor->shape[tensor->rank - 1]++;
}

static void one_rank_more(vkf_tensor *tensor)
{
    tensor->rank++;
    if (tensor->rank <= VKF_MAX_RANK)
        tensor->shape[tensor->rank - 1] = 1;
}

static void huge(vkf_tensor *tensor)
{
    for (uint32_t i = 0; i < tensor->rank; i++)
        tensor->shape[i] = UINT32_MAX;
}

static void huge_row(vkf_tensor *tensor)
{
    tensor->shape[tensor->rank - 1] = UINT32_MAX;
}

// Between two elements; a byte may stand anywhere, so that it gets another flaw.
static void odd_offset(vkf_tensor *tensor)
{
    size_t size = vkf_dtype_size(tensor->dtype);
    if (size > 1)
        tensor->offset_bytes -= size / 2;
    else
        tensor->rank = 0;
}

static void offset_beyond(vkf_tensor *tensor)
{
    tensor->offset_bytes = vkf_buffer_get_size(tensor->buffer) + 4;
}

static void huge_offset(vkf_tensor *tensor)
{
    tensor->offset_bytes = UINT64_MAX - 3;
}

static void past_the_end(vkf_tensor *tensor)
{
    tensor->offset_bytes += 400;
}

const vkf_test_flaw vkf_test_flaws[VKF_TEST_FLAWS] = {
    {"no buffer", no_buffer, false},     {"rank 5", rank_5, false},
    {"rank 2^32 - 1", huge_rank, false}, {"unknown dtype", no_dtype, false},
    {"wrong dtype", boolean, false},     {"a dimension of 0", empty, false},
    {"a column more", one_more, false},  {"a rank more", one_rank_more, true},
    {"huge shape", huge, false},         {"huge row", huge_row, false},
    {"odd offset", odd_offset, false},   {"offset beyond the buffer", offset_beyond, false},
    {"huge offset", huge_offset, false}, {"past the buffer's end", past_the_end, false},
};

// Every input in turn is moved into the output's buffer, one element before the output. (Where it does not fit there
// it is refused for that.)
static void refuse_overlaps(vkf_test_ops *ops, const vkf_test_operator *op)
{
    const vkf_tensor *out = &op->out->tensor;
    for (size_t t = 0; t < COUNT_OF(op->tensors) && op->tensors[t]; t++) {
        const vkf_tensor correct = *op->tensors[t];
        op->tensors[t]->buffer = out->buffer;
        op->tensors[t]->offset_bytes = out->offset_bytes - 4;
        if (correct.buffer != out->buffer)
            vkf_test_assert_refused(ops, op->call(ops->gpu.context, op->desc), VKF_ERROR_INVALID_ARGUMENT,
                                    op->tensor_names[t]);
        *op->tensors[t] = correct;
    }
}

void vkf_test_refuse_flaws(vkf_test_ops *ops, const vkf_test_operator *op)
{
    vkf_test_assert_ok(ops, op->call(ops->gpu.context, op->desc), op->name);
    vkf_test_operand *out = op->out;
    for (size_t i = 0; i < out->count; i++) {
        if (out->ids)
            out->ids[i] = (int32_t)VKF_TEST_UNTOUCHED;
        else
            out->values[i] = VKF_TEST_UNTOUCHED;
    }
    vkf_test_upload(ops, out);
    for (size_t t = 0; t < COUNT_OF(op->tensors) && op->tensors[t]; t++) {
        for (size_t f = 0; f < VKF_TEST_FLAWS; f++) {
            char what[128];
            const vkf_tensor correct = *op->tensors[t];
            (void)snprintf(what, sizeof what, "%s: %s: %s", op->name, op->tensor_names[t], vkf_test_flaws[f].name);
            vkf_test_flaws[f].plant(op->tensors[t]);
            vkf_test_assert_refused(ops, op->call(ops->gpu.context, op->desc), VKF_ERROR_INVALID_ARGUMENT, what);
            *op->tensors[t] = correct;
        }
    }
    refuse_overlaps(ops, op);
    vkf_test_assert_untouched(ops, out);
    assert_int_equal(op->call(NULL, op->desc), VKF_ERROR_INVALID_ARGUMENT);
}

void vkf_test_refuse(vkf_test_ops *ops, const vkf_test_operator *op, const char *what)
{
    vkf_test_assert_refused(ops, op->call(ops->gpu.context, op->desc), VKF_ERROR_INVALID_ARGUMENT, what);
    vkf_test_assert_untouched(ops, op->out);
}

void vkf_test_refuse_plants(vkf_test_ops *ops, const vkf_test_operator *op, const void *correct, size_t size,
                            const vkf_test_plant *plants, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(op->desc, correct, size);
        vkf_test_plant_into(&plants[i], op->desc);
        vkf_test_refuse(ops, op, plants[i].field);
    }
}
