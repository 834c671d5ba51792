// Checks the descriptor of a model before anything is opened.
#include "io/source_file.h"
#include "model/load/model.h"

#include "base/missing_part.h"
#include "base/sized.h"

// The room for later versions in a caller's configuration, and in the structs that lie in it.
static vkf_status check_reserved(const vkf__host *host, const vkf_model_config *c, const char *function)
{
    const struct {
        const char *name;
        const uint32_t *words;
        size_t bytes;
    } rooms[] = {
        {"vkf_model_config", c->reserved, sizeof c->reserved},
        {"vkf_rotary_config", c->rotary.reserved, sizeof c->rotary.reserved},
        {"vkf_rotary_config", c->window_rotary.reserved, sizeof c->window_rotary.reserved},
        {"vkf_generation_defaults", c->generation.reserved, sizeof c->generation.reserved},
        {"vkf_sampling", c->generation.sampling.reserved, sizeof c->generation.sampling.reserved},
        {"vkf_beam_search", c->generation.beams.reserved, sizeof c->generation.beams.reserved},
    };
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++)
        VKF_RETURN_IF_ERROR(vkf__check_reserved(host, function, rooms[i].name, rooms[i].words, rooms[i].bytes));
    for (uint32_t i = 0; i < VKF_MAX_EMBEDDING_MODULES; i++) {
        const vkf_embedding_module *module = &c->embedding_modules[i];
        VKF_RETURN_IF_ERROR(
            vkf__check_reserved(host, function, "vkf_embedding_module", module->reserved, sizeof module->reserved));
    }
    return VKF_OK;
}

static vkf_status check_trainable(const vkf__host *host, const vkf_model_desc *desc, const char *function)
{
#ifdef VKF_HAS_TRAIN
    if (desc->precision > VKF_MODEL_PRECISION_F32 || desc->quantization != VKF_QUANTIZATION_NONE)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: weights that are trained are kept in f32: leave the precision F32 or AUTO, and the "
                         "quantization NONE",
                         function);
    if (desc->adapter_directory)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: weights that are trained are those of the model's files: write the merged model first, "
                         "with vkformer quantize --type same --adapter",
                         function);
    return VKF_OK;
#else
    (void)desc;
    return vkf__missing_part(host, function, "train");
#endif
}

static vkf_status check_part(const vkf__host *host, const vkf_model_desc *desc, const char *function)
{
    const vkf_layer_part *part = desc->part;
    if (desc->trainable)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: a part of a model is not trained", function);
    return vkf__check_reserved(host, function, "vkf_layer_part", part->reserved, sizeof part->reserved);
}

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
    if (desc->config)
        VKF_RETURN_IF_ERROR(check_reserved(host, desc->config, function));
    if (desc->part)
        VKF_RETURN_IF_ERROR(check_part(host, desc, function));
    if (desc->trainable)
        VKF_RETURN_IF_ERROR(check_trainable(host, desc, function));
    return vkf__source_check(host, desc->files, function);
}
