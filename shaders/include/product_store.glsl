// The epilogue of a matrix product: turns the sum of one element into d. Included after the declarations of p,
// d_load(), d_store(), bias_load() and activate(), and of the constants ACTIVATION, HAS_BIAS and ADD_AFTER.
#ifndef VKF_PRODUCT_STORE_GLSL
#define VKF_PRODUCT_STORE_GLSL

// An element of d from its sum, from what d holds, and from its column's bias; those that are not asked for are 0.
float finished(float total, float held, float bias)
{
    float value = p.alpha * total;
    if (ADD_AFTER == 0)
        value += p.beta * held;
    if (HAS_BIAS != 0)
        value += bias;
    value = activate(ACTIVATION, value);
    if (ADD_AFTER != 0)
        value += p.beta * held;
    return value;
}

void store_element(uint at, uint col, float total)
{
    float held = p.beta != 0.0 ? d_load(at) : 0.0;
    float bias = HAS_BIAS != 0 ? bias_load(col) : 0.0;
    d_store(at, finished(total, held, bias));
}

#endif
