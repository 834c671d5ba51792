// The public functions of trainers: they check what callers give.
#include <math.h>

#include "base/float_or.h"
#include "base/sized.h"
#include "training/trainer.h"

// What stands for 0 in a descriptor.
static vkf_trainer_desc completed(const vkf_trainer_desc *desc)
{
    vkf_trainer_desc full = *desc;
    full.ignored_label = desc->ignored_label == 0 ? -100 : desc->ignored_label;
    full.contrastive_scale = desc->contrastive_scale == 0.0f ? 20.0f : desc->contrastive_scale;
    full.beta1 = vkf__double_or(desc->beta1, 0.9);
    full.beta2 = vkf__double_or(desc->beta2, 0.999);
    full.eps = vkf__double_or(desc->eps, 1e-8);
    full.lora_alpha = vkf__float_or(desc->lora_alpha, 2.0f * (float)desc->lora_rank);
    return full;
}

static bool is_share(double value)
{
    return value >= 0 && value < 1;
}

static vkf_status refuse(const vkf__host *host, const char *what)
{
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "vkf_trainer_create: %s", what);
}

static vkf_status check_rates(const vkf__host *host, const vkf_trainer_desc *desc)
{
    if ((unsigned)desc->optimizer >= VKF_OPTIMIZER_COUNT || (unsigned)desc->schedule >= VKF_RATE_COUNT ||
        (unsigned)desc->loss >= VKF_TRAIN_LOSS_COUNT)
        return refuse(host, "optimizer, schedule or loss is none of its kind");
    if (!(desc->rate > 0) || !isfinite(desc->rate))
        return refuse(host, "rate is not above 0");
    if (desc->mixed_precision != VKF_DTYPE_F32 && desc->mixed_precision != VKF_DTYPE_F16 &&
        desc->mixed_precision != VKF_DTYPE_BF16)
        return refuse(host, "mixed_precision is none of F32, F16 and BF16");
    if ((desc->schedule == VKF_RATE_LINEAR || desc->schedule == VKF_RATE_COSINE) && desc->total_steps == 0)
        return refuse(host, "LINEAR and COSINE take total_steps");
    if (desc->schedule == VKF_RATE_INVERSE_ROOT && desc->warmup_steps == 0)
        return refuse(host, "INVERSE_ROOT takes warmup_steps");
    return VKF_OK;
}

static vkf_status check_shares(const vkf__host *host, const vkf_trainer_desc *desc)
{
    if (!is_share(desc->dropout) || !is_share(desc->attention_dropout) || !is_share(desc->activation_dropout))
        return refuse(host, "a dropout is not from 0 to below 1");
    if (!is_share(desc->beta1) || !is_share(desc->beta2) || !is_share(desc->momentum) ||
        !is_share(desc->label_smoothing))
        return refuse(host, "beta1, beta2, momentum or label_smoothing is not from 0 to below 1");
    if (!(desc->eps >= 0) || !(desc->weight_decay >= 0) || !(desc->max_norm >= 0) || !(desc->contrastive_scale > 0))
        return refuse(host, "eps, weight_decay, max_norm or contrastive_scale is negative");
    return VKF_OK;
}

static vkf_status check_lora(const vkf__host *host, const vkf_trainer_desc *desc)
{
    if (desc->lora_rank == 0 && (desc->lora_targets || desc->lora_dropout != 0 || desc->lora_alpha != 0))
        return refuse(host, "lora_targets, lora_alpha or lora_dropout go with lora_rank, which is 0");
    if (!is_share(desc->lora_dropout) || !(desc->lora_alpha >= 0) || !isfinite(desc->lora_alpha))
        return refuse(host, "lora_dropout is not from 0 to below 1, or lora_alpha is negative or not finite");
    if (desc->lora_target_count > 0 && !desc->lora_targets)
        return refuse(host, "lora_targets is NULL");
    return VKF_OK;
}

static vkf_status check_exchange(const vkf__host *host, const vkf_train_exchange *exchange)
{
    if (!exchange)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__check_reserved(host, "vkf_trainer_create", "vkf_train_exchange", exchange->reserved,
                                            sizeof exchange->reserved));
    if (exchange->index >= exchange->count || !exchange->begin || !exchange->finish || !exchange->sum)
        return refuse(host, "of the exchange index is not below count, or begin, finish or sum is NULL");
    return VKF_OK;
}

static vkf_status check_desc(const vkf_model *model, const vkf_trainer_desc *desc)
{
    const vkf__host *host = &model->context->host;
    VKF_RETURN_IF_ERROR(
        vkf__check_reserved(host, "vkf_trainer_create", "vkf_trainer_desc", desc->reserved, sizeof desc->reserved));
    if (!model->weights.trainable)
        return refuse(host, "the model was not loaded to be trained: set vkf_model_desc.trainable");
    if (desc->max_batch == 0)
        return refuse(host, "max_batch is 0");
    if (desc->trained_count > 0 && !desc->trained)
        return refuse(host, "trained is NULL");
    VKF_RETURN_IF_ERROR(check_rates(host, desc));
    VKF_RETURN_IF_ERROR(check_shares(host, desc));
    VKF_RETURN_IF_ERROR(check_lora(host, desc));
    VKF_RETURN_IF_ERROR(check_exchange(host, desc->exchange));
    return vkf__graph_check(host, &model->config, desc);
}

