// Gradients of attention blocks and of encoder and decoder layers.
#include "lab/eval/eval_gradient_layers.h"

#include <string.h>

#include "layer/projection.h"

// A part of a packed weight and of its gradient.
static void put_part(const vkf_eval_leaf *leaf, uint64_t first, uint64_t count, vkf__span *out_span,
                     vkf__span *out_gradient)
{
    *out_span = vkf__span_part(&leaf->span, first, count);
    *out_gradient = vkf__span_part(&leaf->gradient, first, count);
}

static vkf_status projection(vkf_eval_gradients *g, const char *prefix, const char *name, vkf_eval_dims dims,
                             bool optional, vkf__span *out_span, vkf__span *out_gradient)
{
    vkf_eval_leaf leaf;
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, prefix, name, dims, optional, &leaf));
    *out_span = leaf.span;
    *out_gradient = leaf.gradient;
    return VKF_OK;
}

static vkf_status in_projections(vkf_eval_gradients *g, const char *prefix, const vkf__attention_block *block,
                                 vkf__attention_spans *p, vkf__attention_spans *to)
{
    const uint32_t e = block->embed_dim, k = block->kdim, v = block->vdim;
    const uint64_t square = (uint64_t)e * e;
    vkf_eval_leaf packed;
    if (k == e && v == e) {
        VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, prefix, "in_proj_weight", VKF_DIMS(3 * e, e), false, &packed));
        put_part(&packed, 0, square, &p->q_weight, &to->q_weight);
        put_part(&packed, square, square, &p->k_weight, &to->k_weight);
        put_part(&packed, 2 * square, square, &p->v_weight, &to->v_weight);
    } else {
        VKF_RETURN_IF_ERROR(projection(g, prefix, "q_proj_weight", VKF_DIMS(e, e), false, &p->q_weight, &to->q_weight));
        VKF_RETURN_IF_ERROR(projection(g, prefix, "k_proj_weight", VKF_DIMS(e, k), false, &p->k_weight, &to->k_weight));
        VKF_RETURN_IF_ERROR(projection(g, prefix, "v_proj_weight", VKF_DIMS(e, v), false, &p->v_weight, &to->v_weight));
    }
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, prefix, "in_proj_bias", VKF_DIMS(3 * e), true, &packed));
    if (vkf__present(&packed.span)) {
        put_part(&packed, 0, e, &p->q_bias, &to->q_bias);
        put_part(&packed, e, e, &p->k_bias, &to->k_bias);
        put_part(&packed, 2 * (uint64_t)e, e, &p->v_bias, &to->v_bias);
    }
    return VKF_OK;
}

// The parameters of a torch.nn.MultiheadAttention, with their gradients.
static vkf_status attention_weights(vkf_eval_gradients *g, const char *prefix, vkf__attention_block *block,
                                    vkf__attention_spans *to)
{
    const uint32_t e = block->embed_dim;
    vkf__attention_spans *p = &block->params;
    VKF_RETURN_IF_ERROR(in_projections(g, prefix, block, p, to));
    VKF_RETURN_IF_ERROR(projection(g, prefix, "bias_k", VKF_DIMS(1, 1, e), true, &p->bias_k, &to->bias_k));
    VKF_RETURN_IF_ERROR(projection(g, prefix, "bias_v", VKF_DIMS(1, 1, e), true, &p->bias_v, &to->bias_v));
    VKF_RETURN_IF_ERROR(
        projection(g, prefix, "out_proj.weight", VKF_DIMS(e, e), false, &p->out_weight, &to->out_weight));
    return projection(g, prefix, "out_proj.bias", VKF_DIMS(e), true, &p->out_bias, &to->out_bias);
}

static vkf__attention_block block_of(const vkf_eval_case *c, uint32_t embed_dim, uint32_t heads,
                                     const vkf_attention_mask *mask)
{
    return (vkf__attention_block){
        .embed_dim = embed_dim,
        .heads = heads,
        .kv_heads = heads,
        .head_dim = embed_dim / heads,
        .v_head_dim = embed_dim / heads,
        .kdim = embed_dim,
        .vdim = embed_dim,
        .mask = *mask,
        .fully_masked = c->settings.fully_masked,
        .dtype = VKF_DTYPE_F32,
    };
}

