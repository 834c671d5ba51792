// Emits what lies between the projections of keys and values and their caches.
#include "layer/key_cache.h"

#include "op/copy.h"
#include "op/rotary.h"

bool vkf__turns_heads(const vkf__attention_block *block)
{
    return vkf__present(&block->q_norm) || vkf__present(&block->params.rotary);
}

bool vkf__converts_keys(const vkf__attention_block *block, const vkf__attention_io *io)
{
    return vkf__present(&io->cache_k) && io->cache_k.dtype != block->dtype;
}

static vkf__projected in_cache(const vkf__span *cache, uint32_t width, uint32_t cache_len)
{
    return (vkf__projected){.span = *cache, .width = width, .row = width, .stride = cache_len};
}

// Whether one dispatch turns the queries and keys that one product has made, and brings keys and values to their
// caches.
static bool turns_together(const vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io)
{
    const bool cached = vkf__present(&io->cache_k);
    return vkf__present(&block->q_norm) == vkf__present(&block->k_norm) &&
           vkf__is_one_operand(work, &block->q_norm, &block->k_norm) &&
           (!cached || (block->head_dim == block->v_head_dim && vkf__is_one_operand(work, &io->cache_k, &io->cache_v)));
}

static vkf__rotary_args turn_of(const char *label, const vkf__attention_block *block, const vkf__projected *x,
                                uint32_t batch)
{
    return (vkf__rotary_args){
        .label = label,
        .x = x->span,
        .table = block->params.rotary,
        .batch = batch,
        .head_dim = block->head_dim,
        .rotary_dim = block->rotary_dim,
        .interleaved = block->rotary_interleaved,
        .x_batch = x->stride * x->row,
        .x_row = x->row,
        .eps = block->norm_eps,
    };
}

// Where a set of heads goes that stays where it is projected.
static void leave(vkf__rotary_args *rotary)
{
    rotary->out = rotary->x;
    rotary->out_batch = rotary->x_batch;
    rotary->out_row = rotary->x_row;
}

static void place_in(const vkf__span *cache, const vkf__projected *in, uint32_t past, vkf__rotary_args *rotary)
{
    rotary->out = *cache;
    rotary->out_batch = in->stride * in->row;
    rotary->out_row = in->row;
    rotary->k_first = past * in->row;
}

static vkf_status emit_turn_together(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                     const vkf__attention_sizes *sizes, vkf__projections *made)
{
    vkf__rotary_args rotary = turn_of("qkv_rotary", block, &made->q, sizes->batch);
    rotary.weight = vkf__span_joined(&block->q_norm, &block->k_norm);
    rotary.k_weight = (uint32_t)vkf__elements_between(&block->q_norm, &block->k_norm);
    rotary.len = sizes->query_len;
    rotary.first_position = sizes->query_past;
    rotary.q_heads = block->heads;
    rotary.k_heads = block->kv_heads;
    if (vkf__present(&io->cache_k)) {
        const vkf__span caches = vkf__span_joined(&io->cache_k, &io->cache_v);
        made->k = in_cache(&io->cache_k, made->k.width, io->cache_len);
        made->v = in_cache(&io->cache_v, made->v.width, io->cache_len);
        place_in(&caches, &made->k, sizes->key_past, &rotary);
        rotary.v_heads = block->kv_heads;
        rotary.v_first = rotary.k_first + (uint32_t)vkf__elements_between(&io->cache_k, &io->cache_v);
    } else {
        leave(&rotary);
        rotary.k_first = block->heads * block->head_dim;
    }
    return vkf__emit_rotary(work, &rotary);
}

static vkf_status emit_turns(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                             const vkf__attention_sizes *sizes, vkf__projections *made)
{
    vkf__rotary_args q = turn_of("q_rotary", block, &made->q, sizes->batch);
    vkf__rotary_args k = turn_of("k_rotary", block, &made->k, sizes->batch);
    q.weight = block->q_norm;
    q.q_heads = block->heads;
    q.len = sizes->query_len;
    q.first_position = sizes->query_past;
    k.weight = block->k_norm;
    k.k_heads = block->kv_heads;
    k.len = sizes->key_new;
    k.first_position = sizes->key_past;
    leave(&k);
    if (vkf__present(&io->cache_k)) {
        made->k = in_cache(&io->cache_k, made->k.width, io->cache_len);
        place_in(&io->cache_k, &made->k, sizes->key_past, &k);
    }
    VKF_RETURN_IF_ERROR(vkf__emit_rotary(work, &q));
    return vkf__emit_rotary(work, &k);
}

// Copies keys or values to the cache that were projected side by side with queries, or in another type than the
// cache's.
static vkf_status emit_kept(vkf__work *work, const char *label, const vkf__span *cache, const vkf__attention_io *io,
                            const vkf__attention_sizes *sizes, vkf__projected *x)
{
    const vkf__copy_args copy = {
        .label = label,
        .x = x->span,
        .out = *cache,
        .outer = sizes->batch,
        .rows = sizes->key_new,
        .cols = x->width,
        .x_outer = x->stride * x->row,
        .x_row = x->row,
        .out_first = sizes->key_past * x->width,
        .out_outer = io->cache_len * x->width,
        .out_row = x->width,
        .alpha = 1.0f,
    };
    *x = in_cache(cache, x->width, io->cache_len);
    return vkf__emit_copy(work, &copy);
}

vkf_status vkf__emit_way_to_caches(vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                   const vkf__attention_sizes *sizes, vkf__projections *made)
{
    uint64_t together = made->single && vkf__turns_heads(block) && turns_together(work, block, io);
    VKF_RETURN_IF_ERROR(vkf__work_decide(work, together, &together));
    if (together)
        return emit_turn_together(work, block, io, sizes, made);
    if (vkf__present(&io->cache_v) && (made->single || vkf__converts_keys(block, io)))
        VKF_RETURN_IF_ERROR(emit_kept(work, "v_cache", &io->cache_v, io, sizes, &made->v));
    if (vkf__turns_heads(block))
        return emit_turns(work, block, io, sizes, made);
    return vkf__converts_keys(block, io) ? emit_kept(work, "k_cache", &io->cache_k, io, sizes, &made->k) : VKF_OK;
}

bool vkf__leaves_fresh_keys(const vkf__attention_block *block, const vkf__attention_io *io,
                            const vkf__projections *made)
{
    return made->single && vkf__present(&block->params.rotary) && !block->rotary_interleaved &&
           !vkf__present(&block->q_norm) && !vkf__present(&block->k_norm) && vkf__present(&io->cache_k);
}

vkf__fresh_keys vkf__fresh_keys_of(const vkf__attention_block *block, const vkf__attention_io *io,
                                   const vkf__attention_sizes *sizes, vkf__projections *made)
{
    const vkf__fresh_keys fresh = {
        .present = true,
        .k_first = made->q.width,
        .v_first = made->q.width + made->k.width,
        .past = sizes->key_past,
        .table = block->params.rotary,
        .rotary_dim = block->rotary_dim,
        .first_position = sizes->query_past,
    };
    made->k = in_cache(&io->cache_k, made->k.width, io->cache_len);
    made->v = in_cache(&io->cache_v, made->v.width, io->cache_len);
    return fresh;
}
