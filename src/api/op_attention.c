// Public entry point of scaled dot-product attention as a single operator.
#include <math.h>

#include "api/mask_check.h"
#include "api/op_check.h"
#include "base/sized.h"
#include "op/attention.h"
#include "op/copy.h"
#include "op/operators.h"

typedef struct attention_shape {
    uint32_t batch, q_len, k_len, heads, kv_heads, dim, v_dim;
} attention_shape;

static vkf_status check_tensors(const vkf__checker *check, const vkf_sdpa_desc *desc, attention_shape *out_shape)
{
    VKF_RETURN_IF_ERROR(vkf__check_float(check, &desc->query, "query"));
    VKF_RETURN_IF_ERROR(vkf__check_float(check, &desc->key, "key"));
    VKF_RETURN_IF_ERROR(vkf__check_float(check, &desc->value, "value"));
    if (desc->query.rank != 4 || desc->key.rank != 4 || desc->value.rank != 4)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: query, key and value must be of rank 4",
                         check->function);
    const uint32_t *q = desc->query.shape, *k = desc->key.shape, *v = desc->value.shape;
    const attention_shape s = {q[0], q[2], k[2], q[1], k[1], q[3], v[3]};
    const uint32_t key[] = {s.batch, s.kv_heads, s.k_len, s.dim}, value[] = {s.batch, s.kv_heads, s.k_len, s.v_dim};
    const uint32_t out[] = {s.batch, s.heads, s.q_len, s.v_dim};
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->key, "key", desc->query.dtype, 4, key));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->value, "value", desc->query.dtype, 4, value));
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &desc->out, "out", desc->query.dtype, 4, out));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->query, "query"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->key, "key"));
    VKF_RETURN_IF_ERROR(vkf__check_apart(check, &desc->out, &desc->value, "value"));
    if (s.dim == 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: heads of query and key have no elements",
                         check->function);
    if (s.kv_heads == 0 ? s.heads > 0 : s.heads % s.kv_heads != 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: %u key heads do not divide %u query heads",
                         check->function, s.kv_heads, s.heads);
    *out_shape = s;
    return VKF_OK;
}

static vkf__heads_span heads_of(const vkf_tensor *tensor)
{
    uint32_t row = tensor->shape[3], head = tensor->shape[2] * row;
    return (vkf__heads_span){vkf__span_of(tensor), tensor->shape[1] * head, row, head};
}

static vkf__attention_args args_of(const vkf_sdpa_desc *desc, const attention_shape *s)
{
    return (vkf__attention_args){
        .label = "attention",
        .q = heads_of(&desc->query),
        .k = heads_of(&desc->key),
        .v = heads_of(&desc->value),
        .out = heads_of(&desc->out),
        .batch = s->batch,
        .heads = s->heads,
        .kv_heads = s->kv_heads,
        .q_len = s->q_len,
        .k_len = s->k_len,
        .head_dim = s->dim,
        .v_head_dim = s->v_dim,
    };
}

// Without keys.
static vkf_status emit_sums_of_none(vkf__work *work, const void *emitted)
{
    const vkf__attention_args *args = emitted;
    return vkf__emit_zeros(work, "no_keys", &args->out.span, args->batch, args->heads * args->q_len, args->v_head_dim);
}

vkf_status vkf_scaled_dot_product_attention_sized(vkf_context *context, const vkf_sdpa_desc *desc, size_t desc_bytes)
{
    if (!context || !desc)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_scaled_dot_product_attention");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_scaled_dot_product_attention", vkf_sdpa_desc, desc, desc_bytes);
    const vkf__checker check = vkf__operator_checker(context, "vkf_scaled_dot_product_attention");
    attention_shape shape = {0};
    VKF_RETURN_IF_ERROR(check_tensors(&check, desc, &shape));
    vkf__attention_args args = args_of(desc, &shape);
    const vkf__mask_target target = {shape.batch, shape.heads, shape.q_len, shape.k_len, &desc->out};
    const vkf__mask_members members = VKF_MASK_MEMBERS(desc);
    const float scale = 1.0f / sqrtf((float)shape.dim);
    VKF_RETURN_IF_ERROR(vkf__check_masks(&check, &members, &target, scale, &args.masks));
    return vkf__run_operator(&check, &desc->out, "attention",
                             shape.k_len > 0 ? vkf__operator(VKF_OP_ATTENTION)->emit : emit_sums_of_none, &args);
}
