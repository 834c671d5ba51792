// Loads a model onto the device, or plans what it would take there.
#include "model/load/model.h"

#include <string.h>

#include "base/float_or.h"
#include "base/hash.h"
#include "io/source_file.h"
#include "kernel/memory_plan.h"
#include "model/family/family.h"
#include "model/load/adapter.h"
#include "model/load/model_directory.h"
#include "model/load/weight_resolution.h"
#include "op/layer_norm.h"

// What a descriptor names, and what it is opened for.
typedef struct opening {
    const vkf_model_desc *desc;
    bool planned; // nothing is read from the weights, so they need not be there
} opening;

static vkf_status open_weights(const opening *o, const vkf__host *host, const vkf__model_place *place,
                               vkf__model_source *s)
{
    bool there = true;
    if (o->planned)
        VKF_RETURN_IF_ERROR(vkf__checkpoint_is_there(host, place->transformer, &there));
    return there ? vkf__model_place_open(host, place, s) : VKF_OK;
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

// Which layers have a window, from decoder layer `first` of the whole model on.
static void take_windows(const vkf_model_config *whole, uint32_t first, vkf_model_config *config)
{
    const uint32_t most = 32 * sizeof whole->windowed_layers / sizeof(uint32_t);
    memset(config->windowed_layers, 0, sizeof config->windowed_layers);
    for (uint32_t i = 0, layer = first; i < config->num_decoder_layers && layer < most; i++, layer++)
        config->windowed_layers[i / 32] |= (whole->windowed_layers[layer / 32] >> layer % 32 & 1) << i % 32;
}

static bool is_linked(const vkf_layer_part *part, uint32_t total)
{
    return part->link.share && (part->link.take || part->first == 0) &&
           (part->link.give || part->first + part->count == total);
}

// Leaves the configuration with the layers of a part.
static vkf_status take_part(const vkf__host *host, const opening *o, vkf__model_source *s)
{
    const vkf_layer_part *part = o->desc->part;
    vkf_model_config *config = &s->config;
    const vkf_model_config whole = *config;
    const uint32_t encoder = whole.num_encoder_layers, total = encoder + whole.num_decoder_layers;
    if (!vkf__facts_of(config)->generates)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "only a model that generates is cut between its layers");
    if (s->adapter)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "a model is not cut while an adapter is merged: merge it before");
    if (part->count == 0 || part->first >= total || part->count > total - part->first)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "the model has no layers %u to %u, but %u", part->first,
                         part->first + part->count, total);
    if (!o->planned && !is_linked(part, total))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_layer_part: `link` lacks `share`, or what reaches the part before or behind");
    s->part = (vkf__layer_part){part->first, part->count, encoder, total, part->link};
    config->num_encoder_layers = at_most(part->first + part->count, encoder) - at_most(part->first, encoder);
    config->num_decoder_layers = part->count - config->num_encoder_layers;
    take_windows(&whole, vkf__part_layer(&s->part, true), config);
    return VKF_OK;
}

static vkf_status open_adapter(const vkf_context *context, const vkf_model_desc *desc, const char *adapter,
                               vkf__model_source *s)
{
    const char *name = desc->adapter_directory ? desc->adapter_directory : desc->directory;
    const vkf__host host = vkf__host_with_files(&context->host, desc->files, name);
    if (adapter && desc->trainable)
        return vkf__fail(&context->host, VKF_ERROR_UNSUPPORTED,
                         "%s: an adapter is added to the model, and weights that are trained are those of the model's "
                         "files: write the merged model first, with vkformer quantize --type same",
                         adapter);
    return adapter ? vkf__adapter_open(&host, adapter, &s->adapter) : VKF_OK;
}

static vkf_status open_directory(const vkf_context *context, const opening *o, vkf__model_source *s)
{
    const vkf_model_desc *desc = o->desc;
    vkf_status status = VKF_OK;
    const vkf__host files = vkf__host_with_files(&context->host, desc->files, desc->directory), *host = &files;
    vkf__model_place place;
    VKF_RETURN_IF_ERROR(vkf__model_place_find(host, desc->directory, desc->adapter_directory, &place));
    VKF_TRY(vkf__model_place_load(host, &place, s));
    VKF_TRY(open_adapter(context, desc, place.adapter, s));
    VKF_TRY(open_weights(o, host, &place, s));
    if (!o->planned)
        vkf__model_place_tell(host, &place);
fail:
    vkf__model_place_free(host, &place);
    return status;
}

