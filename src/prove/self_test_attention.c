// Edge shapes of fused attention: one query and key, primes, heads that share keys, keys that end early, so many keys
// for one query that they are divided among workgroups; and keys that one product has just made.
//
// The width of a head is a constant of the kernel. All shapes have the same width, so that few pipelines are compiled.
#include "prove/self_test_bed.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "op/attention.h"
#include "reference/reference.h"
#include "shared/attention.h"

enum { HEADS = 4, KV_HEADS = 2, ROTARY = 16 };

typedef struct shape {
    uint32_t batch, q_len, k_len, width, v_width;
    bool fresh; // the last q_len keys and values lie in the rows of the queries
} shape;

typedef struct arrays {
    float *q, *k, *v, *out; // (batch, length, heads, width)
    float *scores;          // (batch, HEADS, q_len, k_len)
    float *rows;            // of fresh keys: (batch, q_len, row_of())
    float *table;           // (k_len, rotary_of()) and more
    float *mask, *key_mask; // room for (q_len, k_len) and (batch, k_len)
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

static uint32_t rotary_of(const shape *s)
{
    return s->width < ROTARY ? s->width / 2 * 2 : ROTARY;
}

static uint32_t row_of(const shape *s)
{
    return HEADS * s->width + KV_HEADS * (s->width + s->v_width);
}

// One position's keys or values, or its queries, among those of all positions.
static const float *position_of(const float *values, const shape *s, uint32_t position, uint32_t length, uint32_t width)
{
    const uint32_t b = position / s->q_len, first = length - s->q_len;
    return values + ((size_t)b * length + first + position % s->q_len) * width;
}

static void fill_rows(const shape *s, const arrays *x)
{
    const uint32_t q = HEADS * s->width, k = KV_HEADS * s->width, v = KV_HEADS * s->v_width;
    for (uint32_t i = 0; i < s->batch * s->q_len; i++) {
        float *row = x->rows + (size_t)i * row_of(s);
        memcpy(row, position_of(x->q, s, i, s->q_len, q), q * sizeof *row);
        memcpy(row + q, position_of(x->k, s, i, s->k_len, k), k * sizeof *row);
        memcpy(row + q + k, position_of(x->v, s, i, s->k_len, v), v * sizeof *row);
    }
}

// Rotates the last q_len of `length` positions, of `heads` heads each.
static void rotate(const shape *s, const arrays *x, uint32_t length, uint32_t heads, float *values)
{
    const uint32_t row = heads * s->width;
    const size_t first = (size_t)(length - s->q_len) * row, batch = (size_t)length * row;
    vkf__ref_rotary(&(vkf__ref_rotary_desc){s->batch, s->q_len, heads, s->width, rotary_of(s), s->k_len - s->q_len,
                                            values, x->table, NULL, first, batch, row, first, batch, row, 0, values,
                                            false});
}

// Lets the arguments take rows as one product has made them, and the queries and keys of the arrays what these become.
static void make_fresh(vkf__bed *bed, const shape *s, const arrays *x, vkf__attention_args *args)
{
    fill_rows(s, x);
    args->q.span =
        vkf__bed_floats(bed, bed->variant->kernel->types[0], x->rows, (size_t)s->batch * s->q_len * row_of(s));
    args->q.row_stride = row_of(s);
    args->q.batch_stride = s->q_len * row_of(s);
    args->fresh = (vkf__fresh_keys){
        .present = true,
        .k_first = HEADS * s->width,
        .v_first = (HEADS + KV_HEADS) * s->width,
        .past = s->k_len - s->q_len,
        .table = vkf__bed_floats(bed, VKF_DTYPE_F32, x->table, (size_t)s->k_len * rotary_of(s)),
        .rotary_dim = rotary_of(s),
        .first_position = s->k_len - s->q_len,
    };
    rotate(s, x, s->q_len, HEADS, x->q);
    rotate(s, x, s->k_len, KV_HEADS, x->k);
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
        .mask_kind = args->mask_kind,
        .mask = x->mask,
        .mask_row = args->mask_row,
        .key_mask_kind = args->key_mask_kind,
        .key_mask = args->key_mask_kind == VKF_MASK_LENGTHS ? (const void *)x->lengths : (const void *)x->key_mask,
        .causal = args->causal,
        .causal_offset = args->causal_offset,
        .window = args->window,
        .fully_masked = args->fully_masked,
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

// A mask of random numbers, or of bools in their place.
static vkf__span make_mask(vkf__bed *bed, vkf_mask_kind kind, float *values, size_t count)
{
    uint8_t *bools = (uint8_t *)values;
    if (kind == VKF_MASK_ADDITIVE)
        return vkf__bed_floats(bed, VKF_DTYPE_F32, values, count);
    for (size_t i = 0; i < count; i++)
        bools[i] = (i % 3 == 1) == (kind == VKF_MASK_BOOL_EXCLUDE);
    vkf__span span = vkf__bed_panels(bed, VKF_DTYPE_BOOL, bools, count);
    span.panels = false;
    return span;
}

// Masks as the constants have them; by themselves lengths and a causal one.
static void set_masks(vkf__bed *bed, const shape *s, const arrays *x, vkf__attention_args *args)
{
    args->causal = vkf__bed_constant(bed, VKF_ATTENTION_SPEC_CAUSAL, 1);
    args->window = vkf__bed_constant(bed, VKF_ATTENTION_SPEC_WINDOW, 0) ? 11 : 0;
    args->fully_masked = (vkf_fully_masked)vkf__bed_constant(bed, VKF_ATTENTION_SPEC_FULLY_MASKED, 0);
    args->mask_kind = (vkf_mask_kind)vkf__bed_constant(bed, VKF_ATTENTION_SPEC_MASK_KIND, VKF_MASK_NONE);
    args->key_mask_kind = (vkf_mask_kind)vkf__bed_constant(bed, VKF_ATTENTION_SPEC_KEY_MASK_KIND, VKF_MASK_LENGTHS);
    args->mask_row = s->k_len;
    args->key_mask_batch = args->key_mask_kind == VKF_MASK_LENGTHS ? 1 : s->k_len;
    if (args->mask_kind != VKF_MASK_NONE)
        args->mask = make_mask(bed, args->mask_kind, x->mask, (size_t)s->q_len * s->k_len);
    if (args->key_mask_kind == VKF_MASK_LENGTHS)
        args->key_mask = vkf__bed_ints(bed, x->lengths, 2);
    else if (args->key_mask_kind != VKF_MASK_NONE)
        args->key_mask = make_mask(bed, args->key_mask_kind, x->key_mask, (size_t)s->batch * s->k_len);
}

static vkf_status run(vkf__bed *bed, const shape *s, const arrays *x)
{
    const vkf_dtype *types = bed->variant->kernel->types;
    vkf__bed_clear(bed);
    vkf__attention_args args = {
        .label = "self-test",
        .q = heads_span(bed, types[0], x->q, s, s->q_len, HEADS, s->width),
        .k = heads_span(bed, types[1], x->k, s, s->k_len, KV_HEADS, s->width),
        .v = heads_span(bed, types[1], x->v, s, s->k_len, KV_HEADS, s->v_width),
        .out = heads_span(bed, types[2], x->out, s, s->q_len, HEADS, s->v_width),
        .batch = s->batch,
        .heads = HEADS,
        .kv_heads = KV_HEADS,
        .q_len = s->q_len,
        .k_len = s->k_len,
        .head_dim = s->width,
        .v_head_dim = s->v_width,
        .mask_cols = s->k_len,
        .causal_offset = (int32_t)s->k_len - (int32_t)s->q_len,
        .scale = 0.25f,
    };
    set_masks(bed, s, x, &args);
    if (s->fresh)
        make_fresh(bed, s, x, &args);
    if (!bed->gathering)
        expect(s, x, &args);
    vkf__bed_case c = {
        .emit = emit,
        .args = &args,
        .out = args.out.span,
        .expected = x->out,
        .tolerance =
            vkf__bed_close(types[1]) > vkf__bed_close(types[2]) ? vkf__bed_close(types[1]) : vkf__bed_close(types[2]),
    };
    (void)snprintf(c.shape, sizeof c.shape, "batch %u, heads 4 and 2, queries %u, keys %u%s, widths %u and %u",
                   s->batch, s->q_len, s->k_len, s->fresh ? " (fresh)" : "", s->width, s->v_width);
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
        .rows = vkf__bed_random_values(bed, (size_t)s->batch * s->q_len * row_of(s)),
        .table = vkf__bed_random_values(bed, (size_t)s->k_len * ROTARY),
        .mask = vkf__bed_random_values(bed, (size_t)s->q_len * s->k_len),
        .key_mask = vkf__bed_random_values(bed, (size_t)s->batch * s->k_len),
        .lengths = {(int32_t)s->k_len, (int32_t)(s->k_len / 2)},
    };
    vkf_status status = x.q && x.k && x.v && x.out && x.scores && x.rows && x.table && x.mask && x.key_mask
                            ? run(bed, s, &x)
                            : vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "self-test: no host memory");
    vkf__free(host, x.q);
    vkf__free(host, x.k);
    vkf__free(host, x.v);
    vkf__free(host, x.out);
    vkf__free(host, x.scores);
    vkf__free(host, x.rows);
    vkf__free(host, x.table);
    vkf__free(host, x.mask);
    vkf__free(host, x.key_mask);
    return status;
}

