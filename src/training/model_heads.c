// Records logits: a decoder's, those of an encoder's head, and the likeness of sentences. Says what can be recorded.
#include <inttypes.h>

#include "model/family/model_kind.h"
#include "training/model_graph.h"

static bool of_sequences(const vkf_model_config *config)
{
    return config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
}

uint32_t vkf__graph_labels(const vkf__model_graph *graph, const vkf__graph_sizes *sizes)
{
    const vkf_model_config *config = &graph->model->config;
    if (graph->contrastive_scale != 0.0f)
        return sizes->batch / 2;
    if (vkf__facts_of(config)->decodes)
        return sizes->batch * sizes->len[VKF_SIDE_TARGET];
    return of_sequences(config) ? sizes->batch : sizes->batch * sizes->len[VKF_SIDE_SOURCE];
}

uint32_t vkf__graph_classes(const vkf__model_graph *graph, const vkf__graph_sizes *sizes)
{
    const vkf_model_config *config = &graph->model->config;
    if (graph->contrastive_scale != 0.0f)
        return sizes->batch / 2;
    return vkf__facts_of(config)->decodes ? config->target_vocab : config->head_outputs;
}

static vkf_status record_projection(vkf__graph_recording *s, vkf__value x, vkf__value *out_logits)
{
    const vkf__weights *weights = &s->graph->model->weights;
    const float scale = s->graph->model->config.logit_scale;
    vkf__linear_values linear;
    VKF_RETURN_IF_ERROR(vkf__record_parameter(s, &weights->projection, VKF_GRADIENT_OF(s, projection), &linear.weight));
    VKF_RETURN_IF_ERROR(
        vkf__record_parameter(s, &weights->projection_bias, VKF_GRADIENT_OF(s, projection_bias), &linear.bias));
    if (scale == 0.0f || scale == 1.0f || linear.bias)
        return vkf__record_linear(s->tape, "generator", x, &linear, out_logits);
    return vkf__record_product(s->tape, "generator", x, linear.weight, scale, out_logits);
}

static vkf_status record_head(vkf__graph_recording *s, vkf__value x, vkf__value *out_logits)
{
    const vkf_model_config *config = &s->graph->model->config;
    const vkf__weights *weights = &s->graph->model->weights;
    if (of_sequences(config))
        VKF_RETURN_IF_ERROR(vkf__record_pool(s->tape, "head_pool", x, &s->graph->inputs.source_lengths,
                                             config->head_pooling, s->sizes->batch, s->sizes->len[VKF_SIDE_SOURCE],
                                             &x));
    if (weights->head_dense.weight.rank > 0)
        VKF_RETURN_IF_ERROR(vkf__record_dense(s, "head_dense", &weights->head_dense, VKF_GRADIENT_OF(s, head_dense),
                                              config->head_activation, &x));
    if (weights->head_norm.weight.rank > 0)
        VKF_RETURN_IF_ERROR(
            vkf__record_model_norm(s, "head_norm", &weights->head_norm, VKF_GRADIENT_OF(s, head_norm), &x));
    return record_projection(s, x, out_logits);
}

static vkf_status record_module(vkf__graph_recording *s, uint32_t index, vkf__value *inout_x)
{
    const vkf_embedding_module *module = &s->graph->model->config.embedding_modules[index];
    const vkf__linear_weights *weights = &s->graph->model->weights.modules[index];
    const vkf__linear_weights *to = VKF_GRADIENT_OF(s, modules[index]);
    if (module->kind == VKF_EMBEDDING_POOLING)
        return vkf__record_pool(s->tape, "pool", *inout_x, &s->graph->inputs.source_lengths, module->poolings[0],
                                s->sizes->batch, s->sizes->len[VKF_SIDE_SOURCE], inout_x);
    if (module->kind == VKF_EMBEDDING_DENSE)
        return vkf__record_dense(s, "embedding_dense", weights, to, module->activation, inout_x);
    return VKF_OK; // cosines do not depend on lengths
}