vkf_status vkf__eval_gradient_masks(vkf_eval_gradients *g, const char *mask, const char *key_mask,
                                    const vkf_eval_attention_sizes *sizes, vkf_eval_mask_spans *out)
{
    vkf_eval_masks masks = {0};
    VKF_RETURN_IF_ERROR(vkf__eval_masks(g->c, mask, key_mask, sizes, &masks));
    out->desc = masks.desc;
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_mask(g, masks.mask, masks.desc.kind, &out->mask));
    return vkf__eval_gradient_mask(g, masks.key_mask, masks.desc.key_kind, &out->key_mask);
}

// ---- mha

typedef struct mha_case {
    vkf_eval_gradients *g;
    vkf__attention_block block;
    vkf__attention_gradients gradients;
    vkf_eval_mask_spans masks;
    vkf_eval_leaf query, key, value, output;
    vkf_eval_leaf weights; // absent where the case does not ask for them
    bool itself;
    uint32_t batch, queries, keys;
} mha_case;

// The weights, averaged over the heads, have no gradient: a block of their own gives them.
static vkf_status emit_weights(vkf__work *work, const mha_case *m, const vkf__attention_sizes *sizes)
{
    vkf__attention_io io = {
        .query = m->query.span,
        .key = m->itself ? m->query.span : m->key.span,
        .value = m->itself ? m->query.span : m->value.span,
        .one_input = m->itself,
        .mask = m->masks.mask,
        .key_mask = m->masks.key_mask,
        .weights = m->weights.span,
    };
    VKF_RETURN_IF_ERROR(
        vkf__work_temp(work, VKF_DTYPE_F32, (uint64_t)m->batch * m->queries * m->block.embed_dim, &io.out));
    return vkf__emit_attention_block(work, &m->block, &io, sizes);
}

static vkf_status emit_mha(vkf__work *work, const void *args)
{
    const mha_case *m = args;
    const vkf__attention_sizes sizes = vkf__uncached(m->batch, m->queries, m->keys);
    vkf__attention_operands operands = {.mask = m->masks.mask, .key_mask = m->masks.key_mask};
    vkf__value out;
    VKF_RETURN_IF_ERROR(
        vkf__eval_state_leaf(m->g, &m->query, m->batch * m->queries, m->block.embed_dim, &operands.query));
    operands.key = operands.value = operands.query;
    if (!m->itself) {
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(m->g, &m->key, m->batch * m->keys, m->block.kdim, &operands.key));
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(m->g, &m->value, m->batch * m->keys, m->block.vdim, &operands.value));
    }
    VKF_RETURN_IF_ERROR(vkf__record_attention_block(&m->g->tape, &m->block, &m->gradients, &operands, &sizes, &out));
    if (vkf__present(&m->weights.span))
        VKF_RETURN_IF_ERROR(emit_weights(work, m, &sizes));
    return vkf__eval_state_output(m->g, out, &m->output);
}

static vkf_status read_mha(vkf_eval_gradients *g, mha_case *m)
{
    const vkf_eval_case *c = g->c;
    uint32_t embed_dim = 0, heads = 0;
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "embed_dim", &embed_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "num_heads", &heads));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &m->batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "tgt_len", &m->queries));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "src_len", &m->keys));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "self_attention", &m->itself));
    const vkf_eval_attention_sizes sizes = {m->batch, heads, m->queries, m->keys};
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_masks(g, "attn_mask", "key_padding_mask", &sizes, &m->masks));
    m->block = block_of(c, embed_dim, heads, &m->masks.desc);
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "kdim", &m->block.kdim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "vdim", &m->block.vdim));
    return vkf__eval_bool(c, "add_zero_attn", &m->block.add_zero_attn);
}

