// Public entry points of models.
#include "model/model.h"

vkf_status vkf_model_load(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model)
{
    if (!context || !desc || !out_model)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    status = vkf__model_check(context, desc, "vkf_model_load");
    return status != VKF_OK ? status : vkf__model_load(context, desc, out_model);
}

vkf_status vkf_model_plan(vkf_context *context, const vkf_model_desc *desc, vkf_memory_plan *out_plan)
{
    if (!context || !desc || !out_plan)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    status = vkf__model_check(context, desc, "vkf_model_plan");
    return status != VKF_OK ? status : vkf__model_plan(context, desc, out_plan);
}

vkf_status vkf_model_plan_session(vkf_context *context, const vkf_model_desc *desc, const vkf_session_desc *session,
                                  vkf_memory_plan *out_plan)
{
    if (!context || !desc || !session || !out_plan)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    vkf_model *shape = NULL;
    VKF_TRY(vkf__model_check(context, desc, "vkf_model_plan_session"));
    VKF_TRY(vkf__model_shape(context, desc, &shape));
    VKF_TRY(vkf_session_plan(shape, session, out_plan));
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
