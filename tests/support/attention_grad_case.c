#include "support/attention_grad_case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/operators.h"
#include "op/run_once.h"
#include "support/by_hand.h"
#include "support/mask_operand.h"
#include "support/reference.h"

static uint32_t masked_keys(const vkf_test_grad_case *c)
{
    return c->k_len - c->free_keys;
}

uint32_t vkf_test_grad_heads(const vkf_test_grad_case *c, int kind)
{
    return kind == VKF_TEST_QUERY ? c->heads : c->kv_heads;
}

static uint32_t length_of(const vkf_test_grad_case *c, int kind)
{
    return kind == VKF_TEST_QUERY ? c->q_len : c->k_len;
}

uint32_t vkf_test_grad_width(const vkf_test_grad_case *c, int kind)
{
    return kind == VKF_TEST_VALUE ? c->v_dim : c->dim;
}

static vkf_test_operand *make_of(vkf_test_ops *ops, const vkf_test_grad_case *c, vkf_dtype dtype, uint32_t heads,
                                 uint32_t length, uint32_t width)
{
    if (c->heads_inside)
        return vkf_test_normal(ops, dtype, 0, 1, SHAPE(c->batch, length, heads, width));
    return vkf_test_normal(ops, dtype, 0, 1, SHAPE(c->batch, heads, length, width));
}

static vkf_test_operand *make(vkf_test_ops *ops, const vkf_test_grad_case *c, uint32_t heads, uint32_t length,
                              uint32_t width)
{
    return make_of(ops, c, VKF_DTYPE_F32, heads, length, width);
}

// Gradients begin as random numbers where they are added to, and else as NaN, which must not be read.
static vkf_test_operand *prepare_grad(vkf_test_ops *ops, const vkf_test_grad_case *c, vkf_test_operand *grad)
{
    for (size_t i = 0; i < grad->count && !c->accumulate; i++)
        grad->values[i] = NAN;
    vkf_test_upload(ops, grad);
    return grad;
}

static vkf_test_operand *make_grad(vkf_test_ops *ops, const vkf_test_grad_case *c, int kind)
{
    return prepare_grad(ops, c,
                        make(ops, c, vkf_test_grad_heads(c, kind), length_of(c, kind), vkf_test_grad_width(c, kind)));
}

static vkf_test_operand *make_mask(vkf_test_ops *ops, const vkf_test_grad_case *c)
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

static vkf_ref_layout layout_of(const vkf_test_grad_case *c, uint32_t heads, uint32_t length, uint32_t width)
{
    const size_t outer = (size_t)heads * length * width;
    if (c->heads_inside)
        return (vkf_ref_layout){.row = (size_t)heads * width, .outer = outer, .inner = width};
    return (vkf_ref_layout){.row = width, .outer = outer, .inner = (size_t)length * width};
}

static vkf_ref_layout layout_of_kind(const vkf_test_grad_case *c, int kind)
{
    return layout_of(c, vkf_test_grad_heads(c, kind), length_of(c, kind), vkf_test_grad_width(c, kind));
}

// Where an operand lies: on the device, or on the host.
typedef vkf__span (*span_fn)(const vkf_test_operand *operand);

static vkf__span on_device(const vkf_test_operand *operand)
{
    const vkf_tensor tensor = vkf_test_tensor_of(operand);
    return vkf__span_of(&tensor);
}

static vkf__span on_host(const vkf_test_operand *operand)
{
    if (!operand)
        return (vkf__span){0};
    const vkf_dtype dtype = operand->tensor.dtype == VKF_DTYPE_BF16 ? VKF_DTYPE_F32 : operand->tensor.dtype;
    return vkf_hand_operand(dtype, vkf_test_content_of(operand), operand->count);
}

static vkf__heads_span heads_span(vkf__span span, vkf_ref_layout layout)
{
    return (vkf__heads_span){span, (uint32_t)layout.outer, (uint32_t)layout.row, (uint32_t)layout.inner};
}