vkf_status vkf__eval_gradient_mha(vkf_eval_gradients *g)
{
    mha_case m = {.g = g};
    const char *weights = NULL;
    VKF_RETURN_IF_ERROR(read_mha(g, &m));
    VKF_RETURN_IF_ERROR(vkf__json_string(g->c->settings.host, g->c->config_path, g->c->config, "weights", &weights));
    const uint32_t b = m.batch, l = m.queries, s = m.keys, e = m.block.embed_dim;
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "query", VKF_DIMS(b, l, e), &m.query));
    if (!m.itself) {
        VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "key", VKF_DIMS(b, s, m.block.kdim), &m.key));
        VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "value", VKF_DIMS(b, s, m.block.vdim), &m.value));
    }
    VKF_RETURN_IF_ERROR(attention_weights(g, "", &m.block, &m.gradients.params));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "output", VKF_DIMS(b, l, e), &m.output));
    if (strcmp(weights, "average") == 0)
        VKF_RETURN_IF_ERROR(
            vkf__eval_gradient_output(g, "attn_weights", VKF_DIMS(b, l, s + vkf__extra_keys(&m.block)), &m.weights));
    return vkf__eval_run_gradients(g, emit_mha, &m);
}

// ---- layers

vkf_status vkf__eval_state_layer(vkf_eval_gradients *g, const vkf_eval_layer *l, vkf__value x, vkf__value memory,
                                 vkf__value *out_value)
{
    const vkf__attention_sizes self = vkf__uncached(l->batch, l->queries, l->queries),
                               cross = vkf__uncached(l->batch, l->queries, l->keys);
    const vkf__transformer_operands operands = {.x = x,
                                                .memory = memory,
                                                .mask = l->self.mask,
                                                .key_mask = l->self.key_mask,
                                                .memory_mask = l->cross.mask,
                                                .memory_key_mask = l->cross.key_mask};
    return vkf__record_transformer_layer(&g->tape, &l->block, &l->gradients, &operands, &self, &cross, out_value);
}

static vkf_status norm(vkf_eval_gradients *g, const char *prefix, const char *name, vkf_eval_layer *l, uint32_t index)
{
    vkf__norm_block *to = &l->block.norm[index], *gradients = &l->gradients.norm[index];
    const vkf_eval_dims dims = VKF_DIMS(l->block.d_model);
    char *full = NULL;
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_name(g, prefix, name, ".", &full));
    VKF_RETURN_IF_ERROR(projection(g, full, "weight", dims, false, &to->weight, &gradients->weight));
    return projection(g, full, "bias", dims, false, &to->bias, &gradients->bias);
}

static vkf_status feed_forward(vkf_eval_gradients *g, const char *prefix, vkf_eval_layer *l)
{
    vkf__feed_forward_block *ff = &l->block.feed_forward;
    vkf__transformer_gradients *to = &l->gradients;
    const uint32_t e = ff->d_model, f = ff->dim_feedforward;
    VKF_RETURN_IF_ERROR(projection(g, prefix, "linear1.weight", VKF_DIMS(f, e), false, &ff->weight1, &to->weight1));
    VKF_RETURN_IF_ERROR(projection(g, prefix, "linear1.bias", VKF_DIMS(f), false, &ff->bias1, &to->bias1));
    VKF_RETURN_IF_ERROR(projection(g, prefix, "linear2.weight", VKF_DIMS(e, f), false, &ff->weight2, &to->weight2));
    return projection(g, prefix, "linear2.bias", VKF_DIMS(e), false, &ff->bias2, &to->bias2);
}

static vkf_status cross_attention(vkf_eval_gradients *g, const char *prefix, const vkf_eval_architecture *a,
                                  vkf_eval_layer *l)
{
    char *full = NULL;
    l->block.cross = block_of(g->c, a->d_model, a->num_heads, &l->cross.desc);
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_name(g, prefix, "multihead_attn", ".", &full));
    VKF_RETURN_IF_ERROR(attention_weights(g, full, &l->block.cross, &l->gradients.cross.params));
    return norm(g, prefix, "norm3", l, 2);
}

