// The precisions of models, as options name them.
#ifndef VKF_PROGRAM_PRECISION_H
#define VKF_PROGRAM_PRECISION_H

#include <stdbool.h>
#include <stddef.h>

#include <vkformer/vkformer.h>

// The type of activations and, after a slash, that of parameters where it differs.
#define VKF_PRECISION_NAMES "f32, f16, f32/f16 or f32/bf16"
#define VKF_MODEL_PRECISION_NAMES "auto, " VKF_PRECISION_NAMES

typedef struct vkf_precision_types {
    vkf_dtype activations;
    vkf_dtype weights; // of all parameters
} vkf_precision_types;

const char *vkf_name_of_precision(vkf_model_precision precision); // "f32/f16"
vkf_precision_types vkf_types_of_precision(vkf_model_precision precision);
// False when no precision has these types.
bool vkf_precision_from_types(vkf_dtype activations, vkf_dtype weights, vkf_model_precision *out_precision);
// The name is the first `length` bytes of `text`; false when no precision has it.
bool vkf_precision_from_name(const char *text, size_t length, vkf_model_precision *out_precision);

// The same for single products, whose weight may be in blocks: f32/q8 and the like.
#define VKF_BLOCK_TYPES_NAMES "f32/q8, f32/q4, f16/q8 or f16/q4"
bool vkf_block_types_from_name(const char *text, size_t length, vkf_precision_types *out_types);

// Strict parsers of an option's value, see options.h.
bool vkf_parse_precision(const char *option, const char *text, vkf_model_precision *out_precision);
// The same for models, whose file and device may decide.
bool vkf_parse_model_precision(const char *option, const char *text, vkf_model_precision *out_precision);
bool vkf_parse_quantization(const char *option, const char *text, vkf_quantization *out_quantization);

#endif
