// Public entry points of sessions. All arguments are checked here, before anything is written.
#include <string.h>

#include "api/layer_check.h"
#include "api/models/session_check.h"
#include "base/sized.h"
#include "model/session/session_attention.h"
#include "model/session/session_classes.h"
#include "model/session/session_flight.h"
#include "model/session/session_layout.h"
#include "model/session/session_prefill.h"
#include "model/session/session_run.h"

static bool seq2seq(const vkf_session *session)
{
    return vkf__facts_of(&session->model->config)->generates && vkf__facts_of(&session->model->config)->encodes;
}

static bool prompts(const vkf_session *session)
{
    return vkf__facts_of(&session->model->config)->prompts;
}

static bool pools(const vkf_session *session)
{
    return vkf__facts_of(&session->model->config)->pools;
}

// More positions give a GPU more tiles to share among its cores, and a processor more to keep in its cache.
#define DEFAULT_PROMPT_LEN 512u
#define DEFAULT_PROMPT_LEN_PROCESSOR 256u

// Completes a DECODER's descriptor. Rows of a batch are padded in front, which takes a key mask; a single row needs
// none.
static vkf_session_desc complete_decoder(const vkf_model *model, const vkf_session_desc *desc)
{
    const bool processor = model->context->device.plan.caps.traits.processor;
    const uint32_t usual = processor ? DEFAULT_PROMPT_LEN_PROCESSOR : DEFAULT_PROMPT_LEN;
    uint32_t prompt = desc->max_prompt_len > 0 ? desc->max_prompt_len : usual;
    return (vkf_session_desc){
        .max_batch = desc->max_batch,
        .max_source_len = 1, // it has no encoder
        .max_target_len = desc->max_target_len,
        .max_logit_rows = desc->max_logit_rows,
        .max_prompt_len = prompt < desc->max_target_len ? prompt : desc->max_target_len,
        .target_mask = {.key_kind = desc->max_batch > 1 ? VKF_MASK_BOOL_EXCLUDE : VKF_MASK_NONE,
                        .causal = VKF_CAUSAL_TOP_LEFT},
        .attention_weights = desc->attention_weights,
        .max_beams = desc->max_beams > 0 ? desc->max_beams : 1,
    };
}

// The caches of a model with f16 activations are f16 whatever is asked for.
static vkf_dtype cache_dtype_of(const vkf_model *model, const vkf_session_desc *desc)
{
    return model->dtype == VKF_DTYPE_F16 && desc->cache_dtype == VKF_DTYPE_F32 ? VKF_DTYPE_F16 : desc->cache_dtype;
}

// Completes a descriptor. The masks of a SEQ2SEQ model follow from its tokens: pad_id marks padding, and the target is
// causal. Those of an ENCODER follow from the lengths.
static vkf_session_desc complete(const vkf_model *model, const vkf_session_desc *desc)
{
    vkf_session_desc full = *desc;
    full.max_prompt_len = desc->max_target_len;
    full.max_beams = desc->max_beams > 0 ? desc->max_beams : 1;
    if (vkf__facts_of(&model->config)->start_token) {
        full.source_mask = (vkf_attention_mask){.key_kind = VKF_MASK_BOOL_EXCLUDE};
        full.memory_mask = full.source_mask;
        full.target_mask = (vkf_attention_mask){
            .key_kind = desc->target_mask.key_kind,
            .causal = VKF_CAUSAL_TOP_LEFT,
        };
    }
    if (vkf__facts_of(&model->config)->pools) {
        full = (vkf_session_desc){
            .max_batch = desc->max_batch,
            .max_source_len = desc->max_source_len,
            .max_target_len = 1, // it has no decoder
            .max_prompt_len = 1,
            .max_beams = full.max_beams,
            .max_logit_rows = desc->max_logit_rows > 0 ? 1 : 0,
            .source_mask = {.key_kind = VKF_MASK_LENGTHS,
                            .causal = model->config.causal ? VKF_CAUSAL_TOP_LEFT : VKF_CAUSAL_NONE},
            .attention_weights = desc->attention_weights,
        };
    }
    if (vkf__facts_of(&model->config)->prompts)
        full = complete_decoder(model, desc);
    full.cache_dtype = cache_dtype_of(model, desc);
    return full;
}