// The cosines of the first half of sentences with each of the second, times contrastive_scale. Vectors by the length of
// the root of their dimension are what an RMSNorm without a weight gives.
static vkf_status record_cosines(vkf__graph_recording *s, vkf__value x, vkf__value *out_logits)
{
    const vkf_model_config *config = &s->graph->model->config;
    const vkf__norm_values lengths = {.eps = 1e-12f, .rms = true};
    const uint32_t half = s->sizes->batch / 2;
    vkf__value texts, others;
    for (uint32_t i = 0; i < config->embedding_module_count; i++)
        VKF_RETURN_IF_ERROR(record_module(s, i, &x));
    VKF_RETURN_IF_ERROR(vkf__record_norm(s->tape, "lengths", x, &lengths, &x));
    VKF_RETURN_IF_ERROR(vkf__record_rows(s->tape, "texts", x, 0, half, &texts));
    VKF_RETURN_IF_ERROR(vkf__record_rows(s->tape, "others", x, half, half, &others));
    const float factor = s->graph->contrastive_scale / (float)vkf__tape_at(s->tape, texts)->cols;
    return vkf__record_product(s->tape, "cosines", texts, others, factor, out_logits);
}

vkf_status vkf__record_logits(vkf__graph_recording *s, vkf__value x, vkf__value *out_logits)
{
    if (s->graph->contrastive_scale != 0.0f)
        return record_cosines(s, x, out_logits);
    if (vkf__facts_of(&s->graph->model->config)->decodes)
        return record_projection(s, x, out_logits);
    return record_head(s, x, out_logits);
}

// ---- what can be recorded

static vkf_status refuse(const vkf__host *host, const char *what)
{
    return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "vkf_trainer_create: %s cannot be trained here", what);
}

static vkf_status check_head(const vkf__host *host, const vkf_model_config *config)
{
    if (config->head == VKF_HEAD_NONE)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_trainer_create: the model has no head, whose labels it could learn; the loss CONTRASTIVE "
                         "trains it as a sentence encoder");
    if (config->head == VKF_HEAD_QUESTION_ANSWERING)
        return refuse(host, "a head for question answering");
    if (config->head_multi_label || config->head_regression)
        return refuse(host, "a head whose targets are numbers or several labels");
    return VKF_OK;
}

static vkf_status check_modules(const vkf__host *host, const vkf_model_config *config)
{
    for (uint32_t i = 0; i < config->embedding_module_count; i++) {
        const vkf_embedding_module *module = &config->embedding_modules[i];
        if (module->kind == VKF_EMBEDDING_LAYER_NORM)
            return refuse(host, "a norm among the modules of a sentence encoder");
        if (module->kind == VKF_EMBEDDING_POOLING && (module->pooling_count > 1 || module->without_prompt))
            return refuse(host, "a pooling in several ways, or one that leaves prompts out,");
    }
    if (config->embedding_module_count == 0)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_trainer_create: the loss CONTRASTIVE is for sentence encoders");
    return VKF_OK;
}

static vkf_status check_loss(const vkf__host *host, const vkf_model_config *config, vkf_train_loss loss)
{
    const vkf__kind_facts *facts = vkf__facts_of(config);
    if (loss == VKF_TRAIN_LOSS_CONTRASTIVE) {
        if (!facts->pools)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "vkf_trainer_create: the loss CONTRASTIVE is for an ENCODER");
        return check_modules(host, config);
    }
    return facts->pools ? check_head(host, config) : VKF_OK;
}

vkf_status vkf__graph_check(const vkf__host *host, const vkf_model_config *config, const vkf_trainer_desc *desc)
{
    const vkf__kind_facts *facts = vkf__facts_of(config);
    if (!facts->source_ids && !facts->generates)
        return refuse(host, "a TRANSFORMER, which reads no token ids,");
    if (config->rotary.dynamic_from > 0 || config->window_rotary.dynamic_from > 0)
        return refuse(host, "a rotary embedding that depends on the length");
    return check_loss(host, config, desc->loss);
}
