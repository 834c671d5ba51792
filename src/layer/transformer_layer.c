// Emits encoder and decoder layers: their blocks, in the order of pre-norm, post-norm and parallel layers.
#include "layer/transformer_layer.h"

#include "base/float_or.h"
#include "layer/projection.h"
#include "op/layer_norm.h"

static vkf__norm_block norm_of(const vkf_norm_weights *weights)
{
    return (vkf__norm_block){vkf__span_of(&weights->weight), vkf__span_of(&weights->bias)};
}

static vkf__attention_block attention_of(const vkf_transformer_layer_desc *desc, const vkf_attention_weights *weights,
                                         const vkf_attention_mask *mask)
{
    uint32_t head_dim = desc->num_heads > 0 ? desc->d_model / desc->num_heads : 0;
    return (vkf__attention_block){
        .embed_dim = desc->d_model,
        .heads = desc->num_heads,
        .kv_heads = desc->num_heads,
        .head_dim = head_dim,
        .v_head_dim = head_dim,
        .kdim = desc->d_model,
        .vdim = desc->d_model,
        .mask = *mask,
        .fully_masked = desc->fully_masked,
        .dtype = desc->dtype,
        .params = vkf__attention_spans_of(weights),
        .fused_qkv = weights->in_proj,
        .rotary_dim = weights->rotary.shape[1],
        .rotary_interleaved = weights->rotary_interleaved,
    };
}

vkf__transformer_block vkf__transformer_block_of(const vkf_transformer_layer_desc *desc)
{
    return (vkf__transformer_block){
        .d_model = desc->d_model,
        .norm_first = desc->norm_first,
        .layer_norm_eps = vkf__float_or(desc->layer_norm_eps, VKF_LAYER_NORM_EPS),
        .dtype = desc->dtype,
        .self = attention_of(desc, &desc->self, &desc->self_mask),
        .cross = attention_of(desc, &desc->cross, &desc->cross_mask),
        .feed_forward = vkf__feed_forward_block_of(desc->d_model, desc->dim_feedforward, desc->activation, desc->dtype,
                                                   &desc->feed_forward),
        .norm = {norm_of(&desc->norm1), norm_of(&desc->norm2), norm_of(&desc->norm3)},
    };
}

// LN(x), or LN(residual + x).
static vkf_status emit_norm(vkf__work *work, const vkf__transformer_block *block, uint32_t index, const vkf__span *x,
                            const vkf__span *residual, const vkf__rows *out, uint32_t rows)
{
    static const char *const labels[] = {"norm1", "norm2", "norm3"};
    const vkf__layer_norm_args norm = {
        .label = labels[index],
        .x = *x,
        .out = out->span,
        .out_row = out->row,
        .weight = block->norm[index].weight,
        .bias = block->norm[index].bias,
        .residual = *residual,
        .residual_order = vkf__present(residual) ? VKF_RESIDUAL_BEFORE : VKF_RESIDUAL_NONE,
        .rows = rows,
        .dim = block->d_model,
        .rms = block->norm_kind == VKF_NORM_RMS,
        .eps = block->layer_norm_eps,
    };
    return vkf__emit_layer_norm(work, &norm);
}

static bool has_norm(const vkf__transformer_block *block, uint32_t index)
{
    return block->norm_first && !(block->no_first_norm && index == 0);
}

// The stream with its norm, which is left to the product that reads it. False where no product can take this norm.
static bool defer_norm(const vkf__transformer_block *block, uint32_t index, const vkf__span *x, vkf__rows *out_input)
{
    const vkf__norm_block *norm = &block->norm[index];
    *out_input = (vkf__rows){*x, block->d_model, {norm->weight, norm->bias, block->layer_norm_eps}};
    return has_norm(block, index) && vkf__present(&norm->weight) &&
           vkf__present(&norm->bias) == (block->norm_kind == VKF_NORM_LAYER);
}