static vkf_status check_widths(vkf__bed *bed, uint32_t width, uint32_t v_width)
{
    const shape shapes[] = {
        {1, 1, 1, width, v_width, false},   {2, 7, 13, width, v_width, false},  {2, 67, 65, width, v_width, false},
        {2, 16, 64, width, v_width, false}, {1, 1, 515, width, v_width, false},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(check(bed, &shapes[i]));
    return VKF_OK;
}

// Kernels that put parts together take nothing but keys in parts.
static vkf_status check_parts(vkf__bed *bed, uint32_t width, uint32_t v_width)
{
    const shape shapes[] = {{2, 3, 515, width, v_width, false}, {1, 7, 260, width, v_width, true}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(check(bed, &shapes[i]));
    return VKF_OK;
}

static vkf_status check_fresh(vkf__bed *bed, uint32_t width, uint32_t v_width)
{
    const shape shapes[] = {
        {1, 1, 1, width, v_width, true},
        {2, 7, 13, width, v_width, true},
        {1, 1, 515, width, v_width, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        VKF_RETURN_IF_ERROR(check(bed, &shapes[i]));
    return VKF_OK;
}

vkf_status vkf__bed_attention(vkf__bed *bed)
{
    const uint32_t width = vkf__bed_constant(bed, VKF_ATTENTION_SPEC_HEAD_DIM, 64);
    const uint32_t v_width = vkf__bed_constant(bed, VKF_ATTENTION_SPEC_V_HEAD_DIM, 64);
    if (!bed->spec)
        VKF_RETURN_IF_ERROR(check_widths(bed, 20, 12));
    // Some kernels take only certain widths.
    if (bed->spec || bed->case_count == 0)
        VKF_RETURN_IF_ERROR(check_widths(bed, width, v_width));
    if (bed->variant->kernel->joins)
        VKF_RETURN_IF_ERROR(check_parts(bed, width, v_width));
    return bed->variant->kernel->takes_fresh ? check_fresh(bed, width, v_width) : VKF_OK;
}
