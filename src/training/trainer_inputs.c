// Where a trainer's batches, constants and results lie, and how they get there.
#include <string.h>

#include "base/size.h"
#include "base/train/id_order.h"
#include "model/family/model_kind.h"
#include "model/family/relative_bias.h"
#include "model/family/rotary_rows.h"
#include "model/family/sinusoids.h"
#include "model/session/session_layout.h"
#include "op/train/cross_entropy.h"
#include "training/trainer.h"

vkf__graph_sizes vkf__trainer_max_sizes(const vkf_trainer *t)
{
    const vkf__kind_facts *facts = vkf__facts_of(&t->model->config);
    return (vkf__graph_sizes){
        .batch = t->desc.max_batch,
        .len = {facts->encodes ? t->desc.max_source_len : 0, facts->decodes ? t->desc.max_target_len : 0},
    };
}

// ---- the layout

// Gives out pieces of a buffer.
typedef struct pieces {
    vkf_buffer *buffer;
    uint64_t bytes, alignment;
} pieces;

static vkf__span take(pieces *p, vkf_dtype dtype, uint64_t count)
{
    const vkf__span span = {.buffer = p->buffer, .offset_bytes = p->bytes, .size_bytes = 4 * count, .dtype = dtype};
    p->bytes = vkf__align_u64(p->bytes + span.size_bytes, p->alignment);
    return span;
}

static vkf__graph_ids take_ids(pieces *p, uint64_t ids, uint64_t tokens, uint32_t vocab)
{
    return (vkf__graph_ids){
        .ids = take(p, VKF_DTYPE_I32, ids),
        .lists = take(p, VKF_DTYPE_I32, vkf__id_order_length((uint32_t)tokens)),
        .unique = tokens < vocab ? (uint32_t)tokens : vocab,
    };
}

static void lay_out_inputs(vkf_trainer *t, pieces *p)
{
    const vkf_model_config *config = &t->model->config;
    const vkf__weights *weights = &t->model->weights;
    const vkf__graph_sizes most = vkf__trainer_max_sizes(t);
    vkf__graph_inputs *in = &t->graph.inputs;
    const uint32_t vocabs[] = {config->source_vocab, config->target_vocab};
    const vkf_tensor *positions[] = {&weights->source.positions, &weights->target.positions};
    for (int side = 0; side < VKF_SIDE_COUNT; side++) {
        const uint64_t tokens = (uint64_t)most.batch * most.len[side];
        const bool ids = side == VKF_SIDE_SOURCE && vkf__has_position_ids(config);
        if (tokens == 0)
            continue;
        in->tokens[side] = take_ids(p, (ids ? 2 : 1) * tokens, tokens, vocabs[side]);
        if (ids)
            in->position_ids = (uint32_t)tokens;
        if (config->positions == VKF_POSITIONS_LEARNED)
            in->positions[side] = take_ids(p, 0, tokens, positions[side]->shape[0]);
        if (config->relative_buckets > 0)
            in->distances[side] = take_ids(p, 2 * most.len[side] - 1, 2 * most.len[side] - 1, config->relative_buckets);
    }
    if (most.len[VKF_SIDE_SOURCE] > 0)
        in->source_lengths = take(p, VKF_DTYPE_I32, most.batch);
    if (weights->token_types.rank > 0) {
        const uint64_t tokens = (uint64_t)most.batch * most.len[VKF_SIDE_SOURCE];
        in->types = take_ids(p, tokens, tokens, config->token_types);
    }
    in->labels = take(p, VKF_DTYPE_I32, vkf__graph_labels(&t->graph, &most));
}

static uint32_t longest(const vkf_trainer *t)
{
    const vkf__graph_sizes most = vkf__trainer_max_sizes(t);
    return most.len[0] > most.len[1] ? most.len[0] : most.len[1];
}

static void lay_out_constants(vkf_trainer *t, pieces *p)
{
    const vkf_model_config *config = &t->model->config;
    const uint64_t len = longest(t);
    if (config->positions <= VKF_POSITIONS_SINUSOIDAL_HALVES)
        t->graph.sinusoids = take(p, VKF_DTYPE_F32, len * config->d_model);
    if (config->rotary.dim > 0)
        t->graph.rotary = take(p, VKF_DTYPE_F32, len * config->rotary.dim);
    if (config->window_rotary.dim > 0)
        t->graph.window_rotary = take(p, VKF_DTYPE_F32, len * config->window_rotary.dim);
}

