// Public entry points of models.
#include "model/load/model.h"

#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "base/sized.h"

vkf_status vkf_model_load_sized(vkf_context *context, const vkf_model_desc *desc, size_t desc_bytes,
                                vkf_model **out_model)
{
    if (!context || !desc || !out_model)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_model_load");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_model_load", vkf_model_desc, desc, desc_bytes);
    status = vkf__model_check(context, desc, "vkf_model_load");
    return status != VKF_OK ? status : vkf__model_load(context, desc, out_model);
}

vkf_status vkf_model_plan_sized(vkf_context *context, const vkf_model_desc *desc, size_t desc_bytes,
                                vkf_memory_plan *out_plan, size_t plan_bytes)
{
    if (!context || !desc || !out_plan)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_model_plan");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_model_plan", vkf_model_desc, desc, desc_bytes);
    vkf_memory_plan plan;
    VKF_RETURN_IF_ERROR(vkf__check_sized(&context->host, "vkf_model_plan", plan_bytes));
    VKF_RETURN_IF_ERROR(vkf__model_check(context, desc, "vkf_model_plan"));
    VKF_RETURN_IF_ERROR(vkf__model_plan(context, desc, &plan));
    (void)vkf__give_sized(out_plan, plan_bytes, &plan, sizeof plan);
    return VKF_OK;
}

vkf_status vkf_model_plan_config_sized(vkf_context *context, const vkf_model_desc *desc, size_t desc_bytes,
                                       vkf_model_config *out_config, vkf_model_precision *out_precision)
{
    if (!context || !desc || !out_config)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, "vkf_model_plan_config"));
    VKF_TAKE_SIZED(&context->host, "vkf_model_plan_config", vkf_model_desc, desc, desc_bytes);
    vkf_model *shape = NULL;
    VKF_RETURN_IF_ERROR(vkf__model_check(context, desc, "vkf_model_plan_config"));
    VKF_RETURN_IF_ERROR(vkf__model_shape(context, desc, &shape));
    *out_config = shape->config;
    if (out_precision)
        *out_precision = shape->precision;
    vkf_model_destroy(&shape);
    return VKF_OK;
}

vkf_status vkf_model_plan_session_sized(vkf_context *context, const vkf_model_desc *desc, size_t desc_bytes,
                                        const vkf_session_desc *session, size_t session_bytes,
                                        vkf_memory_plan *out_plan, size_t plan_bytes)
{
    if (!context || !desc || !session || !out_plan)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_model_plan_session");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_model_plan_session", vkf_model_desc, desc, desc_bytes);
    VKF_TAKE_SIZED(&context->host, "vkf_model_plan_session", vkf_session_desc, session, session_bytes);
    vkf_model *shape = NULL;
    VKF_TRY(vkf__model_check(context, desc, "vkf_model_plan_session"));
    VKF_TRY(vkf__model_shape(context, desc, &shape));
    VKF_TRY(vkf_session_plan_sized(shape, session, sizeof *session, out_plan, plan_bytes));
fail:
    vkf_model_destroy(&shape);
    return status;
}

void vkf_model_get_config(const vkf_model *model, vkf_model_config *out_config)
{
    if (!model || !out_config)
        return;
    *out_config = model->config;
}

vkf_model_precision vkf_model_get_precision(const vkf_model *model)
{
    return model ? model->precision : VKF_MODEL_PRECISION_F32;
}

vkf_status vkf_model_get_metadata(const vkf_model *model, const char *key, size_t *inout_bytes, char *out_text)
{
    if (!model || !key || !inout_bytes)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(model->context, __func__));
    const vkf__host *host = &model->context->host;
    const json_t *value = vkf__model_metadata_find(&model->metadata, key);
    if (!value)
        return vkf__fail(NULL, VKF_ERROR_INVALID_ARGUMENT, "%s: the model's files have no key \"%.100s\"", __func__,
                         key);
    if (json_is_string(value))
        return vkf__give_text(host, __func__, json_string_value(value), json_string_length(value), inout_bytes,
                              out_text);
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    if (!text)
        return vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "%s: no host memory for %s", __func__, key);
    vkf_status status = vkf__give_text(host, __func__, text, strlen(text), inout_bytes, out_text);
    free(text); // jansson's own
    return status;
}
