// Where each span of a session lies in its buffers, and how large these are.
#include "model/session/session_layout.h"

#include "base/size.h"
#include "op/softmax.h"

// Appends spans to a buffer that may not exist yet.
typedef struct region {
    vkf_buffer *buffer;
    uint64_t bytes;
    uint32_t alignment;
    bool overflow;
} region;

static vkf__span append(region *r, vkf_dtype dtype, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t factors[] = {a, b, c, vkf_dtype_size(dtype)};
    uint64_t bytes = 0;
    if (!vkf__product_u64(factors, 4, &bytes) || bytes > UINT64_MAX / 4 || r->bytes > UINT64_MAX / 4) {
        r->overflow = true;
        return (vkf__span){0};
    }
    vkf__span span = {.buffer = r->buffer, .offset_bytes = r->bytes, .size_bytes = bytes, .dtype = dtype};
    r->bytes += vkf__align_u64(bytes, r->alignment);
    return span;
}

static void append_masks(region *r, const vkf_attention_mask *mask, uint64_t batch, uint64_t heads, uint64_t rows,
                         uint64_t keys, vkf__span *out_mask, vkf__span *out_key_mask)
{
    *out_mask = *out_key_mask = (vkf__span){0};
    if (mask->kind != VKF_MASK_NONE)
        *out_mask = append(r, vkf__mask_dtype(mask->kind), mask->per_head ? batch * heads : 1, rows, keys);
    if (mask->key_kind != VKF_MASK_NONE)
        *out_key_mask =
            append(r, vkf__mask_dtype(mask->key_kind), batch, mask->key_kind == VKF_MASK_LENGTHS ? 1 : keys, 1);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void lay_out_attention(vkf_session *session, region *r)
{
    for (vkf__kept_attention *kept = session->kept; kept < session->kept + VKF_KEPT_COUNT; kept++) {
        uint64_t planes = (uint64_t)session->desc.max_batch * kept->heads, begin = r->bytes;
        for (uint32_t i = 0; i < kept->layers; i++) {
            const vkf__span span = append(r, VKF_DTYPE_F32, planes, kept->run_queries, kept->keys);
            if (i == 0) {
                kept->first = span;
                kept->stride_bytes = r->bytes - begin;
            }
        }
    }
}

static void lay_out_state(vkf_session *session, region *r)
{
    const vkf_model_config *config = &session->model->config;
    const vkf_session_desc *desc = &session->desc;
    vkf__session_spans *s = &session->spans;
    vkf_dtype dtype = session->model->dtype;
    uint64_t b = desc->max_batch, h = vkf__stack_of(config, true).heads, d = config->d_model;
    uint64_t source = desc->max_source_len, target = desc->max_target_len;
    const vkf__kind_facts *facts = vkf__facts_of(config);
    const bool chooses = vkf__part_chooses(&session->model->part);
    if (facts->encodes)
        s->memory = append(r, dtype, b, source, d);
    s->hidden = append(r, dtype, b, larger(desc->max_prompt_len, desc->max_beams), d);
    if (facts->prompts && chooses)
        s->logit_hidden = append(r, dtype, b, larger(desc->max_logit_rows, 1), d);
    if (facts->generates && chooses)
        s->logits = append(r, VKF_DTYPE_F32, b, larger(desc->max_logit_rows, desc->max_beams), config->target_vocab);
    if (facts->pools)
        s->embeddings = append(r, VKF_DTYPE_F32, b, config->embedding_dim, 1);
    if (vkf__session_has_head(session))
        s->logits = append(r, VKF_DTYPE_F32, b, config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION ? 1 : source,
                           config->head_outputs);
    append_masks(r, &desc->source_mask, b, h, source, source, &s->source_mask, &s->source_key_mask);
    append_masks(r, &desc->target_mask, b * desc->max_beams, h, target, target, &s->target_mask, &s->target_key_mask);
    append_masks(r, &desc->memory_mask, b, h, target, source, &s->memory_mask, &s->memory_key_mask);
    lay_out_attention(session, r);
}

static void lay_out_cache(vkf_session *session, uint32_t layer, region *r)
{
    const vkf_model_config *config = &session->model->config;
    vkf__session_spans *s = &session->spans;
    vkf_dtype dtype = session->desc.cache_dtype;
    const vkf__stack stack = vkf__stack_of(config, true);
    uint64_t b = session->desc.max_batch, width = (uint64_t)stack.kv_heads * stack.head_dim;
    uint64_t rows = b * session->desc.max_beams;
    s->self_k[layer] = append(r, dtype, rows, vkf__cache_len(session), width);
    s->self_v[layer] = append(r, dtype, rows, vkf__cache_len(session), width);
    if (!vkf__facts_of(config)->crosses)
        return;
    s->cross_k[layer] = append(r, dtype, b, session->desc.max_source_len, width);
    s->cross_v[layer] = append(r, dtype, b, session->desc.max_source_len, width);
}

bool vkf__has_position_ids(const vkf_model_config *config)
{
    return vkf__facts_of(config)->source_lengths && config->position_offset > 0;
}

bool vkf__session_has_head(const vkf_session *session)
{
    const vkf_model_config *config = &session->model->config;
    return vkf__facts_of(config)->pools && config->head != VKF_HEAD_NONE && session->desc.max_logit_rows > 0;
}

uint32_t vkf__ids_lead(const vkf_session *session)
{
    return vkf__facts_of(&session->model->config)->prompts ? 1 : 0;
}

uint32_t vkf__cache_len(const vkf_session *session)
{
    const vkf__stack stack = vkf__stack_of(&session->model->config, true);
    uint32_t len = session->desc.max_target_len;
    bool odd = stack.kv_heads * stack.head_dim % 2 != 0 && len % 2 != 0;
    return len + (odd && session->desc.max_beams > 1);
}

uint32_t vkf__max_candidates(const vkf_session *session)
{
    const vkf_model_config *config = &session->model->config;
    uint32_t most = (1 + VKF_MAX_EOS) * session->desc.max_beams + config->banned_count;
    if (session->desc.max_beams < 2)
        return 0;
    return most < config->target_vocab ? most : config->target_vocab;
}

uint32_t vkf__ids_row(const vkf_session *session)
{
    return vkf__ids_lead(session) + session->desc.max_target_len;
}

static void lay_out_constants(vkf_session *session, region *r)
{
    const vkf_model_config *config = &session->model->config;
    const vkf_session_desc *desc = &session->desc;
    const vkf__layer_part *part = &session->model->part;
    const vkf__kind_facts *facts = vkf__facts_of(config);
    vkf__session_spans *s = &session->spans;
    const bool tokens = facts->source_ids || facts->generates;
    const bool embeds = tokens && (vkf__part_begins(part, false) || vkf__part_begins(part, true));
    uint32_t longest = desc->max_source_len > desc->max_target_len ? desc->max_source_len : desc->max_target_len;
    if (config->relative_buckets > 0 && config->num_encoder_layers > 0)
        s->source_bias = append(r, VKF_DTYPE_F32, config->num_heads, desc->max_source_len, desc->max_source_len);
    if (config->relative_buckets > 0 && config->num_decoder_layers > 0) {
        uint32_t heads = vkf__stack_of(config, true).heads;
        s->target_bias = append(r, VKF_DTYPE_F32, heads, desc->max_target_len, desc->max_target_len);
        s->step_bias = append(r, VKF_DTYPE_F32, heads, desc->max_target_len, 1);
    }
    if (config->banned_count > 0)
        s->lowest = append(r, VKF_DTYPE_F32, 1, 1, 1);
    if (embeds && config->positions <= VKF_POSITIONS_SINUSOIDAL_HALVES)
        s->positions = append(r, VKF_DTYPE_F32, longest, config->d_model, 1);
    if (config->rotary.dim > 0)
        s->rotary = append(r, VKF_DTYPE_F32, longest, config->rotary.dim, 1);
    if (config->window_rotary.dim > 0)
        s->window_rotary = append(r, VKF_DTYPE_F32, longest, config->window_rotary.dim, 1);
}

static void lay_out_tokens(vkf_session *session, region *ids)
{
    const vkf_model_config *config = &session->model->config;
    const vkf_session_desc *desc = &session->desc;
    vkf__session_spans *s = &session->spans;
    const vkf__kind_facts *facts = vkf__facts_of(config);
    if (facts->source_ids)
        s->source_ids =
            append(ids, VKF_DTYPE_I32, desc->max_batch, desc->max_source_len, vkf__has_position_ids(config) ? 2 : 1);
    if (facts->generates) {
        uint64_t rows = (uint64_t)desc->max_batch * desc->max_beams;
        s->target_ids = append(ids, VKF_DTYPE_I32, rows, vkf__ids_row(session), 1);
        s->seen = append(ids, VKF_DTYPE_I32, rows, (config->target_vocab + 31) / 32, 1);
        if (desc->max_beams > 1) {
            s->moves = append(ids, VKF_DTYPE_I32, rows + rows / 2, 2, 1);
            s->top = append(ids, VKF_DTYPE_F32, rows, vkf__max_candidates(session), 2);
        }
    }
    if (facts->source_lengths && config->token_types > 0)
        s->source_types = append(ids, VKF_DTYPE_I32, desc->max_batch, desc->max_source_len, 1);
}

static vkf_status allocate_arrays(vkf_session *session)
{
    const vkf__host *host = &session->context->host;
    vkf__session_spans *s = &session->spans;
    uint32_t layers = session->model->config.num_decoder_layers;
    if (layers == 0 || s->self_k)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(host, s->self_k, layers);
    VKF_ALLOC_OR_RETURN(host, s->self_v, layers);
    VKF_ALLOC_OR_RETURN(host, s->cross_k, layers);
    VKF_ALLOC_OR_RETURN(host, s->cross_v, layers);
    if (!session->caches)
        VKF_ALLOC_OR_RETURN(host, session->caches, layers);
    return VKF_OK;
}

vkf_status vkf__session_lay_out(vkf_session *session, vkf__session_layout *out_layout)
{
    uint32_t alignment = session->context->device.plan.buffer_alignment;
    region state = {session->state, 0, alignment, false};
    region cache = {.alignment = alignment};
    region constants = {session->constants, 0, alignment, false};
    region ids = {session->ids, 0, alignment, false};
    VKF_RETURN_IF_ERROR(allocate_arrays(session));
    lay_out_state(session, &state);
    for (uint32_t i = 0; i < session->model->config.num_decoder_layers; i++) {
        cache = (region){session->caches[i], 0, alignment, cache.overflow};
        lay_out_cache(session, i, &cache);
    }
    lay_out_constants(session, &constants);
    lay_out_tokens(session, &ids);
    if (state.overflow || cache.overflow || constants.overflow || ids.overflow)
        return vkf__fail(&session->context->host, VKF_ERROR_TOO_LARGE, "session: the maximum sizes overflow");
    *out_layout = (vkf__session_layout){state.bytes, cache.bytes, constants.bytes, ids.bytes};
    return VKF_OK;
}
