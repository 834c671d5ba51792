// Emits the recordings of a trainer.
#include "op/train/clip.h"
#include "op/train/optimiser.h"
#include "op/train/total.h"
#include "training/trainer.h"

// Where the sum of squares of a range goes; behind the last, what tells whether the loss is finite.
static vkf__span square_of(const vkf_trainer *t, size_t range)
{
    return vkf__span_part(&t->results_at.squares, range * t->results_at.slot, 1);
}

// The sum of the losses, which is added to what is there.
static vkf_status emit_loss(vkf_trainer *t, vkf__work *work, vkf__value losses)
{
    const vkf__total_args total = {
        .label = "loss",
        .x = *vkf__tape_span(&t->tape, losses),
        .out = t->results_at.loss,
        .count = vkf__tape_at(&t->tape, losses)->rows,
        .accumulate = true,
        .factor = 1,
    };
    return vkf__emit_total(work, &total);
}

vkf_status vkf__emit_pass(vkf__work *work, const void *args)
{
    const vkf__pass_args *pass = args;
    vkf_trainer *t = pass->trainer;
    vkf__model_graph graph = t->graph;
    vkf__value losses;
    graph.choices = (vkf__span){0};
    vkf__tape_begin(&t->tape, work);
    t->tape.accumulates = true;
    VKF_RETURN_IF_ERROR(vkf__record_model(&t->tape, &graph, &pass->sizes, &losses));
    VKF_RETURN_IF_ERROR(emit_loss(t, work, losses));
    return vkf__tape_back(&t->tape);
}

vkf_status vkf__emit_evaluation(vkf__work *work, const void *args)
{
    const vkf__pass_args *pass = args;
    vkf_trainer *t = pass->trainer;
    vkf__model_graph graph = t->graph;
    vkf__value losses;
    vkf__lora lora = t->lora;
    lora.frozen = true;
    lora.dropout.p = 0;
    graph.gradients = NULL;
    graph.again = NULL;
    graph.dropout.residual = graph.dropout.attention = graph.dropout.activation = 0;
    graph.loss.smoothing = 0;
    vkf__tape_begin(&t->tape, work);
    t->tape.lora = lora.count > 0 ? &lora : NULL;
    vkf_status status = vkf__record_model(&t->tape, &graph, &pass->sizes, &losses);
    t->tape.lora = lora.count > 0 ? &t->lora : NULL; // the copy does not outlive this
    VKF_RETURN_IF_ERROR(status);
    return emit_loss(t, work, losses);
}

// ---- the update

double vkf__trainer_rate(const vkf_trainer *t)
{
    static const vkf__schedule_kind kinds[VKF_RATE_COUNT] = {
        [VKF_RATE_CONSTANT] = VKF_SCHEDULE_CONSTANT,
        [VKF_RATE_LINEAR] = VKF_SCHEDULE_LINEAR,
        [VKF_RATE_COSINE] = VKF_SCHEDULE_COSINE,
        [VKF_RATE_INVERSE_ROOT] = VKF_SCHEDULE_INVERSE_ROOT,
    };
    const vkf__schedule schedule = {
        .kind = kinds[t->desc.schedule],
        .peak = t->desc.rate,
        .warmup = t->desc.warmup_steps,
        .total = t->desc.total_steps,
        .d_model = t->model->config.d_model,
    };
    return vkf__schedule_rate(&schedule, t->state.step);
}

// The squares of each range, and 0 where the loss is finite: no step follows one that is not.
static vkf_status emit_factor(vkf_trainer *t, vkf__work *work)
{
    const vkf__parameters *p = &t->parameters;
    vkf__total_args total = {
        .label = "loss_check",
        .x = t->results_at.loss,
        .out = square_of(t, p->range_count),
        .count = 1,
    };
    VKF_RETURN_IF_ERROR(vkf__emit_total(work, &total));
    for (uint32_t i = 0; i < p->range_count; i++) {
        total = (vkf__total_args){
            .label = "squares",
            .x = p->ranges[i].gradient,
            .out = square_of(t, i),
            .count = (uint32_t)p->ranges[i].count,
            .squares = true,
            .factor = 1,
        };
        VKF_RETURN_IF_ERROR(vkf__emit_total(work, &total));
    }
    const vkf__clip_args clip = {
        .label = "clip",
        .squares = t->results_at.squares,
        .out = t->results_at.factor,
        .count = ((uint32_t)p->range_count + 1) * t->results_at.slot,
        .max_norm = t->desc.max_norm,
        .loss_scale = t->state.loss_scale,
    };
    return vkf__emit_clip(work, &clip);
}

static vkf_status emit_adam(vkf_trainer *t, vkf__work *work, const vkf__parameter_range *range)
{
    const vkf__adam_args adam = {
        .label = "adam",
        .parameter = range->value,
        .gradient = range->gradient,
        .moments = range->moments,
        .factor = vkf__span_part(&t->results_at.factor, 0, 1),
        .count = (uint32_t)range->count,
        .step = (uint32_t)t->state.step + 1,
        .rate = vkf__trainer_rate(t),
        .beta1 = t->desc.beta1,
        .beta2 = t->desc.beta2,
        .eps = t->desc.eps,
        .weight_decay = t->desc.weight_decay,
        .decoupled = t->desc.optimizer == VKF_OPTIMIZER_ADAMW,
    };
    return vkf__emit_adam(work, &adam);
}

static vkf_status emit_sgd(vkf_trainer *t, vkf__work *work, const vkf__parameter_range *range)
{
    const vkf__sgd_args sgd = {
        .label = "sgd",
        .parameter = range->value,
        .gradient = range->gradient,
        .momentum_buffer = range->moments,
        .factor = vkf__span_part(&t->results_at.factor, 0, 1),
        .count = (uint32_t)range->count,
        .rate = (float)vkf__trainer_rate(t),
        .momentum = (float)t->desc.momentum,
        .weight_decay = (float)t->desc.weight_decay,
        .nesterov = t->desc.nesterov,
    };
    return vkf__emit_sgd(work, &sgd);
}

vkf_status vkf__emit_update(vkf__work *work, const void *args)
{
    vkf_trainer *t = *(vkf_trainer *const *)args;
    VKF_RETURN_IF_ERROR(emit_factor(t, work));
    for (size_t i = 0; i < t->parameters.range_count; i++) {
        const vkf__parameter_range *range = &t->parameters.ranges[i];
        if (t->desc.optimizer == VKF_OPTIMIZER_SGD)
            VKF_RETURN_IF_ERROR(emit_sgd(t, work, range));
        else
            VKF_RETURN_IF_ERROR(emit_adam(t, work, range));
    }
    return VKF_OK;
}