vkf_status vkf__eval_gradient_layer(vkf_eval_gradients *g, const char *prefix, const vkf_eval_architecture *a,
                                    vkf_eval_layer *l)
{
    char *full = NULL;
    l->batch = a->batch;
    l->block.d_model = a->d_model;
    l->block.norm_first = a->norm_first;
    l->block.layer_norm_eps = a->layer_norm_eps;
    l->block.dtype = VKF_DTYPE_F32;
    l->block.self = block_of(g->c, a->d_model, a->num_heads, &l->self.desc);
    l->block.feed_forward = (vkf__feed_forward_block){
        .d_model = a->d_model,
        .dim_feedforward = a->dim_feedforward,
        .activation = a->activation,
        .dtype = VKF_DTYPE_F32,
    };
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_name(g, prefix, "self_attn", ".", &full));
    VKF_RETURN_IF_ERROR(attention_weights(g, full, &l->block.self, &l->gradients.self.params));
    VKF_RETURN_IF_ERROR(feed_forward(g, prefix, l));
    VKF_RETURN_IF_ERROR(norm(g, prefix, "norm1", l, 0));
    VKF_RETURN_IF_ERROR(norm(g, prefix, "norm2", l, 1));
    return l->keys > 0 ? cross_attention(g, prefix, a, l) : VKF_OK;
}

typedef struct layer_case {
    vkf_eval_gradients *g;
    vkf_eval_layer layer;
    vkf_eval_leaf x, memory, output;
} layer_case;

static vkf_status emit_layer(vkf__work *work, const void *args)
{
    const layer_case *c = args;
    const vkf_eval_layer *l = &c->layer;
    (void)work;
    vkf__value x, memory = 0, out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(c->g, &c->x, l->batch * l->queries, l->block.d_model, &x));
    if (l->keys > 0)
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(c->g, &c->memory, l->batch * l->keys, l->block.d_model, &memory));
    VKF_RETURN_IF_ERROR(vkf__eval_state_layer(c->g, l, x, memory, &out));
    return vkf__eval_state_output(c->g, out, &c->output);
}

vkf_status vkf__eval_gradient_encoder_layer(vkf_eval_gradients *g)
{
    layer_case c = {.g = g};
    vkf_eval_layer *l = &c.layer;
    vkf_eval_architecture a;
    VKF_RETURN_IF_ERROR(vkf__eval_architecture(g->c, &a));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "src_len", &l->queries));
    const vkf_eval_attention_sizes sizes = {a.batch, a.num_heads, l->queries, l->queries};
    const vkf_eval_dims stream = VKF_DIMS(a.batch, l->queries, a.d_model);
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_masks(g, "src_mask", "src_key_padding_mask", &sizes, &l->self));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "src", stream, &c.x));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_layer(g, "", &a, l));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "output", stream, &c.output));
    return vkf__eval_run_gradients(g, emit_layer, &c);
}

vkf_status vkf__eval_gradient_decoder_layer(vkf_eval_gradients *g)
{
    layer_case c = {.g = g};
    vkf_eval_layer *l = &c.layer;
    vkf_eval_architecture a;
    VKF_RETURN_IF_ERROR(vkf__eval_architecture(g->c, &a));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "tgt_len", &l->queries));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "src_len", &l->keys));
    const vkf_eval_attention_sizes self = {a.batch, a.num_heads, l->queries, l->queries},
                                   cross = {a.batch, a.num_heads, l->queries, l->keys};
    const vkf_eval_dims stream = VKF_DIMS(a.batch, l->queries, a.d_model);
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_masks(g, "tgt_mask", "tgt_key_padding_mask", &self, &l->self));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_masks(g, "memory_mask", "memory_key_padding_mask", &cross, &l->cross));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "tgt", stream, &c.x));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "memory", VKF_DIMS(a.batch, l->keys, a.d_model), &c.memory));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_layer(g, "", &a, l));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "output", stream, &c.output));
    return vkf__eval_run_gradients(g, emit_layer, &c);
}
