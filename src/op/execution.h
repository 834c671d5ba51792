// What the scalar references of operators read and write.
//
// A reference does in double what the operator's shaders do: it reads the same parameter struct, specialisation
// constants and operands as they do, whose meaning shaders/shared/<operator>.h tells. It is clear rather than fast, and
// needs no device. Self-test and tests compare kernels with it.
#ifndef VKF_OP_EXECUTION_H
#define VKF_OP_EXECUTION_H

#include "op/op_info.h"

#define VKF_OP_MAX_PARAMS 48 // words of a parameter struct, at most

// An operand in host memory, stored as the device has it.
typedef struct vkf__host_operand {
    uint8_t *bytes; // NULL: absent
    uint64_t size_bytes;
    vkf_dtype dtype;
} vkf__host_operand;

// One dispatch, as its reference sees it.
struct vkf__execution {
    const vkf__kernel *kernel;
    const uint32_t *spec; // kernel->spec_count values, by id
    const void *params;   // of the kernel's operator
    const vkf__host *host;
    vkf__host_operand operands[VKF_KERNEL_MAX_OPERANDS]; // by binding - 1
};

// For references, by binding. What lies beyond an operand is read as NaN, and is not written. Of the types in blocks q8
// alone is read one by one, where rows of blocks follow each other.
double vkf__load(const vkf__execution *e, uint32_t binding, uint64_t index);
uint32_t vkf__load_word(const vkf__execution *e, uint32_t binding, uint64_t index); // of I32 and packed bytes; or 0
void vkf__store(const vkf__execution *e, uint32_t binding, uint64_t index, double value);
void vkf__store_word(const vkf__execution *e, uint32_t binding, uint64_t index, uint32_t word);

// Element `index` of what is stored from `bytes` on: also of rows of q8.
double vkf__value_at(vkf_dtype dtype, const uint8_t *bytes, uint64_t index);
// A stored element of a type that is not in blocks.
double vkf__element_value(vkf_dtype dtype, const uint8_t *at);
void vkf__element_set(vkf_dtype dtype, uint8_t *at, double value);

#endif
