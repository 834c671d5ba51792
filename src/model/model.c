#include "model/model.h"

#include "kernel/memory_plan.h"
#include "model/family.h"
#include "model/model_directory.h"

static vkf_status open_source(vkf_context *context, const vkf_model_desc *desc, vkf__model_source *out)
{
    const vkf__host *host = &context->host;
    vkf_status status = VKF_OK;
    vkf__model_source s = {0};
    if (desc->directory) {
        VKF_TRY(vkf__model_directory_load(host, desc->directory, &s));
        VKF_TRY(vkf__checkpoint_open(host, desc->directory, &s.checkpoint));
    } else {
        s.config = *desc->config;
        VKF_TRY(vkf__config_check(host, &s.config, "vkf_model_load"));
        if (s.config.kind != VKF_MODEL_TRANSFORMER && s.config.kind != VKF_MODEL_SEQ2SEQ)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "vkf_model_load: an ENCODER or a DECODER comes from a directory");
        VKF_TRY(vkf__checkpoint_open_file(host, desc->weights_path, &s.checkpoint));
    }
    if (s.family)
        vkf__family_untie(s.family, s.checkpoint, &s.config);
    else
        s.config.final_norm = true; // as PyTorch's stacks have it
    s.progress = desc->progress;
    s.progress_user = desc->progress_user;
    *out = s;
fail:
    return status;
}

static vkf__weight_storage storage_of(const vkf_model_desc *desc)
{
    static const vkf__weight_storage storages[VKF_MODEL_PRECISION_COUNT] = {
        [VKF_MODEL_PRECISION_F32] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32},
        [VKF_MODEL_PRECISION_F16_WEIGHTS] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F16},
        [VKF_MODEL_PRECISION_BF16_WEIGHTS] = {VKF_DTYPE_F32, VKF_DTYPE_BF16, VKF_DTYPE_BF16},
        [VKF_MODEL_PRECISION_F16] = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16},
    };
    vkf__weight_storage storage = storages[desc->precision];
    if (desc->quantization != VKF_QUANTIZATION_NONE)
        storage.linear = desc->quantization == VKF_QUANTIZATION_Q8 ? VKF_DTYPE_Q8 : VKF_DTYPE_Q4;
    return storage;
}

vkf_status vkf__model_load(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model)
{
    vkf_status status = VKF_OK;
    vkf__model_source s = {0};
    vkf_model *model = NULL;
    VKF_TRY(open_source(context, desc, &s));
    VKF_ALLOC(&context->host, model, 1);
    model->context = context;
    model->config = s.config;
    model->dtype = storage_of(desc).activations;
    VKF_TRY(vkf__weights_load(context, &s, storage_of(desc), &model->weights));
    *out_model = model;
    model = NULL;
fail:
    vkf__checkpoint_close(&s.checkpoint);
    vkf_model_destroy(&model);
    return status;
}

void vkf_model_destroy(vkf_model **model)
{
    if (!model || !*model)
        return;
    vkf_context *context = (*model)->context;
    vkf__weights_free(context, &(*model)->weights);
    vkf__free(&context->host, *model);
    *model = NULL;
}

vkf_status vkf__model_plan(vkf_context *context, const vkf_model_desc *desc, vkf_memory_plan *out_plan)
{
    vkf_status status = VKF_OK;
    vkf__model_source s = {0};
    vkf_memory_plan plan;
    vkf__memory_plan_init(&plan, context);
    VKF_TRY(open_source(context, desc, &s));
    VKF_TRY(vkf__weights_plan(context, &s, storage_of(desc), &plan, NULL));
    *out_plan = plan;
fail:
    vkf__checkpoint_close(&s.checkpoint);
    return status;
}

vkf_status vkf__model_shape(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model)
{
    vkf_status status = VKF_OK;
    vkf__model_source s = {0};
    vkf_memory_plan plan;
    vkf_model *model = NULL;
    vkf__memory_plan_init(&plan, context);
    VKF_TRY(open_source(context, desc, &s));
    VKF_ALLOC(&context->host, model, 1);
    model->context = context;
    model->config = s.config;
    model->dtype = storage_of(desc).activations;
    VKF_TRY(vkf__weights_plan(context, &s, storage_of(desc), &plan, &model->weights));
    *out_model = model;
    model = NULL;
fail:
    vkf__checkpoint_close(&s.checkpoint);
    vkf_model_destroy(&model);
    return status;
}
