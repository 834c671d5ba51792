// Gradients of attention, and attention as training takes it, against the reference: widths of heads, lengths about the
// tiles', masks of every kind, rows that see no key, grouped heads, biases, gradients that add to others, and runs
// smaller than planned.
//
// Widths and kinds of masks are constants of the kernels, and compiling one of those takes most of a run: what does not
// look at widths has heads of 8 and 12, and gradients follow the reference's forward pass where nothing is new to the
// kernel's, which goes through keys as the gradient of queries does.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/attention_grad.h"
#include "op/run_once.h"
#include "prove/self_test.h"
#include "reference/reference.h"
#include "support/long_attention.h"
#include "support/mask_operand.h"
#include "support/run_resized.h"
#include "support/sdpa_case.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

typedef struct grad_case {
    uint32_t batch, heads;
    uint32_t kv_heads; // 0: heads
    uint32_t q_len, k_len;
    uint32_t dim;
    uint32_t v_dim; // 0: dim
    vkf_mask_kind mask_kind;
    uint32_t mask_dims; // VKF_TEST_MASK_*
    vkf_mask_kind key_mask_kind;
    bool mask_all; // as in vkf_test_sdpa_case
    bool causal;
    int32_t causal_offset;
    uint32_t window;
    uint32_t free_keys; // the last ones, which the masks do not cover
    bool heads_inside;  // operands are (batch, length, heads, width)
    bool accumulate;
    bool attends; // the forward pass is the device's, too
    vkf_fully_masked fully_masked;
    bool without_query, without_value; // no gradient of it is wanted
    bool biased; // the gradient of a bias of scores is wanted, too
    bool spoil;  // what the key mask hides in keys and values, and queries that see no key, are no numbers
} grad_case;

// In the order of the kinds of rows.
enum { QUERY, KEY, VALUE, KINDS };

typedef struct operands {
    vkf_test_operand *x[KINDS];    // query, key, value
    vkf_test_operand *grad[KINDS]; // of these
    vkf_test_operand *out, *dout, *mask, *key_mask, *log_sums;
    vkf_test_operand *dbias; // (q_len, heads, masked keys)
    double *expected[KINDS], *expected_bias;
} operands;

static uint32_t masked_keys(const grad_case *c)
{
    return c->k_len - c->free_keys;
}

static uint32_t heads_of(const grad_case *c, int kind)
{
    return kind == QUERY ? c->heads : c->kv_heads;
}

static uint32_t length_of(const grad_case *c, int kind)
{
    return kind == QUERY ? c->q_len : c->k_len;
}

static uint32_t width_of(const grad_case *c, int kind)
{
    return kind == VALUE ? c->v_dim : c->dim;
}

static vkf_test_operand *make(vkf_test_ops *ops, const grad_case *c, uint32_t heads, uint32_t length, uint32_t width)
{
    if (c->heads_inside)
        return vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->batch, length, heads, width));
    return vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->batch, heads, length, width));
}

// Strides other than those of the reference, (heads, q_len, masked keys).
static void expect_bias(const grad_case *c, operands *o, const double *dbias)
{
    const uint32_t keys = masked_keys(c);
    o->expected_bias = calloc(o->dbias->count, sizeof(double));
    assert_non_null(o->expected_bias);
    for (uint32_t h = 0; h < c->heads; h++)
        for (uint32_t i = 0; i < c->q_len * keys; i++) {
            const size_t at = ((size_t)(i / keys) * c->heads + h) * keys + i % keys;
            o->expected_bias[at] =
                dbias[(size_t)h * c->q_len * keys + i] + (c->accumulate ? (double)o->dbias->values[at] : 0);
        }
}

// Gradients begin as random numbers where they are added to, and else as NaN, which must not be read.
static vkf_test_operand *prepare_grad(vkf_test_ops *ops, const grad_case *c, vkf_test_operand *grad)
{
    for (size_t i = 0; i < grad->count && !c->accumulate; i++)
        grad->values[i] = NAN;
    vkf_test_upload(ops, grad);
    return grad;
}

static vkf_test_operand *make_grad(vkf_test_ops *ops, const grad_case *c, int kind)
{
    return prepare_grad(ops, c, make(ops, c, heads_of(c, kind), length_of(c, kind), width_of(c, kind)));
}

static vkf_test_operand *make_mask(vkf_test_ops *ops, const grad_case *c)
{
    const uint32_t shape[] = {
        c->mask_dims & VKF_TEST_MASK_BATCH ? c->batch : 1,
        c->mask_dims & VKF_TEST_MASK_HEADS ? c->heads : 1,
        c->mask_dims & VKF_TEST_MASK_ROWS ? c->q_len : 1,
        masked_keys(c),
    };
    if (c->mask_kind == VKF_MASK_NONE)
        return NULL;
    return vkf_test_mask_operand(ops, c->mask_kind, c->mask_all ? masked_keys(c) : 0, 4, shape);
}

static vkf__ref_layout layout_of(const grad_case *c, uint32_t heads, uint32_t length, uint32_t width)
{
    const size_t outer = (size_t)heads * length * width;
    if (c->heads_inside)
        return (vkf__ref_layout){.row = (size_t)heads * width, .outer = outer, .inner = width};
    return (vkf__ref_layout){.row = width, .outer = outer, .inner = (size_t)length * width};
}