// Opens what the descriptor names. The caller calls vkf__model_source_close() whether this succeeds or not.
static vkf_status open_source(vkf_context *context, const opening *o, vkf__model_source *s)
{
    const vkf_model_desc *desc = o->desc;
    const vkf__host files = vkf__host_with_files(&context->host, desc->files, desc->directory), *host = &files;
    if (desc->directory) {
        VKF_RETURN_IF_ERROR(open_directory(context, o, s));
    } else {
        s->config = *desc->config;
        s->config.layer_norm_eps = vkf__float_or(s->config.layer_norm_eps, VKF_LAYER_NORM_EPS);
        if (s->config.activation == VKF_ACTIVATION_DEFAULT)
            s->config.activation = VKF_ACTIVATION_RELU;
        VKF_RETURN_IF_ERROR(vkf__config_check(host, &s->config, "vkf_model_load"));
        if (!vkf__facts_of(&s->config)->without_directory)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "vkf_model_load: an ENCODER or a DECODER comes from a directory");
        VKF_RETURN_IF_ERROR(vkf__checkpoint_open_file(host, desc->weights_path, &s->checkpoint));
        VKF_RETURN_IF_ERROR(open_adapter(context, desc, desc->adapter_directory, s));
    }
    if (!s->family)
        s->config.final_norm = true; // as in PyTorch's stacks
    s->progress = desc->progress;
    s->progress_user = desc->progress_user;
    return desc->part ? take_part(host, o, s) : VKF_OK;
}

// Whether all matrices of the file have this type. Blocks of a quantised file, which are no floats, do not count.
static bool stores_matrices_as(const vkf__checkpoint *checkpoint, vkf__stored_type type)
{
    bool any = false;
    for (size_t i = 0; i < vkf__checkpoint_count(checkpoint); i++) {
        const vkf__stored_tensor *tensor = vkf__checkpoint_at(checkpoint, i);
        if (tensor->rank < 2 || !vkf__stored_is_float(tensor->type))
            continue;
        if (tensor->type != type)
            return false;
        any = true;
    }
    return any;
}

static vkf_model_precision settled_precision(const vkf_context *context, const vkf_model_desc *desc,
                                             const vkf__model_source *source)
{
    if (desc->precision != VKF_MODEL_PRECISION_AUTO)
        return desc->precision;
    if (desc->trainable || !context->device.plan.caps.traits.prefers_halves || !source->checkpoint)
        return VKF_MODEL_PRECISION_F32;
    return stores_matrices_as(source->checkpoint, VKF_STORED_F16)    ? VKF_MODEL_PRECISION_F16
           : stores_matrices_as(source->checkpoint, VKF_STORED_BF16) ? VKF_MODEL_PRECISION_BF16_WEIGHTS
                                                                     : VKF_MODEL_PRECISION_F32;
}

static vkf__weight_storage storage_of(const vkf_context *context, const vkf_model_desc *desc,
                                      const vkf__model_source *source)
{
    static const vkf__weight_storage storages[VKF_MODEL_PRECISION_COUNT] = {
        [VKF_MODEL_PRECISION_F32] = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32, false},
        [VKF_MODEL_PRECISION_F16_WEIGHTS] = {VKF_DTYPE_F32, VKF_DTYPE_F16, VKF_DTYPE_F16, false},
        [VKF_MODEL_PRECISION_BF16_WEIGHTS] = {VKF_DTYPE_F32, VKF_DTYPE_BF16, VKF_DTYPE_BF16, false},
        [VKF_MODEL_PRECISION_F16] = {VKF_DTYPE_F16, VKF_DTYPE_F16, VKF_DTYPE_F16, false},
    };
    vkf__weight_storage storage = storages[settled_precision(context, desc, source)];
    storage.trainable = desc->trainable;
    if (desc->quantization != VKF_QUANTIZATION_NONE)
        storage.linear = desc->quantization == VKF_QUANTIZATION_Q8 ? VKF_DTYPE_Q8 : VKF_DTYPE_Q4;
    return storage;
}

// Makes a model that has no weights yet.
static vkf_status make_model(vkf_context *context, const vkf_model_desc *desc, const vkf__model_source *source,
                             vkf_model **out_model)
{
    vkf_status status = VKF_OK;
    vkf_model *model = NULL;
    VKF_ALLOC_OR_RETURN(&context->host, model, 1);
    vkf__context_hold(context, VKF_MADE_MODEL);
    model->context = context;
    model->references = 1;
    model->config = source->config;
    model->part = source->part;
    if (desc->directory && !desc->files)
        VKF_STRDUP(&context->host, model->directory, desc->directory);
    if (desc->adapter_directory && !desc->files)
        VKF_STRDUP(&context->host, model->adapter, desc->adapter_directory);
    model->precision = settled_precision(context, desc, source);
    if (desc->precision == VKF_MODEL_PRECISION_AUTO && model->precision != VKF_MODEL_PRECISION_F32)
        vkf__log(&context->host, VKF_SEVERITY_INFO, "the model is kept in 16 bits, as its file has it");
    model->dtype = storage_of(context, desc, source).activations;
    *out_model = model;
    return VKF_OK;
fail:
    vkf_model_destroy(&model);
    return status;
}

