// Gradients of products, softmax and exchanged dimensions, and of attention without projections: sdpa, additive.
#include <string.h>

#include "lab/eval/eval_gradient.h"
#include "lab/eval/eval_statements.h"
#include "training/records.h"

// ---- gemm

typedef struct gemm_case {
    vkf_eval_gradients *g;
    vkf_eval_product product;
    vkf_eval_leaf a, b, c, bias, out;
} gemm_case;

static vkf_status emit_gemm(vkf__work *work, const void *args)
{
    const gemm_case *m = args;
    (void)work;
    vkf_eval_product p = m->product;
    vkf__value out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(m->g, &m->a, p.batch * p.m, p.k, &p.a));
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(m->g, &m->b, p.shared ? p.k : p.batch * p.k, p.n, &p.b));
    if (p.beta != 0.0f)
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(m->g, &m->c, p.batch * p.m, p.n, &p.c));
    if (vkf__present(&m->bias.span))
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(m->g, &m->bias, 1, p.n, &p.bias));
    VKF_RETURN_IF_ERROR(vkf__eval_state_product(&m->g->tape, &p, &out));
    return vkf__eval_state_output(m->g, out, &m->out);
}

static vkf_status read_product(const vkf_eval_case *c, vkf_eval_product *p)
{
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "m", &p->m));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "n", &p->n));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "k", &p->k));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &p->batch));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "trans_a", &p->transpose_a));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "trans_b", &p->transpose_b));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "b_shared", &p->shared));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(c, "alpha", &p->alpha));
    return vkf__eval_f32(c, "beta", &p->beta);
}

vkf_status vkf__eval_gradient_gemm(vkf_eval_gradients *g)
{
    gemm_case m = {.g = g, .product.label = "gemm"};
    vkf_eval_product *p = &m.product;
    bool has_bias = false;
    VKF_RETURN_IF_ERROR(read_product(g->c, p));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(g->c, "has_bias", &has_bias));
    const uint32_t b_rows = p->transpose_b ? p->n : p->k, b_cols = p->transpose_b ? p->k : p->n;
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(
        g, "A", p->transpose_a ? VKF_DIMS(p->batch, p->k, p->m) : VKF_DIMS(p->batch, p->m, p->k), &m.a));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(
        g, "B", p->shared ? VKF_DIMS(b_rows, b_cols) : VKF_DIMS(p->batch, b_rows, b_cols), &m.b));
    if (p->beta != 0.0f)
        VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "C", VKF_DIMS(p->batch, p->m, p->n), &m.c));
    if (has_bias)
        VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "bias", VKF_DIMS(p->n), &m.bias));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "out", VKF_DIMS(p->batch, p->m, p->n), &m.out));
    return vkf__eval_run_gradients(g, emit_gemm, &m);
}

// ---- softmax

// What the type of a mask says. Lengths are one number for each entry of the batch.
static vkf_status kind_of(const vkf_eval_gradients *g, const vkf__stored_tensor *mask, vkf_mask_kind *out_kind)
{
    if (!mask)
        *out_kind = VKF_MASK_NONE;
    else if (mask->type == VKF_STORED_BOOL)
        *out_kind = VKF_MASK_BOOL_EXCLUDE;
    else if (mask->type == VKF_STORED_F32)
        *out_kind = VKF_MASK_ADDITIVE;
    else if (mask->type == VKF_STORED_I32 && mask->rank == 1)
        *out_kind = VKF_MASK_LENGTHS;
    else
        return vkf__fail(g->c->settings.host, VKF_ERROR_FORMAT, "mask \"%s\" is neither BOOL nor F32 nor lengths",
                         mask->name);
    return VKF_OK;
}

// A mask of the shape, if the inputs have it.
static vkf_status read_mask(vkf_eval_gradients *g, const char *name, vkf_eval_dims dims, vkf_mask_kind *out_kind,
                            vkf__span *out_span)
{
    const vkf__stored_tensor *mask = vkf__eval_peek(g->c, name);
    if (mask)
        VKF_RETURN_IF_ERROR(vkf__eval_find(g->c, name, dims, &mask));
    VKF_RETURN_IF_ERROR(kind_of(g, mask, out_kind));
    return vkf__eval_gradient_mask(g, mask, *out_kind, out_span);
}

