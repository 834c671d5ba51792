// Packs random weights into blocks, and reads them back as the reference sees them.
#include "support/block_weight.h"

#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"

// Where the tensor begins in its buffer: no multiple of a binding's alignment, but of what blocks ask for.
#define UNALIGNED_OFFSET 48u
#define ALIGNED_OFFSET 256u
#define GUARD_AFTER 64u

static void integer_block(vkf_test_random *random, vkf_dtype dtype, uint8_t *block)
{
    block[0] = dtype == VKF_DTYPE_Q4 ? 3 : 0; // the zero
    block[1] = 0x3c;                          // a scale of 1
    uint8_t *pair = block + VKF_BLOCK_HEAD_BYTES;
    for (uint32_t i = 0; i < VKF_BLOCK; i++) {
        uint32_t value = vkf_test_random_below(random, 7);
        if (dtype == VKF_DTYPE_Q8)
            block[VKF_BLOCK_HEAD_BYTES + i] = (uint8_t)(vkf_test_random_below(random, 100) == 0 ? 0x80 : value - 3);
        else
            pair[i / 2] = (uint8_t)(i % 2 == 0 ? value : pair[i / 2] | value << 4);
    }
}

static uint8_t *random_blocks(vkf_test_random *random, vkf_dtype dtype, bool integers, size_t count)
{
    size_t bytes = vkf_dtype_block_bytes(dtype);
    uint8_t *blocks = malloc(count * bytes);
    assert_non_null(blocks);
    for (size_t i = 0; i < count; i++) {
        float values[VKF_BLOCK];
        vkf_test_fill_uniform(random, values, VKF_BLOCK, -1, 1);
        if (integers)
            integer_block(random, dtype, blocks + i * bytes);
        else
            vkf__blocks_from_f32(dtype, values, 1, blocks + i * bytes);
    }
    return blocks;
}

// The buffer's bytes; the caller frees them.
static uint8_t *guarded_panels(const vkf_tensor *tensor, const uint8_t *blocks, size_t size_bytes)
{
    const uint32_t n = tensor->shape[0], k = tensor->shape[1];
    const size_t row_bytes = k / VKF_BLOCK * vkf_dtype_block_bytes(tensor->dtype);
    uint8_t *bytes = malloc(size_bytes);
    assert_non_null(bytes);
    memset(bytes, 0xff, size_bytes);
    for (uint32_t first = 0; first < n; first += VKF_BLOCK_PANEL)
        vkf__blocks_to_panels(tensor->dtype, blocks + first * row_bytes,
                              n - first < VKF_BLOCK_PANEL ? n - first : VKF_BLOCK_PANEL, k,
                              bytes + tensor->offset_bytes + first * row_bytes);
    return bytes;
}

vkf_test_operand *vkf_test_block_weight(vkf_test_ops *ops, vkf_dtype dtype, bool integers, uint32_t n, uint32_t k)
{
    vkf_test_operand *operand = calloc(1, sizeof *operand);
    assert_true(operand && ops->operand_count < VKF_TEST_MAX_OPERANDS);
    ops->operands[ops->operand_count++] = operand;
    operand->tensor = (vkf_tensor){.dtype = dtype, .rank = 2, .shape = {n, k}, .layout = VKF_LAYOUT_PANELS};
    operand->tensor.offset_bytes = ops->aligned ? ALIGNED_OFFSET : UNALIGNED_OFFSET;
    operand->count = (size_t)n * k;
    operand->values = vkf_test_floats(operand->count);
    uint64_t panels_bytes = 0;
    assert_true(vkf_tensor_bytes(&operand->tensor, &panels_bytes));
    size_t size_bytes = (size_t)(operand->tensor.offset_bytes + panels_bytes + GUARD_AFTER);

    uint8_t *blocks = random_blocks(&ops->gpu.random, dtype, integers, operand->count / VKF_BLOCK);
    vkf__blocks_to_f32(dtype, blocks, operand->count / VKF_BLOCK, operand->values);
    uint8_t *bytes = guarded_panels(&operand->tensor, blocks, size_bytes);
    free(blocks);
    vkf_status status = vkf_buffer_create(ops->gpu.context, size_bytes, "blocks", &operand->tensor.buffer);
    if (status == VKF_OK)
        status = vkf_buffer_write(operand->tensor.buffer, 0, bytes, size_bytes);
    free(bytes);
    vkf_test_assert_ok(ops, status, "weight in blocks");
    return operand;
}
