// The table of precisions, and the parsers of their names.
#include "command/precision.h"

#include <stdio.h>
#include <string.h>

#include "command/options.h"

static const struct {
    const char *name;
    vkf_precision_types types;
} precisions[VKF_MODEL_PRECISION_COUNT] = {
    [VKF_MODEL_PRECISION_F32] = {"f32", {VKF_DTYPE_F32, VKF_DTYPE_F32}},
    [VKF_MODEL_PRECISION_F16_WEIGHTS] = {"f32/f16", {VKF_DTYPE_F32, VKF_DTYPE_F16}},
    [VKF_MODEL_PRECISION_BF16_WEIGHTS] = {"f32/bf16", {VKF_DTYPE_F32, VKF_DTYPE_BF16}},
    [VKF_MODEL_PRECISION_F16] = {"f16", {VKF_DTYPE_F16, VKF_DTYPE_F16}},
};

const char *vkf_name_of_precision(vkf_model_precision precision)
{
    return precisions[precision].name;
}

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

bool vkf_block_types_from_name(const char *text, size_t length, vkf_precision_types *out_types)
{
    static const vkf_precision_types known[] = {
        {VKF_DTYPE_F32, VKF_DTYPE_Q8},
        {VKF_DTYPE_F32, VKF_DTYPE_Q4},
        {VKF_DTYPE_F16, VKF_DTYPE_Q8},
        {VKF_DTYPE_F16, VKF_DTYPE_Q4},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%s/%s", vkf_dtype_name(known[i].activations),
                       vkf_dtype_name(known[i].weights));
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *out_types = known[i];
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

bool vkf_parse_model_precision(const char *option, const char *text, vkf_model_precision *out_precision)
{
    if (strcmp(text, "auto") == 0) {
        *out_precision = VKF_MODEL_PRECISION_AUTO;
        return true;
    }
    if (vkf_precision_from_name(text, strlen(text), out_precision))
        return true;
    vkf_print_error("%s: '%.200s' is not " VKF_MODEL_PRECISION_NAMES, option, text);
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