static bool generates_tokens(const vkf_model *model)
{
    return vkf__facts_of(&model->config)->generates;
}

// The kinds of attention that a model has, as bits of vkf_attention_kind.
static uint32_t attention_kinds(const vkf_model_config *config)
{
    bool encodes = config->num_encoder_layers > 0 && vkf__facts_of(config)->encodes;
    bool decodes = config->num_decoder_layers > 0 && vkf__facts_of(config)->decodes;
    bool crosses = decodes && vkf__facts_of(config)->crosses;
    return (encodes ? VKF_ATTENTION_ENCODER : 0u) | (decodes ? VKF_ATTENTION_DECODER : 0u) |
           (crosses ? VKF_ATTENTION_CROSS : 0u);
}

// Notes the first of two limits if it is exceeded, and else the second.
static const vkf__host *exceeded(const vkf__host *host, const char *first, uint32_t asked, uint32_t allowed,
                                 const char *second, uint32_t second_asked, uint32_t second_allowed)
{
    return asked > allowed ? vkf__limited(host, first, asked, allowed)
                           : vkf__limited(host, second, second_asked, second_allowed);
}

static vkf_status check_desc(const vkf__checker *check, const vkf_model *model, const vkf_session_desc *desc)
{
    bool tokens = vkf__facts_of(&model->config)->start_token;
    const vkf_layer_sizes sizes[] = {
        {desc->max_batch, desc->max_source_len, desc->max_source_len},
        {desc->max_batch, desc->max_prompt_len, desc->max_target_len},
        {desc->max_batch, desc->max_target_len, desc->max_source_len},
    };
    for (size_t i = 0; i < 3; i++)
        VKF_RETURN_IF_ERROR(vkf__check_sizes(check, &sizes[i], true));
    VKF_RETURN_IF_ERROR(vkf__check_mask_desc(check, &desc->source_mask, "source_mask"));
    VKF_RETURN_IF_ERROR(vkf__check_mask_desc(check, &desc->target_mask, "target_mask"));
    VKF_RETURN_IF_ERROR(vkf__check_mask_desc(check, &desc->memory_mask, "memory_mask"));
    if (desc->fully_masked >= VKF_FULLY_MASKED_COUNT ||
        (tokens && desc->max_target_len < 2 && desc->max_logit_rows == 0) ||
        desc->max_logit_rows > desc->max_target_len)
        return vkf__fail(
            check->host, VKF_ERROR_INVALID_ARGUMENT,
            "%s: fully_masked is unknown, max_target_len too small to generate, or max_logit_rows beyond it",
            check->function);
    if (vkf__facts_of(&model->config)->pools && desc->max_source_len > model->config.max_source_len)
        return vkf__fail(
            vkf__limited(check->host, "max_source_len", desc->max_source_len, model->config.max_source_len),
            VKF_ERROR_TOO_LARGE, "%s: max_source_len %u beyond the model's %u positions", check->function,
            desc->max_source_len, model->config.max_source_len);
    bool bounded = model->config.positions == VKF_POSITIONS_LEARNED || model->config.relative_buckets > 0;
    if (vkf__facts_of(&model->config)->start_token && bounded &&
        (desc->max_source_len > model->config.max_source_len || desc->max_target_len > model->config.max_target_len))
        return vkf__fail(exceeded(check->host, "max_source_len", desc->max_source_len, model->config.max_source_len,
                                  "max_target_len", desc->max_target_len, model->config.max_target_len),
                         VKF_ERROR_TOO_LARGE,
                         "%s: max_source_len %u and max_target_len %u beyond the model's %u and %u positions",
                         check->function, desc->max_source_len, desc->max_target_len, model->config.max_source_len,
                         model->config.max_target_len);
    if (vkf__facts_of(&model->config)->prompts && desc->max_target_len > model->config.max_target_len)
        return vkf__fail(
            vkf__limited(check->host, "max_target_len", desc->max_target_len, model->config.max_target_len),
            VKF_ERROR_TOO_LARGE, "%s: max_target_len %u beyond the model's %u positions", check->function,
            desc->max_target_len, model->config.max_target_len);
    if (desc->cache_dtype != VKF_DTYPE_F32 && desc->cache_dtype != VKF_DTYPE_F16)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: cache_dtype is neither F32 nor F16",
                         check->function);
    if (desc->max_beams > VKF_MAX_BEAMS || (desc->max_beams > 1 && !generates_tokens(model)) ||
        (desc->max_beams > 1 && desc->attention_weights))
        return vkf__fail(
            check->host, VKF_ERROR_INVALID_ARGUMENT,
            "%s: max_beams is above %u, or the model generates no tokens, or attention_weights are asked for",
            check->function, VKF_MAX_BEAMS);
    if (desc->attention_weights & ~attention_kinds(&model->config))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: attention_weights 0x%x ask for attention that the model has not, its kinds are 0x%x",
                         check->function, desc->attention_weights, attention_kinds(&model->config));
    return VKF_OK;
}

