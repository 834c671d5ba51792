// Attention in three steps with the scores in memory, for what no fused kernel serves and for callers that want the
// weights.
#include "base/size.h"
#include "op/attention.h"
#include "op/gemm.h"

// How many query heads share a key head. A product takes one query head of every such group.
static uint32_t group_of(const vkf__attention_args *args)
{
    return args->heads / args->kv_heads;
}

static vkf_status emit_scores(vkf__work *work, const vkf__attention_args *args, const vkf__span *scores, uint32_t g)
{
    uint32_t group = group_of(args), plane = args->q_len * args->k_len;
    const vkf__gemm_args gemm = {
        .label = "scores",
        .a = args->q.span,
        .b = args->k.span,
        .d = *scores,
        .m = args->q_len,
        .n = args->k_len,
        .k = args->head_dim,
        .batch = args->batch * args->kv_heads,
        .batch_inner = args->kv_heads,
        .lda = args->q.row_stride,
        .ldb = args->k.row_stride,
        .ldd = args->k_len,
        .a_outer = args->q.batch_stride,
        .a_inner = group * args->q.head_stride,
        .b_outer = args->k.batch_stride,
        .b_inner = args->k.head_stride,
        .d_outer = args->heads * plane,
        .d_inner = group * plane,
        .a_first = g * args->q.head_stride,
        .d_first = (uint64_t)g * plane,
        .transpose_b = true,
        .alpha = 1.0f,
    };
    return vkf__emit_gemm(work, &gemm);
}

static vkf_status emit_weights(vkf__work *work, const vkf__attention_args *args, const vkf__span *scores)
{
    const vkf__softmax_args softmax = {
        .label = "softmax",
        .x = *scores,
        .out = *scores,
        .batch = args->batch,
        .heads = args->heads,
        .q_len = args->q_len,
        .k_len = args->k_len,
        .masks = args->masks,
    };
    return vkf__emit_softmax(work, &softmax);
}

static vkf_status emit_context(vkf__work *work, const vkf__attention_args *args, const vkf__span *weights, uint32_t g)
{
    uint32_t group = group_of(args), plane = args->q_len * args->k_len;
    const vkf__gemm_args gemm = {
        .label = "context",
        .a = *weights,
        .b = args->v.span,
        .d = args->out.span,
        .m = args->q_len,
        .n = args->v_head_dim,
        .k = args->k_len,
        .batch = args->batch * args->kv_heads,
        .batch_inner = args->kv_heads,
        .lda = args->k_len,
        .ldb = args->v.row_stride,
        .ldd = args->out.row_stride,
        .a_outer = args->heads * plane,
        .a_inner = group * plane,
        .b_outer = args->v.batch_stride,
        .b_inner = args->v.head_stride,
        .d_outer = args->out.batch_stride,
        .d_inner = group * args->out.head_stride,
        .a_first = (uint64_t)g * plane,
        .d_first = g * args->out.head_stride,
        .alpha = 1.0f,
    };
    return vkf__emit_gemm(work, &gemm);
}

vkf_status vkf__emit_unfused_attention(vkf__work *work, const vkf__attention_args *args)
{
    vkf__span scores = args->weights; // (batch, heads, q_len, k_len)
    if (!vkf__present(&scores)) {
        const uint64_t factors[] = {args->batch, args->heads, args->q_len, args->k_len};
        uint64_t count = UINT64_MAX;
        (void)vkf__product_u64(factors, 4, &count);
        VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, count, &scores));
    }
    for (uint32_t g = 0; g < group_of(args); g++)
        VKF_RETURN_IF_ERROR(emit_scores(work, args, &scores, g));
    VKF_RETURN_IF_ERROR(emit_weights(work, args, &scores));
    for (uint32_t g = 0; g < group_of(args); g++)
        VKF_RETURN_IF_ERROR(emit_context(work, args, &scores, g));
    return VKF_OK;
}