static vkf_status check_tokens(const vkf_trainer *t)
{
    const vkf__graph_sizes most = vkf__trainer_max_sizes(t);
    // Lists of ids count in 31 bits, and so do labels.
    if ((uint64_t)most.batch * longest(t) > INT32_MAX / 4)
        return vkf__fail(&t->context->host, VKF_ERROR_TOO_LARGE,
                         "vkf_trainer_create: a batch of %u sequences of %u tokens is too large", most.batch,
                         longest(t));
    return VKF_OK;
}

vkf_status vkf__trainer_lay_out(vkf_trainer *t)
{
    const uint64_t alignment = t->context->device.plan.buffer_alignment;
    pieces inputs = {t->inputs, 0, alignment}, constants = {t->constants, 0, alignment},
           results = {t->results, 0, alignment};
    VKF_RETURN_IF_ERROR(check_tokens(t));
    lay_out_inputs(t, &inputs);
    lay_out_constants(t, &constants);
    const vkf__graph_sizes most = vkf__trainer_max_sizes(t);
    const uint64_t slot = alignment / sizeof(float);
    t->results_at.slot = (uint32_t)slot;
    t->results_at.loss = take(&results, VKF_DTYPE_F32, 1);
    t->results_at.factor = take(&results, VKF_DTYPE_F32, 2);
    t->results_at.squares = take(&results, VKF_DTYPE_F32, slot * (t->parameters.range_count + 1));
    t->graph.choices = take(&results, VKF_DTYPE_I32, vkf__graph_labels(&t->graph, &most));
    t->inputs_bytes = inputs.bytes;
    t->constants_bytes = constants.bytes;
    t->results_bytes = results.bytes;
    return VKF_OK;
}

static vkf_status write_rows(vkf_trainer *t, const vkf__span *span, const vkf_rotary_config *rotary)
{
    vkf_status status = VKF_OK;
    float *rows = NULL;
    if (!vkf__present(span))
        return VKF_OK;
    VKF_ALLOC(&t->context->host, rows, span->size_bytes / sizeof *rows);
    if (rotary)
        vkf__rotary_rows(rotary, 0, longest(t), 0, rows);
    else
        vkf__model_sinusoids(&t->model->config, longest(t), rows);
    VKF_TRY(vkf_buffer_write(span->buffer, span->offset_bytes, rows, span->size_bytes));
fail:
    vkf__free(&t->context->host, rows);
    return status;
}

// A span of a buffer that the host sees.
static int32_t *words_at(const vkf__span *span)
{
    return (int32_t *)((uint8_t *)span->buffer->allocation.mapped + span->offset_bytes);
}

static void order(vkf_trainer *t, const int32_t *ids, uint64_t tokens, uint32_t vocab, vkf__graph_ids *to)
{
    to->unique = vkf__id_order(ids, (uint32_t)tokens, vocab, t->id_scratch, t->list_scratch);
    memcpy(words_at(&to->lists), t->list_scratch, vkf__id_order_length((uint32_t)tokens) * sizeof *t->list_scratch);
}

static void write_distances(vkf_trainer *t, bool target, vkf__graph_ids *to)
{
    const vkf_model_config *config = &t->model->config;
    const uint32_t len = vkf__trainer_max_sizes(t).len[target];
    if (!vkf__present(&to->ids))
        return;
    vkf__relative_buckets(config, target, len, t->token_scratch);
    memcpy(words_at(&to->ids), t->token_scratch, (2 * (size_t)len - 1) * sizeof *t->token_scratch);
    order(t, t->token_scratch, 2 * (uint64_t)len - 1, config->relative_buckets, to);
}

vkf_status vkf__trainer_write_constants(vkf_trainer *t)
{
    for (int side = 0; side < VKF_SIDE_COUNT; side++)
        write_distances(t, side == VKF_SIDE_TARGET, &t->graph.inputs.distances[side]);
    VKF_RETURN_IF_ERROR(write_rows(t, &t->graph.sinusoids, NULL));
    VKF_RETURN_IF_ERROR(write_rows(t, &t->graph.rotary, &t->model->config.rotary));
    return write_rows(t, &t->graph.window_rotary, &t->model->config.window_rotary);
}