typedef struct softmax_case {
    vkf_eval_gradients *g;
    vkf__softmax_args args;
    vkf_eval_leaf x, out;
} softmax_case;

static vkf_status emit_softmax(vkf__work *work, const void *args)
{
    const softmax_case *s = args;
    (void)work;
    vkf__value x, out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(s->g, &s->x, s->args.q_len, s->args.k_len, &x));
    VKF_RETURN_IF_ERROR(vkf__eval_state_softmax(&s->g->tape, &s->args, x, &out));
    return vkf__eval_state_output(s->g, out, &s->out);
}

vkf_status vkf__eval_gradient_softmax(vkf_eval_gradients *g)
{
    softmax_case s = {.g = g, .args = {.label = "softmax", .batch = 1, .heads = 1}};
    vkf__softmax_args *a = &s.args;
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "rows", &a->q_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "cols", &a->k_len));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(g->c, "scale", &a->masks.scale));
    a->masks.fully_masked = g->c->settings.fully_masked;
    a->masks.cols = a->masks.row = a->k_len;
    const vkf_eval_dims dims = VKF_DIMS(a->q_len, a->k_len);
    VKF_RETURN_IF_ERROR(read_mask(g, "mask", dims, &a->masks.kind, &a->masks.mask));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "x", dims, &s.x));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "out", dims, &s.out));
    return vkf__eval_run_gradients(g, emit_softmax, &s);
}

// ---- permute

typedef struct permute_case {
    vkf_eval_gradients *g;
    vkf_eval_exchange exchange;
    vkf_eval_leaf x, out;
} permute_case;

static vkf_status emit_permute(vkf__work *work, const void *args)
{
    const permute_case *p = args;
    const vkf_eval_exchange *e = &p->exchange;
    (void)work;
    vkf__value x, out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(p->g, &p->x, e->batch * e->rows, e->cols * e->depth, &x));
    VKF_RETURN_IF_ERROR(vkf__eval_state_permute(&p->g->tape, x, e, &out));
    return vkf__eval_state_output(p->g, out, &p->out);
}

vkf_status vkf__eval_gradient_permute(vkf_eval_gradients *g)
{
    permute_case p = {.g = g};
    vkf_eval_exchange *e = &p.exchange;
    const char *direction = NULL;
    VKF_RETURN_IF_ERROR(
        vkf__json_string(g->c->settings.host, g->c->config_path, g->c->config, "direction", &direction));
    const bool merges = strcmp(direction, "merge_heads") == 0;
    if (!merges && strcmp(direction, "split_heads") != 0)
        return vkf__fail(g->c->settings.host, VKF_ERROR_FORMAT,
                         "%s: direction \"%.100s\" is neither split_heads nor merge_heads", g->c->config_path,
                         direction);
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "B", &e->batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, merges ? "H" : "L", &e->rows));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, merges ? "L" : "H", &e->cols));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "D", &e->depth));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "x", VKF_DIMS(e->batch, e->rows, e->cols, e->depth), &p.x));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "out", VKF_DIMS(e->batch, e->cols, e->rows, e->depth), &p.out));
    return vkf__eval_run_gradients(g, emit_permute, &p);
}

// ---- sdpa

typedef struct sdpa_case {
    vkf_eval_gradients *g;
    vkf__attention_args args;
    vkf_eval_leaf query, key, value, output;
} sdpa_case;

// Operands of the case are (batch, heads, len, width), and the statement's heads lie side by side.
static vkf_status record_heads(const sdpa_case *s, const vkf_eval_leaf *leaf, uint32_t heads, uint32_t len,
                               uint32_t width, vkf__value *out_value)
{
    const vkf_eval_exchange exchange = {s->args.batch, heads, len, width};
    vkf__value apart;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(s->g, leaf, s->args.batch * heads, len * width, &apart));
    return vkf__eval_state_permute(&s->g->tape, apart, &exchange, out_value);
}