vkf_status vkf__session_complete(const vkf_model *model, const vkf_session_desc *desc, const char *function,
                                 vkf_session_desc *out_full)
{
    const vkf__checker check = {.host = &model->context->host, .function = function, .context = model->context};
    *out_full = complete(model, desc);
    return check_desc(&check, model, out_full);
}

vkf_status vkf_session_create_sized(vkf_model *model, const vkf_session_desc *desc, size_t desc_bytes,
                                    vkf_session **out_session)
{
    if (!model || !desc || !out_session)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(model->context, "vkf_session_create");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&model->context->host, "vkf_session_create", vkf_session_desc, desc, desc_bytes);
    vkf_session_desc full;
    VKF_RETURN_IF_ERROR(vkf__session_complete(model, desc, "vkf_session_create", &full));
    return vkf__session_create(model, &full, out_session);
}

vkf_status vkf_session_plan_sized(vkf_model *model, const vkf_session_desc *desc, size_t desc_bytes,
                                  vkf_memory_plan *out_plan, size_t plan_bytes)
{
    if (!model || !desc || !out_plan)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(model->context, "vkf_session_plan");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&model->context->host, "vkf_session_plan", vkf_session_desc, desc, desc_bytes);
    vkf_session_desc full;
    VKF_RETURN_IF_ERROR(vkf__session_complete(model, desc, "vkf_session_plan", &full));
    vkf_memory_plan plan;
    VKF_RETURN_IF_ERROR(vkf__check_sized(&model->context->host, "vkf_session_plan", plan_bytes));
    VKF_RETURN_IF_ERROR(vkf__session_plan(model, &full, &plan));
    (void)vkf__give_sized(out_plan, plan_bytes, &plan, sizeof plan);
    return VKF_OK;
}

static vkf_status fail_argument(const vkf_session *session, const char *function, const char *why)
{
    return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT, "%s: %s", function, why);
}

static vkf_status check_source_sizes(const vkf_session *session, const char *function, uint32_t batch, uint32_t len)
{
    if (batch == 0 || len == 0)
        return fail_argument(session, function, "batch or source_len is 0");
    if (batch > session->desc.max_batch || len > session->desc.max_source_len)
        return vkf__fail(exceeded(&session->context->host, "max_batch", batch, session->desc.max_batch,
                                  "max_source_len", len, session->desc.max_source_len),
                         VKF_ERROR_TOO_LARGE, "%s: batch %u and source_len %u beyond the session's %u and %u", function,
                         batch, len, session->desc.max_batch, session->desc.max_source_len);
    return VKF_OK;
}

