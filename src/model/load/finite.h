// NaN and infinity among numbers that are on the host.
#ifndef VKF_MODEL_FINITE_H
#define VKF_MODEL_FINITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <vkformer/tensor.h>

bool vkf__all_finite(const float *values, size_t count);

// The first of these elements (F32, F16 or BF16) that is NaN or infinite; `count` when none is.
uint64_t vkf__first_not_finite(vkf_dtype dtype, const void *values, uint64_t count);

#endif
