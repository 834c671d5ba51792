#include "layer/packed_weights.h"

#include "base/size.h"
#include "op/pack.h"
#include "op/run_once.h"

static void add(const vkf_context *context, vkf__packed_weights *packed, vkf__span *weight, vkf_dtype dtype, uint32_t n,
                uint32_t k)
{
    const vkf_dtype types[] = {dtype, weight->dtype, dtype};
    if (!vkf__present(weight) || weight->panels || !vkf__wants_panels(context, types, n, k))
        return;
    packed->items[packed->count++] = (vkf__packed_weight){weight, n, k, packed->total_bytes};
    packed->total_bytes += vkf__align_u64(vkf__packed_elements(n, k) * vkf_dtype_size(weight->dtype),
                                          context->device.plan.buffer_alignment);
}

static void add_attention(const vkf_context *context, vkf__packed_weights *packed, vkf__attention_block *block)
{
    uint32_t k_width = block->heads * block->head_dim, v_width = block->heads * block->v_head_dim;
    add(context, packed, &block->params.q_weight, block->dtype, k_width, block->embed_dim);
    add(context, packed, &block->params.k_weight, block->dtype, k_width, block->kdim);
    add(context, packed, &block->params.v_weight, block->dtype, v_width, block->vdim);
    add(context, packed, &block->params.out_weight, block->dtype, block->embed_dim, v_width);
}

static void add_feed_forward(const vkf_context *context, vkf__packed_weights *packed, vkf__feed_forward_block *block)
{
    add(context, packed, &block->weight1, block->dtype, block->dim_feedforward, block->d_model);
    add(context, packed, &block->weight2, block->dtype, block->d_model, block->dim_feedforward);
}

void vkf__packed_weights_plan(const vkf_context *context, vkf__layer_desc *desc, vkf__packed_weights *out_packed)
{
    *out_packed = (vkf__packed_weights){0};
    switch (desc->kind) {
    case VKF_LAYER_ATTENTION:
        add_attention(context, out_packed, &desc->attention);
        break;
    case VKF_LAYER_FEED_FORWARD:
        add_feed_forward(context, out_packed, &desc->feed_forward);
        break;
    case VKF_LAYER_DECODER:
        add_attention(context, out_packed, &desc->transformer.cross);
        // fall through
    case VKF_LAYER_ENCODER:
        add_attention(context, out_packed, &desc->transformer.self);
        add_feed_forward(context, out_packed, &desc->transformer.feed_forward);
        break;
    }
}

static vkf__span panels_of(const vkf__packed_weight *item, vkf_buffer *buffer)
{
    return (vkf__span){
        .buffer = buffer,
        .offset_bytes = item->offset_bytes,
        .size_bytes = vkf__packed_elements(item->n, item->k) * vkf_dtype_size(item->weight->dtype),
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
    vkf_status status = VKF_OK;
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
        VKF_TRY(vkf__emit_pack_into(work, &pack, &panels));
    }
fail:
    return status;
}

vkf_status vkf__packed_weights_fill(vkf_context *context, const vkf__packed_weights *packed, const vkf__span *sources,
                                    vkf_buffer *buffer)
{
    const fill_job job = {packed, sources, buffer};
    return vkf__run_once(context, "pack", emit_fill, &job);
}
