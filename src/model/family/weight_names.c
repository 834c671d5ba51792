// Lists the tensors of PyTorch's nn.Transformer and of the project's own models.
#include "model/family/weight_names.h"

#include <stdio.h>

typedef struct slot_list {
    vkf__weight_slot *slots; // NULL: count only
    size_t count;
} slot_list;

static void add(slot_list *list, const char *prefix, const char *name, uint32_t rank, uint32_t rows, uint32_t cols,
                vkf_tensor *target)
{
    if (list->slots) {
        vkf__weight_slot *slot = &list->slots[list->count];
        *slot = (vkf__weight_slot){.rank = rank, .shape = {rows, cols}, .target = target};
        snprintf(slot->name, sizeof slot->name, "%.70s%.40s", prefix, name);
    }
    list->count++;
}

static void add_linear(slot_list *list, const char *prefix, const char *name, uint32_t out, uint32_t in,
                       vkf_tensor *target)
{
    add(list, prefix, name, 2, out, in, target);
    if (list->slots)
        list->slots[list->count - 1].linear = true;
}

static void add_norm(slot_list *list, const char *prefix, const char *name, uint32_t dim, vkf_norm_weights *norm)
{
    char full[24];
    snprintf(full, sizeof full, "%.8s.weight", name);
    add(list, prefix, full, 1, dim, 0, &norm->weight);
    snprintf(full, sizeof full, "%.8s.bias", name);
    add(list, prefix, full, 1, dim, 0, &norm->bias);
}

static void set_fusion(slot_list *list, vkf__fusion fusion)
{
    if (!list->slots)
        return;
    list->slots[list->count - 1].fusion = fusion;
    list->slots[list->count - 1].fusion_part = VKF_FUSION_ALL_PARTS;
}

// in_proj_weight is loaded as q_weight; vkf__weights_link() splits it later. Cross attention is no fusion, as its
// queries are projected from the target and its keys and values from the memory.
static void add_attention(slot_list *list, const char *prefix, const char *name, uint32_t dim, bool self,
                          vkf_attention_weights *attention)
{
    char base[80];
    snprintf(base, sizeof base, "%.50s%.20s.", prefix, name);
    add_linear(list, base, "in_proj_weight", 3 * dim, dim, &attention->q_weight);
    if (list->slots)
        list->slots[list->count - 1].cut = 3;
    set_fusion(list, self ? VKF_FUSION_QKV : VKF_FUSION_NONE);
    add(list, base, "in_proj_bias", 1, 3 * dim, 0, &attention->q_bias);
    set_fusion(list, self ? VKF_FUSION_QKV_BIAS : VKF_FUSION_NONE);
    add_linear(list, base, "out_proj.weight", dim, dim, &attention->out_weight);
    add(list, base, "out_proj.bias", 1, dim, 0, &attention->out_bias);
}

static void add_layer(slot_list *list, const char *prefix, const vkf_model_config *config, bool decoder,
                      vkf__layer_weights *layer)
{
    static const char *const norms[] = {"norm1", "norm2", "norm3"};
    uint32_t d = config->d_model, ff = config->dim_feedforward;
    size_t first = list->count;
    add_attention(list, prefix, "self_attn", d, true, &layer->self);
    if (decoder)
        add_attention(list, prefix, "multihead_attn", d, false, &layer->cross);
    add_linear(list, prefix, "linear1.weight", ff, d, &layer->feed_forward.weight1);
    add(list, prefix, "linear1.bias", 1, ff, 0, &layer->feed_forward.bias1);
    add_linear(list, prefix, "linear2.weight", d, ff, &layer->feed_forward.weight2);
    add(list, prefix, "linear2.bias", 1, d, 0, &layer->feed_forward.bias2);
    for (uint32_t i = 0; i < (decoder ? 3u : 2u); i++)
        add_norm(list, prefix, norms[i], d, &layer->norm[i]);
    for (size_t i = first; list->slots && i < list->count; i++)
        list->slots[i].layer = layer;
}