static vkf__attention_args forward_args(const vkf_test_grad_case *c, const vkf_test_grad_operands *o, span_fn of)
{
    return (vkf__attention_args){
        .q = heads_span(of(o->x[VKF_TEST_QUERY]), layout_of_kind(c, VKF_TEST_QUERY)),
        .k = heads_span(of(o->x[VKF_TEST_KEY]), layout_of_kind(c, VKF_TEST_KEY)),
        .v = heads_span(of(o->x[VKF_TEST_VALUE]), layout_of_kind(c, VKF_TEST_VALUE)),
        .out = heads_span(of(o->out), layout_of(c, c->heads, c->q_len, c->v_dim)),
        .masks.mask = of(o->mask),
        .masks.key_mask = of(o->key_mask),
        .masks.kind = c->mask_kind,
        .masks.key_kind = c->key_mask_kind,
        .batch = c->batch,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .q_len = c->q_len,
        .k_len = c->k_len,
        .head_dim = c->dim,
        .v_head_dim = c->v_dim,
        .masks.cols = masked_keys(c),
        .masks.batch = (uint32_t)vkf_test_broadcast_stride(o->mask, 3),
        .masks.head = (uint32_t)vkf_test_broadcast_stride(o->mask, 2),
        .masks.row = (uint32_t)vkf_test_broadcast_stride(o->mask, 1),
        .masks.key_batch = c->key_mask_kind == VKF_MASK_LENGTHS ? 1 : masked_keys(c),
        .masks.causal = c->causal,
        .masks.causal_offset = c->causal_offset,
        .masks.scale = (float)(1 / sqrt(c->dim)),
    };
}

static vkf__attention_grad_args args_of(const vkf_test_grad_case *c, const vkf_test_grad_operands *o, span_fn of)
{
    const vkf__heads_span none = {0};
    const uint32_t keys = masked_keys(c);
    return (vkf__attention_grad_args){
        .label = "grad",
        .forward = forward_args(c, o, of),
        .dout = heads_span(of(o->dout), layout_of(c, c->heads, c->q_len, c->v_dim)),
        .dq = heads_span(of(o->grad[VKF_TEST_QUERY]), layout_of_kind(c, VKF_TEST_QUERY)),
        .dk = heads_span(of(o->grad[VKF_TEST_KEY]), layout_of_kind(c, VKF_TEST_KEY)),
        .dv = heads_span(of(o->grad[VKF_TEST_VALUE]), layout_of_kind(c, VKF_TEST_VALUE)),
        .dbias = c->biased ? (vkf__heads_span){of(o->dbias), 0, c->heads * keys, keys} : none,
        .row_stats = of(o->row_stats),
        .accumulate_q = c->accumulate,
        .accumulate_k = c->accumulate,
        .accumulate_v = c->accumulate,
        .accumulate_bias = c->accumulate,
    };
}

vkf__attention_grad_args vkf_test_grad_args(const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    return args_of(c, o, on_device);
}

// The output of the forward pass and its row stats, as attention has left them; NaN and 0 of rows that see no key.
static void attend(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    const vkf__attention_grad_args args = args_of(c, o, on_host);
    const vkf__attention_train_args train = {.forward = args.forward, .row_stats = args.row_stats};
    const size_t rows = o->row_stats->count / 2;
    vkf_hand_run(VKF_OP_ATTENTION_TRAIN, &train);
    vkf_hand_read(&args.forward.out.span, o->out->values);
    vkf_hand_read(&args.row_stats, o->row_stats->values);
    for (size_t i = 0; i < rows; i++)
        o->row_stats->values[i] = o->row_stats->values[rows + i] == 0 ? NAN : o->row_stats->values[i];
    vkf_test_upload(ops, o->out);
    vkf_test_upload(ops, o->row_stats);
}

static float *read_expected(const vkf__span *span)
{
    float *values = vkf_test_floats(span->size_bytes / sizeof(float) + 1);
    vkf_hand_read(span, values);
    return values;
}

static void expect(const vkf_test_grad_case *c, vkf_test_grad_operands *o)
{
    const vkf__attention_grad_args args = args_of(c, o, on_host);
    vkf_hand_run(VKF_OP_ATTENTION_GRAD, &args);
    o->expected[VKF_TEST_QUERY] = read_expected(&args.dq.span);
    o->expected[VKF_TEST_KEY] = read_expected(&args.dk.span);
    o->expected[VKF_TEST_VALUE] = read_expected(&args.dv.span);
    o->expected_bias = read_expected(&args.dbias.span);
}