static vkf_status check_ids(const vkf_session *session, const char *function, const int32_t *ids, uint64_t first,
                            uint64_t count, uint32_t vocab)
{
    for (uint64_t i = first; i < first + count; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= vocab)
            return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                             "%s: token id %d at place %llu is outside the vocabulary of %u", function, ids[i],
                             (unsigned long long)i, vocab);
    }
    return VKF_OK;
}

static bool masks_given(const vkf_attention_mask *mask, const void *data, const void *key_data)
{
    return (mask->kind == VKF_MASK_NONE || data) && (mask->key_kind == VKF_MASK_NONE || key_data);
}

static vkf_status check_lengths(const vkf_session *session, const char *function, const vkf_encode_args *args)
{
    for (uint32_t b = 0; b < args->batch; b++) {
        if (args->source_lengths[b] < 1 || args->source_lengths[b] > args->source_len)
            return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                             "%s: source_lengths[%u] is %u, expected 1 to %u", function, b, args->source_lengths[b],
                             args->source_len);
    }
    return VKF_OK;
}

// Checks the ids and types of one row. Padding may have any id: the device looks up no row outside the table, and what
// comes of padding is not read.
static vkf_status check_row(const vkf_session *session, const char *function, const vkf_encode_args *args, uint32_t row)
{
    const vkf_model_config *config = &session->model->config;
    uint64_t first = (uint64_t)row * args->source_len;
    uint32_t length = args->source_lengths[row];
    VKF_RETURN_IF_ERROR(check_ids(session, function, args->source_ids, first, length, config->source_vocab));
    for (uint64_t i = first; args->source_types && i < first + length; i++) {
        if (args->source_types[i] < 0 || (uint32_t)args->source_types[i] >= config->token_types)
            return fail_argument(session, function, "a token type is outside the model's");
    }
    return VKF_OK;
}

// Whether the host needs no ids: none has a meaning beside its row of the table.
static bool takes_ids_of_the_device(const vkf_session *session, const vkf_encode_args *args)
{
    const vkf_model_config *config = &session->model->config;
    const bool ends_by_id = config->causal && config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
    return args->source_lengths && !vkf__has_position_ids(config) && !ends_by_id;
}

static vkf_status check_tokens(const vkf_session *session, const char *function, const vkf_encode_args *args)
{
    const vkf_model_config *config = &session->model->config;
    if (!args->source_ids || (pools(session) && !args->source_lengths))
        return fail_argument(session, function, "source_ids, or an encoder's source_lengths, is NULL");
    if (args->source_lengths)
        VKF_RETURN_IF_ERROR(check_lengths(session, function, args));
    if (!pools(session))
        return check_ids(session, function, args->source_ids, 0, (uint64_t)args->batch * args->source_len,
                         config->source_vocab);
    if (args->source_types && config->token_types == 0)
        return fail_argument(session, function, "source_types are given, but the model has none");
    for (uint32_t row = 0; row < args->batch; row++)
        VKF_RETURN_IF_ERROR(check_row(session, function, args, row));
    return VKF_OK;
}

vkf_status vkf_session_encode_sized(vkf_session *session, const vkf_encode_args *args, size_t args_bytes)
{
    static const char function[] = "vkf_session_encode";
    if (!session || !args)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__session_enter(session, function);
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&session->context->host, function, vkf_encode_args, args, args_bytes);
    if (prompts(session))
        return fail_argument(session, function, "the model has no encoder");
    VKF_RETURN_IF_ERROR(check_source_sizes(session, function, args->batch, args->source_len));
    if (args->out_embeddings && !pools(session))
        return fail_argument(session, function, "out_embeddings is given, but the model has no pooling");
    if (args->out_logits && !vkf__session_has_head(session))
        return fail_argument(session, function,
                             "out_logits is given, but the model has no head, or the session was made without logits");
    if (seq2seq(session) || pools(session)) {
        VKF_RETURN_IF_ERROR(check_tokens(session, function, args));
    } else if (!args->source || !masks_given(&session->desc.source_mask, args->source_mask, args->source_key_mask)) {
        return fail_argument(session, function, "source, or a mask that the session was made for, is NULL");
    }
    return vkf__session_encode_numbers(session, args);
}

