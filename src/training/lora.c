// Chooses the weights that get adapters, and records what these add.
#include "training/lora.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/philox.h"
#include "model/family/families.h"
#include "model/family/family.h"
#include "model/family/model_kind.h"
#include "model/load/adapter.h"
#include "model/load/weight_upload.h"

// What PEFT chooses in the families that are known here: what gives queries and values, fused or not.
static const char *const usual[] = {"q_proj", "v_proj", "query",           "value", "q_lin",
                                    "v_lin",  "c_attn", "query_key_value", "Wqkv"};

vkf_tensor vkf__lora_weight(const vkf__lora *lora, const vkf__lora_module *m, uint32_t part)
{
    const vkf__trainable *first = &lora->model->weights.trainable[m->trainable];
    if (first->slot.cut == 0)
        return first[part].tensor;
    vkf_tensor weight = first->tensor;
    weight.shape[0] /= first->slot.cut;
    weight.offset_bytes += (uint64_t)part * weight.shape[0] * weight.shape[1] * sizeof(float);
    return weight;
}

uint64_t vkf__lora_row(const vkf__lora *lora, const vkf__lora_module *m, uint32_t part, uint32_t row)
{
    const vkf__trainable *first = &lora->model->weights.trainable[m->trainable];
    if (first->slot.cut > 0)
        return (uint64_t)part * (m->out / m->parts) + row;
    return vkf__stored_row(&first[part].slot, row);
}

// ---- the choice

// Which bytes of a weight's name are its module's. False: none are.
static bool module_bytes(const char *name, size_t *out_bytes)
{
    // nn.MultiheadAttention is a module whose weight has a name of its own.
    static const char *const endings[] = {".weight", ".in_proj_weight"};
    for (size_t i = 0; i < 2; i++) {
        const char *ending = strstr(name, endings[i]);
        if (!ending || ending[strlen(endings[i])] != '\0')
            continue;
        *out_bytes = (size_t)(ending - name);
        return true;
    }
    return false;
}

static bool is_called(const char *name, const char *target)
{
    size_t bytes = 0;
    const size_t last = strlen(target);
    if (!module_bytes(name, &bytes) || last > bytes || strncmp(name + bytes - last, target, last) != 0)
        return false;
    return last == bytes || name[bytes - last - 1] == '.';
}

static bool is_chosen(const vkf_trainer_desc *desc, const char *name)
{
    const char *const *targets = desc->lora_targets ? desc->lora_targets : usual;
    const size_t count = desc->lora_targets ? desc->lora_target_count : sizeof usual / sizeof usual[0];
    for (size_t i = 0; i < count; i++)
        if (is_called(name, targets[i]))
            return true;
    return false;
}

static bool is_same(const vkf_tensor *a, const vkf_tensor *b)
{
    return a->rank > 0 && a->buffer == b->buffer && a->offset_bytes == b->offset_bytes;
}

static bool is_in_layers(const vkf__layer_weights *layers, uint32_t count, const vkf_tensor *weight)
{
    for (uint32_t i = 0; i < count; i++) {
        const vkf__layer_weights *l = &layers[i];
        const vkf_tensor *const linear[] = {
            &l->self.q_weight,  &l->self.k_weight,        &l->self.v_weight,        &l->self.out_weight,
            &l->cross.q_weight, &l->cross.k_weight,       &l->cross.v_weight,       &l->cross.out_weight,
            &l->gate.weight,    &l->feed_forward.weight1, &l->feed_forward.weight2,
        };
        for (size_t j = 0; j < sizeof linear / sizeof linear[0]; j++)
            if (is_same(linear[j], weight))
                return true;
    }
    return false;
}

static vkf_status check_module(const vkf__lora *lora, const vkf__lora_module *m)
{
    const vkf_model *model = lora->model;
    const vkf_tensor weight = vkf__lora_weight(lora, m, 0);
    if (is_in_layers(model->weights.encoder, model->config.num_encoder_layers, &weight) ||
        is_in_layers(model->weights.decoder, model->config.num_decoder_layers, &weight))
        return VKF_OK;
    return vkf__fail(&model->context->host, VKF_ERROR_UNSUPPORTED,
                     "vkf_trainer_create: %s is no projection of a layer, and only these get an adapter; say more of "
                     "the others' names in lora_targets, as in 'output.dense'",
                     model->weights.trainable[m->trainable].slot.name);
}

