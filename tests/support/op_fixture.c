// Makes views amid guard values, and checks that the guards stand.
#include "support/op_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/elements.h"
#include "base/half.h"

// No multiple of a binding's alignment; f16 begins in the middle of a word, and bytes at an odd one. Blocks ask for 16
// bytes.
static size_t guard_before(vkf_dtype dtype)
{
    return vkf__is_blocks(dtype) ? 48 : 12 + vkf_dtype_size(dtype) % 4;
}

// Where every binding and four elements begin: kernels that ask for alignment take nothing else.
#define ALIGNED_GUARD 256u

#define GUARD_AFTER 12u

static int open_with(void **state, const char *const *masks, uint32_t mask_count)
{
    vkf_test_ops *ops = calloc(1, sizeof *ops);
    vkf_context_desc desc = {.masks = masks, .mask_count = mask_count};
    if (!ops)
        return -1;
    *state = ops;
    return vkf_test_gpu_open(&ops->gpu, &desc);
}

int vkf_test_ops_setup(void **state)
{
    return open_with(state, NULL, 0);
}

int vkf_test_ops_setup_packed(void **state)
{
    const char *const masks[] = {"storageBuffer16BitAccess"};
    return open_with(state, masks, 1);
}

int vkf_test_ops_teardown(void **state)
{
    vkf_test_ops_reset(*state);
    return vkf_test_gpu_teardown(state); // the vkf_test_gpu is the first member
}

int vkf_test_ops_clear(void **state)
{
    vkf_test_ops_reset(*state);
    return 0;
}

bool vkf_test_ops_open(vkf_test_ops *ops, const char *const *masks, uint32_t mask_count)
{
    vkf_context_desc desc = {.masks = masks, .mask_count = mask_count};
    memset(ops, 0, sizeof *ops);
    assert_int_equal(vkf_test_gpu_open(&ops->gpu, &desc), 0);
    return ops->gpu.context != NULL;
}

bool vkf_test_ops_open_variant(vkf_test_ops *ops, const char *variant)
{
    vkf_context_desc desc = {.variant = variant};
    memset(ops, 0, sizeof *ops);
    assert_int_equal(vkf_test_gpu_open(&ops->gpu, &desc), 0);
    return ops->gpu.context != NULL;
}

void vkf_test_ops_close(vkf_test_ops *ops)
{
    vkf_test_ops_reset(ops);
    vkf_context_destroy(&ops->gpu.context);
    vkf_test_assert_silent(&ops->gpu);
}

vkf_test_ops *vkf_test_ops_of(void **state)
{
    (void)vkf_test_gpu_of(state);
    return *state;
}

void vkf_test_ops_reset(vkf_test_ops *ops)
{
    for (size_t i = 0; i < ops->operand_count; i++) {
        vkf_test_operand *operand = ops->operands[i];
        vkf_tensor_destroy(&operand->tensor);
        free(operand->values);
        free(operand->ids);
        free(operand->bytes);
        free(operand);
    }
    ops->operand_count = 0;
}

float *vkf_test_floats(size_t count)
{
    float *values = calloc(count > 0 ? count : 1, sizeof *values);
    assert_non_null(values);
    return values;
}

static size_t size_of(const vkf_test_operand *operand)
{
    uint64_t bytes = 0;
    (void)vkf__bytes_of(operand->tensor.dtype, operand->count, &bytes);
    return (size_t)bytes;
}

static size_t guarded_size(const vkf_test_operand *operand)
{
    return ((size_t)operand->tensor.offset_bytes + size_of(operand) + GUARD_AFTER + 3) / 4 * 4;
}

static bool is_half(const vkf_test_operand *operand)
{
    return operand->tensor.dtype == VKF_DTYPE_F16 || operand->tensor.dtype == VKF_DTYPE_BF16;
}

// Bytes promise no alignment: 16-bit values go through memory of their own.
static void halves_to_values(vkf_test_operand *operand, const uint8_t *content)
{
    uint16_t *halves = malloc(operand->count * sizeof *halves);
    assert_non_null(halves);
    memcpy(halves, content, operand->count * sizeof *halves);
    for (size_t i = 0; i < operand->count; i++)
        operand->values[i] = operand->tensor.dtype == VKF_DTYPE_F16 ? vkf__float_from_half(halves[i])
                                                                    : vkf__float_from_bfloat(halves[i]);
    free(halves);
}

static void blocks_to_values(vkf_test_operand *operand, const uint8_t *content)
{
    vkf_blocks_to_f32(operand->tensor.dtype, content, operand->values, operand->count / VKF_BLOCK);
}

static void values_to_halves(const vkf_test_operand *operand, uint8_t *content)
{
    uint16_t *halves = malloc(operand->count * sizeof *halves);
    assert_non_null(halves);
    for (size_t i = 0; i < operand->count; i++)
        halves[i] = operand->tensor.dtype == VKF_DTYPE_F16 ? vkf__half_from_float(operand->values[i])
                                                           : vkf__bfloat_from_float(operand->values[i]);
    memcpy(content, halves, operand->count * sizeof *halves);
    free(halves);
}

