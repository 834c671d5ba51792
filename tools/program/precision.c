#include "precision.h"

#include <string.h>

#include "options.h"

static const struct {
    const char *name;
    vkf_precision_types types;
} precisions[VKF_MODEL_PRECISION_COUNT] = {
    [VKF_MODEL_PRECISION_F32] = {"f32", {VKF_DTYPE_F32, VKF_DTYPE_F32}},
    [VKF_MODEL_PRECISION_F16_WEIGHTS] = {"f32/f16", {VKF_DTYPE_F32, VKF_DTYPE_F16}},
    [VKF_MODEL_PRECISION_BF16_WEIGHTS] = {"f32/bf16", {VKF_DTYPE_F32, VKF_DTYPE_BF16}},
    [VKF_MODEL_PRECISION_F16] = {"f16", {VKF_DTYPE_F16, VKF_DTYPE_F16}},
};

vkf_precision_types vkf_types_of_precision(vkf_model_precision precision)
{
    return precisions[precision].types;
}

bool vkf_precision_from_types(vkf_dtype activations, vkf_dtype weights, vkf_model_precision *out_precision)
{
    for (unsigned i = 0; i < VKF_MODEL_PRECISION_COUNT; i++) {
        if (precisions[i].types.activations == activations && precisions[i].types.weights == weights) {
            *out_precision = (vkf_model_precision)i;
            return true;
        }
    }
    return false;
}

bool vkf_precision_from_name(const char *text, size_t length, vkf_model_precision *out_precision)
{
    for (unsigned i = 0; i < VKF_MODEL_PRECISION_COUNT; i++) {
        if (strlen(precisions[i].name) == length && memcmp(precisions[i].name, text, length) == 0) {
            *out_precision = (vkf_model_precision)i;
            return true;
        }
    }
    return false;
}

bool vkf_parse_precision(const char *option, const char *text, vkf_model_precision *out_precision)
{
    if (vkf_precision_from_name(text, strlen(text), out_precision))
        return true;
    vkf_print_error("%s: '%.200s' is not " VKF_PRECISION_NAMES, option, text);
    return false;
}

bool vkf_parse_quantization(const char *option, const char *text, vkf_quantization *out_quantization)
{
    if (strcmp(text, "q8") == 0)
        *out_quantization = VKF_QUANTIZATION_Q8;
    else if (strcmp(text, "q4") == 0)
        *out_quantization = VKF_QUANTIZATION_Q4;
    else
        vkf_print_error("%s: '%.200s' is not q8 or q4", option, text);
    return strcmp(text, "q8") == 0 || strcmp(text, "q4") == 0;
}