static vkf__ref_layout layout_of_kind(const grad_case *c, int kind)
{
    return layout_of(c, heads_of(c, kind), length_of(c, kind), width_of(c, kind));
}

static vkf__ref_sdpa_desc forward_of(const grad_case *c, const operands *o)
{
    return (vkf__ref_sdpa_desc){
        .softmax = {.batch = c->batch,
                    .heads = c->heads,
                    .q_len = c->q_len,
                    .k_len = c->k_len,
                    .mask_cols = masked_keys(c),
                    .scale = (float)(1 / sqrt(c->dim)),
                    .mask_kind = c->mask_kind,
                    .mask = vkf_test_content_of(o->mask),
                    .mask_batch = vkf_test_broadcast_stride(o->mask, 3),
                    .mask_head = vkf_test_broadcast_stride(o->mask, 2),
                    .mask_row = vkf_test_broadcast_stride(o->mask, 1),
                    .key_mask_kind = c->key_mask_kind,
                    .key_mask = vkf_test_content_of(o->key_mask),
                    .causal = c->causal,
                    .causal_offset = c->causal_offset,
                    .window = c->window,
                    .fully_masked = c->fully_masked},
        .kv_heads = c->kv_heads,
        .head_dim = c->dim,
        .v_head_dim = c->v_dim,
        .query = o->x[QUERY]->values,
        .key = o->x[KEY]->values,
        .value = o->x[VALUE]->values,
        .out = o->out->values,
        .q_layout = layout_of_kind(c, QUERY),
        .k_layout = layout_of_kind(c, KEY),
        .v_layout = layout_of_kind(c, VALUE),
        .out_layout = layout_of(c, c->heads, c->q_len, c->v_dim),
    };
}

// The output of the forward pass and its log sums, as attention has left them; of rows that see no key these are NaN.
static void attend(vkf_test_ops *ops, const grad_case *c, const operands *o)
{
    double *scratch = calloc(2 * (size_t)c->k_len, sizeof(double));
    assert_non_null(scratch);
    const vkf__ref_sdpa_grad_desc desc = {.forward = forward_of(c, o), .scratch = scratch};
    vkf__ref_sdpa_train(&desc, o->log_sums->values);
    free(scratch);
    vkf_test_upload(ops, o->out);
    vkf_test_upload(ops, o->log_sums);
}

static void fill_row(vkf_test_operand *x, const vkf__ref_layout *layout, uint32_t b, uint32_t heads, uint32_t row,
                     uint32_t width)
{
    for (uint32_t h = 0; h < heads; h++)
        for (uint32_t i = 0; i < width; i++)
            x->values[b * layout->outer + h * layout->inner + row * layout->row + i] = NAN;
}

static bool is_hidden(const grad_case *c, const operands *o, uint32_t b, uint32_t key)
{
    if (key >= masked_keys(c))
        return false;
    if (c->key_mask_kind == VKF_MASK_LENGTHS)
        return (int32_t)key >= o->key_mask->ids[b];
    return c->key_mask_kind == VKF_MASK_BOOL_EXCLUDE && o->key_mask->bools[b * masked_keys(c) + key];
}

// Hidden keys and values are no numbers, and neither are queries, and the gradients of outputs, of batch entry 0, where
// mask_all leaves them no key.
static void spoil(vkf_test_ops *ops, const grad_case *c, const operands *o)
{
    const vkf__ref_layout query = layout_of_kind(c, QUERY), out = layout_of(c, c->heads, c->q_len, c->v_dim),
                          key = layout_of_kind(c, KEY), value = layout_of_kind(c, VALUE);
    for (uint32_t i = 0; i < c->batch * c->k_len; i++) {
        if (!is_hidden(c, o, i / c->k_len, i % c->k_len))
            continue;
        fill_row(o->x[KEY], &key, i / c->k_len, c->kv_heads, i % c->k_len, c->dim);
        fill_row(o->x[VALUE], &value, i / c->k_len, c->kv_heads, i % c->k_len, c->v_dim);
    }
    for (uint32_t l = 0; l < c->q_len && c->mask_all; l++) {
        fill_row(o->x[QUERY], &query, 0, c->heads, l, c->dim);
        fill_row(o->dout, &out, 0, c->heads, l, c->v_dim);
    }
    for (int kind = 0; kind < KINDS; kind++)
        vkf_test_upload(ops, o->x[kind]);
    vkf_test_upload(ops, o->dout);
}

static void expect(const grad_case *c, operands *o)
{
    vkf__ref_sdpa_grad_desc desc = {.forward = forward_of(c, o), .dout = o->dout->values};
    for (int kind = 0; kind < KINDS; kind++) {
        o->expected[kind] = calloc(o->grad[kind]->count, sizeof(double));
        assert_non_null(o->expected[kind]);
    }
    desc.dq = o->expected[QUERY];
    desc.dk = o->expected[KEY];
    desc.dv = o->expected[VALUE];
    desc.scratch = calloc(2 * (size_t)c->k_len, sizeof(double));
    desc.dbias = c->biased ? calloc(o->dbias->count, sizeof(double)) : NULL;
    assert_true(desc.scratch && !desc.dbias == !c->biased);
    vkf__ref_sdpa_grad(&desc);
    if (c->biased)
        expect_bias(c, o, desc.dbias);
    free(desc.dbias);
    free(desc.scratch);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < o->grad[kind]->count && c->accumulate; i++)
            o->expected[kind][i] += o->grad[kind]->values[i];
}