// Pre-norm x += f(LN(x)) needs the normalised copy; post-norm x = LN(x + f(x)) feeds f with the stream itself.
static vkf_status begin_block(vkf__work *work, const vkf__transformer_block *block, uint32_t index, const vkf__span *x,
                              uint32_t rows, vkf__rows *out_input)
{
    *out_input = (vkf__rows){.span = *x, .row = block->d_model};
    if (has_norm(block, index)) {
        out_input->row = vkf__gemm_row(work->context, block->d_model, block->dtype);
        VKF_RETURN_IF_ERROR(vkf__work_temp(work, block->dtype, (uint64_t)rows * out_input->row, &out_input->span));
        VKF_RETURN_IF_ERROR(emit_norm(work, block, index, x, &(vkf__span){0}, out_input, rows));
    }
    return VKF_OK;
}

static vkf_status end_block(vkf__work *work, const vkf__transformer_block *block, uint32_t index, const vkf__span *x,
                            uint32_t rows)
{
    const vkf__rows out = {.span = *x, .row = block->d_model};
    return block->norm_first ? VKF_OK : emit_norm(work, block, index, x, &(vkf__span){0}, &out, rows);
}

static void set_query(vkf__attention_io *attention, const vkf__rows *input)
{
    attention->query = input->span;
    attention->query_row = input->row;
    attention->norm = input->norm;
}

static void set_self_input(vkf__attention_io *self, const vkf__rows *input, const vkf__rows *context)
{
    set_query(self, input);
    self->key = self->value = context->span;
    self->key_row = context->row;
}

// What self-attention reads: the stream, if the product of the projections normalises it, or else a normalised copy.
static vkf_status begin_self(vkf__work *work, const vkf__transformer_block *block, const vkf__transformer_io *io,
                             const vkf__attention_sizes *sizes, vkf__attention_io *self)
{
    const vkf__span *stream = vkf__present(&io->input) ? &io->input : &io->x;
    const bool separate = vkf__present(&io->context);
    vkf__rows input, context;
    uint64_t deferred = 0;
    self->one_input = !separate;
    if (defer_norm(block, 0, stream, &input) && !separate) {
        set_self_input(self, &input, &input);
        deferred = work->mode == VKF_WORK_PLAN && vkf__projections_normalise(work, &block->self, self, sizes);
        VKF_RETURN_IF_ERROR(vkf__work_decide(work, deferred, &deferred));
        if (deferred)
            return VKF_OK;
    }
    VKF_RETURN_IF_ERROR(begin_block(work, block, 0, stream, sizes->batch * sizes->query_len, &input));
    context = input;
    if (separate)
        VKF_RETURN_IF_ERROR(begin_block(work, block, 0, &io->context, sizes->batch * sizes->key_new, &context));
    set_self_input(self, &input, &context);
    return VKF_OK;
}

// Where the stream comes from elsewhere (io->input), the norm adds it to the attention's output and writes the sum to
// x.
static vkf_status emit_self(vkf__work *work, const vkf__transformer_block *block, const vkf__transformer_io *io,
                            const vkf__attention_sizes *sizes)
{
    vkf_status status = VKF_OK;
    uint32_t rows = sizes->batch * sizes->query_len;
    bool arrives = vkf__present(&io->input);
    vkf__attention_io self = io->self;
    VKF_TRY(begin_self(work, block, io, sizes, &self));
    self.out = io->x;
    self.accumulate = !arrives;
    work->prefix = "self_attn.";
    VKF_TRY(vkf__emit_attention_block(work, &block->self, &self, sizes));
    work->prefix = NULL;
    if (arrives)
        return emit_norm(work, block, 0, &io->x, &io->input, &(vkf__rows){.span = io->x, .row = block->d_model}, rows);
    VKF_TRY(end_block(work, block, 0, &io->x, rows));
fail:
    work->prefix = NULL;
    return status;
}

