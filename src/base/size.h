// Checked size arithmetic: every size that comes from a caller or a file goes through these.
#ifndef VKF_BASE_SIZE_H
#define VKF_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// False on overflow; then *out is untouched.
bool vkf__mul_u64(uint64_t a, uint64_t b, uint64_t *out);
bool vkf__add_u64(uint64_t a, uint64_t b, uint64_t *out);
bool vkf__mul_size(size_t a, size_t b, size_t *out);

// The product of `count` factors, 1 for none; false on overflow. A factor of 0 does not excuse the others: their
// product must fit too, so that the product of any part of an accepted shape fits.
bool vkf__product_u64(const uint64_t *factors, size_t count, uint64_t *out);

// Rounds up to a multiple; `multiple` > 0 and the result must fit.
uint64_t vkf__align_u64(uint64_t value, uint64_t multiple);
// The quotient rounded up; `divisor` > 0.
uint32_t vkf__div_up_u32(uint32_t value, uint32_t divisor);

// 0 is none.
bool vkf__is_power_of_two_u64(uint64_t value);

#endif