static operands make_operands(vkf_test_ops *ops, const grad_case *c)
{
    operands o = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        o.x[kind] = make(ops, c, heads_of(c, kind), length_of(c, kind), width_of(c, kind));
        o.grad[kind] = make_grad(ops, c, kind);
    }
    o.out = make(ops, c, c->heads, c->q_len, c->v_dim);
    o.dout = make(ops, c, c->heads, c->q_len, c->v_dim);
    if (c->biased)
        o.dbias = prepare_grad(
            ops, c, vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->q_len, c->heads, masked_keys(c))));
    o.mask = make_mask(ops, c);
    o.key_mask = vkf_test_key_mask_operand(ops, c->key_mask_kind, c->batch, masked_keys(c), c->mask_all);
    o.log_sums =
        vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(c->batch, c->kv_heads, c->q_len, c->heads / c->kv_heads));
    attend(ops, c, &o);
    if (c->spoil)
        spoil(ops, c, &o);
    expect(c, &o);
    return o;
}

static vkf__heads_span heads_span(const vkf_test_operand *operand, vkf__ref_layout layout)
{
    return (vkf__heads_span){SPAN(operand), (uint32_t)layout.outer, (uint32_t)layout.row, (uint32_t)layout.inner};
}

static vkf__attention_args forward_args(const grad_case *c, const operands *o)
{
    const vkf_tensor mask = vkf_test_tensor_of(o->mask), key_mask = vkf_test_tensor_of(o->key_mask);
    return (vkf__attention_args){
        .q = heads_span(o->x[QUERY], layout_of_kind(c, QUERY)),
        .k = heads_span(o->x[KEY], layout_of_kind(c, KEY)),
        .v = heads_span(o->x[VALUE], layout_of_kind(c, VALUE)),
        .out = heads_span(o->out, layout_of(c, c->heads, c->q_len, c->v_dim)),
        .mask = vkf__span_of(&mask),
        .key_mask = vkf__span_of(&key_mask),
        .mask_kind = c->mask_kind,
        .key_mask_kind = c->key_mask_kind,
        .batch = c->batch,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .q_len = c->q_len,
        .k_len = c->k_len,
        .head_dim = c->dim,
        .v_head_dim = c->v_dim,
        .mask_cols = masked_keys(c),
        .mask_batch = (uint32_t)vkf_test_broadcast_stride(o->mask, 3),
        .mask_head = (uint32_t)vkf_test_broadcast_stride(o->mask, 2),
        .mask_row = (uint32_t)vkf_test_broadcast_stride(o->mask, 1),
        .key_mask_batch = c->key_mask_kind == VKF_MASK_LENGTHS ? 1 : masked_keys(c),
        .causal = c->causal,
        .causal_offset = c->causal_offset,
        .window = c->window,
        .scale = (float)(1 / sqrt(c->dim)),
        .fully_masked = c->fully_masked,
    };
}

static vkf__attention_grad_args args_of(const grad_case *c, const operands *o)
{
    const vkf__heads_span none = {0};
    const uint32_t keys = masked_keys(c);
    return (vkf__attention_grad_args){
        .label = "grad",
        .forward = forward_args(c, o),
        .dout = heads_span(o->dout, layout_of(c, c->heads, c->q_len, c->v_dim)),
        .dq = c->without_query ? none : heads_span(o->grad[QUERY], layout_of_kind(c, QUERY)),
        .dk = heads_span(o->grad[KEY], layout_of_kind(c, KEY)),
        .dv = c->without_value ? none : heads_span(o->grad[VALUE], layout_of_kind(c, VALUE)),
        .dbias = c->biased ? (vkf__heads_span){SPAN(o->dbias), 0, c->heads * keys, keys} : none,
        .log_sums = SPAN(o->log_sums),
        .accumulate_q = c->accumulate,
        .accumulate_k = c->accumulate,
        .accumulate_v = c->accumulate,
        .accumulate_bias = c->accumulate,
    };
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_attention_grad(work, args);
}

static vkf_status emit_train(vkf__work *work, const void *args)
{
    return vkf__emit_attention_train(work, args);
}

