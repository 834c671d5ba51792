// The epilogue of a matrix product: turns the sum of one element into d. Included after the declarations of p,
// d_load(), d_store(), bias_load(), activate() and the constants of shared/gemm.h.
#ifndef VKF_PRODUCT_STORE_GLSL
#define VKF_PRODUCT_STORE_GLSL

void store_element(uint at, uint col, float total)
{
    float value = p.alpha * total;
    if (ADD_AFTER == 0 && p.beta != 0.0)
        value += p.beta * d_load(at);
    if (HAS_BIAS != 0)
        value += bias_load(col);
    value = activate(ACTIVATION, value);
    if (ADD_AFTER != 0 && p.beta != 0.0)
        value += p.beta * d_load(at);
    d_store(at, value);
}

#endif
