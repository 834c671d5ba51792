// Weights as an image within a document: a PNG with one pixel for each weight, in a data: URI.
#ifndef VKF_PROGRAM_WEIGHT_IMAGE_H
#define VKF_PROGRAM_WEIGHT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// The darkest shade. A pixel is VKF_WEIGHT_SHADES * sqrt(weight), rounded, so that even weights spread over many keys
// differ from 0. One more shade stands for invalid weights: NaN, and anything outside 0 to 1.
#define VKF_WEIGHT_SHADES 254
#define VKF_WEIGHT_NONE 255

uint8_t vkf_weight_shade(float weight);

// Writes "data:image/png;base64,...". All shades have one colour. The darker a shade, the more opaque it is over what
// is behind the image. False: memory is exhausted.
bool vkf_weight_image_write(FILE *out, const float *weights, uint32_t width, uint32_t height);

#endif