// Every gradient is a sum of products of weights with numbers that are about as large as the gradient's largest. The
// weights err by what exp() does and by its argument's rounding, which is 2^-24 times a score of up to 20 or so, and
// the other factors and the sums by some roundings: 2e-5 in all.
static void compare(vkf_test_ops *ops, const grad_case *c, vkf_test_operand *grad, const double *expected,
                    const char *name)
{
    float *rounded = vkf_test_floats(grad->count);
    double largest = 1;
    for (size_t i = 0; i < grad->count; i++) {
        rounded[i] = (float)expected[i];
        largest = fmax(largest, fabs(expected[i])); // fmax passes over NaN
    }
    vkf_test_download(ops, grad);
    assert_close(grad->values, rounded, grad->count, 2e-5 * largest, 2e-5,
                 vkf_test_label(&ops->gpu,
                                "gradient of %s: batch %u, heads %u and %u, queries %u, keys %u and %u, dims %u and %u,"
                                " mask %d over %u, key mask %d, causal %d by %d, window %u%s%s%s%s",
                                name, c->batch, c->heads, c->kv_heads, c->q_len, masked_keys(c), c->free_keys, c->dim,
                                c->v_dim, (int)c->mask_kind, c->mask_dims, (int)c->key_mask_kind, c->causal,
                                c->causal_offset, c->window, c->mask_all ? ", masked rows" : "",
                                c->heads_inside ? ", heads inside" : "", c->accumulate ? ", added" : "",
                                c->attends ? ", after attention" : ""));
    free(rounded);
}

static grad_case resolve(grad_case c)
{
    c.kv_heads = c.kv_heads > 0 ? c.kv_heads : c.heads;
    c.v_dim = c.v_dim > 0 ? c.v_dim : c.dim;
    return c;
}

static void compare_all(vkf_test_ops *ops, const grad_case *c, const operands *o)
{
    if (!c->without_query)
        compare(ops, c, o->grad[QUERY], o->expected[QUERY], "queries");
    compare(ops, c, o->grad[KEY], o->expected[KEY], "keys");
    if (!c->without_value)
        compare(ops, c, o->grad[VALUE], o->expected[VALUE], "values");
    if (c->biased)
        compare(ops, c, o->dbias, o->expected_bias, "biases");
}

static void finish(vkf_test_ops *ops, const operands *o)
{
    for (int kind = 0; kind < KINDS; kind++)
        free(o->expected[kind]);
    free(o->expected_bias);
    vkf_test_ops_reset(ops);
}

static void compare_forward(vkf_test_ops *ops, vkf_test_operand *operand, const float *expected, const char *name)
{
    vkf_test_download(ops, operand);
    assert_close(operand->values, expected, operand->count, 3e-5, 2e-5, vkf_test_label(&ops->gpu, "%s", name));
}

static float *copy_of(const vkf_test_operand *operand)
{
    return memcpy(vkf_test_floats(operand->count), operand->values, operand->count * sizeof(float));
}

// Runs attention, and leaves its results to the gradients. What it makes of rows that see no key is their rule's.
static void attend_here(vkf_test_ops *ops, const grad_case *c, const operands *o)
{
    const vkf__attention_train_args args = {.forward = forward_args(c, o), .log_sums = SPAN(o->log_sums)};
    float *out = copy_of(o->out), *log_sums = copy_of(o->log_sums);
    for (size_t i = 0; i < o->log_sums->count; i++)
        log_sums[i] = isnan(log_sums[i]) ? -0.5f * FLT_MAX : log_sums[i];
    for (size_t i = 0; i < o->out->count; i++)
        o->out->values[i] = NAN;
    vkf_test_upload(ops, o->out);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "attention", emit_train, &args), "attention");
    compare_forward(ops, o->out, out, "output");
    compare_forward(ops, o->log_sums, log_sums, "log sums");
    free(log_sums);
    free(out);
}

static void check(vkf_test_ops *ops, grad_case unresolved)
{
    const grad_case c = resolve(unresolved);
    const operands o = make_operands(ops, &c);
    const vkf__attention_grad_args args = args_of(&c, &o);
    if (c.attends)
        attend_here(ops, &c, &o);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "grad", emit, &args), "gradients of attention");
    compare_all(ops, &c, &o);
    finish(ops, &o);
}

// batch, heads, key heads, queries, keys, widths of key and value; 0: default
#define SIZES(b, h, kv, l, s, d, dv) \
    .batch = b, .heads = h, .kv_heads = kv, .q_len = l, .k_len = s, .dim = d, .v_dim = dv

// Rows are unrolled, so that the widest take half a minute to compile: they come last, where all tests run.
#define USUAL_WIDTHS 4u

static void test_grad_widths(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t widths[][2] = {{1, 3}, {64, 64}, {80, 24}, {20, 80}, {128, 128}, {256, 200}};
    for (size_t i = 0; i < (vkf_test_all() ? COUNT_OF(widths) : USUAL_WIDTHS); i++) {
        ops->aligned = i % 2 == 1;
        check(ops, (grad_case){SIZES(2, 3, 0, 9, 33, widths[i][0], widths[i][1]), .heads_inside = i % 2 == 0});
    }
    ops->aligned = false;
}

static void test_grad_refuses_wider_heads(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const grad_case c = resolve((grad_case){SIZES(1, 1, 0, 2, 2, 257, 8)});
    const operands o = make_operands(ops, &c);
    const vkf__attention_grad_args args = args_of(&c, &o);
    vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "grad", emit, &args), VKF_ERROR_UNSUPPORTED, "257");
    finish(ops, &o);
}

static const uint32_t LENGTHS[] = {1, 2, 7, 31, 32, 33, 65, 131};

