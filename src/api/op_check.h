// What the entry points of operators have in common: their tensors may be empty, and their results are then.
#ifndef VKF_API_OP_CHECK_H
#define VKF_API_OP_CHECK_H

#include "api/check.h"
#include "kernel/work.h"

// Lets tensors without elements pass.
static inline vkf__checker vkf__operator_checker(vkf_context *context, const char *function)
{
    return (vkf__checker){.host = &context->host, .function = function, .context = context, .empty = true};
}

// The elements of a tensor, and the rows of one, which are all its dimensions but the last. Status TOO_LARGE for more
// than 2^32 - 1.
VKF_MUST_CHECK vkf_status vkf__check_elements(const vkf__checker *check, const vkf_tensor *tensor, uint32_t *out_count);
VKF_MUST_CHECK vkf_status vkf__check_rows(const vkf__checker *check, const vkf_tensor *tensor, uint32_t *out_rows);

// The dimension of a tensor that a caller counts from the front or, below 0, from the end: -1 is the last.
VKF_MUST_CHECK vkf_status vkf__check_dim(const vkf__checker *check, const vkf_tensor *tensor, int32_t dim,
                                         uint32_t *out_dim);

// Runs an operator whose arguments were checked. Nothing is run where `written`, what it writes, has no elements.
VKF_MUST_CHECK vkf_status vkf__run_operator(const vkf__checker *check, const vkf_tensor *written, const char *name,
                                            vkf__emit_fn emit, const void *args);

#endif