static vkf_status emit_sdpa(vkf__work *work, const void *args)
{
    const sdpa_case *s = args;
    const vkf__attention_args *a = &s->args;
    (void)work;
    const vkf_eval_exchange apart = {a->batch, a->q_len, a->heads, a->v_head_dim};
    vkf__value q, k, v, out;
    VKF_RETURN_IF_ERROR(record_heads(s, &s->query, a->heads, a->q_len, a->head_dim, &q));
    VKF_RETURN_IF_ERROR(record_heads(s, &s->key, a->kv_heads, a->k_len, a->head_dim, &k));
    VKF_RETURN_IF_ERROR(record_heads(s, &s->value, a->kv_heads, a->k_len, a->v_head_dim, &v));
    const vkf__attention_values values = {.q = q, .k = k, .v = v};
    VKF_RETURN_IF_ERROR(vkf__record_attention(&s->g->tape, a, NULL, &values, &out));
    VKF_RETURN_IF_ERROR(vkf__eval_state_permute(&s->g->tape, out, &apart, &out));
    return vkf__eval_state_output(s->g, out, &s->output);
}

static vkf_status read_sdpa_sizes(const vkf_eval_case *c, vkf__attention_args *a)
{
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &a->batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "heads", &a->heads));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "kv_heads", &a->kv_heads));
    if (a->heads % a->kv_heads != 0)
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "%s: kv_heads %u does not divide heads %u", c->config_path,
                         a->kv_heads, a->heads);
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "q_len", &a->q_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "k_len", &a->k_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "head_dim", &a->head_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "v_dim", &a->v_head_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(c, "scale", &a->masks.scale));
    return vkf__json_u32(c->settings.host, c->config_path, c->config, "window", 0, UINT32_MAX, &a->masks.window);
}

static vkf_status read_sdpa_masks(vkf_eval_gradients *g, vkf__attention_args *a)
{
    const char *causal = NULL;
    const vkf__stored_tensor *mask = vkf__eval_peek(g->c, "mask"), *key_mask = vkf__eval_peek(g->c, "key_mask");
    const bool per_head = mask && mask->rank == 4, lengths = key_mask && key_mask->rank == 1;
    const uint32_t plane = a->q_len * a->k_len;
    VKF_RETURN_IF_ERROR(vkf__json_string(g->c->settings.host, g->c->config_path, g->c->config, "causal", &causal));
    a->masks.causal = strcmp(causal, "none") != 0;
    a->masks.causal_offset = strcmp(causal, "bottom_right") == 0 ? (int32_t)(a->k_len - a->q_len) : 0;
    a->masks.cols = a->masks.row = a->k_len;
    a->masks.batch = per_head ? a->heads * plane : 0;
    a->masks.head = per_head ? plane : 0;
    VKF_RETURN_IF_ERROR(
        read_mask(g, "mask", per_head ? VKF_DIMS(a->batch, a->heads, a->q_len, a->k_len) : VKF_DIMS(a->q_len, a->k_len),
                  &a->masks.kind, &a->masks.mask));
    a->masks.key_batch = lengths ? 1 : a->k_len;
    return read_mask(g, "key_mask", lengths ? VKF_DIMS(a->batch) : VKF_DIMS(a->batch, a->k_len), &a->masks.key_kind,
                     &a->masks.key_mask);
}

vkf_status vkf__eval_gradient_sdpa(vkf_eval_gradients *g)
{
    sdpa_case s = {.g = g, .args = {.label = "attention", .masks.fully_masked = g->c->settings.fully_masked}};
    vkf__attention_args *a = &s.args;
    VKF_RETURN_IF_ERROR(read_sdpa_sizes(g->c, a));
    VKF_RETURN_IF_ERROR(read_sdpa_masks(g, a));
    VKF_RETURN_IF_ERROR(
        vkf__eval_gradient_input(g, "query", VKF_DIMS(a->batch, a->heads, a->q_len, a->head_dim), &s.query));
    VKF_RETURN_IF_ERROR(
        vkf__eval_gradient_input(g, "key", VKF_DIMS(a->batch, a->kv_heads, a->k_len, a->head_dim), &s.key));
    VKF_RETURN_IF_ERROR(
        vkf__eval_gradient_input(g, "value", VKF_DIMS(a->batch, a->kv_heads, a->k_len, a->v_head_dim), &s.value));
    VKF_RETURN_IF_ERROR(
        vkf__eval_gradient_output(g, "output", VKF_DIMS(a->batch, a->heads, a->q_len, a->v_head_dim), &s.output));
    return vkf__eval_run_gradients(g, emit_sdpa, &s);
}

// ---- additive attention

typedef struct additive_case {
    vkf_eval_gradients *g;
    uint32_t batch, queries, keys, s_dim, h_dim, dim;
    vkf__softmax_args softmax;
    vkf_eval_leaf s, h, s_weight, s_bias, h_weight, h_bias, v, scores, weights, context;
} additive_case;