static void run_lengths(vkf_test_ops *ops, grad_case c)
{
    for (size_t q = 0; q < COUNT_OF(LENGTHS); q++) {
        for (size_t k = 0; k < COUNT_OF(LENGTHS); k++) {
            c.q_len = LENGTHS[q];
            c.k_len = LENGTHS[k];
            c.heads_inside = (q + k) % 2 == 1;
            check(ops, c);
        }
    }
}

static void test_grad_lengths(void **state)
{
    run_lengths(vkf_test_ops_of(state), (grad_case){.batch = 2, .heads = 2, .dim = 8, .v_dim = 12, .attends = true});
}

static void test_grad_causal(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    run_lengths(ops, (grad_case){.batch = 1, .heads = 2, .kv_heads = 1, .dim = 8, .v_dim = 12, .causal = true});
    static const int32_t offsets[] = {-40, -3, 5, 64, 200};
    for (size_t i = 0; i < COUNT_OF(offsets); i++)
        check(ops, (grad_case){SIZES(1, 4, 2, 65, 70, 8, 12), .causal = true, .causal_offset = offsets[i]});
}

static void test_grad_windows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t windows[] = {1, 3, 40, 100, UINT32_MAX};
    for (size_t w = 0; w < COUNT_OF(windows); w++) {
        for (int causal = 0; causal < 2; causal++) {
            grad_case c = {SIZES(1, 2, 1, 65, 131, 8, 12), .causal = causal, .window = windows[w]};
            check(ops, c);
            c.causal_offset = 66;
            check(ops, c);
            c.q_len = 131;
            c.k_len = 65;
            c.causal_offset = -66;
            check(ops, c);
        }
    }
}

// Each beside a key mask of its kind, for which the test below takes the same pipelines.
static void test_grad_mask_kinds_and_broadcasts(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = VKF_MASK_BOOL_EXCLUDE; kind <= VKF_MASK_ADDITIVE; kind++) {
        for (uint32_t dims = 0; dims < 8; dims += vkf_test_all() ? 1 : 3) {
            grad_case c = {SIZES(2, 4, 0, 7, 35, 8, 12), .mask_dims = dims};
            c.mask_kind = c.key_mask_kind = (vkf_mask_kind)kind;
            check(ops, c);
            c.kv_heads = 2;
            c.mask_all = true;
            check(ops, c);
        }
    }
}

static void test_grad_key_masks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int kind = VKF_MASK_BOOL_EXCLUDE; kind < VKF_MASK_KIND_COUNT; kind++) {
        grad_case c = {.batch = 3, .heads = 2, .dim = 8, .v_dim = 12, .key_mask_kind = (vkf_mask_kind)kind};
        for (size_t i = 0; i < COUNT_OF(LENGTHS); i++) {
            c.q_len = LENGTHS[i];
            c.k_len = LENGTHS[(i + 3) % COUNT_OF(LENGTHS)];
            c.mask_all = i % 2 == 1;
            c.mask_kind = kind == VKF_MASK_LENGTHS ? VKF_MASK_NONE : (vkf_mask_kind)kind;
            check(ops, c);
        }
    }
}

// Everything at once.
static const grad_case MASKED[] = {
    {SIZES(2, 4, 2, 33, 65, 8, 12), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = 7, .key_mask_kind = VKF_MASK_LENGTHS,
     .causal = true, .causal_offset = 32, .window = 5, .mask_all = true, .attends = true},
    {SIZES(2, 4, 2, 33, 65, 8, 12), .mask_kind = VKF_MASK_BOOL_ATTEND, .mask_dims = VKF_TEST_MASK_ROWS,
     .key_mask_kind = VKF_MASK_ADDITIVE, .causal = true, .accumulate = true},
    {SIZES(1, 2, 0, 40, 36, 8, 12), .causal = true, .causal_offset = -20, .window = 3},
    // Keys that no mask covers.
    {SIZES(2, 4, 2, 33, 67, 8, 12), .causal = true, .free_keys = 2},
    {SIZES(2, 2, 0, 9, 34, 8, 12), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true, .free_keys = 1,
     .attends = true},
    {SIZES(2, 2, 0, 70, 131, 8, 12), .causal = true, .window = 4, .free_keys = 66},
};

static void test_grad_with_all_masks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(MASKED); i++)
        check(ops, MASKED[i]);
}

static void test_grad_grouped_heads(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t heads[][2] = {{4, 1}, {6, 2}, {5, 5}, {12, 4}};
    for (size_t i = 0; i < COUNT_OF(heads); i++)
        for (int inside = 0; inside < 2; inside++)
            check(ops, (grad_case){SIZES(2, heads[i][0], heads[i][1], 13, 33, 8, 12), .heads_inside = inside});
}

static void test_grad_adds(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    check(ops, (grad_case){SIZES(2, 4, 2, 33, 35, 8, 12), .accumulate = true});
    check(ops, (grad_case){SIZES(2, 4, 2, 33, 35, 8, 12), .accumulate = true, .without_value = true});
}

static void test_grad_of_some_operands(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    grad_case c = resolve((grad_case){SIZES(2, 4, 2, 33, 35, 8, 12), .without_query = true});
    check(ops, c);
    c.without_value = true;
    check(ops, c);
}

// Queries, keys and values side by side in the rows of one operand, as one product makes them, and their gradients
// likewise.
typedef struct fused {
    vkf_test_operand *x, *grad; // (batch, length, row)
    uint32_t row, first[KINDS];
} fused;