static vkf_status check_source_on_device(const vkf_session *session, const char *function, const vkf_encode_args *args)
{
    if (seq2seq(session) || pools(session)) {
        if (args->source_ids)
            return check_tokens(session, function, args);
        if (!takes_ids_of_the_device(session, args))
            return fail_argument(session, function,
                                 "source_ids are NULL, but the host needs them or, if it does not, source_lengths");
        VKF_RETURN_IF_ERROR(check_lengths(session, function, args));
        return args->source_types ? fail_argument(session, function, "source_types are given without source_ids")
                                  : VKF_OK;
    }
    if (!masks_given(&session->desc.source_mask, args->source_mask, args->source_key_mask))
        return fail_argument(session, function, "a mask that the session was made for is NULL");
    return VKF_OK;
}

vkf_status vkf__session_check_encode_launch(const vkf_session *session, const vkf_encode_args *args,
                                            const char *function)
{
    if (session->group_begin[VKF_STAGES_ENCODE + 1] == 0)
        return fail_argument(session, function, "the model has no encoder");
    if (session->desc.attention_weights)
        return fail_argument(session, function, "the session keeps attention_weights, which the host gathers");
    if (args->out_memory || args->out_embeddings || args->out_logits)
        return fail_argument(session, function,
                             "results stay on the device: leave the outputs NULL and see vkf_session_get_tensor()");
    VKF_RETURN_IF_ERROR(check_source_sizes(session, function, args->batch, args->source_len));
    return check_source_on_device(session, function, args);
}

// Checks the arguments of a DECODER.
static vkf_status check_decode_tokens(const vkf_session *session, const vkf_decode_args *args, const char *function)
{
    const vkf_session_desc *desc = &session->desc;
    if (args->batch == 0 || args->target_len == 0 || !args->target_ids)
        return fail_argument(session, function, "batch or target_len is 0, or target_ids is NULL");
    if (args->out_hidden || (args->out_logits && desc->max_logit_rows == 0))
        return fail_argument(
            session, function,
            "out_hidden is not for this model, and out_logits for sessions with max_logit_rows above 0");
    if (args->batch > desc->max_batch || args->target_len > desc->max_target_len)
        return vkf__fail(exceeded(&session->context->host, "max_batch", args->batch, desc->max_batch, "max_target_len",
                                  args->target_len, desc->max_target_len),
                         VKF_ERROR_TOO_LARGE, "%s: batch %u and target_len %u beyond the session's %u and %u", function,
                         args->batch, args->target_len, desc->max_batch, desc->max_target_len);
    for (uint32_t b = 0; args->target_starts && b < args->batch; b++) {
        uint32_t most = desc->max_batch > 1 ? args->target_len - 1 : 0;
        if (args->target_starts[b] > most)
            return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                             "%s: target_starts[%u] is %u, expected 0 to %u%s", function, b, args->target_starts[b],
                             most, desc->max_batch > 1 ? "" : " in a session for one row");
    }
    for (uint32_t b = 0; b < args->batch; b++) {
        uint32_t start = args->target_starts ? args->target_starts[b] : 0;
        vkf_status status = check_ids(session, function, args->target_ids, (uint64_t)b * args->target_len + start,
                                      args->target_len - start, session->model->config.target_vocab);
        if (status != VKF_OK)
            return status;
    }
    return VKF_OK;
}

