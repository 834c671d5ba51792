// Finds the weights and vectors of a layer that are worth packing, and packs them into one buffer.
#include "layer/packed_weights.h"

#include "base/size.h"
#include "op/pack.h"
#include "op/run_once.h"
#include "prove/tune.h"
#include "shared/gemm.h"

// With more rows norms have a dispatch of their own.
#define FEW_ROWS 8u

// A weight that a layer multiplies by, (n, k), and the type of the activations; or a vector, (n).
typedef struct factor {
    vkf__span *weight;
    vkf_dtype dtype;
    uint32_t n, k;
    bool vector;
} factor;

typedef struct factors {
    factor items[VKF_MAX_PACKED_WEIGHTS];
    uint32_t count;
} factors;

// Adds a weight that is there and lies in rows.
static void add(factors *all, vkf__span *weight, vkf_dtype dtype, uint32_t n, uint32_t k)
{
    if (vkf__present(weight) && !weight->panels)
        all->items[all->count++] = (factor){weight, dtype, n, k, false};
}

static void add_attention(factors *all, vkf__attention_block *block)
{
    uint32_t k_width = block->heads * block->head_dim, v_width = block->heads * block->v_head_dim;
    add(all, &block->params.q_weight, block->dtype, k_width, block->embed_dim);
    add(all, &block->params.k_weight, block->dtype, k_width, block->kdim);
    add(all, &block->params.v_weight, block->dtype, v_width, block->vdim);
    add(all, &block->params.out_weight, block->dtype, block->embed_dim, v_width);
}

static void add_feed_forward(factors *all, vkf__feed_forward_block *block)
{
    add(all, &block->weight1, block->dtype, block->dim_feedforward, block->d_model);
    add(all, &block->weight2, block->dtype, block->d_model, block->dim_feedforward);
}

static void add_vector(factors *all, vkf__span *vector, uint32_t n)
{
    if (vkf__present(vector))
        all->items[all->count++] = (factor){.weight = vector, .n = n, .k = 1, .vector = true};
}

// Adds a LayerNorm's vectors and those of `count` products behind it, which have n columns each. As whole panels they
// need no room between them, and the biases of queries, keys and values stay one operand.
static void add_vectors(factors *all, uint32_t d_model, vkf__norm_block *norm, uint32_t n, uint32_t count,
                        vkf__span *const *biases)
{
    if (!vkf__present(&norm->weight) || !vkf__present(&norm->bias) || (d_model | n) % VKF_GEMM_PANEL != 0)
        return;
    add_vector(all, &norm->weight, d_model);
    add_vector(all, &norm->bias, d_model);
    for (uint32_t i = 0; i < count; i++)
        add_vector(all, biases[i], n);
}

static void add_norms(factors *all, vkf__layer_desc *desc)
{
    vkf__transformer_block *block = &desc->transformer;
    vkf__attention_spans *self = &block->self.params;
    vkf__span *const self_biases[] = {&self->q_bias, &self->k_bias, &self->v_bias};
    vkf__span *const cross_biases[] = {&block->cross.params.q_bias};
    vkf__span *const feed_forward_biases[] = {&block->feed_forward.bias1};
    const bool decoder = desc->kind == VKF_LAYER_DECODER;
    const uint32_t d_model = block->d_model;
    if (!block->norm_first || (uint64_t)desc->max_sizes.batch * desc->max_sizes.query_len > FEW_ROWS)
        return;
    add_vectors(all, d_model, &block->norm[0], d_model, 3, self_biases);
    if (decoder)
        add_vectors(all, d_model, &block->norm[1], d_model, 1, cross_biases);
    add_vectors(all, d_model, &block->norm[decoder ? 2 : 1], block->feed_forward.dim_feedforward, 1,
                feed_forward_biases);
}

static factors factors_of(vkf__layer_desc *desc)
{
    factors all = {.count = 0};
    switch (desc->kind) {
    case VKF_LAYER_ATTENTION:
        add_attention(&all, &desc->attention);
        break;
    case VKF_LAYER_FEED_FORWARD:
        add_feed_forward(&all, &desc->feed_forward);
        break;
    case VKF_LAYER_DECODER:
        add_attention(&all, &desc->transformer.cross);
        // fall through
    case VKF_LAYER_ENCODER:
        add_attention(&all, &desc->transformer.self);
        add_feed_forward(&all, &desc->transformer.feed_forward);
        add_norms(&all, desc);
        break;
    }
    return all;
}