vkf_test_grad_operands vkf_test_grad_make(vkf_test_ops *ops, const vkf_test_grad_case *c)
{
    vkf_test_grad_operands o = {0};
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++) {
        o.x[kind] = make_of(ops, c, c->bfloats && kind != VKF_TEST_QUERY ? VKF_DTYPE_BF16 : VKF_DTYPE_F32,
                            vkf_test_grad_heads(c, kind), length_of(c, kind), vkf_test_grad_width(c, kind));
        o.grad[kind] = make_grad(ops, c, kind);
    }
    o.out = make(ops, c, c->heads, c->q_len, c->v_dim);
    o.dout = make(ops, c, c->heads, c->q_len, c->v_dim);
    if (c->biased)
        o.dbias =
            prepare_grad(ops, c, vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->q_len, c->heads, masked_keys(c))));
    o.mask = make_mask(ops, c);
    o.key_mask = vkf_test_key_mask_operand(ops, c->key_mask_kind, c->batch, masked_keys(c), c->mask_all);
    o.row_stats = vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(2, c->batch, c->heads, c->q_len));
    attend(ops, c, &o);
    expect(c, &o);
    return o;
}

// Every gradient is a sum of products of weights with numbers that are about as large as the gradient's largest. The
// weights err by what exp() does and by its argument's rounding, which is 2^-24 times a score of up to 20 or so, and
// the other factors and the sums by some roundings: 2e-5 in all.
static void compare(vkf_test_ops *ops, const vkf_test_grad_case *c, vkf_test_operand *grad, const float *expected,
                    const char *name)
{
    double largest = 1;
    for (size_t i = 0; i < grad->count; i++)
        largest = fmax(largest, fabs((double)expected[i])); // fmax passes over NaN
    vkf_test_download(ops, grad);
    assert_close(grad->values, expected, grad->count, 2e-5 * largest, 2e-5,
                 vkf_test_label(&ops->gpu,
                                "gradient of %s: batch %u, heads %u and %u, queries %u, keys %u and %u, dims %u and %u,"
                                " mask %d over %u, key mask %d, causal %d by %d%s%s%s%s",
                                name, c->batch, c->heads, c->kv_heads, c->q_len, masked_keys(c), c->free_keys, c->dim,
                                c->v_dim, (int)c->mask_kind, c->mask_dims, (int)c->key_mask_kind, c->causal,
                                c->causal_offset, c->mask_all ? ", masked rows" : "",
                                c->heads_inside ? ", heads inside" : "", c->accumulate ? ", added" : "",
                                c->attends ? ", after attention" : ""));
}

vkf_test_grad_case vkf_test_grad_resolve(vkf_test_grad_case c)
{
    c.kv_heads = c.kv_heads > 0 ? c.kv_heads : c.heads;
    c.v_dim = c.v_dim > 0 ? c.v_dim : c.dim;
    return c;
}

void vkf_test_grad_compare(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    compare(ops, c, o->grad[VKF_TEST_QUERY], o->expected[VKF_TEST_QUERY], "queries");
    compare(ops, c, o->grad[VKF_TEST_KEY], o->expected[VKF_TEST_KEY], "keys");
    compare(ops, c, o->grad[VKF_TEST_VALUE], o->expected[VKF_TEST_VALUE], "values");
    if (c->biased)
        compare(ops, c, o->dbias, o->expected_bias, "biases");
}

void vkf_test_grad_finish(vkf_test_ops *ops, const vkf_test_grad_operands *o)
{
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++)
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

void vkf_test_grad_attend(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    const vkf__attention_train_args args = {.forward = forward_args(c, o, on_device),
                                            .row_stats = on_device(o->row_stats)};
    float *out = copy_of(o->out), *row_stats = copy_of(o->row_stats);
    for (size_t i = 0; i < o->row_stats->count; i++)
        row_stats[i] = isnan(row_stats[i]) ? -FLT_MAX : row_stats[i];
    for (size_t i = 0; i < o->out->count; i++)
        o->out->values[i] = NAN;
    vkf_test_upload(ops, o->out);
    vkf_test_assert_ok(ops,
                       vkf__run_once(ops->gpu.context, "attention", vkf__operator(VKF_OP_ATTENTION_TRAIN)->emit, &args),
                       "attention");
    compare_forward(ops, o->out, out, "output");
    compare_forward(ops, o->row_stats, row_stats, "row stats");
    free(row_stats);
    free(out);
}

void vkf_test_grad_check(vkf_test_ops *ops, vkf_test_grad_case unresolved)
{
    const vkf_test_grad_case c = vkf_test_grad_resolve(unresolved);
    const vkf_test_grad_operands o = vkf_test_grad_make(ops, &c);
    const vkf__attention_grad_args args = vkf_test_grad_args(&c, &o);
    if (c.attends)
        vkf_test_grad_attend(ops, &c, &o);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "grad", vkf__operator(VKF_OP_ATTENTION_GRAD)->emit, &args),
                       "gradients of attention");
    vkf_test_grad_compare(ops, &c, &o);
    vkf_test_grad_finish(ops, &o);
}
