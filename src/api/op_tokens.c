// Public entry points of operators on tokens and scores: embedding, argmax, additive attention.
#include "api/check.h"
#include "base/sized.h"
#include "op/additive.h"
#include "op/argmax.h"
#include "op/embed.h"
#include "op/operators.h"
#include "op/run_once.h"

static vkf_status check_embed(const vkf__checker *check, const vkf_embed_desc *desc)
{
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->ids, "ids", VKF_DTYPE_I32, 2, desc->ids.shape));
    VKF_RETURN_IF_ERROR(vkf__check_factor(check, &desc->table, "table"));
    if (desc->table.rank != 2)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: table must be of rank 2", check->function);
    const uint32_t out_shape[] = {desc->ids.shape[0], desc->ids.shape[1], desc->table.shape[1]};
    VKF_RETURN_IF_ERROR(vkf__check_float(check, &desc->out, "out"));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", desc->out.dtype, 3, out_shape));
    const uint32_t position_shape[] = {desc->positions.shape[0], desc->table.shape[1]};
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &desc->positions, "positions", VKF_DTYPE_F32, 2, position_shape));
    if (desc->positions.rank > 0 && (uint64_t)desc->first_position + desc->ids.shape[1] > desc->positions.shape[0])
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: positions %u to %u, the table has %u",
                         check->function, desc->first_position, desc->first_position + desc->ids.shape[1],
                         desc->positions.shape[0]);
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->ids, "ids"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->table, "table"));
    return vkf__check_apart(check, &desc->out, &desc->positions, "positions");
}

vkf_status vkf_embed_sized(vkf_context *context, const vkf_embed_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_embed");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_embed", vkf_embed_desc, desc, desc_bytes);
    const vkf__checker check = {.host = &context->host, .function = "vkf_embed", .context = context};
    VKF_RETURN_IF_ERROR(check_embed(&check, desc));
    const vkf__embed_args args = {
        .label = "embed",
        .ids = vkf__span_of(&desc->ids),
        .table = vkf__span_of(&desc->table),
        .positions = vkf__span_of(&desc->positions),
        .out = vkf__span_of(&desc->out),
        .batch = desc->ids.shape[0],
        .len = desc->ids.shape[1],
        .dim = desc->table.shape[1],
        .vocab = desc->table.shape[0],
        .ids_stride = desc->ids.shape[1],
        .first_position = desc->first_position,
        .scale = vkf__factor_or(desc->scale, 1),
    };
    return vkf__run_once(context, "embed", vkf__operator(VKF_OP_EMBED)->emit, &args);
}

vkf_status vkf_argmax(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out)
{
    if (!context || !x || !out)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    uint64_t count = 0;
    const vkf__checker check = {.host = &context->host, .function = "vkf_argmax", .context = context};
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, x, "x"));
    // A vector x gives a single index.
    const uint32_t one = 1;
    uint32_t cols = x->shape[x->rank - 1];
    VKF_RETURN_IF_ERROR(vkf__check_shape(&check, out, "out", VKF_DTYPE_I32, x->rank > 1 ? x->rank - 1 : 1,
                                         x->rank > 1 ? x->shape : &one));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, out, x, "x"));
    (void)vkf_tensor_count(x, &count);
    if (count / cols > UINT32_MAX)
        return vkf__fail(check.host, VKF_ERROR_TOO_LARGE, "%s: more than 2^32 rows", check.function);
    const vkf__argmax_args args = {
        .label = "argmax",
        .x = vkf__span_of(x),
        .out = vkf__span_of(out),
        .rows = (uint32_t)(count / cols),
        .cols = cols,
        .out_stride = 1,
    };
    return vkf__run_once(context, "argmax", vkf__operator(VKF_OP_ARGMAX)->emit, &args);
}

vkf_status vkf_additive_scores_sized(vkf_context *context, const vkf_additive_scores_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_additive_scores");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_additive_scores", vkf_additive_scores_desc, desc, desc_bytes);
    const vkf_tensor *q = &desc->query, *k = &desc->key;
    const vkf__checker check = {.host = &context->host, .function = "vkf_additive_scores", .context = context};
    VKF_RETURN_IF_ERROR(vkf__check_float(&check, q, "query"));
    if (q->rank != 3)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: query must be of rank 3", check.function);
    const uint32_t key_shape[] = {q->shape[0], k->shape[1], q->shape[2]};
    const uint32_t out_shape[] = {q->shape[0], q->shape[1], k->shape[1]};
    VKF_RETURN_IF_ERROR(vkf__check_shape(&check, k, "key", q->dtype, 3, key_shape));
    VKF_RETURN_IF_ERROR(vkf__check_shape(&check, &desc->v, "v", q->dtype, 1, &q->shape[2]));
    VKF_RETURN_IF_ERROR(vkf__check_shape(&check, &desc->out, "out", q->dtype, 3, out_shape));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, &desc->out, q, "query"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, &desc->out, k, "key"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(&check, &desc->out, &desc->v, "v"));
    const vkf__additive_args args = {
        .label = "additive_scores",
        .query = vkf__span_of(q),
        .key = vkf__span_of(k),
        .v = vkf__span_of(&desc->v),
        .out = vkf__span_of(&desc->out),
        .batch = q->shape[0],
        .q_len = q->shape[1],
        .k_len = k->shape[1],
        .dim = q->shape[2],
    };
    return vkf__run_once(context, "additive_scores", vkf__operator(VKF_OP_ADDITIVE_SCORES)->emit, &args);
}
