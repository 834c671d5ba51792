// Runs steps and evaluations.
#include <math.h>
#include <string.h>

#include "training/loss_scale.h"
#include "training/trainer.h"

// Floats that a run has left.
static volatile float *floats_at(const vkf_trainer *t, const vkf__span *span)
{
    return (volatile float *)((uint8_t *)t->results->allocation.mapped + span->offset_bytes);
}

static float loss_of(const vkf_trainer *t)
{
    return floats_at(t, &t->results_at.loss)[0];
}

static void clear_loss(vkf_trainer *t)
{
    floats_at(t, &t->results_at.loss)[0] = 0;
}

// What has not become part of a step is no part of the next.
static vkf_status clear_gradients(vkf_trainer *t)
{
    const vkf__weights *gradients = &t->parameters.gradients;
    for (size_t i = 0; i < gradients->buffer_count; i++)
        if (gradients->buffers[i])
            VKF_RETURN_IF_ERROR(vkf__buffer_clear(gradients->buffers[i]));
    return VKF_OK;
}

static vkf_status update_pass(vkf_trainer *t, const vkf_train_batch *batch, uint64_t labels)
{
    vkf__pass_args pass = {.trainer = t};
    vkf__trainer_write_batch(t, batch, &pass.sizes);
    t->graph.loss.factor = t->state.loss_scale / (float)labels;
    t->graph.dropout.step = t->lora.dropout.step = (uint32_t)t->state.examples;
    return vkf__work_update(&t->pass, vkf__emit_pass, &pass);
}

// Labels are those of all trainers that share a step.
static vkf_status check_batches(vkf_trainer *t, const char *function, const vkf_train_batch *batches, uint32_t count,
                                vkf__exchange *exchange, uint64_t *out_labels)
{
    uint64_t labels = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t own = 0;
        VKF_RETURN_IF_ERROR(vkf__trainer_check_batch(t, function, &batches[i], &own));
        labels += own;
    }
    if (exchange)
        VKF_RETURN_IF_ERROR(vkf__exchange_labels(exchange, &t->parameters, t->state.step, &labels));
    if (labels == 0)
        return vkf__fail(&t->context->host, VKF_ERROR_INVALID_ARGUMENT, "%s: no label of the batch counts", function);
    *out_labels = labels;
    return VKF_OK;
}

// The last pass of a step that trainers share: from parts of it to the update. Without a part of this trainer's its
// gradients are those of the passes before.
static vkf_status run_shared(vkf_trainer *t, bool pass)
{
    VKF_RETURN_IF_ERROR(vkf__exchange_run(t->exchange, pass));
    float loss = loss_of(t);
    VKF_RETURN_IF_ERROR(vkf__exchange_loss(t->exchange, &loss));
    floats_at(t, &t->results_at.loss)[0] = loss;
    return vkf__exchange_update(t->exchange);
}

// All passes of a step; the last is submitted with what follows it.
static vkf_status run_passes(vkf_trainer *t, const vkf_train_batch *batches, uint32_t count, uint64_t labels,
                             bool updates)
{
    for (uint32_t i = 0; i < count; i++) {
        const bool last = updates && i + 1 == count, any = batches[i].batch > 0;
        if (any)
            VKF_RETURN_IF_ERROR(update_pass(t, &batches[i], labels));
        t->state.examples++;
        if (last)
            VKF_RETURN_IF_ERROR(vkf__work_update(&t->update, vkf__emit_update, &t));
        if (last && t->exchange)
            VKF_RETURN_IF_ERROR(run_shared(t, any));
        else if (any)
            VKF_RETURN_IF_ERROR(vkf__recording_run(&t->pass_and_update, last ? t->pass_and_update.count : t->pass_parts,
                                                   &t->submission));
    }
    return VKF_OK;
}

bool vkf__trainer_scales(const vkf_trainer *t)
{
    return t->desc.mixed_precision == VKF_DTYPE_F16;
}

float vkf__trainer_first_scale(const vkf_trainer *t)
{
    return vkf__trainer_scales(t) ? vkf__loss_scale_default().scale : 1.0f;
}

// The scale of the next step, from the norm of this one's gradients.
static void follow_scale(vkf_trainer *t, float norm)
{
    vkf__loss_scale scale = vkf__loss_scale_default();
    if (!vkf__trainer_scales(t))
        return;
    scale.scale = t->state.loss_scale;
    scale.counted = t->state.loss_scale_counted;
    (void)vkf__loss_scale_update(&scale, norm);
    t->state.loss_scale = scale.scale;
    t->state.loss_scale_counted = scale.counted;
}

