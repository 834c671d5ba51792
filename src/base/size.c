// Size arithmetic that reports overflow.
#include "base/size.h"

#include <assert.h>

bool vkf__mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a != 0 && b > UINT64_MAX / a)
        return false;
    *out = a * b;
    return true;
}

bool vkf__add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b > UINT64_MAX - a)
        return false;
    *out = a + b;
    return true;
}

bool vkf__mul_size(size_t a, size_t b, size_t *out)
{
    if (a != 0 && b > SIZE_MAX / a)
        return false;
    *out = a * b;
    return true;
}

bool vkf__product_u64(const uint64_t *factors, size_t count, uint64_t *out)
{
    uint64_t product = 1; // of the factors that are not 0
    bool zero = false;
    for (size_t i = 0; i < count; i++) {
        if (factors[i] == 0)
            zero = true;
        else if (!vkf__mul_u64(product, factors[i], &product))
            return false;
    }
    *out = zero ? 0 : product;
    return true;
}

uint64_t vkf__align_u64(uint64_t value, uint64_t multiple)
{
    assert(multiple > 0);
    uint64_t excess = value % multiple;
    if (excess == 0)
        return value;
    assert(value <= UINT64_MAX - (multiple - excess));
    return value + (multiple - excess);
}

uint32_t vkf__div_up_u32(uint32_t value, uint32_t divisor)
{
    assert(divisor > 0);
    return value / divisor + (value % divisor != 0);
}

bool vkf__is_power_of_two_u64(uint64_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}