vkf_status vkf_trainer_create_sized(vkf_model *model, const vkf_trainer_desc *desc, size_t desc_bytes,
                                    vkf_trainer **out_trainer)
{
    if (!model || !desc || !out_trainer)
        return vkf__null_argument(__func__);
    const vkf_status status = vkf__context_enter(model->context, "vkf_trainer_create");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&model->context->host, "vkf_trainer_create", vkf_trainer_desc, desc, desc_bytes);
    const vkf_trainer_desc full = completed(desc);
    VKF_RETURN_IF_ERROR(check_desc(model, &full));
    return vkf__trainer_create(model, &full, out_trainer);
}

vkf_status vkf_trainer_plan_sized(vkf_model *model, const vkf_trainer_desc *desc, size_t desc_bytes,
                                  vkf_memory_plan *out_plan, size_t plan_bytes)
{
    if (!model || !desc || !out_plan)
        return vkf__null_argument(__func__);
    const vkf_status status = vkf__context_enter(model->context, "vkf_trainer_plan");
    if (status != VKF_OK)
        return status;
    const vkf__host *host = &model->context->host;
    vkf_memory_plan plan;
    VKF_TAKE_SIZED(host, "vkf_trainer_plan", vkf_trainer_desc, desc, desc_bytes);
    const vkf_trainer_desc full = completed(desc);
    VKF_RETURN_IF_ERROR(vkf__check_sized(host, "vkf_trainer_plan", plan_bytes));
    VKF_RETURN_IF_ERROR(check_desc(model, &full));
    VKF_RETURN_IF_ERROR(vkf__trainer_plan(model, &full, &plan));
    (void)vkf__give_sized(out_plan, plan_bytes, &plan, sizeof plan);
    return VKF_OK;
}

void vkf_trainer_destroy(vkf_trainer **trainer)
{
    if (!trainer || !*trainer)
        return;
    if (!vkf__context_is_inherited((*trainer)->context))
        vkf__trainer_free(*trainer);
    *trainer = NULL;
}

vkf_status vkf_trainer_step_sized(vkf_trainer *trainer, const vkf_train_batch *batches, size_t batch_bytes,
                                  uint32_t batch_count, vkf_train_result *out_result, size_t result_bytes)
{
    if (!trainer || !batches || !out_result)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(trainer->context, "vkf_trainer_step");
    if (status != VKF_OK)
        return status;
    const vkf__host *host = &trainer->context->host;
    if (batch_count == 0)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "vkf_trainer_step: batch_count is 0");
    vkf_train_batch *full = NULL;
    vkf_train_result result;
    VKF_RETURN_IF_ERROR(vkf__check_sized(host, "vkf_trainer_step", result_bytes));
    VKF_ALLOC_OR_RETURN(host, full, batch_count);
    for (uint32_t i = 0; i < batch_count; i++)
        VKF_TRY(vkf__take_sized(host, "vkf_trainer_step", &full[i], sizeof full[i],
                                vkf__sized_at((void *)batches, i, batch_bytes), batch_bytes));
    VKF_TRY(vkf__trainer_step(trainer, full, batch_count, &result));
    (void)vkf__give_sized(out_result, result_bytes, &result, sizeof result);
fail:
    vkf__free(host, full);
    return status;
}

vkf_status vkf_trainer_evaluate_sized(vkf_trainer *trainer, const vkf_train_batch *batch, size_t batch_bytes,
                                      vkf_train_result *out_result, size_t result_bytes)
{
    if (!trainer || !batch || !out_result)
        return vkf__null_argument(__func__);
    const vkf_status status = vkf__context_enter(trainer->context, "vkf_trainer_evaluate");
    if (status != VKF_OK)
        return status;
    const vkf__host *host = &trainer->context->host;
    vkf_train_result result;
    VKF_TAKE_SIZED(host, "vkf_trainer_evaluate", vkf_train_batch, batch, batch_bytes);
    VKF_RETURN_IF_ERROR(vkf__check_sized(host, "vkf_trainer_evaluate", result_bytes));
    VKF_RETURN_IF_ERROR(vkf__trainer_evaluate(trainer, batch, &result));
    (void)vkf__give_sized(out_result, result_bytes, &result, sizeof result);
    return VKF_OK;
}

// The index-th of those that train; NULL beyond the last.
static const vkf__parameter *parameter_at(const vkf_trainer *trainer, uint32_t index)
{
    for (size_t i = 0; i < trainer->parameters.count; i++) {
        const vkf__parameter *item = &trainer->parameters.items[i];
        if (vkf__present(&item->gradient) && index-- == 0)
            return item;
    }
    return NULL;
}