// ---- batches

// What a batch is checked for, and what to call it.
typedef struct check {
    const vkf__host *host;
    const char *function;
} check;

static vkf_status check_ids(const check *c, const char *name, const int32_t *ids, uint64_t count, uint32_t vocab)
{
    for (uint64_t i = 0; ids && i < count; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= vocab)
            return vkf__fail(c->host, VKF_ERROR_INVALID_ARGUMENT, "%s: %s[%llu] is %d, and the model has %u",
                             c->function, name, (unsigned long long)i, (int)ids[i], vocab);
    return VKF_OK;
}

static vkf_status check_lengths(const check *c, const vkf_train_batch *batch)
{
    for (uint32_t i = 0; batch->source_lengths && i < batch->batch; i++)
        if (batch->source_lengths[i] < 1 || batch->source_lengths[i] > batch->source_len)
            return vkf__fail(c->host, VKF_ERROR_INVALID_ARGUMENT, "%s: source_lengths[%u] is %u, and source_len is %u",
                             c->function, i, batch->source_lengths[i], batch->source_len);
    return VKF_OK;
}

static vkf_status check_sizes(const vkf_trainer *t, const check *c, const vkf_train_batch *batch,
                              const vkf__graph_sizes *sizes)
{
    const vkf__graph_sizes most = vkf__trainer_max_sizes(t);
    if (batch->batch == 0 || (most.len[0] > 0 && (sizes->len[0] == 0 || !batch->source_ids)) ||
        (most.len[1] > 0 && (sizes->len[1] == 0 || !batch->target_ids)))
        return vkf__fail(c->host, VKF_ERROR_INVALID_ARGUMENT, "%s: a size is 0, or ids are NULL", c->function);
    if (batch->batch > most.batch || sizes->len[0] > most.len[0] || sizes->len[1] > most.len[1])
        return vkf__fail(c->host, VKF_ERROR_TOO_LARGE,
                         "%s: a batch of %u with %u source and %u target positions, and the trainer was made for %u, "
                         "%u and %u",
                         c->function, batch->batch, sizes->len[0], sizes->len[1], most.batch, most.len[0], most.len[1]);
    if (t->graph.contrastive_scale != 0.0f && batch->batch % 2 != 0)
        return vkf__fail(c->host, VKF_ERROR_INVALID_ARGUMENT, "%s: %u sentences are no pairs", c->function,
                         batch->batch);
    return VKF_OK;
}

static vkf__graph_sizes sizes_of(const vkf_trainer *t, const vkf_train_batch *batch)
{
    const vkf__graph_sizes most = vkf__trainer_max_sizes(t);
    return (vkf__graph_sizes){
        .batch = batch->batch,
        .len = {most.len[0] > 0 ? batch->source_len : 0, most.len[1] > 0 ? batch->target_len : 0},
    };
}

static vkf_status check_labels(vkf_trainer *t, const check *c, const vkf_train_batch *batch,
                               const vkf__graph_sizes *sizes, uint64_t *out_labels)
{
    const uint32_t count = vkf__graph_labels(&t->graph, sizes);
    uint32_t learned = count;
    if (t->graph.contrastive_scale == 0.0f) {
        if (!batch->labels)
            return vkf__fail(c->host, VKF_ERROR_INVALID_ARGUMENT, "%s: labels are NULL", c->function);
        VKF_RETURN_IF_ERROR(vkf__check_labels(c->host, batch->labels, count, vkf__graph_classes(&t->graph, sizes),
                                              t->graph.loss.ignored, &learned));
    }
    *out_labels = learned;
    return VKF_OK;
}

