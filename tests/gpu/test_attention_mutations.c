// Whether the comparisons of attention's tests notice anything: every kernel that this device may use runs once as it
// should and must agree with the reference, then with one wrong stride, size or mask at a time, and must not.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/registry.h"
#include "op/attention.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define ATOL 5e-5
#define RTOL 1e-4

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

// Two query heads to a key head; operands (batch, length, heads, width); masks of both kinds, added.
enum { B = 2, L = 9, S = 21, H = 4, G = 2, D = 16, W = 32 };

// All but the last are no constants of a kernel: they cost no pipeline. The last is the causal mask, as a flag.
static const vkf_test_plant MUTATIONS[] = {
    VKF_PLANT(vkf__attention_args, q.batch_stride, 0), VKF_PLANT(vkf__attention_args, q.row_stride, H *D - 16),
    VKF_PLANT(vkf__attention_args, q.head_stride, 0),  VKF_PLANT(vkf__attention_args, k.batch_stride, 0),
    VKF_PLANT(vkf__attention_args, k.row_stride, 16),  VKF_PLANT(vkf__attention_args, k.head_stride, 0),
    VKF_PLANT(vkf__attention_args, v.batch_stride, 0), VKF_PLANT(vkf__attention_args, v.row_stride, 32),
    VKF_PLANT(vkf__attention_args, v.head_stride, 0),  VKF_PLANT(vkf__attention_args, out.batch_stride, 0),
    VKF_PLANT(vkf__attention_args, out.row_stride, W), VKF_PLANT(vkf__attention_args, out.head_stride, 0),
    VKF_PLANT(vkf__attention_args, batch, B - 1),      VKF_PLANT(vkf__attention_args, kv_heads, 1),
    VKF_PLANT(vkf__attention_args, q_len, L - 1),      VKF_PLANT(vkf__attention_args, k_len, S - 1),
    VKF_PLANT(vkf__attention_args, mask_cols, S - 1),  VKF_PLANT(vkf__attention_args, mask_batch, 0),
    VKF_PLANT(vkf__attention_args, mask_head, 0),      VKF_PLANT(vkf__attention_args, mask_row, 0),
    VKF_PLANT(vkf__attention_args, key_mask_batch, 0), VKF_PLANT(vkf__attention_args, causal_offset, 2),
    VKF_PLANT(vkf__attention_args, window, 3),         VKF_PLANT(vkf__attention_args, scale, VKF_TEST_HALF_BITS),
    VKF_PLANT(vkf__attention_args, causal, 0),
};

typedef struct operands {
    vkf_test_operand *q, *k, *v, *mask, *key_mask, *out;
} operands;

static operands make_operands(vkf_test_ops *ops)
{
    return (operands){
        .q = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, L, H, D)),
        .k = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, S, G, D)),
        .v = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, S, G, W)),
        .mask = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, H, L, S)),
        .key_mask = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(B, S)),
        .out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(B, L, H, W)),
    };
}

static vkf__heads_span heads_span(const vkf_test_operand *operand)
{
    const uint32_t *shape = operand->tensor.shape;
    uint32_t row = shape[2] * shape[3];
    return (vkf__heads_span){SPAN(operand), shape[1] * row, row, shape[3]};
}

static vkf__attention_args args_of(const operands *o)
{
    return (vkf__attention_args){
        .label = "attention",
        .q = heads_span(o->q),
        .k = heads_span(o->k),
        .v = heads_span(o->v),
        .out = heads_span(o->out),
        .mask = SPAN(o->mask),
        .key_mask = SPAN(o->key_mask),
        .mask_kind = VKF_MASK_ADDITIVE,
        .key_mask_kind = VKF_MASK_ADDITIVE,
        .batch = B,
        .heads = H,
        .kv_heads = G,
        .q_len = L,
        .k_len = S,
        .head_dim = D,
        .v_head_dim = W,
        .mask_cols = S,
        .mask_batch = H * L * S,
        .mask_head = L * S,
        .mask_row = S,
        .key_mask_batch = S,
        .causal = true,
        .causal_offset = S - L,
        .window = 12,
        .scale = 0.25f,
    };
}

