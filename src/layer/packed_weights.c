// Finds the weights of a layer that are worth packing, and packs them into one buffer.
#include "layer/packed_weights.h"

#include "base/size.h"
#include "op/pack.h"
#include "op/run_once.h"
#include "prove/tune.h"
#include "shared/gemm.h"

// A weight that a layer multiplies by, (n, k), and the type of the activations.
typedef struct factor {
    vkf__span *weight;
    vkf_dtype dtype;
    uint32_t n, k;
} factor;

typedef struct factors {
    factor items[VKF_MAX_PACKED_WEIGHTS];
    uint32_t count;
} factors;

// Adds a weight that is there and lies in rows.
static void add(factors *all, vkf__span *weight, vkf_dtype dtype, uint32_t n, uint32_t k)
{
    if (vkf__present(weight) && !weight->panels)
        all->items[all->count++] = (factor){weight, dtype, n, k};
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
        break;
    }
    return all;
}

vkf_status vkf__packed_weights_measure(vkf_context *context, vkf__layer_desc *desc)
{
    const factors all = factors_of(desc);
    for (uint32_t i = 0; i < all.count; i++) {
        const factor *f = &all.items[i];
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
        if (!vkf__wants_panels(context, types, f->n, f->k))
            continue;
        packed.items[packed.count++] = (vkf__packed_weight){f->weight, f->n, f->k, packed.total_bytes};
        packed.total_bytes += vkf__align_u64(vkf__packed_elements(f->n, f->k) * vkf_dtype_size(f->weight->dtype),
                                             context->device.plan.buffer_alignment);
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
        .panels = true,
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