// The operand's bytes between its guards; the caller frees them.
static uint8_t *guarded_bytes(const vkf_test_operand *operand, size_t *out_size)
{
    size_t size = size_of(operand);
    *out_size = guarded_size(operand);
    uint8_t *bytes = malloc(*out_size);
    assert_non_null(bytes);
    memset(bytes, 0xff, *out_size);
    uint8_t *content = bytes + (size_t)operand->tensor.offset_bytes;
    if (is_half(operand))
        values_to_halves(operand, content);
    else if (vkf__is_blocks(operand->tensor.dtype))
        vkf_f32_to_blocks(operand->tensor.dtype, operand->values, content, operand->count / VKF_BLOCK);
    else if (operand->tensor.dtype == VKF_DTYPE_F32)
        memcpy(content, operand->values, size);
    else if (operand->tensor.dtype == VKF_DTYPE_I32)
        memcpy(content, operand->ids, size);
    else
        memcpy(content, operand->bytes, size);
    return bytes;
}

void vkf_test_upload(vkf_test_ops *ops, vkf_test_operand *operand)
{
    size_t size = 0;
    uint8_t *bytes = guarded_bytes(operand, &size);
    vkf_status status = vkf_buffer_write(operand->tensor.buffer, 0, bytes, size);
    if (is_half(operand))
        halves_to_values(operand, bytes + operand->tensor.offset_bytes);
    else if (vkf__is_blocks(operand->tensor.dtype))
        blocks_to_values(operand, bytes + operand->tensor.offset_bytes);
    free(bytes);
    vkf_test_assert_ok(ops, status, "upload");
}

static bool guards_intact(const vkf_test_operand *operand, const uint8_t *bytes)
{
    size_t before = (size_t)operand->tensor.offset_bytes;
    for (size_t i = 0; i < guarded_size(operand); i++) {
        if ((i < before || i >= before + size_of(operand)) && bytes[i] != 0xff)
            return false;
    }
    return true;
}

void vkf_test_download(vkf_test_ops *ops, vkf_test_operand *operand)
{
    size_t content = size_of(operand), before = (size_t)operand->tensor.offset_bytes, size = guarded_size(operand);
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    vkf_status status = vkf_buffer_read(operand->tensor.buffer, 0, bytes, size);
    bool intact = status == VKF_OK && guards_intact(operand, bytes);
    if (is_half(operand))
        halves_to_values(operand, bytes + operand->tensor.offset_bytes);
    else if (vkf__is_blocks(operand->tensor.dtype))
        blocks_to_values(operand, bytes + before);
    else if (operand->tensor.dtype == VKF_DTYPE_F32)
        memcpy(operand->values, bytes + before, content);
    else if (operand->tensor.dtype == VKF_DTYPE_I32)
        memcpy(operand->ids, bytes + before, content);
    else
        memcpy(operand->bytes, bytes + before, content);
    free(bytes);
    vkf_test_assert_ok(ops, status, "download");
    if (!intact)
        fail_msg("memory beside the operand was written to");
}

static vkf_test_operand *make(vkf_test_ops *ops, vkf_dtype dtype, uint32_t rank, const uint32_t *shape)
{
    assert_true(ops->operand_count < VKF_TEST_MAX_OPERANDS);
    vkf_test_operand *operand = calloc(1, sizeof *operand);
    assert_non_null(operand);
    ops->operands[ops->operand_count++] = operand;
    operand->tensor =
        (vkf_tensor){.dtype = dtype, .rank = rank, .offset_bytes = ops->aligned ? ALIGNED_GUARD : guard_before(dtype)};
    memcpy(operand->tensor.shape, shape, rank * sizeof shape[0]);
    uint64_t count = 0;
    assert_true(vkf_tensor_count(&operand->tensor, &count));
    operand->count = (size_t)count;
    vkf_test_assert_ok(
        ops, vkf_buffer_create(ops->gpu.context, guarded_size(operand), "operand", &operand->tensor.buffer), "buffer");
    if (dtype == VKF_DTYPE_I32)
        assert_non_null(operand->ids = calloc(operand->count, sizeof *operand->ids));
    else if (vkf_dtype_size(dtype) == 1)
        assert_non_null(operand->bytes = calloc(operand->count, 1));
    else
        operand->values = vkf_test_floats(operand->count);
    return operand;
}

vkf_test_operand *vkf_test_uniform(vkf_test_ops *ops, vkf_dtype dtype, float low, float high, uint32_t rank,
                                   const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, dtype, rank, shape);
    vkf_test_fill_uniform(&ops->gpu.random, operand->values, operand->count, low, high);
    vkf_test_upload(ops, operand);
    return operand;
}

