// Public entry points of operators on tokens and scores: embedding, argmax, additive attention.
#include "api/op_check.h"
#include "base/float_or.h"
#include "base/sized.h"
#include "op/additive.h"
#include "op/argmax.h"
#include "op/embed.h"
#include "op/operators.h"

static vkf_status check_embed(const vkf__checker *check, const vkf_embed_desc *desc)
{
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->ids, "ids", VKF_DTYPE_I32, 2, desc->ids.shape));
    VKF_RETURN_IF_ERROR(vkf__check_factor(check, &desc->table, "table"));
    if (desc->table.rank != 2)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: table must be of rank 2", check->function);
    if (desc->table.shape[0] == 0 && !vkf__is_empty(&desc->ids))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: there are ids, and the table has no rows",
                         check->function);
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
    const vkf__checker check = vkf__operator_checker(context, "vkf_embed");
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
        .scale = vkf__float_or(desc->scale, 1.0f),
    };
    return vkf__run_operator(&check, &desc->out, "embed", vkf__operator(VKF_OP_EMBED)->emit, &args);
}

static vkf_status check_argmax(const vkf__checker *check, const vkf_argmax_desc *desc, uint32_t *out_rows)
{
    const vkf_tensor *x = &desc->x;
    VKF_RETURN_IF_ERROR(vkf__check_float(check, x, "x"));
    // A vector x gives a single index.
    const uint32_t one = 1;
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", VKF_DTYPE_I32, x->rank > 1 ? x->rank - 1 : 1,
                                         x->rank > 1 ? x->shape : &one));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, x, "x"));
    VKF_RETURN_IF_ERROR(vkf__check_rows(check, x, out_rows));
    if (*out_rows > 0 && x->shape[x->rank - 1] == 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: the rows of x are empty, and nothing of them is the largest", check->function);
    return VKF_OK;
}

vkf_status vkf_argmax_sized(vkf_context *context, const vkf_argmax_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_argmax");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_argmax", vkf_argmax_desc, desc, desc_bytes);
    uint32_t rows = 0;
    const vkf__checker check = vkf__operator_checker(context, "vkf_argmax");
    VKF_RETURN_IF_ERROR(check_argmax(&check, desc, &rows));
    const vkf__argmax_args args = {
        .label = "argmax",
        .x = vkf__span_of(&desc->x),
        .out = vkf__span_of(&desc->out),
        .rows = rows,
        .cols = desc->x.shape[desc->x.rank - 1],
        .out_stride = 1,
        .last = desc->last,
    };
    return vkf__run_operator(&check, &desc->out, "argmax", vkf__operator(VKF_OP_ARGMAX)->emit, &args);
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
    const vkf__checker check = vkf__operator_checker(context, "vkf_additive_scores");
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
    return vkf__run_operator(&check, &desc->out, "additive_scores", vkf__operator(VKF_OP_ADDITIVE_SCORES)->emit, &args);
}
