// Conversions between float32 and the 16-bit floating point storage types, on the host.
#ifndef VKF_BASE_HALF_H
#define VKF_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

// To 16 bits: rounds to nearest, ties to even, also into the subnormals. Overflow becomes infinity. NaN stays NaN, made
// quiet, and keeps its sign. From 16 bits: exact.
uint16_t vkf__half_from_float(float value);
float vkf__float_from_half(uint16_t half);
uint16_t vkf__bfloat_from_float(float value);
float vkf__float_from_bfloat(uint16_t bfloat);

// These round once, where going through the nearest float32 would round twice.
uint16_t vkf__half_from_double(double value);
uint16_t vkf__bfloat_from_double(double value);

#endif
