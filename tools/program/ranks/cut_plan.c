// Plans parts of a model: one of each kind, as they begin and end.
#include "ranks/cut_plan.h"

#include "base/host.h"

// The encoder runs once for a text, and the decoder for each of its new tokens. Texts to translate have about so many.
#define TOKENS_OF_A_TEXT 16

uint64_t vkf_cut_memory(const vkf_device_info *info)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < info->heap_count; i++)
        if (info->heap_device_local[i] && info->heap_size_bytes[i] > most)
            most = info->heap_size_bytes[i];
    return most;
}

static uint64_t sum_of(const vkf_memory_plan *plan)
{
    return plan->weights_bytes + plan->activations_bytes + plan->cache_bytes + plan->control_bytes;
}

typedef struct part_bytes {
    uint64_t all, weights;
    uint64_t own; // beside its layers
} part_bytes;

static vkf_status plan_part(const vkf_cut_plan *p, uint32_t first, uint32_t count, part_bytes *out)
{
    const vkf_layer_part part = {.first = first, .count = count};
    vkf_model_desc desc = *p->model;
    vkf_memory_plan model, session;
    desc.part = &part;
    VKF_RETURN_IF_ERROR(vkf_model_plan(p->context, &desc, &model));
    VKF_RETURN_IF_ERROR(vkf_model_plan_session(p->context, &desc, p->session, &session));
    *out = (part_bytes){sum_of(&model) + p->batches * sum_of(&session), model.weights_bytes, 0};
    return VKF_OK;
}

// What a layer of a stack takes. Where it has two at most, parts that begin and end alike have equally many of them.
static vkf_status plan_layer(const vkf_cut_plan *p, uint32_t first, uint32_t layers, part_bytes *out)
{
    part_bytes one, two;
    *out = (part_bytes){0};
    if (layers <= 2)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(plan_part(p, first, 1, &one));
    VKF_RETURN_IF_ERROR(plan_part(p, first, 2, &two));
    *out = (part_bytes){two.all - one.all, two.weights - one.weights, 0};
    return VKF_OK;
}

// Plans the shortest of the parts that begin and end alike.
static vkf_status plan_kinds(const vkf_cut_plan *p, const vkf_cut_model *m, part_bytes kinds[][VKF_CUT_PLACE_COUNT])
{
    const uint32_t layers = vkf_cut_layer_count(m);
    for (uint32_t count = 1; count <= layers; count++)
        for (uint32_t first = 0; first + count <= layers; first++) {
            part_bytes *kind = &kinds[vkf_cut_place_of(m, first)][vkf_cut_place_of(m, first + count)];
            if (kind->all > 0)
                continue;
            VKF_RETURN_IF_ERROR(plan_part(p, first, count, kind));
            const uint32_t encoder = vkf_cut_encoder_layers(m, first, first + count);
            kind->own = kind->all - encoder * m->encoder.layer_bytes - (count - encoder) * m->decoder.layer_bytes;
        }
    return VKF_OK;
}

// All layers of a stack are as large as its second one. A token reads the weights of all decoder layers and of what
// follows them, and of the words a row.
vkf_status vkf_cut_plan_parts(const vkf_cut_plan *plan, vkf_cut_model *out_model)
{
    part_bytes kinds[VKF_CUT_PLACE_COUNT][VKF_CUT_PLACE_COUNT] = {0}, encoder, decoder;
    VKF_RETURN_IF_ERROR(plan_layer(plan, 0, plan->encoder_layers, &encoder));
    VKF_RETURN_IF_ERROR(plan_layer(plan, plan->encoder_layers, plan->decoder_layers, &decoder));
    vkf_cut_model m = {
        .encoder = {plan->encoder_layers, encoder.all, 0},
        .decoder = {plan->decoder_layers, decoder.all, 1.0},
    };
    VKF_RETURN_IF_ERROR(plan_kinds(plan, &m, kinds));
    if (plan->decoder_layers > 2) {
        m.decoder.layer_time = (double)decoder.weights;
        m.last_time = (double)kinds[VKF_CUT_BEFORE_LAST][VKF_CUT_BACK].weights - (double)decoder.weights;
    }
    m.encoder.layer_time = m.decoder.layer_time / TOKENS_OF_A_TEXT;
    for (size_t from = 0; from < VKF_CUT_PLACE_COUNT; from++)
        for (size_t to = 0; to < VKF_CUT_PLACE_COUNT; to++)
            m.own_bytes[from][to] = kinds[from][to].own;
    *out_model = m;
    return VKF_OK;
}
