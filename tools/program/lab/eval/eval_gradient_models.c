// Gradients of whole models: transformer.
#include <stdio.h>

#include "lab/eval/eval_gradient_layers.h"

// One of both sides of a torch.nn.Transformer.
typedef struct stack {
    uint32_t count;
    vkf_eval_layer *layers;
    vkf_eval_leaf norm_weight, norm_bias, input, output;
} stack;

typedef struct transformer_case {
    vkf_eval_gradients *g;
    vkf_eval_architecture architecture;
    stack encoder, decoder;
} transformer_case;

static vkf_status record_stack(const transformer_case *t, const stack *s, vkf__value memory, vkf__value *out_value)
{
    const vkf_eval_layer *first = &s->layers[0];
    vkf__norm_values norm = {.eps = first->block.layer_norm_eps};
    const uint32_t d_model = t->architecture.d_model;
    vkf__value x;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(t->g, &s->input, first->batch * first->queries, d_model, &x));
    for (uint32_t i = 0; i < s->count; i++)
        VKF_RETURN_IF_ERROR(vkf__eval_state_layer(t->g, &s->layers[i], x, memory, &x));
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(t->g, &s->norm_weight, 1, d_model, &norm.weight));
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(t->g, &s->norm_bias, 1, d_model, &norm.bias));
    VKF_RETURN_IF_ERROR(vkf__record_norm(&t->g->tape, "norm", x, &norm, out_value));
    return vkf__eval_state_output(t->g, *out_value, &s->output);
}

static vkf_status emit_transformer(vkf__work *work, const void *args)
{
    const transformer_case *t = args;
    (void)work;
    vkf__value memory, out;
    VKF_RETURN_IF_ERROR(record_stack(t, &t->encoder, 0, &memory));
    return record_stack(t, &t->decoder, memory, &out);
}

// Layers that are all like the first, but for their parameters.
static vkf_status read_stack(vkf_eval_gradients *g, const char *name, const vkf_eval_architecture *a,
                             const vkf_eval_layer *like, stack *out)
{
    const vkf_eval_dims norm = VKF_DIMS(a->d_model);
    void *layers = NULL;
    char *full = NULL, number[16];
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(g->c, out->count, sizeof *out->layers, &layers));
    out->layers = layers;
    for (uint32_t i = 0; i < out->count; i++) {
        (void)snprintf(number, sizeof number, "%u.", i);
        VKF_RETURN_IF_ERROR(vkf__eval_gradient_name(g, name, ".layers.", number, &full));
        out->layers[i] = *like;
        VKF_RETURN_IF_ERROR(vkf__eval_gradient_layer(g, full, a, &out->layers[i]));
    }
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_name(g, name, ".norm", ".", &full));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, full, "weight", norm, false, &out->norm_weight));
    return vkf__eval_gradient_weight(g, full, "bias", norm, false, &out->norm_bias);
}

vkf_status vkf__eval_gradient_transformer(vkf_eval_gradients *g)
{
    transformer_case t = {.g = g};
    vkf_eval_architecture *a = &t.architecture;
    vkf_eval_layer encoder = {0}, decoder = {0};
    VKF_RETURN_IF_ERROR(vkf__eval_architecture(g->c, a));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "num_encoder_layers", &t.encoder.count));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "num_decoder_layers", &t.decoder.count));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "src_len", &encoder.queries));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "tgt_len", &decoder.queries));
    decoder.keys = encoder.queries;
    const uint32_t s = encoder.queries, l = decoder.queries;
    const vkf_eval_attention_sizes source = {a->batch, a->num_heads, s, s}, target = {a->batch, a->num_heads, l, l},
                                   memory = {a->batch, a->num_heads, l, s};
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_masks(g, "src_mask", "src_key_padding_mask", &source, &encoder.self));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_masks(g, "tgt_mask", "tgt_key_padding_mask", &target, &decoder.self));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_masks(g, "memory_mask", "memory_key_padding_mask", &memory, &decoder.cross));
    VKF_RETURN_IF_ERROR(read_stack(g, "encoder", a, &encoder, &t.encoder));
    VKF_RETURN_IF_ERROR(read_stack(g, "decoder", a, &decoder, &t.decoder));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "src", VKF_DIMS(a->batch, s, a->d_model), &t.encoder.input));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "tgt", VKF_DIMS(a->batch, l, a->d_model), &t.decoder.input));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "memory", VKF_DIMS(a->batch, s, a->d_model), &t.encoder.output));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "output", VKF_DIMS(a->batch, l, a->d_model), &t.decoder.output));
    return vkf__eval_run_gradients(g, emit_transformer, &t);
}
