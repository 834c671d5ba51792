// Checks configurations, and fills in what they leave at 0.
#include "model/family/config.h"

vkf__stack vkf__stack_of(const vkf_model_config *config, bool target)
{
    const vkf__kind_facts *facts = vkf__facts_of(config);
    bool own = target && facts->own_decoder;
    uint32_t heads = own && config->num_decoder_heads > 0 ? config->num_decoder_heads : config->num_heads;
    uint32_t hidden =
        own && config->dim_decoder_feedforward > 0 ? config->dim_decoder_feedforward : config->dim_feedforward;
    bool grouped = config->num_kv_heads > 0 && facts->grouped_heads;
    return (vkf__stack){
        .layers = target ? config->num_decoder_layers : config->num_encoder_layers,
        .heads = heads,
        .kv_heads = grouped ? config->num_kv_heads : heads,
        .head_dim = config->head_dim > 0 ? config->head_dim : config->d_model / heads,
        .dim_feedforward = hidden,
        .positions = config->position_offset + (target ? config->max_target_len : config->max_source_len),
    };
}

uint32_t vkf__text_vocab(const vkf_model_config *config)
{
    return vkf__facts_of(config)->prompts ? config->target_vocab : config->source_vocab;
}

uint32_t vkf__text_positions(const vkf_model_config *config)
{
    return vkf__facts_of(config)->prompts ? config->max_target_len : config->max_source_len;
}

static const char *token_problem(const vkf_model_config *c)
{
    const int32_t ids[] = {c->pad_id, c->bos_id, c->eos_id};
    if (c->source_vocab == 0 || c->target_vocab == 0 || c->source_vocab > VKF_MAX_VOCAB ||
        c->target_vocab > VKF_MAX_VOCAB)
        return "a vocabulary is empty or too large";
    if (c->positions >= VKF_POSITIONS_COUNT)
        return "the positions are unknown";
    for (int target = 0; target < 2; target++) {
        const vkf__stack stack = vkf__stack_of(c, target != 0);
        if (stack.heads > VKF_MAX_DIM / stack.head_dim || stack.dim_feedforward > VKF_MAX_DIM)
            return "the heads of a layer, or its dim_feedforward, are too large";
    }
    if (c->relative_buckets > 0 && (c->relative_buckets < 4 || c->relative_distance <= c->relative_buckets / 2))
        return "there are fewer than 4 relative buckets, or no distances for them";
    if (c->share_embedding && c->source_vocab != c->target_vocab)
        return "a shared embedding needs equal vocabularies";
    for (size_t i = 0; i < 3; i++) {
        if (ids[i] < (i == 1 ? 0 : -1) || ids[i] >= (int32_t)c->target_vocab)
            return "pad_id, bos_id or eos_id is outside the target vocabulary";
    }
    return NULL;
}

// For layers that may have grouped heads and rotary positions.
static const char *heads_problem(const vkf_model_config *c)
{
    if (c->num_kv_heads == 0 || c->num_heads % c->num_kv_heads != 0)
        return "num_heads (num_attention_heads) is no multiple of num_kv_heads (num_key_value_heads)";
    if (c->head_dim == 0 || c->head_dim > VKF_MAX_DIM / c->num_heads)
        return "head_dim is 0, or too large for num_heads (num_attention_heads)";
    if (c->rotary.dim % 2 != 0 || c->rotary.dim > c->head_dim || c->rotary.dim > VKF_MAX_ROTARY_DIM)
        return "rotary.dim is odd, or beyond a head";
    return c->norm < VKF_NORM_KIND_COUNT ? NULL : "the norm is unknown";
}

static const char *encoder_problem(const vkf_model_config *c)
{
    if (c->source_vocab == 0 || c->source_vocab > VKF_MAX_VOCAB)
        return "the vocabulary is empty or too large";
    if (c->max_source_len == 0 || c->max_source_len > VKF_MAX_LEN || c->position_offset > VKF_MAX_LEN)
        return "there are no positions, or too many";
    if (c->num_encoder_layers == 0 || c->num_decoder_layers > 0)
        return "an encoder has layers, and no decoder";
    if (c->head >= VKF_HEAD_COUNT || (c->head != VKF_HEAD_NONE && c->head_outputs == 0))
        return "the head is unknown, or says nothing";
    return c->causal ? heads_problem(c) : NULL;
}

static const char *decoder_problem(const vkf_model_config *c)
{
    if (c->target_vocab == 0 || c->target_vocab > VKF_MAX_VOCAB)
        return "the vocabulary is empty or too large";
    if (c->max_target_len == 0 || c->max_target_len > VKF_MAX_LEN)
        return "there are no positions, or too many";
    if (c->num_decoder_layers == 0 || c->num_encoder_layers > 0 || !c->norm_first)
        return "a decoder has layers, pre-norm ones, and no encoder";
    return heads_problem(c);
}

// Where no head_dim is given, d_model is divided evenly among the heads.
static bool heads_divide(const vkf_model_config *c)
{
    return c->d_model % c->num_heads == 0 && (c->num_decoder_heads == 0 || c->d_model % c->num_decoder_heads == 0);
}

vkf_status vkf__config_check(const vkf__host *host, const vkf_model_config *c, const char *where)
{
    // The checks that only models of one kind need.
    static const char *(*const problem_of[VKF_MODEL_KIND_COUNT])(const vkf_model_config *) = {
        [VKF_MODEL_SEQ2SEQ] = token_problem,
        [VKF_MODEL_ENCODER] = encoder_problem,
        [VKF_MODEL_DECODER] = decoder_problem,
    };
    const char *problem = NULL;
    if (c->kind >= VKF_MODEL_KIND_COUNT)
        problem = "the kind is unknown";
    else if (c->d_model == 0 || c->d_model > VKF_MAX_DIM || c->dim_feedforward == 0 || c->dim_feedforward > VKF_MAX_DIM)
        problem = "d_model or dim_feedforward is 0 or too large";
    else if (c->num_heads == 0 || (c->head_dim == 0 && !heads_divide(c)))
        problem = "d_model is no multiple of the number of heads";
    else if (c->num_encoder_layers > VKF_MAX_LAYERS || c->num_decoder_layers > VKF_MAX_LAYERS ||
             c->num_encoder_layers + c->num_decoder_layers == 0)
        problem = "there are no layers, or too many";
    else if (!(c->layer_norm_eps >= 0.0f && c->layer_norm_eps < 1.0f))
        problem = "layer_norm_eps is not between 0 and 1";
    else if (c->activation >= VKF_ACTIVATION_COUNT)
        problem = "the activation is unknown";
    else if (problem_of[c->kind])
        problem = problem_of[c->kind](c);
    if (!problem)
        return VKF_OK;
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: %s", where, problem);
}