vkf_status vkf__packed_weights_measure(vkf_context *context, vkf__layer_desc *desc)
{
    const factors all = factors_of(desc);
    for (uint32_t i = 0; i < all.count; i++) {
        const factor *f = &all.items[i];
        if (f->vector)
            continue;
        VKF_RETURN_IF_ERROR(
            vkf__tune_weight(context, (const vkf_dtype[]){f->dtype, f->weight->dtype, f->dtype}, f->n, f->k));
    }
    return VKF_OK;
}

static const vkf__packed_weight *find_packed(const vkf__packed_weights *packed, const vkf__span *weight)
{
    for (uint32_t i = 0; i < packed->count; i++) {
        if (packed->items[i].weight == weight)
            return &packed->items[i];
    }
    return NULL;
}

static uint64_t packed_bytes(const vkf__packed_weight *item)
{
    return vkf__packed_elements(item->n, item->k) * vkf_dtype_size(item->weight->dtype);
}

// Panels of two weights join without a gap only where the first weight has no padded panel.
static bool joins(const vkf__packed_weight *first, const vkf__packed_weight *second)
{
    return first->n % VKF_GEMM_PANEL == 0 && first->offset_bytes + packed_bytes(first) == second->offset_bytes;
}

// Whether q, k and v are one operand: as the caller gave them, or in the layer's copies, which can lie so without the
// caller's doing unless the biases are apart.
static bool is_one_operand(const vkf__packed_weights *packed, const vkf__attention_block *block)
{
    const vkf__attention_spans *p = &block->params;
    const vkf__packed_weight *q = find_packed(packed, &p->q_weight);
    const vkf__packed_weight *k = find_packed(packed, &p->k_weight);
    const vkf__packed_weight *v = find_packed(packed, &p->v_weight);
    const bool biases = vkf__present(&p->q_bias) || vkf__present(&p->k_bias) || vkf__present(&p->v_bias);
    if (!q && !k && !v)
        return block->fused_qkv;
    return q && k && v && (block->fused_qkv || !biases) && joins(q, k) && joins(k, v);
}

void vkf__packed_weights_plan(const vkf_context *context, vkf__layer_desc *desc, vkf__packed_weights *out_packed)
{
    vkf__packed_weights packed = {.count = 0};
    const factors all = factors_of(desc);
    for (uint32_t i = 0; i < all.count; i++) {
        const factor *f = &all.items[i];
        const vkf_dtype types[] = {f->dtype, f->weight->dtype, f->dtype};
        if (!f->vector && !vkf__wants_panels(context, types, f->n, f->k))
            continue;
        vkf__packed_weight *item = &packed.items[packed.count++];
        *item = (vkf__packed_weight){f->weight, f->n, f->k, f->vector, packed.total_bytes};
        packed.total_bytes += vkf__align_u64(packed_bytes(item), f->vector ? 1 : context->device.plan.buffer_alignment);
    }
    desc->attention.fused_qkv = is_one_operand(&packed, &desc->attention);
    desc->transformer.self.fused_qkv = is_one_operand(&packed, &desc->transformer.self);
    *out_packed = packed;
}

static vkf__span panels_of(const vkf__packed_weight *item, vkf_buffer *buffer)
{
    return (vkf__span){
        .buffer = buffer,
        .offset_bytes = item->offset_bytes,
        .size_bytes = packed_bytes(item),
        .dtype = item->weight->dtype,
        .panels = !item->vector,
    };
}

void vkf__packed_weights_place(vkf__packed_weights *packed, vkf_buffer *buffer)
{
    for (uint32_t i = 0; i < packed->count; i++)
        *packed->items[i].weight = panels_of(&packed->items[i], buffer);
}

typedef struct fill_job {
    const vkf__packed_weights *packed;
    const vkf__span *sources;
    vkf_buffer *buffer;
} fill_job;

static vkf_status emit_fill(vkf__work *work, const void *args)
{
    const fill_job *job = args;
    for (uint32_t i = 0; i < job->packed->count; i++) {
        const vkf__packed_weight *item = &job->packed->items[i];
        const vkf__span panels = panels_of(item, job->buffer);
        const vkf__pack_args pack = {
            .label = "pack",
            .x = job->sources[i],
            .n = item->n,
            .k = item->k,
            .ld = item->k,
            .transposed = true,
        };
        VKF_RETURN_IF_ERROR(vkf__emit_pack_into(work, &pack, &panels));
    }
    return VKF_OK;
}

vkf_status vkf__packed_weights_fill(vkf_context *context, const vkf__packed_weights *packed, const vkf__span *sources,
                                    vkf_buffer *buffer)
{
    const fill_job job = {packed, sources, buffer};
    return vkf__run_once(context, "pack", emit_fill, &job);
}
