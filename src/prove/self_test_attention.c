// Edge shapes of fused attention: one query and key, primes, heads that share keys, keys that end early, and so many
// keys for one query that they are divided among workgroups.
//
// The width of a head is a constant of the kernel. All shapes have the same width, so that few pipelines are compiled.
#include "prove/self_test_bed.h"

#include <math.h>
#include <stdio.h>

#include "op/attention.h"
#include "reference/reference.h"

enum { HEADS = 4, KV_HEADS = 2 };

typedef struct shape {
    uint32_t batch, q_len, k_len, width, v_width;
} shape;

typedef struct arrays {
    float *q, *k, *v, *out; // (batch, length, heads, width)
    float *scores;          // (batch, HEADS, q_len, k_len)
    int32_t lengths[2];
} arrays;

static vkf__heads_span heads_span(vkf__bed *bed, vkf_dtype dtype, const float *values, const shape *s, uint32_t length,
                                  uint32_t heads, uint32_t width)
{
    return (vkf__heads_span){
        .span = vkf__bed_floats(bed, dtype, values, (size_t)s->batch * length * heads * width),
        .batch_stride = length * heads * width,
        .row_stride = heads * width,
        .head_stride = width,
    };
}

static vkf__ref_gemm_desc scores_of(const shape *s, const arrays *x, uint32_t b, uint32_t h, float scale)
{
    return (vkf__ref_gemm_desc){
        .m = s->q_len,
        .n = s->k_len,
        .k = s->width,
        .batch = 1,
        .a = x->q + ((size_t)b * s->q_len * HEADS + h) * s->width,
        .b = x->k + ((size_t)b * s->k_len * KV_HEADS + h / (HEADS / KV_HEADS)) * s->width,
        .out = x->scores + ((size_t)b * HEADS + h) * s->q_len * s->k_len,
        .a_layout = {.row = (size_t)HEADS * s->width},
        .b_layout = {.row = (size_t)KV_HEADS * s->width},
        .transpose_b = true,
        .alpha = scale,
    };
}

static vkf__ref_gemm_desc values_of(const shape *s, const arrays *x, uint32_t b, uint32_t h)
{
    return (vkf__ref_gemm_desc){
        .m = s->q_len,
        .n = s->v_width,
        .k = s->k_len,
        .batch = 1,
        .a = x->scores + ((size_t)b * HEADS + h) * s->q_len * s->k_len,
        .b = x->v + ((size_t)b * s->k_len * KV_HEADS + h / (HEADS / KV_HEADS)) * s->v_width,
        .out = x->out + ((size_t)b * s->q_len * HEADS + h) * s->v_width,
        .b_layout = {.row = (size_t)KV_HEADS * s->v_width},
        .out_layout = {.row = (size_t)HEADS * s->v_width},
        .alpha = 1.0f,
    };
}

// Leaves the expected output in x->out.
static void expect(const shape *s, const arrays *x, const vkf__attention_args *args)
{
    for (uint32_t i = 0; i < s->batch * HEADS; i++) {
        const vkf__ref_gemm_desc scores = scores_of(s, x, i / HEADS, i % HEADS, args->scale);
        vkf__ref_gemm(&scores);
    }
    const vkf__ref_softmax_desc softmax = {
        .batch = s->batch,
        .heads = HEADS,
        .q_len = s->q_len,
        .k_len = s->k_len,
        .mask_cols = s->k_len,
        .x = x->scores,
        .out = x->scores,
        .scale = 1.0f,
        .key_mask_kind = args->key_mask_kind,
        .key_mask = x->lengths,
        .causal = args->causal,
        .causal_offset = args->causal_offset,
    };
    vkf__ref_softmax(&softmax);
    for (uint32_t i = 0; i < s->batch * HEADS; i++) {
        const vkf__ref_gemm_desc values = values_of(s, x, i / HEADS, i % HEADS);
        vkf__ref_gemm(&values);
    }
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_attention(work, args);
}

static vkf_status run(vkf__bed *bed, const shape *s, const arrays *x)
{
    const vkf_dtype *types = bed->variant->kernel->types;
    vkf__bed_clear(bed);
    const vkf__attention_args args = {
        .label = "self-test",
        .q = heads_span(bed, types[0], x->q, s, s->q_len, HEADS, s->width),
        .k = heads_span(bed, types[1], x->k, s, s->k_len, KV_HEADS, s->width),
        .v = heads_span(bed, types[1], x->v, s, s->k_len, KV_HEADS, s->v_width),
        .out = heads_span(bed, types[2], x->out, s, s->q_len, HEADS, s->v_width),
        .key_mask = vkf__bed_ints(bed, x->lengths, 2),
        .key_mask_kind = VKF_MASK_LENGTHS,
        .batch = s->batch,
        .heads = HEADS,
        .kv_heads = KV_HEADS,
        .q_len = s->q_len,
        .k_len = s->k_len,
        .head_dim = s->width,
        .v_head_dim = s->v_width,
        .mask_cols = s->k_len,
        .key_mask_batch = 1,
        .causal = true,
        .causal_offset = (int32_t)s->k_len - (int32_t)s->q_len,
        .scale = 0.25f,
    };
    expect(s, x, &args);
    vkf__bed_case c = {
        .emit = emit,
        .args = &args,
        .out = args.out.span,
        .expected = x->out,
        .tolerance =
            vkf__bed_close(types[1]) > vkf__bed_close(types[2]) ? vkf__bed_close(types[1]) : vkf__bed_close(types[2]),
    };
    (void)snprintf(c.shape, sizeof c.shape, "batch %u, heads 4 and 2, queries %u, keys %u, widths %u and %u", s->batch,
                   s->q_len, s->k_len, s->width, s->v_width);
    return vkf__bed_run(bed, &c);
}

static vkf_status check(vkf__bed *bed, const shape *s)
{
    const vkf__host *host = &bed->context->host;
    size_t queries = (size_t)s->batch * s->q_len * HEADS, keys = (size_t)s->batch * s->k_len * KV_HEADS;
    arrays x = {
        .q = vkf__bed_random_values(bed, queries * s->width),
        .k = vkf__bed_random_values(bed, keys * s->width),
        .v = vkf__bed_random_values(bed, keys * s->v_width),
        .out = vkf__bed_random_values(bed, queries * s->v_width),
        .scores = vkf__bed_random_values(bed, queries * s->k_len),
        .lengths = {(int32_t)s->k_len, (int32_t)(s->k_len / 2)},
    };
    vkf_status status = x.q && x.k && x.v && x.out && x.scores
                            ? run(bed, s, &x)
                            : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
    vkf__free(host, x.q);
    vkf__free(host, x.k);
    vkf__free(host, x.v);
    vkf__free(host, x.out);
    vkf__free(host, x.scores);
    return status;
}

static vkf_status check_widths(vkf__bed *bed, uint32_t width, uint32_t v_width)
{
    const shape shapes[] = {
        {1, 1, 1, width, v_width},   {2, 7, 13, width, v_width},  {2, 67, 65, width, v_width},
        {2, 16, 64, width, v_width}, {1, 1, 515, width, v_width},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(check(bed, &shapes[i]));
    return VKF_OK;
}

vkf_status vkf__bed_attention(vkf__bed *bed)
{
    VKF_RETURN_IF_ERROR(check_widths(bed, 20, 12));
    // Some kernels take only certain widths.
    if (bed->case_count == 0)
        VKF_RETURN_IF_ERROR(check_widths(bed, 64, 64));
    return VKF_OK;
}