static vkf__ref_layout layout_of(const vkf_test_operand *operand)
{
    const vkf__heads_span span = heads_span(operand);
    return (vkf__ref_layout){.row = span.row_stride, .outer = span.batch_stride, .inner = span.head_stride};
}

static float *expect(const operands *o, const vkf__attention_args *args)
{
    float *expected = vkf_test_floats(o->out->count), *scores = vkf_test_floats((size_t)B * H * L * S);
    vkf__ref_sdpa(&(vkf__ref_sdpa_desc){
        .softmax = {.batch = B,
                    .heads = H,
                    .q_len = L,
                    .k_len = S,
                    .mask_cols = S,
                    .out = scores,
                    .scale = args->scale,
                    .mask_kind = args->mask_kind,
                    .mask = o->mask->values,
                    .mask_batch = args->mask_batch,
                    .mask_head = args->mask_head,
                    .mask_row = args->mask_row,
                    .key_mask_kind = args->key_mask_kind,
                    .key_mask = o->key_mask->values,
                    .causal = true,
                    .causal_offset = args->causal_offset,
                    .window = args->window},
        .kv_heads = G,
        .head_dim = D,
        .v_head_dim = W,
        .query = o->q->values,
        .key = o->k->values,
        .value = o->v->values,
        .out = expected,
        .q_layout = layout_of(o->q),
        .k_layout = layout_of(o->k),
        .v_layout = layout_of(o->v),
        .out_layout = layout_of(o->out),
    });
    free(scores);
    return expected;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_attention(work, args);
}

static size_t mismatches_with(vkf_test_ops *ops, vkf_test_operand *out, const vkf__attention_args *args,
                              const float *expected)
{
    for (size_t i = 0; i < out->count; i++)
        out->values[i] = VKF_TEST_UNTOUCHED;
    vkf_test_upload(ops, out);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "attention", emit, args), "attention");
    vkf_test_download(ops, out);
    return vkf_test_mismatches(out->values, expected, out->count, ATOL, RTOL);
}

static void check(vkf_test_ops *ops, size_t mutation_count)
{
    ops->aligned = true;
    const operands o = make_operands(ops);
    const vkf__attention_args args = args_of(&o);
    float *expected = expect(&o, &args);
    size_t mismatches = mismatches_with(ops, o.out, &args, expected);
    const char *kernel = vkf_context_last_op_kernel(ops->gpu.context);
    if (mismatches > 0)
        fail_msg("%s is wrong without any mutation: %zu mismatches", kernel, mismatches);
    for (size_t i = 0; i < mutation_count; i++) {
        vkf__attention_args mutated = args;
        vkf_test_plant_into(&MUTATIONS[i], &mutated);
        if (mismatches_with(ops, o.out, &mutated, expected) == 0)
            fail_msg("%s with a wrong %s was not noticed", kernel, MUTATIONS[i].field);
    }
    free(expected);
}

static void test_attention_mutations_are_noticed(void **state)
{
    check(vkf_test_ops_of(state), COUNT_OF(MUTATIONS));
}

// Rows of one family stand for each other: they share a shader.
static void test_attention_mutations_of_every_family_are_noticed(void **state)
{
    (void)vkf_test_ops_of(state);
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        vkf_test_ops ops;
        if (kernel->op != VKF_OP_ATTENTION || kernel->types[0] != VKF_DTYPE_F32)
            continue;
        if (vkf_test_ops_open_variant(&ops, kernel->name))
            check(&ops, COUNT_OF(MUTATIONS) - 1);
        vkf_test_ops_close(&ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_attention_mutations_are_noticed),
        VKF_OPS_TEST(test_attention_mutations_of_every_family_are_noticed),
    };
    return cmocka_run_group_tests_name("attention_mutations", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}