static fused make_fused(vkf_test_ops *ops, const grad_case *c)
{
    fused f = {0};
    for (int kind = 0; kind < KINDS; kind++) {
        f.first[kind] = f.row;
        f.row += heads_of(c, kind) * width_of(c, kind);
    }
    f.x = vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(c->batch, c->q_len, f.row));
    f.grad = vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(c->batch, c->q_len, f.row));
    return f;
}

static vkf__heads_span fused_span(const grad_case *c, const fused *f, const vkf_test_operand *operand, int kind)
{
    const vkf__span whole = SPAN(operand);
    const uint64_t count = operand->count - f->row + heads_of(c, kind) * width_of(c, kind);
    return (vkf__heads_span){vkf__span_part(&whole, f->first[kind], count), c->q_len * f->row, f->row,
                             width_of(c, kind)};
}

// Where element `i` of an operand with its heads inside lies among the fused ones.
static size_t fused_at(const grad_case *c, const fused *f, int kind, size_t i)
{
    const uint32_t width = heads_of(c, kind) * width_of(c, kind);
    return i / width * f->row + f->first[kind] + i % width;
}

static void test_grad_of_fused_operands(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const grad_case c = resolve((grad_case){SIZES(2, 4, 2, 35, 35, 8, 12), .causal = true, .heads_inside = true});
    const operands o = make_operands(ops, &c);
    const fused f = make_fused(ops, &c);
    float *expected = vkf_test_floats(f.x->count);
    double largest = 1;
    vkf__attention_grad_args args = args_of(&c, &o);
    for (int kind = 0; kind < KINDS; kind++) {
        for (size_t i = 0; i < o.x[kind]->count; i++) {
            f.x->values[fused_at(&c, &f, kind, i)] = o.x[kind]->values[i];
            expected[fused_at(&c, &f, kind, i)] = (float)o.expected[kind][i];
            largest = fmax(largest, fabs(o.expected[kind][i]));
        }
    }
    vkf_test_upload(ops, f.x);
    args.forward.q = fused_span(&c, &f, f.x, QUERY);
    args.forward.k = fused_span(&c, &f, f.x, KEY);
    args.forward.v = fused_span(&c, &f, f.x, VALUE);
    args.dq = fused_span(&c, &f, f.grad, QUERY);
    args.dk = fused_span(&c, &f, f.grad, KEY);
    args.dv = fused_span(&c, &f, f.grad, VALUE);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "grad", emit, &args), "gradients of fused operands");
    vkf_test_download(ops, f.grad);
    assert_close(f.grad->values, expected, f.grad->count, 2e-5 * largest, 2e-5,
                 vkf_test_label(&ops->gpu, "fused operands")); // as in compare()
    free(expected);
    finish(ops, &o);
}

// Each rule for rows that see no key. Beside them, values that nobody sees are no numbers.
static void test_grad_after_each_rule_for_hidden_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int rule = 0; rule < VKF_FULLY_MASKED_COUNT; rule++)
        check(ops, (grad_case){SIZES(2, 2, 0, 37, 33, 8, 12), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true,
                               .fully_masked = (vkf_fully_masked)rule, .attends = true});
}

static void test_grad_hidden_rows_may_be_no_numbers(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    grad_case c = {SIZES(3, 4, 2, 37, 67, 8, 12), .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true, .spoil = true};
    check(ops, c);
    c.key_mask_kind = VKF_MASK_BOOL_EXCLUDE;
    check(ops, c);
    c.causal = true;
    check(ops, c);
}

// So many other rows that they are divided among dispatches, which end in parts of steps.
static void test_grad_of_long_sequences(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    check(ops, (grad_case){SIZES(1, 1, 0, 2, 120001, 8, 12), .attends = true});
    check(ops, (grad_case){SIZES(1, 2, 1, 60001, 3, 8, 12), .accumulate = true});
}