vkf_test_operand *vkf_test_normal(vkf_test_ops *ops, vkf_dtype dtype, float mean, float deviation, uint32_t rank,
                                  const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, dtype, rank, shape);
    vkf_test_fill_normal(&ops->gpu.random, operand->values, operand->count, mean, deviation);
    vkf_test_upload(ops, operand);
    return operand;
}

vkf_test_operand *vkf_test_integers(vkf_test_ops *ops, vkf_dtype dtype, int32_t low, int32_t high, uint32_t rank,
                                    const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, dtype, rank, shape);
    vkf_test_fill_integers(&ops->gpu.random, operand->values, operand->count, low, high);
    vkf_test_upload(ops, operand);
    return operand;
}

vkf_test_operand *vkf_test_constant(vkf_test_ops *ops, vkf_dtype dtype, float value, uint32_t rank,
                                    const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, dtype, rank, shape);
    for (size_t i = 0; i < operand->count; i++)
        operand->values[i] = value;
    vkf_test_upload(ops, operand);
    return operand;
}

vkf_test_operand *vkf_test_values(vkf_test_ops *ops, vkf_dtype dtype, const float *values, uint32_t rank,
                                  const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, dtype, rank, shape);
    memcpy(operand->values, values, operand->count * sizeof *values);
    vkf_test_upload(ops, operand);
    return operand;
}

vkf_test_operand *vkf_test_bytes(vkf_test_ops *ops, vkf_dtype dtype, uint32_t rank, const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, dtype, rank, shape);
    for (size_t i = 0; i < operand->count; i++)
        operand->bytes[i] = (uint8_t)vkf_test_random_u64(&ops->gpu.random);
    vkf_test_upload(ops, operand);
    return operand;
}

vkf_test_operand *vkf_test_bools(vkf_test_ops *ops, double probability, uint32_t rank, const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, VKF_DTYPE_BOOL, rank, shape);
    vkf_test_fill_bools(&ops->gpu.random, operand->bytes, operand->count, probability);
    vkf_test_upload(ops, operand);
    return operand;
}

vkf_test_operand *vkf_test_ids(vkf_test_ops *ops, const int32_t *ids, uint32_t rank, const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, VKF_DTYPE_I32, rank, shape);
    memcpy(operand->ids, ids, operand->count * sizeof *ids);
    vkf_test_upload(ops, operand);
    return operand;
}

static void set_untouched(vkf_test_operand *output, size_t i)
{
    if (output->values)
        output->values[i] = VKF_TEST_UNTOUCHED;
    else if (output->ids)
        output->ids[i] = (int32_t)VKF_TEST_UNTOUCHED;
    else
        output->bytes[i] = (uint8_t)(int8_t)VKF_TEST_UNTOUCHED;
}

static double value_of(const vkf_test_operand *output, size_t i)
{
    return output->values ? (double)output->values[i] : output->ids ? output->ids[i] : (int8_t)output->bytes[i];
}

vkf_test_operand *vkf_test_output(vkf_test_ops *ops, vkf_dtype dtype, uint32_t rank, const uint32_t *shape)
{
    vkf_test_operand *operand = make(ops, dtype, rank, shape);
    for (size_t i = 0; i < operand->count; i++)
        set_untouched(operand, i);
    vkf_test_upload(ops, operand);
    return operand;
}

void vkf_test_assert_untouched(vkf_test_ops *ops, vkf_test_operand *output)
{
    vkf_test_download(ops, output);
    for (size_t i = 0; i < output->count; i++) {
        if (value_of(output, i) != (double)VKF_TEST_UNTOUCHED)
            fail_msg("element %zu of the output is %g after a call that failed", i, value_of(output, i));
    }
}

void vkf_test_assert_refused(vkf_test_ops *ops, vkf_status status, vkf_status expected, const char *what)
{
    if (status != expected)
        fail_msg("%s: %s instead of %s", what, vkf_status_name(status), vkf_status_name(expected));
    if (ops->gpu.last_error[0] == '\0')
        fail_msg("%s: %s without a message", what, vkf_status_name(status));
    ops->gpu.last_error[0] = '\0';
}

void vkf_test_assert_ok(vkf_test_ops *ops, vkf_status status, const char *what)
{
    if (status != VKF_OK)
        fail_msg("%s: %s: %s", what, vkf_status_name(status), ops->gpu.last_error);
}

void vkf_test_plant_into(const vkf_test_plant *plant, void *object)
{
    const uint8_t byte = (uint8_t)plant->value;
    const uint32_t word = (uint32_t)plant->value;
    const void *value = plant->size == 1   ? (const void *)&byte
                        : plant->size == 4 ? (const void *)&word
                                           : (const void *)&plant->value;
    assert_true(plant->size == 1 || plant->size == 4 || plant->size == 8);
    memcpy((uint8_t *)object + plant->offset, value, plant->size);
}
