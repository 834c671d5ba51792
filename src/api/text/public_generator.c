// Public entry points of generators.
#include "model/text/generator.h"

#include "api/models/session_check.h"
#include "base/sized.h"

#define DEFAULT_CONTEXT 2048u

static vkf_status create_sessions(vkf_generator *generator, uint32_t count)
{
    VKF_ALLOC_OR_RETURN(&generator->context->host, generator->sessions, count);
    for (; generator->session_count < count; generator->session_count++)
        VKF_RETURN_IF_ERROR(vkf_session_create(generator->text.model, &generator->session,
                                               &generator->sessions[generator->session_count]));
    return VKF_OK;
}

static vkf_status load(vkf_generator *generator, const vkf_generator_desc *desc)
{
    const vkf__host *host = &generator->context->host;
    const vkf_model_desc model = {
        .directory = desc->directory,
        .files = desc->files,
        .precision = desc->precision,
        .quantization = desc->quantization,
        .adapter_directory = desc->adapter_directory,
        .progress = desc->progress,
        .progress_user = desc->progress_user,
    };
    VKF_RETURN_IF_ERROR(vkf__text_model_load(generator->context, &model, desc->model, &generator->text));
    const vkf_model_config *config = &generator->text.model->config;
    if (!vkf__facts_of(config)->generates)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "%s: the model has no decoder, it generates no text",
                         vkf__text_model_directory(&model, desc->model));
    uint32_t usual = config->max_target_len < DEFAULT_CONTEXT ? config->max_target_len : DEFAULT_CONTEXT;
    if (vkf__facts_of(config)->encodes && config->max_source_len < usual)
        usual = config->max_source_len;
    // What the cache of a part holds depends on which texts were before, and the parts must agree.
    generator->whole_prompts = desc->whole_prompts || generator->text.model->part.count > 0;
    generator->max_batch = desc->max_batch > 0 ? desc->max_batch : 1;
    generator->max_context = desc->max_context > 0 ? desc->max_context : usual;
    return VKF_OK;
}

vkf_status vkf_generator_load_sized(vkf_context *context, const vkf_generator_desc *desc, size_t desc_bytes,
                                    vkf_generator **out_generator)
{
    if (!context || !desc || !out_generator)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_generator_load");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_generator_load", vkf_generator_desc, desc, desc_bytes);
    if (!desc->directory && !desc->model)
        return vkf__null_argument(__func__);
    vkf_generator *generator = NULL;
    VKF_ALLOC(&context->host, generator, 1);
    vkf__context_hold(context, VKF_MADE_GENERATOR);
    generator->context = context;
    VKF_TRY(load(generator, desc));
    generator->session = (vkf_session_desc){
        .max_batch = generator->max_batch,
        .max_source_len = generator->max_context,
        .max_target_len = generator->max_context,
        .max_prompt_len = desc->max_prompt_len,
        .max_beams = desc->max_beams,
        .cache_dtype = desc->cache_dtype,
    };
    VKF_TRY(create_sessions(generator, desc->batches > 0 ? desc->batches : 1));
    *out_generator = generator;
    return VKF_OK;
fail:
    vkf_generator_destroy(&generator);
    return status;
}

void vkf_generator_destroy(vkf_generator **generator)
{
    if (!generator || !*generator)
        return;
    vkf_generator *g = *generator;
    vkf_context *context = g->context;
    *generator = NULL;
    if (vkf__context_is_inherited(context))
        return;
    for (uint32_t i = 0; i < g->session_count; i++)
        vkf_session_destroy(&g->sessions[i]);
    vkf__free(&context->host, g->sessions);
    vkf__text_model_free(&g->text);
    vkf__free(&context->host, g);
    vkf__context_drop(context, VKF_MADE_GENERATOR);
}

void vkf_generator_get_config(const vkf_generator *generator, vkf_model_config *out_config)
{
    if (generator && out_config)
        *out_config = generator->text.model->config;
}

vkf_model *vkf_generator_get_model(vkf_generator *generator)
{
    return generator ? generator->text.model : NULL;
}

const vkf_tokenizer *vkf_generator_get_tokenizer(const vkf_generator *generator)
{
    return generator ? generator->text.tokenizer : NULL;
}

uint32_t vkf_generator_get_max_context(const vkf_generator *generator)
{
    return generator ? generator->max_context : 0;
}

static bool texts_given(const vkf_text *texts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!texts || (!texts[i].bytes && texts[i].size_bytes > 0))
            return false;
    return true;
}

vkf_status vkf_generator_run_sized(vkf_generator *generator, const vkf_generator_args *args, size_t args_bytes)
{
    if (!generator || !args)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(generator->context, "vkf_generator_run");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&generator->context->host, "vkf_generator_run", vkf_generator_args, args, args_bytes);
    if (args->count == 0 || !args->out_continuations || !texts_given(args->prompts, args->count) ||
        !texts_given(args->stops, args->stop_count))
        return vkf__fail(
            &generator->context->host, VKF_ERROR_INVALID_ARGUMENT,
            "vkf_generator_run: count is 0, or out_continuations, prompts, stops or the bytes of one is NULL");
    VKF_RETURN_IF_ERROR(
        vkf__check_choice_of_tokens(&generator->context->host, "vkf_generator_run", &args->sampling, &args->beams));
    return vkf__generator_run(generator, args);
}