static vkf_status take_fingerprint(vkf_model *model, const vkf__model_source *source, vkf__weight_storage storage)
{
    const uint32_t kept[] = {(uint32_t)storage.activations, (uint32_t)storage.weights, (uint32_t)storage.linear};
    const uint32_t layers[] = {model->part.first, model->part.count};
    if (!vkf__facts_of(&model->config)->prompts)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__checkpoint_fingerprint(source->checkpoint, &model->fingerprint));
    if (source->adapter)
        VKF_RETURN_IF_ERROR(vkf__adapter_fingerprint(source->adapter, &model->fingerprint));
    model->fingerprint = vkf__hash(model->fingerprint, kept, sizeof kept);
    if (model->part.count > 0)
        model->fingerprint = vkf__hash(model->fingerprint, layers, sizeof layers);
    return VKF_OK;
}

static vkf_status take_metadata(vkf_model *model, const vkf_model_desc *desc, const vkf__checkpoint *checkpoint)
{
    const vkf__host host = vkf__host_with_files(&model->context->host, desc->files, desc->directory);
    return vkf__model_metadata_load(&host, desc->directory, checkpoint, &model->metadata);
}

vkf_status vkf__model_load(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model)
{
    vkf_status status = VKF_OK;
    vkf__model_source s = {0};
    vkf_model *model = NULL;
    VKF_TRY(open_source(context, &(opening){desc, vkf__device_is_described(&context->device)}, &s));
    VKF_TRY(make_model(context, desc, &s, &model));
    VKF_TRY(vkf__weights_load(context, &s, storage_of(context, desc, &s), &model->weights));
    VKF_TRY(take_fingerprint(model, &s, storage_of(context, desc, &s)));
    VKF_TRY(take_metadata(model, desc, s.checkpoint));
    *out_model = model;
    model = NULL;
fail:
    vkf__model_source_close(&s);
    vkf_model_destroy(&model);
    return status;
}

void vkf_model_destroy(vkf_model **model)
{
    if (!model || !*model)
        return;
    if (!vkf__context_is_inherited((*model)->context))
        vkf__model_drop(*model);
    *model = NULL;
}

void vkf__model_hold(vkf_model *model)
{
    atomic_fetch_add(&model->references, 1);
}

void vkf__model_drop(vkf_model *model)
{
    vkf_context *context = model->context;
    if (atomic_fetch_sub(&model->references, 1) > 1)
        return;
    vkf__weights_free(context, &model->weights);
    vkf__model_metadata_free(&model->metadata);
    vkf__free(&context->host, model->directory);
    vkf__free(&context->host, model->adapter);
    vkf__free(&context->host, model);
    vkf__context_drop(context, VKF_MADE_MODEL);
}

static vkf_status plan_model(vkf_context *context, const vkf_model_desc *desc, vkf_memory_plan *out_plan,
                             vkf_model **out_model)
{
    vkf_status status = VKF_OK;
    vkf__model_source s = {0};
    vkf_memory_plan plan;
    vkf_model *model = NULL;
    vkf__memory_plan_init(&plan, context);
    VKF_TRY(open_source(context, &(opening){desc, true}, &s));
    VKF_TRY(make_model(context, desc, &s, &model));
    VKF_TRY(vkf__weights_plan(context, &s, storage_of(context, desc, &s), &plan, &model->weights));
    *out_plan = plan;
    *out_model = model;
    model = NULL;
fail:
    vkf__model_source_close(&s);
    vkf_model_destroy(&model);
    return status;
}

vkf_status vkf__model_plan(vkf_context *context, const vkf_model_desc *desc, vkf_memory_plan *out_plan)
{
    vkf_model *model = NULL;
    VKF_RETURN_IF_ERROR(plan_model(context, desc, out_plan, &model));
    vkf_model_destroy(&model);
    return VKF_OK;
}

vkf_status vkf__model_shape(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model)
{
    vkf_memory_plan plan;
    return plan_model(context, desc, &plan, out_model);
}