static vkf_status run_step(vkf_trainer *t, const vkf_train_batch *batches, uint32_t count, uint64_t labels,
                           vkf_train_result *out_result)
{
    const vkf__train_state before = t->state;
    clear_loss(t);
    VKF_RETURN_IF_ERROR(run_passes(t, batches, count, labels, true));
    const float loss = loss_of(t), norm = floats_at(t, &t->results_at.factor)[1];
    if (!isfinite(loss)) {
        t->state = before;
        if (t->exchange && t->exchange->finite)
            return vkf__fail(&t->context->host, VKF_ERROR_NOT_FINITE,
                             "vkf_trainer_step: in step %llu the loss of another trainer is not finite",
                             (unsigned long long)t->state.step + 1);
        return vkf__trainer_find_not_finite(t, "vkf_trainer_step");
    }
    *out_result = (vkf_train_result){
        .loss = (double)loss / (double)labels,
        .labels = labels,
        .gradient_norm = norm,
        .rate = vkf__trainer_rate(t),
        .skipped = !isfinite(norm),
        .step = t->state.step + 1,
        .loss_scale = t->state.loss_scale,
    };
    if (out_result->skipped)
        t->state.skipped++;
    else
        t->state.step++;
    follow_scale(t, norm);
    return VKF_OK;
}

vkf_status vkf__trainer_step(vkf_trainer *t, const vkf_train_batch *batches, uint32_t count,
                             vkf_train_result *out_result)
{
    uint64_t labels = 0;
    VKF_RETURN_IF_ERROR(check_batches(t, "vkf_trainer_step", batches, count, t->exchange, &labels));
    const vkf_status status = run_step(t, batches, count, labels, out_result);
    if (status == VKF_OK)
        return VKF_OK;
    const vkf_status cleared = clear_gradients(t);
    (void)cleared; // the first failure is what to say
    return status;
}

static uint64_t count_right(const vkf_trainer *t, const vkf_train_batch *batch, const vkf__graph_sizes *sizes)
{
    const uint32_t count = vkf__graph_labels(&t->graph, sizes);
    const int32_t *choices =
        (const int32_t *)((const uint8_t *)t->results->allocation.mapped + t->graph.choices.offset_bytes);
    uint64_t right = 0;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t label = t->graph.contrastive_scale != 0.0f ? (int32_t)i : batch->labels[i];
        right += label != t->graph.loss.ignored && label == choices[i];
    }
    return right;
}

vkf_status vkf__trainer_evaluate(vkf_trainer *t, const vkf_train_batch *batch, vkf_train_result *out_result)
{
    vkf__pass_args pass = {.trainer = t};
    uint64_t labels = 0;
    VKF_RETURN_IF_ERROR(check_batches(t, "vkf_trainer_evaluate", batch, 1, NULL, &labels));
    vkf__trainer_write_batch(t, batch, &pass.sizes);
    clear_loss(t);
    VKF_RETURN_IF_ERROR(vkf__work_update(&t->evaluation, vkf__emit_evaluation, &pass));
    VKF_RETURN_IF_ERROR(vkf__recording_run(&t->evaluation_parts, t->evaluation_parts.count, &t->submission));
    const float loss = loss_of(t);
    if (!isfinite(loss))
        return vkf__fail(&t->context->host, VKF_ERROR_NOT_FINITE, "vkf_trainer_evaluate: the loss is not finite");
    *out_result = (vkf_train_result){
        .loss = (double)loss / (double)labels,
        .labels = labels,
        .right = count_right(t, batch, &pass.sizes),
        .step = t->state.step,
        .loss_scale = 1,
    };
    return VKF_OK;
}

static vkf_status read_gradient(vkf_trainer *t, const vkf__parameter *parameter, float *out_gradient)
{
    const float loss = loss_of(t);
    if (!isfinite(loss))
        return vkf__trainer_find_not_finite(t, "vkf_trainer_compute_gradient");
    VKF_RETURN_IF_ERROR(vkf_buffer_read(parameter->gradient.buffer, parameter->gradient.offset_bytes, out_gradient,
                                        parameter->gradient.size_bytes));
    for (uint64_t i = 0; i < parameter->gradient.size_bytes / sizeof *out_gradient; i++)
        out_gradient[i] /= t->state.loss_scale;
    return VKF_OK;
}

vkf_status vkf__trainer_gradient(vkf_trainer *t, const vkf_train_batch *batch, const vkf__parameter *parameter,
                                 float *out_gradient)
{
    const vkf__train_state before = t->state;
    uint64_t labels = 0;
    VKF_RETURN_IF_ERROR(check_batches(t, "vkf_trainer_compute_gradient", batch, 1, NULL, &labels));
    clear_loss(t);
    vkf_status status = run_passes(t, batch, 1, labels, false);
    if (status == VKF_OK)
        status = read_gradient(t, parameter, out_gradient);
    t->state = before;
    const vkf_status cleared = clear_gradients(t);
    return status == VKF_OK ? cleared : status;
}