// Summed over the batch, which may be so long that it is divided among dispatches. Some entries see none of a step of
// keys, and some rows no key at all.
static void test_grad_of_biases(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const uint32_t each = VKF_TEST_MASK_HEADS | VKF_TEST_MASK_ROWS;
    const grad_case cases[] = {
        {SIZES(3, 4, 2, 37, 70, 8, 12), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = each,
         .key_mask_kind = VKF_MASK_LENGTHS, .mask_all = true},
        {SIZES(1, 2, 0, 1, 1, 8, 12), .mask_kind = VKF_MASK_ADDITIVE, .mask_dims = each,
         .key_mask_kind = VKF_MASK_LENGTHS},
        {SIZES(2, 4, 4, 65, 67, 8, 12), .causal = true, .free_keys = 2},
        {SIZES(2, 4, 4, 65, 67, 8, 12), .causal = true, .causal_offset = -3, .accumulate = true, .heads_inside = true},
        {SIZES(2500, 2, 1, 2, 3, 8, 12), .causal = true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        grad_case c = cases[i];
        c.biased = true;
        check(ops, c);
    }
}

// So much that heads are packed a part at a time; parts end within batch entries, and a smaller run has fewer. A bias
// gets something of each.
static void test_grad_of_parts(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const grad_case c =
        resolve((grad_case){SIZES(1100, 10, 5, 16, 31, 8, 12), .causal = true, .biased = true, .attends = true});
    const operands o = make_operands(ops, &c);
    const vkf__attention_grad_args args = args_of(&c, &o);
    vkf__attention_grad_args largest = args;
    largest.forward.batch = 2100;
    attend_here(ops, &c, &o);
    vkf_test_assert_ok(ops, vkf_test_run_resized(ops->gpu.context, "grad", emit, &largest, &args), "parts");
    compare_all(ops, &c, &o);
    finish(ops, &o);
}

static void test_grad_of_smaller_runs(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const grad_case c = resolve((grad_case){SIZES(1, 4, 2, 9, 17, 8, 12), .causal = true, .biased = true});
    const operands o = make_operands(ops, &c);
    const vkf__attention_grad_args args = args_of(&c, &o);
    vkf__attention_grad_args largest = args;
    largest.forward.batch = 3;
    largest.forward.q_len = 40;
    largest.forward.k_len = largest.forward.mask_cols = 70;
    vkf_test_assert_ok(ops, vkf_test_run_resized(ops->gpu.context, "grad", emit, &largest, &args), "a smaller run");
    compare_all(ops, &c, &o);
    finish(ops, &o);
}

static void test_grad_of_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    grad_case c = resolve((grad_case){SIZES(1, 2, 0, 3, 5, 8, 12)});
    const operands o = make_operands(ops, &c);
    const vkf__attention_grad_args largest = args_of(&c, &o);
    vkf__attention_grad_args args = largest;
    args.forward.batch = 0;
    vkf_test_assert_ok(ops, vkf_test_run_resized(ops->gpu.context, "grad", emit, &largest, &args), "a run of no rows");
    for (int kind = 0; kind < KINDS; kind++) {
        vkf_test_download(ops, o.grad[kind]);
        for (size_t i = 0; i < o.grad[kind]->count; i++)
            assert_true(isnan(o.grad[kind]->values[i]));
    }
    finish(ops, &o);
}

static void test_grad_is_the_same_in_every_run(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const grad_case c = resolve((grad_case){SIZES(2, 4, 2, 65, 131, 8, 12), .causal = true, .biased = true});
    const operands o = make_operands(ops, &c);
    const vkf__attention_grad_args args = args_of(&c, &o);
    float *first[KINDS];
    for (int run = 0; run < 3; run++) {
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "grad", emit, &args), "gradients of attention");
        for (int kind = 0; kind < KINDS; kind++) {
            const size_t bytes = o.grad[kind]->count * sizeof(float);
            vkf_test_download(ops, o.grad[kind]);
            if (run == 0)
                memcpy(first[kind] = vkf_test_floats(o.grad[kind]->count), o.grad[kind]->values, bytes);
            assert_memory_equal(first[kind], o.grad[kind]->values, bytes);
        }
    }
    for (int kind = 0; kind < KINDS; kind++)
        free(first[kind]);
    finish(ops, &o);
}

static uint64_t planned_bytes(vkf_test_ops *ops, const vkf__attention_grad_args *args)
{
    vkf__work work;
    vkf__work_init(&work, ops->gpu.context, "grad");
    const vkf_status status = vkf__work_plan(&work, emit, args);
    const uint64_t bytes = work.plan.arena_bytes;
    vkf__work_finish(&work);
    vkf_test_assert_ok(ops, status, "plan");
    return bytes;
}

static void test_grad_memory_grows_with_the_lengths(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const grad_case c = resolve((grad_case){SIZES(1, 1, 0, 1, 1, 8, 12)});
    const operands o = make_operands(ops, &c);
    vkf__attention_grad_args args = args_of(&c, &o);
    args.forward.q_len = args.forward.k_len = args.forward.mask_cols = 1u << 14;
    const uint64_t bytes = planned_bytes(ops, &args);
    args.forward.q_len = args.forward.k_len = args.forward.mask_cols = 1u << 15;
    assert_true(planned_bytes(ops, &args) <= 2 * bytes);
    args.forward.batch = 1u << 17;
    vkf__work work;
    vkf__work_init(&work, ops->gpu.context, "grad");
    vkf_test_assert_refused(ops, vkf__work_plan(&work, emit, &args), VKF_ERROR_TOO_LARGE, "more than 2^32 elements");
    vkf__work_finish(&work);
    finish(ops, &o);
}

static vkf__attention_grad_args long_args(void)
{
    const vkf__attention_args forward = vkf_test_long_attention();
    return (vkf__attention_grad_args){
        .label = "grad",
        .forward = forward,
        .dout = forward.out,
        .dq = forward.q,
        .dk = forward.k,
        .dv = forward.v,
        .log_sums = {.size_bytes = VKF_TEST_LONG_HEADS * VKF_TEST_LONG_LENGTH * 4, .dtype = VKF_DTYPE_F32},
    };
}

static vkf_status emit_both_ways(vkf__work *work, const void *args)
{
    const vkf__attention_grad_args *grad = args;
    const vkf__attention_train_args train = {.forward = grad->forward, .log_sums = grad->log_sums};
    VKF_RETURN_IF_ERROR(vkf__emit_attention_train(work, &train));
    return vkf__emit_attention_grad(work, grad);
}