static vkf_status record_side(const additive_case *a, const char *label, vkf__value x, const vkf_eval_leaf *weight,
                              const vkf_eval_leaf *bias, uint32_t in, vkf__value *out_value)
{
    vkf__linear_values linear = {0};
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(a->g, weight, a->dim, in, &linear.weight));
    if (vkf__present(&bias->span))
        VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(a->g, bias, 1, a->dim, &linear.bias));
    return vkf__record_linear(&a->g->tape, label, x, &linear, out_value);
}

static vkf_status emit_additive(vkf__work *work, const void *args)
{
    const additive_case *a = args;
    (void)work;
    vkf_eval_additive scores = {.batch = a->batch, .q_len = a->queries, .k_len = a->keys};
    vkf_eval_product context = {"context", .batch = a->batch, .m = a->queries, .n = a->h_dim, .k = a->keys, .alpha = 1};
    vkf__value s, scored, out;
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(a->g, &a->s, a->batch * a->queries, a->s_dim, &s));
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(a->g, &a->h, a->batch * a->keys, a->h_dim, &context.b));
    VKF_RETURN_IF_ERROR(record_side(a, "W_s", s, &a->s_weight, &a->s_bias, a->s_dim, &scores.query));
    VKF_RETURN_IF_ERROR(record_side(a, "W_h", context.b, &a->h_weight, &a->h_bias, a->h_dim, &scores.key));
    VKF_RETURN_IF_ERROR(vkf__eval_state_leaf(a->g, &a->v, 1, a->dim, &scores.v));
    VKF_RETURN_IF_ERROR(vkf__eval_state_additive(&a->g->tape, &scores, &scored));
    VKF_RETURN_IF_ERROR(vkf__eval_state_softmax(&a->g->tape, &a->softmax, scored, &context.a));
    VKF_RETURN_IF_ERROR(vkf__eval_state_product(&a->g->tape, &context, &out));
    VKF_RETURN_IF_ERROR(vkf__eval_state_output(a->g, scored, &a->scores));
    VKF_RETURN_IF_ERROR(vkf__eval_state_output(a->g, context.a, &a->weights));
    return vkf__eval_state_output(a->g, out, &a->context);
}

static vkf_status read_additive(vkf_eval_gradients *g, additive_case *a)
{
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "batch", &a->batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "tgt_len", &a->queries));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "src_len", &a->keys));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "d_s", &a->s_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "d_h", &a->h_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(g->c, "attn_dim", &a->dim));
    a->softmax = (vkf__softmax_args){
        .label = "softmax",
        .batch = a->batch,
        .heads = 1,
        .q_len = a->queries,
        .k_len = a->keys,
        .masks.cols = a->keys,
        .masks.key_batch = a->keys,
        .masks.scale = 1,
        .masks.fully_masked = g->c->settings.fully_masked,
    };
    return read_mask(g, "mask", VKF_DIMS(a->batch, a->keys), &a->softmax.masks.key_kind, &a->softmax.masks.key_mask);
}

vkf_status vkf__eval_gradient_additive_attention(vkf_eval_gradients *g)
{
    additive_case a = {.g = g};
    VKF_RETURN_IF_ERROR(read_additive(g, &a));
    const uint32_t b = a.batch, t = a.queries, s = a.keys;
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "s", VKF_DIMS(b, t, a.s_dim), &a.s));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_input(g, "h", VKF_DIMS(b, s, a.h_dim), &a.h));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "W_s.", "weight", VKF_DIMS(a.dim, a.s_dim), false, &a.s_weight));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "W_s.", "bias", VKF_DIMS(a.dim), true, &a.s_bias));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "W_h.", "weight", VKF_DIMS(a.dim, a.h_dim), false, &a.h_weight));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "W_h.", "bias", VKF_DIMS(a.dim), true, &a.h_bias));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_weight(g, "v.", "weight", VKF_DIMS(1, a.dim), false, &a.v));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "scores", VKF_DIMS(b, t, s), &a.scores));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "weights", VKF_DIMS(b, t, s), &a.weights));
    VKF_RETURN_IF_ERROR(vkf__eval_gradient_output(g, "context", VKF_DIMS(b, t, a.h_dim), &a.context));
    return vkf__eval_run_gradients(g, emit_additive, &a);
}