bool vkf_trainer_get_parameter_sized(const vkf_trainer *trainer, uint32_t index, vkf_train_parameter *out_parameter,
                                     size_t parameter_bytes)
{
    const vkf__parameter *item = trainer && out_parameter ? parameter_at(trainer, index) : NULL;
    if (!item)
        return false;
    const vkf_train_parameter found = {item->name, item->gradient.size_bytes / sizeof(float), item->value};
    return vkf__give_sized(out_parameter, parameter_bytes, &found, sizeof found);
}

vkf_status vkf_trainer_compute_gradient_sized(vkf_trainer *trainer, const vkf_train_batch *batch, size_t batch_bytes,
                                              uint32_t index, float *out_gradient)
{
    if (!trainer || !batch || !out_gradient)
        return vkf__null_argument(__func__);
    const vkf_status status = vkf__context_enter(trainer->context, "vkf_trainer_compute_gradient");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&trainer->context->host, "vkf_trainer_compute_gradient", vkf_train_batch, batch, batch_bytes);
    const vkf__parameter *parameter = parameter_at(trainer, index);
    if (!parameter)
        return vkf__fail(&trainer->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_trainer_compute_gradient: no parameter that is trained has the index %u", index);
    return vkf__trainer_gradient(trainer, batch, parameter, out_gradient);
}

void vkf_trainer_get_info_sized(const vkf_trainer *trainer, vkf_trainer_info *out_info, size_t info_bytes)
{
    vkf_trainer_info info = {0};
    if (!trainer || !out_info)
        return;
    for (size_t i = 0; i < trainer->parameters.count; i++) {
        info.parameter_count += vkf__span_of(&trainer->parameters.items[i].value).size_bytes / sizeof(float);
        info.trained_count += trainer->parameters.items[i].gradient.size_bytes / sizeof(float);
    }
    for (size_t i = 0; i < trainer->model->weights.buffer_count; i++)
        info.weights_bytes += vkf_buffer_get_size(trainer->model->weights.buffers[i]);
    (void)vkf__give_sized(out_info, info_bytes, &info, sizeof info);
}

uint64_t vkf_trainer_get_steps(const vkf_trainer *trainer)
{
    return trainer ? trainer->state.step : 0;
}

static vkf_train_progress progress_of(const vkf__train_state *state)
{
    return (vkf_train_progress){
        .steps = state->step,
        .skipped = state->skipped,
        .batches = state->examples,
        .best_step = state->best_step,
        .best_loss = state->best,
    };
}

void vkf_trainer_get_progress_sized(const vkf_trainer *trainer, vkf_train_progress *out_progress, size_t progress_bytes)
{
    if (!trainer || !out_progress)
        return;
    const vkf_train_progress progress = progress_of(&trainer->state);
    (void)vkf__give_sized(out_progress, progress_bytes, &progress, sizeof progress);
}

void vkf_trainer_set_best(vkf_trainer *trainer, uint64_t step, double loss)
{
    if (!trainer)
        return;
    trainer->state.best_step = step;
    trainer->state.best = loss;
}

vkf_status vkf_train_progress_read_sized(vkf_context *context, const char *directory, vkf_train_progress *out_progress,
                                         size_t progress_bytes)
{
    if (!context || !directory || !out_progress)
        return vkf__null_argument(__func__);
    const vkf_status status = vkf__context_enter(context, "vkf_train_progress_read");
    if (status != VKF_OK)
        return status;
    const vkf__host *host = &context->host;
    vkf__train_state state;
    VKF_RETURN_IF_ERROR(vkf__check_sized(host, "vkf_train_progress_read", progress_bytes));
    VKF_RETURN_IF_ERROR(vkf__checkpoint_read_state(host, directory, &state));
    const vkf_train_progress progress = progress_of(&state);
    (void)vkf__give_sized(out_progress, progress_bytes, &progress, sizeof progress);
    return VKF_OK;
}

vkf_status vkf_trainer_save(vkf_trainer *trainer, const char *directory)
{
    if (!trainer || !directory)
        return vkf__null_argument(__func__);
    const vkf_status status = vkf__context_enter(trainer->context, "vkf_trainer_save");
    return status == VKF_OK ? vkf__trainer_save(trainer, directory) : status;
}

vkf_status vkf_trainer_save_adapter(vkf_trainer *trainer, const char *directory)
{
    if (!trainer || !directory)
        return vkf__null_argument(__func__);
    const vkf_status status = vkf__context_enter(trainer->context, "vkf_trainer_save_adapter");
    return status == VKF_OK ? vkf__trainer_save_adapter(trainer, directory) : status;
}

vkf_status vkf_trainer_restore(vkf_trainer *trainer, const char *directory)
{
    if (!trainer || !directory)
        return vkf__null_argument(__func__);
    const vkf_status status = vkf__context_enter(trainer->context, "vkf_trainer_restore");
    return status == VKF_OK ? vkf__trainer_resume(trainer, directory) : status;
}
