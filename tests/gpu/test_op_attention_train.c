// Attention for training with dropout of its weights, and its gradients, against the reference: the same weights are
// dropped on the way forward and back, at lengths about the tiles' and under masks; and without dropout it is the
// attention of inference.
//
// All cases have the same widths and the same kinds of masks, so that few pipelines are compiled.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/attention_grad.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

enum { HEADS = 4, KV_HEADS = 2, GROUP = HEADS / KV_HEADS, WIDTH = 8, V_WIDTH = 12 };

typedef struct train_case {
    uint32_t batch, q_len, k_len;
    uint32_t free_keys; // the last ones, which the masks do not cover
    vkf__attention_dropout dropout;
} train_case;

typedef struct operands {
    vkf_test_operand *q, *k, *v, *out, *dout, *dq, *dk, *dv; // (batch, length, heads, width)
    vkf_test_operand *row_stats, *lengths;
} operands;

static vkf_test_operand *rows_of(vkf_test_ops *ops, const train_case *c, uint32_t length, uint32_t heads,
                                 uint32_t width)
{
    return vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->batch, length, heads, width));
}

// Every second batch entry ends early.
static operands make_operands(vkf_test_ops *ops, const train_case *c)
{
    const int32_t lengths[] = {(int32_t)c->k_len, (int32_t)(c->k_len / 2)};
    return (operands){
        .q = rows_of(ops, c, c->q_len, HEADS, WIDTH),
        .k = rows_of(ops, c, c->k_len, KV_HEADS, WIDTH),
        .v = rows_of(ops, c, c->k_len, KV_HEADS, V_WIDTH),
        .out = rows_of(ops, c, c->q_len, HEADS, V_WIDTH),
        .dout = rows_of(ops, c, c->q_len, HEADS, V_WIDTH),
        .dq = rows_of(ops, c, c->q_len, HEADS, WIDTH),
        .dk = rows_of(ops, c, c->k_len, KV_HEADS, WIDTH),
        .dv = rows_of(ops, c, c->k_len, KV_HEADS, V_WIDTH),
        .row_stats = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, c->batch, HEADS, c->q_len)),
        .lengths = vkf_test_ids(ops, lengths, SHAPE(c->batch)),
    };
}

static vkf__ref_layout layout_of(uint32_t length, uint32_t heads, uint32_t width)
{
    const size_t row = (size_t)heads * width;
    return (vkf__ref_layout){.row = row, .outer = length * row, .inner = width};
}

static vkf__heads_span heads_of(const vkf_test_operand *operand, uint32_t length, uint32_t heads, uint32_t width)
{
    return (vkf__heads_span){SPAN(operand), length * heads * width, heads * width, width};
}

static vkf__attention_args forward_args(const train_case *c, const operands *o)
{
    return (vkf__attention_args){
        .label = "attention",
        .q = heads_of(o->q, c->q_len, HEADS, WIDTH),
        .k = heads_of(o->k, c->k_len, KV_HEADS, WIDTH),
        .v = heads_of(o->v, c->k_len, KV_HEADS, V_WIDTH),
        .out = heads_of(o->out, c->q_len, HEADS, V_WIDTH),
        .key_mask = SPAN(o->lengths),
        .key_mask_kind = VKF_MASK_LENGTHS,
        .batch = c->batch,
        .heads = HEADS,
        .kv_heads = KV_HEADS,
        .q_len = c->q_len,
        .k_len = c->k_len,
        .head_dim = WIDTH,
        .v_head_dim = V_WIDTH,
        .mask_cols = c->k_len - c->free_keys,
        .key_mask_batch = 1,
        .causal = true,
        .causal_offset = (int32_t)c->k_len - (int32_t)c->q_len,
        .scale = 0.25f,
    };
}

static vkf__attention_grad_args args_of(const train_case *c, const operands *o)
{
    return (vkf__attention_grad_args){
        .label = "grad",
        .forward = forward_args(c, o),
        .dropout = c->dropout,
        .dout = heads_of(o->dout, c->q_len, HEADS, V_WIDTH),
        .dq = heads_of(o->dq, c->q_len, HEADS, WIDTH),
        .dk = heads_of(o->dk, c->k_len, KV_HEADS, WIDTH),
        .dv = heads_of(o->dv, c->k_len, KV_HEADS, V_WIDTH),
        .row_stats = SPAN(o->row_stats),
    };
}