// The class of a model with a head has the base model in a member, which a file may leave out of its names.
static const char *base_of(const vkf_model *model, const char *name)
{
    const vkf_model_config *config = &model->config;
    const char *type = json_string_value(vkf__model_metadata_find(&model->metadata, "model_type"));
    const vkf__family *family = type ? vkf__family_find(type) : NULL;
    if (!family || (!vkf__facts_of(config)->decodes && config->head == VKF_HEAD_NONE))
        return "";
    return strncmp(name, family->base, strlen(family->base)) == 0 ? "" : family->base;
}

static vkf_status add_module(vkf__lora *lora, size_t index)
{
    const vkf_model *model = lora->model;
    const vkf__trainable *t = &model->weights.trainable[index];
    vkf__lora_module *m = &lora->modules[lora->count];
    size_t bytes = 0;
    (void)module_bytes(t->slot.name, &bytes);
    m->trainable = index;
    m->parts = t->slot.parts > 0 ? t->slot.parts : t->slot.cut > 0 ? t->slot.cut : 1;
    (void)snprintf(m->name, sizeof m->name, "%s%.*s", base_of(model, t->slot.name), (int)bytes, t->slot.name);
    (void)snprintf(m->a_name, sizeof m->a_name, VKF_ADAPTER_PREFIX "%s.lora_A.weight", m->name);
    (void)snprintf(m->b_name, sizeof m->b_name, VKF_ADAPTER_PREFIX "%s.lora_B.weight", m->name);
    VKF_RETURN_IF_ERROR(check_module(lora, m));
    for (uint32_t part = 0; part < m->parts; part++) {
        const vkf_tensor weight = vkf__lora_weight(lora, m, part);
        m->in = weight.shape[1];
        m->out += weight.shape[0];
    }
    lora->count++;
    return VKF_OK;
}

static vkf_status check_targets(const vkf__lora *lora, const vkf_trainer_desc *desc)
{
    const vkf__weights *weights = &lora->model->weights;
    const vkf__host *host = &lora->model->context->host;
    for (uint32_t i = 0; desc->lora_targets && i < desc->lora_target_count; i++) {
        bool any = false;
        for (size_t j = 0; j < weights->trainable_count; j++)
            any = any || (weights->trainable[j].slot.rank == 2 &&
                          is_called(weights->trainable[j].slot.name, desc->lora_targets[i]));
        if (!any)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "vkf_trainer_create: no projection of the model is called '%.100s', as lora_targets says; "
                             "name the last part of a module, as in 'q_proj'",
                             desc->lora_targets[i]);
    }
    if (lora->count == 0)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_trainer_create: the model has no projection of a usual name; say lora_targets");
    return VKF_OK;
}

static vkf_status choose(vkf__lora *lora, const vkf_trainer_desc *desc)
{
    const vkf__weights *weights = &lora->model->weights;
    VKF_ALLOC_OR_RETURN(&lora->model->context->host, lora->modules, weights->trainable_count);
    for (size_t i = 0; i < weights->trainable_count; i++) {
        const vkf__weight_slot *slot = &weights->trainable[i].slot;
        if (slot->rank == 2 && slot->part == 0 && is_chosen(desc, slot->name))
            VKF_RETURN_IF_ERROR(add_module(lora, i));
    }
    return check_targets(lora, desc);
}

static vkf_status add_matrices(vkf__lora *lora, vkf__parameters *parameters, bool shape)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &lora->model->context->host;
    vkf__added_parameter *added = NULL;
    size_t count = 0;
    for (size_t i = 0; i < lora->count; i++)
        count += 1 + lora->modules[i].parts;
    VKF_ALLOC(host, added, count);
    count = 0;
    for (size_t i = 0; i < lora->count; i++) {
        vkf__lora_module *m = &lora->modules[i];
        m->item = parameters->count + count;
        added[count++] = (vkf__added_parameter){m->a_name, lora->rank, m->in};
        for (uint32_t part = 0; part < m->parts; part++)
            added[count++] = (vkf__added_parameter){m->b_name, vkf__lora_weight(lora, m, part).shape[0], lora->rank};
    }
    VKF_TRY(vkf__parameters_add(parameters, added, count, shape));
fail:
    vkf__free(host, added);
    return status;
}

