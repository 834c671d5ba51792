// Rounds activations to blocks of signed bytes, for products with weights in blocks. shared/quantize_rows.h says how
// they are laid out.
#ifndef VKF_OP_QUANTIZE_ROWS_H
#define VKF_OP_QUANTIZE_ROWS_H

#include "op/gemm.h"

// The 32-bit words that `count` elements take in blocks.
uint64_t vkf__quantized_words(uint64_t count);

// Makes the words of a block from its scale and elements, as a device does for a weight of this type.
void vkf__quantized_block(vkf_dtype weight, float scale, const int8_t q[32], uint32_t out_words[12]);

typedef struct vkf__quantize_rows_args {
    const char *label;
    vkf__span x;      // (batch, m, k), or (batch, m, 2 k) with a gate, f32 or f16; k is a multiple of 32
    vkf__span out;    // I32, the rows one after another: vkf__quantized_words(batch * m * k)
    vkf_dtype weight; // what the rows are multiplied by: VKF_DTYPE_Q8 or VKF_DTYPE_Q4
    uint32_t m, k;
    uint32_t batch;            // 0 or m == 0 skips it in this run
    uint32_t batch_inner;      // 0: 1
    uint32_t ld, outer, inner; // strides in elements; batch entry e is (e / batch_inner, e % batch_inner)
    uint64_t first;
    vkf__input_norm norm; // of each row, before it is rounded
    vkf__input_gate gate; // the same; not with a norm
} vkf__quantize_rows_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_quantize_rows(vkf__work *work, const vkf__quantize_rows_args *args);

#endif