static vkf__ref_sdpa_grad_desc reference_of(const train_case *c, const operands *o, float *out)
{
    return (vkf__ref_sdpa_grad_desc){
        .forward = {.softmax = {.batch = c->batch,
                                .heads = HEADS,
                                .q_len = c->q_len,
                                .k_len = c->k_len,
                                .mask_cols = c->k_len - c->free_keys,
                                .scale = 0.25f,
                                .key_mask_kind = VKF_MASK_LENGTHS,
                                .key_mask = o->lengths->ids,
                                .causal = true,
                                .causal_offset = (int32_t)c->k_len - (int32_t)c->q_len},
                    .kv_heads = KV_HEADS,
                    .head_dim = WIDTH,
                    .v_head_dim = V_WIDTH,
                    .query = o->q->values,
                    .key = o->k->values,
                    .value = o->v->values,
                    .out = out,
                    .q_layout = layout_of(c->q_len, HEADS, WIDTH),
                    .k_layout = layout_of(c->k_len, KV_HEADS, WIDTH),
                    .v_layout = layout_of(c->k_len, KV_HEADS, V_WIDTH),
                    .out_layout = layout_of(c->q_len, HEADS, V_WIDTH)},
        .dropout = {c->dropout.p, c->dropout.seed, c->dropout.stream, c->dropout.step},
        .dout = o->dout->values,
    };
}

// There and back.
static vkf_status emit(vkf__work *work, const void *args)
{
    const vkf__attention_grad_args *grad = args;
    const vkf__attention_train_args train = {grad->forward, grad->dropout, grad->row_stats};
    VKF_RETURN_IF_ERROR(vkf__emit_attention_train(work, &train));
    return vkf__emit_attention_grad(work, args);
}

static vkf_status emit_forward(vkf__work *work, const void *args)
{
    return vkf__emit_attention_train(work, args);
}

static vkf_status emit_attention(vkf__work *work, const void *args)
{
    return vkf__emit_attention(work, args);
}

static void run(vkf_test_ops *ops, const train_case *c, const operands *o)
{
    const vkf__attention_grad_args args = args_of(c, o);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "train", emit, &args), "attention for training");
    vkf_test_operand *const results[] = {o->out, o->row_stats, o->dq, o->dk, o->dv};
    for (size_t i = 0; i < COUNT_OF(results); i++)
        vkf_test_download(ops, results[i]);
}

// Sums of products of weights err by 2e-5 of the largest, see test_op_attention_grad.c.
static void compare(vkf_test_ops *ops, const train_case *c, const vkf_test_operand *x, const double *expected,
                    const char *name)
{
    float *rounded = vkf_test_floats(x->count);
    double largest = 1;
    for (size_t i = 0; i < x->count; i++) {
        rounded[i] = (float)expected[i];
        largest = fmax(largest, fabs(expected[i]));
    }
    assert_close(x->values, rounded, x->count, 2e-5 * largest, 2e-5,
                 vkf_test_label(&ops->gpu, "%s: batch %u, queries %u, keys %u, dropout %g", name, c->batch, c->q_len,
                                c->k_len, (double)c->dropout.p));
    free(rounded);
}

static void compare_floats(vkf_test_ops *ops, const train_case *c, const vkf_test_operand *x, const float *expected,
                           const char *name)
{
    double *widened = calloc(x->count, sizeof *widened);
    assert_non_null(widened);
    for (size_t i = 0; i < x->count; i++)
        widened[i] = expected[i];
    compare(ops, c, x, widened, name);
    free(widened);
}

static void check(vkf_test_ops *ops, train_case c)
{
    const operands o = make_operands(ops, &c);
    float *out = vkf_test_floats(o.out->count), *row_stats = vkf_test_floats(o.row_stats->count);
    double *grads = calloc(o.dq->count + o.dk->count + o.dv->count + 2 * (size_t)c.k_len, sizeof *grads);
    assert_non_null(grads);
    vkf__ref_sdpa_grad_desc desc = reference_of(&c, &o, out);
    desc.dq = grads;
    desc.dk = desc.dq + o.dq->count;
    desc.dv = desc.dk + o.dk->count;
    desc.scratch = desc.dv + o.dv->count;
    for (size_t i = 0; i < o.row_stats->count; i++)
        row_stats[i] = i < o.row_stats->count / 2 ? -FLT_MAX : 0; // of rows that see no key
    vkf__ref_sdpa_train(&desc, row_stats);
    vkf__ref_sdpa_grad(&desc);
    run(ops, &c, &o);
    compare_floats(ops, &c, o.out, out, "output");
    compare_floats(ops, &c, o.row_stats, row_stats, "row stats");
    compare(ops, &c, o.dq, desc.dq, "gradient of queries");
    compare(ops, &c, o.dk, desc.dk, "gradient of keys");
    compare(ops, &c, o.dv, desc.dv, "gradient of values");
    free(grads);
    free(row_stats);
    free(out);
    vkf_test_ops_reset(ops);
}

#define DROPOUT(p_) .dropout = {.p = (p_), .seed = UINT64_C(0xfedcba9876543210), .stream = 3, .step = 70000}

// One, primes, what is one less and one more than a tile, and a long way along the keys.
static const uint32_t LENGTHS[][2] = {{1, 1},   {1, 33},  {2, 3},   {5, 31},   {31, 32}, {32, 31},
                                      {33, 65}, {67, 29}, {64, 64}, {97, 128}, {3, 1021}};