static vkf_status check_decode(const vkf_session *session, const vkf_decode_args *args, const char *function)
{
    const vkf_session_desc *desc = &session->desc;
    if (!session->encoded)
        return fail_argument(session, function, "no memory to attend to; call vkf_session_encode first");
    if (session->group_begin[VKF_STAGES_DECODE] == session->group_begin[VKF_STAGES_DECODE + 1])
        return fail_argument(session, function,
                             pools(session) ? "the model has no decoder"
                                            : "the session only generates; create it with max_logit_rows above 0");
    if (args->target_len == 0)
        return fail_argument(session, function, "target_len is 0");
    if (args->batch != 0 && args->batch != session->sizes.batch)
        return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: batch is %u, and vkf_session_encode() had %u rows", function, args->batch,
                         session->sizes.batch);
    if (args->out_logits && !seq2seq(session))
        return fail_argument(session, function, "this model has no logits");
    if (args->target_len > desc->max_target_len || (args->out_logits && args->target_len > desc->max_logit_rows))
        return vkf__fail(exceeded(&session->context->host, "max_target_len", args->target_len, desc->max_target_len,
                                  "max_logit_rows", args->target_len, desc->max_logit_rows),
                         VKF_ERROR_TOO_LARGE,
                         "%s: target_len %u beyond the session's max_target_len %u or max_logit_rows %u", function,
                         args->target_len, desc->max_target_len, desc->max_logit_rows);
    if (!masks_given(&desc->target_mask, seq2seq(session) ? session : args->target_mask, args->target_key_mask))
        return fail_argument(session, function, "a target mask that the session was made for is NULL");
    if (!seq2seq(session) &&
        (!args->target || !masks_given(&desc->memory_mask, args->memory_mask, args->memory_key_mask)))
        return fail_argument(session, function, "target, or a memory mask that the session was made for, is NULL");
    if (!seq2seq(session))
        return VKF_OK;
    if (!args->target_ids)
        return fail_argument(session, function, "target_ids is NULL");
    return check_ids(session, function, args->target_ids, 0, (uint64_t)session->sizes.batch * args->target_len,
                     session->model->config.target_vocab);
}

vkf_status vkf_session_decode_sized(vkf_session *session, const vkf_decode_args *args, size_t args_bytes)
{
    static const char function[] = "vkf_session_decode";
    if (!session || !args)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__session_enter(session, function);
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&session->context->host, function, vkf_decode_args, args, args_bytes);
    if (prompts(session)) {
        VKF_RETURN_IF_ERROR(check_decode_tokens(session, args, function));
        return vkf__session_decode_tokens(session, args);
    }
    VKF_RETURN_IF_ERROR(check_decode(session, args, function));
    return vkf__session_decode(session, args);
}

vkf_status vkf_session_greedy_sized(vkf_session *session, const vkf_greedy_args *args, size_t args_bytes)
{
    static const char function[] = "vkf_session_greedy";
    if (!session || !args)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__session_enter(session, function);
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&session->context->host, function, vkf_greedy_args, args, args_bytes);
    if (!seq2seq(session) || session->group_begin[VKF_STAGES_STEP] == session->group_begin[VKF_STAGES_STEP + 1])
        return fail_argument(session, function,
                             "the model does not generate tokens from a source, or max_target_len is below 2");
    if (!args->source_ids || !args->out_ids || !args->out_lengths)
        return fail_argument(session, function, "source_ids, out_ids or out_lengths is NULL");
    VKF_RETURN_IF_ERROR(check_source_sizes(session, function, args->batch, args->source_len));
    if (args->max_len > session->desc.max_target_len)
        return vkf__fail(
            vkf__limited(&session->context->host, "max_target_len", args->max_len, session->desc.max_target_len),
            VKF_ERROR_TOO_LARGE, "%s: max_len %u beyond the session's max_target_len %u", function, args->max_len,
            session->desc.max_target_len);
    VKF_RETURN_IF_ERROR(check_ids(session, function, args->source_ids, 0, (uint64_t)args->batch * args->source_len,
                                  session->model->config.source_vocab));
    return vkf__session_greedy(session, args);
}