static void add_stack(slot_list *list, const vkf_model_config *config, const vkf__layer_part *part, bool decoder,
                      vkf__layer_weights *layers, vkf_norm_weights *norm)
{
    char stack[32], prefix[64];
    uint32_t count = decoder ? config->num_decoder_layers : config->num_encoder_layers;
    snprintf(stack, sizeof stack, "%s%s.", vkf__facts_of(config)->generates ? "transformer." : "",
             decoder ? "decoder" : "encoder");
    for (uint32_t i = 0; i < count; i++) {
        snprintf(prefix, sizeof prefix, "%slayers.%u.", stack, vkf__part_layer(part, decoder) + i);
        add_layer(list, prefix, config, decoder, &layers[i]);
    }
    if (count > 0 && vkf__part_ends(part, decoder))
        add_norm(list, stack, "norm", config->d_model, norm);
}

static void add_words(slot_list *list, const vkf_model_config *config, const vkf__layer_part *part,
                      vkf__weights *weights)
{
    const bool source = vkf__part_begins(part, false), target = vkf__part_begins(part, true);
    if (source || (target && config->share_embedding))
        add(list, "", "src_embed.weight", 2, config->source_vocab, config->d_model, &weights->source_embedding);
    if (target && !config->share_embedding)
        add(list, "", "tgt_embed.weight", 2, config->target_vocab, config->d_model, &weights->target_embedding);
}

static void add_projection(slot_list *list, const vkf_model_config *config, const vkf__layer_part *part,
                           vkf__weights *weights)
{
    const char *tied = config->share_embedding ? "src_embed.weight" : "tgt_embed.weight";
    add_linear(list, "", config->tie_projection ? tied : "generator.weight", config->target_vocab, config->d_model,
               &weights->projection);
    if (list->slots)
        list->slots[list->count - 1].tied = config->tie_projection && vkf__part_begins(part, true);
    if (config->projection_bias)
        add(list, "", "generator.bias", 1, config->target_vocab, 0, &weights->projection_bias);
}

size_t vkf__weight_slots(const vkf_model_config *config, const vkf__layer_part *part, vkf__weights *weights,
                         vkf__weight_slot *slots)
{
    slot_list list = {.slots = slots};
    const bool tokens = vkf__facts_of(config)->generates;
    add_stack(&list, config, part, false, weights->encoder, &weights->source.final_norm);
    add_stack(&list, config, part, true, weights->decoder, &weights->target.final_norm);
    if (tokens)
        add_words(&list, config, part, weights);
    if (tokens && vkf__part_chooses(part))
        add_projection(&list, config, part, weights);
    return list.count;
}

static vkf_tensor rows_of(const vkf_tensor *packed, uint32_t part)
{
    vkf_tensor view = *packed;
    uint64_t row_elements = packed->rank == 2 ? packed->shape[1] : 1;
    view.shape[0] = packed->shape[0] / 3;
    uint64_t blocks = view.shape[0] * row_elements / vkf_dtype_block_elements(packed->dtype);
    view.offset_bytes += part * blocks * vkf_dtype_block_bytes(packed->dtype);
    return view;
}

static void split_in_proj(vkf_attention_weights *attention)
{
    vkf_tensor weight = attention->q_weight, bias = attention->q_bias;
    attention->q_weight = rows_of(&weight, 0);
    attention->k_weight = rows_of(&weight, 1);
    attention->v_weight = rows_of(&weight, 2);
    attention->q_bias = rows_of(&bias, 0);
    attention->k_bias = rows_of(&bias, 1);
    attention->v_bias = rows_of(&bias, 2);
}

void vkf__weights_link(const vkf__model_source *source, vkf__weights *weights)
{
    const vkf_model_config *config = &source->config;
    for (uint32_t i = 0; !source->family && i < config->num_encoder_layers; i++)
        split_in_proj(&weights->encoder[i].self);
    for (uint32_t i = 0; !source->family && i < config->num_decoder_layers; i++) {
        split_in_proj(&weights->decoder[i].self);
        split_in_proj(&weights->decoder[i].cross);
    }
    if (config->share_embedding)
        weights->target_embedding = weights->source_embedding;
    if (config->tie_projection && weights->projection.rank == 0)
        weights->projection = weights->target_embedding;
}