static void test_train_with_dropout(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(LENGTHS); i++)
        check(ops, (train_case){1 + i % 2, LENGTHS[i][0], LENGTHS[i][1], 0, DROPOUT(0.3f)});
    check(ops, (train_case){2, 7, 37, 2, DROPOUT(0.875f)});
    check(ops, (train_case){2, 7, 37, 0, DROPOUT(1.0f)});
}

static void check_without_dropout(vkf_test_ops *ops)
{
    for (size_t i = 0; i < COUNT_OF(LENGTHS); i++)
        check(ops, (train_case){1 + i % 2, LENGTHS[i][0], LENGTHS[i][1], 0, DROPOUT(0.0f)});
}

static void test_train_without_dropout(void **state)
{
    check_without_dropout(vkf_test_ops_of(state));
}

// A processor takes two kernels on the way forward unless this one is asked for.
static void test_train_without_dropout_by_one_kernel(void **state)
{
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state); // skips where there is no device
    if (vkf_test_ops_open_variant(&ops, "attention_train."))
        check_without_dropout(&ops);
    vkf_test_ops_close(&ops);
}

// Each row's keys are dropped independently of its neighbours', of other steps and of other streams; and as the values
// are rows of an identity, the output shows what was.
static void test_train_drops_what_the_reference_drops(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const train_case c = {2, 33, V_WIDTH, 0, DROPOUT(0.5f)};
    const vkf__ref_weight_dropout dropout = {c.dropout.p, c.dropout.seed, c.dropout.stream, c.dropout.step};
    const operands o = make_operands(ops, &c);
    vkf__attention_train_args args = {forward_args(&c, &o), c.dropout, SPAN(o.row_stats)};
    args.forward.key_mask_kind = VKF_MASK_NONE;
    args.forward.causal = false;
    uint32_t kept = 0;
    for (size_t i = 0; i < o.v->count; i++)
        o.v->values[i] = i / (KV_HEADS * V_WIDTH) % c.k_len == i % V_WIDTH;
    vkf_test_upload(ops, o.v);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "train", emit_forward, &args), "attention for training");
    vkf_test_download(ops, o.out);
    for (uint32_t i = 0; i < o.out->count; i++) {
        const uint32_t b = i / (c.q_len * HEADS * V_WIDTH), l = i / (HEADS * V_WIDTH) % c.q_len,
                       h = i / V_WIDTH % HEADS;
        const bool keeps = vkf__ref_keeps_weight(&dropout, (b * HEADS + h) * c.q_len + l, i % V_WIDTH);
        if (keeps != (o.out->values[i] != 0))
            fail_msg("batch entry %u, head %u, query %u, key %u: %g", b, h, l, i % V_WIDTH, (double)o.out->values[i]);
        kept += keeps;
    }
    assert_in_range(kept, o.out->count * 45 / 100, o.out->count * 55 / 100);
}

static void test_train_is_attention_without_dropout(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const train_case c = {2, 33, 67, 0, DROPOUT(0.0f)};
    const operands o = make_operands(ops, &c);
    const vkf__attention_args args = forward_args(&c, &o);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "attention", emit_attention, &args), "attention");
    vkf_test_download(ops, o.out);
    float *expected = vkf_test_floats(o.out->count);
    memcpy(expected, o.out->values, o.out->count * sizeof *expected);
    run(ops, &c, &o);
    compare_floats(ops, &c, o.out, expected, "output beside attention's");
    free(expected);
}

static void test_train_is_the_same_in_every_run(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const train_case c = {2, 33, 67, 0, DROPOUT(0.3f)};
    const operands o = make_operands(ops, &c);
    vkf_test_operand *const results[] = {o.out, o.row_stats, o.dq, o.dk, o.dv};
    float *first[COUNT_OF(results)];
    for (int again = 0; again < 2; again++) {
        run(ops, &c, &o);
        for (size_t i = 0; i < COUNT_OF(results); i++) {
            const size_t bytes = results[i]->count * sizeof(float);
            if (again == 0)
                memcpy(first[i] = vkf_test_floats(results[i]->count), results[i]->values, bytes);
            assert_memory_equal(first[i], results[i]->values, bytes);
        }
    }
    for (size_t i = 0; i < COUNT_OF(results); i++)
        free(first[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_train_with_dropout),
        VKF_OPS_TEST(test_train_without_dropout),
        VKF_OPS_TEST(test_train_without_dropout_by_one_kernel),
        VKF_OPS_TEST(test_train_drops_what_the_reference_drops),
        VKF_OPS_TEST(test_train_is_attention_without_dropout),
        VKF_OPS_TEST(test_train_is_the_same_in_every_run),
    };
    return cmocka_run_group_tests_name("op_attention_train", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