vkf_status vkf__lora_init(const vkf_trainer_desc *desc, vkf__parameters *parameters, bool shape, vkf__lora *out_lora)
{
    *out_lora = (vkf__lora){
        .model = parameters->model,
        .parameters = parameters,
        .rank = desc->lora_rank,
        .alpha = desc->lora_alpha,
        .dropout = {.p = desc->lora_dropout, .seed = desc->seed},
    };
    VKF_RETURN_IF_ERROR(choose(out_lora, desc));
    return add_matrices(out_lora, parameters, shape);
}

void vkf__lora_free(vkf__lora *lora)
{
    if (lora->model)
        vkf__free(&lora->model->context->host, lora->modules);
    *lora = (vkf__lora){0};
}

// ---- first values

// Uniform in [-bound, bound). No other numbers of this seed have a counter that ends so.
static void draw(uint64_t seed, uint32_t module, float bound, float *out_values, size_t count)
{
    const uint32_t key[] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (size_t i = 0; i < count; i += 4) {
        const uint32_t counter[] = {(uint32_t)(i / 4), (uint32_t)((uint64_t)i >> 34), module, UINT32_MAX};
        uint32_t words[4];
        vkf__philox(counter, key, words);
        for (size_t j = 0; j < 4 && i + j < count; j++)
            out_values[i + j] = ((float)(words[j] >> 8) * 0x1p-23f - 1.0f) * bound;
    }
}

vkf_status vkf__lora_draw(const vkf__lora *lora, uint64_t seed)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &lora->model->context->host;
    float *values = NULL;
    for (size_t i = 0; i < lora->count; i++) {
        const vkf__lora_module *m = &lora->modules[i];
        const vkf_tensor *a = &lora->parameters->items[m->item].value;
        const size_t count = (size_t)lora->rank * m->in;
        VKF_ALLOC(host, values, count);
        draw(seed, (uint32_t)i, 1.0f / sqrtf((float)m->in), values, count);
        VKF_TRY(vkf_buffer_write(a->buffer, a->offset_bytes, values, count * sizeof *values));
        vkf__free(host, values);
        values = NULL;
    }
fail:
    vkf__free(host, values);
    return status;
}

// ---- statements

static const vkf__lora_module *find(const vkf__lora *lora, const vkf__span *weight, uint32_t *out_part)
{
    for (size_t i = 0; i < lora->count; i++)
        for (*out_part = 0; *out_part < lora->modules[i].parts; ++*out_part) {
            const vkf_tensor own = vkf__lora_weight(lora, &lora->modules[i], *out_part);
            if (own.buffer == weight->buffer && own.offset_bytes == weight->offset_bytes)
                return &lora->modules[i];
        }
    return NULL;
}

static vkf_status record_matrix(vkf__tape *tape, const vkf__parameter *item, vkf__value *out_value)
{
    const vkf__span value = vkf__span_of(&item->value), none = {0};
    return vkf__tape_leaf(tape, &value, tape->lora->frozen ? &none : &item->gradient, item->value.shape[0],
                          item->value.shape[1], out_value);
}

vkf_status vkf__record_lora(vkf__tape *tape, const vkf__span *weight, vkf__value x, vkf__value *inout_y)
{
    const vkf__lora *lora = tape->lora;
    uint32_t part = 0;
    const vkf__lora_module *m = find(lora, weight, &part);
    if (!m)
        return VKF_OK;
    const vkf__parameter *items = &lora->parameters->items[m->item];
    vkf__dropout_state dropout = lora->dropout;
    dropout.stream += (uint32_t)(m - lora->modules);
    vkf__value a, b;
    VKF_RETURN_IF_ERROR(record_matrix(tape, &items[0], &a));
    VKF_RETURN_IF_ERROR(record_matrix(tape, &items[1 + part], &b));
    VKF_RETURN_IF_ERROR(vkf__record_dropout(tape, "lora_dropout", x, &dropout, &x));
    VKF_RETURN_IF_ERROR(vkf__record_product(tape, "lora_a", x, a, 1, &x));
    VKF_RETURN_IF_ERROR(vkf__record_product(tape, "lora_b", x, b, lora->alpha / (float)lora->rank, &x));
    return vkf__record_sum(tape, "lora_sum", *inout_y, x, inout_y);
}
