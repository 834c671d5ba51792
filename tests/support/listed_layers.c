// Emits the layers whose barriers are listed.
#include "listed_layers.h"

const listed_layer listed_layers[LISTED_LAYERS] = {
    {
        .name = "encoder",
        .list = "self_attn.qkv_proj | self_attn.attention | self_attn.out_proj | norm1 | linear1 | linear2 | norm2",
    },
    {
        .name = "encoder-separate-pre-norm",
        .norm_first = true,
        .apart = true,
        .list = "norm1 | self_attn.q_proj, self_attn.k_proj, self_attn.v_proj | self_attn.attention | "
                "self_attn.out_proj | norm2 | linear1 | linear2",
    },
    {
        .name = "encoder-weights",
        .weights = true,
        .list = "self_attn.qkv_proj | self_attn.scores | self_attn.softmax | self_attn.context | self_attn.out_proj | "
                "norm1 | linear1 | linear2 | norm2",
    },
    {
        .name = "decoder",
        .decoder = true,
        .list = "self_attn.qkv_proj | self_attn.attention | self_attn.out_proj | norm1 | "
                "multihead_attn.q_proj, multihead_attn.k_proj, multihead_attn.v_proj | multihead_attn.attention | "
                "multihead_attn.out_proj | norm2 | linear1 | linear2 | norm3",
    },
    {
        .name = "decoder-separate-pre-norm-weights",
        .decoder = true,
        .norm_first = true,
        .apart = true,
        .weights = true,
        .list = "norm1 | self_attn.q_proj, self_attn.k_proj, self_attn.v_proj | self_attn.scores | self_attn.softmax | "
                "self_attn.context | self_attn.out_proj | norm2 | "
                "multihead_attn.q_proj, multihead_attn.k_proj, multihead_attn.v_proj | multihead_attn.scores | "
                "multihead_attn.softmax | multihead_attn.context | multihead_attn.out_proj | norm3 | linear1 | linear2",
    },
};

static vkf_tensor view(const vkf_tensor *pool, uint64_t first, uint32_t rows, uint32_t cols)
{
    vkf_tensor tensor = *pool;
    tensor.offset_bytes = first * sizeof(float);
    tensor.rank = cols > 0 ? 2 : 1;
    tensor.shape[0] = rows;
    tensor.shape[1] = cols;
    return tensor;
}

static vkf_attention_weights attention_params(const vkf_tensor *pool, bool apart)
{
    const uint32_t d = LISTED_DIM;
    const uint32_t k = apart ? 2 : 1, v = apart ? 1 : 2;
    return (vkf_attention_weights){
        .q_weight = view(pool, 0, d, d),
        .k_weight = view(pool, k * d * d, d, d),
        .v_weight = view(pool, v * d * d, d, d),
        .q_bias = view(pool, 0, d, 0),
        .k_bias = view(pool, k * d, d, 0),
        .v_bias = view(pool, v * d, d, 0),
        .out_weight = view(pool, 0, d, d),
        .out_bias = view(pool, 0, d, 0),
        .in_proj = !apart,
    };
}

vkf_transformer_layer_desc listed_layer_desc(const listed_layer *layer, const vkf_tensor *pool)
{
    const uint32_t d = LISTED_DIM;
    const vkf_norm_weights norm = {view(pool, 0, d, 0), view(pool, d, d, 0)};
    return (vkf_transformer_layer_desc){
        .d_model = d,
        .num_heads = LISTED_HEADS,
        .dim_feedforward = LISTED_HIDDEN,
        .activation = VKF_ACTIVATION_RELU,
        .norm_first = layer->norm_first,
        .layer_norm_eps = 1e-5f,
        .self = attention_params(pool, layer->apart),
        .cross = attention_params(pool, layer->apart),
        .feed_forward =
            {
                .weight1 = view(pool, 0, LISTED_HIDDEN, d),
                .bias1 = view(pool, 0, LISTED_HIDDEN, 0),
                .weight2 = view(pool, 0, d, LISTED_HIDDEN),
                .bias2 = view(pool, 0, d, 0),
            },
        .norm1 = norm,
        .norm2 = norm,
        .norm3 = norm,
        .max_sizes = {LISTED_BATCH, LISTED_LEN, layer->decoder ? LISTED_MEMORY_LEN : 0},
    };
}

vkf_status listed_layer_emit(vkf__work *work, const void *args)
{
    const listed_layer *layer = ((const listed_args *)args)->layer;
    const listed_io *io = ((const listed_args *)args)->io;
    const vkf_transformer_layer_desc desc = listed_layer_desc(layer, &io->pool);
    const vkf__transformer_block block = vkf__transformer_block_of(&desc);
    vkf__transformer_io spans = {.x = vkf__span_of(&io->x), .cross = {.key = vkf__span_of(&io->memory)}};
    const vkf__attention_sizes self = vkf__uncached(LISTED_BATCH, LISTED_LEN, LISTED_LEN);
    const vkf__attention_sizes cross = vkf__uncached(LISTED_BATCH, LISTED_LEN, LISTED_MEMORY_LEN);
    if (layer->weights) {
        spans.self.weights_per_head = vkf__span_of(&io->self_weights);
        spans.cross.weights_per_head = vkf__span_of(&io->cross_weights);
    }
    if (!layer->decoder)
        return vkf__emit_encoder_layer(work, &block, &spans, &self);
    return vkf__emit_decoder_layer(work, &block, &spans, &self, &cross);
}
