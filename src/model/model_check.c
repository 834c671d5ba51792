// Checks the descriptor of a model before anything is opened.
#include "io/source_file.h"
#include "model/model.h"

vkf_status vkf__model_check(const vkf_context *context, const vkf_model_desc *desc, const char *function)
{
    const vkf__host *host = &context->host;
    bool by_directory = desc->directory != NULL;
    bool by_config = desc->config != NULL && desc->weights_path != NULL;
    if (by_directory == by_config || (by_directory && (desc->config || desc->weights_path)))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: give either a directory, or a config with a weights_path", function);
    if (desc->precision != VKF_MODEL_PRECISION_AUTO && (unsigned)desc->precision >= (unsigned)VKF_MODEL_PRECISION_COUNT)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown precision %d", function, (int)desc->precision);
    if ((unsigned)desc->quantization >= (unsigned)VKF_QUANTIZATION_COUNT)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: unknown quantization %d", function,
                         (int)desc->quantization);
    return vkf__source_check(host, desc->files, function);
}