// What the queries of cross-attention read, as in begin_self().
static vkf_status begin_cross(vkf__work *work, const vkf__transformer_block *block, const vkf__transformer_io *io,
                              const vkf__attention_sizes *sizes, vkf__attention_io *cross)
{
    vkf__rows input;
    uint64_t deferred = 0;
    if (defer_norm(block, 1, &io->x, &input)) {
        set_query(cross, &input);
        deferred = work->mode == VKF_WORK_PLAN && vkf__projections_normalise(work, &block->cross, cross, sizes);
        VKF_RETURN_IF_ERROR(vkf__work_decide(work, deferred, &deferred));
    }
    if (!deferred)
        VKF_RETURN_IF_ERROR(begin_block(work, block, 1, &io->x, sizes->batch * sizes->query_len, &input));
    set_query(cross, &input);
    return VKF_OK;
}

static vkf_status emit_cross(vkf__work *work, const vkf__transformer_block *block, const vkf__transformer_io *io,
                             const vkf__attention_sizes *sizes)
{
    vkf_status status = VKF_OK;
    uint32_t rows = sizes->batch * sizes->query_len;
    vkf__attention_io cross = io->cross;
    VKF_TRY(begin_cross(work, block, io, sizes, &cross));
    cross.value = cross.key;
    cross.out = io->x;
    cross.accumulate = true;
    work->prefix = "multihead_attn.";
    VKF_TRY(vkf__emit_attention_block(work, &block->cross, &cross, sizes));
    work->prefix = NULL;
    VKF_TRY(end_block(work, block, 1, &io->x, rows));
fail:
    work->prefix = NULL;
    return status;
}

static vkf_status emit_feed_forward(vkf__work *work, const vkf__transformer_block *block, uint32_t index,
                                    const vkf__span *x, uint32_t rows)
{
    vkf__rows input;
    uint64_t deferred = 0;
    if (defer_norm(block, index, x, &input)) {
        deferred =
            work->mode == VKF_WORK_PLAN && vkf__feed_forward_normalises(work, &block->feed_forward, &input, rows);
        VKF_RETURN_IF_ERROR(vkf__work_decide(work, deferred, &deferred));
    }
    if (!deferred)
        VKF_RETURN_IF_ERROR(begin_block(work, block, index, x, rows, &input));
    VKF_RETURN_IF_ERROR(vkf__emit_feed_forward(work, &block->feed_forward, &input, x, true, rows));
    return end_block(work, block, index, x, rows);
}

// The feed-forward's input is taken before attention adds to the stream.
static vkf_status emit_parallel(vkf__work *work, const vkf__transformer_block *block, const vkf__transformer_io *io,
                                const vkf__attention_sizes *self)
{
    uint32_t rows = self->batch * self->query_len;
    vkf__rows input;
    VKF_RETURN_IF_ERROR(begin_block(work, block, 1, &io->x, rows, &input));
    VKF_RETURN_IF_ERROR(emit_self(work, block, io, self));
    return vkf__emit_feed_forward(work, &block->feed_forward, &input, &io->x, true, rows);
}

vkf_status vkf__emit_encoder_layer(vkf__work *work, const vkf__transformer_block *block, const vkf__transformer_io *io,
                                   const vkf__attention_sizes *self)
{
    if (block->parallel)
        return emit_parallel(work, block, io, self);
    VKF_RETURN_IF_ERROR(emit_self(work, block, io, self));
    return emit_feed_forward(work, block, 1, &io->x, self->batch * self->query_len);
}

vkf_status vkf__emit_decoder_layer(vkf__work *work, const vkf__transformer_block *block, const vkf__transformer_io *io,
                                   const vkf__attention_sizes *self, const vkf__attention_sizes *cross)
{
    VKF_RETURN_IF_ERROR(emit_self(work, block, io, self));
    VKF_RETURN_IF_ERROR(emit_cross(work, block, io, cross));
    return emit_feed_forward(work, block, 2, &io->x, self->batch * self->query_len);
}
