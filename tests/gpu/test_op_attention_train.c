// Attention for training where cases do not go: long rows of keys, the two kernels that a processor takes without
// dropout, beside the attention of inference, and equal runs.
//
// All cases have the same widths and the same kinds of masks, so that few pipelines are compiled.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/run_once.h"
#include "op/train/attention_grad.h"
#include "support/by_hand.h"
#include "support/mask_operand.h"
#include "support/op_fixture.h"

enum { HEADS = 4, KV_HEADS = 2, WIDTH = 8, V_WIDTH = 12 };

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

// Where an operand lies: on the device, or on the host.
typedef vkf__span (*span_fn)(const vkf_test_operand *operand);

static vkf__span on_device(const vkf_test_operand *operand)
{
    return vkf__span_of(&operand->tensor);
}

static vkf__span on_host(const vkf_test_operand *operand)
{
    return vkf_hand_operand(operand->tensor.dtype, vkf_test_content_of(operand), operand->count);
}

static vkf__heads_span heads_of(vkf__span span, uint32_t length, uint32_t heads, uint32_t width)
{
    return (vkf__heads_span){span, length * heads * width, heads * width, width};
}

static vkf__attention_args forward_args(const train_case *c, const operands *o, span_fn of)
{
    return (vkf__attention_args){
        .label = "attention",
        .q = heads_of(of(o->q), c->q_len, HEADS, WIDTH),
        .k = heads_of(of(o->k), c->k_len, KV_HEADS, WIDTH),
        .v = heads_of(of(o->v), c->k_len, KV_HEADS, V_WIDTH),
        .out = heads_of(of(o->out), c->q_len, HEADS, V_WIDTH),
        .key_mask = of(o->lengths),
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

static vkf__attention_grad_args args_of(const train_case *c, const operands *o, span_fn of)
{
    return (vkf__attention_grad_args){
        .label = "grad",
        .forward = forward_args(c, o, of),
        .dropout = c->dropout,
        .dout = heads_of(of(o->dout), c->q_len, HEADS, V_WIDTH),
        .dq = heads_of(of(o->dq), c->q_len, HEADS, WIDTH),
        .dk = heads_of(of(o->dk), c->k_len, KV_HEADS, WIDTH),
        .dv = heads_of(of(o->dv), c->k_len, KV_HEADS, V_WIDTH),
        .row_stats = of(o->row_stats),
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

static vkf_status emit_attention(vkf__work *work, const void *args)
{
    return vkf__emit_attention(work, args);
}

static void run(vkf_test_ops *ops, const train_case *c, const operands *o)
{
    const vkf__attention_grad_args args = args_of(c, o, on_device);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "train", emit, &args), "attention for training");
    vkf_test_operand *const results[] = {o->out, o->row_stats, o->dq, o->dk, o->dv};
    for (size_t i = 0; i < COUNT_OF(results); i++)
        vkf_test_download(ops, results[i]);
}

// Sums of products of weights err by 2e-5 of the largest, see attention_grad_case.c.
static void compare(vkf_test_ops *ops, const train_case *c, const vkf_test_operand *x, const float *expected,
                    const char *name)
{
    double largest = 1;
    for (size_t i = 0; i < x->count; i++)
        largest = fmax(largest, fabs((double)expected[i]));
    assert_close(x->values, expected, x->count, 2e-5 * largest, 2e-5,
                 vkf_test_label(&ops->gpu, "%s: batch %u, queries %u, keys %u, dropout %g", name, c->batch, c->q_len,
                                c->k_len, (double)c->dropout.p));
}

static void check(vkf_test_ops *ops, train_case c)
{
    static const char *const names[] = {"output", "row stats", "gradient of queries", "of keys", "of values"};
    const operands o = make_operands(ops, &c);
    const vkf__attention_grad_args args = args_of(&c, &o, on_host);
    const vkf__attention_train_args train = {args.forward, args.dropout, args.row_stats};
    const vkf__span *const spans[] = {&args.forward.out.span, &args.row_stats, &args.dq.span, &args.dk.span,
                                      &args.dv.span};
    const vkf_test_operand *const results[] = {o.out, o.row_stats, o.dq, o.dk, o.dv};
    vkf_hand_run(VKF_OP_ATTENTION_TRAIN, &train);
    vkf_hand_run(VKF_OP_ATTENTION_GRAD, &args);
    run(ops, &c, &o);
    for (size_t i = 0; i < COUNT_OF(results); i++) {
        float *expected = vkf_test_floats(results[i]->count);
        vkf_hand_read(spans[i], expected);
        compare(ops, &c, results[i], expected, names[i]);
        free(expected);
    }
    vkf_test_ops_reset(ops);
}

#define DROPOUT(p_) .dropout = {.p = (p_), .seed = UINT64_C(0xfedcba9876543210), .stream = 3, .step = 70000}

// A long way along the keys, and beside it what is about a tile.
static const uint32_t LENGTHS[][2] = {{1, 1}, {33, 65}, {3, 1021}};

static void test_train_with_dropout(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    check(ops, (train_case){1, 3, 1021, 0, DROPOUT(0.3f)});
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

static void test_train_is_attention_without_dropout(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const train_case c = {2, 33, 67, 0, DROPOUT(0.0f)};
    const operands o = make_operands(ops, &c);
    const vkf__attention_args args = forward_args(&c, &o, on_device);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "attention", emit_attention, &args), "attention");
    vkf_test_download(ops, o.out);
    float *expected = vkf_test_floats(o.out->count);
    memcpy(expected, o.out->values, o.out->count * sizeof *expected);
    run(ops, &c, &o);
    compare(ops, &c, o.out, expected, "output beside attention's");
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

static int setup(void **state)
{
    return vkf_hand_setup(state) == 0 ? vkf_test_ops_setup(state) : -1;
}

static int teardown(void **state)
{
    (void)vkf_hand_teardown(state);
    return vkf_test_ops_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_train_with_dropout),
        VKF_OPS_TEST(test_train_without_dropout),
        VKF_OPS_TEST(test_train_without_dropout_by_one_kernel),
        VKF_OPS_TEST(test_train_is_attention_without_dropout),
        VKF_OPS_TEST(test_train_is_the_same_in_every_run),
    };
    return cmocka_run_group_tests_name("op_attention_train", tests, setup, teardown);
}
