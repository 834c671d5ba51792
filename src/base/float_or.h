// Floats of descriptors in which 0 stands for a default.
#ifndef VKF_BASE_FLOAT_OR_H
#define VKF_BASE_FLOAT_OR_H

#include <math.h>

// `given`, or `otherwise` where that is 0. VKF_ZERO, a negative zero, is as good as any other number.
static inline double vkf__double_or(double given, double otherwise)
{
    return given != 0.0 || signbit(given) ? given : otherwise;
}

static inline float vkf__float_or(float given, float otherwise)
{
    return given != 0.0f || signbit(given) ? given : otherwise;
}

#endif
