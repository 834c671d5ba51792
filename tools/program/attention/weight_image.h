// Weights as an image inside a document: a PNG of one pixel for each, in a data: URI.
#ifndef VKF_PROGRAM_WEIGHT_IMAGE_H
#define VKF_PROGRAM_WEIGHT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// The darkest shade; a pixel is VKF_WEIGHT_SHADES * sqrt(weight), rounded, so that also the weights of many keys can be
// told from 0. One more stands for what is no weight: NaN, or not from 0 to 1.
#define VKF_WEIGHT_SHADES 254
#define VKF_WEIGHT_NONE 255

uint8_t vkf_weight_shade(float weight);

// Writes "data:image/png;base64,...": each shade is one colour, as opaque as the shade, over whatever is behind the image.
// False: memory is exhausted.
bool vkf_weight_image_write(FILE *out, const float *weights, uint32_t width, uint32_t height);

#endif