vkf_status vkf__trainer_check_batch(vkf_trainer *t, const char *function, const vkf_train_batch *batch,
                                    uint64_t *out_labels)
{
    const check c = {&t->context->host, function};
    const vkf_model_config *config = &t->model->config;
    const vkf__graph_sizes sizes = sizes_of(t, batch);
    const uint64_t source = (uint64_t)sizes.batch * sizes.len[VKF_SIDE_SOURCE];
    const uint64_t target = (uint64_t)sizes.batch * sizes.len[VKF_SIDE_TARGET];
    *out_labels = 0;
    if (t->exchange && sizes.batch == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(check_sizes(t, &c, batch, &sizes));
    VKF_RETURN_IF_ERROR(check_ids(&c, "source_ids", batch->source_ids, source, config->source_vocab));
    VKF_RETURN_IF_ERROR(check_ids(&c, "target_ids", batch->target_ids, target, config->target_vocab));
    if (t->model->weights.token_types.rank > 0)
        VKF_RETURN_IF_ERROR(check_ids(&c, "source_types", batch->source_types, source, config->token_types));
    VKF_RETURN_IF_ERROR(check_lengths(&c, batch));
    return check_labels(t, &c, batch, &sizes, out_labels);
}

static void write_ids(vkf_trainer *t, const int32_t *ids, uint64_t tokens, uint32_t vocab, vkf__graph_ids *to)
{
    if (!ids) {
        memset(t->token_scratch, 0, tokens * sizeof *t->token_scratch);
        ids = t->token_scratch;
    }
    memcpy(words_at(&to->ids), ids, tokens * sizeof *ids);
    order(t, ids, tokens, vocab, to);
}

// Rows of learned positions. Position ids, as RoBERTa has them, leave out padding, whose own is pad_id.
static void write_positions(vkf_trainer *t, const vkf_train_batch *batch, vkf__graph_side side, uint32_t len)
{
    const vkf_model_config *config = &t->model->config;
    vkf__graph_inputs *in = &t->graph.inputs;
    const vkf_tensor *table =
        side == VKF_SIDE_SOURCE ? &t->model->weights.source.positions : &t->model->weights.target.positions;
    const bool own = side == VKF_SIDE_SOURCE && in->position_ids > 0;
    int32_t *ids = t->token_scratch;
    if (!vkf__present(&in->positions[side].lists))
        return;
    for (uint32_t b = 0; b < batch->batch; b++) {
        int32_t next = (int32_t)config->position_offset;
        for (uint32_t i = 0; i < len; i++) {
            const size_t at = (size_t)b * len + i;
            ids[at] = own && batch->source_ids[at] == config->pad_id ? config->pad_id : next++;
        }
    }
    const uint64_t tokens = (uint64_t)batch->batch * len;
    if (own)
        memcpy(words_at(&in->tokens[side].ids) + in->position_ids, ids, tokens * sizeof *ids);
    order(t, ids, tokens, table->shape[0], &in->positions[side]);
}

static void write_lengths(const vkf_trainer *t, const vkf_train_batch *batch)
{
    int32_t *lengths = words_at(&t->graph.inputs.source_lengths);
    for (uint32_t i = 0; i < batch->batch; i++)
        lengths[i] = (int32_t)(batch->source_lengths ? batch->source_lengths[i] : batch->source_len);
}

static void write_labels(const vkf_trainer *t, const vkf_train_batch *batch, const vkf__graph_sizes *sizes)
{
    const uint32_t count = vkf__graph_labels(&t->graph, sizes);
    int32_t *labels = words_at(&t->graph.inputs.labels);
    for (uint32_t i = 0; i < count; i++)
        labels[i] = t->graph.contrastive_scale != 0.0f ? (int32_t)i : batch->labels[i];
}

void vkf__trainer_write_batch(vkf_trainer *t, const vkf_train_batch *batch, vkf__graph_sizes *out_sizes)
{
    const vkf_model_config *config = &t->model->config;
    const vkf__graph_sizes sizes = sizes_of(t, batch);
    vkf__graph_inputs *in = &t->graph.inputs;
    const int32_t *ids[] = {batch->source_ids, batch->target_ids};
    const uint32_t vocabs[] = {config->source_vocab, config->target_vocab};
    for (int side = 0; side < VKF_SIDE_COUNT; side++) {
        if (sizes.len[side] == 0)
            continue;
        write_ids(t, ids[side], (uint64_t)sizes.batch * sizes.len[side], vocabs[side], &in->tokens[side]);
        write_positions(t, batch, (vkf__graph_side)side, sizes.len[side]);
    }
    if (vkf__present(&in->types.ids))
        write_ids(t, batch->source_types, (uint64_t)sizes.batch * sizes.len[VKF_SIDE_SOURCE], config->token_types,
                  &in->types);
    if (sizes.len[VKF_SIDE_SOURCE] > 0)
        write_lengths(t, batch);
    write_labels(t, batch, &sizes);
    *out_sizes = sizes;
}