// What there is while attention of training goes forward and back: eight operands and gradients, log sums, and what
// the work takes for itself.
static uint64_t long_bytes(vkf_test_ops *ops, const vkf__variant *trial)
{
    const vkf__attention_grad_args args = long_args();
    vkf__work work;
    bool takes = trial == NULL;
    vkf__work_init(&work, ops->gpu.context, "long");
    work.trial = trial;
    vkf_test_assert_ok(ops, vkf__work_plan(&work, emit_both_ways, &args), "plan");
    for (uint32_t i = 0; i < work.plan.node_count && trial; i++)
        takes = takes || work.plan.nodes[i].variant.kernel == trial->kernel;
    const uint64_t bytes = work.plan.arena_bytes + vkf__work_control_bytes(&work);
    vkf__work_finish(&work);
    assert_true(takes);
    return 8 * VKF_TEST_LONG_BYTES + args.log_sums.size_bytes + bytes;
}

enum { LONG_LEAST = 8 * VKF_TEST_LONG_BYTES, LONG_MOST = 150000000 };

// As the device chooses, and by each kernel that it has, those that read by address among them.
static void test_grad_of_long_sequences_takes_little_memory(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    assert_in_range(long_bytes(ops, NULL), LONG_LEAST, LONG_MOST);
    const vkf__problem problem = {.m = VKF_TEST_LONG_LENGTH, .n = VKF_TEST_LONG_LENGTH, .k = 64};
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        const vkf__variant variant = {kernel, &kernel->configs[0]};
        if (kernel->op != VKF_OP_ATTENTION_GRAD_PAIR && kernel->op != VKF_OP_ATTENTION_GRAD)
            continue;
        if (vkf__kernel_supported(&ops->gpu.context->device.plan.caps, kernel, variant.config, NULL) &&
            vkf__kernel_accepts(&ops->gpu.context->device.plan.caps, kernel, variant.config, &problem))
            assert_in_range(long_bytes(ops, &variant), LONG_LEAST, LONG_MOST);
    }
}

static void assert_passes(vkf_test_ops *ops, const vkf__kernel *kernel)
{
    const uint32_t stride = vkf_test_all() ? 1 : kernel->op == VKF_OP_ATTENTION_GRAD_PAIR ? 3 : 8;
    for (uint32_t i = vkf_test_all() ? 0 : 1; i < kernel->config_count; i += stride) {
        const vkf__variant variant = {kernel, &kernel->configs[i]};
        vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
        if (!vkf__kernel_supported(&ops->gpu.context->device.plan.caps, kernel, variant.config, NULL))
            continue;
        vkf_test_assert_ok(ops, vkf__self_test(ops->gpu.context, &variant, &verdict), kernel->name);
        if (verdict != VKF_VERDICT_PASSED)
            fail_msg("%s/%s: verdict %d", kernel->name, variant.config->name, (int)verdict);
    }
}

// Devices choose by their registers and by widths: the tests above see a few. VKF_TEST_ALL=1 takes all; else every
// third of the pair's, and of kernels whose passes are parts of it every eighth. The first is that of gpu.self_test.
static void test_grad_by_every_config(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        if (kernel->op == VKF_OP_ATTENTION_TRAIN || kernel->op == VKF_OP_ATTENTION_GRAD ||
            kernel->op == VKF_OP_ATTENTION_GRAD_PAIR || kernel->op == VKF_OP_ATTENTION_GRAD_PACK)
            assert_passes(ops, kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_grad_widths),
        VKF_OPS_TEST(test_grad_refuses_wider_heads),
        VKF_OPS_TEST(test_grad_lengths),
        VKF_OPS_TEST(test_grad_causal),
        VKF_OPS_TEST(test_grad_windows),
        VKF_OPS_TEST(test_grad_mask_kinds_and_broadcasts),
        VKF_OPS_TEST(test_grad_key_masks),
        VKF_OPS_TEST(test_grad_with_all_masks),
        VKF_OPS_TEST(test_grad_grouped_heads),
        VKF_OPS_TEST(test_grad_adds),
        VKF_OPS_TEST(test_grad_of_some_operands),
        VKF_OPS_TEST(test_grad_of_fused_operands),
        VKF_OPS_TEST(test_grad_after_each_rule_for_hidden_rows),
        VKF_OPS_TEST(test_grad_hidden_rows_may_be_no_numbers),
        VKF_OPS_TEST(test_grad_of_long_sequences),
        VKF_OPS_TEST(test_grad_of_biases),
        VKF_OPS_TEST(test_grad_of_parts),
        VKF_OPS_TEST(test_grad_of_smaller_runs),
        VKF_OPS_TEST(test_grad_of_nothing),
        VKF_OPS_TEST(test_grad_is_the_same_in_every_run),
        VKF_OPS_TEST(test_grad_memory_grows_with_the_lengths),
        VKF_OPS_TEST(test_grad_of_long_sequences_takes_little_memory),
        VKF_OPS_TEST(test_grad_by_every_config),
    };
    return cmocka_run_group_tests_name("op_attention_grad", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