static vkf_status find_kept(const vkf_session *session, const char *function, vkf_attention_kind kind,
                            uint32_t query_len, int *out_which)
{
    int which = kind == VKF_ATTENTION_CROSS     ? VKF_KEPT_CROSS
                : kind == VKF_ATTENTION_ENCODER ? VKF_KEPT_ENCODER
                                                : VKF_KEPT_DECODER;
    const vkf__kept_attention *kept = &session->kept[which];
    if ((unsigned)kind != 1u << which || kept->layers == 0)
        return fail_argument(session, function, "the session was created without attention_weights of this kind");
    if (query_len > kept->rows)
        return fail_argument(session, function, "the last run had fewer positions than query_len");
    *out_which = which;
    return VKF_OK;
}

vkf_status vkf_session_get_attention(vkf_session *session, vkf_attention_kind kind, uint32_t layer, uint32_t row,
                                     uint32_t query_len, float *out_weights)
{
    int which = 0;
    if (!session || !out_weights)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(find_kept(session, __func__, kind, query_len, &which));
    if (layer >= session->kept[which].layers || row >= session->sizes.batch)
        return fail_argument(session, __func__, "no such layer, or no such row in the last run");
    vkf__kept_attention_read(session, which, layer, row, query_len, out_weights);
    return VKF_OK;
}

vkf_status vkf_session_get_attention_shape(const vkf_session *session, vkf_attention_kind kind, uint32_t query_len,
                                           uint32_t *out_heads, uint32_t *out_keys)
{
    int which = 0;
    if (!session || !out_heads || !out_keys)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(find_kept(session, __func__, kind, query_len, &which));
    *out_heads = session->kept[which].heads;
    *out_keys = vkf__kept_attention_keys(session, which, query_len);
    return VKF_OK;
}

uint32_t vkf_session_get_record_count(const vkf_session *session)
{
    return session ? session->record_count : 0;
}

uint32_t vkf_session_get_command_buffer_count(const vkf_session *session)
{
    return session ? (uint32_t)vkf__session_command_buffers(session) : 0;
}

vkf_status vkf_session_get_timings_sized(vkf_session *session, uint32_t *inout_count, vkf_timing *out_timings,
                                         size_t timing_bytes)
{
    if (!session || !inout_count)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__session_enter(session, "vkf_session_get_timings");
    if (status != VKF_OK)
        return status;
    VKF_RETURN_IF_ERROR(vkf__check_sized(&session->context->host, "vkf_session_get_timings", timing_bytes));
    if (session->last_group < 0)
        return fail_argument(session, "vkf_session_get_timings", "no run to time");
    size_t begin = session->group_begin[session->last_group], end = session->group_begin[session->last_group + 1];
    for (size_t i = begin; out_timings && i < end && i - begin < *inout_count; i++) {
        double ns = 0;
        VKF_RETURN_IF_ERROR(vkf__stage_time(&session->stages[i], &ns));
        const vkf_timing timing = {.label = session->stages[i].name, .gpu_ns = ns};
        (void)vkf__give_sized(vkf__sized_at(out_timings, i - begin, timing_bytes), timing_bytes, &timing,
                              sizeof timing);
    }
    *inout_count = (uint32_t)(end - begin);
    return status;
}

vkf_status vkf_session_get_run_cost_sized(const vkf_session *session, vkf_run_cost *out_cost, size_t cost_bytes)
{
    if (!session || !out_cost)
        return vkf__null_argument(__func__);
    if (session->last_group < 0)
        return fail_argument(session, "vkf_session_get_run_cost", "nothing has run");
    VKF_RETURN_IF_ERROR(vkf__check_sized(&session->context->host, "vkf_session_get_run_cost", cost_bytes));
    (void)vkf__give_sized(out_cost, cost_bytes, &session->cost, sizeof session->cost);
    return VKF_OK;
}
