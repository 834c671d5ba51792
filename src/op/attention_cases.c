// The cases of fused attention: one query and key, primes, heads that share keys, keys that end early, so many keys for
// one query that they are divided among workgroups; and keys that one product has just made.
//
// The width of a head is a constant of the kernel. All edge shapes have the same width, so that few pipelines are
// compiled.
#include "op/attention_cases.h"

#include "base/elements.h"
#include "op/attention.h"
#include "op/masked_score.h"
#include "shared/attention.h"

enum { ROTARY = 16 };

// Whether keys and values are: heads are whole blocks.
static bool in_blocks(const vkf__cases *c)
{
    return vkf__is_blocks(c->variant->kernel->types[1]);
}

typedef struct shape {
    uint32_t batch, heads, kv_heads, q_len, k_len, width, v_width;
    bool fresh; // the last q_len keys and values lie in the rows of the queries
} shape;

// Heads side by side in rows that lie `gap` elements apart; with `quads` they begin at a multiple of four elements.
static vkf__heads_span heads_of(vkf__cases *c, vkf_dtype dtype, uint32_t batch, uint32_t length, uint32_t heads,
                                uint32_t width, uint32_t gap, bool quads)
{
    const uint32_t row = heads * width + gap;
    const uint64_t count = (uint64_t)batch * length * row;
    return (vkf__heads_span){
        .span = quads ? vkf__case_quads(c, dtype, count) : vkf__case_floats(c, dtype, count),
        .batch_stride = length * row,
        .row_stride = row,
        .head_stride = width,
    };
}

// Cosines of each position, then its sines: of turns that leave scores as large as they are.
static vkf__span table_of(vkf__cases *c, uint32_t positions, uint32_t rotary)
{
    static const float turns[][2] = {{1, 0}, {0.6f, 0.8f}, {0, -1}, {-0.8f, 0.6f}};
    const vkf__span span = vkf__case_quads(c, VKF_DTYPE_F32, (uint64_t)positions * rotary);
    float *table = vkf__case_bytes(c, &span);
    for (uint64_t i = 0; i < (uint64_t)positions * rotary / 2; i++) {
        const uint64_t at = i / (rotary / 2) * rotary + i % (rotary / 2);
        const uint32_t turn = vkf__case_pick(c, i % 4, 4);
        table[at] = turns[turn][0];
        table[at + rotary / 2] = turns[turn][1];
    }
    return span;
}

// Lets the arguments take rows as one product has made them: queries, keys and values side by side.
static void make_fresh(vkf__cases *c, const shape *s, vkf__attention_args *args)
{
    const uint32_t row = s->heads * s->width + s->kv_heads * (s->width + s->v_width);
    const uint32_t rotary = s->width < ROTARY ? s->width / 2 * 2 : ROTARY, past = s->k_len - s->q_len;
    args->q = heads_of(c, c->variant->kernel->types[0], s->batch, s->q_len, 1, row, 0, true);
    args->q.head_stride = s->width;
    args->fresh = (vkf__fresh_keys){
        .present = true,
        .k_first = s->heads * s->width,
        .v_first = (s->heads + s->kv_heads) * s->width,
        .past = past,
        .table = table_of(c, s->k_len + 1, rotary),
        .rotary_dim = rotary,
        .first_position = past + vkf__case_pick(c, 0, 2),
    };
}

static vkf_status run_shape(vkf__cases *c, const shape *s)
{
    static const vkf__mask_constants ids = {VKF_ATTENTION_SPEC_MASK_KIND,  VKF_ATTENTION_SPEC_KEY_MASK_KIND,
                                            VKF_ATTENTION_SPEC_CAUSAL,     VKF_ATTENTION_SPEC_WINDOW,
                                            VKF_ATTENTION_SPEC_SCORE_FORM, VKF_ATTENTION_SPEC_FULLY_MASKED};
    const vkf_dtype *types = c->variant->kernel->types;
    const uint32_t gap = 32 * vkf__case_pick(c, 0, 2);
    const bool quads = s->fresh || vkf__case_pick(c, 1, 4) > 0;
    // A fresh key may be rounded to the other of two neighbours.
    const bool rounds_keys = s->fresh && types[1] == VKF_DTYPE_BF16;
    const double close = rounds_keys ? 0x1p-6 : vkf__case_close(types[1]), out_close = vkf__case_close(types[2]);
    vkf__attention_args args = {
        .label = "attention",
        .batch = s->batch,
        .heads = s->heads,
        .kv_heads = s->kv_heads,
        .q_len = s->q_len,
        .k_len = s->k_len,
        .head_dim = s->width,
        .v_head_dim = s->v_width,
    };
    if (s->fresh)
        make_fresh(c, s, &args);
    else
        args.q = heads_of(c, types[0], s->batch, s->q_len, s->heads, s->width, gap, quads);
    args.k = heads_of(c, types[1], s->batch, s->k_len, s->kv_heads, s->width, gap, quads);
    args.v = heads_of(c, types[1], s->batch, s->k_len, s->kv_heads, s->v_width, gap, quads);
    args.out = heads_of(c, types[2], s->batch, s->q_len, s->heads, s->v_width, gap, quads);
    vkf__case_draw_masks(c, &ids, (const uint32_t[4]){s->batch, s->heads, s->q_len, s->k_len}, s->fresh,
                         (int32_t)s->k_len - (int32_t)s->q_len, &args.masks);
    args.masks.scale = 0.25f;
    return vkf__case_run(c, &args, close > out_close ? close : out_close,
                         "batch %u, heads %u and %u, queries %u, keys %u%s, widths %u and %u", s->batch, s->heads,
                         s->kv_heads, s->q_len, s->k_len, s->fresh ? " (fresh)" : "", s->width, s->v_width);
}

static vkf_status run_shapes(vkf__cases *c, const shape *shapes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        VKF_RETURN_IF_ERROR(run_shape(c, &shapes[i]));
    return VKF_OK;
}

#define RUN(shapes) run_shapes(c, shapes, sizeof(shapes) / sizeof(shapes)[0])

static vkf_status run_widths(vkf__cases *c, uint32_t width, uint32_t v_width)
{
    const shape shapes[] = {
        {1, 4, 2, 1, 1, width, v_width, false},   {2, 4, 2, 7, 13, width, v_width, false},
        {2, 4, 2, 67, 65, width, v_width, false}, {2, 4, 2, 16, 64, width, v_width, false},
        {1, 4, 2, 1, 515, width, v_width, false},
    };
    return RUN(shapes);
}

// Kernels that put parts together take nothing but keys in parts.
static vkf_status run_parts(vkf__cases *c, uint32_t width, uint32_t v_width)
{
    const shape shapes[] = {{2, 4, 2, 3, 515, width, v_width, false}, {1, 4, 2, 7, 260, width, v_width, true}};
    return RUN(shapes);
}

static vkf_status run_fresh(vkf__cases *c, uint32_t width, uint32_t v_width)
{
    const shape shapes[] = {
        {1, 4, 2, 1, 1, width, v_width, true},
        {2, 4, 2, 7, 13, width, v_width, true},
        {1, 4, 2, 1, 515, width, v_width, true},
    };
    return RUN(shapes);
}

// Three widths, because every width is a pipeline of its own: one that fills the lanes, one of quads, and an odd one;
// and queries few enough for keys in parts in every second case.
static vkf_status draw(vkf__cases *c)
{
    static const uint32_t widths[] = {64, 20, 13}, v_widths[] = {64, 12, 9};
    const vkf__kernel *kernel = c->variant->kernel;
    const bool joins = kernel->offers & VKF_FORM_JOINED;
    const bool parts = vkf__case_flip(c, false), wide = joins || in_blocks(c) || vkf__case_flip(c, false);
    const uint32_t kv_heads = 1 + vkf__case_pick(c, 0, 3), kind = wide ? 0 : kv_heads == 1 ? 2 : 1;
    shape s = {
        .batch = 1 + vkf__case_pick(c, 0, 3),
        .heads = kv_heads * (1 + vkf__case_pick(c, 0, 3)),
        .kv_heads = kv_heads,
        .q_len = vkf__case_size(c, 0, parts || joins ? 8 : 70),
        .k_len = vkf__case_size(c, 0, 140) + (parts || joins ? 256 : 0),
        .width = widths[kind],
        .v_width = v_widths[kind],
        .fresh = (kernel->offers & VKF_FORM_FRESH) && vkf__case_flip(c, false),
    };
    if (s.fresh) {
        s.q_len = s.q_len < VKF_ATTENTION_DECODE_MAX_ROWS ? s.q_len : VKF_ATTENTION_DECODE_MAX_ROWS;
        s.k_len += s.q_len;
        s.width = s.v_width = widths[0];
    }
    s.width = vkf__case_constant(c, VKF_ATTENTION_SPEC_HEAD_DIM, s.width);
    s.v_width = vkf__case_constant(c, VKF_ATTENTION_SPEC_V_HEAD_DIM, s.v_width);
    return run_shape(c, &s);
}

vkf_status vkf__attention_cases(vkf__cases *c)
{
    const uint32_t width = vkf__case_constant(c, VKF_ATTENTION_SPEC_HEAD_DIM, 64);
    const uint32_t v_width = vkf__case_constant(c, VKF_ATTENTION_SPEC_V_HEAD_DIM, 64);
    const uint32_t before = c->taken;
    if (c->draw)
        return draw(c);
    if (!c->spec && !in_blocks(c))
        VKF_RETURN_IF_ERROR(run_widths(c, 20, 12));
    // Some kernels take only certain widths.
    if (c->spec || c->taken == before)
        VKF_RETURN_IF_ERROR(run_widths(c, width, c->spec || !in_blocks(c) ? v_width : 96));
    if (c->variant->kernel->offers & VKF_FORM_JOINED)
        VKF_RETURN_IF_ERROR(run_parts(c, width, v_width));
    return c->variant->kernel->offers & VKF_FORM_FRESH ? run_fresh(c, width, v_width) : VKF_OK;
}
